"""How many trainings a server carries out at once, and when one that waits will begin."""

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from viz_core.jobs.job import Job, RunRecord
from viz_core.learning.cost import Speed, seconds

QUOTA = Path("/sys/fs/cgroup/cpu.max")  # of a container: microseconds that it may use of each period, "max 100000" without a limit


def cores() -> int:
    """Of the machine, as far as this process may use them: those that it may run on, and the share of a container."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, __, period = QUOTA.read_text().strip().partition(" ") if QUOTA.exists() else ("max", "", "")
    return max(1, min(found, int(quota) // int(period))) if quota.isdigit() else found


def processes() -> int:
    """That train beside the server: one core stays for the visitors, where there is more than one."""
    return max(1, cores() - 1)


def begins(
    queue: Iterable[Job], known: Iterable[Job], places: int, speed: Mapping[str, Speed], overhead: float
) -> dict[str, float]:
    """Seconds from now until each job of the queue that waits will begin, by its number.

    Each run goes to the place that is free first, in the order of the queue. A step takes as long as those of the same run did; of
    a run without any, as its operations take at the `speed` of its device, times what the steps of all `known` jobs took of that.
    overhead: seconds of a run beside its steps.
    """
    slower = _slower(known, speed)
    jobs = list(queue)
    free = [left(job, i, speed, slower) for job in jobs for i in job.flying]
    free += [0.0] * (places - len(free))
    if not free:
        return {}  # no worker is known that could take one
    heapq.heapify(free)
    found: dict[str, float] = {}
    for job in jobs:
        for i in job.pending():
            start = free[0]
            found.setdefault(job.number, start)
            heapq.heapreplace(free, start + overhead + left(job, i, speed, slower))
    return {job.number: found[job.number] for job in jobs if job.state == "waiting" and job.number in found}


def left(job: Job, index: int, speed: Mapping[str, Speed], slower: float) -> float:
    """Seconds of the steps that a run of a job has before it."""
    run = job.runs[index]
    done = run.done if run.last is None else max(run.done, run.last.step)
    step = run.seconds / run.taken if run.taken else slower * predicted(run, speed[job.device])
    return step * (1 if job.single else run.recipe.steps - done)


def predicted(run: RunRecord, speed: Speed) -> float:
    """Seconds of a step by its operations."""
    if run.predicted is None:
        run.predicted = seconds(run.recipe, speed) / run.recipe.steps
    return run.predicted


def _slower(known: Iterable[Job], speed: Mapping[str, Speed]) -> float:
    """How many times as long as predicted the steps took that were taken here; 1 before the first."""
    def runs() -> Iterator[tuple[float, float]]:
        for job in known:
            for run in job.runs:
                if run.taken and job.device in speed:
                    yield run.seconds, run.taken * predicted(run, speed[job.device])

    took, due = (sum(column) for column in zip((0.0, 0.0), *runs(), strict=True))
    return took / due if due else 1.0
