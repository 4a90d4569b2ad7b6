"""All jobs of a server: the queue, what is refused at its door, and what is forgotten."""

import pytest

from tests.learning.small import RECIPE, recipe
from viz_core.jobs import board as boards
from viz_core.jobs.board import Board
from viz_core.jobs.box import Box
from viz_core.jobs.job import Job
from viz_core.jobs.labour import carry_out
from viz_core.jobs.messages import Order
from viz_core.learning.arms import of_factor
from viz_core.limits import MAX_MOMENT_BYTES, MAX_OWN_JOBS, MAX_WAITING_JOBS
from viz_core.problems import Problem


def done(job: Job, board: Board) -> Job:
    """The job with what its run leaves behind."""
    box = Box(Order("1", "1", job.runs[0].recipe.to_json(), None, "cpu", None))
    carry_out(box, lambda step, event: None)
    job.runs[0].take(box.fetched())
    board.shrink()
    return job


def test_jobs_stand_in_the_order_in_which_they_asked() -> None:
    board = Board()
    first, second, third = (board.add(recipe(seed=i), owner, "cpu", 0.0) for i, owner in enumerate("abc"))
    assert board.queue() == [first, second, third] and [board.look(job).place for job in (first, second, third)] == [1, 2, 3]
    first.held = True
    assert board.queue() == [second, third] and board.look(first).place is None and board.look(third).place == 2
    first.held = False
    board.queue_up(first)
    assert board.queue() == [second, third, first]
    second.flying.add(0)
    assert board.queue() == [second, third, first] and [board.look(job).place for job in (second, third, first)] == [None, 1, 2]


def test_one_visitor_cannot_fill_the_queue_and_nobody_beyond_its_end() -> None:
    board = Board()
    for i in range(MAX_OWN_JOBS):
        board.add(recipe(seed=i), "a", "cpu", 0.0)
    with pytest.raises(Problem) as raised:
        board.add(recipe(seed=100), "a", "cpu", 0.0)
    assert raised.value.code == "own_jobs"
    for i in range(MAX_OWN_JOBS, 40):
        board.add(recipe(seed=i), f"visitor {i}", "cpu", 0.0)
    with pytest.raises(Problem) as raised:
        board.add(recipe(seed=100), "z", "cpu", 0.0)
    assert raised.value.code == "jobs_waiting" and len(board.queue()) == MAX_WAITING_JOBS == 40
    assert board.add(recipe(seed=39), "z", "cpu", 0.0) is board.add(recipe(seed=39), "a", "cpu", 0.0) is board.queue()[-1]


def test_equal_recipes_are_one_job_that_all_watch() -> None:
    board = Board()
    asked = [recipe(seed=0), of_factor(RECIPE, "config.norm", ["pre", "post"])]
    for each in asked:
        jobs = {id(board.add(each, f"student {i}", "cpu", 0.0)) for i in range(30)}
        assert len(jobs) == 1
    assert len(board.queue()) == 2 and all(len(job.watchers) == 30 for job in board.queue())
    one, two = board.queue()
    assert board.look(one, "student 3").others == 29
    assert board.add(recipe(seed=1), "a", "cpu", 0.0) not in (one, two)  # another recipe
    assert board.add(recipe(seed=0), "a", "cuda", 0.0) is not one  # another device
    one.held = True
    again = board.add(recipe(seed=0), "student 3", "cpu", 0.0)  # what does not go on is shared with nobody
    assert again is not one and one.watchers.keys() == {f"student {i}" for i in range(30)}
    done(again, board)
    assert board.add(recipe(seed=0), "student 4", "cpu", 0.0) is not again


def test_it_goes_on_as_long_as_one_of_them_wishes_it() -> None:
    job = Board().add(RECIPE, "a", "cpu", 0.0)
    assert job.watch("b", 1.0).wish == "run"  # who opens the link follows it
    job.watch("a", 2.0, "pause")
    assert job.wished == "run"
    job.watch("b", 2.0, "stop")
    assert job.wished == "pause" and job.watch("c", 3.0).wish == "pause"  # and lets it be as it is
    job.watch("c", 3.0, "run")
    assert job.wished == "run"
    job.held = True
    assert job.wished == "pause"
    job.watch("c", 4.0, "stop")
    assert job.wished == "pause" and job.state == "paused"
    job.watch("a", 4.0, "stop")
    assert job.wished == "stop" and job.state == "stopped" and job.watch("d", 5.0).wish == "stop"


def test_the_runs_of_an_experiment_share_the_room_of_one() -> None:
    job = Board().add(of_factor(RECIPE, "config.norm", ["pre", "post"]), "a", "cpu", 0.0)
    assert len(job.runs) == 6 and sum(run.most_bytes for run in job.runs) <= MAX_MOMENT_BYTES
    assert [(run.arm, run.seed) for run in job.runs[:3]] == [(0, 0), (1, 0), (0, 1)]


def test_an_experiment_is_refused_whose_runs_are_too_large_only_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = of_factor(RECIPE, "config.norm", ["pre", "post"])
    one = boards.operations(RECIPE) * RECIPE.steps
    monkeypatch.setattr(boards, "MAX_TRAINING_OPERATIONS", 3 * one)
    Board().add(RECIPE, "a", "cpu", 0.0)
    with pytest.raises(Problem) as raised:
        Board().add(asked, "a", "cpu", 0.0)
    assert raised.value.code == "training_operations"
    monkeypatch.undo()
    monkeypatch.setattr(boards, "MAX_JOB_BYTES", 3 * boards.LEAST * boards.n_parameters(RECIPE.config))
    with pytest.raises(Problem) as raised:
        Board().add(asked, "a", "cpu", 0.0)
    assert raised.value.code == "training_bytes"


def test_the_oldest_that_neither_runs_nor_waits_is_forgotten() -> None:
    board = Board()
    waiting = board.add(recipe(seed=1), "a", "cpu", 0.0)
    first, second = (done(board.add(RECIPE, "b", "cpu", 0.0), board) for __ in range(2))
    assert first.state == second.state == "done"
    board.most_bytes = board.nbytes - 1
    board.shrink()
    assert board.all() == (waiting, second) and board.find(first.number) is None
    board.most_bytes = 1
    board.shrink()
    assert board.all() == (waiting,)


def test_the_history_of_a_job_at_work_becomes_thinner_instead() -> None:
    board = Board()
    job = done(board.add(recipe(steps=40), "a", "cpu", 0.0), board)
    job.runs[0].stopped = None  # as if it still ran
    moments = job.runs[0].moments
    assert moments is not None
    before = moments.nbytes
    board.most_bytes = 1
    board.shrink()
    assert moments.nbytes <= before // 2 and moments.steps[0] == 0 and moments.steps[-1] == 40 and board.all() == (job,)


def test_what_has_ended_keeps_its_weights_and_no_state() -> None:
    board = Board()
    run = done(board.add(RECIPE, "a", "cpu", 0.0), board).runs[0]
    names = set(run.tensors())
    assert run.weights is not None and run.state is not None and run.state.nbytes == 0 and run.done == 10
    assert names and not any(name.startswith(("weights", "exp_avg")) for name in names)
    assert run.result() is not None
