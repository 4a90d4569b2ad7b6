"""Accuracy by training length and test length: which models generalize to longer sequences.

The rows of each test length are held-out rows of the model's own task; only the length differs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from viz_core.learning.recipe import Recipe
from viz_core.learning.training_run import measured
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem


@dataclass(frozen=True, slots=True)
class LengthGrid:
    """Held-out results of several models at several sequence lengths.

    accuracy, loss: [models, test lengths]; NaN where the model cannot read sequences of this length. train_lengths: the longest
    training row of each model.
    """

    train: tuple[int, ...]
    test: tuple[int, ...]
    accuracy: np.ndarray
    loss: np.ndarray


def score(model: Transformer, recipe: Recipe, length: int) -> tuple[float, float] | None:
    """Return (loss, accuracy) on held-out rows of this length, or None if the model's position table is too short."""
    task, c = recipe.entry, recipe.config
    p = task.parameters({**recipe.parameters, "length": length, **({"shortest": 0} if "shortest" in task.bounds else {})})
    if c.has_position_table and max(task.kind.lengths(p, c.architecture).values()) > c.max_len:
        return None
    device = next(model.parameters()).device
    with torch.inference_mode():
        return measured(model, {name: x.to(device) for name, x in task.held_out(p, c.architecture).items()})


def length_grid(models: Sequence[tuple[Transformer, Recipe]], lengths: Sequence[int]) -> LengthGrid:
    """Evaluate each trained model at each test length. Raises `UserError` if the task has no length parameter or a length is out of
    range."""
    for __, recipe in models:
        if "length" not in recipe.parameters:
            raise Problem(f"the task {recipe.task!r} has no length parameter.", "no_length")
    scores = np.array([[score(model, recipe, n) or (np.nan, np.nan) for n in lengths] for model, recipe in models])
    train = tuple(recipe.parameters["length"] for __, recipe in models)
    return LengthGrid(train, tuple(lengths), scores[..., 1], scores[..., 0])
