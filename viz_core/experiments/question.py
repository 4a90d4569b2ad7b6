"""What is asked of two runs of one model: this word against that word, at this place of the output side.

Nothing here needs torch: the question is proposed from two captures.
"""

from typing import NamedTuple

import numpy as np

from viz_core.capture import Capture
from viz_core.problems import Problem
from viz_core.text.pairing import pairs

ALIKE = 1e-3  # of the larger logit difference, at least 1: below it the rounding of float32 would show in the effects


class Question(NamedTuple):
    """The logit of `word` minus that of `other`, both ids, at the position `at` of the clean run's output side."""

    word: int
    other: int
    at: int


def answer_alike(clean: float, changed: float) -> bool:
    """Whether the logit differences of two runs are too close to tell how far a patched run goes from one to the other."""
    return abs(clean - changed) < ALIKE * max(1.0, abs(clean), abs(changed))


def proposed_question(
    clean: Capture, changed: Capture, item: int = 0, changed_item: int = 0, at: int | None = None
) -> Question | None:
    """The question that the two runs differ in, or None where they answer alike everywhere.

    The first place where the likeliest next word differs: the clean run's against the changed run's. If it differs nowhere: the
    place where the lead of the clean run's word over the changed run's runner-up changes most. Both runs have to read the same
    target, if the model has one besides its source; places without a partner in the other run are left out. at: the only place
    that is asked about. `Problem` for a model without logits.
    """
    config = clean.config
    if not config.has_head:
        raise Problem("head=False leaves the model without logits, so it has no answer; use head=True.", "patch_no_head")
    best, largest = None, 0.0
    for place, other_at in _partners(clean, changed, item, changed_item):
        if at not in (None, place):
            continue
        a, b = _logits(clean, item, place), _logits(changed, changed_item, other_at)
        if not (np.isfinite(a).all() and np.isfinite(b).all()) or len(a) < 2:
            continue
        word, other = int(a.argmax()), int(b.argmax())
        differs = word != other
        if not differs:
            other = int(np.where(np.arange(len(b)) == word, -np.inf, b).argmax())
        before, after = float(a[word] - a[other]), float(b[word] - b[other])
        if answer_alike(before, after):
            continue
        if differs:
            return Question(word, other, place)
        if abs(before - after) > largest:
            best, largest = Question(word, other, place), abs(before - after)
    return best


def first_difference(clean: Capture, changed: Capture, item: int = 0, changed_item: int = 0) -> tuple[int, int, int] | None:
    """The first place of the clean run's output side where the likeliest next words differ, and the word of each run, ids.

    None where both runs write the same word at every place that both have. Both have to read the same target, as for
    `proposed_question`, which asks about this place.
    """
    found = proposed_question(clean, changed, item, changed_item)
    if found is None:
        return None
    words = likeliest_words(clean, changed, found.at, item, changed_item)
    return (found.at, *words) if words[0] != words[1] else None


def likeliest_words(clean: Capture, changed: Capture, at: int, item: int = 0, changed_item: int = 0) -> tuple[int, int]:
    """The id of the likeliest next word of each run at a place that both have; at: as the clean run counts it."""
    there = dict(_partners(clean, changed, item, changed_item))[at]
    return int(_logits(clean, item, at).argmax()), int(_logits(changed, changed_item, there).argmax())


def _logits(run: Capture, item: int, place: int) -> np.ndarray:
    return run["logits"][item, place].astype(np.float64)  # [W]


def _partners(clean: Capture, changed: Capture, item: int, changed_item: int) -> list[tuple[int, int]]:
    """Places of the output side that both runs have, in reading order, padding left out."""
    side = clean.config.output_side
    rows = (run[f"ids.{side}"][i, : run.length(side, i)].tolist() for run, i in ((clean, item), (changed, changed_item)))
    return [(i, j) for i, j in pairs(*rows) if i is not None and j is not None]
