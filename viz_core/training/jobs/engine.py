"""The interface to training jobs for pages. Nothing here waits for a worker: commands are recorded, and views show their effect."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from torch import Tensor

from viz_core.config.limits import MAX_JOB_BYTES, SCHEDULER_ENV
from viz_core.messages.errors import UserError
from viz_core.training.interactive.experiment import Experiment
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.results import RunResult
from viz_core.training.interactive.run_history import RunHistory
from viz_core.training.jobs.job import DesiredState, JobView, TrainingJob
from viz_core.training.jobs.job_queue import JobQueue
from viz_core.training.jobs.timeouts import Timeouts

if TYPE_CHECKING:
    from viz_core.training.jobs.dispatcher import Dispatcher


class Engine:
    """All training jobs of a server. scheduler: address of a cluster's scheduler; None: local worker processes."""

    def __init__(self, scheduler: str | None = None, timeouts: Timeouts | None = None, max_bytes: int = MAX_JOB_BYTES) -> None:
        self.scheduler, self.timeouts, self.queue = scheduler, timeouts or Timeouts(), JobQueue(max_bytes)
        self.is_present: Callable[[str], bool] = lambda visitor: True  # whether a visitor has the app open
        self._last_activity = time.monotonic()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._dispatcher: Dispatcher | None = None
        self._closed = False

    # --- Commands -----------------------------------------------------------------------------------------------------
    # Each sets one visitor's desired state (None: that of all watchers); the job follows the desired states of all its watchers.
    def submit(self, request_json: str, visitor: str, device: str = "cpu") -> str:
        """Queue a recipe or an experiment, given as JSON, and return its job id; equal requests that are queued or running share a
        job. Raises `UserError` if it cannot be trained."""
        job = self.queue.submit(_parse_request(request_json), visitor, device, time.monotonic())
        self._wake()
        return job.job_id

    def pause(self, job_id: str, visitor: str | None = None) -> None:
        """Pause after the current step once no visitor wants the job to run, which frees the worker. Has no effect unless the job
        runs or is queued."""
        with self._locked_job(job_id) as job:
            if job.desired_state == "run":
                self._set_desired_state(job, visitor, "pause")

    def resume(self, job_id: str, visitor: str | None = None) -> None:
        """Resume from the last saved step, at the end of the queue; or join a job that runs for others."""
        self._run_again(job_id, visitor, is_single_step=False)

    def run_single_step(self, job_id: str, visitor: str | None = None) -> None:
        """Take one step of the first run that has not stopped, then pause. Has no effect if the job runs for others."""
        self._run_again(job_id, visitor, is_single_step=True)

    def stop(self, job_id: str, visitor: str | None = None) -> None:
        """Leave the job. When the last visitor leaves, it stops for good after the current step; its weights are kept."""
        with self._locked_job(job_id) as job:
            if not job.is_over:
                self._set_desired_state(job, visitor, "stop")
                if job.desired_state == "stop":
                    for index, run in enumerate(job.runs):
                        if index not in job.active_runs:
                            run.keep_weights_only()

    def _run_again(self, job_id: str, visitor: str | None, is_single_step: bool) -> None:
        """Resume the job, for all steps or a single one."""
        with self._locked_job(job_id) as job:
            before = job.desired_state
            if job.is_over or before == "stop" or (is_single_step and before == "run"):
                return
            self._set_desired_state(job, visitor, "run")
            if before == "pause":
                job.is_held, job.is_single_step, job.is_unwatched, job.error = False, is_single_step, False, None
                self.queue.enqueue(job)

    def _set_desired_state(self, job: TrainingJob, visitor: str | None, desired_state: DesiredState) -> None:
        """Record a visitor's desired state, and drop visitors who are gone, so that they do not keep the job running."""
        now = time.monotonic()
        if visitor is None:
            for name, watcher in job.watchers.items():
                if watcher.desired_state != "stop":
                    job.watch(name, now, desired_state)
            return
        job.watch(visitor, now, desired_state)
        for name in [name for name in job.watchers if name != visitor and not self._is_watching(job, name)]:
            del job.watchers[name]

    def _is_watching(self, job: TrainingJob, visitor: str) -> bool:
        """Return whether a visitor still watches a job."""
        return self.is_present(visitor) and time.monotonic() - job.watchers[visitor].last_seen < self.timeouts.unwatched

    def note_visitor_activity(self) -> None:
        """Record visitor activity: a spare worker process then pauses its run."""
        self._last_activity = time.monotonic()
        if self._dispatcher is not None:
            self._dispatcher.wake()

    # --- Views --------------------------------------------------------------------------------------------------------
    def view(self, job_id: str, visitor: str | None = None, counts_as_watching: bool = True) -> JobView | None:
        """Return the job as it is now; None if the id is unknown or the job was evicted.

        visitor: who views the job and therefore watches it; None: all its watchers. counts_as_watching: whether the view
        is recorded, so that the job is not paused as unwatched.
        """
        job = self.queue.find(job_id)
        if job is None:
            return None
        if counts_as_watching:
            with self.queue.lock:
                for name in tuple(job.watchers) if visitor is None else (visitor,):
                    job.watch(name, time.monotonic())
        return self.queue.view(job, visitor, lambda name: self._is_watching(job, name))

    @property
    def n_slots(self) -> int:
        """How many runs are trained at once, as far as is known."""
        return self.queue.n_slots

    def request(self, job_id: str) -> Recipe | Experiment:
        """Return what the job trains. Raises `KeyError` for an unknown id, as do the methods below."""
        with self._locked_job(job_id) as job:
            return job.request

    def history(self, job_id: str, run_index: int = 0) -> RunHistory | None:
        """Return a copy of the history of a run so far; None before it has started."""
        with self._locked_job(job_id) as job:
            kept = job.runs[run_index].history
            return None if kept is None else kept.copy()

    def weights(self, job_id: str, run_index: int = 0) -> dict[str, Tensor]:
        """Return the weights of the last saved step in float32, by parameter name; empty before there is one."""
        with self._locked_job(job_id) as job:
            return job.runs[run_index].load_weights()

    def results(self, job_id: str) -> list[RunResult]:
        """Return the results of the runs that have stopped by themselves."""
        with self._locked_job(job_id) as job:
            return [found for run in job.runs if (found := run.result()) is not None]

    # --- Internals ----------------------------------------------------------------------------------------------------
    @contextmanager
    def _locked_job(self, job_id: str) -> Iterator[TrainingJob]:
        """Yield a job while holding the lock, then wake the dispatcher if the job changed. Raises `KeyError` for an unknown id."""
        with self.queue.lock:
            job = self.queue.find(job_id)
            if job is None:
                raise KeyError(f"no training job {job_id!r}")
            before = job.desired_state, job.queue_order
            yield job
            changed = before != (job.desired_state, job.queue_order)
        if changed:
            self._wake()

    def _wake(self) -> None:
        """Start the dispatcher thread if needed, and wake the dispatcher."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run_dispatcher, name="trainings", daemon=True)
                self._thread.start()
        if self._dispatcher is not None:
            self._dispatcher.wake()

    def _run_dispatcher(self) -> None:
        """Run the dispatcher. Dask is imported here, at the first job: a server without training jobs does not load it."""
        from viz_core.training.jobs.dispatcher import Dispatcher

        self._dispatcher = Dispatcher(self.queue, self.scheduler, self.timeouts, lambda: self._last_activity)
        if not self._closed:
            self._dispatcher.run()

    def close(self) -> None:
        """End everything, including worker processes. If a server exits without this, the workers notice and end by themselves."""
        self._closed = True
        if self._dispatcher is not None:
            self._dispatcher.close()
        if self._thread is not None:
            self._thread.join(self.timeouts.grace)


def _parse_request(request_json: str) -> Recipe | Experiment:
    """Parse an untrusted request as a recipe or an experiment."""
    try:
        data = json.loads(request_json)
    except (TypeError, ValueError, RecursionError):
        raise UserError("recipe_text") from None
    return Experiment.from_json(request_json) if isinstance(data, dict) and "arms" in data else Recipe.from_json(request_json)


@lru_cache(maxsize=1)
def engine() -> Engine:
    """Return the engine of this server."""
    return Engine(os.environ.get(SCHEDULER_ENV, "").strip() or None)
