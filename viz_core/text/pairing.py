"""Which token of one sentence stands for which token of another, for two runs that are compared place by place."""

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher


def pairs(a: Sequence[Hashable], b: Sequence[Hashable]) -> tuple[tuple[int | None, int | None], ...]:
    """Positions of a and of b, side by side, in reading order; None where the other sentence has no partner.

    Equal tokens are partners. So are tokens that replace as many others between them, one by one: "tired" and "wide" in
    "it was tired" and "it was wide". What was inserted, or replaces another number of tokens, has no partner: nothing is
    shifted in silence.
    """
    found: list[tuple[int | None, int | None]] = []
    for kind, a0, a1, b0, b1 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if kind == "equal" or a1 - a0 == b1 - b0:
            found += zip(range(a0, a1), range(b0, b1), strict=True)
        else:
            found += [(i, None) for i in range(a0, a1)] + [(None, j) for j in range(b0, b1)]
    return tuple(found)
