"""Weights that a training made, as a choice of weights for every page, and as one file that can be opened again.

The file is safetensors; its metadata holds the recipe, from which config and vocabulary follow, and a few facts of the run.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.learning.moments import Moment
from viz_core.learning.recipe import Recipe
from viz_core.learning.tasks.symbols import MOST_WORDS
from viz_core.limits import MAX_GUEST_FILE
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.text import SPECIALS, AnyTokenizer, Vocabulary
from viz_core.weights.card import Card
from viz_core.weights.guests import BROUGHT

KEY = "attention_lab"  # of the metadata
DIGITS = 12  # hexadecimal digits of a name
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
        """The card under which every page can use it. Its example is a held-out row of its task."""
        words = self.vocabulary()
        vocabulary: dict[str, AnyTokenizer] = {**words}
        return Card(name=self.name, title=title, config=self.recipe.config, tokenizers=lambda: vocabulary, load=self.model,
                    about=about, examples=(_example(self.recipe, words),), recipe=self.recipe.to_link())

    def to_bytes(self) -> bytes:
        """The file."""
        facts = {"recipe": self.recipe.to_json(), "step": self.step, "loss": self.loss, "accuracy": self.accuracy,
                 "own": {str(id): word for id, word in self.own.items()}}
        return to_bytes(self._contiguous(), {KEY: json.dumps(facts)})

    def _contiguous(self) -> dict[str, Tensor]:
        return {name: self.weights[name].contiguous() for name in sorted(self.weights)}


def _example(recipe: Recipe, vocabulary: Mapping[str, Vocabulary]) -> tuple[str, str]:
    """(source, target) of the first held-out row, without the special tokens."""
    rows = recipe.held_out()

    def text(side: str) -> str:
        if side not in vocabulary:
            return ""
        words = vocabulary[side]
        return " ".join(words.decode(int(i)) for i in rows[side][0] if int(i) >= len(SPECIALS))

    return text("source"), text("target")


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
