"""Trainings as a page asks for them. Nothing here waits for a worker: a wish is noted, and looking shows what came of it."""

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
    """All trainings of a server. scheduler: the address of a cluster's; None: processes beside the server."""

    def __init__(self, scheduler: str | None = None, times: Times | None = None, most_bytes: int = MAX_JOB_BYTES) -> None:
        self.scheduler, self.times, self.board = scheduler, times or Times(), Board(most_bytes)
        self.present: Callable[[str], bool] = lambda visitor: True  # whether a visitor still has the app open
        self._active = time.monotonic()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._dispatcher: Dispatcher | None = None
        self._closed = False

    # --- A visitor's wishes -------------------------------------------------------------------------------------------
    # Each is that of one visitor, and what becomes of the job follows from the wishes of all who watch it; None: of all at once.
    def submit(self, text: str, owner: str, device: str = "cpu") -> str:
        """A recipe or an experiment as JSON -> the number of its job, which equal ones that wait or run share. `Problem`, one
        sentence, for one that cannot be trained."""
        job = self.board.add(_asked(text), owner, device, time.monotonic())
        self._wake()
        return job.number

    def pause(self, number: str, visitor: str | None = None) -> None:
        """Behind the step that is being taken, once nobody wants it to go on; the worker is free then. Of a job that does not run
        or wait nothing changes."""
        with self._job(number) as job:
            if job.wished == "run":
                self._wish(job, visitor, "pause")

    def go_on(self, number: str, visitor: str | None = None) -> None:
        """From the last stored step, at the end of the queue; or with the others for whom it has gone on."""
        self._again(number, visitor, single=False)

    def one_step(self, number: str, visitor: str | None = None) -> None:
        """Take one step of the first run that has not stopped, and pause. Nothing changes where it goes on for others."""
        self._again(number, visitor, single=True)

    def stop(self, number: str, visitor: str | None = None) -> None:
        """The visitor leaves it. The last one ends it for good, behind the step that is being taken. What was learned stays."""
        with self._job(number) as job:
            if not job.over:
                self._wish(job, visitor, "stop")
                if job.wished == "stop":
                    for index, run in enumerate(job.runs):
                        if index not in job.flying:
                            run.leave()

    def _again(self, number: str, visitor: str | None, single: bool) -> None:
        with self._job(number) as job:
            before = job.wished
            if job.over or before == "stop" or (single and before == "run"):
                return
            self._wish(job, visitor, "run")
            if before == "pause":
                job.held, job.single, job.unwatched, job.problem = False, single, False, None
                self.board.queue_up(job)

    def _wish(self, job: Job, visitor: str | None, wish: Wished) -> None:
        """Note a wish. Those who are gone have none any more, so that nobody waits for them."""
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
        """Whether a visitor still watches a job."""
        return self.present(visitor) and time.monotonic() - job.watchers[visitor].seen < self.times.unwatched

    def visitor_acts(self) -> None:
        """A visitor has taken a step on some page: a second process makes room."""
        self._active = time.monotonic()
        if self._dispatcher is not None:
            self._dispatcher.wake()

    # --- What came of them --------------------------------------------------------------------------------------------
    def look(self, number: str, visitor: str | None = None, watching: bool = True) -> Look | None:
        """The job as it is now; None for one that this server does not know, or has forgotten. visitor: who looks, and so watches
        it from now on; None: all who do. watching: whether this counts as interest in it."""
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
        """What the job trains. `KeyError` if it is not known, here and below."""
        with self._job(number) as job:
            return job.asked

    def moments(self, number: str, run: int = 0) -> Moments | None:
        """What is kept of a run so far, as it is now; None before it has begun."""
        with self._job(number) as job:
            kept = job.runs[run].moments
            return None if kept is None else kept.copy()

    def weights(self, number: str, run: int = 0) -> dict[str, Tensor]:
        """Those behind the last stored step in float32, by the model's names; empty before there is one."""
        with self._job(number) as job:
            return job.runs[run].tensors()

    def results(self, number: str) -> list[Result]:
        """Of the runs that have stopped by themselves."""
        with self._job(number) as job:
            return [found for run in job.runs if (found := run.result()) is not None]

    # --- Inside -------------------------------------------------------------------------------------------------------
    @contextmanager
    def _job(self, number: str) -> Iterator[Job]:
        """A job while nobody else changes it; the dispatcher looks at it afterwards. `KeyError` if it is not known."""
        with self.board.lock:
            job = self.board.find(number)
            if job is None:
                raise KeyError(f"no training {number!r} is known here")
            before = job.wished, job.turn
            yield job
            changed = before != (job.wished, job.turn)
        if changed:
            self._wake()

    def _wake(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="trainings", daemon=True)
                self._thread.start()
        if self._dispatcher is not None:
            self._dispatcher.wake()

    def _work(self) -> None:
        """Dask is imported here, at the first job: a server without trainings is without it."""
        from viz_core.jobs.dispatcher import Dispatcher

        self._dispatcher = Dispatcher(self.board, self.scheduler, self.times, lambda: self._active)
        if not self._closed:
            self._dispatcher.run()

    def close(self) -> None:
        """End everything, the processes too. Where a server just ends, they see that it is gone, and end by themselves."""
        self._closed = True
        if self._dispatcher is not None:
            self._dispatcher.close()
        if self._thread is not None:
            self._thread.join(self.times.grace)


def _asked(text: str) -> Recipe | Experiment:
    """The recipe or the experiment in a text from anywhere, by what it names."""
    try:
        said = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise Problem("this is no recipe of a training; copy the whole link again.", "recipe_text") from None
    return Experiment.from_json(text) if isinstance(said, dict) and "arms" in said else Recipe.from_json(text)


@lru_cache(maxsize=1)
def engine() -> Engine:
    """The one of this server."""
    return Engine(os.environ.get(SCHEDULER, "").strip() or None)
