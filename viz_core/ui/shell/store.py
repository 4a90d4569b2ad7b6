"""The store that visitors share, with one limit on its bytes and one on simultaneous jobs. No Streamlit in here."""

import os
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any, NoReturn, TypeVar

import numpy as np
import torch

from viz_core.memory import give_back

T = TypeVar("T")
JOBS = max(2, os.cpu_count() or 1)  # that run at once
HEAVY = 0.3  # seconds: longer jobs leave one place to the others
WATCHED = 10**6  # an item with more bytes still counts after it was dropped, while it is in use
PATIENCE = 2.0  # seconds that a job waits for others to stop using dropped items
SPARE = 48 * 10**6  # freed bytes that are kept before they are returned to the system
SOON = 0.05  # seconds in which the garbage collector removes an unused item
POLL = 0.1  # seconds between two checks that a waiting visitor is still there
NOTHING = object()


@dataclass(eq=False, slots=True)
class Job:
    """An item to be made. It runs before jobs that were requested `seconds` later, so that long jobs also get their turn."""

    key: Hashable
    asked: float
    seconds: float
    nbytes: int

    @property
    def rank(self) -> float:
        return self.asked + self.seconds

    @property
    def heavy(self) -> bool:
        return self.seconds > HEAVY


Sizes = Callable[[Any], Iterable[tuple[int, int]]]


class Store:
    """A thread-safe cache with a limit on its bytes: it drops the least recently used items first.

    A thread that requests a missing item makes it once a place is free. At most `jobs` run at once, short ones first, and
    long ones never take the last place. Threads that request the same item wait for the one that makes it; if that one
    fails or is interrupted, another makes it. Waiting threads call `look` now and then, which may raise to stop waiting.
    A job may request other items: they are made in its place, and their bytes are part of its own.
    """

    def __init__(
        self, limit: int, jobs: int = JOBS, *, look: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic, sizes: Sizes | None = None,
    ) -> None:
        self._limit, self._jobs, self._look, self._clock, self._sizes = limit, jobs, look, clock, sizes or weigh
        self._held: OrderedDict[Hashable, tuple[Any, Mapping[int, int]]] = OrderedDict()
        self._holders: dict[int, int] = {}  # address → how many stored items share these bytes
        self._bytes = self._freed = 0
        self._used: dict[int, tuple[weakref.ref[Any], int]] = {}  # dropped items that are still in use, with their bytes
        self.dropped: SimpleQueue[int] = SimpleQueue()  # bytes of dropped items that are no longer used
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._working: list[Job] = []  # one per place
        self._making: dict[Hashable, Job] = {}  # those, and the items that they requested
        self._here = threading.local()

    def get(self, key: Hashable, make: Callable[[], T], seconds: float = 0.0, nbytes: int = 0) -> T:
        """The stored item, or a new one. seconds, nbytes: its approximate cost. An item above the limit is not stored."""
        outer: Job | None = getattr(self._here, "job", None)
        job = Job(key, self._clock(), seconds, nbytes)
        held = self._held_or_begun(job) if outer is None else self._begun_inside(job, outer)
        if held is not NOTHING:
            return held
        try:
            self._here.job = job
            self._return_freed()
            torch.set_num_threads(1)  # of this thread: as many jobs as there are cores run beside one another
            thing = make()
            self._keep(job, thing)
            return thing
        finally:
            self._here.job = outer
            self._ended(job)

    def _held_or_begun(self, job: Job) -> Any:
        """The item under the job's key; NOTHING once it is this thread's turn to make it."""
        with self._changed:
            if (held := self._find(job.key)) is not NOTHING:
                return held
            self._waiting.append(job)
        try:
            while True:
                with self._changed:
                    if (held := self._find(job.key)) is not NOTHING:
                        return held
                    if self._next() is job:
                        self._working.append(job)
                        self._begin(job)
                        return NOTHING
                    self._changed.wait(POLL)
                self._look()
        finally:
            with self._changed:
                self._waiting.remove(job)
                self._changed.notify_all()

    def _begun_inside(self, job: Job, outer: Job) -> Any:
        """The same for an item that a job requests: in its place and its bytes, and without `look`, since others may wait.

        Bytes beyond the job's own estimate are taken anyway: it cannot wait for them.
        """
        job.nbytes = max(0, job.nbytes - outer.nbytes)
        with self._changed:
            while (held := self._find(job.key)) is NOTHING and job.key in self._making:
                self._changed.wait()
            if held is NOTHING:
                self._begin(job)
            return held

    def _find(self, key: Hashable) -> Any:
        if key not in self._held:
            return NOTHING
        self._held.move_to_end(key)
        return self._held[key][0]

    def _next(self) -> Job | None:
        """The job that may begin: the first in rank for which there is a place. If it lacks memory, the others wait for it.

        If no job runs and the waiting visitors hold the memory, the smallest job runs: its visitor then frees its own.
        """
        if len(self._working) >= self._jobs:
            return None
        many = sum(job.heavy for job in self._working) >= self._jobs - 1
        able = [job for job in self._waiting if job.key not in self._making and not (job.heavy and many)]
        if not able:
            return None
        first = min(able, key=lambda job: job.rank)
        if self._taken() + first.nbytes <= self._limit:
            return first
        if self._working:
            return None
        if not self._used or self._clock() - first.asked > PATIENCE:
            return first
        smallest = min(able, key=lambda job: job.nbytes)
        return None if smallest is first else smallest

    def _begin(self, job: Job) -> None:
        self._making[job.key] = job
        self._fit()

    def _ended(self, job: Job) -> None:
        with self._changed:
            del self._making[job.key]
            if job in self._working:
                self._working.remove(job)
            self._changed.notify_all()
        self._return_freed()

    def _return_freed(self) -> None:
        with self._changed:
            much = self._freed > SPARE
            self._freed *= not much
            stuck = sum(size for _, size in list(self._used.values())) > SPARE  # used by visitors, or only by one another
        if much:
            give_back(look=stuck)

    def _taken(self) -> int:
        """The bytes that dropping items cannot free: those of running jobs, and of dropped items that are in use."""
        return sum(job.nbytes for job in self._making.values()) + sum(size for _, size in list(self._used.values()))

    def _keep(self, job: Job, thing: object) -> None:
        parts = dict(self._sizes(thing))
        with self._changed:
            job.nbytes, self._freed = 0, self._freed + job.nbytes  # the same amount was in use for a moment
            if sum(parts.values()) > self._limit:
                self._freed += sum(parts.values())
                return
            self._held[job.key] = (thing, parts)
            for address, size in parts.items():
                self._bytes += size * (address not in self._holders)
                self._holders[address] = self._holders.get(address, 0) + 1
            self._fit()

    def _fit(self) -> None:
        """Drop the oldest items until everything fits: stored, in use, and being made."""
        while self._held and self._bytes + self._taken() > self._limit:
            _, (thing, parts) = self._held.popitem(last=False)
            left = 0
            for address, size in parts.items():
                self._holders[address] -= 1
                if not self._holders[address]:
                    del self._holders[address]
                    left += size
            self._bytes -= left
            self._freed += left
            self._watch(thing, left)
            del thing

    def _watch(self, thing: Any, size: int) -> None:
        """Count a dropped item while it is in use; small ones are skipped, and so are types without weak references."""
        if size >= WATCHED:
            with suppress(TypeError):
                seen = weakref.ref(thing, self._gone)
                self._used[id(seen)] = seen, size

    def _gone(self, thing: "weakref.ref[Any]") -> None:
        _, size = self._used.pop(id(thing))  # called in any thread at any time, so it must not wait
        self.dropped.put(size)

    @property
    def nbytes(self) -> int:
        """The bytes of all stored items; shared bytes count once."""
        with self._changed:
            return self._bytes

    def __contains__(self, key: Hashable) -> bool:
        """Whether it is stored. The caller is about to use it, so this counts as a use."""
        with self._changed:
            return self._find(key) is not NOTHING

    def __len__(self) -> int:
        return len(self._held)


def return_dropped(sizes: "SimpleQueue[int]") -> NoReturn:
    """Return the memory of dropped items to the system; for a thread that does nothing else and keeps no store alive."""
    spare = 0
    while True:
        spare += sizes.get()
        if spare > SPARE:
            time.sleep(SOON)
            give_back(look=False)
            spare = 0


def weigh(thing: object) -> Iterator[tuple[int, int]]:
    """(address, bytes) of everything that an item holds: arrays, tensors, text, and their containers; each address once.

    A view counts as the whole array that it keeps alive. Classes, modules and functions are shared and do not count.
    """
    seen: set[int] = set()
    todo = [thing]
    while todo:
        x = todo.pop()
        while isinstance(x, np.ndarray) and x.base is not None:
            x = x.base
        storage = x.untyped_storage() if isinstance(x, torch.Tensor) else None
        address = id(x) if storage is None else storage.data_ptr()
        if address in seen or isinstance(x, SHARED):
            continue
        seen.add(address)
        yield address, sys.getsizeof(x) if storage is None else storage.nbytes()
        todo.extend(_parts(x) if storage is None else ())


SHARED = (type, NoneType, bool, FunctionType, MethodType, BuiltinFunctionType, ModuleType)


def _parts(x: Any) -> Iterator[Any]:
    """The objects that an object refers to."""
    if isinstance(x, torch.nn.Module):
        yield from (*x.parameters(), *x.buffers())
    elif isinstance(x, Mapping):
        yield from (*x.keys(), *x.values())
    elif isinstance(x, (list, tuple, set, frozenset)):
        yield from x
    else:
        yield from getattr(x, "__dict__", {}).values()
        yield from (getattr(x, name) for name in getattr(type(x), "__slots__", ()) if hasattr(x, name))
