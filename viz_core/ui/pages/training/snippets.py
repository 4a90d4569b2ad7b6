"""Notebook code for the figures of this page. It trains again, with the same numbers on a device of the same kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from viz_core.config import TransformerConfig
from viz_core.jobs.job import Look
from viz_core.learning.arms import Experiment
from viz_core.learning.curves import Number, Result
from viz_core.learning.moments import Moments
from viz_core.learning.recipe import OF_THE_TASK, Recipe
from viz_core.learning.setups import setup_name
from viz_core.ui.shell.code import Source, called, code, settings_code, written_out


@dataclass(frozen=True, slots=True)
class Taken:
    """How far a run is. has_started: whether it has snapshots. steps: taken so far; None if the run has stopped by itself."""

    recipe: Recipe
    begun: bool = False
    steps: int | None = 0
    device: str | None = None

    @classmethod
    def of(cls, recipe: Recipe, job: Look | None, moments: Moments | None) -> Self:
        if job is None or moments is None:
            return cls(recipe)
        run = job.runs[0]
        return cls(recipe, True, None if run.stopped is not None else moments.training.seen, run.device)


def recipe_code(recipe: Recipe) -> Source:
    """Return the code that makes `recipe`, without arguments that are defaults."""
    default_config, recipe_defaults = TransformerConfig(), {f.name: f.default for f in fields(Recipe)}
    own_parameters = {n: x for n, x in recipe.parameters.items() if x != recipe.entry.bounds[n].default}
    arguments = {name: value for name in recipe_defaults if (value := getattr(recipe, name)) != recipe_defaults[name]}
    arguments |= {"config": Source("config"), "parameters": own_parameters}
    config = replace(recipe.config, **{name: getattr(default_config, name) for name in OF_THE_TASK})
    return code("""
        from viz_core.config import TransformerConfig
        from viz_core.learning.recipe import Recipe
        config = {config}
        recipe = {recipe}
        """, config=settings_code(config), recipe=called("Recipe", {name: x for name, x in arguments.items() if x != {}}))


# ---------------------------------------------------------------- one run


def curves(run: Taken, number: Number, at: int) -> Source:
    draw = f"{number}_curves"
    levels = Source(", recipe.chance, recipe.floor" if number == "loss" else "")
    return code("""
        {moments}
        from viz_core.figures.learning import Points, {draw}
        training, held_out = (Points(s.steps, s.values({number})) for s in (moments.training, moments.held_out))
        chart = {draw}(training, held_out, recipe.steps, {at}{levels})
        """, moments=_moments(run), draw=Source(draw), number=number, at=at, levels=levels)


def gradients(run: Taken) -> Source:
    return code("""
        {moments}
        from viz_core.figures.learning import gradient_panel
        panels = [gradient_panel(moments.training.steps, moments.norms, moments.parts)]
        """, moments=_moments(run))


def attention(run: Taken, at: int, words: Sequence[str], stage: str) -> Source:
    return code("""
        {shown}
        from viz_core.figures.learning import attention_panels
        panels = attention_panels(shown.seen, {stage}, {at}, shown.rows)
        """, shown=_shown(run, at, words), stage=stage, at=at)


def answers(run: Taken, at: int, words: Sequence[str]) -> Source:
    return code("""
        {shown}
        from viz_core.figures.learning import answers_panel
        said = shown.said
        panels = [answers_panel(said.on, said.right, said.words, said.probabilities, {at})]
        """, shown=_shown(run, at, words), at=at)


def induction(run: Taken, at: int, words: Sequence[str], of: str) -> Source:
    return code("""
        {shown}
        from viz_core.figures.learning import induction_panel
        from viz_core.learning.induction import of_run
        panels = [induction_panel(of_run(shown.seen, recipe.config, shown.read.ids), {of})]
        """, shown=_shown(run, at, words), of=of)


def _moments(run: Taken) -> Source:
    """Return the code that makes `recipe` and `moments`, the snapshots and curves of the run so far."""
    if not run.begun:
        return code("""
            {recipe}
            from viz_core.learning.moments import Moments
            moments = Moments(recipe, ())  # nothing is trained yet
            """, recipe=recipe_code(run.recipe))
    return code("""
        {recipe}
        from viz_core.learning.moments import train
        moments = train({arguments})
        """, recipe=recipe_code(run.recipe), arguments=_arguments(run.steps, run.device))


def _shown(run: Taken, at: int, words: Sequence[str]) -> Source:
    """Return the code that makes `recipe` and `shown`, the run of a snapshot on the visitor's words."""
    moment, name = Source("initial(recipe)"), Source("initial")
    if at:
        moment, name = Source(f"train({_arguments(at, run.device)}).at({at})"), Source("train")
    return code("""
        {recipe}
        from viz_core.learning.answers import on_words
        from viz_core.learning.moments import {name}
        model = {moment}.model(recipe.config)
        shown = on_words(model, recipe, {words})
        """, recipe=recipe_code(run.recipe), name=name, moment=moment, words=list(words))


def _arguments(steps: int | Source | None, device: str | None) -> Source:
    """Return the arguments of a training: `recipe` alone for a whole run on the CPU."""
    given = {"steps": steps, "device": None if device == "cpu" else device}
    return Source(", ".join(["recipe", *(f"{name}={written_out(value)}" for name, value in given.items() if value is not None)]))


# ---------------------------------------------------------------- experiments


def bands(
    experiment: Experiment, results: Sequence[Result], device: str | None, names: Sequence[str], number: Number, n_steps: int,
    stored: bool = False,
) -> Source:
    """Return the code for the bands. results: of the runs that have started. is_stored: whether they are stored with the app."""
    return code("""
        {results}
        from viz_core.figures.learning import BandOf, bands_figure
        from viz_core.learning.curves import band
        names = {names}
        found = [band(results, condition, {number}) for condition in range(len(names))]
        bands = [BandOf(name, x.steps, x.mean, x.low, x.high) for name, x in zip(names, found)]
        picture = bands_figure(bands, {number}, {n_steps}, experiment.base.chance, experiment.base.floor)
        """, results=_results(experiment, results, device, stored), names=list(names), number=number,
                n_steps=n_steps)


def arms(
    experiment: Experiment, results: Sequence[Result], device: str | None, names: Sequence[str], number: Number,
    stored: bool = False,
) -> Source:
    """Return the code for the table of final results. results: of the runs that have stopped. is_stored: as in `bands`."""
    return code("""
        {results}
        from viz_core import tables
        from viz_core.learning.curves import at_the_end
        frame = tables.arms({names}, at_the_end(results, {number}))
        """, results=_results(experiment, results, device, stored),
                names=[names[condition] for condition in sorted({r.arm for r in results})], number=number)


def _results(experiment: Experiment, results: Sequence[Result], device: str | None, stored: bool) -> Source:
    """Return the code that makes `experiment` and `results`, with each run trained as far as it has come or until it diverged."""
    if stored:
        return code("""
            {stored}
            experiment = stored.experiment
            results = [result for result in stored.results if result.seed in {seeds}]
            """, stored=_stored(str(setup_name(experiment))), seeds=experiment.seeds)
    progress = [(r.arm, r.seed, r.steps[-1] if r.steps else 0, *(["diverged"] if r.diverged else [])) for r in results]
    if not progress:
        trained = Source("results = []  # nothing is trained yet")
    elif progress == [(condition, seed, recipe.steps) for condition, seed, recipe in experiment.runs()]:
        trained = code("""
            from viz_core.learning.moments import train
            results = [train({arguments}).result(condition, seed) for condition, seed, recipe in experiment.runs()]
            """, arguments=_arguments(None, device))
    else:
        trained = code("""
            from viz_core.learning.moments import train
            results = []
            for condition, seed, steps, *why in {taken}:  # steps: trained so far; why: why it stopped early
                recipe = experiment.recipe(experiment.arms[condition], seed)
                results.append(train({arguments}).result(condition, seed, *why))
            """, taken=progress, arguments=_arguments(Source("steps"), device))
    return code("""
        {experiment}
        {trained}
        """, experiment=_experiment(experiment), trained=trained)


def lengths(experiment: Experiment, names: Sequence[str], test: Sequence[int], device: str | None) -> Source:
    return code("""
        {models}
        from viz_core.figures.learning import length_panel
        from viz_core.learning.length_grid import length_grid
        grid = length_grid(models, {test})
        panels = [length_panel({names}, grid.test, grid.accuracy, max(grid.train))]
        """, models=_models(experiment, device), test=tuple(test), names=list(names))


def again(experiment: Experiment, names: Sequence[str], changes: Mapping[str, Any], device: str | None) -> Source:
    """Return the code for the table of the trained models with a setting changed after training."""
    return code("""
        {models}
        from viz_core import tables
        from viz_core.learning.setups import measured_again
        frame = tables.measured({names}, [measured_again(model, recipe, {changes}) for model, recipe in models])
        """, models=_models(experiment, device), names=list(names), changes=dict(changes))


def best_heads(experiment: Experiment, names: Sequence[str], blocks: Sequence[int], device: str | None) -> Source:
    """Return the code for the table of each model's best head on repeated blocks of several lengths."""
    return code("""
        {models}
        from viz_core import tables
        from viz_core.learning.induction import on_repeats
        from viz_core.learning.tasks.symbols import FIRST
        shares = [
            [float(on_repeats(model, recipe.parameters["symbols"], block, FIRST).max()) for block in {blocks}]
            for model, recipe in models
        ]
        frame = tables.induction({names}, {blocks}, shares)
        """, models=_models(experiment, device), names=list(names), blocks=tuple(blocks))


def stored_lengths(setup: str, names: Sequence[str]) -> Source:
    return code("""
        {stored}
        from viz_core.figures.learning import length_panel
        grid = stored.lengths
        panels = [length_panel({names}, grid.test, grid.accuracy, max(grid.train))]
        """, stored=_stored(setup), names=list(names))


def stored_again(setup: str, names: Sequence[str]) -> Source:
    return code("""
        {stored}
        from viz_core import tables
        frame = tables.measured({names}, stored.again)
        """, stored=_stored(setup), names=list(names))


def stored_best_heads(setup: str, names: Sequence[str], blocks: Sequence[int]) -> Source:
    return code("""
        {stored}
        from viz_core import tables
        frame = tables.induction({names}, {blocks}, stored.induction)
        """, stored=_stored(setup), names=list(names), blocks=tuple(blocks))


def _stored(setup: str) -> Source:
    """Return the code that makes `stored`, the stored measurement of a predefined experiment."""
    return code("""
        from viz_core.learning.measurement import measurement
        stored = measurement({setup})  # viz_core.learning.measurement.measure(SETUPS[{setup}]) measures it again
        """, setup=setup)


def _models(experiment: Experiment, device: str | None) -> Source:
    """Return the code that makes `models`: for each condition, the trained model of the first seed and its recipe."""
    return code("""
        {experiment}
        from viz_core.learning.training_run import finished
        recipes = [recipe for condition, seed, recipe in experiment.runs() if seed == {seed}]
        models = [(finished({arguments}), recipe) for recipe in recipes]
        """, experiment=_experiment(experiment), seed=experiment.seeds[0], arguments=_arguments(None, device))


def _experiment(experiment: Experiment) -> Source:
    """Return the code that makes `experiment`: a predefined one by name, another by its factor."""
    if (name := setup_name(experiment)) is not None:
        return code("""
            from dataclasses import replace
            from viz_core.learning.setups import SETUPS
            experiment = replace(SETUPS[{name}].experiment, seeds={seeds})
            """, name=name, seeds=experiment.seeds)
    (factor,) = experiment.arms[0].changes
    return code("""
        {recipe}
        from viz_core.learning.arms import of_factor
        experiment = of_factor(recipe, {factor}, {values}, {seeds})
        """, recipe=recipe_code(experiment.base), factor=factor,
                values=[condition.changes[factor] for condition in experiment.arms], seeds=experiment.seeds)
