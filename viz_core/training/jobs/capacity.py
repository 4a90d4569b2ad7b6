"""How many runs train at once, and estimated start times of queued jobs."""

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from viz_core.training.interactive.cost import DeviceSpeed, estimate_seconds
from viz_core.training.jobs.job import RunRecord, TrainingJob

CGROUP_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")  # container limit: "<quota> <period>" in microseconds, "max 100000" if unlimited


def available_cores() -> int:
    """Return the number of cores this process may use: its CPU affinity, limited by the container's quota."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, __, period = CGROUP_CPU_LIMIT.read_text().strip().partition(" ") if CGROUP_CPU_LIMIT.exists() else ("max", "", "")
    return max(1, min(found, int(quota) // int(period))) if quota.isdigit() else found


def n_local_workers() -> int:
    """Return the number of local worker processes: one core stays free for visitors if there are several."""
    return max(1, available_cores() - 1)


def estimate_starts(
    queue: Iterable[TrainingJob], all_jobs: Iterable[TrainingJob], n_slots: int, speeds: Mapping[str, DeviceSpeed], overhead: float
) -> dict[str, float]:
    """Return the estimated seconds until each queued job starts, by job id.

    Each run is placed in the slot that becomes free first, in queue order. A step is expected to take as long as the run's earlier
    steps. For a run without any, the time predicted from its operations is multiplied by the ratio of actual to predicted time
    over `all_jobs`. overhead: seconds of a run besides its steps.
    """
    slower = _measured_slowdown(all_jobs, speeds)
    jobs = list(queue)
    free = [remaining_seconds(job, i, speeds, slower) for job in jobs for i in job.active_runs]
    free += [0.0] * (n_slots - len(free))
    if not free:
        return {}  # no worker is known
    heapq.heapify(free)
    starts: dict[str, float] = {}
    for job in jobs:
        for i in job.pending_runs():
            start = free[0]
            starts.setdefault(job.job_id, start)
            heapq.heapreplace(free, start + overhead + remaining_seconds(job, i, speeds, slower))
    return {job.job_id: starts[job.job_id] for job in jobs if job.state == "waiting" and job.job_id in starts}


def remaining_seconds(job: TrainingJob, index: int, speeds: Mapping[str, DeviceSpeed], slowdown: float) -> float:
    """Return the expected seconds of the remaining steps of a run."""
    run = job.runs[index]
    done = run.saved_step if run.last_event is None else max(run.saved_step, run.last_event.step)
    step = run.seconds / run.steps_taken if run.steps_taken else slowdown * predict_step_seconds(run, speeds[job.device])
    return step * (1 if job.is_single_step else run.recipe.steps - done)


def predict_step_seconds(run: RunRecord, speed: DeviceSpeed) -> float:
    """Return the predicted seconds of a step, from its operations."""
    if run.predicted_step_seconds is None:
        run.predicted_step_seconds = estimate_seconds(run.recipe, speed) / run.recipe.steps
    return run.predicted_step_seconds


def _measured_slowdown(all_jobs: Iterable[TrainingJob], speeds: Mapping[str, DeviceSpeed]) -> float:
    """Return the ratio of actual to predicted step time over all steps taken here; 1 before the first."""
    def runs() -> Iterator[tuple[float, float]]:
        for job in all_jobs:
            for run in job.runs:
                if run.steps_taken and job.device in speeds:
                    yield run.seconds, run.steps_taken * predict_step_seconds(run, speeds[job.device])

    actual, expected = (sum(column) for column in zip((0.0, 0.0), *runs(), strict=True))
    return actual / expected if expected else 1.0
