"""Weights that a training made, as a choice of weights for every page, and as one file that can be opened again.

The file is safetensors; its metadata holds the recipe, from which config and vocabulary follow, and a few facts of the run.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType

from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.learning.moments import Moment
from viz_core.learning.recipe import Recipe
from viz_core.learning.tasks.markov import NextWord
from viz_core.learning.tasks.symbols import FIRST, MOST_WORDS
from viz_core.limits import MAX_GUEST_FILE
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.text import SPECIALS, AnyTokenizer, Vocabulary
from viz_core.weights.card import Card
from viz_core.weights.guests import BROUGHT

KEY = "attention_lab"  # of the metadata
DIGITS = 12  # hexadecimal digits of a name
EXAMPLES = 4  # rows that a card has as examples
MAX_WORD = 200  # characters of a word that stands for a symbol; a longer one is read, but not taken along


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained model: its recipe, the steps it has taken, its weights, and its held-out loss and accuracy, where measured.

    own: ids of symbols that are read and written as a person's words, so that every page can read the sentence they typed.
    """

    recipe: Recipe
    step: int
    weights: Mapping[str, Tensor]
    loss: float | None = None
    accuracy: float | None = None
    own: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        """The same for the same weights and words, wherever they were trained: "trained-3fa2…"."""
        words = json.dumps(sorted(self.own.items())) if self.own else ""
        return f"{BROUGHT}{hashlib.sha256(to_bytes(self._contiguous()) + words.encode()).hexdigest()[:DIGITS]}"

    def vocabulary(self) -> dict[str, Vocabulary]:
        """The words of each side. `ValueError` where two ids would have the same word."""
        return {side: Vocabulary(tuple(self.own.get(id, word) for id, word in enumerate(words.words, start=len(SPECIALS))))
                for side, words in self.recipe.vocabulary.items()}

    @property
    def nbytes(self) -> int:
        return sum(x.numel() * x.element_size() for x in self.weights.values())

    def model(self) -> Transformer:
        """On the CPU in float32, dropout off. `Problem` where the weights are not those of the recipe's model."""
        return Moment(self.step, self.weights).model(self.recipe.config)

    def card(self, title: str, about: Mapping[str, str]) -> Card:
        """The card under which every page can use it. Its examples are rows of its task."""
        words = self.vocabulary()
        vocabulary: dict[str, AnyTokenizer] = {**words}
        return Card(name=self.name, title=title, config=self.recipe.config, tokenizers=lambda: vocabulary, load=self.model,
                    about=about, examples=examples(self.recipe, words, self.own), recipe=self.recipe.to_link(),
                    task=self.recipe.task)

    def to_bytes(self) -> bytes:
        """The file."""
        facts = {"recipe": self.recipe.to_json(), "step": self.step, "loss": self.loss, "accuracy": self.accuracy,
                 "own": {str(id): word for id, word in self.own.items()}}
        return to_bytes(self._contiguous(), {KEY: json.dumps(facts)})

    def _contiguous(self) -> dict[str, Tensor]:
        return {name: self.weights[name].contiguous() for name in sorted(self.weights)}


def examples(recipe: Recipe, vocabulary: Mapping[str, Vocabulary], own: Mapping[int, str]) -> tuple[tuple[str, str], ...]:
    """A few held-out rows as (source, target), without the special tokens.

    In a task of symbols a row is told in a person's own words or in the task's symbols, never in both, so its symbols are renamed,
    their order kept: the answer of such a row is the right one, too. A row that has more symbols than there are names is left out.
    """
    alike = not isinstance(recipe.entry.kind, NextWord)  # there each word has its own probabilities, so none may be renamed
    symbols = range(FIRST, FIRST + len(recipe.entry.kind.symbols(recipe.parameters)) if alike else FIRST)
    names = [sorted(own), *[[id for id in symbols if id not in own]] * (EXAMPLES - 1)]
    held_out = recipe.held_out()
    rows = [{side: [int(id) for id in held_out[side][i] if id >= FIRST] for side in vocabulary}
            for i in range(len(held_out["labels"]))]
    found: dict[tuple[str, str], None] = {}  # in their order
    for allowed in names:
        told = (_told(row, vocabulary, symbols, allowed) for row in rows)
        found |= dict.fromkeys(islice((text for text in told if text is not None and text not in found), 1))
    return tuple(found)


def _told(
    row: Mapping[str, Sequence[int]], vocabulary: Mapping[str, Vocabulary], symbols: range, names: Sequence[int],
) -> tuple[str, str] | None:
    """(source, target) of a row with its symbols named by these; None where they are too few, or a word of it cannot be typed."""
    used = sorted({id for ids in row.values() for id in ids if id in symbols})
    if len(used) > len(names) or any(vocabulary[side].slot(id) for side, ids in row.items() for id in ids):
        return None
    named = dict(zip(used, names, strict=False))
    said = {side: " ".join(vocabulary[side].decode(named.get(id, id)) for id in ids) for side, ids in row.items()}
    return said.get("source", ""), said.get("target", "")


def opened(data: bytes) -> Trained:
    """What a file holds. `Problem`, one sentence, for any other file."""
    if len(data) > MAX_GUEST_FILE:
        raise Problem(f"this file has {len(data):,} bytes and the limit is {MAX_GUEST_FILE:,}; open a smaller model.", "guest_size",
                      size_bytes=len(data), limit_bytes=MAX_GUEST_FILE)
    wrong = Problem("this is no file of weights that was trained here; download it again.", "guest_file")
    try:
        facts = json.loads(_metadata(data)[KEY])
        recipe, step = Recipe.from_json(facts["recipe"]), facts["step"]
        tensors = read_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise (error if isinstance(error, Problem) else wrong) from None
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step <= recipe.steps:
        raise wrong
    loss, accuracy = (_number(facts.get(name)) for name in ("loss", "accuracy"))
    found = Trained(recipe, step, tensors, loss, accuracy, _own(facts.get("own", {}), wrong))
    found.model()
    try:
        found.vocabulary()
    except ValueError:
        raise wrong from None
    return found


def _own(said: object, wrong: Problem) -> Mapping[int, str]:
    """The words of symbols in a file from anywhere."""
    if not isinstance(said, dict) or len(said) > MOST_WORDS:
        raise wrong
    if not all(re.fullmatch("[0-9]{1,3}", id) and isinstance(word, str) and 0 < len(word) <= MAX_WORD for id, word in said.items()):
        raise wrong
    return MappingProxyType({int(id): word for id, word in said.items()})


def _metadata(data: bytes) -> dict[str, str]:
    """The metadata of a safetensors file: its header is JSON behind its length."""
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise ValueError("cut off")
    return dict(json.loads(data[8 : 8 + length])["__metadata__"])


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
