"""Estimated duration and memory of a training run, before it starts.

The operations of a step follow from its shapes, as in `viz_core.analysis.size_estimates`; the speed of the machine is measured with
two short training steps.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from viz_core.analysis.size_estimates import extrapolate_depth, flops_by_stage, parameters_by_block
from viz_core.config import TransformerConfig
from viz_core.config.limits import (
    MAX_SNAPSHOT_BYTES,
    MAX_SNAPSHOTS,
    MAX_TRAINING_BYTES,
    MAX_TRAINING_OPERATIONS,
    MAX_TRAINING_PARAMETERS,
    megabytes,
)
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.stages import Stage, stages_with_shapes
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.step import single_thread

BYTES_PER_PARAMETER = 16  # bytes in float32: the weight, its gradient, and Adam's two moments
FORWARD_BACKWARD_FACTOR = 3  # the backward pass costs two forward passes: one product for each factor


@dataclass(frozen=True, slots=True)
class DeviceSpeed:
    """The speed of a device: seconds per recorded stage, independent of its size, and seconds per floating-point operation."""

    seconds_per_stage: float
    seconds_per_operation: float


def batch_shape(recipe: Recipe) -> tuple[int, int, int]:
    """Return (B, S, T) of the largest batch; 0 for a side that the architecture lacks."""
    lengths = recipe.task_definition.kind.max_lengths(recipe.parameters, recipe.config.architecture)
    return recipe.batch, lengths.get("source", 0), lengths.get("target", 0)


def n_parameters(config: TransformerConfig) -> int:
    """Return the number of trainable parameters of the model."""
    return extrapolate_depth(config, lambda few: sum(parameters_by_block(few).values()))


def flops_per_step(recipe: Recipe) -> int:
    """Return the floating-point operations of one step, forward and backward."""
    return FORWARD_BACKWARD_FACTOR * _stages_and_flops(recipe.config, batch_shape(recipe))[1]


@lru_cache(maxsize=256)  # the page asks for the duration whenever it is drawn
def _stages_and_flops(config: TransformerConfig, shape: tuple[int, int, int]) -> tuple[int, int]:
    """Return the number of stages of one forward pass on a batch (B, S, T), and its floating-point operations."""
    return (
        _sum_over_stages(config, shape, len),
        _sum_over_stages(config, shape, lambda table: sum(flops_by_stage(table).values())),
    )


def estimate_seconds(recipe: Recipe, speed: DeviceSpeed) -> float:
    """Estimate the seconds of all steps at this speed; evaluations on the held-out rows are counted as forward passes."""
    n_stages = _stages_and_flops(recipe.config, batch_shape(recipe))[0]
    step = n_stages * speed.seconds_per_stage + flops_per_step(recipe) * speed.seconds_per_operation
    forward_passes = recipe.task_definition.n_held_out / recipe.batch / FORWARD_BACKWARD_FACTOR / recipe.measured_every
    return recipe.steps * (step + forward_passes * flops_per_step(recipe) * speed.seconds_per_operation)


def estimate_bytes(recipe: Recipe) -> int:
    """Estimate the memory of a run in bytes: model, optimizer, activations kept for the backward pass, and stored snapshots."""
    activations = _sum_over_stages(recipe.config, batch_shape(recipe), lambda table: sum(s.nbytes for s in table))
    n_weights = n_parameters(recipe.config)
    return BYTES_PER_PARAMETER * n_weights + 2 * activations + min(MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS * 2 * n_weights)


def check_training_size(recipe: Recipe) -> None:
    """Raise `UserError` for a run that exceeds a limit of the app."""
    count, work, size = n_parameters(recipe.config), flops_per_step(recipe) * recipe.steps, estimate_bytes(recipe)
    if count > MAX_TRAINING_PARAMETERS:
        raise UserError("training_parameters", count=count, limit=MAX_TRAINING_PARAMETERS)
    if size > MAX_TRAINING_BYTES:
        raise UserError("training_bytes", size=megabytes(size), limit=megabytes(MAX_TRAINING_BYTES))
    if work > MAX_TRAINING_OPERATIONS:
        raise UserError("training_operations", count=work, limit=MAX_TRAINING_OPERATIONS)


def _sum_over_stages(config: TransformerConfig, shape: tuple[int, int, int], measure: Callable[[tuple[Stage, ...]], int]) -> int:
    """Return `measure` of the stages of one forward pass on a batch (B, S, T), summed over the layers."""
    return extrapolate_depth(config, lambda few: measure(stages_with_shapes(few, *shape)))


# --- Calibration ------------------------------------------------------------------------------------------------------
_SMALL = Recipe(task="copy", parameters={"length": 4, "symbols": 4}, batch=1, measured_every=1000,
                config=TransformerConfig(architecture="encoder-only", d_model=8, n_heads=1, n_encoder_layers=2))
_LARGE = replace(_SMALL, parameters={"length": 16, "symbols": 4}, batch=32, config=replace(_SMALL.config, d_model=64, n_heads=4))


@lru_cache(maxsize=2)
def measure_speed(device: str = "cpu") -> DeviceSpeed:
    """Measure the speed of this device once: with a tiny step, dominated by call overhead, and with a larger one."""
    small, large = (_time_step(recipe, device) for recipe in (_SMALL, _LARGE))
    calls = [_stages_and_flops(recipe.config, batch_shape(recipe))[0] for recipe in (_SMALL, _LARGE)]
    work = [flops_per_step(recipe) for recipe in (_SMALL, _LARGE)]
    seconds_per_operation = max(0.0, large - small * calls[1] / calls[0]) / (work[1] - work[0])
    return DeviceSpeed(max(0.0, small - work[0] * seconds_per_operation) / calls[0], seconds_per_operation)


def _time_step(recipe: Recipe, device: str, times: int = 3) -> float:
    """Return the seconds of the fastest of a few steps, after one warm-up step.

    The update is Adam (Kingma & Ba 2015, algorithm 1) written out with a rate of 0. torch's optimizers are avoided because their
    first step imports the torch compiler, which costs a server two seconds and a hundred megabytes.
    """
    model = Transformer(recipe.config).to(device)
    batch = {name: x.to(device) for name, x in recipe.train_batch(0).items()}
    durations = []
    with single_thread():
        for _ in range(times + 1):
            start = time.perf_counter()
            model.zero_grad()
            loss = model(batch.get("source"), batch.get("target"), batch["labels"]).loss
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    mean, square = 0.1 * p.grad, 0.001 * p.grad**2  # type: ignore[operator]
                    p.sub_(0.0 * mean / (square.sqrt() + 1e-8))
            loss.item()  # waits for the device
            durations.append(time.perf_counter() - start)
    return min(durations[1:])
