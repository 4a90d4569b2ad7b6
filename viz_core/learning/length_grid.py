"""Accuracy at train length × test length: which models go on past what they have seen.

The rows of every test length are held-out ones of the model's own task; only their length is another.
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
    """accuracy, loss [models, test lengths]; NaN where the model cannot read so long a row. train: the longest row of each."""

    train: tuple[int, ...]
    test: tuple[int, ...]
    accuracy: np.ndarray
    loss: np.ndarray


def score(model: Transformer, recipe: Recipe, length: int) -> tuple[float, float] | None:
    """(loss, accuracy) on held-out rows of this length; None if the model's position table ends before."""
    task, c = recipe.entry, recipe.config
    p = task.parameters({**recipe.parameters, "length": length, **({"shortest": 0} if "shortest" in task.bounds else {})})
    if c.has_position_table and max(task.kind.lengths(p, c.architecture).values()) > c.max_len:
        return None
    device = next(model.parameters()).device
    with torch.inference_mode():
        return measured(model, {name: x.to(device) for name, x in task.held_out(p, c.architecture).items()})


def length_grid(models: Sequence[tuple[Transformer, Recipe]], lengths: Sequence[int]) -> LengthGrid:
    """Each trained model at each test length. `Problem` for a task whose rows have no length, or a length out of its bounds."""
    for __, recipe in models:
        if "length" not in recipe.parameters:
            raise Problem(f"the rows of the task {recipe.task!r} have no length to choose.", "no_length")
    found = np.array([[score(model, recipe, n) or (np.nan, np.nan) for n in lengths] for model, recipe in models])
    train = tuple(recipe.parameters["length"] for __, recipe in models)
    return LengthGrid(train, tuple(lengths), found[..., 1], found[..., 0])
