"""Evaluations of the models that an experiment trained: with a setting changed, at other lengths, and of induction heads."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from viz_core.model.transformer import Transformer
from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.induction_scores import score_repeated_blocks
from viz_core.training.interactive.length_grid import LengthGrid, measure_length_grid
from viz_core.training.interactive.predefined_experiments import PredefinedExperiment, evaluate_with_changes
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.run_history import Snapshot
from viz_core.training.interactive.tasks.symbols import FIRST_ID
from viz_core.training.jobs.job import JobView
from viz_core.ui.pages.training import snippets
from viz_core.ui.pages.training.evaluation_results import show_changed_settings, show_induction, show_length_accuracy
from viz_core.ui.pages.training.job_controls import job_engine

T = TypeVar("T")
SECONDS = 2.0  # roughly, for one evaluation of a few models


def evaluate_trained_models(job: JobView, setup: PredefinedExperiment, experiment: Experiment, titles: Sequence[str]) -> None:
    """Show the evaluations of this experiment, for the first seed's model of each condition that has one."""
    firsts = [(i, run.condition) for i, run in enumerate(job.runs) if run.seed == experiment.seeds[0] and run.stopped is not None]
    if not firsts or job.state != "done":
        return
    if setup.eval_changes:
        _evaluate_changed_settings(job, setup, experiment, titles, firsts)
    if setup.test_lengths:
        _evaluate_lengths(job, setup, experiment, titles, firsts)
    if setup.blocks:
        _evaluate_induction(job, setup, experiment, titles, firsts)


def _model(job: JobView, run: int, recipe: Recipe) -> Transformer:
    """Return the trained model of a run, with dropout off."""
    return Snapshot(job.runs[run].saved_step, job_engine().weights(job.job_id, run)).build_model(recipe.config)


def _models(job: JobView, experiment: Experiment, first_seed_runs: Sequence[tuple[int, int]]) -> list[tuple[Transformer, Recipe]]:
    """Return the trained model and recipe of each (run, condition)."""
    recipes = [experiment.recipe(experiment.conditions[condition], experiment.seeds[0]) for __, condition in first_seed_runs]
    return [(_model(job, run, recipe), recipe) for (run, __), recipe in zip(first_seed_runs, recipes, strict=True)]


# ---------------------------------------------------------------- settings changed after training


def _evaluate_changed_settings(
    job: JobView,
    setup: PredefinedExperiment,
    experiment: Experiment,
    titles: Sequence[str],
    first_seed_runs: Sequence[tuple[int, int]],
) -> None:
    """Measure the models again with settings changed after training."""
    found = _cached_evaluation(
        job,
        "again",
        lambda: [evaluate_with_changes(m, r, setup.eval_changes) for m, r in _models(job, experiment, first_seed_runs)],
    )
    own_titles = [titles[condition] for __, condition in first_seed_runs]
    show_changed_settings(
        own_titles,
        found,
        setup.eval_changes,
        lambda: snippets.changed_settings(experiment, own_titles, setup.eval_changes, job.runs[0].device),
    )


# ---------------------------------------------------------------- other lengths


def _evaluate_lengths(
    job: JobView,
    setup: PredefinedExperiment,
    experiment: Experiment,
    titles: Sequence[str],
    first_seed_runs: Sequence[tuple[int, int]],
) -> None:
    """Measure the accuracy of the models at other lengths."""
    found: LengthGrid = _cached_evaluation(
        job, "lengths", lambda: measure_length_grid(_models(job, experiment, first_seed_runs), setup.test_lengths)
    )
    own_titles = [titles[condition] for __, condition in first_seed_runs]
    show_length_accuracy(
        own_titles, found, lambda: snippets.lengths(experiment, own_titles, found.test_lengths, job.runs[0].device)
    )


# ---------------------------------------------------------------- induction heads


def _evaluate_induction(
    job: JobView,
    setup: PredefinedExperiment,
    experiment: Experiment,
    titles: Sequence[str],
    first_seed_runs: Sequence[tuple[int, int]],
) -> None:
    """Measure the best induction head of each model at several block lengths."""
    def best() -> list[list[float]]:
        return [
            [float(np.max(score_repeated_blocks(model, recipe.parameters["symbols"], block, FIRST_ID))) for block in setup.blocks]
            for model, recipe in _models(job, experiment, first_seed_runs)
        ]

    found = _cached_evaluation(job, "induction", best)
    own_titles = [titles[condition] for __, condition in first_seed_runs]
    show_induction(own_titles, found, setup.blocks,
                   lambda: snippets.induction_heads(experiment, own_titles, setup.blocks, job.runs[0].device))


def _cached_evaluation(job: JobView, kind: str, make: Callable[[], T]) -> T:
    """Return a result that is measured once for all visitors."""
    from viz_core.ui.shell.caching.server_cache import cached_result

    return cached_result(f"trained {kind}", job.job_id, make, SECONDS)
