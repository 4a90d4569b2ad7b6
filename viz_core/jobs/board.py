"""All jobs of a server: their queue, and a bound on the memory they take. The oldest jobs are evicted first."""

import statistics
import threading
import uuid
from collections import deque
from collections.abc import Callable
from itertools import count

from viz_core.jobs.job import Job, Look, RunRecord, look
from viz_core.jobs.waiting import begins, processes
from viz_core.learning.arms import Experiment
from viz_core.learning.cost import Speed, calibrated, n_parameters, operations, refuse_too_large
from viz_core.learning.recipe import Recipe
from viz_core.limits import (
    MAX_JOB_BYTES,
    MAX_JOBS,
    MAX_MOMENT_BYTES,
    MAX_MOMENTS,
    MAX_OWN_JOBS,
    MAX_TRAINING_OPERATIONS,
    MAX_WAITING_JOBS,
)
from viz_core.problems import Problem

ACTIVE = ("waiting", "starting", "running")
LEAST = 8  # bytes per parameter of a stopped run: its weights, and two snapshots in half precision


class Board:
    """The jobs and the queue. Every method takes the lock; code that changes a returned job has to hold the lock."""

    def __init__(self, most_bytes: int = MAX_JOB_BYTES) -> None:
        self.lock = threading.RLock()
        self.most_bytes = most_bytes
        self._jobs: dict[str, Job] = {}  # the oldest first
        self._turns = count(1)
        self.places = processes()  # runs that can train at once
        self.overheads: deque[float] = deque(maxlen=15)  # seconds besides the steps, of the latest attempts

    # --- Jobs ---------------------------------------------------------------------------------------------------------
    def add(self, asked: Recipe | Experiment, owner: str, device: str, now: float) -> Job:
        """Return the job that trains this request: an equal one that is queued or running, now also watched by the visitor, or a
        new one at the end of the queue. Raises `UserError` if it is too large or too many jobs are queued."""
        runs = _records(asked)
        _refuse(runs)
        with self.lock:
            queue = self.queue()
            if (same := next((job for job in queue if job.asked == asked and job.device == device), None)) is not None:
                same.watch(owner, now, "run").asked, same.single = True, False
                return same
            if len(queue) >= MAX_WAITING_JOBS:
                raise Problem(f"{len(queue)} training jobs are already queued; try again later.", "jobs_waiting", count=len(queue))
            own_jobs = [job for job in queue if (w := job.watchers.get(owner)) is not None and w.asked and w.wish == "run"]
            if len(own_jobs) >= MAX_OWN_JOBS:
                raise Problem(f"you already have {len(own_jobs)} training jobs queued or running; stop one first.", "own_jobs",
                              count=len(own_jobs))
            job = Job(uuid.uuid4().hex, device, runs, asked if isinstance(asked, Experiment) else None)
            job.watch(owner, now, "run").asked = True
            self._jobs[job.number] = job
            self.queue_up(job)
            self.shrink()
            return job

    def find(self, number: str) -> Job | None:
        """Return the job with this id, or None."""
        with self.lock:
            return self._jobs.get(number)

    def all(self) -> tuple[Job, ...]:
        """Return all jobs, the oldest first."""
        with self.lock:
            return tuple(self._jobs.values())

    def look(self, job: Job, visitor: str | None = None, there: Callable[[str], bool] = lambda name: True) -> Look:
        """Return the view of a job for a page. is_present: whether a visitor still counts as watching."""
        speed = {device: calibrated(device) for device in self._devices()} if job.state == "waiting" else {}
        with self.lock:
            queue = self.queue()
            waiting = [one for one in queue if one.state == "waiting"]
            place = waiting.index(job) + 1 if job in waiting else None
            own = job.watchers[visitor].wish if visitor in job.watchers else None
            others = sum(name != visitor and watcher.wish != "stop" and there(name) for name, watcher in job.watchers.items())
            return look(job, place, self._begins(queue, speed).get(job.number) if place else None, own, others)

    def _devices(self) -> set[str]:
        with self.lock:
            return {job.device for job in self.queue()}

    def _begins(self, queue: list[Job], speed: dict[str, Speed]) -> dict[str, float]:
        """Return the estimated seconds until each queued job starts."""
        if not {job.device for job in queue} <= speed.keys():
            return {}  # a job with another device was added meanwhile; the next view has the estimate
        overhead = statistics.median(self.overheads) if self.overheads else 0.0
        return begins(queue, self._jobs.values(), self.places, speed, overhead)

    # --- The queue ----------------------------------------------------------------------------------------------------
    def queue(self) -> list[Job]:
        """Return the jobs that are to run, including running ones, in the order in which they were queued."""
        with self.lock:
            wanted = [job for job in self._jobs.values() if job.wished == "run" and job.state in ACTIVE]
            return sorted(wanted, key=lambda job: job.turn)

    def queue_up(self, job: Job) -> None:
        """Move a job to the end of the queue."""
        with self.lock:
            job.turn = next(self._turns)

    # --- The bound ----------------------------------------------------------------------------------------------------
    def shrink(self) -> None:
        """Evict the oldest jobs that are neither queued nor running until the rest fits; then drop snapshots of the largest run."""
        with self.lock:
            for job in list(self._jobs.values()):
                if self.nbytes <= self.most_bytes and len(self._jobs) <= MAX_JOBS:
                    return
                if job.state not in ACTIVE:
                    del self._jobs[job.number]
            if self.nbytes > self.most_bytes:
                self._thin()

    def _thin(self) -> None:
        """Reduce the history of the largest run to half its size."""
        largest = max((run for job in self._jobs.values() for run in job.runs), key=lambda run: run.nbytes)
        if largest.moments is not None:
            largest.moments.most_bytes = largest.moments.nbytes // 2
            largest.moments.keep(largest.moments.at(largest.moments.steps[-1]))
            largest.weigh()

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of all jobs."""
        return sum(job.nbytes for job in self._jobs.values())


def _records(asked: Recipe | Experiment) -> tuple[RunRecord, ...]:
    """Return the runs of a request; those of an experiment share the memory limit of one run."""
    if isinstance(asked, Recipe):
        return (RunRecord(0, asked.seed, asked),)
    runs = asked.runs()
    most, most_bytes = max(2, MAX_MOMENTS // len(runs)), MAX_MOMENT_BYTES // len(runs)
    return tuple(RunRecord(arm, seed, recipe, most, most_bytes) for arm, seed, recipe in runs)


def _refuse(runs: tuple[RunRecord, ...]) -> None:
    """Raise `UserError` if one of the runs, or all of them together, exceed a limit."""
    for run in runs:
        refuse_too_large(run.recipe)
    work = sum(operations(run.recipe) * run.recipe.steps for run in runs)
    if work > MAX_TRAINING_OPERATIONS:
        raise Problem(f"the runs would take {work:.1e} operations and the limit is {MAX_TRAINING_OPERATIONS:.1e}; lower the steps, "
                      "the batch, the length or the model sizes.", "training_operations", count=work, limit=MAX_TRAINING_OPERATIONS)
    size = LEAST * sum(n_parameters(run.recipe.config) for run in runs)
    if size > MAX_JOB_BYTES:
        raise Problem(f"the weights and snapshots of the runs would take {size:,} bytes and the limit is {MAX_JOB_BYTES:,}; lower "
                      "the model sizes or the number of seeds.", "training_bytes", size_bytes=size, limit_bytes=MAX_JOB_BYTES)
