"""Runs of several seeds as curves with a band, and whether two arms differ by more than their seeds do.

All of it is computed from the runs, and nothing is expected of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from viz_core.learning.training_run import Event, Stopped

Number = Literal["loss", "accuracy"]
BEYOND = 2.0  # spreads of the seeds that a difference has to exceed


@dataclass(frozen=True, slots=True)
class Result:
    """The held-out numbers of one run: steps [n] and as many losses and accuracies."""

    arm: int
    seed: int
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    stopped: Stopped

    def numbers(self, what: Number) -> tuple[float, ...]:
        return self.losses if what == "loss" else self.accuracies

    @property
    def diverged(self) -> bool:
        return self.stopped == "diverged"


def result(arm: int, seed: int, events: Sequence[Event]) -> Result:
    """The result of a run that has stopped, from all of its events."""
    taken = [e for e in events if e.held_out_loss is not None]
    stopped = events[-1].stopped
    if stopped is None:
        raise ValueError(f"the run of arm {arm} and seed {seed} has not stopped at step {events[-1].step}.")
    losses, accuracies = (tuple(float(getattr(e, f"held_out_{what}")) for e in taken) for what in ("loss", "accuracy"))
    return Result(arm, seed, tuple(e.step for e in taken), losses, accuracies, stopped)


@dataclass(frozen=True, slots=True)
class Band:
    """One arm over its seeds: at each step the mean, the lowest and the highest number of the runs that came so far."""

    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: np.ndarray  # how many there are at each step


def band(results: Sequence[Result], arm: int, what: Number = "loss") -> Band:
    """The curve of an arm. Runs that stopped earlier are in it as far as they go."""
    found: dict[int, list[float]] = {}
    for r in results:
        if r.arm == arm:
            for step, number in zip(r.steps, r.numbers(what), strict=True):
                found.setdefault(step, []).append(number)
    steps = sorted(found)
    rows = [found[step] for step in steps]
    return Band(np.array(steps, dtype=np.int64), *(np.array([f(row) for row in rows]) for f in (np.mean, np.min, np.max, len)))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two arms. difference: mean of the second minus mean of the first. spread: √((s₁² + s₂²) / 2) of their seeds.

    apart: whether the difference is more than `BEYOND` spreads and no run of one arm lies among those of the other. None where
    it cannot be told: an arm has fewer than two runs with a number.
    """

    first: int
    second: int
    difference: float | None
    spread: float | None
    apart: bool | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the runs say. values: for each arm the number of each seed's run, None where it has none.

    At the end: the last held-out number; a run that diverged has none. Steps to a target: the first measurement at which it was
    reached; a run that never reached it has none. without: how many runs of each arm have no number.
    """

    what: Number | Literal["steps"]
    target: float | None
    values: tuple[tuple[float | None, ...], ...]
    comparisons: tuple[Comparison, ...]

    @property
    def without(self) -> tuple[int, ...]:
        return tuple(sum(x is None for x in arm) for arm in self.values)


def at_the_end(results: Sequence[Result], what: Number = "loss") -> Verdict:
    """The arms compared by the last held-out number of their runs."""
    return _verdict(results, what, None, lambda r: None if r.diverged or not r.steps else r.numbers(what)[-1])


def steps_to(results: Sequence[Result], target: float) -> Verdict:
    """The arms compared by the steps after which the held-out loss was at the target for the first time."""
    return _verdict(results, "steps", target, lambda r: next(
        (float(step) for step, loss in zip(r.steps, r.losses, strict=True) if loss <= target), None))


class Lead(NamedTuple):
    """One arm is at the loss that another has at its end after fewer steps. target: that loss, the mean of the slower arm's seeds.

    steps: of the faster arm until then, the mean of its seeds; last: of the slower one to its end.
    """

    faster: int
    slower: int
    target: float
    steps: float
    last: int


def lead(results: Sequence[Result]) -> Lead | None:
    """How much sooner the better of two arms is where the other one ends; None for other numbers of arms or without an end."""
    ends = at_the_end(results).values
    if len(ends) != 2 or any(x is None for row in ends for x in row):
        return None
    means = [float(np.mean([x for x in row if x is not None])) for row in ends]
    faster = int(np.argmin(means))
    arms = sorted({r.arm for r in results})
    target = means[1 - faster]
    reached = [x for x in steps_to(results, target).values[faster] if x is not None]
    last = max(r.steps[-1] for r in results if r.arm == arms[1 - faster])
    return None if not reached or not any(reached) else Lead(arms[faster], arms[1 - faster], target, float(np.mean(reached)), last)


def _verdict(
    results: Sequence[Result], what: Number | Literal["steps"], target: float | None, number: Callable[[Result], float | None]
) -> Verdict:
    arms = sorted({r.arm for r in results})
    values = tuple(tuple(number(r) for r in sorted(results, key=lambda r: r.seed) if r.arm == arm) for arm in arms)
    known = [np.array([x for x in row if x is not None and np.isfinite(x)]) for row in values]
    pairs = [_compared(arms[i], arms[j], known[i], known[j]) for i, j in combinations(range(len(arms)), 2)]
    return Verdict(what, target, values, tuple(pairs))


def _compared(first: int, second: int, a: np.ndarray, b: np.ndarray) -> Comparison:
    difference = float(b.mean() - a.mean()) if len(a) and len(b) else None
    if difference is None or min(len(a), len(b)) < 2:
        return Comparison(first, second, difference, None, None)
    spread = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    ranges_apart = bool(a.max() < b.min() or b.max() < a.min())
    return Comparison(first, second, difference, spread, ranges_apart and abs(difference) > BEYOND * spread)
