"""Trained weights as a `Card` for every page, and as one file that can be opened again.

The file is safetensors; its metadata holds the recipe, from which config and vocabulary follow, and a few facts about the run.
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

from viz_core.config.limits import MAX_USER_WEIGHTS_FILE_BYTES, megabytes
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.text import SPECIALS, AnyTokenizer, Vocabulary
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.run_history import Snapshot
from viz_core.training.interactive.tasks.markov import NextWord
from viz_core.training.interactive.tasks.symbols import FIRST_ID, MAX_SYMBOL_WORDS
from viz_core.weights.card import Card
from viz_core.weights.user_weights import USER_WEIGHTS_PREFIX

METADATA_KEY = "attention_lab"  # key of the JSON in the metadata of the safetensors file
NAME_DIGITS = 12  # hexadecimal digits of a name
N_EXAMPLES = 4  # example rows of a card
MAX_WORD_CHARS = 200  # characters of a word displayed for a symbol; longer words are read, but not stored


@dataclass(frozen=True, slots=True)
class TrainedWeights:
    """A trained model: recipe, number of steps, weights, and held-out loss and accuracy where measured.

    user_words: ids of symbols that are displayed as a visitor's words, so that every page can read the sentence that the visitor
    typed.
    """

    recipe: Recipe
    step: int
    weights: Mapping[str, Tensor]
    loss: float | None = None
    accuracy: float | None = None
    user_words: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def name(self) -> str:
        """A name derived from weights and words, the same on every server: "trained-3fa2…"."""
        words = json.dumps(sorted(self.user_words.items())) if self.user_words else ""
        return f"{USER_WEIGHTS_PREFIX}{hashlib.sha256(to_bytes(self._contiguous()) + words.encode()).hexdigest()[:NAME_DIGITS]}"

    def vocabulary(self) -> dict[str, Vocabulary]:
        """Return the vocabulary of each side. Raises `ValueError` if two ids have the same word."""
        return {side: Vocabulary(tuple(self.user_words.get(id, word) for id, word in enumerate(words.words, start=len(SPECIALS))))
                for side, words in self.recipe.vocabulary.items()}

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return sum(x.numel() * x.element_size() for x in self.weights.values())

    def build_model(self) -> Transformer:
        """Return the model in float32 on the CPU with dropout off. Raises `UserError` if the weights do not match the recipe's
        model."""
        return Snapshot(self.step, self.weights).build_model(self.recipe.config)

    def card(self, title: str, about: Mapping[str, str]) -> Card:
        """Return the card with which every page can use the weights. Its examples are rows of the task."""
        words = self.vocabulary()
        vocabulary: dict[str, AnyTokenizer] = {**words}
        return Card(name=self.name, title=title, config=self.recipe.config, tokenizers=lambda: vocabulary, load=self.build_model,
                    about=about, examples=example_rows(self.recipe, words, self.user_words), recipe=self.recipe.to_link(),
                    task=self.recipe.task)

    def to_bytes(self) -> bytes:
        """Return the file content."""
        facts = {"recipe": self.recipe.to_json(), "step": self.step, "loss": self.loss, "accuracy": self.accuracy,
                 "own": {str(id): word for id, word in self.user_words.items()}}
        return to_bytes(self._contiguous(), {METADATA_KEY: json.dumps(facts)})

    def _contiguous(self) -> dict[str, Tensor]:
        return {name: self.weights[name].contiguous() for name in sorted(self.weights)}


def example_rows(
    recipe: Recipe, vocabulary: Mapping[str, Vocabulary], user_words: Mapping[int, str]
) -> tuple[tuple[str, str], ...]:
    """Return a few held-out rows as (source, target), without special tokens.

    In a task of symbols, a row is written either in the visitor's words or in the task's symbols, never in both. Renaming
    keeps the order of the symbols, so the row's answer stays correct. A row with more symbols than there are names is left out.
    """
    renamable = not isinstance(
        recipe.task_definition.kind, NextWord
    )  # its words have different probabilities, so they cannot be renamed
    symbols = range(FIRST_ID, FIRST_ID + len(recipe.task_definition.kind.symbols(recipe.parameters)) if renamable else FIRST_ID)
    allowed_sets = [sorted(user_words), *[[id for id in symbols if id not in user_words]] * (N_EXAMPLES - 1)]
    held_out = recipe.held_out_batch()
    rows = [{side: [int(id) for id in held_out[side][i] if id >= FIRST_ID] for side in vocabulary}
            for i in range(len(held_out["labels"]))]
    found: dict[tuple[str, str], None] = {}  # a dict keeps the order
    for allowed in allowed_sets:
        rendered = (_render_row(row, vocabulary, symbols, allowed) for row in rows)
        found |= dict.fromkeys(islice((text for text in rendered if text is not None and text not in found), 1))
    return tuple(found)


def _render_row(
    row: Mapping[str, Sequence[int]], vocabulary: Mapping[str, Vocabulary], symbols: range, allowed_ids: Sequence[int],
) -> tuple[str, str] | None:
    """Return (source, target) of a row with its symbols renamed; None if there are too few names, or if a word of the row cannot be
    typed."""
    used = sorted({id for ids in row.values() for id in ids if id in symbols})
    if len(used) > len(allowed_ids) or any(vocabulary[side].slot(id) for side, ids in row.items() for id in ids):
        return None
    named = dict(zip(used, allowed_ids, strict=False))
    text = {side: " ".join(vocabulary[side].decode(named.get(id, id)) for id in ids) for side, ids in row.items()}
    return text.get("source", ""), text.get("target", "")


def read_weights_file(data: bytes) -> TrainedWeights:
    """Return the trained weights in a file. Raises `UserError` for any other file."""
    if len(data) > MAX_USER_WEIGHTS_FILE_BYTES:
        raise UserError("user_weights_size", size=megabytes(len(data)), limit=megabytes(MAX_USER_WEIGHTS_FILE_BYTES))
    invalid = UserError("user_weights_file")
    try:
        facts = json.loads(_read_metadata(data)[METADATA_KEY])
        recipe, step = Recipe.from_json(facts["recipe"]), facts["step"]
        tensors = read_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise (error if isinstance(error, UserError) else invalid) from None
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step <= recipe.steps:
        raise invalid
    loss, accuracy = (_finite_or_none(facts.get(name)) for name in ("loss", "accuracy"))
    trained = TrainedWeights(recipe, step, tensors, loss, accuracy, _parse_user_words(facts.get("own", {}), invalid))
    trained.build_model()
    try:
        trained.vocabulary()
    except ValueError:
        raise invalid from None
    return trained


def _parse_user_words(stored: object, error: UserError) -> Mapping[int, str]:
    """Parse the visitor's words in an untrusted file."""
    if not isinstance(stored, dict) or len(stored) > MAX_SYMBOL_WORDS:
        raise error
    if not all(
        re.fullmatch("[0-9]{1,3}", id) and isinstance(word, str) and 0 < len(word) <= MAX_WORD_CHARS for id, word in stored.items()
    ):
        raise error
    return MappingProxyType({int(id): word for id, word in stored.items()})


def _read_metadata(data: bytes) -> dict[str, str]:
    """Return the metadata of a safetensors file: the header is JSON after its length."""
    length = int.from_bytes(data[:8], "little")
    if length > len(data) - 8:
        raise ValueError("truncated")
    return dict(json.loads(data[8 : 8 + length])["__metadata__"])


def _finite_or_none(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
