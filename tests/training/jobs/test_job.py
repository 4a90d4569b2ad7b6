"""A run as the server remembers it: what comes twice counts once."""

import numpy as np

from tests.training.interactive.small import RECIPE
from tests.training.jobs.helpers import trained
from viz_core.training.interactive.results import summarize_run
from viz_core.training.jobs.job import RunRecord, TrainingJob, make_job_view
from viz_core.training.jobs.mailbox import Mailbox
from viz_core.training.jobs.protocol import Assignment, ProgressUpdate, SavedState
from viz_core.training.jobs.train_loop import run_training


def parcel(state: SavedState | None = None, until: int | None = None) -> ProgressUpdate:
    box = Mailbox(Assignment("1", "1", RECIPE.to_json(), state, "cpu", until))
    run_training(box, lambda step, event: None)
    return box.drain()


def test_steps_that_are_taken_again_have_the_numbers_of_the_first_time() -> None:
    """The process died behind step 6, and what is stored is step 3."""
    run, early = RunRecord(0, 0, RECIPE), parcel(until=3)
    run.apply_update(early)
    for sent in (parcel(early.saved_state, until=6), parcel(early.saved_state)):
        run.apply_update(sent)
    __, events = trained(RECIPE)
    assert run.history is not None and run.history.training_metrics.n_added == 10
    assert np.array_equal(run.history.training_metrics.values("loss"), [event.loss for event in events])
    assert run.result() == summarize_run(0, 0, events) and run.stopped == "steps"


def test_a_copy_of_what_is_kept_stays_as_it_was() -> None:
    run, early = RunRecord(0, 0, RECIPE), parcel(until=3)
    run.apply_update(early)
    assert run.history is not None
    before = run.history.copy()
    run.apply_update(parcel(early.saved_state))
    assert before.snapshot_steps == (0, 1, 2, 3) and run.history.snapshot_steps == (*range(11),)
    assert before.training_metrics.n_added == 3 == len(before.training_metrics.points) and before.training_metrics.steps[-1] == 3
    assert before.held_out_metrics.n_added < run.history.held_out_metrics.n_added


def test_who_ended_it_for_all_waits_for_its_end_and_who_left_it_to_others_does_not() -> None:
    job = TrainingJob("1", "cpu", (RunRecord(0, 0, RECIPE),), None, active_runs={0}, started_runs={0})
    for visitor in "ab":
        job.watch(visitor, 0.0, "run")
    for wish in ("pause", "stop"):
        assert (
            make_job_view(job, None, own_desired_state=job.watch("a", 0.0, wish).desired_state).is_running_for_others
            and not make_job_view(job, None, own_desired_state="run").is_running_for_others
        )
    job.watch("b", 0.0, "stop")
    ending = make_job_view(job, None, own_desired_state="stop")
    assert (ending.state, ending.desired_state) == ("running", "stop") and not ending.is_running_for_others
    job.active_runs.clear()
    assert make_job_view(job, None, own_desired_state="stop").state == "stopped"


def test_the_state_of_a_job_is_what_is_true_of_it() -> None:
    job = TrainingJob("1", "cpu", (RunRecord(0, 0, RECIPE),), None)
    job.watch("a", 0.0, "run")
    assert job.state == "waiting" and not job.is_over
    job.active_runs = {0}
    assert job.state == "starting"
    job.started_runs = {0}
    assert job.state == "running" and not list(job.pending_runs())
    job.active_runs, job.started_runs = set(), set()
    job.watch("a", 0.0, "pause")
    assert job.state == "paused" and list(job.pending_runs()) == [0]
    job.watch("a", 0.0, "stop")
    assert job.state == "stopped" and job.is_over
    job.watch("a", 0.0, "pause")
    job.runs[0].apply_update(parcel())
    shown = make_job_view(job, None)
    assert shown.state == "done" and shown.progress == 1.0 and (shown.runs[0].current_step, shown.runs[0].saved_step) == (10, 10)
