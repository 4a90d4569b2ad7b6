"""The calls that make a recipe or an experiment, and those that train it.

A notebook trains again, with the same numbers on a device of the same kind. The page reads the values from a job of this server.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from typing import TypeVar

from viz_core.config import FIELDS, TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.experiment import Experiment, train_experiment, train_models, vary_factor
from viz_core.training.interactive.predefined_experiments import experiment_name, predefined_experiment
from viz_core.training.interactive.recipe import TASK_FIELDS, Recipe
from viz_core.training.interactive.results import RunResult
from viz_core.training.interactive.run_history import RunHistory, Snapshot, initial_snapshot, train
from viz_core.training.jobs.job import JobView
from viz_core.ui.components.calls import Call, Expression
from viz_core.ui.pages.training.job_controls import gone_error, job_engine

T = TypeVar("T")


class JobCall(Call[T]):
    """A call that trains. Here its value is what a training job of this server has so far."""

    __slots__ = ("read",)
    read: Callable[[], T | None]

    def _computed(self) -> T:
        try:
            found = self.read()
        except KeyError:  # the job was evicted
            found = None
        if found is None:
            raise gone_error()
        return found

    def _copy(self, copies: "dict[int, Expression[T]]") -> "JobCall[T]":
        return with_job_value(self.read, super()._copy(copies))


def with_job_value(read: Callable[[], T | None], call: Call[T]) -> JobCall[T]:
    """Return a call whose value in the app is that of `read()`, which gives None or a KeyError if the job is gone.

    The session keeps the call, so `read` must hold no weights.
    """
    made = JobCall[T](call.function, *call.args, **call.kwargs)
    made.read = read
    return made.named(call.variable)


def recipe_call(recipe: Recipe) -> Call[Recipe]:
    """Return the call that makes a recipe, without arguments that are defaults."""
    given = {f.name: getattr(recipe, f.name) for f in fields(Recipe) if getattr(recipe, f.name) != f.default}
    ranges = recipe.task_definition.parameter_ranges
    given |= {
        "parameters": {name: x for name, x in recipe.parameters.items() if x != ranges[name].default},
        "config": _config_call(recipe.config),
    }
    return Call(Recipe, **{name: x for name, x in given.items() if x != {}}).named("recipe").with_value(recipe)


def _config_call(config: TransformerConfig) -> Call[TransformerConfig]:
    """Return the call that makes the config of a recipe, without what follows from the task."""
    default = TransformerConfig()
    names = [name for name in FIELDS if name not in TASK_FIELDS and getattr(config, name) != getattr(default, name)]
    return Call(TransformerConfig, **{name: getattr(config, name) for name in names}).named("config")


# ---------------------------------------------------------------- one run


def history_call(recipe: Expression[Recipe], job: JobView | None, history: RunHistory | None) -> Call[RunHistory]:
    """Return the call that makes the history of a run so far; of an empty one before it has started."""
    if job is None or history is None:
        return Call(RunHistory, recipe, ()).named("history")
    return _trained(recipe, job, history, None if job.runs[0].stopped is not None else history.training_metrics.n_added)


def snapshot_call(recipe: Expression[Recipe], job: JobView | None, history: RunHistory | None, step: int) -> Call[Snapshot]:
    """Return the call that makes the snapshot of a run after a step; if the history has none, that before the first step."""
    if job is None or history is None or not step:
        return Call(initial_snapshot, recipe)
    return _trained(recipe, job, history, step).method("nearest", step)


def _trained(recipe: Expression[Recipe], job: JobView, history: RunHistory, steps: int | None) -> Call[RunHistory]:
    call = Call(train, recipe, **({} if steps is None else {"steps": steps}), **_device(job)).named("history")
    return with_job_value(partial(_job_history, job.job_id), call).with_value(history)


def _job_history(job_id: str) -> RunHistory | None:
    return job_engine().history(job_id)


def _device(job: JobView) -> dict[str, str]:
    """Return the argument `device` of a training, or none for the CPU."""
    device = job.runs[0].device
    return {} if device in (None, "cpu") else {"device": device}


# ---------------------------------------------------------------- experiments


def experiment_call(experiment: Experiment) -> Call[Experiment]:
    """Return the call that makes an experiment: a predefined one by name, another by its factor."""
    if (name := experiment_name(experiment)) is not None:
        call = Call(predefined_experiment, name, experiment.seeds)
    else:
        (factor,) = experiment.conditions[0].changes
        values = [condition.changes[factor] for condition in experiment.conditions]
        call = Call(vary_factor, recipe_call(experiment.base), factor, values, experiment.seeds)
    return call.named("experiment").with_value(experiment)


def results_so_far_call(experiment: Expression[Experiment], job: JobView) -> Call[list[RunResult]]:
    """Return the call that makes the held-out results of every run that has started, including unfinished runs."""
    results = _results_so_far(job.job_id) or []
    ended = {(run.condition, run.seed) for run in job.runs if run.stopped is not None}
    runs = [(r.condition, r.seed, None if (r.condition, r.seed) in ended else r.steps[-1]) for r in results]
    return with_job_value(partial(_results_so_far, job.job_id), _results_call(experiment, job, runs)).with_value(results)


def final_results_call(experiment: Expression[Experiment], job: JobView) -> Call[list[RunResult]]:
    """Return the call that makes the results of the runs that have stopped by themselves."""
    results = _final_results(job.job_id)
    call = _results_call(experiment, job, [(r.condition, r.seed, None) for r in results])
    return with_job_value(partial(_final_results, job.job_id), call).with_value(results)


def _results_call(
    experiment: Expression[Experiment], job: JobView, runs: Sequence[tuple[int, int, int | None]]
) -> Call[list[RunResult]]:
    """Return the call that trains runs. runs: condition, seed and steps of each; None: until it stops by itself."""
    whole = experiment.value()
    all_runs = [(condition, seed, None) for seed in whole.seeds for condition in range(len(whole.conditions))]
    only = {} if runs == all_runs else {"runs": runs}
    return Call(train_experiment, experiment, **only, **_device(job)).named("results")


def _results_so_far(job_id: str) -> list[RunResult] | None:
    trainings, found = job_engine(), []
    if (job := trainings.view(job_id, counts_as_watching=False)) is None:
        return None
    for i, run in enumerate(job.runs):
        history = trainings.history(job_id, i)
        if history is not None and history.held_out_metrics.n_added:
            found.append(history.result(run.condition, run.seed, run.stopped))
    return found


def _final_results(job_id: str) -> list[RunResult]:
    return job_engine().results(job_id)


def models_call(experiment: Expression[Experiment], job: JobView) -> Call[list[tuple[Transformer, Recipe]]]:
    """Return the call that makes the trained models of the first seed, each with its recipe."""
    call = Call(train_models, experiment, **_device(job)).named("models")
    return with_job_value(partial(_trained_models, job.job_id, experiment.value().seeds[0]), call)


def _trained_models(job_id: str, seed: int) -> list[tuple[Transformer, Recipe]] | None:
    """Return the models of the runs with a seed, with dropout off."""
    trainings, found = job_engine(), []
    job, experiment = trainings.view(job_id, counts_as_watching=False), trainings.request(job_id)
    if job is None or not isinstance(experiment, Experiment):
        return None
    for i, run in enumerate(job.runs):
        if run.seed == seed and run.stopped is not None:
            recipe = experiment.recipe(experiment.conditions[run.condition], seed)
            found.append((Snapshot(run.saved_step, trainings.weights(job_id, i)).build_model(recipe.config), recipe))
    return found
