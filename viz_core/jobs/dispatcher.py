"""Which run goes to which worker, and when. One thread with one event loop does all that waits; no page ever does."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from viz_core.jobs.attempt import Attempt, Died, Silent
from viz_core.jobs.board import Board
from viz_core.jobs.hub import Beside, Cluster, Hub
from viz_core.jobs.job import Job
from viz_core.jobs.messages import Ended
from viz_core.jobs.times import Times
from viz_core.problems import Problem


class Dispatcher:
    """Works until it is closed; `wake` makes it look at once. active: when a visitor last did something."""

    def __init__(self, board: Board, scheduler: str | None, times: Times, active: Callable[[], float]) -> None:
        self.board, self.scheduler, self.times, self.active = board, scheduler, times, active
        self.attempts: dict[str, Attempt] = {}  # by place
        self.hub: Hub | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        self._used = time.monotonic()  # when a run was last at a worker

    # --- From other threads -------------------------------------------------------------------------------------------
    def wake(self) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # it has just been closed
                self._loop.call_soon_threadsafe(self._woken.set)

    def close(self) -> None:
        self._closing = True
        self.wake()

    def run(self) -> None:
        """In a thread of its own, with the loop that every system has: Dask's connections know it."""
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._work())

    # --- In the loop --------------------------------------------------------------------------------------------------
    async def _work(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        try:
            while not self._closing:
                self._woken.clear()
                try:
                    await self._turn()
                except Exception as error:  # the thread has to live, and no job may wait for ever
                    self._fail(self.board.queue(), error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), self.times.turn)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._end_processes()

    async def _turn(self) -> None:
        """All that is to be decided now."""
        self._pause_unwatched()
        self._pass_on_wishes()
        if self.attempts:
            self._used = time.monotonic()
        queue = self.board.queue()
        if queue and self.hub is None:
            await self._open(queue)
        elif self.hub is not None and not queue and not self.attempts and time.monotonic() - self._used > self.times.idle:
            await self._end_processes()
        if queue and self.hub is not None:
            await self._dispatch(self.hub)

    async def _open(self, queue: list[Job]) -> None:
        hub: Hub = Beside(self.times) if self.scheduler is None else Cluster(self.scheduler, self.times)
        try:
            await hub.open()
        except Problem as problem:
            for job in queue:
                self._give_up(job, problem.kept())
            return
        self.hub, self._used = hub, time.monotonic()

    async def _end_processes(self) -> None:
        hub, self.hub = self.hub, None
        if hub is not None:
            await hub.close()

    # --- Wishes -------------------------------------------------------------------------------------------------------
    def _pause_unwatched(self) -> None:
        with self.board.lock:
            since = time.monotonic() - self.times.unwatched
            for job in self.board.queue():
                if all(watcher.seen < since for watcher in job.watchers.values() if watcher.wish == "run"):
                    job.held = job.unwatched = True

    def _pass_on_wishes(self) -> None:
        """To the runs whose job is to end, and to those at a second process while a visitor is active."""
        with self.board.lock:
            for place, attempt in self.attempts.items():
                if attempt.job.wished != "run":
                    attempt.tell(attempt.job.wished)
                elif self.hub is not None and self.hub.spare(place) and not self._quiet:
                    attempt.tell("pause")

    @property
    def _quiet(self) -> bool:
        """Whether no visitor has done anything for a while."""
        return time.monotonic() - self.active() > self.times.quiet

    # --- Runs to workers ----------------------------------------------------------------------------------------------
    async def _dispatch(self, hub: Hub) -> None:
        try:
            places = await hub.places()
        except (OSError, TimeoutError):
            await self._lose(hub)
            return
        free = [place for place in places if place not in self.attempts]
        spare = [place for place in free if hub.spare(place)]
        free = [place for place in free if place not in spare]
        with self.board.lock:
            self.board.places = sum(not hub.spare(place) for place in places)
            for job in self.board.queue():
                for index in job.pending():
                    if free:
                        self._start(Attempt(hub, self.board, job, index, free.pop(0), self.times))
                    elif spare and self._quiet and job.flying:  # another run of a job that is at work
                        self._start(Attempt(hub, self.board, job, index, spare.pop(0), self.times))

    def _start(self, attempt: Attempt) -> None:
        attempt.job.flying.add(attempt.index)
        self.attempts[attempt.place] = attempt
        task = asyncio.ensure_future(self._followed(attempt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _followed(self, attempt: Attempt) -> None:
        """An attempt, and what its end means for the job."""
        ended: Ended | None = None
        problem: Problem | None = None
        try:
            ended = await attempt.follow()
        except Problem as wrong:
            problem = wrong.kept()
        except Died:
            problem = self._died(attempt)
        except Silent:
            await attempt.hub.replace(attempt.place)
            problem = self._silent(attempt) if attempt.told is None else None
        except Exception as error:  # whatever it is, the job has to say so
            self._fail([attempt.job], error)
        finally:
            self._landed(attempt)
        with self.board.lock:
            if ended == "stopped":
                self.board.overheads.append(attempt.overhead)
            if problem is not None:
                self._give_up(attempt.job, problem)
            elif ended == "until" and attempt.job.single:
                attempt.job.held = True
        self.wake()

    def _landed(self, attempt: Attempt) -> None:
        """The run is at no worker any more; of one that will not go on only the weights are kept."""
        with self.board.lock:
            job = attempt.job
            job.flying.discard(attempt.index)
            job.opened.discard(attempt.index)
            self.attempts.pop(attempt.place, None)
            if job.wished == "stop" and not job.flying:
                for run in job.runs:
                    run.leave()

    def _give_up(self, job: Job, problem: Problem) -> None:
        with self.board.lock:
            job.problem, job.held = problem, True

    def _fail(self, jobs: list[Job], error: Exception) -> None:
        """Something that nobody foresaw: the server's log has all of it."""
        logging.getLogger(__name__).error("A training failed", exc_info=error)
        kind = type(error).__name__
        for job in jobs:
            self._give_up(job, Problem(f"the training failed with the error {kind}: {error}", "training_failed", kind=kind))

    async def _lose(self, hub: Hub) -> None:
        """A scheduler that does not answer any more: every job of the queue says so."""
        problem = Problem("the scheduler does not answer any more; start it again.", "no_scheduler", address=str(self.scheduler))
        for job in self.board.queue():
            self._give_up(job, problem)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._end_processes()

    def _died(self, attempt: Attempt) -> Problem:
        step = attempt.job.runs[attempt.index].done
        return Problem(f"the process that trained has died; step {step} is stored, and the training can go on from there.",
                       "worker_died", step=step)

    def _silent(self, attempt: Attempt) -> Problem:
        step = attempt.job.runs[attempt.index].done
        return Problem(f"the process that trained did not answer and was ended; step {step} is stored, and the training can go on "
                       "from there.", "worker_silent", step=step)
