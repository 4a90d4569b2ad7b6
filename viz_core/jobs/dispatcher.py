"""Assigns runs to workers. One thread with an event loop does all the waiting, so that no page has to."""

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
    """Runs until closed; `wake` starts the next round at once. last_activity: returns the time of the last visitor activity."""

    def __init__(self, board: Board, scheduler: str | None, times: Times, active: Callable[[], float]) -> None:
        self.board, self.scheduler, self.times, self.active = board, scheduler, times, active
        self.attempts: dict[str, Attempt] = {}  # by slot
        self.hub: Hub | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = False
        self._used = time.monotonic()  # when a run was last on a worker

    # --- From other threads -------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Start the next round now. Safe to call from other threads."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(self._woken.set)

    def close(self) -> None:
        """End the dispatcher. Safe to call from other threads."""
        self._closing = True
        self.wake()

    def run(self) -> None:
        """Run the event loop in this thread. A selector loop is available on every system, and Dask's connections support it."""
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._work())

    # --- In the event loop --------------------------------------------------------------------------------------------
    async def _work(self) -> None:
        self._loop, self._woken = asyncio.get_running_loop(), asyncio.Event()
        try:
            while not self._closing:
                self._woken.clear()
                try:
                    await self._turn()
                except Exception as error:  # the thread must survive, and no job may wait forever
                    self._fail(self.board.queue(), error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), self.times.turn)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._end_processes()

    async def _turn(self) -> None:
        """Do one round of decisions."""
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
        """Connect to the workers; if that fails, put all queued jobs on hold with the error."""
        hub: Hub = Beside(self.times) if self.scheduler is None else Cluster(self.scheduler, self.times)
        try:
            await hub.open()
        except Problem as problem:
            for job in queue:
                self._give_up(job, problem.kept())
            return
        self.hub, self._used = hub, time.monotonic()

    async def _end_processes(self) -> None:
        """Disconnect, and end local worker processes."""
        hub, self.hub = self.hub, None
        if hub is not None:
            await hub.close()

    # --- Commands -----------------------------------------------------------------------------------------------------
    def _pause_unwatched(self) -> None:
        """Put jobs on hold that no visitor has viewed for a while."""
        with self.board.lock:
            since = time.monotonic() - self.times.unwatched
            for job in self.board.queue():
                if all(watcher.seen < since for watcher in job.watchers.values() if watcher.wish == "run"):
                    job.held = job.unwatched = True

    def _pass_on_wishes(self) -> None:
        """Send commands to runs whose job should end, and pause runs in a spare slot while a visitor is active."""
        with self.board.lock:
            for place, attempt in self.attempts.items():
                if attempt.job.wished != "run":
                    attempt.tell(attempt.job.wished)
                elif self.hub is not None and self.hub.spare(place) and not self._quiet:
                    attempt.tell("pause")

    @property
    def _quiet(self) -> bool:
        """Whether no visitor has been active for a while."""
        return time.monotonic() - self.active() > self.times.quiet

    # --- Assigning runs -----------------------------------------------------------------------------------------------
    async def _dispatch(self, hub: Hub) -> None:
        """Start runs in the free slots."""
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
                    elif spare and self._quiet and job.flying:  # a further run of a job that already trains
                        self._start(Attempt(hub, self.board, job, index, spare.pop(0), self.times))

    def _start(self, attempt: Attempt) -> None:
        """Start an attempt as an asyncio task."""
        attempt.job.flying.add(attempt.index)
        self.attempts[attempt.place] = attempt
        task = asyncio.ensure_future(self._followed(attempt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _followed(self, attempt: Attempt) -> None:
        """Run an attempt to its end, and update the job."""
        ended: Ended | None = None
        problem: Problem | None = None
        try:
            ended = await attempt.follow()
        except Problem as error_raised:
            problem = error_raised.kept()
        except Died:
            problem = self._died(attempt)
        except Silent:
            await attempt.hub.replace(attempt.place)
            problem = self._silent(attempt) if attempt.told is None else None
        except Exception as error:  # report any error in the job
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
        """Release the run and its slot; of runs that will not continue keep only the weights."""
        with self.board.lock:
            job = attempt.job
            job.flying.discard(attempt.index)
            job.opened.discard(attempt.index)
            self.attempts.pop(attempt.place, None)
            if job.wished == "stop" and not job.flying:
                for run in job.runs:
                    run.leave()

    def _give_up(self, job: Job, problem: Problem) -> None:
        """Put a job on hold with an error."""
        with self.board.lock:
            job.problem, job.held = problem, True

    def _fail(self, jobs: list[Job], error: Exception) -> None:
        """Put jobs on hold after an unexpected error, which is logged in full."""
        logging.getLogger(__name__).error("A training run failed", exc_info=error)
        kind = type(error).__name__
        for job in jobs:
            self._give_up(job, Problem(f"training failed with the error {kind}: {error}", "training_failed", kind=kind))

    async def _lose(self, hub: Hub) -> None:
        """Handle a scheduler that no longer answers: put every queued job on hold with an error."""
        problem = Problem("the scheduler no longer answers; start it again.", "no_scheduler", address=str(self.scheduler))
        for job in self.board.queue():
            self._give_up(job, problem)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._end_processes()

    def _died(self, attempt: Attempt) -> Problem:
        """Return the error for a worker that is gone."""
        step = attempt.job.runs[attempt.index].done
        return Problem(f"the worker process died; step {step} is saved and training can resume there.",
                       "worker_died", step=step)

    def _silent(self, attempt: Attempt) -> Problem:
        """Return the error for a worker that did not answer."""
        step = attempt.job.runs[attempt.index].done
        return Problem(f"the worker process did not answer and was killed; step {step} is saved and training can resume there.",
                       "worker_silent", step=step)
