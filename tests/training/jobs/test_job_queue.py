"""All jobs of a server: the queue, what is refused at its door, and what is forgotten."""

import pytest

from tests.training.interactive.small import RECIPE, recipe
from viz_core.config.limits import MAX_JOBS_PER_VISITOR, MAX_SNAPSHOT_BYTES, MAX_WAITING_JOBS
from viz_core.messages.errors import UserError
from viz_core.training.interactive.experiment import vary_factor
from viz_core.training.jobs import job_queue as boards
from viz_core.training.jobs.job import TrainingJob
from viz_core.training.jobs.job_queue import JobQueue
from viz_core.training.jobs.mailbox import Mailbox
from viz_core.training.jobs.protocol import Assignment
from viz_core.training.jobs.train_loop import run_training


def done(job: TrainingJob, board: JobQueue) -> TrainingJob:
    """The job with what its run leaves behind."""
    box = Mailbox(Assignment("1", "1", job.runs[0].recipe.to_json(), None, "cpu", None))
    run_training(box, lambda step, event: None)
    job.runs[0].apply_update(box.drain())
    board.evict()
    return job


def test_jobs_stand_in_the_order_in_which_they_asked() -> None:
    board = JobQueue()
    first, second, third = (board.submit(recipe(seed=i), owner, "cpu", 0.0) for i, owner in enumerate("abc"))
    assert board.active_jobs() == [first, second, third] and [board.view(job).queue_position for job in (first, second, third)] == [
        1,
        2,
        3,
    ]
    first.is_held = True
    assert (
        board.active_jobs() == [second, third]
        and board.view(first).queue_position is None
        and board.view(third).queue_position == 2
    )
    first.is_held = False
    board.enqueue(first)
    assert board.active_jobs() == [second, third, first]
    second.active_runs.add(0)
    assert board.active_jobs() == [second, third, first] and [board.view(job).queue_position for job in (second, third, first)] == [
        None,
        1,
        2,
    ]


def test_one_visitor_cannot_fill_the_queue_and_nobody_beyond_its_end() -> None:
    board = JobQueue()
    for i in range(MAX_JOBS_PER_VISITOR):
        board.submit(recipe(seed=i), "a", "cpu", 0.0)
    with pytest.raises(UserError) as raised:
        board.submit(recipe(seed=100), "a", "cpu", 0.0)
    assert raised.value.code == "own_jobs"
    for i in range(MAX_JOBS_PER_VISITOR, 40):
        board.submit(recipe(seed=i), f"visitor {i}", "cpu", 0.0)
    with pytest.raises(UserError) as raised:
        board.submit(recipe(seed=100), "z", "cpu", 0.0)
    assert raised.value.code == "jobs_waiting" and len(board.active_jobs()) == MAX_WAITING_JOBS == 40
    assert (
        board.submit(recipe(seed=39), "z", "cpu", 0.0) is board.submit(recipe(seed=39), "a", "cpu", 0.0) is board.active_jobs()[-1]
    )


def test_equal_recipes_are_one_job_that_all_watch() -> None:
    board = JobQueue()
    asked = [recipe(seed=0), vary_factor(RECIPE, "config.norm", ["pre", "post"])]
    for each in asked:
        jobs = {id(board.submit(each, f"student {i}", "cpu", 0.0)) for i in range(30)}
        assert len(jobs) == 1
    assert len(board.active_jobs()) == 2 and all(len(job.watchers) == 30 for job in board.active_jobs())
    one, two = board.active_jobs()
    assert board.view(one, "student 3").n_others == 29
    assert board.submit(recipe(seed=1), "a", "cpu", 0.0) not in (one, two)  # another recipe
    assert board.submit(recipe(seed=0), "a", "cuda", 0.0) is not one  # another device
    one.is_held = True
    again = board.submit(recipe(seed=0), "student 3", "cpu", 0.0)  # what does not go on is shared with nobody
    assert again is not one and one.watchers.keys() == {f"student {i}" for i in range(30)}
    done(again, board)
    assert board.submit(recipe(seed=0), "student 4", "cpu", 0.0) is not again


def test_it_goes_on_as_long_as_one_of_them_wishes_it() -> None:
    job = JobQueue().submit(RECIPE, "a", "cpu", 0.0)
    assert job.watch("b", 1.0).desired_state == "run"  # who opens the link follows it
    job.watch("a", 2.0, "pause")
    assert job.desired_state == "run"
    job.watch("b", 2.0, "stop")
    assert job.desired_state == "pause" and job.watch("c", 3.0).desired_state == "pause"  # and lets it be as it is
    job.watch("c", 3.0, "run")
    assert job.desired_state == "run"
    job.is_held = True
    assert job.desired_state == "pause"
    job.watch("c", 4.0, "stop")
    assert job.desired_state == "pause" and job.state == "paused"
    job.watch("a", 4.0, "stop")
    assert job.desired_state == "stop" and job.state == "stopped" and job.watch("d", 5.0).desired_state == "stop"


def test_the_runs_of_an_experiment_share_the_room_of_one() -> None:
    job = JobQueue().submit(vary_factor(RECIPE, "config.norm", ["pre", "post"]), "a", "cpu", 0.0)
    assert len(job.runs) == 6 and sum(run.max_bytes for run in job.runs) <= MAX_SNAPSHOT_BYTES
    assert [(run.condition, run.seed) for run in job.runs[:3]] == [(0, 0), (1, 0), (0, 1)]


def test_an_experiment_is_refused_whose_runs_are_too_large_only_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = vary_factor(RECIPE, "config.norm", ["pre", "post"])
    one = boards.flops_per_step(RECIPE) * RECIPE.steps
    monkeypatch.setattr(boards, "MAX_TRAINING_OPERATIONS", 3 * one)
    JobQueue().submit(RECIPE, "a", "cpu", 0.0)
    with pytest.raises(UserError) as raised:
        JobQueue().submit(asked, "a", "cpu", 0.0)
    assert raised.value.code == "training_operations"
    monkeypatch.undo()
    monkeypatch.setattr(boards, "MAX_JOB_BYTES", 3 * boards.MIN_BYTES_PER_PARAMETER * boards.n_parameters(RECIPE.config))
    with pytest.raises(UserError) as raised:
        JobQueue().submit(asked, "a", "cpu", 0.0)
    assert raised.value.code == "training_bytes"


def test_the_oldest_that_neither_runs_nor_waits_is_forgotten() -> None:
    board = JobQueue()
    waiting = board.submit(recipe(seed=1), "a", "cpu", 0.0)
    first, second = (done(board.submit(RECIPE, "b", "cpu", 0.0), board) for __ in range(2))
    assert first.state == second.state == "done"
    board.max_bytes = board.nbytes - 1
    board.evict()
    assert board.all_jobs() == (waiting, second) and board.find(first.job_id) is None
    board.max_bytes = 1
    board.evict()
    assert board.all_jobs() == (waiting,)


def test_the_history_of_a_job_at_work_becomes_thinner_instead() -> None:
    board = JobQueue()
    job = done(board.submit(recipe(steps=40), "a", "cpu", 0.0), board)
    job.runs[0].stopped = None  # as if it still ran
    moments = job.runs[0].history
    assert moments is not None
    before = moments.nbytes
    board.max_bytes = 1
    board.evict()
    assert (
        moments.nbytes <= before // 2
        and moments.snapshot_steps[0] == 0
        and moments.snapshot_steps[-1] == 40
        and board.all_jobs() == (job,)
    )


def test_what_has_ended_keeps_its_weights_and_no_state() -> None:
    board = JobQueue()
    run = done(board.submit(RECIPE, "a", "cpu", 0.0), board).runs[0]
    names = set(run.load_weights())
    assert run.weights_bytes is not None and run.saved_state is not None and run.saved_state.nbytes == 0 and run.saved_step == 10
    assert names and not any(name.startswith(("weights", "exp_avg")) for name in names)
    assert run.result() is not None
