"""How many trainings a server carries out at once, and when one that waits will begin, counted by hand."""

import os
from pathlib import Path

import pytest

from tests.training.interactive.small import RECIPE, recipe
from viz_core.training.interactive.cost import DeviceSpeed, estimate_seconds
from viz_core.training.interactive.experiment import vary_factor
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import StepEvent
from viz_core.training.jobs import capacity
from viz_core.training.jobs.capacity import estimate_starts, n_local_workers
from viz_core.training.jobs.job import TrainingJob
from viz_core.training.jobs.job_queue import JobQueue

SPEED = {"cpu": DeviceSpeed(1e-5, 1e-9)}


def own(i: int, steps: int = 100) -> Recipe:
    return recipe(seed=i, steps=steps)


def at_work(job: TrainingJob, done: int, step: float, run: int = 0) -> None:
    """The run is at a worker and has taken so many steps, each of so many seconds."""
    job.active_runs.add(run)
    job.started_runs.add(run)
    record = job.runs[run]
    record.seconds, record.steps_taken = done * step, done
    record.last_event = StepEvent(done, 1.0, 0.0, 1e-3, 1.0, (), None, None, step)


def times(board: JobQueue, places: int, overhead: float = 0.0) -> list[float | None]:
    found = estimate_starts(board.active_jobs(), board.all_jobs(), places, SPEED, overhead)
    return [found.get(job.job_id) for job in board.active_jobs()]


@pytest.mark.parametrize(("cores", "at_once"), [(1, 1), (2, 1), (4, 3), (8, 7)])
def test_one_core_stays_for_the_visitors(monkeypatch: pytest.MonkeyPatch, cores: int, at_once: int) -> None:
    monkeypatch.setattr(capacity, "available_cores", lambda: cores)
    assert n_local_workers() == at_once == JobQueue().n_slots


def test_no_more_cores_count_than_the_server_may_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert 1 <= capacity.available_cores() <= (os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(capacity, "CGROUP_CPU_LIMIT", tmp_path / "cpu.max")
    assert capacity.available_cores() == 64
    for said, expected in (("max 100000\n", 64), ("400000 100000\n", 4), ("50000 100000", 1), ("9900000 100000", 64)):
        (tmp_path / "cpu.max").write_text(said)
        assert capacity.available_cores() == expected


def test_who_waits_is_told_the_time_of_the_steps_before_at_the_pace_that_was_measured() -> None:
    """100 steps of 0.1 s, of which the first job has taken 40: 6 s are left of it, and 10 s of each that follows."""
    board = JobQueue()
    jobs = [board.submit(own(i), f"visitor {i}", "cpu", 0.0) for i in range(4)]
    at_work(jobs[0], 40, 0.1)
    assert times(board, 1) == [None, *map(pytest.approx, (6, 16, 26))]
    assert times(board, 1, overhead=0.5) == [None, *map(pytest.approx, (6, 16.5, 27))]
    assert times(board, 2) == [None, *map(pytest.approx, (0, 6, 10))]
    look = board.view(jobs[2], "visitor 2")
    assert (look.queue_position, board.view(jobs[0]).starts_in) == (2, None) and look.starts_in is not None
    jobs[0].active_runs.clear()
    assert times(board, 0) == [None] * 4  # a cluster without workers


def test_before_the_first_step_a_pace_follows_from_the_operations() -> None:
    board = JobQueue()
    jobs = [board.submit(own(i, steps), f"visitor {i}", "cpu", 0.0) for i, steps in enumerate((100, 200, 300))]
    jobs[0].active_runs.add(0)
    first, second = (estimate_seconds(job.runs[0].recipe, SPEED["cpu"]) for job in jobs[:2])
    assert times(board, 1) == [None, pytest.approx(first), pytest.approx(first + second)]


def test_another_recipe_is_as_much_slower_as_those_that_were_measured() -> None:
    board = JobQueue()
    small = board.submit(own(0), "a", "cpu", 0.0)
    large = board.submit(recipe(**{"config.n_encoder_layers": 4, "steps": 100}), "b", "cpu", 0.0)
    board.submit(own(1), "c", "cpu", 0.0)
    one, other = (estimate_seconds(job.runs[0].recipe, SPEED["cpu"]) for job in (small, large))
    at_work(small, 50, 3 * one / 100)
    assert times(board, 1) == [None, pytest.approx(1.5 * one), pytest.approx(1.5 * one + 3 * other)]


def test_all_runs_of_an_experiment_come_before_who_waits_behind_it() -> None:
    board = JobQueue()
    experiment = board.submit(
        vary_factor(RECIPE.with_changes({"steps": 100}), "config.norm", ["pre", "post"], (0, 1)), "a", "cpu", 0.0
    )
    board.submit(own(0), "b", "cpu", 0.0)
    at_work(experiment, 50, 0.1)
    for run in experiment.runs[1:]:
        run.seconds, run.steps_taken = 0.2, 2  # a worker had them before
    assert times(board, 1) == [None, pytest.approx(5 + 10 + 10 + 10)]
    assert times(board, 2) == [None, pytest.approx(15)]  # 5 + 10, beside 10 + 10
    experiment.runs[1].steps_taken = 0
    experiment.is_single_step = True
    experiment.active_runs.clear()
    assert times(board, 1)[0] == pytest.approx(0) and times(board, 1)[1] == pytest.approx(0.1)
