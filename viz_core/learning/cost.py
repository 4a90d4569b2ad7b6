"""How long a run takes and how much memory, before it starts.

The work of a step follows from its shapes, as in `viz_core.analysis.counts`; how fast this machine does it, from two short
steps that it takes.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from viz_core.analysis.counts import by_depth, flops, parameters
from viz_core.config import TransformerConfig
from viz_core.learning.recipe import Recipe
from viz_core.limits import (
    MAX_MOMENT_BYTES,
    MAX_MOMENTS,
    MAX_TRAINING_BYTES,
    MAX_TRAINING_OPERATIONS,
    MAX_TRAINING_PARAMETERS,
    megabytes,
)
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.stages import Stage, plan
from viz_core.training.step import one_thread

PER_PARAMETER = 16  # bytes in float32: the weight, its gradient, and two moments of Adam
FORWARD_AND_BACK = 3  # the way back costs twice the way there: a product for each of its two factors


@dataclass(frozen=True, slots=True)
class Speed:
    """How fast a machine takes a step: seconds for each stage that is called, whatever its size, and for each operation."""

    per_stage: float
    per_operation: float


def shape_of(recipe: Recipe) -> tuple[int, int, int]:
    """(B, S, T) of the largest batch; 0 for a side that the architecture lacks."""
    lengths = recipe.entry.kind.lengths(recipe.parameters, recipe.config.architecture)
    return recipe.batch, lengths.get("source", 0), lengths.get("target", 0)


def n_parameters(config: TransformerConfig) -> int:
    """Trainable numbers of the model."""
    return by_depth(config, lambda few: sum(parameters(few).values()))


def operations(recipe: Recipe) -> int:
    """Floating-point operations of one step, way there and back."""
    return FORWARD_AND_BACK * _over_stages(recipe, lambda table: sum(flops(table).values()))


def seconds(recipe: Recipe, speed: Speed) -> float:
    """How long all steps take at this speed; measurements on the held-out rows count as the batches that they are."""
    called = _over_stages(recipe, len)
    step = called * speed.per_stage + operations(recipe) * speed.per_operation
    rows = recipe.entry.n_held_out / recipe.batch / FORWARD_AND_BACK / recipe.measured_every
    return recipe.steps * (step + rows * operations(recipe) * speed.per_operation)


def nbytes(recipe: Recipe) -> int:
    """Memory of a run: the model and its optimizer, what a step keeps for its way back, and the stored moments."""
    kept = _over_stages(recipe, lambda table: sum(s.nbytes for s in table))
    size = n_parameters(recipe.config)
    return PER_PARAMETER * size + 2 * kept + min(MAX_MOMENT_BYTES, MAX_MOMENTS * 2 * size)


def refuse_too_large(recipe: Recipe) -> None:
    """`Problem`, one sentence, for a run that no server of this app takes on."""
    count, work, size = n_parameters(recipe.config), operations(recipe) * recipe.steps, nbytes(recipe)
    if count > MAX_TRAINING_PARAMETERS:
        raise Problem(f"the model would have {count:,} parameters and the limit of a training is {MAX_TRAINING_PARAMETERS:,}; "
                      "lower d_model, d_ff or the number of layers.", "training_parameters", count=count,
                      limit=MAX_TRAINING_PARAMETERS)
    if size > MAX_TRAINING_BYTES:
        raise Problem(f"the training would take {megabytes(size)} and the limit is {megabytes(MAX_TRAINING_BYTES)}; lower the "
                      "batch, the length or the sizes.", "training_bytes", size_bytes=size, limit_bytes=MAX_TRAINING_BYTES)
    if work > MAX_TRAINING_OPERATIONS:
        raise Problem(f"the training would take {work:.1e} operations and the limit is {MAX_TRAINING_OPERATIONS:.1e}; lower the "
                      "steps, the batch, the length or the sizes.", "training_operations", count=work,
                      limit=MAX_TRAINING_OPERATIONS)


def _over_stages(recipe: Recipe, measure: Callable[[tuple[Stage, ...]], int]) -> int:
    batch, source, target = shape_of(recipe)
    return by_depth(recipe.config, lambda few: measure(plan(few, batch, source, target)))


# --- Calibration ------------------------------------------------------------------------------------------------------
_SMALL = Recipe(task="copy", parameters={"length": 4, "symbols": 4}, batch=1, measured_every=1000,
                config=TransformerConfig(architecture="encoder-only", d_model=8, n_heads=1, n_encoder_layers=2))
_LARGE = replace(_SMALL, parameters={"length": 16, "symbols": 4}, batch=32, config=replace(_SMALL.config, d_model=64, n_heads=4))


@lru_cache(maxsize=2)
def calibrated(device: str = "cpu") -> Speed:
    """The speed of this machine, measured once by a tiny step, which is nearly all calls, and by a larger one."""
    small, large = (_measured(recipe, device) for recipe in (_SMALL, _LARGE))
    calls = [_over_stages(recipe, len) for recipe in (_SMALL, _LARGE)]
    work = [operations(recipe) for recipe in (_SMALL, _LARGE)]
    per_operation = max(0.0, large - small * calls[1] / calls[0]) / (work[1] - work[0])
    return Speed(max(0.0, small - work[0] * per_operation) / calls[0], per_operation)


def _measured(recipe: Recipe, device: str, times: int = 3) -> float:
    """Seconds of the fastest of a few steps; the first one, which also allocates, does not count.

    The update is that of Adam (Kingma & Ba 2015, algorithm 1) written out, and changes nothing: an optimizer of torch imports its
    compiler, which costs a server two seconds and a hundred megabytes, at its first step.
    """
    model = Transformer(recipe.config).to(device)
    batch = {name: x.to(device) for name, x in recipe.rows(0).items()}
    took = []
    with one_thread():
        for _ in range(times + 1):
            start = time.perf_counter()
            model.zero_grad()
            loss = model(batch.get("source"), batch.get("target"), batch["labels"]).loss
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    mean, square = 0.1 * p.grad, 0.001 * p.grad**2  # type: ignore[operator]
                    p.sub_(0.0 * mean / (square.sqrt() + 1e-8))
            loss.item()  # the device has finished
            took.append(time.perf_counter() - start)
    return min(took[1:])
