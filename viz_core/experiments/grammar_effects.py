"""Attention weights and effects of heads over many generated sentences with known word alignments.

In each sentence one source word is replaced, and the question is the translation of this word against the word that the model
predicts after the replacement. The mean shows what holds beyond a single sentence.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import torch

from viz_core.experiments.head_effects import HeadEffects, head_effects, mean_effects
from viz_core.experiments.patching import run_clean_and_corrupted
from viz_core.experiments.question import Question, is_same_answer
from viz_core.experiments.replacements import Replacement, suggest_replacements
from viz_core.messages.errors import UserError
from viz_core.model.inputs import check_inputs
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary
from viz_core.training.examples import Example, held_out_examples

TRIES_PER_SENTENCE = 40  # maximum number of sentences tried for each measured one
MAX_REPLACEMENTS = 2  # replacements tried in each sentence


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredSentence:
    """One sentence, its replaced word, the question about its translation, and the effects of the heads."""

    source: str
    target: str
    change: Replacement
    question: Question
    effects: HeadEffects


@dataclass(frozen=True, slots=True, eq=False)
class SentenceEffects:
    """The measured sentences, the mean of their effects, and the number of sentences tried."""

    sentences: tuple[MeasuredSentence, ...]
    mean: HeadEffects
    n_tried: int


def measure_sentences(
    model: Transformer, vocabulary: Mapping[str, Vocabulary], n: int = 16, *, sentences: Iterable[Example] | None = None,
    progress: Callable[[float], object] | None = None,
) -> SentenceEffects:
    """Measure the heads of cross-attention over n held-out sentences, fewer if not enough are suitable.

    sentences: the examples to try, in order; None for `held_out_examples()`. A sentence is suitable if the model, given the true
    words before it, predicts the true translation of a source word, and another word once the source word is replaced. Raises
    `UserError` for a model that is not an encoder-decoder with vocabularies of words, and if none of TRIES_PER_SENTENCE · n
    sentences is suitable.
    """
    if n < 1:
        raise ValueError(f"n={n} is not a number of sentences; use at least 1.")
    if not model.config.has_cross_attention or not all(isinstance(words, Vocabulary) for words in vocabulary.values()):
        raise UserError("grammar_model")
    found: list[MeasuredSentence] = []
    tried = 0
    for example in islice(held_out_examples() if sentences is None else sentences, TRIES_PER_SENTENCE * n):
        tried += 1
        if (measured := next(_measurements_of(model, vocabulary, example), None)) is not None:
            found.append(measured)
            if progress is not None:
                progress(len(found) / n)
        if len(found) == n:
            break
    if not found:
        raise UserError("grammar_none", count=tried)
    return SentenceEffects(tuple(found), mean_effects([measured.effects for measured in found]), tried)


def _measurements_of(model: Transformer, vocabulary: Mapping[str, Vocabulary], example: Example) -> Iterator[MeasuredSentence]:
    """Yield a measurement for each replacement in a sentence that changes the translation of the replaced word."""
    words, sentence = vocabulary["target"], example.typed_text
    clean, target = vocabulary["source"].encode(example.source), words.encode(example.target)
    names = any(vocabulary["source"].slot(id) for id in clean)
    if names or words.unk_id in target or vocabulary["source"].tokens_and_ids(sentence)[1] != clean:
        return
    read = [words.bos_id, *target]
    for change in suggest_replacements(sentence, vocabulary["source"], max_suggestions=MAX_REPLACEMENTS):
        at = next((j for j, sources in enumerate(example.alignment) if sources == (change.position,)), None)
        if at is None:
            continue
        changed = vocabulary["source"].tokens_and_ids(change.sentence)[1]
        question = _question_at(model, clean, changed, read, at)
        if question is not None and question.word == target[at]:
            runs = run_clean_and_corrupted(model, clean, changed, question, read)
            found = head_effects(runs, None, "decoder", "cross_attn", change.position)
            yield MeasuredSentence(sentence, " ".join(example.target), change, question, found)


@torch.inference_mode()
def _question_at(model: Transformer, clean: list[int], changed: list[int], target: list[int], at: int) -> Question | None:
    """Return the question of the likeliest next words of both runs at a position; None if these are the same."""
    device = next(model.parameters()).device
    ids = torch.tensor([clean, changed], device=device), torch.tensor([target, target], device=device)  # [2, S], [2, T]
    check_inputs(model.config, *ids)
    logits = model(*ids).logits[:, at]  # [2, W]
    word, other = logits.argmax(dim=-1).tolist()
    before, after = (logits[:, word] - logits[:, other]).tolist()
    return None if word == other or is_same_answer(before, after) else Question(word, other, at)
