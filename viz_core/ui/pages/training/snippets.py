"""Notebook code for the figures of this page. It trains again, with the same numbers on a device of the same kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from viz_core.config import TransformerConfig
from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.predefined_experiments import experiment_name
from viz_core.training.interactive.recipe import TASK_FIELDS, Recipe
from viz_core.training.interactive.results import HeldOutMetric, RunResult
from viz_core.training.interactive.run_history import RunHistory
from viz_core.training.jobs.job import JobView
from viz_core.ui.shell.export.notebook_code import CodeLines, call_code, fill_template, python_literal, settings_code


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is. has_started: whether it has snapshots. steps: taken so far; None if the run has stopped by itself."""

    recipe: Recipe
    has_started: bool = False
    steps: int | None = 0
    device: str | None = None

    @classmethod
    def from_job(cls, recipe: Recipe, job: JobView | None, history: RunHistory | None) -> Self:
        if job is None or history is None:
            return cls(recipe)
        run = job.runs[0]
        return cls(recipe, True, None if run.stopped is not None else history.training_metrics.n_added, run.device)


def recipe_code(recipe: Recipe) -> CodeLines:
    """Return the code that makes `recipe`, without arguments that are defaults."""
    default_config, recipe_defaults = TransformerConfig(), {f.name: f.default for f in fields(Recipe)}
    own_parameters = {n: x for n, x in recipe.parameters.items() if x != recipe.task_definition.parameter_ranges[n].default}
    arguments = {name: value for name in recipe_defaults if (value := getattr(recipe, name)) != recipe_defaults[name]}
    arguments |= {"config": CodeLines("config"), "parameters": own_parameters}
    config = replace(recipe.config, **{name: getattr(default_config, name) for name in TASK_FIELDS})
    return fill_template("""
        from viz_core.config import TransformerConfig
        from viz_core.training.interactive.recipe import Recipe
        config = {config}
        recipe = {recipe}
        """, config=settings_code(config), recipe=call_code("Recipe", {name: x for name, x in arguments.items() if x != {}}))


# ---------------------------------------------------------------- one run


def curves(run: RunProgress, number: HeldOutMetric, step: int) -> CodeLines:
    draw = f"{number}_curves"
    levels = CodeLines(", recipe.chance_loss, recipe.irreducible_loss" if number == "loss" else "")
    return fill_template("""
        {moments}
        from viz_core.figures.training import StepSeries, {draw}
        training, held_out = (StepSeries(s.steps, s.values({number})) for s in (moments.training_metrics, moments.held_out_metrics))
        chart = {draw}(training, held_out, recipe.steps, {at}{levels})
        """, moments=_snapshots_code(run), draw=CodeLines(draw), number=number, at=step, levels=levels)


def gradients(run: RunProgress) -> CodeLines:
    return fill_template("""
        {moments}
        from viz_core.figures.training import gradient_panel
        panels = [gradient_panel(moments.training_metrics.steps, moments.grad_norms, moments.parts)]
        """, moments=_snapshots_code(run))


def attention(run: RunProgress, step: int, words: Sequence[str], stage: str) -> CodeLines:
    return fill_template("""
        {shown}
        from viz_core.figures.training import snapshot_attention_panels
        panels = snapshot_attention_panels(shown.capture, {stage}, {at}, shown.token_rows)
        """, shown=_run_on_words_code(run, step, words), stage=stage, at=step)


def answers(run: RunProgress, step: int, words: Sequence[str]) -> CodeLines:
    return fill_template("""
        {shown}
        from viz_core.figures.training import answers_panel
        said = shown.answers
        panels = [answers_panel(said.input_tokens, said.correct, said.answer_words, said.probabilities, {at})]
        """, shown=_run_on_words_code(run, step, words), at=step)


def induction(run: RunProgress, step: int, words: Sequence[str], source_title: str) -> CodeLines:
    return fill_template("""
        {shown}
        from viz_core.figures.training import induction_panel
        from viz_core.training.interactive.induction_scores import score_capture
        panels = [induction_panel(score_capture(shown.capture, recipe.config, shown.sentence.ids), {of})]
        """, shown=_run_on_words_code(run, step, words), of=source_title)


def _snapshots_code(run: RunProgress) -> CodeLines:
    """Return the code that makes `recipe` and `moments`, the snapshots and curves of the run so far."""
    if not run.has_started:
        return fill_template("""
            {recipe}
            from viz_core.training.interactive.run_history import RunHistory
            moments = RunHistory(recipe, ())  # nothing is trained yet
            """, recipe=recipe_code(run.recipe))
    return fill_template("""
        {recipe}
        from viz_core.training.interactive.run_history import train
        moments = train({arguments})
        """, recipe=recipe_code(run.recipe), arguments=_arguments(run.steps, run.device))


def _run_on_words_code(run: RunProgress, step: int, words: Sequence[str]) -> CodeLines:
    """Return the code that makes `recipe` and `shown`, the run of a snapshot on the visitor's words."""
    moment, name = CodeLines("initial_snapshot(recipe)"), CodeLines("initial_snapshot")
    if step:
        moment, name = CodeLines(f"train({_arguments(step, run.device)}).nearest({step})"), CodeLines("train")
    return fill_template("""
        {recipe}
        from viz_core.training.interactive.answers import run_on_words
        from viz_core.training.interactive.run_history import {name}
        model = {moment}.build_model(recipe.config)
        shown = run_on_words(model, recipe, {words})
        """, recipe=recipe_code(run.recipe), name=name, moment=moment, words=list(words))


def _arguments(steps: int | CodeLines | None, device: str | None) -> CodeLines:
    """Return the arguments of a training: `recipe` alone for a whole run on the CPU."""
    given = {"steps": steps, "device": None if device == "cpu" else device}
    return CodeLines(
        ", ".join(["recipe", *(f"{name}={python_literal(value)}" for name, value in given.items() if value is not None)])
    )


# ---------------------------------------------------------------- experiments


def bands(
    experiment: Experiment,
    results: Sequence[RunResult],
    device: str | None,
    titles: Sequence[str],
    number: HeldOutMetric,
    n_steps: int,
    is_stored: bool = False,
) -> CodeLines:
    """Return the code for the bands. results: of the runs that have started. is_stored: whether they are stored with the app."""
    return fill_template("""
        {results}
        from viz_core.figures.training import ConditionBand, bands_figure
        from viz_core.training.interactive.results import compute_band
        names = {names}
        found = [compute_band(results, condition, {number}) for condition in range(len(names))]
        bands = [ConditionBand(name, x.steps, x.mean, x.low, x.high) for name, x in zip(names, found)]
        picture = bands_figure(bands, {number}, {n_steps}, experiment.base.chance_loss, experiment.base.irreducible_loss)
        """, results=_results_code(experiment, results, device, is_stored), names=list(titles), number=number,
                         n_steps=n_steps)


def conditions(
    experiment: Experiment, results: Sequence[RunResult], device: str | None, titles: Sequence[str], number: HeldOutMetric,
    is_stored: bool = False,
) -> CodeLines:
    """Return the code for the table of final results. results: of the runs that have stopped. is_stored: as in `bands`."""
    return fill_template("""
        {results}
        from viz_core import tables
        from viz_core.training.interactive.results import compare_final
        frame = tables.condition_summary({names}, compare_final(results, {number}))
        """, results=_results_code(experiment, results, device, is_stored),
                         names=[titles[condition] for condition in sorted({r.condition for r in results})], number=number)


def _results_code(experiment: Experiment, results: Sequence[RunResult], device: str | None, is_stored: bool) -> CodeLines:
    """Return the code that makes `experiment` and `results`, with each run trained as far as it has come or until it diverged."""
    if is_stored:
        return fill_template("""
            {stored}
            experiment = stored.experiment
            results = [result for result in stored.results if result.seed in {seeds}]
            """, stored=_stored_code(str(experiment_name(experiment))), seeds=experiment.seeds)
    progress = [(r.condition, r.seed, r.steps[-1] if r.steps else 0, *(["diverged"] if r.has_diverged else [])) for r in results]
    if not progress:
        trained = CodeLines("results = []  # nothing is trained yet")
    elif progress == [(condition, seed, recipe.steps) for condition, seed, recipe in experiment.runs()]:
        trained = fill_template("""
            from viz_core.training.interactive.run_history import train
            results = [train({arguments}).result(condition, seed) for condition, seed, recipe in experiment.runs()]
            """, arguments=_arguments(None, device))
    else:
        trained = fill_template("""
            from viz_core.training.interactive.run_history import train
            results = []
            for condition, seed, steps, *why in {taken}:  # steps: trained so far; why: why it stopped early
                recipe = experiment.recipe(experiment.conditions[condition], seed)
                results.append(train({arguments}).result(condition, seed, *why))
            """, taken=progress, arguments=_arguments(CodeLines("steps"), device))
    return fill_template("""
        {experiment}
        {trained}
        """, experiment=_experiment_code(experiment), trained=trained)


def lengths(experiment: Experiment, titles: Sequence[str], test: Sequence[int], device: str | None) -> CodeLines:
    return fill_template("""
        {models}
        from viz_core.figures.training import length_accuracy_panel
        from viz_core.training.interactive.length_grid import measure_length_grid
        grid = measure_length_grid(models, {test})
        panels = [length_accuracy_panel({names}, grid.test_lengths, grid.accuracy, max(grid.train_lengths))]
        """, models=_models_code(experiment, device), test=tuple(test), names=list(titles))


def changed_settings(experiment: Experiment, titles: Sequence[str], changes: Mapping[str, Any], device: str | None) -> CodeLines:
    """Return the code for the table of the trained models with a setting changed after training."""
    return fill_template("""
        {models}
        from viz_core import tables
        from viz_core.training.interactive.predefined_experiments import evaluate_with_changes
        frame = tables.held_out_scores({names}, [evaluate_with_changes(model, recipe, {changes}) for model, recipe in models])
        """, models=_models_code(experiment, device), names=list(titles), changes=dict(changes))


def induction_heads(experiment: Experiment, titles: Sequence[str], blocks: Sequence[int], device: str | None) -> CodeLines:
    """Return the code for the table of each model's best head on repeated blocks of several lengths."""
    return fill_template("""
        {models}
        from viz_core import tables
        from viz_core.training.interactive.induction_scores import score_repeated_blocks
        from viz_core.training.interactive.tasks.symbols import FIRST_ID
        shares = [
            [float(score_repeated_blocks(model, recipe.parameters["symbols"], block, FIRST_ID).max()) for block in {blocks}]
            for model, recipe in models
        ]
        frame = tables.induction({names}, {blocks}, shares)
        """, models=_models_code(experiment, device), names=list(titles), blocks=tuple(blocks))


def stored_lengths(setup: str, titles: Sequence[str]) -> CodeLines:
    return fill_template("""
        {stored}
        from viz_core.figures.training import length_accuracy_panel
        grid = stored.length_grid
        panels = [length_accuracy_panel({names}, grid.test_lengths, grid.accuracy, max(grid.train_lengths))]
        """, stored=_stored_code(setup), names=list(titles))


def stored_changed_settings(setup: str, titles: Sequence[str]) -> CodeLines:
    return fill_template("""
        {stored}
        from viz_core import tables
        frame = tables.held_out_scores({names}, stored.changed_metrics)
        """, stored=_stored_code(setup), names=list(titles))


def stored_induction_heads(setup: str, titles: Sequence[str], blocks: Sequence[int]) -> CodeLines:
    return fill_template("""
        {stored}
        from viz_core import tables
        frame = tables.induction({names}, {blocks}, stored.induction_scores)
        """, stored=_stored_code(setup), names=list(titles), blocks=tuple(blocks))


def _stored_code(setup: str) -> CodeLines:
    """Return the code that makes `stored`, the stored measurement of a predefined experiment."""
    return fill_template("""
        from viz_core.training.interactive.measurement import load_measurement
        # viz_core.training.interactive.measurement.measure(EXPERIMENTS[{setup}]) measures it again
        stored = load_measurement({setup})
        """, setup=setup)


def _models_code(experiment: Experiment, device: str | None) -> CodeLines:
    """Return the code that makes `models`: for each condition, the trained model of the first seed and its recipe."""
    return fill_template("""
        {experiment}
        from viz_core.training.interactive.training_run import train_model
        recipes = [recipe for condition, seed, recipe in experiment.runs() if seed == {seed}]
        models = [(train_model({arguments}), recipe) for recipe in recipes]
        """, experiment=_experiment_code(experiment), seed=experiment.seeds[0], arguments=_arguments(None, device))


def _experiment_code(experiment: Experiment) -> CodeLines:
    """Return the code that makes `experiment`: a predefined one by name, another by its factor."""
    if (name := experiment_name(experiment)) is not None:
        return fill_template("""
            from dataclasses import replace
            from viz_core.training.interactive.predefined_experiments import EXPERIMENTS
            experiment = replace(EXPERIMENTS[{name}].experiment, seeds={seeds})
            """, name=name, seeds=experiment.seeds)
    (factor,) = experiment.conditions[0].changes
    return fill_template("""
        {recipe}
        from viz_core.training.interactive.experiment import vary_factor
        experiment = vary_factor(recipe, {factor}, {values}, {seeds})
        """, recipe=recipe_code(experiment.base), factor=factor,
                         values=[condition.changes[factor] for condition in experiment.conditions], seeds=experiment.seeds)
