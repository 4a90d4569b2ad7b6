"""What is kept of a run so that one can go back in its time: the model at some moments, and every number.

Moments lie closer together at the beginning, where most happens. They are bounded in number and bytes: when there are too many,
the one that is least missed goes, where its neighbours are nearest. The numbers are kept at full resolution up to a bound, then
every second point, every fourth, and so on.
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
PER_DOUBLING = 8  # moments that are offered while the number of steps doubles


@dataclass(frozen=True, slots=True)
class Moment:
    """The weights behind a step, in half precision; those that half precision cannot hold stay as they are."""

    step: int
    weights: Mapping[str, Tensor]

    @property
    def nbytes(self) -> int:
        return sum(x.numel() * x.element_size() for x in self.weights.values())

    def model(self, config: TransformerConfig) -> Transformer:
        """The model of this moment in float32 on the CPU, dropout off. `Problem` where the weights are not those of the config."""
        model = Transformer(config, seed=None).eval()
        due = dict(model.named_parameters())
        fits = {name: p.shape for name, p in due.items()} == {name: x.shape for name, x in self.weights.items()}
        if not fits or any(x.dtype not in TYPES or not x.isfinite().all() for x in self.weights.values()):
            raise Problem("these weights are of another model, or some of their numbers are not finite; train it again.",
                          "training_state")
        with torch.no_grad():
            for name, parameter in due.items():
                parameter.copy_(self.weights[name])
        return model


    def to_bytes(self) -> bytes:
        """As safetensors, for the way to another process."""
        return to_bytes({f"{self.step}.{name}": x.contiguous() for name, x in self.weights.items()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` gave. `Problem` for anything else."""
        try:
            found = read_tensors(data)
            (step,) = {int(name.partition(".")[0]) for name in found}
        except (SafetensorError, ValueError, TypeError):
            raise Problem("this is not a moment of a training run; start it again.", "training_state") from None
        return cls(step, {name.partition(".")[2]: x for name, x in found.items()})


def moment_of(model: Transformer, step: int) -> Moment:
    """The weights of a model as they are now."""
    return Moment(step, {name: _half(p.detach().cpu()) for name, p in model.named_parameters()})


def _half(x: Tensor) -> Tensor:
    """x in half precision, or a copy of x if that would make a number infinite."""
    half = x.to(torch.float16)
    return half if half.isfinite().all() else x.clone()


def initial(recipe: Recipe) -> Moment:
    """The model before the first step."""
    return moment_of(Transformer(recipe.config, recipe.seed), 0)


@dataclass(slots=True)
class Series:
    """Numbers along the steps: at most `limit` points, of which the first and the last are always there."""

    names: tuple[str, ...]
    limit: int = MAX_CURVE_POINTS
    stride: int = 1  # one point is kept of so many
    seen: int = 0
    points: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)
    last: tuple[int, tuple[float, ...]] | None = None

    def add(self, step: int, values: Sequence[float]) -> None:
        """The next point."""
        self.last = (step, tuple(map(float, values)))
        if self.seen % self.stride == 0:
            self.points.append(self.last)
        self.seen += 1
        if len(self.points) >= self.limit:
            self.points, self.stride = self.points[::2], 2 * self.stride

    def __iter__(self) -> Iterator[tuple[int, tuple[float, ...]]]:
        """(step, the numbers of `names`) in order."""
        yield from self.points
        if self.last is not None and self.points[-1][0] != self.last[0]:
            yield self.last

    @property
    def steps(self) -> np.ndarray:
        """The steps that are kept, [n]."""
        return np.array([step for step, __ in self], dtype=np.int64)

    def values(self, name: str) -> np.ndarray:
        """The numbers of one name, [n]; NaN where it was not finite or unknown."""
        return np.array([values[self.names.index(name)] for __, values in self], dtype=np.float64)


class Moments:
    """The kept history of one run: beside it fed by `begin` and `add`, in another process by `hear` and `keep`."""

    def __init__(self, recipe: Recipe, parts: Sequence[str], most: int = MAX_MOMENTS, most_bytes: int = MAX_MOMENT_BYTES) -> None:
        self.recipe, self.most, self.most_bytes = recipe, most, most_bytes
        self.training = Series(("loss", "accuracy", "rate", "norm", *parts))
        self.held_out = Series(("loss", "accuracy"))
        self._kept: dict[int, Moment] = {}

    def begin(self, run: TrainingRun) -> None:
        """The run before its first step: its weights, and how it does on the held-out rows."""
        if run.done == 0:
            self.keep(moment_of(run.model, 0))
            self.held_out.add(0, run.measure())

    def add(self, run: TrainingRun, event: Event) -> None:
        """One more step of the run. The last one is always kept, whatever stopped it."""
        self.hear(event)
        if wanted(event.step) or event.stopped is not None:
            self.keep(moment_of(run.model, run.done))

    def hear(self, event: Event) -> None:
        """The numbers of one more step."""
        self.training.add(event.step, (event.loss, event.accuracy, event.rate, event.norm, *event.norms))
        if event.held_out_loss is not None and event.held_out_accuracy is not None:
            self.held_out.add(event.step, (event.held_out_loss, event.held_out_accuracy))

    def keep(self, moment: Moment) -> None:
        """One more moment, such as where a run is paused; the one that is least missed goes if there are too many."""
        self._kept[moment.step] = moment
        while len(self._kept) > 2 and (len(self._kept) > self.most or self.nbytes > self.most_bytes):
            del self._kept[least_missed(self.steps)]

    def copy(self) -> "Moments":
        """The same as it is now: what is added to one of the two is not in the other. The moments themselves are shared."""
        other = copy.copy(self)
        other.training, other.held_out = (replace(s, points=list(s.points)) for s in (self.training, self.held_out))
        other._kept = dict(self._kept)
        return other

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the model whose gradient has a norm."""
        return self.training.names[4:]

    @property
    def norms(self) -> np.ndarray:
        """The norm of the gradient of each part behind each kept step of the training, [n, parts]."""
        return np.stack([self.training.values(name) for name in self.parts], axis=1)

    def result(self, arm: int, seed: int, stopped: Stopped | None = None) -> Result:
        """The held-out numbers so far, as one run of an experiment."""
        loss, accuracy = (tuple(self.held_out.values(name)) for name in ("loss", "accuracy"))
        return Result(arm, seed, tuple(map(int, self.held_out.steps)), loss, accuracy, stopped or "steps")

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of the kept moments, in order."""
        return tuple(sorted(self._kept))

    @property
    def nbytes(self) -> int:
        """Bytes of all moments."""
        return sum(moment.nbytes for moment in self._kept.values())

    def at(self, step: int) -> Moment:
        """The kept moment that is nearest to a step; the earlier one of two."""
        return self._kept[min(self.steps, key=lambda kept: (abs(kept - step), kept))]

    # --- Stored -------------------------------------------------------------------------------------------------------
    def stored(self) -> tuple[bytes, str]:
        """The moments as safetensors, the numbers as JSON."""
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
        """What was stored. `Problem`, one sentence, for anything else."""
        try:
            found, said = read_tensors(tensors), json.loads(facts)
            moments = cls(Recipe.from_json(said["recipe"]), said["training"]["names"][4:], said["most"], said["most_bytes"])
            for name, series in (("training", moments.training), ("held_out", moments.held_out)):
                _fill(series, said[name])
            for step in said["steps"]:
                own = {n.partition(".")[2]: x for n, x in found.items() if n.startswith(f"{step}.")}
                moments._kept[int(step)] = Moment(int(step), own)
        except (SafetensorError, ValueError, KeyError, TypeError, IndexError):
            raise Problem("these are not the moments of a training run; start it again.", "training_state") from None
        return moments


def _fill(series: Series, said: Mapping[str, list]) -> None:
    points = [(int(step), tuple(math.nan if x is None else float(x) for x in values)) for step, values in said["points"]]
    series.stride, series.seen = int(said["stride"]), int(said["seen"])  # type: ignore[call-overload]
    series.last = points[-1] if points else None
    kept_last = (series.seen - 1) % series.stride == 0
    series.points = points if kept_last else points[:-1]


def train(recipe: Recipe, steps: int | None = None, device: str = "cpu") -> Moments:
    """Train in this process, all steps or the first ones: the same numbers as any other run of the recipe on such a device.

    The moment behind the last step that is taken is always kept.
    """
    run = TrainingRun(recipe, device)
    moments = Moments(recipe, tuple(run.parts))
    moments.begin(run)
    for event in islice(run, steps):
        moments.add(run, event)
    moments.keep(moment_of(run.model, run.done))
    return moments


def wanted(step: int) -> bool:
    """Whether a step is one of the log-spaced ones: 1, 2, 3, … and later `PER_DOUBLING` of them in each doubling."""
    place = PER_DOUBLING * math.log2(step)
    return step == 1 or math.floor(place) > math.floor(PER_DOUBLING * math.log2(step - 1))


def least_missed(steps: Sequence[int]) -> int:
    """Of the steps in order, the one between whose neighbours the gap is smallest, in doublings; never the first or the last."""
    inner = range(1, len(steps) - 1)
    return steps[min(inner, key=lambda i: (math.log2((steps[i + 1] + 1) / (steps[i - 1] + 1)), i))]
