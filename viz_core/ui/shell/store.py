"""A cache with a limit on its bytes and on simultaneous computations. It does not import Streamlit."""

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
JOBS = max(2, os.cpu_count() or 1)  # computations at once
HEAVY = 0.3  # seconds: longer computations leave one slot free for short ones
WATCHED = 10**6  # bytes: a larger item still counts towards the limit after eviction, as long as it is in use
PATIENCE = 2.0  # seconds that a computation waits until evicted items are out of use
SPARE = 48 * 10**6  # freed bytes from which memory is returned to the operating system
SOON = 0.05  # seconds in which the garbage collector removes an unused item
POLL = 0.1  # seconds between two checks that the waiting visitor is still connected
NOTHING = object()


@dataclass(eq=False, slots=True)
class Job:
    """One item to compute. The order is by request time plus estimated seconds, so that long computations are not starved."""

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
    """A thread-safe cache with a limit on its bytes, which evicts the least recently used items first.

    A thread that requests a missing item computes it once a slot is free. At most `max_computations` run at once, short ones
    first, and long ones never take the last slot. Threads that request the same item wait for the one that computes it; if that
    one fails or is interrupted, another thread computes it. Waiting threads call `check_visitor` regularly, which may raise to
    stop waiting. A computation may request other items: they are computed in the same slot, and their bytes count towards its own.
    """

    def __init__(
        self, limit: int, jobs: int = JOBS, *, look: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic, sizes: Sizes | None = None,
    ) -> None:
        self._limit, self._jobs, self._look, self._clock, self._sizes = limit, jobs, look, clock, sizes or weigh
        self._held: OrderedDict[Hashable, tuple[Any, Mapping[int, int]]] = OrderedDict()
        self._holders: dict[int, int] = {}  # address → number of stored items that share these bytes
        self._bytes = self._freed = 0
        self._used: dict[int, tuple[weakref.ref[Any], int]] = {}  # evicted items that are still in use, and their bytes
        self.dropped: SimpleQueue[int] = SimpleQueue()  # bytes of each evicted item that went out of use
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._working: list[Job] = []  # one per slot
        self._making: dict[Hashable, Job] = {}  # the running ones, and the items that they requested
        self._here = threading.local()

    def get(self, key: Hashable, make: Callable[[], T], seconds: float = 0.0, nbytes: int = 0) -> T:
        """Return the stored item, or compute it. seconds, nbytes: its approximate cost. An item above the limit is not stored."""
        outer: Job | None = getattr(self._here, "job", None)
        job = Job(key, self._clock(), seconds, nbytes)
        held = self._held_or_begun(job) if outer is None else self._begun_inside(job, outer)
        if held is not NOTHING:
            return held
        try:
            self._here.job = job
            self._return_freed()
            torch.set_num_threads(1)  # for this thread: there are as many computations at once as cores
            item = make()
            self._keep(job, item)
            return item
        finally:
            self._here.job = outer
            self._ended(job)

    def _held_or_begun(self, job: Job) -> Any:
        """Return the stored item, or `NOT_STORED` once it is this thread's turn to compute it."""
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
        """Do the same as `_wait_for_turn` for an item that a running computation requests: in its slot and within its bytes.

        It does not call `check_visitor`, since others may wait for the outer item. Bytes beyond the outer estimate are taken
        at once: the outer computation cannot wait for them.
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
        """Return the computation that may start: the first by priority for which there is a slot. If it lacks memory, all wait.

        If nothing runs and the waiting visitors themselves hold the memory, the smallest computation starts, after which its
        visitor frees memory.
        """
        if len(self._working) >= self._jobs:
            return None
        all_but_one_long = sum(job.heavy for job in self._working) >= self._jobs - 1
        eligible = [job for job in self._waiting if job.key not in self._making and not (job.heavy and all_but_one_long)]
        if not eligible:
            return None
        first = min(eligible, key=lambda job: job.rank)
        if self._taken() + first.nbytes <= self._limit:
            return first
        if self._working:
            return None
        if not self._used or self._clock() - first.asked > PATIENCE:
            return first
        smallest = min(eligible, key=lambda job: job.nbytes)
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
            is_enough = self._freed > SPARE
            self._freed *= not is_enough
            in_use = sum(size for _, size in list(self._used.values())) > SPARE  # by visitors, or only by reference cycles
        if is_enough:
            give_back(look=in_use)

    def _taken(self) -> int:
        """Return the bytes that eviction cannot free: those of running computations, and of evicted items that are in use."""
        return sum(job.nbytes for job in self._making.values()) + sum(size for _, size in list(self._used.values()))

    def _keep(self, job: Job, thing: object) -> None:
        parts = dict(self._sizes(thing))
        with self._changed:
            job.nbytes, self._freed = 0, self._freed + job.nbytes  # about this much was in use during the computation
            if sum(parts.values()) > self._limit:
                self._freed += sum(parts.values())
                return
            self._held[job.key] = (thing, parts)
            for address, size in parts.items():
                self._bytes += size * (address not in self._holders)
                self._holders[address] = self._holders.get(address, 0) + 1
            self._fit()

    def _fit(self) -> None:
        """Evict the least recently used items until the stored, the used and the running ones fit the limit together."""
        while self._held and self._bytes + self._taken() > self._limit:
            _, (thing, parts) = self._held.popitem(last=False)
            freed = 0
            for address, size in parts.items():
                self._holders[address] -= 1
                if not self._holders[address]:
                    del self._holders[address]
                    freed += size
            self._bytes -= freed
            self._freed += freed
            self._watch(thing, freed)
            del thing

    def _watch(self, thing: Any, size: int) -> None:
        """Count an evicted item for as long as it is in use. Small items and types without weak references are skipped."""
        if size >= WATCHED:
            with suppress(TypeError):
                reference = weakref.ref(thing, self._gone)
                self._used[id(reference)] = reference, size

    def _gone(self, thing: "weakref.ref[Any]") -> None:
        _, size = self._used.pop(id(thing))  # called in any thread at any time, so it must not block
        self.dropped.put(size)

    @property
    def nbytes(self) -> int:
        """The bytes of all stored items; shared bytes count once."""
        with self._changed:
            return self._bytes

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the item is stored. This counts as a use, since the caller is about to use the item."""
        with self._changed:
            return self._find(key) is not NOTHING

    def __len__(self) -> int:
        return len(self._held)


def return_dropped(sizes: "SimpleQueue[int]") -> NoReturn:
    """Return the memory of evicted items to the operating system. It runs in a thread of its own, which keeps no cache alive."""
    freed = 0
    while True:
        freed += sizes.get()
        if freed > SPARE:
            time.sleep(SOON)
            give_back(look=False)
            freed = 0


def weigh(thing: object) -> Iterator[tuple[int, int]]:
    """Yield (address, bytes) of everything that an item holds: arrays, tensors, strings and containers; each address once.

    A view counts as the whole array that it keeps alive. Classes, modules and functions are shared and do not count.
    """
    seen: set[int] = set()
    stack = [thing]
    while stack:
        x = stack.pop()
        while isinstance(x, np.ndarray) and x.base is not None:
            x = x.base
        storage = x.untyped_storage() if isinstance(x, torch.Tensor) else None
        address = id(x) if storage is None else storage.data_ptr()
        if address in seen or isinstance(x, SHARED):
            continue
        seen.add(address)
        yield address, sys.getsizeof(x) if storage is None else storage.nbytes()
        stack.extend(_parts(x) if storage is None else ())


SHARED = (type, NoneType, bool, FunctionType, MethodType, BuiltinFunctionType, ModuleType)


def _parts(x: Any) -> Iterator[Any]:
    """Yield the objects that an object refers to."""
    if isinstance(x, torch.nn.Module):
        yield from (*x.parameters(), *x.buffers())
    elif isinstance(x, Mapping):
        yield from (*x.keys(), *x.values())
    elif isinstance(x, (list, tuple, set, frozenset)):
        yield from x
    else:
        yield from getattr(x, "__dict__", {}).values()
        yield from (getattr(x, name) for name in getattr(type(x), "__slots__", ()) if hasattr(x, name))
