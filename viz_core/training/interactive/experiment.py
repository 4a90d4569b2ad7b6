"""An experiment: runs that differ in one factor, each over the same seeds, with the same initial weights where shapes allow.

Each parameter is drawn from (seed, parameter name) and each batch from (seed, step). Two conditions with the same seed therefore
start from the same weights and read the same rows, unless the factor changes them. `shared_weights` lists the tensors that are
equal.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Self

from viz_core.config.limits import MAX_CONDITIONS, MAX_FACTOR_VALUES, MAX_LINK_BYTES, MAX_SEED, MAX_SEEDS
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.recipe import Recipe, check_setting_value
from viz_core.training.interactive.results import RunResult
from viz_core.training.interactive.run_history import record_run
from viz_core.training.interactive.training_run import TrainingRun, tensors_sha256, train_model

FIXED_FIELDS = ("task", "seed", "data_seed", "steps", "measured_every", "config", "parameters")
"""Recipe fields that are the same in all conditions; of config and parameters a condition changes single entries."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One value of the factor: its name in the plots, and its changes to the recipe, such as {"config.norm": "pre"}."""

    name: str
    changes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SharedWeights:
    """What the conditions of an experiment have in common before the first step, for one seed.

    tensor_names: parameters that are equal in all conditions; sha256: their hash. unshared_names: for each condition its other
    parameters. has_same_batches: whether all conditions read the same batches.
    """

    tensor_names: tuple[str, ...]
    sha256: str
    unshared_names: tuple[tuple[str, ...], ...]
    has_same_batches: bool


@dataclass(frozen=True, slots=True)
class Experiment:
    """A base recipe, its conditions and the seeds. Raises `UserError` if a condition gives no valid recipe or if there are too many
    conditions or seeds."""

    base: Recipe
    conditions: tuple[Condition, ...]
    seeds: tuple[int, ...] = (0, 1, 2)

    def __post_init__(self) -> None:
        names = {condition.name for condition in self.conditions}
        if not 2 <= len(self.conditions) <= MAX_CONDITIONS or len(names) < len(self.conditions):
            raise UserError("experiment_conditions", count=len(self.conditions), most=MAX_CONDITIONS)
        valid = all(isinstance(s, int) and not isinstance(s, bool) and 0 <= s <= MAX_SEED for s in self.seeds)
        if not valid or not 1 <= len(self.seeds) <= MAX_SEEDS or len(set(self.seeds)) < len(self.seeds):
            raise UserError("experiment_seeds", most=MAX_SEEDS, largest=MAX_SEED)
        for condition in self.conditions:
            if fixed := sorted(condition.changes.keys() & set(FIXED_FIELDS)):
                raise UserError("experiment_fixed", name=fixed[0])
            for name, value in condition.changes.items():
                check_setting_value(name, value)
            self.recipe(condition, self.seeds[0])

    def recipe(self, condition: Condition, seed: int) -> Recipe:
        """Return the recipe of one condition and one seed, which determines the initial weights and the rows."""
        return self.base.with_changes({**condition.changes, "seed": seed, "data_seed": seed})

    def runs(self) -> list[tuple[int, int, Recipe]]:
        """Return (index of the condition, seed, recipe) of every run, seed by seed, so that the conditions can be compared after
        the first seed."""
        return [(i, seed, self.recipe(condition, seed)) for seed in self.seeds for i, condition in enumerate(self.conditions)]

    def shared_weights(self, seed: int) -> SharedWeights:
        """Return what the conditions have in common before the first step."""
        recipes = [self.recipe(condition, seed) for condition in self.conditions]
        models = [dict(Transformer(r.config, seed).named_parameters()) for r in recipes]
        first, *others = models
        same = {n: x for n, x in first.items() if all(n in o and o[n].shape == x.shape and o[n].equal(x) for o in others)}
        rows = {(r.task, tuple(r.parameters.items()), r.config.architecture, r.batch) for r in recipes}
        own = tuple(tuple(name for name in model if name not in same) for model in models)
        return SharedWeights(tuple(same), tensors_sha256(same), own, len(rows) == 1)

    def to_json(self) -> str:
        """Return the experiment as JSON."""
        arms = [[condition.name, dict(condition.changes)] for condition in self.conditions]
        return json.dumps({"base": json.loads(self.base.to_json()), "arms": arms, "seeds": self.seeds}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse an experiment from untrusted JSON. Raises `UserError` if it is invalid."""
        error = UserError("recipe_text")
        if not isinstance(text, str) or len(text) > MAX_LINK_BYTES:
            raise error
        try:
            data = json.loads(text)
            base, arms, seeds = data["base"], data["arms"], data["seeds"]
            parsed = tuple(Condition(name, MappingProxyType(dict(changes))) for name, changes in arms)
        except (ValueError, TypeError, KeyError, RecursionError):
            raise error from None
        if not isinstance(seeds, list) or not all(isinstance(condition.name, str) for condition in parsed):
            raise error
        return cls(Recipe.from_json(json.dumps(base)), parsed, tuple(seeds))


def vary_factor(base: Recipe, factor: str, values: Sequence[Any], seeds: Sequence[int] = (0, 1, 2)) -> Experiment:
    """Return an experiment with one condition for each of two to four values of a factor, such as "config.position" or
    "learning_rate"."""
    if not 2 <= len(values) <= MAX_FACTOR_VALUES:
        raise UserError("experiment_conditions", count=len(values), most=MAX_FACTOR_VALUES)
    return Experiment(base, tuple(Condition(str(value), MappingProxyType({factor: value})) for value in values), tuple(seeds))


def train_experiment(
    experiment: Experiment, runs: Sequence[tuple[int, int, int | None]] | None = None, device: str = "cpu"
) -> list[RunResult]:
    """Train the runs of an experiment in this process, one after another, and return their results.

    runs: condition, seed and number of steps of each run; None steps: until it stops by itself. None: all runs, until they stop.
    """
    results = []
    for condition, seed, steps in [(i, seed, None) for i, seed, __ in experiment.runs()] if runs is None else runs:
        run = TrainingRun(experiment.recipe(experiment.conditions[condition], seed), device)
        history = record_run(run, steps)
        results.append(history.result(condition, seed, run.stopped))
    return results


def train_models(experiment: Experiment, device: str = "cpu") -> list[tuple[Transformer, Recipe]]:
    """Train the runs of the first seed in this process, and return the model of each, with dropout off, and its recipe."""
    recipes = [experiment.recipe(condition, experiment.seeds[0]) for condition in experiment.conditions]
    return [(train_model(recipe, device), recipe) for recipe in recipes]
