"""What a token id is: the number of the word's row in a table, the vocabulary (and so of its row in the embedding table)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viz_core.capture import Capture
from viz_core.language import translate as _
from viz_core.stages import Stage
from viz_core.text import AnyTokenizer, Tokenizer, Vocabulary, visible


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the vocabulary, and the words that stand in it, as shown.

    The rows of an untrained model that are hash buckets have no names. There the words are those of the sentence that have this
    id, in order of first appearance: several where words collide. A slot is named with the word that it carries: slot 1: John.
    """

    id: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lookup:
    """One sentence's ids at a stage, and the rows of the vocabulary that they number.

    ids: of each panel of `stage_panels`, one a token. rows: those that the last panel's ids number, by id. size: how many rows
    the vocabulary has. moved: where the last panel is the one before it shifted, the places (from, to) of each word that moved.
    """

    ids: tuple[tuple[int, ...], ...]
    rows: tuple[Row, ...]
    size: int
    moved: tuple[tuple[int, int], ...]


def lookup(capture: Capture, name: str, item: int, tokenizers: Mapping[str, AnyTokenizer]) -> Lookup | None:
    """The ids of one sentence at a stage as rows of the vocabulary; None for a stage that does not hold ids.

    tokenizers: those that name this sentence's slots.
    """
    stage = capture.stage(name)
    if stage.kind != "ids":
        return None
    ids = [capture[each][item] for each in (*stage.inputs, name) if each in capture]
    side = stage.sides["T"]
    step = 1 if name == "ids.target" else -1  # an encoder's answers are its own words, one place earlier
    moved = _moved(ids[0], ids[1], step, capture.length("source" if step < 0 else "labels", item)) if len(ids) == 2 else ()
    rows = _rows(capture, stage, item, tokenizers[side])
    return Lookup(tuple(tuple(map(int, x)) for x in ids), rows, tokenizers[side].vocab_size, moved)


def _rows(capture: Capture, stage: Stage, item: int, tokenizer: AnyTokenizer) -> tuple[Row, ...]:
    found: dict[int, dict[str, None]] = {}
    for id, token in zip(capture[stage.name][item].tolist(), capture.axis_tokens(stage.name, "T", item) or (), strict=True):
        word = token if isinstance(tokenizer, Tokenizer) else tokenizer.decode(id)  # a checkpoint names all its rows
        found.setdefault(id, {})[_as_slot(tokenizer, id, visible(word))] = None
    return tuple(Row(id, tuple(found[id])) for id in sorted(found))


def _as_slot(tokenizer: AnyTokenizer, id: int, word: str) -> str:
    """The name of a row: of a slot its number and the word that it carries in this sentence, if any."""
    number = tokenizer.slot(id) if isinstance(tokenizer, Vocabulary) else 0
    if not number:
        return word
    carries = isinstance(tokenizer, Vocabulary) and number <= len(tokenizer.carried)
    return _("slot {number}: {word}", number=number, word=word) if carries else _("slot {number}", number=number)


def _moved(before: np.ndarray, after: np.ndarray, step: int, words: int) -> tuple[tuple[int, int], ...]:
    """Which of the first `words` tokens of `before` stands `step` places later in `after`. An ending may stay behind."""
    pairs = ((t, t + step) for t in range(words))
    return tuple((t, to) for t, to in pairs if 0 <= to < len(after) and before[t] == after[to])
