"""The question of a comparison of two runs of one model: two words at one position of the output side.

Nothing here needs torch: a question is proposed from two captures.
"""

from typing import NamedTuple

import numpy as np

from viz_core.capture import Capture
from viz_core.problems import Problem
from viz_core.text.pairing import pairs

ALIKE = 1e-3  # of the larger logit difference, at least 1: below this, float32 rounding would be visible in the effects


class Question(NamedTuple):
    """The logit of `word` minus that of `other`, both ids, at `position` of the clean run's output side."""

    word: int
    other: int
    at: int


def answer_alike(clean: float, changed: float) -> bool:
    """Return whether the logit differences of two runs are too close to define the effect of a patch relative to them."""
    return abs(clean - changed) < ALIKE * max(1.0, abs(clean), abs(changed))


def proposed_question(
    clean: Capture, changed: Capture, item: int = 0, changed_item: int = 0, at: int | None = None
) -> Question | None:
    """Return a question in which two runs differ, or None if their logit differences are nearly equal everywhere.

    It compares the likeliest next words of the clean and of the corrupted run at the first position where they differ. If they
    differ nowhere, it compares the likeliest word with the corrupted run's second, where their logit difference changes most. Both
    runs have to read the same target, if the model has one besides its source; positions without a partner in the other run are
    left out. position: the only position to consider. `UserError` for a model without logits.
    """
    config = clean.config
    if not config.has_head:
        raise Problem("head=False leaves the model without logits, so there is nothing to compare; use head=True.", "patch_no_head")
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
    """Return the first position of the clean run's output side where the likeliest next words differ, and their ids in each run.

    None if the likeliest words are the same at every aligned position. Both runs have to read the same target, as for
    `propose_question`, which uses this position.
    """
    found = proposed_question(clean, changed, item, changed_item)
    if found is None:
        return None
    words = likeliest_words(clean, changed, found.at, item, changed_item)
    return (found.at, *words) if words[0] != words[1] else None


def likeliest_words(clean: Capture, changed: Capture, at: int, item: int = 0, changed_item: int = 0) -> tuple[int, int]:
    """Return the id of the likeliest next word of each run at an aligned position. position: in the clean run."""
    there = dict(_partners(clean, changed, item, changed_item))[at]
    return int(_logits(clean, item, at).argmax()), int(_logits(changed, changed_item, there).argmax())


def _logits(run: Capture, item: int, place: int) -> np.ndarray:
    return run["logits"][item, place].astype(np.float64)  # [W]


def _partners(clean: Capture, changed: Capture, item: int, changed_item: int) -> list[tuple[int, int]]:
    """Return the aligned positions of the output side of both runs, in reading order, without padding."""
    side = clean.config.output_side
    rows = (run[f"ids.{side}"][i, : run.length(side, i)].tolist() for run, i in ((clean, item), (changed, changed_item)))
    return [(i, j) for i, j in pairs(*rows) if i is not None and j is not None]
