"""How many runs train at once, and estimated start times of queued jobs."""

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from viz_core.jobs.job import Job, RunRecord
from viz_core.learning.cost import Speed, seconds

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # container limit: "<quota> <period>" in microseconds, "max 100000" if unlimited


def cores() -> int:
    """Return the number of cores this process may use: its CPU affinity, limited by the container's quota."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, __, period = QUOTA.read_text().strip().partition(" ") if QUOTA.exists() else ("max", "", "")
    return max(1, min(found, int(quota) // int(period))) if quota.isdigit() else found


def processes() -> int:
    """Return the number of local worker processes: one core stays free for visitors if there are several."""
    return max(1, cores() - 1)


def begins(
    queue: Iterable[Job], known: Iterable[Job], places: int, speed: Mapping[str, Speed], overhead: float
) -> dict[str, float]:
    """Return the estimated seconds until each queued job starts, by job id.

    Each run is placed in the slot that becomes free first, in queue order. A step is expected to take as long as the run's earlier
    steps. For a run without any, its operations at the device's speed are multiplied by the ratio of actual to predicted time over
    `all_jobs`. overhead: seconds of a run besides its steps.
    """
    slower = _slower(known, speed)
    jobs = list(queue)
    free = [left(job, i, speed, slower) for job in jobs for i in job.flying]
    free += [0.0] * (places - len(free))
    if not free:
        return {}  # no worker is known
    heapq.heapify(free)
    starts: dict[str, float] = {}
    for job in jobs:
        for i in job.pending():
            start = free[0]
            starts.setdefault(job.number, start)
            heapq.heapreplace(free, start + overhead + left(job, i, speed, slower))
    return {job.number: starts[job.number] for job in jobs if job.state == "waiting" and job.number in starts}


def left(job: Job, index: int, speed: Mapping[str, Speed], slower: float) -> float:
    """Return the expected seconds of the remaining steps of a run."""
    run = job.runs[index]
    done = run.done if run.last is None else max(run.done, run.last.step)
    step = run.seconds / run.taken if run.taken else slower * predicted(run, speed[job.device])
    return step * (1 if job.single else run.recipe.steps - done)


def predicted(run: RunRecord, speed: Speed) -> float:
    """Return the predicted seconds of a step, from its operations."""
    if run.predicted is None:
        run.predicted = seconds(run.recipe, speed) / run.recipe.steps
    return run.predicted


def _slower(known: Iterable[Job], speed: Mapping[str, Speed]) -> float:
    """Return the ratio of actual to predicted step time over all steps taken here; 1 before the first."""
    def runs() -> Iterator[tuple[float, float]]:
        for job in known:
            for run in job.runs:
                if run.taken and job.device in speed:
                    yield run.seconds, run.taken * predicted(run, speed[job.device])

    actual, expected = (sum(column) for column in zip((0.0, 0.0), *runs(), strict=True))
    return actual / expected if expected else 1.0
