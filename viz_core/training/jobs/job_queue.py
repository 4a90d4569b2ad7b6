"""All jobs of a server: their queue, and a bound on the memory they take. The oldest jobs are evicted first."""

import statistics
import threading
import uuid
from collections import deque
from collections.abc import Callable
from itertools import count

from viz_core.config.limits import (
    MAX_JOB_BYTES,
    MAX_JOBS,
    MAX_JOBS_PER_VISITOR,
    MAX_SNAPSHOT_BYTES,
    MAX_SNAPSHOTS,
    MAX_TRAINING_OPERATIONS,
    MAX_WAITING_JOBS,
    megabytes,
)
from viz_core.messages.errors import UserError
from viz_core.training.interactive.cost import DeviceSpeed, check_training_size, flops_per_step, measure_speed, n_parameters
from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.jobs.capacity import estimate_starts, n_local_workers
from viz_core.training.jobs.job import JobView, RunRecord, TrainingJob, make_job_view

ACTIVE_STATES = ("waiting", "starting", "running")
MIN_BYTES_PER_PARAMETER = 8  # bytes per parameter of a stopped run: its weights, and two snapshots in half precision


class JobQueue:
    """The jobs and the queue. Public methods take the lock; code that changes a returned job has to hold it."""

    def __init__(self, max_bytes: int = MAX_JOB_BYTES) -> None:
        self.lock = threading.RLock()
        self.max_bytes = max_bytes
        self._jobs: dict[str, TrainingJob] = {}  # the oldest first
        self._order_counter = count(1)
        self.n_slots = n_local_workers()  # runs that can train at once
        self.overheads: deque[float] = deque(maxlen=15)  # seconds besides the steps, of the latest attempts

    # --- Jobs ---------------------------------------------------------------------------------------------------------
    def submit(self, request: Recipe | Experiment, visitor: str, device: str, now: float) -> TrainingJob:
        """Return the job that trains this request: an equal one that is queued or running, now also watched by the visitor, or a
        new one at the end of the queue. Raises `UserError` if it is too large or too many jobs are queued."""
        runs = _make_run_records(request)
        _check_size(runs)
        with self.lock:
            queue = self.active_jobs()
            if (same := next((job for job in queue if job.request == request and job.device == device), None)) is not None:
                same.watch(visitor, now, "run").has_requested, same.is_single_step = True, False
                return same
            if len(queue) >= MAX_WAITING_JOBS:
                raise UserError("jobs_waiting", count=len(queue))
            own_jobs = [
                job
                for job in queue
                if (w := job.watchers.get(visitor)) is not None and w.has_requested and w.desired_state == "run"
            ]
            if len(own_jobs) >= MAX_JOBS_PER_VISITOR:
                raise UserError("own_jobs", count=len(own_jobs))
            job = TrainingJob(uuid.uuid4().hex, device, runs, request if isinstance(request, Experiment) else None)
            job.watch(visitor, now, "run").has_requested = True
            self._jobs[job.job_id] = job
            self.enqueue(job)
            self.evict()
            return job

    def find(self, job_id: str) -> TrainingJob | None:
        """Return the job with this id, or None."""
        with self.lock:
            return self._jobs.get(job_id)

    def all_jobs(self) -> tuple[TrainingJob, ...]:
        """Return all jobs, the oldest first."""
        with self.lock:
            return tuple(self._jobs.values())

    def view(self, job: TrainingJob, visitor: str | None = None, is_present: Callable[[str], bool] = lambda name: True) -> JobView:
        """Return the view of a job for a page. is_present: whether a visitor still counts as watching."""
        speed = {device: measure_speed(device) for device in self._devices()} if job.state == "waiting" else {}
        with self.lock:
            queue = self.active_jobs()
            waiting = [one for one in queue if one.state == "waiting"]
            place = waiting.index(job) + 1 if job in waiting else None
            own = job.watchers[visitor].desired_state if visitor in job.watchers else None
            others = sum(
                name != visitor and watcher.desired_state != "stop" and is_present(name) for name, watcher in job.watchers.items()
            )
            return make_job_view(job, place, self._estimate_starts(queue, speed).get(job.job_id) if place else None, own, others)

    def _devices(self) -> set[str]:
        with self.lock:
            return {job.device for job in self.active_jobs()}

    def _estimate_starts(self, active_jobs: list[TrainingJob], speeds: dict[str, DeviceSpeed]) -> dict[str, float]:
        """Return the estimated seconds until each queued job starts."""
        if not {job.device for job in active_jobs} <= speeds.keys():
            return {}  # a job with another device was added meanwhile; the next view has the estimate
        overhead = statistics.median(self.overheads) if self.overheads else 0.0
        return estimate_starts(active_jobs, self._jobs.values(), self.n_slots, speeds, overhead)

    # --- The queue ----------------------------------------------------------------------------------------------------
    def active_jobs(self) -> list[TrainingJob]:
        """Return the jobs that are to run, including running ones, in the order in which they were queued."""
        with self.lock:
            wanted = [job for job in self._jobs.values() if job.desired_state == "run" and job.state in ACTIVE_STATES]
            return sorted(wanted, key=lambda job: job.queue_order)

    def enqueue(self, job: TrainingJob) -> None:
        """Move a job to the end of the queue."""
        with self.lock:
            job.queue_order = next(self._order_counter)

    # --- The bound ----------------------------------------------------------------------------------------------------
    def evict(self) -> None:
        """Evict the oldest jobs that are neither queued nor running until the rest fits; then drop snapshots of the largest run."""
        with self.lock:
            for job in list(self._jobs.values()):
                if self.nbytes <= self.max_bytes and len(self._jobs) <= MAX_JOBS:
                    return
                if job.state not in ACTIVE_STATES:
                    del self._jobs[job.job_id]
            if self.nbytes > self.max_bytes:
                self._halve_largest_history()

    def _halve_largest_history(self) -> None:
        """Reduce the history of the largest run to half its size."""
        largest = max((run for job in self._jobs.values() for run in job.runs), key=lambda run: run.nbytes)
        if largest.history is not None:
            largest.history.max_bytes = largest.history.nbytes // 2
            largest.history.add_snapshot(largest.history.nearest(largest.history.snapshot_steps[-1]))
            largest.update_nbytes()

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of all jobs."""
        return sum(job.nbytes for job in self._jobs.values())


def _make_run_records(request: Recipe | Experiment) -> tuple[RunRecord, ...]:
    """Return the runs of a request; those of an experiment share the memory limit of one run."""
    if isinstance(request, Recipe):
        return (RunRecord(0, request.seed, request),)
    runs = request.runs()
    most, most_bytes = max(2, MAX_SNAPSHOTS // len(runs)), MAX_SNAPSHOT_BYTES // len(runs)
    return tuple(RunRecord(condition, seed, recipe, most, most_bytes) for condition, seed, recipe in runs)


def _check_size(runs: tuple[RunRecord, ...]) -> None:
    """Raise `UserError` if one of the runs, or all of them together, exceed a limit."""
    for run in runs:
        check_training_size(run.recipe)
    work = sum(flops_per_step(run.recipe) * run.recipe.steps for run in runs)
    if work > MAX_TRAINING_OPERATIONS:
        raise UserError("training_operations", count=work, limit=MAX_TRAINING_OPERATIONS)
    size = MIN_BYTES_PER_PARAMETER * sum(n_parameters(run.recipe.config) for run in runs)
    if size > MAX_JOB_BYTES:
        raise UserError("training_bytes", size=megabytes(size), limit=megabytes(MAX_JOB_BYTES))
