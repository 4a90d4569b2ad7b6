"""Trainings as jobs, beside the server and on a cluster: the same tests for both."""

import json
import math
import time

import numpy as np
import pytest

from tests.training.interactive.small import recipe
from tests.training.jobs.helpers import LONG, SHORT, awaited, client, ended, hash_of, in_loop, trained
from viz_core.config.limits import SCHEDULER_ENV
from viz_core.messages.errors import UserError
from viz_core.training.interactive.experiment import vary_factor
from viz_core.training.interactive.results import summarize_run
from viz_core.training.interactive.run_history import RunHistory
from viz_core.training.interactive.training_run import tensors_sha256
from viz_core.training.jobs.engine import Engine, engine


def curve(moments: RunHistory | None) -> np.ndarray:
    assert moments is not None
    return np.stack([moments.training_metrics.values(name) for name in moments.training_metrics.names])


def test_a_job_has_the_curve_of_the_same_run_without_an_engine_to_the_bit(lab: Engine) -> None:
    number = lab.submit(SHORT.to_json(), "one")
    seen = ended(lab, number)
    run, events = trained(SHORT)
    assert (seen.state, seen.error, seen.progress, seen.runs[0].stopped) == ("done", None, 1.0, "steps")
    assert seen.runs[0].initial_hash == run.initial_hash
    assert hash_of(lab, number) == tensors_sha256(dict(run.model.named_parameters()))
    assert np.array_equal(curve(lab.history(number))[0], [event.loss for event in events])
    assert lab.results(number) == [summarize_run(0, SHORT.seed, events)]
    kept = lab.history(number)
    assert kept is not None and kept.snapshot_steps[0] == 0 and kept.snapshot_steps[-1] == 60 and len(kept.snapshot_steps) > 20
    assert math.isfinite(kept.held_out_metrics.values("loss")[0])  # before the first step


def test_a_job_that_was_paused_and_stepped_is_the_job_that_was_not(lab: Engine) -> None:
    number = lab.submit(SHORT.to_json(), "one")
    lab.pause(number)
    paused = ended(lab, number)
    assert paused.state == "paused" and paused.runs[0].current_step == paused.runs[0].saved_step < 60 and not paused.is_unwatched
    for step in (1, 2):
        lab.run_single_step(number)
        stepped = awaited(lab, number, lambda seen: seen.state == "paused")
        assert stepped.runs[0].current_step == paused.runs[0].current_step + step
    lab.resume(number)
    done = ended(lab, number)
    run, events = trained(SHORT)
    assert done.state == "done" and done.runs[0].n_starts >= 3
    assert hash_of(lab, number) == tensors_sha256(dict(run.model.named_parameters()))
    assert np.array_equal(curve(lab.history(number))[0], [event.loss for event in events])
    assert np.array_equal(curve(lab.history(number))[3], [event.norm for event in events])


def test_a_stopped_job_keeps_what_it_learned_and_does_not_go_on(lab: Engine) -> None:
    number = lab.submit(LONG.to_json(), "one")
    awaited(lab, number, lambda seen: seen.runs[0].current_step > 5)
    lab.stop(number)
    seen = ended(lab, number)
    assert seen.state == "stopped" and seen.runs[0].current_step == seen.runs[0].saved_step and seen.runs[0].stopped is None
    run, __ = trained(LONG.with_changes({"steps": seen.runs[0].current_step}))
    assert hash_of(lab, number) == tensors_sha256(dict(run.model.named_parameters()))
    lab.resume(number)
    lab.run_single_step(number)
    after = lab.view(number)
    assert after is not None and after.state == "stopped" and after.runs == seen.runs


def test_one_who_waits_sees_a_place(lab: Engine) -> None:
    first, second, third = (lab.submit(LONG.with_changes({"seed": i}).to_json(), f"visitor {i}") for i in range(3))
    running = awaited(lab, first, lambda seen: seen.state == "running")
    assert running.queue_position is None
    if lab.scheduler is not None:  # the cluster has a second worker
        awaited(lab, second, lambda seen: seen.state == "running")
        awaited(lab, third, lambda seen: seen.state == "waiting" and seen.queue_position == 1)
    else:
        awaited(lab, second, lambda seen: seen.state == "waiting" and seen.queue_position == 1)
        awaited(lab, third, lambda seen: seen.queue_position == 2)
        lab.stop(second)
        awaited(lab, third, lambda seen: seen.queue_position == 1)
    lab.stop(first)
    awaited(lab, third, lambda seen: seen.state == "running" and seen.queue_position is None)
    for number in (second, third):
        lab.stop(number)
        assert ended(lab, number).state == "stopped"


def test_what_one_visitor_ends_goes_on_for_the_others(lab: Engine) -> None:
    number = lab.submit(LONG.to_json(), "one")
    assert lab.submit(LONG.to_json(), "two") == number
    awaited(lab, number, lambda seen: seen.runs[0].current_step > 3)

    def at(visitor: str) -> tuple[str, str, int]:
        seen = lab.view(number, visitor)
        assert seen is not None
        return seen.state, seen.own_desired_state, seen.n_others

    assert at("one") == at("two") == ("running", "run", 1) and at("three") == ("running", "run", 2)
    lab.pause(number, "one")
    lab.run_single_step(number, "one")  # the others take all steps
    lab.stop(number, "three")
    before = lab.view(number, "two")
    assert before is not None and at("one") == ("running", "pause", 1) and at("three") == ("running", "stop", 2)
    awaited(lab, number, lambda seen: seen.runs[0].current_step > before.runs[0].current_step + 3)
    lab.pause(number, "two")
    paused = ended(lab, number)
    assert paused.state == "paused" and at("two") == ("paused", "pause", 1)
    lab.run_single_step(number, "one")
    awaited(lab, number, lambda seen: seen.state == "paused" and seen.runs[0].current_step == paused.runs[0].current_step + 1)
    lab.resume(number, "two")
    awaited(lab, number, lambda seen: seen.state == "running" and seen.runs[0].current_step > paused.runs[0].current_step + 1)
    lab.stop(number, "two")
    assert at("two")[1:] == ("stop", 1)
    lab.is_present = lambda visitor: visitor != "one"  # has closed the page, and is waited for no more
    lab.stop(number, "three")
    lab.is_present = lambda visitor: True
    last = ended(lab, number)
    assert last.state == "stopped" and last.runs[0].current_step == last.runs[0].saved_step
    lab.resume(number, "one")
    assert lab.view(number, "one").state == "stopped"  # type: ignore[union-attr]


def test_a_place_in_the_queue_comes_with_a_time(lab: Engine) -> None:
    """The first ones run, the others wait for as long as their steps take: what is said is compared with what comes."""
    asked = [SHORT.with_changes({"seed": i, "steps": 150}) for i in range(4)]
    numbers = [lab.submit(each.to_json(), f"visitor {i}") for i, each in enumerate(asked)]
    awaited(lab, numbers[0], lambda seen: seen.runs[0].current_step > 20)
    start, said = time.monotonic(), lab.view(numbers[-1])
    assert said is not None and said.state == "waiting" and said.starts_in is not None and said.starts_in > 0
    awaited(lab, numbers[-1], lambda seen: seen.state != "waiting")
    took = time.monotonic() - start
    assert took / 3 - 1 < said.starts_in < 3 * took + 1  # a busy machine is slower at one time than at another
    assert ended(lab, numbers[-1]).starts_in is None


def test_divergence_is_named_with_its_step(lab: Engine) -> None:
    wild = recipe(**{"config.norm": "none", "config.n_encoder_layers": 4, "learning_rate": 10.0, "steps": 60})
    seen = ended(lab, number := lab.submit(wild.to_json(), "one"))
    __, events = trained(wild)
    run = seen.runs[0]
    assert (seen.state, run.stopped, run.current_step, run.saved_step) == ("done", "diverged", events[-1].step, events[-1].step - 1)
    assert all(x.isfinite().all() for x in lab.weights(number).values())


def test_an_experiment_runs_all_arms_with_all_seeds(lab: Engine) -> None:
    asked = vary_factor(SHORT, "config.norm", ["pre", "post"], seeds=(3, 4))
    number = lab.submit(asked.to_json(), "one")
    if lab.scheduler is not None:
        awaited(lab, number, lambda seen: len(flying(lab, number)) == 2)
    seen = ended(lab, number)
    assert seen.state == "done" and [(run.condition, run.seed) for run in seen.runs] == [(0, 3), (1, 3), (0, 4), (1, 4)]
    assert lab.results(number) == [summarize_run(arm, seed, trained(r)[1]) for arm, seed, r in asked.runs()]
    assert lab.request(number) == asked


def flying(lab: Engine, number: str) -> set[int]:
    """The runs that are at a worker."""
    job = lab.queue.find(number)
    assert job is not None
    return job.active_runs


def test_the_scheduler_forgets_the_messages_of_a_job(lab: Engine) -> None:
    number = lab.submit(LONG.to_json(), "one")
    awaited(lab, number, lambda seen: seen.state == "running")
    (attempt,) = lab._dispatcher.attempts.values()  # type: ignore[union-attr]
    awaited(lab, number, lambda seen: attempt.assignment_id in topics(lab))
    lab.stop(number)
    ended(lab, number)
    left = topics(lab)
    assert attempt.assignment_id not in left and (lab.scheduler is not None or left["all"] == 100)


def topics(lab: Engine) -> dict[str, int | None]:
    """The topics that the scheduler keeps, and the most messages of each."""
    return dict(in_loop(lab, lambda: client(lab).run_on_scheduler(topics_of)))


def topics_of(dask_scheduler: object) -> dict[str, int | None]:
    return {name: topic.events.maxlen for name, topic in dask_scheduler._broker._topics.items()}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("change", "code"), [
    ({"steps": 1_000_000}, "recipe_number"),
    ({"learning_rate": math.nan}, "recipe_number"),
    ({"config": {"architecture": "encoder-only", "d_model": 1024, "n_heads": 4, "n_encoder_layers": 24}}, "training_parameters"),
    ({"config": {"architecture": "encoder-only", "d_model": 10**12}}, None),
    ({"steps": 20_000, "batch": 256, "parameters": {"length": 12, "symbols": 20},
      "config": {"architecture": "encoder-only", "d_model": 256, "n_heads": 4, "n_encoder_layers": 4}}, "training_operations"),
    ({"device": "cpu; rm -rf"}, "recipe_unknown"),
])
def test_a_hostile_recipe_is_refused_in_one_sentence(change: dict, code: str | None) -> None:
    made = Engine()
    with pytest.raises(UserError) as raised:
        made.submit(json.dumps({**json.loads(SHORT.to_json()), **change}), "one")
    assert code in (None, raised.value.code) and "\n" not in str(raised.value)
    assert made._thread is None  # nothing was started for it


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"arms": 1}', '{"task": "copy", "arms": [], "seeds": []}', "[" * 5000])
def test_what_is_no_recipe_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(UserError) as raised:
        Engine().submit(text, "one")
    assert "\n" not in str(raised.value)


def test_a_job_that_nobody_knows_is_said_to_be_none() -> None:
    made = Engine()
    assert made.view("0" * 32) is None
    with pytest.raises(KeyError):
        made.stop("0" * 32)


def test_the_server_s_engine_reads_the_address_of_its_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, expected in (("", None), (" tcp://host:8786 ", "tcp://host:8786")):
        engine.cache_clear()
        monkeypatch.setenv(SCHEDULER_ENV, said)
        assert engine().scheduler == expected and engine() is engine()
    engine.cache_clear()
