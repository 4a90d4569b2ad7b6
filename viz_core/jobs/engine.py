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

from viz_core.jobs.board import Board
from viz_core.jobs.job import Job, Look, Wished
from viz_core.jobs.times import Times
from viz_core.learning.arms import Experiment
from viz_core.learning.curves import Result
from viz_core.learning.moments import Moments
from viz_core.learning.recipe import Recipe
from viz_core.limits import MAX_JOB_BYTES, SCHEDULER
from viz_core.problems import Problem

if TYPE_CHECKING:
    from viz_core.jobs.dispatcher import Dispatcher


class Engine:
    """All training jobs of a server. scheduler: address of a cluster's scheduler; None: local worker processes."""

    def __init__(self, scheduler: str | None = None, times: Times | None = None, most_bytes: int = MAX_JOB_BYTES) -> None:
        self.scheduler, self.times, self.board = scheduler, times or Times(), Board(most_bytes)
        self.present: Callable[[str], bool] = lambda visitor: True  # whether a visitor has the app open
        self._active = time.monotonic()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._dispatcher: Dispatcher | None = None
        self._closed = False

    # --- Commands -----------------------------------------------------------------------------------------------------
    # Each sets one visitor's desired state (None: that of all watchers); the job follows the desired states of all its watchers.
    def submit(self, text: str, owner: str, device: str = "cpu") -> str:
        """Queue a recipe or an experiment, given as JSON, and return its job id; equal requests that are queued or running share a
        job. Raises `UserError` if it cannot be trained."""
        job = self.board.add(_asked(text), owner, device, time.monotonic())
        self._wake()
        return job.number

    def pause(self, number: str, visitor: str | None = None) -> None:
        """Pause after the current step once no visitor wants the job to run, which frees the worker. Has no effect unless the job
        runs or is queued."""
        with self._job(number) as job:
            if job.wished == "run":
                self._wish(job, visitor, "pause")

    def go_on(self, number: str, visitor: str | None = None) -> None:
        """Resume from the last saved step, at the end of the queue; or join a job that runs for others."""
        self._again(number, visitor, single=False)

    def one_step(self, number: str, visitor: str | None = None) -> None:
        """Take one step of the first run that has not stopped, then pause. Has no effect if the job runs for others."""
        self._again(number, visitor, single=True)

    def stop(self, number: str, visitor: str | None = None) -> None:
        """Leave the job. When the last visitor leaves, it stops for good after the current step; its weights are kept."""
        with self._job(number) as job:
            if not job.over:
                self._wish(job, visitor, "stop")
                if job.wished == "stop":
                    for index, run in enumerate(job.runs):
                        if index not in job.flying:
                            run.leave()

    def _again(self, number: str, visitor: str | None, single: bool) -> None:
        """Resume the job, for all steps or a single one."""
        with self._job(number) as job:
            before = job.wished
            if job.over or before == "stop" or (single and before == "run"):
                return
            self._wish(job, visitor, "run")
            if before == "pause":
                job.held, job.single, job.unwatched, job.problem = False, single, False, None
                self.board.queue_up(job)

    def _wish(self, job: Job, visitor: str | None, wish: Wished) -> None:
        """Record a visitor's desired state, and drop visitors who are gone, so that they do not keep the job running."""
        now = time.monotonic()
        if visitor is None:
            for name, watcher in job.watchers.items():
                if watcher.wish != "stop":
                    job.watch(name, now, wish)
            return
        job.watch(visitor, now, wish)
        for name in [name for name in job.watchers if name != visitor and not self._there(job, name)]:
            del job.watchers[name]

    def _there(self, job: Job, visitor: str) -> bool:
        """Return whether a visitor still watches a job."""
        return self.present(visitor) and time.monotonic() - job.watchers[visitor].seen < self.times.unwatched

    def visitor_acts(self) -> None:
        """Record visitor activity: a spare worker process then pauses its run."""
        self._active = time.monotonic()
        if self._dispatcher is not None:
            self._dispatcher.wake()

    # --- Views --------------------------------------------------------------------------------------------------------
    def look(self, number: str, visitor: str | None = None, watching: bool = True) -> Look | None:
        """Return the job as it is now; None if the id is unknown or the job was evicted.

        visitor: who views the job and therefore watches it; None: all its watchers. counts_as_watching: whether the view counts as
        interest.
        """
        job = self.board.find(number)
        if job is None:
            return None
        if watching:
            with self.board.lock:
                for name in tuple(job.watchers) if visitor is None else (visitor,):
                    job.watch(name, time.monotonic())
        return self.board.look(job, visitor, lambda name: self._there(job, name))

    @property
    def places(self) -> int:
        """How many runs are trained at once, as far as is known."""
        return self.board.places

    def asked(self, number: str) -> Recipe | Experiment:
        """Return what the job trains. Raises `KeyError` for an unknown id, as do the methods below."""
        with self._job(number) as job:
            return job.asked

    def moments(self, number: str, run: int = 0) -> Moments | None:
        """Return a copy of the history of a run so far; None before it has started."""
        with self._job(number) as job:
            kept = job.runs[run].moments
            return None if kept is None else kept.copy()

    def weights(self, number: str, run: int = 0) -> dict[str, Tensor]:
        """Return the weights of the last saved step in float32, by parameter name; empty before there is one."""
        with self._job(number) as job:
            return job.runs[run].tensors()

    def results(self, number: str) -> list[Result]:
        """Return the results of the runs that have stopped by themselves."""
        with self._job(number) as job:
            return [found for run in job.runs if (found := run.result()) is not None]

    # --- Internals ----------------------------------------------------------------------------------------------------
    @contextmanager
    def _job(self, number: str) -> Iterator[Job]:
        """Yield a job while holding the lock, then wake the dispatcher if the job changed. Raises `KeyError` for an unknown id."""
        with self.board.lock:
            job = self.board.find(number)
            if job is None:
                raise KeyError(f"no training job {number!r}")
            before = job.wished, job.turn
            yield job
            changed = before != (job.wished, job.turn)
        if changed:
            self._wake()

    def _wake(self) -> None:
        """Start the dispatcher thread if needed, and wake the dispatcher."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="trainings", daemon=True)
                self._thread.start()
        if self._dispatcher is not None:
            self._dispatcher.wake()

    def _work(self) -> None:
        """Run the dispatcher. Dask is imported here, at the first job: a server without training jobs does not load it."""
        from viz_core.jobs.dispatcher import Dispatcher

        self._dispatcher = Dispatcher(self.board, self.scheduler, self.times, lambda: self._active)
        if not self._closed:
            self._dispatcher.run()

    def close(self) -> None:
        """End everything, including worker processes. If a server exits without this, the workers notice and end by themselves."""
        self._closed = True
        if self._dispatcher is not None:
            self._dispatcher.close()
        if self._thread is not None:
            self._thread.join(self.times.grace)


def _asked(text: str) -> Recipe | Experiment:
    """Parse an untrusted request as a recipe or an experiment."""
    try:
        data = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise Problem("this is not a training recipe; copy the whole link again.", "recipe_text") from None
    return Experiment.from_json(text) if isinstance(data, dict) and "arms" in data else Recipe.from_json(text)


@lru_cache(maxsize=1)
def engine() -> Engine:
    """Return the engine of this server."""
    return Engine(os.environ.get(SCHEDULER, "").strip() or None)
