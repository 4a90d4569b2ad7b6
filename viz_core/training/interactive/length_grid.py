"""Accuracy by training length and test length: which models generalize to longer sequences.

The rows of each test length are held-out rows of the model's own task; only the length differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import loss_and_accuracy


@dataclass(frozen=True, slots=True)
class LengthGrid:
    """Held-out results of several models at several sequence lengths.

    accuracy, loss: [models, test lengths]; NaN where the model cannot read sequences of this length. train_lengths: the
    parameter `length` of each model's recipe, the longest in its training.
    """

    train_lengths: tuple[int, ...]
    test_lengths: tuple[int, ...]
    accuracy: np.ndarray
    loss: np.ndarray


def score_length(model: Transformer, recipe: Recipe, length: int) -> tuple[float, float] | None:
    """Return (loss, accuracy) on held-out rows of this length, or None if the model's position table is too short."""
    task, c = recipe.task_definition, recipe.config
    p = task.complete_parameters(
        {**recipe.parameters, "length": length, **({"shortest": 0} if "shortest" in task.parameter_ranges else {})}
    )
    if c.has_position_table and max(task.kind.max_lengths(p, c.architecture).values()) > c.max_len:
        return None
    device = next(model.parameters()).device
    with torch.inference_mode():
        return loss_and_accuracy(model, {name: x.to(device) for name, x in task.held_out_batch(p, c.architecture).items()})


def measure_length_grid(models: Sequence[tuple[Transformer, Recipe]], lengths: Sequence[int]) -> LengthGrid:
    """Evaluate each trained model at each test length. Raises `UserError` if the task has no length parameter or a length is out of
    range."""
    for __, recipe in models:
        if "length" not in recipe.parameters:
            raise UserError("no_length")
    scores = np.array([[score_length(model, recipe, n) or (np.nan, np.nan) for n in lengths] for model, recipe in models])
    train = tuple(recipe.parameters["length"] for __, recipe in models)
    return LengthGrid(train, tuple(lengths), scores[..., 1], scores[..., 0])
