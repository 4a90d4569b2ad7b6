"""Clocks whose hands turn with the position, for the clock component (`viz_core.ui.components.clock`).

A clock is a plane with one angular speed in radians per position. A hand with phase φ and shift s has the angle φ + speed · (p + s)
at position p, counterclockwise from the right; its tip is length · (cos, sin) of that angle.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from viz_core.analysis.positions import frequencies, wavelengths
from viz_core.messages import translate as _
from viz_core.messages.number_format import full_number
from viz_core.text import in_quotes, shorten

MAX_CLOCKS = 10  # clocks at most: two rows on a laptop


@dataclass(frozen=True, slots=True)
class Hand:
    """One hand: angle at position 0 in radians, length relative to the circle's radius, shift in positions."""

    phase: float
    length: float
    shift: float


@dataclass(frozen=True, slots=True)
class Clock:
    """One plane: title, a line below it, speed, and one or two hands.

    scale: the factor from the dot product of the drawn hands to that of the vectors.
    """

    title: str
    note: str
    speed: float
    hands: tuple[Hand, ...]
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class ClockChart:
    """Clocks of one kind for positions first..last.

    kind: "wave" shows sin and cos of each hand, "plane" two hands and their dot product. names: the labels of the hands, with {p}
    for the position and {s} for the shifted position. omitted_note: a sentence if there are more planes than clocks.
    """

    kind: Literal["wave", "plane"]
    clocks: tuple[Clock, ...]
    names: tuple[str, ...]
    first: int
    last: int
    omitted_note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the data for the script. It holds tuples because Streamlit imports pandas to check whether a list is a table."""
        faces = tuple(
            {"title": f.title, "note": f.note, "speed": f.speed, "scale": f.scale,
             "hands": tuple((hand.phase, hand.length, hand.shift) for hand in f.hands)}
            for f in self.clocks
        )
        return {"kind": self.kind, "faces": faces, "names": self.names, "first": self.first, "last": self.last,
                "leftOut": self.omitted_note}


def evenly_spaced_pairs(n_pairs: int, max_pairs: int = MAX_CLOCKS) -> list[int]:
    """Return at most `max_pairs` evenly spaced pairs, including the first and the last."""
    return np.unique(np.linspace(0, n_pairs - 1, min(n_pairs, max_pairs)).round().astype(int)).tolist() if n_pairs else []


def sinusoidal_clocks(n_positions: int, d_model: int, base: float, shift: int) -> ClockChart:
    """Return clocks of the (sin, cos) pairs of the sinusoidal table, and of the same pairs `shift` positions later."""
    omega, length = frequencies(d_model, base), wavelengths(d_model, base)
    n_pairs = d_model // 2
    clocks = tuple(
        Clock(f"{2 * i}, {2 * i + 1}", f"λ {full_number(length[2 * i])}", float(omega[i]),
              (Hand(0.0, 1.0, 0.0), *([Hand(0.0, 1.0, float(shift))] if shift else [])))
        for i in evenly_spaced_pairs(n_pairs)
    )
    names = (_("position {p}"), *([_("position {s}")] if shift else []))
    return ClockChart("wave", clocks, names, 0, n_positions - 1, _omitted_note(n_pairs))


def rope_clocks(q: np.ndarray, k: np.ndarray, distance: int, n_positions: int, base: float, names: Sequence[str]) -> ClockChart:
    """Return clocks of RoPE's planes: a query at position p and a key `distance` positions earlier. q, k: [K] before rotation."""
    omega, length = frequencies(len(q), base), wavelengths(len(q), base)
    clocks = []
    for i in evenly_spaced_pairs(len(q) // 2):
        pairs = [(float(x[2 * i]), float(x[2 * i + 1])) for x in (q, k)]
        longest = max(math.hypot(*pair) for pair in pairs) or 1.0
        hands = tuple(
            Hand(math.atan2(b, a), math.hypot(a, b) / longest, shift)
            for (a, b), shift in zip(pairs, (0.0, -float(distance)), strict=True)
        )
        clocks.append(Clock(f"{2 * i}, {2 * i + 1}", f"λ {full_number(length[2 * i])}", float(omega[i]), hands, longest**2))
    return ClockChart(
        "plane", tuple(clocks), tuple(names), max(0, distance), max(0, distance) + n_positions - 1, _omitted_note(len(q) // 2)
    )


def rope_hand_names(query: str, key: str) -> tuple[str, str]:
    """Return the labels of RoPE's hands, with the word of the query and the word of the key."""
    own, other = (in_quotes(shorten(word)) for word in (query, key))
    return _("query of {shorten} at {{p}}", shorten=own), _("key of {shorten} at {{s}}", shorten=other)


def _omitted_note(n_pairs: int) -> str:
    return (
        _("{most} of {n_pairs} pairs are drawn, evenly spaced.", most=MAX_CLOCKS, n_pairs=n_pairs) if n_pairs > MAX_CLOCKS else ""
    )
