"""All jobs of a server: who is next, and a bound on what is kept of them. The oldest are forgotten first."""

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
LEAST = 8  # bytes for each parameter of a run that has stopped: its weights, and two moments in half precision


class Board:
    """Every method holds the lock; whoever changes a job that it was given holds it meanwhile."""

    def __init__(self, most_bytes: int = MAX_JOB_BYTES) -> None:
        self.lock = threading.RLock()
        self.most_bytes = most_bytes
        self._jobs: dict[str, Job] = {}  # the oldest first
        self._turns = count(1)
        self.places = processes()  # runs that are at workers at once
        self.overheads: deque[float] = deque(maxlen=15)  # seconds that the latest attempts took beside their steps

    # --- Jobs ---------------------------------------------------------------------------------------------------------
    def add(self, asked: Recipe | Experiment, owner: str, device: str, now: float) -> Job:
        """The job that trains this: one that waits or runs already, which all watch who asked for it; or a new one at the end of
        the queue. `Problem` if that is too large, or if there are too many before it."""
        runs = _records(asked)
        _refuse(runs)
        with self.lock:
            waiting = self.queue()
            if (same := next((job for job in waiting if job.asked == asked and job.device == device), None)) is not None:
                same.watch(owner, now, "run").asked, same.single = True, False
                return same
            if len(waiting) >= MAX_WAITING_JOBS:
                raise Problem(f"{len(waiting)} trainings wait for their turn; try again later.", "jobs_waiting", count=len(waiting))
            own = [job for job in waiting if (w := job.watchers.get(owner)) is not None and w.asked and w.wish == "run"]
            if len(own) >= MAX_OWN_JOBS:
                raise Problem(f"you have {len(own)} trainings that wait or run; stop one first.", "own_jobs", count=len(own))
            job = Job(uuid.uuid4().hex, device, runs, asked if isinstance(asked, Experiment) else None)
            job.watch(owner, now, "run").asked = True
            self._jobs[job.number] = job
            self.queue_up(job)
            self.shrink()
            return job

    def find(self, number: str) -> Job | None:
        with self.lock:
            return self._jobs.get(number)

    def all(self) -> tuple[Job, ...]:
        with self.lock:
            return tuple(self._jobs.values())

    def look(self, job: Job, visitor: str | None = None, there: Callable[[str], bool] = lambda name: True) -> Look:
        """The job as a page is shown it. there: whether a visitor is still to be counted among those who watch it."""
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
        """Seconds until each job that waits will begin."""
        if not {job.device for job in queue} <= speed.keys():
            return {}  # another has come meanwhile: said at the next look
        overhead = statistics.median(self.overheads) if self.overheads else 0.0
        return begins(queue, self._jobs.values(), self.places, speed, overhead)

    # --- The queue ----------------------------------------------------------------------------------------------------
    def queue(self) -> list[Job]:
        """The jobs that are to run, in the order in which they asked; those that do run are among them."""
        with self.lock:
            wanted = [job for job in self._jobs.values() if job.wished == "run" and job.state in ACTIVE]
            return sorted(wanted, key=lambda job: job.turn)

    def queue_up(self, job: Job) -> None:
        """At the end."""
        with self.lock:
            job.turn = next(self._turns)

    # --- The bound ----------------------------------------------------------------------------------------------------
    def shrink(self) -> None:
        """Forget the oldest jobs that no worker has and that do not wait, until the rest fits; then keep fewer moments."""
        with self.lock:
            for job in list(self._jobs.values()):
                if self.nbytes <= self.most_bytes and len(self._jobs) <= MAX_JOBS:
                    return
                if job.state not in ACTIVE:
                    del self._jobs[job.number]
            if self.nbytes > self.most_bytes:
                self._thin()

    def _thin(self) -> None:
        """The history of the largest run at half its size."""
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
    """The runs; those of an experiment share the room that one run has."""
    if isinstance(asked, Recipe):
        return (RunRecord(0, asked.seed, asked),)
    runs = asked.runs()
    most, most_bytes = max(2, MAX_MOMENTS // len(runs)), MAX_MOMENT_BYTES // len(runs)
    return tuple(RunRecord(arm, seed, recipe, most, most_bytes) for arm, seed, recipe in runs)


def _refuse(runs: tuple[RunRecord, ...]) -> None:
    """`Problem`, one sentence, for a job that is too large in one of its runs or in all of them together."""
    for run in runs:
        refuse_too_large(run.recipe)
    work = sum(operations(run.recipe) * run.recipe.steps for run in runs)
    if work > MAX_TRAINING_OPERATIONS:
        raise Problem(f"the runs would take {work:.1e} operations and the limit is {MAX_TRAINING_OPERATIONS:.1e}; lower the steps, "
                      "the batch, the length or the sizes.", "training_operations", count=work, limit=MAX_TRAINING_OPERATIONS)
    size = LEAST * sum(n_parameters(run.recipe.config) for run in runs)
    if size > MAX_JOB_BYTES:
        raise Problem(f"what is kept of the runs would take {size:,} bytes and the limit is {MAX_JOB_BYTES:,}; lower the sizes or "
                      "the number of seeds.", "training_bytes", size_bytes=size, limit_bytes=MAX_JOB_BYTES)
