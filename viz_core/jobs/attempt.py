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

from viz_core.jobs import desk
from viz_core.jobs.board import Board
from viz_core.jobs.hub import Hub, ask
from viz_core.jobs.job import Job
from viz_core.jobs.messages import Ended, Order, Parcel, Wish
from viz_core.jobs.times import Times
from viz_core.problems import Problem


class Silent(Exception):
    """A worker does not answer, or does not end a run after a command."""


class Died(Exception):
    """A worker is gone."""


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt at a run: `run_to_end` waits until it is over; `send_command` ends it early."""

    hub: Hub
    board: Board
    job: Job
    index: int  # index of the run in the job
    place: str
    times: Times
    number: str = field(default_factory=lambda: uuid.uuid4().hex)
    told: Wish | None = None
    overhead: float = 0.0  # seconds besides the steps, set at the end
    _address: str = ""
    _told_at: float | None = None
    _ended: Ended | None = None
    _problem: Problem | None = None
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, wish: Wish) -> None:
        """End the run after its current step."""
        if self.told is None:
            self.told = wish
            self._woken.set()

    async def follow(self) -> Ended:
        """Run the attempt and return why it ended. Raises `WorkerTimeout` or `WorkerLost`, after storing all fetched updates;
        `UserError` if the run cannot continue."""
        try:
            self._address = await self.hub.ready(self.place)
        except TimeoutError:
            raise Silent from None
        except OSError:
            raise Died from None
        if self.told is not None:
            return "told"
        client, run = self.hub.client, self.job.runs[self.index]
        start = time.monotonic() - run.seconds
        client.subscribe_topic(self.number, self._announced)
        try:
            await self._ask(desk.put, self._order())
            key = f"train-{self.number}"
            task = client.submit(desk.train, self.number, key=key, workers=[self._address], pure=False, retries=0)
            return await self._until_it_ends(task)
        finally:
            await self._forget()
            self.overhead = time.monotonic() - start - run.seconds

    def _order(self) -> Order:
        """Return the task to assign, which starts from the saved state."""
        with self.board.lock:
            run = self.job.runs[self.index]
            until = run.done + 1 if self.job.single else None
            return Order(self.number, self.number, run.recipe.to_json(), run.state, self.job.device, until)

    async def _until_it_ends(self, future: Future) -> Ended:
        """Fetch updates when announced, forward a command, and check that the worker is alive; return why the run ended."""
        task = asyncio.ensure_future(_finished(future))
        try:
            while not task.done():
                wake_task = asyncio.ensure_future(self._woken.wait())
                await asyncio.wait({task, wake_task}, timeout=self.times.silent, return_when=asyncio.FIRST_COMPLETED)
                no_update = not wake_task.done()
                wake_task.cancel()
                self._woken.clear()
                if task.done():
                    break
                if no_update and not await self.hub.there(self._address):
                    raise Died
                if await self._told_to_end():
                    return "told"
                self._take(await self._ask(desk.fetch, self.number))
            if not await task:
                raise Died
            self._take(await self._ask(desk.last, self.number))
            return self._over()
        finally:
            task.cancel()
            task.add_done_callback(lambda one: one.cancelled() or one.exception())  # else asyncio logs the exception
            future.release()

    async def _told_to_end(self) -> bool:
        """Send a pending command to the worker once, and return whether the run had not started. Raises `WorkerTimeout` if the run
        does not end in time."""
        if self.told is not None and self._told_at is None:
            self._told_at = time.monotonic()
            return not await self._ask(desk.tell, self.number, self.told)
        if self._told_at is not None and time.monotonic() - self._told_at > self.times.grace:
            raise Silent
        return False

    def _announced(self, event: tuple[float, dict[str, object]]) -> None:
        """Wake the loop when the worker sends a message."""
        self._woken.set()

    async def _forget(self) -> None:
        """Unsubscribe from the task's messages and remove their topic, which the scheduler would keep otherwise."""
        client = self.hub.client
        client._event_handlers.pop(self.number, None)  # unsubscribing would create the topic again
        with suppress(OSError, TimeoutError):
            await asyncio.wait_for(client.run_on_scheduler(drop, self.number), self.times.grace)

    def _take(self, parcel: Parcel) -> None:
        """Apply an update to the run."""
        self._ended, self._problem = parcel.ended or self._ended, parcel.problem or self._problem
        with self.board.lock:
            run = self.job.runs[self.index]
            if parcel.opening is not None:
                run.starts += 1
                self.job.opened.add(self.index)
            run.take(parcel)
            self.board.shrink()

    def _over(self) -> Ended:
        """Return the reported end reason, or raise the reported error. It may have come with an earlier update than the last."""
        if self._problem is not None:
            raise self._problem
        assert self._ended is not None
        return self._ended

    async def _ask(self, function: Callable[..., Any], *values: object) -> Any:
        """Call a function of the worker plugin. Raises `WorkerLost` or `WorkerTimeout` instead of connection errors."""
        try:
            return await ask(self.hub.client, self._address, self.times.grace, function, *values)
        except (OSError, TimeoutError, KeyError, ValueError):
            raise (Silent if await self.hub.there(self._address) else Died) from None


async def _finished(future: Future) -> bool:
    """Return whether the worker had the task. Raises `WorkerLost` if the worker was killed meanwhile."""
    try:
        return bool(await future)
    except (KilledWorker, FutureCancelledError):
        raise Died from None


def drop(topic: str, dask_scheduler: Scheduler) -> None:
    """On the scheduler: remove a topic and its messages."""
    dask_scheduler._broker._topics.pop(topic, None)
