"""The stored measurements of the offered experiments: their runs as `python -m viz_core.learning` took them, once, on one machine.

A file says what it measured (the whole experiment), when and on which processor, and the SHA-256 of all this. It is read only if
that hash is right and the experiment is still the one that the app offers.
"""

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
import torch

from viz_core.learning.arms import Experiment
from viz_core.learning.curves import Result, result
from viz_core.learning.induction import on_repeats
from viz_core.learning.length_grid import LengthGrid, length_grid
from viz_core.learning.recipe import Recipe
from viz_core.learning.setups import SETUPS, OfferedExperiment, measured_again
from viz_core.learning.tasks.symbols import FIRST
from viz_core.learning.training_run import Stopped, TrainingRun
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem

FOLDER = Path(__file__).parent / "measurements"
CPU_INFO = Path("/proc/cpuinfo")
FAMILY = ", family "  # stands behind the name of a processor whose name alone does not say which it is


@dataclass(frozen=True, slots=True)
class Machine:
    """What the numbers depend on beside the recipe. vectors: the instructions that torch uses, such as "AVX512"; cores: of the
    machine, of which each run used one."""

    processor: str
    cores: int
    vectors: str
    torch: str

    @property
    def name(self) -> str:
        """The processor without its family and model."""
        return self.processor.partition(FAMILY)[0]

    def same_kind(self, other: Self) -> bool:
        """Whether a run should have the same numbers on both, bit for bit."""
        return (self.processor, self.vectors, self.torch) == (other.processor, other.vectors, other.torch)


def this_machine() -> Machine:
    """The processor by its own name, and by family and model where it says them; nothing else about the machine is told."""
    said = CPU_INFO.read_text().partition("\n\n")[0] if CPU_INFO.exists() else ""
    found = {name.strip(): value.strip() for name, __, value in (line.partition(":") for line in said.splitlines())}
    name = found.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in found and "model" in found:
        name += f"{FAMILY}{found['cpu family']}, model {found['model']}"
    return Machine(name, os.cpu_count() or 1, torch.backends.cpu.get_cpu_capability(), torch.__version__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """An offered experiment, measured. results: of every run, from before its first step. seconds: of processor time, for all runs.

    Of the first seed's trained models, one for each arm, as far as the experiment asks for it: again [arms]: (loss, accuracy) with
    its switches changed; lengths: their accuracy at other lengths; induction [arms][blocks]: the score of the best head.
    """

    experiment: Experiment
    day: date
    machine: Machine
    seconds: float
    results: tuple[Result, ...]
    again: tuple[tuple[float, float], ...] = ()
    lengths: LengthGrid | None = None
    induction: tuple[tuple[float, ...], ...] = ()

    # --- As a file ----------------------------------------------------------------------------------------------------
    def facts(self) -> dict[str, Any]:
        """What the hash is of. All runs are measured behind the same steps; one that stopped early has the first of them."""
        runs = [{"arm": r.arm, "seed": r.seed, "stopped": r.stopped, "losses": _plain(r.losses), "accuracies": _plain(r.accuracies)}
                for r in self.results]
        grid = self.lengths
        return {
            "experiment": json.loads(self.experiment.to_json()), "day": self.day.isoformat(), "machine": asdict(self.machine),
            "seconds": round(self.seconds, 1), "steps": max((r.steps for r in self.results), key=len), "runs": runs,
            "again": [_plain(row) for row in self.again],
            "lengths": None if grid is None else {"train": grid.train, "test": grid.test, "accuracy": _rows(grid.accuracy),
                                                  "loss": _rows(grid.loss)},
            "induction": [_plain(row) for row in self.induction],
        }

    @property
    def sha256(self) -> str:
        return _hash(json.loads(json.dumps(self.facts(), allow_nan=False)))

    def to_json(self) -> str:
        """A line for each fact and for each run."""
        facts: dict[str, Any] = self.facts() | {"sha256": self.sha256}
        said = (f'"{name}": {_lines(value) if name == "runs" else _line(value)}' for name, value in facts.items())
        return "{\n" + ",\n".join(said) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """`Problem` for a text that is no measurement, or was changed since it was written."""
        try:
            facts = json.loads(text)
            if facts.pop("sha256") != _hash(facts):
                raise ValueError("changed since it was written")
            grid, steps = facts["lengths"], [_whole(x) for x in facts["steps"]]
            return cls(
                experiment=Experiment.from_json(json.dumps(facts["experiment"])), day=date.fromisoformat(facts["day"]),
                machine=_machine(facts["machine"]), seconds=_numbers([facts["seconds"]])[0],
                results=tuple(_result(run, steps) for run in facts["runs"]),
                again=tuple((loss, accuracy) for loss, accuracy in map(_numbers, facts["again"])),
                lengths=None if grid is None else LengthGrid(tuple(map(_whole, grid["train"])), tuple(map(_whole, grid["test"])),
                                                             _grid(grid["accuracy"]), _grid(grid["loss"])),
                induction=tuple(map(_numbers, facts["induction"])),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise Problem("this is not a stored measurement as it was written; measure the experiment again.",
                          "measurement") from None


@cache
def measurement(name: str) -> Measurement | None:
    """The stored one of an offered experiment; None where there is none. `Problem` for one that was changed, or is of an
    experiment that the app no longer offers like this."""
    path, offered = FOLDER / f"{name}.json", SETUPS[name].experiment
    if not path.exists():
        return None
    found = Measurement.from_json(path.read_text(encoding="utf-8"))
    if found.experiment != offered or [(r.arm, r.seed) for r in found.results] != [run[:2] for run in offered.runs()]:
        raise Problem(f"the stored measurement {name!r} is of another recipe than the experiment; measure it again.",
                      "measurement_recipe", name=name)
    return found


# --- Measured ---------------------------------------------------------------------------------------------------------
def measure(offered: OfferedExperiment, tell: Callable[[int, int], None] = lambda done, of: None) -> Measurement:
    """All runs of an experiment on the processor, one after another, and what it asks of their models.

    tell: called behind each run with their number so far, and that of all.
    """
    experiment, start = offered.experiment, time.process_time()
    runs, results, models = experiment.runs(), [], []
    for i, (arm, seed, recipe) in enumerate(runs):
        found, model = _taken(arm, seed, recipe)
        results.append(found)
        if seed == experiment.seeds[0]:
            models.append((model, recipe))
        tell(i + 1, len(runs))
    return Measurement(
        experiment=experiment, day=datetime.now(UTC).date(), machine=this_machine(), seconds=time.process_time() - start,
        results=tuple(results),
        again=tuple(measured_again(model, recipe, offered.again) for model, recipe in models) if offered.again else (),
        lengths=length_grid(models, offered.test_lengths) if offered.test_lengths else None,
        induction=tuple(tuple(best_head(model, recipe, block) for block in offered.blocks) for model, recipe in models
                        ) if offered.blocks else (),
    )


def _taken(arm: int, seed: int, recipe: Recipe) -> tuple[Result, Transformer]:
    """One run to its end: its held-out numbers, those before the first step among them, and its model."""
    run = TrainingRun(recipe)
    loss, accuracy = run.measure()
    r = result(arm, seed, list(run))
    return Result(arm, seed, (0, *r.steps), (loss, *r.losses), (accuracy, *r.accuracies), r.stopped), run.model


def best_head(model: Transformer, recipe: Recipe, block: int) -> float:
    """The largest induction score of its heads, on blocks of this length that are said twice."""
    return float(np.max(on_repeats(model, recipe.parameters["symbols"], block, FIRST)))


# --- Plain numbers ----------------------------------------------------------------------------------------------------
def _hash(facts: Mapping[str, Any]) -> str:
    """SHA-256 of facts as JSON with sorted names and no spaces."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _lines(values: Sequence[object]) -> str:
    return "[\n" + ",\n".join(map(_line, values)) + "\n]"


def _plain(values: Sequence[float]) -> list[float | None]:
    """A number that is not finite is null."""
    return [float(x) if math.isfinite(x) else None for x in values]


def _rows(grid: np.ndarray) -> list[list[float | None]]:
    return [_plain(row.tolist()) for row in grid]


def _numbers(values: Sequence[object]) -> tuple[float, ...]:
    """The way back: null is NaN."""
    if not all(x is None or (isinstance(x, int | float) and not isinstance(x, bool)) for x in values):
        raise ValueError("not numbers")
    return tuple(math.nan if x is None else float(x) for x in values)  # type: ignore[arg-type]


def _grid(rows: Sequence[Sequence[object]]) -> np.ndarray:
    return np.array([_numbers(row) for row in rows], dtype=np.float64)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("not a whole number")
    return value


def _machine(said: Mapping[str, Any]) -> Machine:
    made = Machine(**said)
    if not all(isinstance(x, str) and len(x) < 100 for x in (made.processor, made.vectors, made.torch)):
        raise ValueError("not a machine")
    return Machine(made.processor, _whole(made.cores), made.vectors, made.torch)


def _result(run: Mapping[str, Any], steps: Sequence[int]) -> Result:
    losses, accuracies = _numbers(run["losses"]), _numbers(run["accuracies"])
    if run["stopped"] not in get_args(Stopped) or not len(losses) == len(accuracies) <= len(steps):
        raise ValueError("not a run")
    return Result(_whole(run["arm"]), _whole(run["seed"]), tuple(steps[: len(losses)]), losses, accuracies, run["stopped"])
