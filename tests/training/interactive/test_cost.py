"""The cost of a run before it starts: exact where it can be counted, and refused where it is too large."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from tests.training.interactive.small import RECIPE, recipe
from viz_core.config.limits import MAX_SNAPSHOT_BYTES
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.cost import (
    DeviceSpeed,
    check_training_size,
    estimate_bytes,
    estimate_seconds,
    flops_per_step,
    measure_speed,
    n_parameters,
)
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import TrainingRun


@pytest.mark.parametrize("change", [
    {}, {"config.n_encoder_layers": 4, "config.norm": "pre"}, {"config.architecture": "encoder-decoder",
    "config.n_encoder_layers": 3},
    {"config.architecture": "decoder-only", "config.position": "t5"},
], ids=str)
def test_parameters_and_operations_are_those_of_torch(change: dict[str, Any]) -> None:
    own = recipe(**change)
    model = Transformer(own.config)
    assert n_parameters(own.config) == sum(p.numel() for p in model.parameters())
    rows = own.train_batch(0)
    with FlopCounterMode(display=False) as counter:
        model(rows.get("source"), rows.get("target"), rows["labels"]).loss.backward()
    # The first layer's inputs are looked up, so nothing there needs the way back to the ids.
    assert flops_per_step(own) == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize("change", [{}, {"config.n_encoder_layers": 3, "parameters.length": 12, "batch": 16}], ids=str)
def test_the_bytes_of_a_step_are_estimated_from_above_and_not_far(change: dict[str, Any]) -> None:
    own = recipe(**change)
    model, rows, kept = Transformer(own.config).train(), own.train_batch(0), dict[int, int]()

    def note(x: torch.Tensor) -> torch.Tensor:
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x
    with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
        loss = model(rows["source"], None, rows["labels"]).loss
    size = n_parameters(own.config)
    step = estimate_bytes(own) - 16 * size - min(MAX_SNAPSHOT_BYTES, 64 * 2 * size)
    activations = sum(kept.values()) - 4 * size
    assert loss.isfinite() and 0.3 * step < activations < step


def test_seconds_follow_the_work() -> None:
    speed = DeviceSpeed(seconds_per_stage=1e-5, seconds_per_operation=1e-10)
    assert estimate_seconds(recipe(steps=20), speed) == pytest.approx(2 * estimate_seconds(RECIPE, speed))
    assert estimate_seconds(RECIPE, DeviceSpeed(2e-5, 2e-10)) == pytest.approx(2 * estimate_seconds(RECIPE, speed))
    for more in ({"batch": 64}, {"config.n_encoder_layers": 3}, {"config.d_model": 64}, {"parameters.length": 20},
        {"measured_every": 1}):
        assert estimate_seconds(recipe(**more), speed) > estimate_seconds(RECIPE, speed)
    idle = DeviceSpeed(seconds_per_stage=1.0, seconds_per_operation=0.0)
    per_layer = [estimate_seconds(recipe(**{"config.n_encoder_layers": n}), idle) for n in (1, 2, 12)]
    assert per_layer[2] - per_layer[1] == pytest.approx(10 * (per_layer[1] - per_layer[0]))


def test_the_speed_is_measured_on_this_machine() -> None:
    measure_speed.cache_clear()
    speed = measure_speed("cpu")
    assert speed is measure_speed("cpu") and speed.seconds_per_stage >= 0 and speed.seconds_per_operation >= 0
    assert speed.seconds_per_stage + speed.seconds_per_operation > 0


@pytest.mark.parametrize(("change", "code"), [
    ({"config.d_model": 2048, "config.d_ff": 8192}, "training_parameters"),
    ({"config.n_encoder_layers": 24, "batch": 256, "parameters.length": 60, "config.d_model": 128}, "training_bytes"),
    ({"config.n_encoder_layers": 5, "config.d_model": 256, "config.d_ff": 1024, "batch": 32, "parameters.length": 12,
    "steps": 20_000},
     "training_operations"),
], ids=lambda x: str(x)[:30])
def test_too_large_a_run_is_refused_before_anything_is_made(change: dict[str, Any], code: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("viz_core.training.interactive.training_run.Transformer", None)  # whoever builds a model fails otherwise
    with pytest.raises(UserError) as raised:
        TrainingRun(recipe(**change))
    assert raised.value.code == code and str(raised.value).count(".") >= 1


def test_the_offered_experiments_are_small_enough() -> None:
    for setup in EXPERIMENTS.values():
        for __, __, own in setup.experiment.runs():
            check_training_size(own)
    check_training_size(Recipe.from_json(RECIPE.to_json()))
