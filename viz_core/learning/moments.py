"""The history of a training run: snapshots of the model and the metrics of its steps.

Snapshots are denser at the beginning, where most happens. Their number and bytes are bounded: if there are too many, the one whose
neighbours are closest (on a logarithmic scale of steps) is dropped. Metrics are kept at full resolution up to a bound, then every
second point, every fourth, and so on.
"""

import copy
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.learning.curves import Result
from viz_core.learning.recipe import Recipe
from viz_core.learning.training_run import Event, Stopped, TrainingRun
from viz_core.limits import MAX_CURVE_POINTS, MAX_MOMENT_BYTES, MAX_MOMENTS
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem

TYPES = (torch.float16, torch.float32)
PER_DOUBLING = 8  # snapshots while the number of steps doubles


@dataclass(frozen=True, slots=True)
class Moment:
    """The weights after a step, in half precision; tensors that half precision cannot represent keep their dtype."""

    step: int
    weights: Mapping[str, Tensor]

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return sum(x.numel() * x.element_size() for x in self.weights.values())

    def model(self, config: TransformerConfig) -> Transformer:
        """Return the model in float32 on the CPU with dropout off. Raises `UserError` if the weights do not match the config."""
        model = Transformer(config, seed=None).eval()
        expected = dict(model.named_parameters())
        matches = {name: p.shape for name, p in expected.items()} == {name: x.shape for name, x in self.weights.items()}
        if not matches or any(x.dtype not in TYPES or not x.isfinite().all() for x in self.weights.values()):
            raise Problem("these weights belong to another model, or some of them are not finite; train it again.",
                          "training_state")
        with torch.no_grad():
            for name, parameter in expected.items():
                parameter.copy_(self.weights[name])
        return model

    def to_bytes(self) -> bytes:
        """Return the snapshot as safetensors, to pass it to another process."""
        return to_bytes({f"{self.step}.{name}": x.contiguous() for name, x in self.weights.items()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the snapshot that `to_bytes` serialized. Raises `UserError` for any other data."""
        try:
            found = read_tensors(data)
            (step,) = {int(name.partition(".")[0]) for name in found}
        except (SafetensorError, ValueError, TypeError):
            raise Problem("this is not a snapshot of a training run; start it again.", "training_state") from None
        return cls(step, {name.partition(".")[2]: x for name, x in found.items()})


def moment_of(model: Transformer, step: int) -> Moment:
    """Return a snapshot of the current weights of a model."""
    return Moment(step, {name: _half(p.detach().cpu()) for name, p in model.named_parameters()})


def _half(x: Tensor) -> Tensor:
    """Return x in half precision, or a copy of x if it has values that overflow."""
    half = x.to(torch.float16)
    return half if half.isfinite().all() else x.clone()


def initial(recipe: Recipe) -> Moment:
    """Return the snapshot before the first step."""
    return moment_of(Transformer(recipe.config, recipe.seed), 0)


@dataclass(slots=True)
class Series:
    """Metrics by step: at most `max_points` points, the first and the last always included."""

    names: tuple[str, ...]
    limit: int = MAX_CURVE_POINTS
    stride: int = 1  # every stride-th point is kept
    seen: int = 0
    points: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)
    last: tuple[int, tuple[float, ...]] | None = None

    def add(self, step: int, values: Sequence[float]) -> None:
        """Append a point; drop every second one when there are too many."""
        self.last = (step, tuple(map(float, values)))
        if self.seen % self.stride == 0:
            self.points.append(self.last)
        self.seen += 1
        if len(self.points) >= self.limit:
            self.points, self.stride = self.points[::2], 2 * self.stride

    def __iter__(self) -> Iterator[tuple[int, tuple[float, ...]]]:
        """Iterate over (step, values of `names`) in order."""
        yield from self.points
        if self.last is not None and self.points[-1][0] != self.last[0]:
            yield self.last

    @property
    def steps(self) -> np.ndarray:
        """The kept steps, [n]."""
        return np.array([step for step, __ in self], dtype=np.int64)

    def values(self, name: str) -> np.ndarray:
        """Return the values of one metric, [n]; NaN where a value was not finite or is unknown."""
        return np.array([values[self.names.index(name)] for __, values in self], dtype=np.float64)


class Moments:
    """The snapshots and metrics of one run, recorded in its process (`record_start`, `record_step`) or received from another one
    (`record_metrics`, `add_snapshot`)."""

    def __init__(self, recipe: Recipe, parts: Sequence[str], most: int = MAX_MOMENTS, most_bytes: int = MAX_MOMENT_BYTES) -> None:
        self.recipe, self.most, self.most_bytes = recipe, most, most_bytes
        self.training = Series(("loss", "accuracy", "rate", "norm", *parts))
        self.held_out = Series(("loss", "accuracy"))
        self._kept: dict[int, Moment] = {}

    def begin(self, run: TrainingRun) -> None:
        """Record the run before its first step: a snapshot and the held-out metrics."""
        if run.done == 0:
            self.keep(moment_of(run.model, 0))
            self.held_out.add(0, run.measure())

    def add(self, run: TrainingRun, event: Event) -> None:
        """Record one step. The last step always gets a snapshot, whatever stopped the run."""
        self.hear(event)
        if wanted(event.step) or event.stopped is not None:
            self.keep(moment_of(run.model, run.done))

    def hear(self, event: Event) -> None:
        """Record the metrics of one step."""
        self.training.add(event.step, (event.loss, event.accuracy, event.rate, event.norm, *event.norms))
        if event.held_out_loss is not None and event.held_out_accuracy is not None:
            self.held_out.add(event.step, (event.held_out_loss, event.held_out_accuracy))

    def keep(self, moment: Moment) -> None:
        """Add a snapshot, for example where a run is paused; drop others while there are too many."""
        self._kept[moment.step] = moment
        while len(self._kept) > 2 and (len(self._kept) > self.most or self.nbytes > self.most_bytes):
            del self._kept[least_missed(self.steps)]

    def copy(self) -> "Moments":
        """Return an independent copy; the snapshots themselves are shared."""
        other = copy.copy(self)
        other.training, other.held_out = (replace(s, points=list(s.points)) for s in (self.training, self.held_out))
        other._kept = dict(self._kept)
        return other

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model that have a gradient norm."""
        return self.training.names[4:]

    @property
    def norms(self) -> np.ndarray:
        """The gradient norm of each part at each kept training step, [n, parts]."""
        return np.stack([self.training.values(name) for name in self.parts], axis=1)

    def result(self, arm: int, seed: int, stopped: Stopped | None = None) -> Result:
        """Return the held-out metrics so far as the result of one run of an experiment."""
        loss, accuracy = (tuple(self.held_out.values(name)) for name in ("loss", "accuracy"))
        return Result(arm, seed, tuple(map(int, self.held_out.steps)), loss, accuracy, stopped or "steps")

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the snapshots, in order."""
        return tuple(sorted(self._kept))

    @property
    def nbytes(self) -> int:
        """Bytes of all snapshots."""
        return sum(moment.nbytes for moment in self._kept.values())

    def at(self, step: int) -> Moment:
        """Return the snapshot nearest to a step; the earlier one of two equally near."""
        return self._kept[min(self.steps, key=lambda kept: (abs(kept - step), kept))]

    # --- Serialization ------------------------------------------------------------------------------------------------
    def stored(self) -> tuple[bytes, str]:
        """Return the snapshots as safetensors and the metrics as JSON."""
        tensors = {f"{step}.{name}": x for step, m in self._kept.items() for name, x in m.weights.items()}
        series = {
            name: {"names": s.names, "stride": s.stride, "seen": s.seen,
                   "points": [(step, [x if math.isfinite(x) else None for x in values]) for step, values in s]}
            for name, s in (("training", self.training), ("held_out", self.held_out))
        }
        facts = {"recipe": self.recipe.to_json(), "steps": self.steps, "most": self.most, "most_bytes": self.most_bytes} | series
        return to_bytes({name: x.contiguous() for name, x in tensors.items()}), json.dumps(facts, allow_nan=False)

    @classmethod
    def read(cls, tensors: bytes, facts: str) -> "Moments":
        """Return the history that `serialize` stored. Raises `UserError` for any other data."""
        try:
            found, values = read_tensors(tensors), json.loads(facts)
            moments = cls(Recipe.from_json(values["recipe"]), values["training"]["names"][4:], values["most"], values["most_bytes"])
            for name, series in (("training", moments.training), ("held_out", moments.held_out)):
                _fill(series, values[name])
            for step in values["steps"]:
                weights = {n.partition(".")[2]: x for n, x in found.items() if n.startswith(f"{step}.")}
                moments._kept[int(step)] = Moment(int(step), weights)
        except (SafetensorError, ValueError, KeyError, TypeError, IndexError):
            raise Problem("this is not the history of a training run; start it again.", "training_state") from None
        return moments


def _fill(series: Series, said: Mapping[str, list]) -> None:
    """Set a series to its stored values."""
    points = [(int(step), tuple(math.nan if x is None else float(x) for x in values)) for step, values in said["points"]]
    series.stride, series.seen = int(said["stride"]), int(said["seen"])  # type: ignore[call-overload]
    series.last = points[-1] if points else None
    kept_last = (series.seen - 1) % series.stride == 0
    series.points = points if kept_last else points[:-1]


def train(recipe: Recipe, steps: int | None = None, device: str = "cpu") -> Moments:
    """Train in this process, all steps or the first `steps`, and return the history: the same numbers as any run of the recipe on
    such a device.

    The last step taken always has a snapshot.
    """
    run = TrainingRun(recipe, device)
    moments = Moments(recipe, tuple(run.parts))
    moments.begin(run)
    for event in islice(run, steps):
        moments.add(run, event)
    moments.keep(moment_of(run.model, run.done))
    return moments


def wanted(step: int) -> bool:
    """Return whether a step gets a snapshot: 1, 2, 3, … and later `SNAPSHOTS_PER_DOUBLING` log-spaced steps per doubling."""
    doublings = PER_DOUBLING * math.log2(step)
    return step == 1 or math.floor(doublings) > math.floor(PER_DOUBLING * math.log2(step - 1))


def least_missed(steps: Sequence[int]) -> int:
    """Return the step, among ordered steps, whose neighbours are closest in doublings; never the first or the last."""
    inner = range(1, len(steps) - 1)
    return steps[min(inner, key=lambda i: (math.log2((steps[i + 1] + 1) / (steps[i - 1] + 1)), i))]
