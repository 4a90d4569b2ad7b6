"""One job and its runs, as the server remembers them, and what a page is shown of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.jobs.messages import Parcel, Stored
from viz_core.learning.arms import Experiment
from viz_core.learning.curves import Result, result
from viz_core.learning.moments import Moment, Moments
from viz_core.learning.recipe import Recipe
from viz_core.learning.training_run import Event, Stopped
from viz_core.limits import MAX_MOMENT_BYTES, MAX_MOMENTS
from viz_core.problems import Problem

State = Literal["waiting", "starting", "running", "paused", "done", "stopped", "lost", "failed"]
"""waiting: for its turn. starting: a process gets ready. done: every run has stopped by itself. stopped: a visitor stopped it.
lost: its process died or did not answer. failed: it cannot go on as it is."""
Wished = Literal["run", "pause", "stop"]
LOST = ("worker_died", "worker_silent")


@dataclass(slots=True, eq=False)
class RunRecord:
    """One run of a job. `state` is the last that was stored; a run that will not go on keeps its weights only."""

    arm: int
    seed: int
    recipe: Recipe
    most: int = MAX_MOMENTS
    most_bytes: int = MAX_MOMENT_BYTES
    moments: Moments | None = None
    initial_hash: str | None = None
    device: str | None = None
    held_out: list[Event] = field(default_factory=list)
    last: Event | None = None
    seconds: float = 0.0  # of all steps
    state: Stored | None = None
    weights: bytes | None = None
    stopped: Stopped | None = None
    starts: int = 0
    nbytes: int = 0  # of what can be large, when it last changed

    def take(self, parcel: Parcel) -> None:
        """What a worker has sent. Steps that are taken again, from an older state, have the same numbers: they count once."""
        if parcel.opening is not None:
            self._open(parcel.opening.parts, parcel.opening.held_out)
            self.initial_hash, self.device = parcel.opening.initial_hash, parcel.opening.device
        for event in parcel.events:
            self._hear(event)
        for moment in parcel.moments:
            assert self.moments is not None
            self.moments.keep(Moment.from_bytes(moment))
        if parcel.state is not None:
            self.state = parcel.state
        if self.stopped is not None and parcel.ended == "stopped":
            self.leave()
        self.weigh()

    def _open(self, parts: tuple[str, ...], held_out: tuple[float, float] | None) -> None:
        if self.moments is None:
            self.moments = Moments(self.recipe, parts, self.most, self.most_bytes)
        if held_out is not None and not self.moments.held_out.seen:
            self.moments.held_out.add(0, held_out)

    def _hear(self, event: Event) -> None:
        self.seconds += event.seconds
        if event.stopped is not None:
            self.stopped = event.stopped
        if self.moments is None or event.step <= self.moments.training.seen:
            return
        self.moments.hear(event)
        self.last = event
        if event.held_out_loss is not None or event.stopped is not None:
            self.held_out.append(event)

    def leave(self) -> None:
        """Keep the weights of the stored state and nothing more of it: this run does not go on."""
        if self.state is not None and self.state.tensors:  # it may be told twice, while its worker has not yet heard of it
            own = {n.partition(".")[2]: x for n, x in read_tensors(self.state.tensors).items() if n.startswith("weights.")}
            self.weights, self.state = to_bytes(own), Stored(self.state.step, b"", "")
            self.weigh()

    @property
    def done(self) -> int:
        """Steps behind which the stored state is: where it goes on."""
        return 0 if self.state is None else self.state.step

    def weigh(self) -> None:
        """Count the bytes anew."""
        moments = 0 if self.moments is None else self.moments.nbytes
        self.nbytes = moments + (0 if self.state is None else self.state.nbytes) + len(self.weights or b"")

    def tensors(self) -> dict[str, Tensor]:
        """The weights behind the last stored step, in float32; empty before there is one."""
        if self.weights is not None:
            return read_tensors(self.weights)
        found = {} if self.state is None else read_tensors(self.state.tensors)
        return {name.partition(".")[2]: x for name, x in found.items() if name.startswith("weights.")}

    def result(self) -> Result | None:
        """Its held-out numbers; None before it has stopped."""
        return None if self.stopped is None else result(self.arm, self.seed, self.held_out)


@dataclass(slots=True, eq=False)
class Job:
    """What a visitor asked for: one run, or those of an experiment. Only the board's lock makes it safe to read."""

    number: str
    owner: str
    device: str
    runs: tuple[RunRecord, ...]
    experiment: Experiment | None
    watched: float  # when somebody looked at it
    turn: int = 0  # its place in the order in which jobs asked for a worker
    wished: Wished = "run"
    unwatched: bool = False  # whether it was paused because nobody looked
    single: bool = False  # whether it pauses behind the next step
    problem: Problem | None = None
    flying: set[int] = field(default_factory=set)  # numbers of the runs that are at a worker
    opened: set[int] = field(default_factory=set)  # those of them that have begun there

    @property
    def state(self) -> State:
        if self.flying:
            return "running" if self.opened else "starting"
        if all(run.stopped is not None for run in self.runs):
            return "done"
        if self.wished == "stop":
            return "stopped"
        if self.problem is not None:
            return "lost" if self.problem.code in LOST else "failed"
        return "waiting" if self.wished == "run" else "paused"

    @property
    def over(self) -> bool:
        """Whether it will never go on."""
        return self.state in ("done", "stopped")

    @property
    def nbytes(self) -> int:
        return sum(run.nbytes for run in self.runs)

    def pending(self) -> Iterator[int]:
        """The runs that could start now, in order; of a single step only the first."""
        left = [i for i, run in enumerate(self.runs) if run.stopped is None]
        for i in left[:1] if self.single else left:
            if i not in self.flying:
                yield i


@dataclass(frozen=True, slots=True)
class RunLook:
    """One run as a page is shown it. done: steps taken; kept: the step from which it would go on; seconds: of the steps taken.

    starts: how often a worker has begun with it.
    """

    arm: int
    seed: int
    steps: int
    done: int
    kept: int
    last: Event | None
    stopped: Stopped | None
    initial_hash: str | None
    seconds: float
    starts: int
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """A job as a page is shown it. place: 1 for the next in the queue, None for one that does not wait."""

    number: str
    owner: str
    state: State
    place: int | None
    unwatched: bool
    problem: Problem | None
    runs: tuple[RunLook, ...]

    @property
    def share(self) -> float:
        """Steps taken of all, 0 to 1; a run that has stopped has taken its own."""
        shares = [1.0 if run.stopped is not None else run.done / run.steps for run in self.runs]
        return math.fsum(shares) / len(shares)


def look(job: Job, place: int | None) -> Look:
    """The job as it is now."""
    return Look(job.number, job.owner, job.state, place, job.unwatched, job.problem, tuple(_run_look(run) for run in job.runs))


def _run_look(run: RunRecord) -> RunLook:
    done = run.done if run.last is None else max(run.done, run.last.step)
    return RunLook(run.arm, run.seed, run.recipe.steps, done, run.done, run.last, run.stopped, run.initial_hash, run.seconds,
                   run.starts, run.device)
