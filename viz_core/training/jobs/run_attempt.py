"""One run on one worker: from the assignment of the task to its end."""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from distributed import Future, KilledWorker, Scheduler
from distributed.client import FutureCancelledError

from viz_core.messages.errors import UserError
from viz_core.training.jobs import worker_plugin
from viz_core.training.jobs.job import TrainingJob
from viz_core.training.jobs.job_queue import JobQueue
from viz_core.training.jobs.protocol import Assignment, Command, EndReason, ProgressUpdate
from viz_core.training.jobs.timeouts import Timeouts
from viz_core.training.jobs.worker_pool import WorkerPool, call_worker


class WorkerTimeout(Exception):
    """Raised if a worker does not answer, or does not end a run after a command."""


class WorkerLost(Exception):
    """Raised if the scheduler no longer has a worker."""


@dataclass(slots=True, eq=False)
class RunAttempt:
    """One attempt at a run: `run_to_end` waits until it is over; `send_command` ends it early."""

    pool: WorkerPool
    queue: JobQueue
    job: TrainingJob
    run_index: int  # index of the run in the job
    slot: str
    timeouts: Timeouts
    assignment_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    command: Command | None = None
    overhead: float = 0.0  # seconds besides the steps, set at the end
    _address: str = ""
    _command_sent_at: float | None = None
    _end_reason: EndReason | None = None
    _error: UserError | None = None
    _wake_event: asyncio.Event = field(default_factory=asyncio.Event)

    def send_command(self, command: Command) -> None:
        """End the run after its current step."""
        if self.command is None:
            self.command = command
            self._wake_event.set()

    async def run_to_end(self) -> EndReason:
        """Run the attempt and return why it ended. Raises `WorkerTimeout` or `WorkerLost`, after storing all fetched updates;
        `UserError` if the run cannot continue."""
        try:
            self._address = await self.pool.ensure_worker(self.slot)
        except TimeoutError:
            raise WorkerTimeout from None
        except OSError:
            raise WorkerLost from None
        if self.command is not None:
            return "told"
        client, run = self.pool.client, self.job.runs[self.run_index]
        start = time.monotonic() - run.seconds
        client.subscribe_topic(self.assignment_id, self._on_message)
        try:
            await self._call_worker(worker_plugin.assign, self._make_assignment())
            key = f"train-{self.assignment_id}"
            task = client.submit(
                worker_plugin.run_assignment, self.assignment_id, key=key, workers=[self._address], pure=False, retries=0
            )
            return await self._wait_for_end(task)
        finally:
            await self._clean_up()
            self.overhead = time.monotonic() - start - run.seconds

    def _make_assignment(self) -> Assignment:
        """Return the task to assign, which starts from the saved state."""
        with self.queue.lock:
            run = self.job.runs[self.run_index]
            until = run.saved_step + 1 if self.job.is_single_step else None
            return Assignment(self.assignment_id, self.assignment_id, run.recipe.to_json(), run.saved_state, self.job.device, until)

    async def _wait_for_end(self, future: Future) -> EndReason:
        """Fetch updates when announced, forward a command, and check that the worker is alive; return why the run ended."""
        task = asyncio.ensure_future(_task_result(future))
        try:
            while not task.done():
                wake_task = asyncio.ensure_future(self._wake_event.wait())
                await asyncio.wait({task, wake_task}, timeout=self.timeouts.no_update, return_when=asyncio.FIRST_COMPLETED)
                no_update = not wake_task.done()
                wake_task.cancel()
                self._wake_event.clear()
                if task.done():
                    break
                if no_update and not await self.pool.has_worker(self._address):
                    raise WorkerLost
                if await self._forward_command():
                    return "told"
                self._apply_update(await self._call_worker(worker_plugin.fetch_update, self.assignment_id))
            if not await task:
                raise WorkerLost
            self._apply_update(await self._call_worker(worker_plugin.fetch_last_update, self.assignment_id))
            return self._final_end_reason()
        finally:
            task.cancel()
            task.add_done_callback(lambda one: one.cancelled() or one.exception())  # else asyncio logs the exception
            future.release()

    async def _forward_command(self) -> bool:
        """Send a pending command to the worker once, and return whether the run had not started. Raises `WorkerTimeout` if the run
        does not end in time."""
        if self.command is not None and self._command_sent_at is None:
            self._command_sent_at = time.monotonic()
            return not await self._call_worker(worker_plugin.send_command, self.assignment_id, self.command)
        if self._command_sent_at is not None and time.monotonic() - self._command_sent_at > self.timeouts.grace:
            raise WorkerTimeout
        return False

    def _on_message(self, event: tuple[float, dict[str, object]]) -> None:
        """Wake the loop when the worker sends a message."""
        self._wake_event.set()

    async def _clean_up(self) -> None:
        """Unsubscribe from the task's messages and remove their topic, which the scheduler would keep otherwise."""
        client = self.pool.client
        client._event_handlers.pop(self.assignment_id, None)  # unsubscribing would create the topic again
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(client.run_on_scheduler(drop_topic, self.assignment_id), self.timeouts.grace)

    def _apply_update(self, update: ProgressUpdate) -> None:
        """Apply an update to the run."""
        self._end_reason, self._error = update.end_reason or self._end_reason, update.error or self._error
        with self.queue.lock:
            run = self.job.runs[self.run_index]
            if update.run_start is not None:
                run.n_starts += 1
                self.job.started_runs.add(self.run_index)
            run.apply_update(update)
            self.queue.evict()

    def _final_end_reason(self) -> EndReason:
        """Return the reported end reason, or raise the reported error; either may have come with an earlier update than the
        last."""
        if self._error is not None:
            raise self._error
        assert self._end_reason is not None
        return self._end_reason

    async def _call_worker(self, function: Callable[..., Any], *values: object) -> Any:
        """Call a function of the worker plugin. Raises `WorkerLost` or `WorkerTimeout` instead of connection errors."""
        try:
            return await call_worker(self.pool.client, self._address, self.timeouts.grace, function, *values)
        except (OSError, TimeoutError, KeyError, ValueError):
            raise (WorkerTimeout if await self.pool.has_worker(self._address) else WorkerLost) from None


async def _task_result(future: Future) -> bool:
    """Return whether the worker had the task. Raises `WorkerLost` if the worker was killed meanwhile."""
    try:
        return bool(await future)
    except (KilledWorker, FutureCancelledError):
        raise WorkerLost from None


def drop_topic(topic: str, dask_scheduler: Scheduler) -> None:
    """On the scheduler: remove a topic and its messages."""
    dask_scheduler._broker._topics.pop(topic, None)
