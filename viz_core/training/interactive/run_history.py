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
from viz_core.config.limits import MAX_CURVE_POINTS, MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.results import RunResult
from viz_core.training.interactive.training_run import StepEvent, StopReason, TrainingRun

SNAPSHOT_DTYPES = (torch.float16, torch.float32)
SNAPSHOTS_PER_DOUBLING = 8  # snapshots while the number of steps doubles


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The weights after a step, in half precision; tensors that half precision cannot represent keep their dtype."""

    step: int
    weights: Mapping[str, Tensor]

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return sum(x.numel() * x.element_size() for x in self.weights.values())

    def build_model(self, config: TransformerConfig) -> Transformer:
        """Return the model in float32 on the CPU with dropout off. Raises `UserError` if the weights do not match the config."""
        model = Transformer(config, seed=None).eval()
        expected = dict(model.named_parameters())
        matches = {name: p.shape for name, p in expected.items()} == {name: x.shape for name, x in self.weights.items()}
        if not matches or any(x.dtype not in SNAPSHOT_DTYPES or not x.isfinite().all() for x in self.weights.values()):
            raise UserError("training_state")
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
            raise UserError("training_state") from None
        return cls(step, {name.partition(".")[2]: x for name, x in found.items()})


def take_snapshot(model: Transformer, step: int) -> Snapshot:
    """Return a snapshot of the current weights of a model."""
    return Snapshot(step, {name: _to_half(p.detach().cpu()) for name, p in model.named_parameters()})


def _to_half(x: Tensor) -> Tensor:
    """Return x in half precision, or a copy of x if it has values that overflow."""
    half = x.to(torch.float16)
    return half if half.isfinite().all() else x.clone()


def initial_snapshot(recipe: Recipe) -> Snapshot:
    """Return the snapshot before the first step."""
    return take_snapshot(Transformer(recipe.config, recipe.seed), 0)


@dataclass(slots=True)
class MetricSeries:
    """Metrics by step: at most `max_points` points, the first and the last always included."""

    names: tuple[str, ...]
    max_points: int = MAX_CURVE_POINTS
    stride: int = 1  # every stride-th point is kept
    n_added: int = 0
    points: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)
    last: tuple[int, tuple[float, ...]] | None = None

    def add(self, step: int, values: Sequence[float]) -> None:
        """Append a point; drop every second one when there are too many."""
        self.last = (step, tuple(map(float, values)))
        if self.n_added % self.stride == 0:
            self.points.append(self.last)
        self.n_added += 1
        if len(self.points) >= self.max_points:
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
        """Return the values of one metric, [n]. After `RunHistory.deserialize`, values that were not finite are NaN."""
        return np.array([values[self.names.index(name)] for __, values in self], dtype=np.float64)


class RunHistory:
    """The snapshots and metrics of one run, recorded in its process (`record_start`, `record_step`) or received from another one
    (`record_metrics`, `add_snapshot`)."""

    def __init__(
        self, recipe: Recipe, parts: Sequence[str], max_snapshots: int = MAX_SNAPSHOTS, max_bytes: int = MAX_SNAPSHOT_BYTES
    ) -> None:
        self.recipe, self.max_snapshots, self.max_bytes = recipe, max_snapshots, max_bytes
        self.training_metrics = MetricSeries(("loss", "accuracy", "rate", "norm", *parts))
        self.held_out_metrics = MetricSeries(("loss", "accuracy"))
        self._snapshots: dict[int, Snapshot] = {}

    def record_start(self, run: TrainingRun) -> None:
        """Record the run before its first step: a snapshot and the held-out metrics."""
        if run.steps_done == 0:
            self.add_snapshot(take_snapshot(run.model, 0))
            self.held_out_metrics.add(0, run.evaluate())

    def record_step(self, run: TrainingRun, event: StepEvent) -> None:
        """Record one step. The last step always gets a snapshot, whatever stopped the run."""
        self.record_metrics(event)
        if is_snapshot_step(event.step) or event.stopped is not None:
            self.add_snapshot(take_snapshot(run.model, run.steps_done))

    def record_metrics(self, event: StepEvent) -> None:
        """Record the metrics of one step."""
        self.training_metrics.add(event.step, (event.loss, event.accuracy, event.rate, event.norm, *event.norms))
        if event.held_out_loss is not None and event.held_out_accuracy is not None:
            self.held_out_metrics.add(event.step, (event.held_out_loss, event.held_out_accuracy))

    def add_snapshot(self, snapshot: Snapshot) -> None:
        """Add a snapshot, for example where a run is paused; drop others while there are too many."""
        self._snapshots[snapshot.step] = snapshot
        while len(self._snapshots) > 2 and (len(self._snapshots) > self.max_snapshots or self.nbytes > self.max_bytes):
            del self._snapshots[step_to_drop(self.snapshot_steps)]

    def copy(self) -> "RunHistory":
        """Return an independent copy; the snapshots themselves are shared."""
        other = copy.copy(self)
        other.training_metrics, other.held_out_metrics = (
            replace(s, points=list(s.points)) for s in (self.training_metrics, self.held_out_metrics)
        )
        other._snapshots = dict(self._snapshots)
        return other

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model that have a gradient norm."""
        return self.training_metrics.names[4:]

    @property
    def grad_norms(self) -> np.ndarray:
        """The gradient norm of each part at each kept training step, [n, parts]."""
        return np.stack([self.training_metrics.values(name) for name in self.parts], axis=1)

    def result(self, condition: int, seed: int, stopped: StopReason | None = None) -> RunResult:
        """Return the held-out metrics so far as the result of one run of an experiment."""
        loss, accuracy = (tuple(self.held_out_metrics.values(name)) for name in ("loss", "accuracy"))
        return RunResult(condition, seed, tuple(map(int, self.held_out_metrics.steps)), loss, accuracy, stopped or "steps")

    @property
    def snapshot_steps(self) -> tuple[int, ...]:
        """The steps of the snapshots, in order."""
        return tuple(sorted(self._snapshots))

    @property
    def nbytes(self) -> int:
        """Bytes of all snapshots."""
        return sum(snapshot.nbytes for snapshot in self._snapshots.values())

    def nearest(self, step: int) -> Snapshot:
        """Return the snapshot nearest to a step; the earlier one of two equally near."""
        return self._snapshots[min(self.snapshot_steps, key=lambda kept: (abs(kept - step), kept))]

    # --- Serialization ------------------------------------------------------------------------------------------------
    def serialize(self) -> tuple[bytes, str]:
        """Return the snapshots as safetensors and the metrics as JSON."""
        tensors = {f"{step}.{name}": x for step, m in self._snapshots.items() for name, x in m.weights.items()}
        series = {
            name: {"names": s.names, "stride": s.stride, "seen": s.n_added,
                   "points": [(step, [x if math.isfinite(x) else None for x in values]) for step, values in s]}
            for name, s in (("training", self.training_metrics), ("held_out", self.held_out_metrics))
        }
        facts = {
            "recipe": self.recipe.to_json(),
            "steps": self.snapshot_steps,
            "most": self.max_snapshots,
            "most_bytes": self.max_bytes,
        } | series
        return to_bytes({name: x.contiguous() for name, x in tensors.items()}), json.dumps(facts, allow_nan=False)

    @classmethod
    def deserialize(cls, tensors: bytes, metadata: str) -> "RunHistory":
        """Return the history that `serialize` stored. Raises `UserError` for any other data."""
        try:
            found, values = read_tensors(tensors), json.loads(metadata)
            history = cls(Recipe.from_json(values["recipe"]), values["training"]["names"][4:], values["most"], values["most_bytes"])
            for name, series in (("training", history.training_metrics), ("held_out", history.held_out_metrics)):
                _load_series(series, values[name])
            for step in values["steps"]:
                weights = {n.partition(".")[2]: x for n, x in found.items() if n.startswith(f"{step}.")}
                history._snapshots[int(step)] = Snapshot(int(step), weights)
        except (SafetensorError, ValueError, KeyError, TypeError, IndexError):
            raise UserError("training_state") from None
        return history


def _load_series(series: MetricSeries, stored: Mapping[str, list]) -> None:
    """Set a series to its stored values."""
    points = [(int(step), tuple(math.nan if x is None else float(x) for x in values)) for step, values in stored["points"]]
    series.stride, series.n_added = int(stored["stride"]), int(stored["seen"])  # type: ignore[call-overload]
    series.last = points[-1] if points else None
    kept_last = (series.n_added - 1) % series.stride == 0
    series.points = points if kept_last else points[:-1]


def train(recipe: Recipe, steps: int | None = None, device: str = "cpu") -> RunHistory:
    """Train in this process, all steps or the first `steps`, and return the history. Its numbers are those of every run of the
    recipe on this kind of device.

    The last step taken always has a snapshot.
    """
    return record_run(TrainingRun(recipe, device), steps)


def record_run(run: TrainingRun, steps: int | None = None) -> RunHistory:
    """Take all steps of a new run, or the first `steps`, and return the history."""
    history = RunHistory(run.recipe, tuple(run.parts))
    history.record_start(run)
    for event in islice(run, steps):
        history.record_step(run, event)
    history.add_snapshot(take_snapshot(run.model, run.steps_done))
    return history


def is_snapshot_step(step: int) -> bool:
    """Return whether a step gets a snapshot: 1, 2, 3, … and later `SNAPSHOTS_PER_DOUBLING` log-spaced steps per doubling."""
    doublings = SNAPSHOTS_PER_DOUBLING * math.log2(step)
    return step == 1 or math.floor(doublings) > math.floor(SNAPSHOTS_PER_DOUBLING * math.log2(step - 1))


def step_to_drop(steps: Sequence[int]) -> int:
    """Return the step, among ordered steps, whose neighbours are closest on a logarithmic scale; never the first or the last."""
    inner = range(1, len(steps) - 1)
    return steps[min(inner, key=lambda i: (math.log2((steps[i + 1] + 1) / (steps[i - 1] + 1)), i))]
