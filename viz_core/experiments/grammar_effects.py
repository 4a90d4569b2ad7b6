"""Attention beside effect over many sentences of the grammar, which knows the true source word of each word of a translation.

One sentence says how it is there. Over several one sees what holds beyond it: in each, one source word is replaced, and the
question is the translation of this word against what the model then writes instead.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import torch

from viz_core.experiments.head_effects import HeadEffects, head_effects, mean_effects
from viz_core.experiments.patching import contrast_runs
from viz_core.experiments.question import Question, answer_alike
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.text import Vocabulary
from viz_core.training.bilingual.replacements import Replacement, suggestions
from viz_core.training.bilingual.sentences import Example, typed
from viz_core.training.bilingual.split import examples
from viz_core.training.plans import HELD_OUT_SEED

TRIED = 40  # sentences of the grammar that are tried for each one that is measured
CHANGES = 2  # replacements that are tried in each


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One sentence, the word of it that was replaced, the question about its translation, and the effects of the heads."""

    source: str
    target: str
    change: Replacement
    question: Question
    effects: HeadEffects

    @property
    def key(self) -> int:
        """The true source word of the asked word: the one that was replaced."""
        return self.change.place


@dataclass(frozen=True, slots=True, eq=False)
class OverSentences:
    """The measured sentences, the mean of their effects, and how many sentences were tried for them."""

    sentences: tuple[Measured, ...]
    mean: HeadEffects
    tried: int


def over_sentences(
    model: Transformer, vocabulary: Mapping[str, Vocabulary], n: int = 16, *, seed: int = HELD_OUT_SEED,
    said: Iterable[Example] | None = None, progress: Callable[[float], object] | None = None,
) -> OverSentences:
    """The heads of cross-attention over n held-out sentences, the same ones for the same model and seed; fewer if few fit.

    said: other sentences than the grammar's held-out ones. A sentence fits if the model predicts the true translation of a
    source word from the true words before it, and another word once the source word is replaced. `Problem` for a model that is no
    translator, and where none of `TRIED` · n sentences fits.
    """
    if n < 1:
        raise ValueError(f"n={n} is no number of sentences; use at least 1.")
    if not model.config.has_cross_attention or not all(isinstance(words, Vocabulary) for words in vocabulary.values()):
        raise Problem("the grammar asks a translator, and this model is none; choose an encoder-decoder with words of its own.",
                      "grammar_model")
    found: list[Measured] = []
    tried = 0
    for example in islice(examples(seed, held_out=True) if said is None else said, TRIED * n):
        tried += 1
        if (one := next(_measured(model, vocabulary, example), None)) is not None:
            found.append(one)
            if progress is not None:
                progress(len(found) / n)
        if len(found) == n:
            break
    if not found:
        raise Problem(f"none of {tried} sentences changes its translation with one word; choose a model that translates them.",
                      "grammar_none", count=tried)
    return OverSentences(tuple(found), mean_effects([one.effects for one in found]), tried)


def _measured(model: Transformer, vocabulary: Mapping[str, Vocabulary], example: Example) -> Iterator[Measured]:
    """A sentence with each of its replacements that changes the translation of the replaced word."""
    words, said = vocabulary["target"], typed(example)
    clean, target = vocabulary["source"].encode(example.source), words.encode(example.target)
    names = any(vocabulary["source"].slot(id) for id in clean)
    if names or words.unk_id in target or vocabulary["source"].read(said)[1] != clean:
        return
    read = [words.bos_id, *target]
    for change in suggestions(said, vocabulary["source"], most=CHANGES):
        at = next((j for j, sources in enumerate(example.alignment) if sources == (change.place,)), None)
        if at is None:
            continue
        changed = vocabulary["source"].read(change.sentence)[1]
        question = _asked(model, clean, changed, read, at)
        if question is not None and question.word == target[at]:
            contrast = contrast_runs(model, clean, changed, question, read)
            found = head_effects(contrast, None, "decoder", "cross_attn", change.place)
            yield Measured(said, " ".join(example.target), change, question, found)


@torch.inference_mode()
def _asked(model: Transformer, clean: list[int], changed: list[int], target: list[int], at: int) -> Question | None:
    """The likeliest next word of both runs at this place; None where it is the same one."""
    device = next(model.parameters()).device
    source = torch.tensor([clean, changed], device=device)  # [2, S]
    logits = model(source, torch.tensor([target, target], device=device)).logits[:, at]  # [2, W]
    word, other = logits.argmax(dim=-1).tolist()
    before, after = (logits[:, word] - logits[:, other]).tolist()
    return None if word == other or answer_alike(before, after) else Question(word, other, at)
