"""Timing two things beside each other, and the table of what came out."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the table; `spread` is the middle half of what was measured."""

    name: str
    measured: float
    bar: float | None  # None: reported, without a bar
    spread: tuple[float, float]
    unit: str
    setting: str


def interleaved(a: Callable[[], Any], b: Callable[[], Any], repeats: int) -> tuple[list[float], list[float]]:
    """Milliseconds of a and of b in turns, each first in every second turn, so that a busy machine slows both."""
    times: dict[Callable[[], Any], list[float]] = {a: [], b: []}
    for turn in range(-2, repeats):  # the first two turns warm up
        for f in (a, b) if turn % 2 else (b, a):
            start = time.perf_counter()
            made = f()
            elapsed = 1000 * (time.perf_counter() - start)
            del made  # freeing memory is not part of the work
            if turn >= 0:
                times[f].append(elapsed)
    return times[a], times[b]


def ratio(name: str, a: Sequence[float], b: Sequence[float], bar: float | None, setting: str) -> Result:
    """median(a) / median(b), with the spread of the ratios of neighbours."""
    middle_a, middle_b = statistics.median(a), statistics.median(b)
    spread = middle_half([x / y for x, y in zip(a, b, strict=True)])
    return Result(name, middle_a / middle_b, bar, spread, "×", f"{middle_a:.1f} against {middle_b:.1f} ms; {setting}")


def middle_half(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def table(results: Sequence[Result]) -> str:
    """Aligned columns: name, measured, bar, whether it is met, spread, setting."""
    rows = [("name", "measured", "bar", "met", "spread", "setting")]
    for r in results:
        bar, met = ("–", "–") if r.bar is None else (f"{r.bar:g} {r.unit}", "yes" if r.measured <= r.bar else "no")
        spread = f"{_number(r.spread[0])} to {_number(r.spread[1])}"
        rows.append((r.name, f"{_number(r.measured)} {r.unit}", bar, met, spread, r.setting))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)


def _number(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.2f}"
