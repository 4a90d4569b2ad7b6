"""Assigns runs to workers. One thread with an event loop does all the waiting, so that no page has to."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from viz_core.messages.errors import UserError
from viz_core.training.jobs.job import TrainingJob
from viz_core.training.jobs.job_queue import JobQueue
from viz_core.training.jobs.protocol import EndReason
from viz_core.training.jobs.run_attempt import RunAttempt, WorkerLost, WorkerTimeout
from viz_core.training.jobs.timeouts import Timeouts
from viz_core.training.jobs.worker_pool import ClusterWorkers, LocalWorkers, WorkerPool


class Dispatcher:
    """Assigns queued runs to free workers, in rounds, until closed; `wake` starts the next round at once.

    last_activity: returns the time of the last visitor activity.
    """

    def __init__(self, queue: JobQueue, scheduler: str | None, timeouts: Timeouts, last_activity: Callable[[], float]) -> None:
        self.queue, self.scheduler, self.timeouts, self.last_activity = queue, scheduler, timeouts, last_activity
        self.attempts: dict[str, RunAttempt] = {}  # by slot
        self.pool: WorkerPool | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closing = False
        self._last_used = time.monotonic()  # when a run was last on a worker

    # --- From other threads -------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Start the next round now. Safe to call from other threads."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has just been closed
                self._loop.call_soon_threadsafe(self._wake_event.set)

    def close(self) -> None:
        """End the dispatcher. Safe to call from other threads."""
        self._is_closing = True
        self.wake()

    def run(self) -> None:
        """Run the event loop in this thread. A selector loop is available on every system, and Dask's connections support it."""
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._loop_until_closed())

    # --- In the event loop --------------------------------------------------------------------------------------------
    async def _loop_until_closed(self) -> None:
        self._loop, self._wake_event = asyncio.get_running_loop(), asyncio.Event()
        try:
            while not self._is_closing:
                self._wake_event.clear()
                try:
                    await self._tick()
                except Exception as error:  # the thread must survive, and no job may wait forever
                    self._fail_jobs(self.queue.active_jobs(), error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake_event.wait(), self.timeouts.poll_interval)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._close_pool()

    async def _tick(self) -> None:
        """Do one round: pause unwatched jobs, forward commands, open or close the pool, and start runs in free slots."""
        self._pause_unwatched()
        self._forward_commands()
        if self.attempts:
            self._last_used = time.monotonic()
        queue = self.queue.active_jobs()
        if queue and self.pool is None:
            await self._open_pool(queue)
        elif (
            self.pool is not None
            and not queue
            and not self.attempts
            and time.monotonic() - self._last_used > self.timeouts.idle_workers
        ):
            await self._close_pool()
        if queue and self.pool is not None:
            await self._dispatch(self.pool)

    async def _open_pool(self, queue: list[TrainingJob]) -> None:
        """Connect to the workers; if that fails, put all queued jobs on hold with the error."""
        pool: WorkerPool = LocalWorkers(self.timeouts) if self.scheduler is None else ClusterWorkers(self.scheduler, self.timeouts)
        try:
            await pool.open()
        except UserError as problem:
            for job in queue:
                self._hold_with_error(job, problem.without_traceback())
            return
        self.pool, self._last_used = pool, time.monotonic()

    async def _close_pool(self) -> None:
        """Disconnect, and end local worker processes."""
        pool, self.pool = self.pool, None
        if pool is not None:
            await pool.close()

    # --- Commands -----------------------------------------------------------------------------------------------------
    def _pause_unwatched(self) -> None:
        """Put jobs on hold that no visitor has viewed for a while."""
        with self.queue.lock:
            since = time.monotonic() - self.timeouts.unwatched
            for job in self.queue.active_jobs():
                if all(watcher.last_seen < since for watcher in job.watchers.values() if watcher.desired_state == "run"):
                    job.is_held = job.is_unwatched = True

    def _forward_commands(self) -> None:
        """Send commands to runs whose job should end, and pause runs in a spare slot while a visitor is active."""
        with self.queue.lock:
            for slot, attempt in self.attempts.items():
                if attempt.job.desired_state != "run":
                    attempt.send_command(attempt.job.desired_state)
                elif self.pool is not None and self.pool.is_spare(slot) and not self._has_no_activity:
                    attempt.send_command("pause")

    @property
    def _has_no_activity(self) -> bool:
        """Whether no visitor has been active for a while."""
        return time.monotonic() - self.last_activity() > self.timeouts.no_activity

    # --- Assigning runs -----------------------------------------------------------------------------------------------
    async def _dispatch(self, pool: WorkerPool) -> None:
        """Start runs in the free slots."""
        try:
            slots = await pool.slots()
        except (OSError, TimeoutError):
            await self._handle_lost_scheduler(pool)
            return
        free = [slot for slot in slots if slot not in self.attempts]
        spare = [slot for slot in free if pool.is_spare(slot)]
        free = [slot for slot in free if slot not in spare]
        with self.queue.lock:
            self.queue.n_slots = sum(not pool.is_spare(slot) for slot in slots)
            for job in self.queue.active_jobs():
                for index in job.pending_runs():
                    if free:
                        self._start_attempt(RunAttempt(pool, self.queue, job, index, free.pop(0), self.timeouts))
                    elif spare and self._has_no_activity and job.active_runs:  # a further run of a job that already trains
                        self._start_attempt(RunAttempt(pool, self.queue, job, index, spare.pop(0), self.timeouts))

    def _start_attempt(self, attempt: RunAttempt) -> None:
        """Start an attempt as an asyncio task."""
        attempt.job.active_runs.add(attempt.run_index)
        self.attempts[attempt.slot] = attempt
        task = asyncio.ensure_future(self._run_attempt(attempt))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_attempt(self, attempt: RunAttempt) -> None:
        """Run an attempt to its end, and update the job."""
        ended: EndReason | None = None
        problem: UserError | None = None
        try:
            ended = await attempt.run_to_end()
        except UserError as error_raised:
            problem = error_raised.without_traceback()
        except WorkerLost:
            problem = self._worker_lost_error(attempt)
        except WorkerTimeout:
            await attempt.pool.end_worker(attempt.slot)
            problem = self._worker_timeout_error(attempt) if attempt.command is None else None
        except Exception as error:  # report any error in the job
            self._fail_jobs([attempt.job], error)
        finally:
            self._release_run(attempt)
        with self.queue.lock:
            if ended == "stopped":
                self.queue.overheads.append(attempt.overhead)
            if problem is not None:
                self._hold_with_error(attempt.job, problem)
            elif ended == "until" and attempt.job.is_single_step:
                attempt.job.is_held = True
        self.wake()

    def _release_run(self, attempt: RunAttempt) -> None:
        """Release the run and its slot; of runs that will not continue keep only the weights."""
        with self.queue.lock:
            job = attempt.job
            job.active_runs.discard(attempt.run_index)
            job.started_runs.discard(attempt.run_index)
            self.attempts.pop(attempt.slot, None)
            if job.desired_state == "stop" and not job.active_runs:
                for run in job.runs:
                    run.keep_weights_only()

    def _hold_with_error(self, job: TrainingJob, error: UserError) -> None:
        """Put a job on hold with an error."""
        with self.queue.lock:
            job.error, job.is_held = error, True

    def _fail_jobs(self, jobs: list[TrainingJob], error: Exception) -> None:
        """Put jobs on hold after an unexpected error, which is logged in full."""
        logging.getLogger(__name__).error("A training run failed", exc_info=error)
        kind = type(error).__name__
        for job in jobs:
            self._hold_with_error(job, UserError("training_failed", kind=kind))

    async def _handle_lost_scheduler(self, pool: WorkerPool) -> None:
        """Handle a scheduler that no longer answers: put every queued job on hold with an error."""
        problem = UserError("no_scheduler", address=str(self.scheduler))
        for job in self.queue.active_jobs():
            self._hold_with_error(job, problem)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._close_pool()

    def _worker_lost_error(self, attempt: RunAttempt) -> UserError:
        """Return the error for a worker that is gone."""
        step = attempt.job.runs[attempt.run_index].saved_step
        return UserError("worker_died", step=step)

    def _worker_timeout_error(self, attempt: RunAttempt) -> UserError:
        """Return the error for a worker that did not answer."""
        step = attempt.job.runs[attempt.run_index].saved_step
        return UserError("worker_silent", step=step)
