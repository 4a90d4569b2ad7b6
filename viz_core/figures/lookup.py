"""Token ids as rows of the vocabulary, and so of the embedding table."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from viz_core.capture import Capture
from viz_core.messages import translate as _
from viz_core.stages import Stage
from viz_core.text import AnyTokenizer, UntrainedTokenizer, Vocabulary, display_token


@dataclass(frozen=True, slots=True)
class VocabularyRow:
    """A row of the vocabulary and its words, as displayed.

    A row of an untrained model that is a hash bucket has no name: its words are the sentence's words with this id, in order of
    first appearance, several if words collide. A copy slot is labelled with the word that it holds: "slot 1: John".
    """

    id: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VocabularyLookup:
    """The ids of one sentence at a stage, and the vocabulary rows that they index.

    ids: for each panel of `stage_panels`, one id per token. rows: the vocabulary rows of the last panel's ids, sorted by id.
    size: the number of rows of the vocabulary. moved: if the last panel is a shifted copy of the one before, the (from, to)
    positions of the shifted tokens.
    """

    ids: tuple[tuple[int, ...], ...]
    rows: tuple[VocabularyRow, ...]
    size: int
    moved: tuple[tuple[int, int], ...]


def vocabulary_lookup(capture: Capture, name: str, item: int, tokenizers: Mapping[str, AnyTokenizer]) -> VocabularyLookup | None:
    """Return the ids of one sentence at a stage as vocabulary rows, or None if the stage does not hold ids.

    tokenizers: side → tokenizer with the slot words of this sentence.
    """
    stage = capture.stage(name)
    if stage.kind != "ids":
        return None
    ids = [capture[each][item] for each in (*stage.inputs, name) if each in capture]
    side = stage.sides["T"]
    step = 1 if name == "ids.target" else -1  # an encoder has its own tokens as labels, shifted by one
    moved = (
        _shifted_positions(ids[0], ids[1], step, capture.length("source" if step < 0 else "labels", item)) if len(ids) == 2 else ()
    )
    rows = _vocabulary_rows(capture, stage, item, tokenizers[side])
    return VocabularyLookup(tuple(tuple(map(int, x)) for x in ids), rows, tokenizers[side].vocab_size, moved)


def _vocabulary_rows(capture: Capture, stage: Stage, item: int, tokenizer: AnyTokenizer) -> tuple[VocabularyRow, ...]:
    found: dict[int, dict[str, None]] = {}
    for id, token in zip(capture[stage.name][item].tolist(), capture.axis_tokens(stage.name, "T", item) or (), strict=True):
        word = token if isinstance(tokenizer, UntrainedTokenizer) else tokenizer.decode(id)  # a checkpoint names all its rows
        found.setdefault(id, {})[_slot_label(tokenizer, id, display_token(word))] = None
    return tuple(VocabularyRow(id, tuple(found[id])) for id in sorted(found))


def _slot_label(tokenizer: AnyTokenizer, id: int, word: str) -> str:
    """Return the label of a row: for a copy slot its number and the word that it holds in this sentence, if any."""
    number = tokenizer.slot(id) if isinstance(tokenizer, Vocabulary) else 0
    if not number:
        return word
    carries = isinstance(tokenizer, Vocabulary) and number <= len(tokenizer.copied_words)
    return _("slot {number}: {word}", number=number, word=word) if carries else _("slot {number}", number=number)


def _shifted_positions(before: np.ndarray, after: np.ndarray, step: int, n_tokens: int) -> tuple[tuple[int, int], ...]:
    """Return (from, to) for each of the first `n_tokens` tokens of `before` that is `step` positions later in `after`."""
    pairs = ((t, t + step) for t in range(n_tokens))
    return tuple((t, to) for t, to in pairs if 0 <= to < len(after) and before[t] == after[to])
