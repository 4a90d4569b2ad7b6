"""What a model answers on a person's own sentence: the probabilities of the answers at each position that is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from viz_core.analysis.rows import Row
from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.generate import generate
from viz_core.generation.draw import softmax
from viz_core.learning.recipe import Recipe
from viz_core.learning.tasks import Sentence
from viz_core.learning.tasks.symbols import PAD
from viz_core.model.transformer import Transformer
from viz_core.text import Vocabulary

KEPT = ("*.weights", "logits")  # what `answers` and the pictures of the attention read of a run
MOST_WORDS = 16  # answers that are named; what is left over counts together
MOST_WRITTEN = 16  # words of a translation that the model writes itself


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers at N positions.

    on [N]: the token that the model stands on. right [N]: the right answer, "" where nobody knows it. likeliest [N]: the model's.
    words [C]: the right answers in the order in which they are asked for, then other likely ones. probabilities [N, C + 1]: the
    last column is that of all other words together, so that each row sums to 1.
    """

    on: tuple[str, ...]
    right: tuple[str, ...]
    likeliest: tuple[str, ...]
    words: tuple[str, ...]
    probabilities: np.ndarray

    @property
    def known(self) -> int:
        """Positions whose right answer is known."""
        return sum(bool(word) for word in self.right)

    @property
    def hits(self) -> int:
        """Positions at which the likeliest answer is the right one."""
        return sum(bool(right) and right == said for right, said in zip(self.right, self.likeliest, strict=True))


def answers(seen: Capture, sentence: Sentence, vocabulary: Mapping[Side, Vocabulary], side: Side) -> Answers:
    """Read off a run that kept `KEPT`. side: the one that answers."""
    logits = np.asarray(seen["logits"][0], dtype=np.float64)  # [T, V]
    places = np.arange(len(logits)) if sentence.asked is None else np.flatnonzero(sentence.asked)
    right = np.zeros(len(logits), dtype=np.int64) if sentence.right is None else sentence.right
    probs = softmax(logits[places])  # [N, V]
    order = np.argsort(-probs, axis=1, kind="stable")
    ranked = [int(i) for i in order[:, :3].T.ravel()]  # each position's first answer, then each one's second
    named = list(dict.fromkeys([int(i) for i in right[places] if i != PAD] + ranked))[:MOST_WORDS]
    rest = np.maximum(0.0, 1 - probs[:, named].sum(axis=1, keepdims=True))

    def word(id: int) -> str:
        return sentence.own.get(id) or vocabulary[side].decode(id)

    return Answers(
        tuple(sentence.tokens[side][t] for t in places), tuple(word(int(i)) if i != PAD else "" for i in right[places]),
        tuple(word(int(i)) for i in order[:, 0]), tuple(map(word, named)), np.hstack([probs[:, named], rest]),
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """A person's sentence as a task reads it, what a model computes on it (it keeps `KEPT`), and what it answers."""

    read: Sentence
    seen: Capture
    said: Answers

    def rows(self, side: Side) -> list[Row]:
        """The positions of a side, as pictures name them."""
        return rows(self.read, self.said, side)


def on_words(model: Transformer, recipe: Recipe, words: Sequence[str]) -> Shown:
    """A person's words with a model of a recipe, which goes on with them where the task asks for that. `Problem` where the task
    can read none of them."""
    read = recipe.entry.sentence(recipe.parameters, recipe.config, words)
    read = continued(model, read, recipe.vocabulary, MOST_WRITTEN)
    seen = read.seen_by(model, KEPT)
    return Shown(read, seen, answers(seen, read, recipe.vocabulary, recipe.config.output_side))


def rows(sentence: Sentence, said: Answers, side: Side) -> list[Row]:
    """The positions of a side, as pictures name them. In a decoder a position that is asked writes the token behind it; the last
    one the right answer or, where nobody knows it, the model's."""
    tokens = sentence.tokens[side]
    if side != "target":
        return [Row(token) for token in tokens]
    asked = np.ones(len(tokens), dtype=bool) if sentence.asked is None else sentence.asked
    last = (said.right[-1] or said.likeliest[-1]) if said.on else ""
    return [Row(token, after if there else None) for token, after, there in zip(tokens, [*tokens[1:], last], asked, strict=True)]


def continued(model: Transformer, sentence: Sentence, vocabulary: Mapping[Side, Vocabulary], most: int) -> Sentence:
    """A sentence whose target is <bos> alone, with what the model writes behind it, word by word; any other one as it is."""
    target = sentence.ids.get("target")
    if target is None or "source" not in sentence.ids or target.shape[1] > 1:
        return sentence
    device, words = next(model.parameters()).device, vocabulary["target"]
    start, source = (torch.from_numpy(x).to(device) for x in (target, sentence.ids["source"]))
    training = model.training
    try:
        (made,) = generate(model.eval(), start, source, eos_id=words.eos_id, max_new_tokens=most)
    finally:
        model.train(training)
    ids = {**sentence.ids, "target": np.array([[*target[0], *made.ids]])}
    said = tuple(sentence.own.get(i) or words.decode(i) for i in made.ids)
    return replace(sentence, ids=ids, tokens={**sentence.tokens, "target": (*sentence.tokens["target"], *said)})
