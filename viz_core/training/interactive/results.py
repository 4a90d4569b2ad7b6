"""Results of runs over several seeds: mean curves with a band, and whether conditions differ by more than the seed-to-seed
variation.

All of it is computed from the runs; no outcome is assumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from viz_core.training.interactive.training_run import StepEvent, StopReason

HeldOutMetric = Literal["loss", "accuracy"]
SPREAD_FACTOR = 2.0  # a distinct difference exceeds this many seed spreads


@dataclass(frozen=True, slots=True)
class RunResult:
    """The held-out metrics of one run: steps [n], with a loss and an accuracy for each."""

    condition: int
    seed: int
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    stopped: StopReason

    def values(self, metric: HeldOutMetric) -> tuple[float, ...]:
        """Return the values of one metric, [n]."""
        return self.losses if metric == "loss" else self.accuracies

    @property
    def has_diverged(self) -> bool:
        return self.stopped == "diverged"


def summarize_run(condition: int, seed: int, events: Sequence[StepEvent]) -> RunResult:
    """Return the result of a run that has stopped, from all of its events. Raises `ValueError` if it has not stopped."""
    evaluated = [e for e in events if e.held_out_loss is not None]
    stopped = events[-1].stopped
    if stopped is None:
        raise ValueError(f"the run of condition {condition} and seed {seed} has not stopped at step {events[-1].step}.")
    losses, accuracies = (tuple(float(getattr(e, f"held_out_{what}")) for e in evaluated) for what in ("loss", "accuracy"))
    return RunResult(condition, seed, tuple(e.step for e in evaluated), losses, accuracies, stopped)


@dataclass(frozen=True, slots=True)
class Band:
    """One condition over its seeds: mean, minimum and maximum at each step, over the runs that have reached it."""

    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_runs: np.ndarray  # number of runs at each step


def compute_band(results: Sequence[RunResult], condition: int, metric: HeldOutMetric = "loss") -> Band:
    """Return the curve of a condition. Runs that stopped early count up to their last step."""
    found: dict[int, list[float]] = {}
    for r in results:
        if r.condition == condition:
            for step, number in zip(r.steps, r.values(metric), strict=True):
                found.setdefault(step, []).append(number)
    steps = sorted(found)
    rows = [found[step] for step in steps]
    return Band(np.array(steps, dtype=np.int64), *(np.array([f(row) for row in rows]) for f in (np.mean, np.min, np.max, len)))


def compute_bands(results: Sequence[RunResult], n_conditions: int, metric: HeldOutMetric = "loss") -> list[Band]:
    """Return the curves of all conditions; a condition without results has an empty one."""
    return [compute_band(results, condition, metric) for condition in range(n_conditions)]


@dataclass(frozen=True, slots=True)
class ConditionComparison:
    """Two conditions. difference: mean of the second minus mean of the first. spread: √((s₁² + s₂²) / 2) over their seeds.

    is_distinct: whether the difference exceeds `SPREAD_FACTOR` spreads and the ranges of the two conditions do not overlap. None if
    unknown: a condition has fewer than two runs with a value.
    """

    first: int
    second: int
    difference: float | None
    spread: float | None
    is_distinct: bool | None


@dataclass(frozen=True, slots=True)
class ExperimentSummary:
    """The conditions of an experiment compared by one value for each run.

    values [conditions][seeds]: the value of each run. It is the last held-out loss or accuracy (None for a diverged run), or the
    first evaluated step at which the target loss was reached (None if it never was). n_missing: how many runs of each condition
    have None.
    """

    metric: HeldOutMetric | Literal["steps"]
    target: float | None
    values: tuple[tuple[float | None, ...], ...]
    comparisons: tuple[ConditionComparison, ...]

    @property
    def n_missing(self) -> tuple[int, ...]:
        return tuple(sum(x is None for x in row) for row in self.values)


def compare_final(results: Sequence[RunResult], metric: HeldOutMetric = "loss") -> ExperimentSummary:
    """Compare the conditions by the last held-out value of their runs."""
    return _summarize(results, metric, None, lambda r: None if r.has_diverged or not r.steps else r.values(metric)[-1])


def compare_steps_to(results: Sequence[RunResult], target: float) -> ExperimentSummary:
    """Compare the conditions by the first evaluated step at which the held-out loss reached the target."""
    return _summarize(results, "steps", target, lambda r: next(
        (float(step) for step, loss in zip(r.steps, r.losses, strict=True) if loss <= target), None))


class StepSavings(NamedTuple):
    """How many steps one condition needs to reach the final loss of another. target: that loss, the mean over the slower
    condition's seeds.

    faster_steps: steps of the faster condition until then, averaged over its seeds that reach it; slower_steps: all steps of the
    slower condition.
    """

    faster: int
    slower: int
    target: float
    faster_steps: float
    slower_steps: int


def find_step_savings(results: Sequence[RunResult]) -> StepSavings | None:
    """Return how much sooner the better of two conditions reaches the final loss of the other; None unless there are two
    conditions, all of whose runs have a final loss."""
    ends = compare_final(results).values
    if len(ends) != 2 or any(x is None for row in ends for x in row):
        return None
    means = [float(np.mean([x for x in row if x is not None])) for row in ends]
    faster = int(np.argmin(means))
    conditions = sorted({r.condition for r in results})
    target = means[1 - faster]
    reached = [x for x in compare_steps_to(results, target).values[faster] if x is not None]
    last = max(r.steps[-1] for r in results if r.condition == conditions[1 - faster])
    return (
        None
        if not reached or not any(reached)
        else StepSavings(conditions[faster], conditions[1 - faster], target, float(np.mean(reached)), last)
    )


def _summarize(
    results: Sequence[RunResult],
    metric: HeldOutMetric | Literal["steps"],
    target: float | None,
    value_of: Callable[[RunResult], float | None],
) -> ExperimentSummary:
    conditions = sorted({r.condition for r in results})
    by_seed = sorted(results, key=lambda r: r.seed)
    values = tuple(tuple(value_of(r) for r in by_seed if r.condition == condition) for condition in conditions)
    known = [np.array([x for x in row if x is not None and np.isfinite(x)]) for row in values]
    pairs = [_compare(conditions[i], conditions[j], known[i], known[j]) for i, j in combinations(range(len(conditions)), 2)]
    return ExperimentSummary(metric, target, values, tuple(pairs))


def _compare(first: int, second: int, a: np.ndarray, b: np.ndarray) -> ConditionComparison:
    difference = float(b.mean() - a.mean()) if len(a) and len(b) else None
    if difference is None or min(len(a), len(b)) < 2:
        return ConditionComparison(first, second, difference, None, None)
    spread = float(np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))
    ranges_apart = bool(a.max() < b.min() or b.max() < a.min())
    return ConditionComparison(first, second, difference, spread, ranges_apart and abs(difference) > SPREAD_FACTOR * spread)
