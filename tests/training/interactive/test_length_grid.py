"""Accuracy at other lengths, recomputed on rows of that length."""

import numpy as np
import pytest
import torch

from tests.training.interactive.small import RECIPE, recipe
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.length_grid import measure_length_grid, score_length
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import TrainingRun


def test_a_cell_is_the_accuracy_on_rows_of_its_length() -> None:
    own = recipe(**{"config.max_len": 8, "steps": 10, "parameters.length": 7, "parameters.shortest": 5})
    run = TrainingRun(own)
    list(run)
    other = recipe(**{"parameters.length": 6, "config.position": "none"})
    grid = measure_length_grid([(run.model, own), (Transformer(other.config, 0), other)], [4, 7, 9])
    assert grid.train_lengths == (7, 6) and grid.test_lengths == (4, 7, 9) and grid.accuracy.shape == (2, 3)
    assert np.isnan(grid.accuracy[0, 2]) and np.isfinite(grid.accuracy[1]).all()  # the position table ends at 8
    for column, length in ((0, 4), (1, 7)):
        rows = own.task_definition.held_out_batch(
            own.task_definition.complete_parameters({"length": length, "symbols": 4}), "encoder-only"
        )
        assert rows["source"].shape[1] == length
        with torch.no_grad():
            right = run.model(rows["source"]).logits.argmax(-1) == rows["labels"]
        assert grid.accuracy[0, column] == pytest.approx(right.double().mean().item())
    assert (grid.accuracy[0, 1], grid.loss[0, 1]) == pytest.approx(run.evaluate()[::-1])


def test_a_length_that_no_row_has_is_refused() -> None:
    model = Transformer(RECIPE.config, 0)
    with pytest.raises(UserError, match="length cannot be 61"):
        score_length(model, RECIPE, 61)
    endless = Recipe(task="translate")
    with pytest.raises(UserError, match="no setting for the length of its rows"):
        measure_length_grid([(Transformer(endless.config, 0), endless)], [4])
