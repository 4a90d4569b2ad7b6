"""Bands and verdicts are the numbers of the runs, and say nothing that the runs do not."""

import math

import numpy as np
import pytest

from tests.training.interactive.small import RECIPE
from viz_core.training.interactive.experiment import vary_factor
from viz_core.training.interactive.results import (
    RunResult,
    compare_final,
    compare_steps_to,
    compute_band,
    compute_bands,
    find_step_savings,
    summarize_run,
)
from viz_core.training.interactive.training_run import TrainingRun


def run(arm: int, seed: int, *losses: float, stopped: str = "steps") -> RunResult:
    steps = tuple(10 * (i + 1) for i in range(len(losses)))
    return RunResult(arm, seed, steps, losses, tuple(1 - x / 10 for x in losses), stopped)  # type: ignore[arg-type]


def test_a_band_is_mean_and_range_of_the_seeds() -> None:
    results = [run(0, 0, 3, 2, 1), run(0, 1, 5, 4), run(0, 2, 4, 4, 2), run(1, 0, 9, 9, 9)]
    found = compute_band(results, 0)
    assert found.steps.tolist() == [10, 20, 30] and found.n_runs.tolist() == [3, 3, 2]
    assert found.mean == pytest.approx([4, 10 / 3, 1.5]) and found.low.tolist() == [3, 2, 1] and found.high.tolist() == [5, 4, 2]
    assert [len(band.steps) for band in compute_bands(results, 3)] == [3, 3, 0]
    assert compute_band(results, 0, "accuracy").mean == pytest.approx(1 - np.array([4, 10 / 3, 1.5]) / 10)


def test_arms_differ_by_more_than_their_seeds_or_not() -> None:
    apart = compare_final([run(0, 0, 1.0), run(0, 1, 1.2), run(1, 0, 3.0), run(1, 1, 3.1)])
    (pair,) = apart.comparisons
    assert pair.difference == pytest.approx(1.95) and pair.spread == pytest.approx(math.sqrt((0.02 + 0.005) / 2))
    assert pair.is_distinct is True
    (pair,) = compare_final([run(0, 0, 1.0), run(0, 1, 3.0), run(1, 0, 2.0), run(1, 1, 4.0)]).comparisons
    assert pair.difference == pytest.approx(1.0) and pair.spread == pytest.approx(math.sqrt(2)) and pair.is_distinct is False
    (pair,) = compare_final([run(0, 0, 1.0), run(0, 1, 2.0), run(1, 0, 2.1), run(1, 1, 3.1)]).comparisons
    assert pair.is_distinct is False  # side by side, and still within two spreads
    (pair,) = compare_final([run(0, 0, 1.0), run(1, 0, 9.0)]).comparisons
    assert (pair.difference, pair.spread, pair.is_distinct) == (8.0, None, None)  # one seed says nothing about the spread
    three = compare_final([run(arm, seed, arm + seed / 100) for arm in range(3) for seed in range(2)], "accuracy")
    assert [(c.first, c.second, c.is_distinct) for c in three.comparisons] == [(0, 1, True), (0, 2, True), (1, 2, True)]
    assert three.comparisons[1].difference == pytest.approx(-0.2)


def test_a_run_that_diverged_has_no_last_number() -> None:
    verdict = compare_final([run(0, 0, 1.0), run(0, 1, 1.0), run(1, 0, 2.0, stopped="diverged"), run(1, 1, stopped="diverged")])
    assert verdict.values == ((1.0, 1.0), (None, None)) and verdict.n_missing == (0, 2)
    assert verdict.comparisons[0].difference is None and verdict.comparisons[0].is_distinct is None


def test_steps_to_a_target() -> None:
    results = [run(0, 0, 3, 0.4, 0.9), run(0, 1, 3, 2, 0.5), run(1, 0, 3, 3, 3), run(1, 1, 0.1)]
    verdict = compare_steps_to(results, 0.5)
    assert verdict.values == ((20.0, 30.0), (None, 10.0)) and verdict.n_missing == (0, 1) and verdict.target == 0.5
    assert verdict.comparisons[0].difference == -15.0 and verdict.comparisons[0].is_distinct is None


def test_how_much_sooner_the_better_of_two_arms_is_where_the_other_ends() -> None:
    slow, fast = [run(3, 0, 3, 2, 2), run(3, 1, 3, 2, 1)], [run(1, 0, 1.4, 1, 0.5), run(1, 1, 3, 1, 0.4)]
    ahead = find_step_savings([*slow, *fast])
    assert (
        ahead is not None
        and ahead[:3] == (1, 3, 1.5)
        and ahead.faster_steps == pytest.approx((10 + 20) / 2)
        and ahead.slower_steps == 30
    )
    assert find_step_savings(slow) is None and find_step_savings([*slow, *fast, run(5, 0, 1.0)]) is None
    assert find_step_savings([*slow, run(1, 0, 1.0, stopped="diverged")]) is None


def test_real_runs_from_events_to_a_verdict() -> None:
    experiment = vary_factor(RECIPE, "learning_rate", [1e-8, 3e-2], seeds=(0, 1))
    results = [summarize_run(arm, seed, list(TrainingRun(own))) for arm, seed, own in experiment.runs()]
    assert [(r.condition, r.seed, r.steps, r.stopped) for r in results[:2]] == [
        (0, 0, (4, 8, 10), "steps"),
        (1, 0, (4, 8, 10), "steps"),
    ]
    verdict = compare_final(results)
    assert verdict.comparisons[0].difference < 0 and compute_band(results, 0).mean[0] == pytest.approx(
        compute_band(results, 0).mean[-1], abs=1e-4
    )
    with pytest.raises(ValueError, match="has not stopped"):
        summarize_run(0, 0, [TrainingRun(RECIPE).step()])
