"""A run as the server remembers it: what comes twice counts once."""

import numpy as np

from tests.jobs.helpers import trained
from tests.learning.small import RECIPE
from viz_core.jobs.box import Box
from viz_core.jobs.job import Job, RunRecord, look
from viz_core.jobs.labour import carry_out
from viz_core.jobs.messages import Order, Parcel, Stored
from viz_core.learning.curves import result


def parcel(state: Stored | None = None, until: int | None = None) -> Parcel:
    box = Box(Order("1", "1", RECIPE.to_json(), state, "cpu", until))
    carry_out(box, lambda step, event: None)
    return box.fetched()


def test_steps_that_are_taken_again_have_the_numbers_of_the_first_time() -> None:
    """The process died behind step 6, and what is stored is step 3."""
    run, early = RunRecord(0, 0, RECIPE), parcel(until=3)
    run.take(early)
    for sent in (parcel(early.state, until=6), parcel(early.state)):
        run.take(sent)
    __, events = trained(RECIPE)
    assert run.moments is not None and run.moments.training.seen == 10
    assert np.array_equal(run.moments.training.values("loss"), [event.loss for event in events])
    assert run.result() == result(0, 0, events) and run.stopped == "steps"


def test_a_copy_of_what_is_kept_stays_as_it_was() -> None:
    run, early = RunRecord(0, 0, RECIPE), parcel(until=3)
    run.take(early)
    assert run.moments is not None
    before = run.moments.copy()
    run.take(parcel(early.state))
    assert before.steps == (0, 1, 2, 3) and run.moments.steps == (*range(11),)
    assert before.training.seen == 3 == len(before.training.points) and before.training.steps[-1] == 3
    assert before.held_out.seen < run.moments.held_out.seen


def test_who_ended_it_for_all_waits_for_its_end_and_who_left_it_to_others_does_not() -> None:
    job = Job("1", "cpu", (RunRecord(0, 0, RECIPE),), None, flying={0}, opened={0})
    for visitor in "ab":
        job.watch(visitor, 0.0, "run")
    for wish in ("pause", "stop"):
        assert look(job, None, wish=job.watch("a", 0.0, wish).wish).without and not look(job, None, wish="run").without
    job.watch("b", 0.0, "stop")
    ending = look(job, None, wish="stop")
    assert (ending.state, ending.wished) == ("running", "stop") and not ending.without
    job.flying.clear()
    assert look(job, None, wish="stop").state == "stopped"


def test_the_state_of_a_job_is_what_is_true_of_it() -> None:
    job = Job("1", "cpu", (RunRecord(0, 0, RECIPE),), None)
    job.watch("a", 0.0, "run")
    assert job.state == "waiting" and not job.over
    job.flying = {0}
    assert job.state == "starting"
    job.opened = {0}
    assert job.state == "running" and not list(job.pending())
    job.flying, job.opened = set(), set()
    job.watch("a", 0.0, "pause")
    assert job.state == "paused" and list(job.pending()) == [0]
    job.watch("a", 0.0, "stop")
    assert job.state == "stopped" and job.over
    job.watch("a", 0.0, "pause")
    job.runs[0].take(parcel())
    shown = look(job, None)
    assert shown.state == "done" and shown.share == 1.0 and (shown.runs[0].done, shown.runs[0].kept) == (10, 10)
