"""Training jobs and their runs as the server keeps them, and the views of them that pages show."""

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
"""waiting: queued. starting: a worker is getting ready. done: every run has stopped by itself. stopped: stopped by a visitor. lost:
the worker died or did not answer. failed: cannot continue."""
Wished = Literal["run", "pause", "stop"]
LOST = ("worker_died", "worker_silent")


@dataclass(slots=True)
class Watcher:
    """A visitor who requested or views a job. desired_state: of this visitor; "stop": has left the job. last_seen: time of the last
    view."""

    wish: Wished
    seen: float
    asked: bool = False


@dataclass(slots=True, eq=False)
class RunRecord:
    """One run of a job. `saved_state` is the latest; a run that will not continue keeps only its weights."""

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
    seconds: float = 0.0  # total time of the steps
    taken: int = 0  # steps computed, repeated ones included
    predicted: float | None = None  # seconds of a step, predicted from its operations
    state: Stored | None = None
    weights: bytes | None = None
    stopped: Stopped | None = None
    starts: int = 0
    nbytes: int = 0  # of history, state and weights; see `update_nbytes`

    def take(self, parcel: Parcel) -> None:
        """Apply an update from a worker. Steps repeated from an older state have the same numbers and are recorded once."""
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
        """Create the history, with the held-out metrics before the first step."""
        if self.moments is None:
            self.moments = Moments(self.recipe, parts, self.most, self.most_bytes)
        if held_out is not None and not self.moments.held_out.seen:
            self.moments.held_out.add(0, held_out)

    def _hear(self, event: Event) -> None:
        """Record an event."""
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
        """Keep only the weights of the saved state, because the run will not continue."""
        if self.state is not None and self.state.tensors:  # may be called twice before the worker has stopped
            weights = {n.partition(".")[2]: x for n, x in read_tensors(self.state.tensors).items() if n.startswith("weights.")}
            self.weights, self.state = to_bytes(weights), Stored(self.state.step, b"", "")
            self.weigh()

    @property
    def done(self) -> int:
        """The step of the saved state, from which the run resumes."""
        return 0 if self.state is None else self.state.step

    def weigh(self) -> None:
        """Recompute `nbytes`."""
        moments = 0 if self.moments is None else self.moments.nbytes
        self.nbytes = moments + (0 if self.state is None else self.state.nbytes) + len(self.weights or b"")

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights of the last saved step in float32; empty before there is one."""
        if self.weights is not None:
            return read_tensors(self.weights)
        found = {} if self.state is None else read_tensors(self.state.tensors)
        return {name.partition(".")[2]: x for name, x in found.items() if name.startswith("weights.")}

    def result(self) -> Result | None:
        """Return the held-out results, or None if the run has not stopped."""
        return None if self.stopped is None else result(self.arm, self.seed, self.held_out)


@dataclass(slots=True, eq=False)
class Job:
    """A single run or the runs of an experiment, requested by visitors. Access it only while holding the lock of the `JobQueue`.

    Each watching visitor has a desired state. The job runs while at least one of them wants it to run and it is not on hold; it is
    stopped once all have left it.
    """

    number: str
    device: str
    runs: tuple[RunRecord, ...]
    experiment: Experiment | None
    watchers: dict[str, Watcher] = field(default_factory=dict)  # by visitor
    turn: int = 0  # position in the order of requests for a worker
    held: bool = False  # on hold until resumed: after a single step or an error, or when unwatched
    unwatched: bool = False  # whether it is on hold because no visitor viewed it
    single: bool = False  # whether it pauses after the next step
    problem: Problem | None = None
    flying: set[int] = field(default_factory=set)  # indices of the runs on a worker
    opened: set[int] = field(default_factory=set)  # those of them that have started there

    @property
    def asked(self) -> Recipe | Experiment:
        """The recipe or experiment that the job trains."""
        return self.runs[0].recipe if self.experiment is None else self.experiment

    @property
    def wished(self) -> Wished:
        """The desired state of all watchers combined."""
        wishes = {watcher.wish for watcher in self.watchers.values()}
        if "run" in wishes:
            return "pause" if self.held else "run"
        return "pause" if "pause" in wishes else "stop"

    def watch(self, visitor: str, now: float, wish: Wished | None = None) -> Watcher:
        """Record a view by a visitor, with a new desired state if given. Without one, the visitor's earlier one stays; a new
        visitor takes that of the others."""
        watcher = self.watchers.setdefault(visitor, Watcher(self.wished, now))
        watcher.seen, watcher.wish = now, wish or watcher.wish
        return watcher

    @property
    def state(self) -> State:
        """The state of the job."""
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
        """Whether the job will never continue."""
        return self.state in ("done", "stopped")

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of all runs."""
        return sum(run.nbytes for run in self.runs)

    def pending(self) -> Iterator[int]:
        """Yield the indices of the runs that can start now, in order; only the first for a single step."""
        unfinished = [i for i, run in enumerate(self.runs) if run.stopped is None]
        for i in unfinished[:1] if self.single else unfinished:
            if i not in self.flying:
                yield i


@dataclass(frozen=True, slots=True)
class RunLook:
    """A run as a page shows it. current_step: steps taken; saved_step: the step from which it would resume. steps_taken: steps
    computed in `seconds`, repeated ones included. n_starts: how often a worker has started it."""

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
    """A job as a page shows it.

    queue_position: 1 for the next in the queue, None if not queued. starts_in: estimated seconds until it starts. desired_state: of
    all watchers combined; own_desired_state: of the viewing visitor. n_others: number of other visitors who watch it and have not
    left it.
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
        """Whether the job runs for others after this visitor has paused or left it."""
        return self.state in ("waiting", "starting", "running") and self.wished == "run" != self.wish

    @property
    def share(self) -> float:
        """Fraction of steps taken, 0 to 1; a run that has stopped counts as complete."""
        shares = [1.0 if run.stopped is not None else run.done / run.steps for run in self.runs]
        return math.fsum(shares) / len(shares)


def look(job: Job, place: int | None, begins: float | None = None, wish: Wished | None = None, others: int = 0) -> Look:
    """Return the view of a job for a visitor with this desired state; None: the combined one."""
    runs = tuple(_run_look(run) for run in job.runs)
    return Look(job.number, job.state, job.wished, wish or job.wished, others, place, begins, job.unwatched, job.problem, runs)


def _run_look(run: RunRecord) -> RunLook:
    done = run.done if run.last is None else max(run.done, run.last.step)
    return RunLook(run.arm, run.seed, run.recipe.steps, done, run.done, run.last, run.stopped, run.initial_hash, run.seconds,
                   run.taken, run.starts, run.device)
