"""Bands and verdicts are the numbers of the runs, and say nothing that the runs do not."""

import math

import numpy as np
import pytest

from tests.learning.small import RECIPE
from viz_core.learning.arms import of_factor
from viz_core.learning.curves import Result, at_the_end, band, lead, result, steps_to
from viz_core.learning.training_run import TrainingRun


def run(arm: int, seed: int, *losses: float, stopped: str = "steps") -> Result:
    steps = tuple(10 * (i + 1) for i in range(len(losses)))
    return Result(arm, seed, steps, losses, tuple(1 - x / 10 for x in losses), stopped)  # type: ignore[arg-type]


def test_a_band_is_mean_and_range_of_the_seeds() -> None:
    results = [run(0, 0, 3, 2, 1), run(0, 1, 5, 4), run(0, 2, 4, 4, 2), run(1, 0, 9, 9, 9)]
    found = band(results, 0)
    assert found.steps.tolist() == [10, 20, 30] and found.runs.tolist() == [3, 3, 2]
    assert found.mean == pytest.approx([4, 10 / 3, 1.5]) and found.low.tolist() == [3, 2, 1] and found.high.tolist() == [5, 4, 2]
    assert band(results, 0, "accuracy").mean == pytest.approx(1 - np.array([4, 10 / 3, 1.5]) / 10)


def test_arms_differ_by_more_than_their_seeds_or_not() -> None:
    apart = at_the_end([run(0, 0, 1.0), run(0, 1, 1.2), run(1, 0, 3.0), run(1, 1, 3.1)])
    (pair,) = apart.comparisons
    assert pair.difference == pytest.approx(1.95) and pair.spread == pytest.approx(math.sqrt((0.02 + 0.005) / 2))
    assert pair.apart is True
    (pair,) = at_the_end([run(0, 0, 1.0), run(0, 1, 3.0), run(1, 0, 2.0), run(1, 1, 4.0)]).comparisons
    assert pair.difference == pytest.approx(1.0) and pair.spread == pytest.approx(math.sqrt(2)) and pair.apart is False
    (pair,) = at_the_end([run(0, 0, 1.0), run(0, 1, 2.0), run(1, 0, 2.1), run(1, 1, 3.1)]).comparisons
    assert pair.apart is False  # side by side, and still within two spreads
    (pair,) = at_the_end([run(0, 0, 1.0), run(1, 0, 9.0)]).comparisons
    assert (pair.difference, pair.spread, pair.apart) == (8.0, None, None)  # one seed says nothing about the spread
    three = at_the_end([run(arm, seed, arm + seed / 100) for arm in range(3) for seed in range(2)], "accuracy")
    assert [(c.first, c.second, c.apart) for c in three.comparisons] == [(0, 1, True), (0, 2, True), (1, 2, True)]
    assert three.comparisons[1].difference == pytest.approx(-0.2)


def test_a_run_that_diverged_has_no_last_number() -> None:
    verdict = at_the_end([run(0, 0, 1.0), run(0, 1, 1.0), run(1, 0, 2.0, stopped="diverged"), run(1, 1, stopped="diverged")])
    assert verdict.values == ((1.0, 1.0), (None, None)) and verdict.without == (0, 2)
    assert verdict.comparisons[0].difference is None and verdict.comparisons[0].apart is None


def test_steps_to_a_target() -> None:
    results = [run(0, 0, 3, 0.4, 0.9), run(0, 1, 3, 2, 0.5), run(1, 0, 3, 3, 3), run(1, 1, 0.1)]
    verdict = steps_to(results, 0.5)
    assert verdict.values == ((20.0, 30.0), (None, 10.0)) and verdict.without == (0, 1) and verdict.target == 0.5
    assert verdict.comparisons[0].difference == -15.0 and verdict.comparisons[0].apart is None


def test_how_much_sooner_the_better_of_two_arms_is_where_the_other_ends() -> None:
    slow, fast = [run(3, 0, 3, 2, 2), run(3, 1, 3, 2, 1)], [run(1, 0, 1.4, 1, 0.5), run(1, 1, 3, 1, 0.4)]
    ahead = lead([*slow, *fast])
    assert ahead is not None and ahead[:3] == (1, 3, 1.5) and ahead.steps == pytest.approx((10 + 20) / 2) and ahead.last == 30
    assert lead(slow) is None and lead([*slow, *fast, run(5, 0, 1.0)]) is None
    assert lead([*slow, run(1, 0, 1.0, stopped="diverged")]) is None


def test_real_runs_from_events_to_a_verdict() -> None:
    experiment = of_factor(RECIPE, "learning_rate", [1e-8, 3e-2], seeds=(0, 1))
    results = [result(arm, seed, list(TrainingRun(own))) for arm, seed, own in experiment.runs()]
    assert [(r.arm, r.seed, r.steps, r.stopped) for r in results[:2]] == [(0, 0, (4, 8, 10), "steps"), (1, 0, (4, 8, 10), "steps")]
    verdict = at_the_end(results)
    assert verdict.comparisons[0].difference < 0 and band(results, 0).mean[0] == pytest.approx(band(results, 0).mean[-1], abs=1e-4)
    with pytest.raises(ValueError, match="has not stopped"):
        result(0, 0, [TrainingRun(RECIPE).step()])
