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


@dataclass(slots=True)
class Watcher:
    """A visitor who asked for a job, or who looks at it. wish: this visitor's; "stop": has left it. seen: the last look."""

    wish: Wished
    seen: float
    asked: bool = False


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
    taken: int = 0  # steps, those that were taken again among them
    predicted: float | None = None  # seconds of a step, by its operations
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
        self.seconds, self.taken = self.seconds + event.seconds, self.taken + 1
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
    """What visitors asked for: one run, or those of an experiment. Only the board's lock makes it safe to read.

    Each visitor who watches it has a wish. It runs as long as one of them wishes that and nothing holds it, and has ended once
    all have left it.
    """

    number: str
    device: str
    runs: tuple[RunRecord, ...]
    experiment: Experiment | None
    watchers: dict[str, Watcher] = field(default_factory=dict)  # by visitor
    turn: int = 0  # its place in the order in which jobs asked for a worker
    held: bool = False  # until somebody lets it go on: after a single step or a problem, or since nobody looked
    unwatched: bool = False  # whether it is held because nobody looked
    single: bool = False  # whether it pauses behind the next step
    problem: Problem | None = None
    flying: set[int] = field(default_factory=set)  # numbers of the runs that are at a worker
    opened: set[int] = field(default_factory=set)  # those of them that have begun there

    @property
    def asked(self) -> Recipe | Experiment:
        """What it trains."""
        return self.runs[0].recipe if self.experiment is None else self.experiment

    @property
    def wished(self) -> Wished:
        """What those who watch it wish together."""
        wishes = {watcher.wish for watcher in self.watchers.values()}
        if "run" in wishes:
            return "pause" if self.held else "run"
        return "pause" if "pause" in wishes else "stop"

    def watch(self, visitor: str, now: float, wish: Wished | None = None) -> Watcher:
        """The visitor looks at it, with this wish; without one with the earlier one or, at first, with that of the others."""
        watcher = self.watchers.setdefault(visitor, Watcher(self.wished, now))
        watcher.seen, watcher.wish = now, wish or watcher.wish
        return watcher

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
    """One run as a page is shown it. done: the step behind which it is; kept: the one from which it would go on; taken: how many
    steps took so many seconds, those that were taken again among them; starts: how often a worker has begun with it.
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
    taken: int
    starts: int
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """A job as a page is shown it. place: 1 for the next in the queue, None for one that does not wait; begins: seconds until its
    turn, about. wished: what those who watch it wish together; wish: that of the visitor who looks; others: how many other visitors
    watch it and have not left it.
    """

    number: str
    state: State
    wished: Wished
    wish: Wished
    others: int
    place: int | None
    begins: float | None
    unwatched: bool
    problem: Problem | None
    runs: tuple[RunLook, ...]

    @property
    def without(self) -> bool:
        """Whether it goes on for others, while this visitor has paused or left it."""
        return self.state in ("waiting", "starting", "running") and self.wished == "run" != self.wish

    @property
    def share(self) -> float:
        """Steps taken of all, 0 to 1; a run that has stopped has taken its own."""
        shares = [1.0 if run.stopped is not None else run.done / run.steps for run in self.runs]
        return math.fsum(shares) / len(shares)


def look(job: Job, place: int | None, begins: float | None = None, wish: Wished | None = None, others: int = 0) -> Look:
    """The job as it is now, for a visitor with this wish; None: with that of all."""
    runs = tuple(_run_look(run) for run in job.runs)
    return Look(job.number, job.state, job.wished, wish or job.wished, others, place, begins, job.unwatched, job.problem, runs)


def _run_look(run: RunRecord) -> RunLook:
    done = run.done if run.last is None else max(run.done, run.last.step)
    return RunLook(run.arm, run.seed, run.recipe.steps, done, run.done, run.last, run.stopped, run.initial_hash, run.seconds,
                   run.taken, run.starts, run.device)
