"""Evaluations of the models that an experiment trained: with a setting changed, at other lengths, and of induction heads."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from viz_core.jobs.job import Look
from viz_core.learning.arms import Experiment
from viz_core.learning.induction import on_repeats
from viz_core.learning.length_grid import LengthGrid, length_grid
from viz_core.learning.moments import Moment
from viz_core.learning.recipe import Recipe
from viz_core.learning.setups import OfferedExperiment, measured_again
from viz_core.learning.tasks.symbols import FIRST
from viz_core.model.transformer import Transformer
from viz_core.ui.pages.training import snippets
from viz_core.ui.pages.training.afterwards import again, induction, lengths
from viz_core.ui.pages.training.job import jobs

T = TypeVar("T")
SECONDS = 2.0  # roughly, for one evaluation of a few models


def trained(job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str]) -> None:
    """Show the evaluations of this experiment, for the first seed's model of each condition that has one."""
    firsts = [(i, run.arm) for i, run in enumerate(job.runs) if run.seed == experiment.seeds[0] and run.stopped is not None]
    if not firsts or job.state != "done":
        return
    if setup.again:
        _again(job, setup, experiment, names, firsts)
    if setup.test_lengths:
        _lengths(job, setup, experiment, names, firsts)
    if setup.blocks:
        _induction(job, setup, experiment, names, firsts)


def _model(job: Look, run: int, recipe: Recipe) -> Transformer:
    """Return the trained model of a run, with dropout off."""
    return Moment(job.runs[run].kept, jobs().weights(job.number, run)).model(recipe.config)


def _models(job: Look, experiment: Experiment, firsts: Sequence[tuple[int, int]]) -> list[tuple[Transformer, Recipe]]:
    """Return the trained model and recipe of each (run, condition)."""
    recipes = [experiment.recipe(experiment.arms[condition], experiment.seeds[0]) for __, condition in firsts]
    return [(_model(job, run, recipe), recipe) for (run, __), recipe in zip(firsts, recipes, strict=True)]


# ---------------------------------------------------------------- settings changed after training


def _again(
    job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str], firsts: Sequence[tuple[int, int]],
) -> None:
    """Measure the models again with settings changed after training."""
    found = _once(job, "again", lambda: [measured_again(m, r, setup.again) for m, r in _models(job, experiment, firsts)])
    own_titles = [names[condition] for __, condition in firsts]
    again(own_titles, found, setup.again, lambda: snippets.again(experiment, own_titles, setup.again, job.runs[0].device))


# ---------------------------------------------------------------- other lengths


def _lengths(
    job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str], firsts: Sequence[tuple[int, int]],
) -> None:
    """Measure the accuracy of the models at other lengths."""
    found: LengthGrid = _once(job, "lengths", lambda: length_grid(_models(job, experiment, firsts), setup.test_lengths))
    own_titles = [names[condition] for __, condition in firsts]
    lengths(own_titles, found, lambda: snippets.lengths(experiment, own_titles, found.test, job.runs[0].device))


# ---------------------------------------------------------------- induction heads


def _induction(
    job: Look, setup: OfferedExperiment, experiment: Experiment, names: Sequence[str], firsts: Sequence[tuple[int, int]],
) -> None:
    """Measure the best induction head of each model at several block lengths."""
    def best() -> list[list[float]]:
        return [[float(np.max(on_repeats(model, recipe.parameters["symbols"], block, FIRST))) for block in setup.blocks]
                for model, recipe in _models(job, experiment, firsts)]

    found = _once(job, "induction", best)
    own_titles = [names[condition] for __, condition in firsts]
    induction(own_titles, found, setup.blocks,
              lambda: snippets.best_heads(experiment, own_titles, setup.blocks, job.runs[0].device))


def _once(job: Look, kind: str, make: Callable[[], T]) -> T:
    """Return a result that is measured once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    return cached_result(f"trained {kind}", job.number, make, SECONDS)
