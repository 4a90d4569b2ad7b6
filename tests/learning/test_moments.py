"""What is kept of a run: bounded, with its beginning and its end, and a model can be had back from every moment."""

import json
import math
from itertools import pairwise

import pytest
import torch
from safetensors.torch import save as to_bytes

from tests.learning.small import RECIPE, recipe
from viz_core.learning.curves import result
from viz_core.learning.moments import Moment, Moments, Series, initial, least_missed, moment_of, train, wanted
from viz_core.learning.training_run import TrainingRun, finished
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem


def watched(most: int = 64, most_bytes: int = 2**26, steps: int = 30) -> tuple[TrainingRun, Moments, dict[int, torch.Tensor]]:
    """A run whose head's weights are noted behind each step."""
    run = TrainingRun(recipe(steps=steps))
    moments, seen = Moments(run.recipe, list(run.parts), most, most_bytes), {}
    moments.begin(run)
    seen[0] = run.model.head.weight.detach().clone()
    for event in run:
        moments.add(run, event)
        seen[run.done] = run.model.head.weight.detach().clone()
    return run, moments, seen


def test_a_moment_gives_the_model_back() -> None:
    run, moments, seen = watched()
    for step in moments.steps:
        model = moments.at(step).model(run.recipe.config)
        torch.testing.assert_close(model.head.weight, seen[step], rtol=1e-3, atol=1e-4)
        assert not model.training and torch.equal(model.head.weight, seen[step].half().float())
    assert not torch.equal(moments.at(0).weights["head.weight"], moments.at(30).weights["head.weight"])
    read = RECIPE.entry.sentence(RECIPE.parameters, RECIPE.config, ["the", "cat", "sat"])
    capture = read.seen_by(moments.at(30).model(run.recipe.config))
    assert list(capture) == ["encoder.layers.0.self_attn.weights"] and capture["encoder.layers.0.self_attn.weights"].shape[-1] == 3
    assert capture.tokens("source") == [["the", "cat", "sat"]]


def test_a_notebook_trains_to_the_same_moments_and_numbers() -> None:
    run, moments, _ = watched()
    again, part = train(run.recipe), train(run.recipe, 13)
    assert again.stored() == moments.stored()
    assert part.steps[-1] == 13 and part.at(13).to_bytes() == moments.at(13).to_bytes() and part.training.seen == 13
    assert list(part.training) == list(moments.training)[:13]
    assert initial(run.recipe).to_bytes() == moments.at(0).to_bytes() == train(run.recipe, 0).at(0).to_bytes()
    model = finished(run.recipe)
    assert not model.training and torch.equal(model.head.weight, run.model.head.weight)


def test_the_numbers_of_a_run_are_its_result_and_its_norms() -> None:
    run, moments, _ = watched(steps=10)
    events = list(TrainingRun(run.recipe))
    assert moments.parts == tuple(run.parts) and moments.norms.tolist() == [list(event.norms) for event in events]
    own, due = moments.result(1, 7), result(1, 7, events)
    assert (own.arm, own.seed, own.steps[1:], own.losses[1:], own.accuracies[1:]) == (1, 7, due.steps, due.losses, due.accuracies)
    assert own.steps[0] == 0 and own.stopped == "steps" and moments.result(0, 0, "diverged").diverged


def test_a_tied_output_is_kept_once_and_comes_back() -> None:
    run = TrainingRun(recipe(**{"config.tie_output": True, "config.zero_pad_embedding": True, "steps": 3}))
    list(run)
    moment = moment_of(run.model, 3)
    model = moment.model(run.recipe.config)
    assert model.head.weight is model.encoder.tok_embedding.weight and "head.weight" not in moment.weights
    torch.testing.assert_close(model.head.weight, run.model.head.weight, rtol=1e-3, atol=1e-4)


def test_moments_lie_closer_at_the_beginning() -> None:
    steps = [step for step in range(1, 20_001) if wanted(step)]
    assert steps[:8] == list(range(1, 9)) and len(steps) < 110
    ratios = [b / a for a, b in pairwise(steps) if a > 16]
    assert max(ratios) < 1.14 and min(ratios) > 1


@pytest.mark.parametrize("most", [2, 3, 7, 20])
def test_moments_are_bounded_in_number(most: int) -> None:
    run, moments, __ = watched(most=most, steps=60)
    assert len(moments.steps) == most and moments.steps[0] == 0 and moments.steps[-1] == 60 == run.done
    if most == 7:
        gaps = [math.log2((b + 1) / (a + 1)) for a, b in pairwise(moments.steps)]
        assert max(gaps) < 2.5 * min(gaps)  # they stay spread over the doublings


def test_moments_are_bounded_in_bytes() -> None:
    one = moment_of(TrainingRun(RECIPE).model, 0).nbytes
    assert one == 2 * sum(p.numel() for p in Transformer(RECIPE.config).parameters())
    __, moments, __ = watched(most_bytes=5 * one + 10)
    assert len(moments.steps) == 5 and moments.nbytes <= 5 * one + 10 and {0, 30} <= set(moments.steps)


def test_the_one_that_is_least_missed_goes() -> None:
    assert least_missed((0, 10, 11, 12, 40)) == 11 and least_missed((0, 1, 2)) == 1


def test_weights_that_half_precision_cannot_hold_stay_as_they_are() -> None:
    model = TrainingRun(RECIPE).model
    with torch.no_grad():
        model.head.weight[0, 0] = 1e6  # type: ignore[union-attr]
    moment = moment_of(model, 1)
    assert moment.model(RECIPE.config).head.weight[0, 0] == 1e6  # type: ignore[union-attr]
    assert moment.weights["head.weight"].dtype == torch.float32 and moment.weights["head.bias"].dtype == torch.float16


def test_weights_that_are_not_those_of_the_config_are_refused() -> None:
    good = dict(moment_of(TrainingRun(RECIPE).model, 1).weights)
    bias = good["head.bias"]
    for change in ({"head.bias": bias[:-1]}, {"more": bias}, {"head.bias": bias.double()}, {"head.bias": bias + math.nan},
                   {"head.bias": bias.to(torch.int64)}):
        with pytest.raises(Problem, match="these weights belong to another model"):
            Moment(1, {**good, **change}).model(RECIPE.config)
    with pytest.raises(Problem, match="these weights belong to another model"):
        Moment(1, {name: x for name, x in good.items() if name != "head.bias"}).model(RECIPE.config)


def test_the_numbers_are_kept_in_full_and_then_thinned() -> None:
    series = Series(("loss", "accuracy"), limit=16)
    for step in range(1, 16):
        series.add(step, (step / 10, 1.0))
    assert series.steps.tolist() == list(range(1, 16)) and series.values("loss")[-1] == 1.5
    for step in range(16, 1001):
        series.add(step, (step / 10, 1.0))
        assert len(list(series)) <= 17 and series.steps[-1] == step and series.steps[0] == 1
    assert len(set(series.steps[1:-1] - series.steps[:-2])) == 1  # evenly, but for the last
    assert series.values("loss") == pytest.approx(series.steps / 10)


def test_the_curve_is_the_events() -> None:
    run, moments, __ = watched()
    again = list(TrainingRun(run.recipe))
    assert moments.training.values("loss").tolist() == [event.loss for event in again]
    assert moments.training.values("head").tolist() == [event.norms[-1] for event in again]
    held_out = [event for event in again if event.held_out_loss is not None]
    assert moments.held_out.steps.tolist() == [0, *(event.step for event in held_out)]
    assert moments.held_out.values("accuracy")[1:].tolist() == [event.held_out_accuracy for event in held_out]


def test_what_was_stored_comes_back_and_goes_on() -> None:
    __, moments, __ = watched(most=6)
    moments.training.add(31, [math.nan] * len(moments.training.names))
    tensors, facts = moments.stored()
    again = Moments.read(tensors, facts)
    assert again.steps == moments.steps and again.recipe == moments.recipe and again.stored() == (tensors, facts)
    assert again.training.values("loss")[:-1].tolist() == moments.training.values("loss")[:-1].tolist()
    assert math.isnan(again.training.values("loss")[-1]) and again.training.names == moments.training.names
    for step in moments.steps:
        assert all(torch.equal(x, again.at(step).weights[name]) for name, x in moments.at(step).weights.items())
    for one in (moments, again):
        one.training.add(32, [1.0] * len(one.training.names))
    assert again.training.steps.tolist() == moments.training.steps.tolist()


@pytest.mark.parametrize("n", [16, 20, 21, 22, 23])
def test_a_thinned_curve_goes_on_as_it_was(n: int) -> None:
    moments = Moments(RECIPE, ["head"])
    moments.training = Series(moments.training.names, limit=8)
    for step in range(1, n + 1):
        moments.training.add(step, [float(step)] * 5)
    again = Moments.read(*moments.stored())
    for step in range(n + 1, n + 4):
        for one in (moments, again):
            one.training.add(step, [float(step)] * 5)
        assert again.training.stride == moments.training.stride > 1
        assert again.training.steps.tolist() == moments.training.steps.tolist()


def test_what_is_no_history_is_refused() -> None:
    __, moments, __ = watched()
    tensors, facts = moments.stored()
    for state in [(b"", facts), (tensors, "{"), (tensors, "{}"), (tensors, "null"), (tensors[:50], facts),
                  (tensors, json.dumps({**json.loads(facts), "training": 3}))]:
        with pytest.raises(Problem, match="this is not the history"):
            Moments.read(*state)


def test_a_paused_run_is_kept_as_it_is() -> None:
    run = TrainingRun(recipe(steps=30))
    moments = Moments(run.recipe, list(run.parts))
    for _ in range(24):
        moments.add(run, run.step())
    assert not wanted(24) and 24 not in moments.steps
    moments.keep(moment_of(run.model, run.done))
    assert moments.steps[-1] == 24 and moments.at(26).step == 24


def test_a_history_in_another_process_is_the_same() -> None:
    run, moments, __ = watched(most=6)
    elsewhere = Moments(run.recipe, list(run.parts), most=6)
    again = TrainingRun(run.recipe)
    elsewhere.keep(Moment.from_bytes(moment_of(again.model, 0).to_bytes()))
    for event in again:
        elsewhere.hear(event)
        if wanted(event.step) or event.stopped:
            elsewhere.keep(Moment.from_bytes(moment_of(again.model, again.done).to_bytes()))
    assert elsewhere.steps == moments.steps
    for step in moments.steps:
        assert all(torch.equal(x, elsewhere.at(step).weights[name]) for name, x in moments.at(step).weights.items())
    two = {f"{step}.{n}": x.clone() for step in (1, 2) for n, x in moments.at(0).weights.items()}
    for data in (b"", b"x" * 20, to_bytes(two)):
        with pytest.raises(Problem, match="not a snapshot"):
            Moment.from_bytes(data)
