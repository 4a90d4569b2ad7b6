"""Evaluations of the models that an experiment trained: with a setting changed, at other lengths, and of induction heads."""

from collections.abc import Sequence
from typing import TypeVar

from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.length_grid import measure_length_grid
from viz_core.training.interactive.measurement import best_induction_scores
from viz_core.training.interactive.predefined_experiments import PredefinedExperiment, evaluate_models
from viz_core.training.jobs.job import JobView
from viz_core.ui.components.calls import Call, Expression
from viz_core.ui.pages.training.evaluation_results import show_changed_settings, show_induction, show_length_accuracy
from viz_core.ui.pages.training.training_calls import models_call
from viz_core.ui.shell.export.cached_call import CachedCall, cached

T = TypeVar("T")
EVALUATION_SECONDS = 2.0  # roughly, for one evaluation of a few models


def evaluate_trained_models(
    job: JobView, predefined: PredefinedExperiment, experiment: Expression[Experiment], titles: Sequence[str]
) -> None:
    """Show the evaluations of this experiment, for the first seed's model of each condition."""
    if job.state != "done":
        return
    models = models_call(experiment, job)
    if predefined.eval_changes:
        scores = _cached_evaluation(job, "again", Call(evaluate_models, models, dict(predefined.eval_changes)).named("scores"))
        show_changed_settings(titles, scores, predefined.eval_changes)
    if predefined.test_lengths:
        grid = _cached_evaluation(job, "lengths", Call(measure_length_grid, models, predefined.test_lengths))
        show_length_accuracy(titles, grid)
    if predefined.blocks:
        shares = _cached_evaluation(job, "induction", Call(best_induction_scores, models, predefined.blocks))
        show_induction(titles, shares, predefined.blocks)


def _cached_evaluation(job: JobView, kind: str, call: Call[T]) -> CachedCall[T]:
    """Return an evaluation that is made once for all visitors."""
    return cached(call, f"trained {kind}", job.job_id, EVALUATION_SECONDS)
