"""Training jobs and their runs as the server keeps them, and the views of them that pages show."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from safetensors.torch import load as read_tensors
from safetensors.torch import save as to_bytes
from torch import Tensor

from viz_core.config.limits import MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS
from viz_core.messages.errors import UserError
from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.results import RunResult, summarize_run
from viz_core.training.interactive.run_history import RunHistory, Snapshot
from viz_core.training.interactive.training_run import StepEvent, StopReason
from viz_core.training.jobs.protocol import ProgressUpdate, SavedState

JobState = Literal["waiting", "starting", "running", "paused", "done", "stopped", "lost", "failed"]
"""waiting: queued. starting: a worker is getting ready. done: every run has stopped by itself. stopped: stopped by a visitor. lost:
the worker died or did not answer. failed: cannot continue."""
DesiredState = Literal["run", "pause", "stop"]
LOST_CODES = ("worker_died", "worker_silent")


@dataclass(slots=True)
class Watcher:
    """A visitor who requested or views a job. desired_state: of this visitor; "stop": has left the job. last_seen: time of the last
    view."""

    desired_state: DesiredState
    last_seen: float
    has_requested: bool = False


@dataclass(slots=True, eq=False)
class RunRecord:
    """One run of a job. `saved_state` is the latest; a run that will not continue keeps only its weights."""

    condition: int
    seed: int
    recipe: Recipe
    max_snapshots: int = MAX_SNAPSHOTS
    max_bytes: int = MAX_SNAPSHOT_BYTES
    history: RunHistory | None = None
    initial_hash: str | None = None
    device: str | None = None
    held_out_events: list[StepEvent] = field(default_factory=list)
    last_event: StepEvent | None = None
    seconds: float = 0.0  # total time of the steps
    steps_taken: int = 0  # steps computed, repeated ones included
    predicted_step_seconds: float | None = None  # seconds of a step, predicted from its operations
    saved_state: SavedState | None = None
    weights_bytes: bytes | None = None
    stopped: StopReason | None = None
    n_starts: int = 0
    nbytes: int = 0  # of history, state and weights; see `update_nbytes`

    def apply_update(self, update: ProgressUpdate) -> None:
        """Apply an update from a worker. Steps repeated from an older state have the same numbers and are recorded once."""
        if update.run_start is not None:
            self._start_history(update.run_start.parts, update.run_start.held_out_metrics)
            self.initial_hash, self.device = update.run_start.initial_hash, update.run_start.device
        for event in update.events:
            self._record_event(event)
        for snapshot in update.snapshots:
            assert self.history is not None
            self.history.add_snapshot(Snapshot.from_bytes(snapshot))
        if update.saved_state is not None:
            self.saved_state = update.saved_state
        if self.stopped is not None and update.end_reason == "stopped":
            self.keep_weights_only()
        self.update_nbytes()

    def _start_history(self, parts: tuple[str, ...], held_out: tuple[float, float] | None) -> None:
        """Create the history, with the held-out metrics before the first step."""
        if self.history is None:
            self.history = RunHistory(self.recipe, parts, self.max_snapshots, self.max_bytes)
        if held_out is not None and not self.history.held_out_metrics.n_added:
            self.history.held_out_metrics.add(0, held_out)

    def _record_event(self, event: StepEvent) -> None:
        """Record an event."""
        self.seconds, self.steps_taken = self.seconds + event.seconds, self.steps_taken + 1
        if event.stopped is not None:
            self.stopped = event.stopped
        if self.history is None or event.step <= self.history.training_metrics.n_added:
            return
        self.history.record_metrics(event)
        self.last_event = event
        if event.held_out_loss is not None or event.stopped is not None:
            self.held_out_events.append(event)

    def keep_weights_only(self) -> None:
        """Keep only the weights of the saved state, because the run will not continue."""
        if self.saved_state is not None and self.saved_state.tensors:  # may be called twice before the worker has stopped
            weights = {
                n.partition(".")[2]: x for n, x in read_tensors(self.saved_state.tensors).items() if n.startswith("weights.")
            }
            self.weights_bytes, self.saved_state = to_bytes(weights), SavedState(self.saved_state.step, b"", "")
            self.update_nbytes()

    @property
    def saved_step(self) -> int:
        """The step of the saved state, from which the run resumes."""
        return 0 if self.saved_state is None else self.saved_state.step

    def update_nbytes(self) -> None:
        """Recompute `nbytes`."""
        history_bytes = 0 if self.history is None else self.history.nbytes
        self.nbytes = history_bytes + (0 if self.saved_state is None else self.saved_state.nbytes) + len(self.weights_bytes or b"")

    def load_weights(self) -> dict[str, Tensor]:
        """Return the weights of the last saved step in float32; empty before there is one."""
        if self.weights_bytes is not None:
            return read_tensors(self.weights_bytes)
        found = {} if self.saved_state is None else read_tensors(self.saved_state.tensors)
        return {name.partition(".")[2]: x for name, x in found.items() if name.startswith("weights.")}

    def result(self) -> RunResult | None:
        """Return the held-out results, or None if the run has not stopped."""
        return None if self.stopped is None else summarize_run(self.condition, self.seed, self.held_out_events)


@dataclass(slots=True, eq=False)
class TrainingJob:
    """A single run or the runs of an experiment, requested by visitors. Access it only while holding the lock of the `JobQueue`.

    Each watching visitor has a desired state. The job runs while at least one of them wants it to run and it is not on hold; it is
    stopped once all have left it.
    """

    job_id: str
    device: str
    runs: tuple[RunRecord, ...]
    experiment: Experiment | None
    watchers: dict[str, Watcher] = field(default_factory=dict)  # by visitor
    queue_order: int = 0  # position in the order of requests for a worker
    is_held: bool = False  # on hold until resumed: after a single step or an error, or when unwatched
    is_unwatched: bool = False  # whether it is on hold because no visitor viewed it
    is_single_step: bool = False  # whether it pauses after the next step
    error: UserError | None = None
    active_runs: set[int] = field(default_factory=set)  # indices of the runs on a worker
    started_runs: set[int] = field(default_factory=set)  # those of them that have started there

    @property
    def request(self) -> Recipe | Experiment:
        """The recipe or experiment that the job trains."""
        return self.runs[0].recipe if self.experiment is None else self.experiment

    @property
    def desired_state(self) -> DesiredState:
        """The desired state of all watchers combined."""
        wishes = {watcher.desired_state for watcher in self.watchers.values()}
        if "run" in wishes:
            return "pause" if self.is_held else "run"
        return "pause" if "pause" in wishes else "stop"

    def watch(self, visitor: str, now: float, desired_state: DesiredState | None = None) -> Watcher:
        """Record a view by a visitor, with a new desired state if given. Without one, the visitor's earlier one stays; a new
        visitor takes that of the others."""
        watcher = self.watchers.setdefault(visitor, Watcher(self.desired_state, now))
        watcher.last_seen, watcher.desired_state = now, desired_state or watcher.desired_state
        return watcher

    @property
    def state(self) -> JobState:
        """The state of the job."""
        if self.active_runs:
            return "running" if self.started_runs else "starting"
        if all(run.stopped is not None for run in self.runs):
            return "done"
        if self.desired_state == "stop":
            return "stopped"
        if self.error is not None:
            return "lost" if self.error.code in LOST_CODES else "failed"
        return "waiting" if self.desired_state == "run" else "paused"

    @property
    def is_over(self) -> bool:
        """Whether the job will never continue."""
        return self.state in ("done", "stopped")

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of all runs."""
        return sum(run.nbytes for run in self.runs)

    def pending_runs(self) -> Iterator[int]:
        """Yield the indices of the runs that can start now, in order; only the first for a single step."""
        unfinished = [i for i, run in enumerate(self.runs) if run.stopped is None]
        for i in unfinished[:1] if self.is_single_step else unfinished:
            if i not in self.active_runs:
                yield i


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as a page shows it. current_step: the last step so far; saved_step: the step from which it would resume. steps_taken:
    steps computed in `seconds`, repeated ones included. n_starts: how often a worker has started it."""

    condition: int
    seed: int
    steps: int
    current_step: int
    saved_step: int
    last_event: StepEvent | None
    stopped: StopReason | None
    initial_hash: str | None
    seconds: float
    steps_taken: int
    n_starts: int
    device: str | None = None


@dataclass(frozen=True, slots=True)
class JobView:
    """A job as a page shows it.

    queue_position: 1 for the next in the queue, None if not queued. starts_in: estimated seconds until it starts. desired_state: of
    all watchers combined; own_desired_state: of the viewing visitor. n_others: number of other visitors who watch it and have not
    left it.
    """

    job_id: str
    state: JobState
    desired_state: DesiredState
    own_desired_state: DesiredState
    n_others: int
    queue_position: int | None
    starts_in: float | None
    is_unwatched: bool
    error: UserError | None
    runs: tuple[RunView, ...]

    @property
    def is_running_for_others(self) -> bool:
        """Whether the job runs for others after this visitor has paused or left it."""
        return self.state in ("waiting", "starting", "running") and self.desired_state == "run" != self.own_desired_state

    @property
    def progress(self) -> float:
        """Fraction of steps taken, 0 to 1; a run that has stopped counts as complete."""
        shares = [1.0 if run.stopped is not None else run.current_step / run.steps for run in self.runs]
        return math.fsum(shares) / len(shares)


def make_job_view(
    job: TrainingJob,
    queue_position: int | None,
    starts_in: float | None = None,
    own_desired_state: DesiredState | None = None,
    n_others: int = 0,
) -> JobView:
    """Return the view of a job for a visitor with this desired state; None: the combined one."""
    runs = tuple(_make_run_view(run) for run in job.runs)
    return JobView(
        job.job_id,
        job.state,
        job.desired_state,
        own_desired_state or job.desired_state,
        n_others,
        queue_position,
        starts_in,
        job.is_unwatched,
        job.error,
        runs,
    )


def _make_run_view(run: RunRecord) -> RunView:
    done = run.saved_step if run.last_event is None else max(run.saved_step, run.last_event.step)
    return RunView(
        run.condition,
        run.seed,
        run.recipe.steps,
        done,
        run.saved_step,
        run.last_event,
        run.stopped,
        run.initial_hash,
        run.seconds,
        run.steps_taken,
        run.n_starts,
        run.device,
    )
