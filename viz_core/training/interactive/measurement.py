"""Stored results of the predefined experiments, measured by `python -m viz_core.training.interactive` once on one machine.

A file holds the whole experiment, its results, the date, the machine, and the SHA-256 of all these. It is used only if the hash is
right and the experiment equals the predefined one.
"""

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
import torch

from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.induction_scores import score_repeated_blocks
from viz_core.training.interactive.length_grid import LengthGrid, measure_length_grid
from viz_core.training.interactive.predefined_experiments import EXPERIMENTS, PredefinedExperiment, evaluate_models
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.results import RunResult, summarize_run
from viz_core.training.interactive.tasks.symbols import FIRST_ID
from viz_core.training.interactive.training_run import StopReason, TrainingRun

MEASUREMENTS_FOLDER = Path(__file__).parent / "measurements"
CPU_INFO = Path("/proc/cpuinfo")
FAMILY_SEPARATOR = ", family "  # appended to processor names, which alone can be ambiguous


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a measurement: what the numbers depend on besides the recipe, and the number of cores.

    vectors: the vector instructions that torch uses, such as "AVX512". cores: of the machine; each run used one.
    """

    processor: str
    cores: int
    vectors: str
    torch: str

    @property
    def name(self) -> str:
        """The processor without its family and model."""
        return self.processor.partition(FAMILY_SEPARATOR)[0]


def describe_machine() -> Machine:
    """Return this machine: its processor by name and, where available, family and model; its cores, vectors and torch version."""
    first_cpu = CPU_INFO.read_text().partition("\n\n")[0] if CPU_INFO.exists() else ""
    info = {name.strip(): value.strip() for name, __, value in (line.partition(":") for line in first_cpu.splitlines())}
    name = info.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in info and "model" in info:
        name += f"{FAMILY_SEPARATOR}{info['cpu family']}, model {info['model']}"
    return Machine(name, os.cpu_count() or 1, torch.backends.cpu.get_cpu_capability(), torch.__version__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The results of a predefined experiment. results: of every run, including the held-out metrics before its first step. seconds:
    processor time of all runs.

    Further evaluations of the models of the first seed, where the experiment defines them: changed_metrics [conditions]: (loss,
    accuracy) with changed settings; length_grid: results at other lengths; induction_scores [conditions][blocks]: the score of the
    best head.
    """

    experiment: Experiment
    day: date
    machine: Machine
    seconds: float
    results: tuple[RunResult, ...]
    changed_metrics: tuple[tuple[float, float], ...] = ()
    length_grid: LengthGrid | None = None
    induction_scores: tuple[tuple[float, ...], ...] = ()

    def with_seeds(self, seeds: Sequence[int]) -> "Measurement":
        """Return the measurement of these seeds only."""
        results = tuple(result for result in self.results if result.seed in seeds)
        return replace(self, experiment=replace(self.experiment, seeds=tuple(seeds)), results=results)

    # --- File format --------------------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """Return the content that is stored and hashed. All runs share the same evaluation steps; a run that stopped early has the
        first of them."""
        runs = [
            {
                "arm": r.condition,
                "seed": r.seed,
                "stopped": r.stopped,
                "losses": _finite_or_null(r.losses),
                "accuracies": _finite_or_null(r.accuracies),
            }
            for r in self.results
        ]
        grid = self.length_grid
        return {
            "experiment": json.loads(self.experiment.to_json()),
            "day": self.day.isoformat(),
            "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1),
            "steps": max((r.steps for r in self.results), key=len),
            "runs": runs,
            "again": [_finite_or_null(row) for row in self.changed_metrics],
            "lengths": None
            if grid is None
            else {
                "train": grid.train_lengths,
                "test": grid.test_lengths,
                "accuracy": _grid_to_lists(grid.accuracy),
                "loss": _grid_to_lists(grid.loss),
            },
            "induction": [_finite_or_null(row) for row in self.induction_scores],
        }

    @property
    def sha256(self) -> str:
        """The SHA-256 of the content."""
        return _content_hash(json.loads(json.dumps(self.to_dict(), allow_nan=False)))

    def to_json(self) -> str:
        """Return the content as JSON with one line for each key and each run."""
        facts: dict[str, Any] = self.to_dict() | {"sha256": self.sha256}
        lines = (f'"{name}": {_json_lines(value) if name == "runs" else _json_line(value)}' for name, value in facts.items())
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Parse a stored measurement. Raises `UserError` if the text is invalid or was changed after it was written."""
        try:
            facts = json.loads(text)
            if facts.pop("sha256") != _content_hash(facts):
                raise ValueError("changed since it was written")
            grid, steps = facts["lengths"], [_parse_integer(x) for x in facts["steps"]]
            return cls(
                experiment=Experiment.from_json(json.dumps(facts["experiment"])),
                day=date.fromisoformat(facts["day"]),
                machine=_parse_machine(facts["machine"]),
                seconds=_parse_numbers([facts["seconds"]])[0],
                results=tuple(_parse_result(run, steps) for run in facts["runs"]),
                changed_metrics=tuple((loss, accuracy) for loss, accuracy in map(_parse_numbers, facts["again"])),
                length_grid=None
                if grid is None
                else LengthGrid(
                    tuple(map(_parse_integer, grid["train"])),
                    tuple(map(_parse_integer, grid["test"])),
                    _parse_grid(grid["accuracy"]),
                    _parse_grid(grid["loss"]),
                ),
                induction_scores=tuple(map(_parse_numbers, facts["induction"])),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise UserError("measurement") from None


@cache
def load_measurement(name: str) -> Measurement | None:
    """Return the stored measurement of a predefined experiment, or None if there is none. Raises `UserError` if the file was
    changed, or if its experiment differs from the predefined one."""
    path, offered = MEASUREMENTS_FOLDER / f"{name}.json", EXPERIMENTS[name].experiment
    if not path.exists():
        return None
    found = Measurement.from_json(path.read_text(encoding="utf-8"))
    if found.experiment != offered or [(r.condition, r.seed) for r in found.results] != [run[:2] for run in offered.runs()]:
        raise UserError("measurement_recipe", name=name)
    return found


# --- Measuring --------------------------------------------------------------------------------------------------------
def measure(predefined: PredefinedExperiment, on_progress: Callable[[int, int], None] = lambda done, of: None) -> Measurement:
    """Run an experiment on the CPU, one run after another, with the further evaluations that it defines.

    on_progress: called after each run with the number of finished runs and of all runs.
    """
    experiment, start = predefined.experiment, time.process_time()
    runs, results, models = experiment.runs(), [], []
    for i, (condition, seed, recipe) in enumerate(runs):
        run_result, model = _run_to_end(condition, seed, recipe)
        results.append(run_result)
        if seed == experiment.seeds[0]:
            models.append((model, recipe))
        on_progress(i + 1, len(runs))
    return Measurement(
        experiment=experiment,
        day=datetime.now(UTC).date(),
        machine=describe_machine(),
        seconds=time.process_time() - start,
        results=tuple(results),
        changed_metrics=tuple(evaluate_models(models, predefined.eval_changes)) if predefined.eval_changes else (),
        length_grid=measure_length_grid(models, predefined.test_lengths) if predefined.test_lengths else None,
        induction_scores=tuple(map(tuple, best_induction_scores(models, predefined.blocks))) if predefined.blocks else (),
    )


def _run_to_end(condition: int, seed: int, recipe: Recipe) -> tuple[RunResult, Transformer]:
    """Train one run to its end and return its result, including the metrics before the first step, and its model."""
    run = TrainingRun(recipe)
    loss, accuracy = run.evaluate()
    r = summarize_run(condition, seed, list(run))
    return RunResult(condition, seed, (0, *r.steps), (loss, *r.losses), (accuracy, *r.accuracies), r.stopped), run.model


def best_induction_score(model: Transformer, recipe: Recipe, block: int) -> float:
    """Return the highest induction score of the model's heads on repeated blocks of this length."""
    return float(np.max(score_repeated_blocks(model, recipe.parameters["symbols"], block, FIRST_ID)))


def best_induction_scores(models: Sequence[tuple[Transformer, Recipe]], blocks: Sequence[int]) -> list[list[float]]:
    """Return the highest induction score of each trained model's heads at several lengths of the repeated block."""
    return [[best_induction_score(model, recipe, block) for block in blocks] for model, recipe in models]


# --- JSON values ------------------------------------------------------------------------------------------------------
def _content_hash(facts: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content as JSON with sorted keys and no spaces."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def _json_line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _json_lines(values: Sequence[object]) -> str:
    return "[\n" + ",\n".join(map(_json_line, values)) + "\n]"


def _finite_or_null(values: Sequence[float]) -> list[float | None]:
    """Return the values for JSON: a value that is not finite becomes null."""
    return [float(x) if math.isfinite(x) else None for x in values]


def _grid_to_lists(grid: np.ndarray) -> list[list[float | None]]:
    return [_finite_or_null(row.tolist()) for row in grid]


def _parse_numbers(values: Sequence[object]) -> tuple[float, ...]:
    """Parse JSON values as floats; null becomes NaN."""
    if not all(x is None or (isinstance(x, int | float) and not isinstance(x, bool)) for x in values):
        raise ValueError("not numbers")
    return tuple(math.nan if x is None else float(x) for x in values)  # type: ignore[arg-type]


def _parse_grid(rows: Sequence[Sequence[object]]) -> np.ndarray:
    return np.array([_parse_numbers(row) for row in rows], dtype=np.float64)


def _parse_integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("not a whole number")
    return value


def _parse_machine(stored: Mapping[str, Any]) -> Machine:
    machine = Machine(**stored)
    if not all(isinstance(x, str) and len(x) < 100 for x in (machine.processor, machine.vectors, machine.torch)):
        raise ValueError("not a machine")
    return Machine(machine.processor, _parse_integer(machine.cores), machine.vectors, machine.torch)


def _parse_result(run: Mapping[str, Any], steps: Sequence[int]) -> RunResult:
    losses, accuracies = _parse_numbers(run["losses"]), _parse_numbers(run["accuracies"])
    if run["stopped"] not in get_args(StopReason) or not len(losses) == len(accuracies) <= len(steps):
        raise ValueError("not a run")
    return RunResult(
        _parse_integer(run["arm"]), _parse_integer(run["seed"]), tuple(steps[: len(losses)]), losses, accuracies, run["stopped"]
    )
