"""Match the tokens of two sentences, to compare two runs position by position."""

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher


def align_tokens(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[tuple[int | None, int | None], ...]:
    """Return pairs of matching positions of a and b, in reading order; None where the other sequence has no match.

    Equal tokens match. A replacement by the same number of tokens matches one by one: "tired" and "wide" in "it was tired" and
    "it was wide". Insertions, and replacements by a different number of tokens, have no match.
    """
    found: list[tuple[int | None, int | None]] = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal" or a1 - a0 == b1 - b0:
            found += zip(range(a0, a1), range(b0, b1), strict=True)
        else:
            found += [(i, None) for i in range(a0, a1)] + [(None, j) for j in range(b0, b1)]
    return tuple(found)
