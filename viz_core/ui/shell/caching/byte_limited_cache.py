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

from viz_core.config.allocator import trim_heap

T = TypeVar("T")
MAX_COMPUTATIONS = max(2, os.cpu_count() or 1)  # computations at once
LONG_SECONDS = 0.3  # seconds from which a computation is long: long ones leave one slot free for short ones
TRACKED_BYTES = 10**6  # bytes from which an evicted item counts towards the limit for as long as it is in use
MEMORY_WAIT_SECONDS = 2.0  # seconds that a computation waits until evicted items are out of use
TRIM_BYTES = 48 * 10**6  # freed bytes from which memory is returned to the operating system
GC_DELAY = 0.05  # seconds that the interpreter gets to free unused items before their memory is returned
POLL = 0.1  # seconds between two checks that the waiting visitor is still connected
NOT_STORED = object()


@dataclass(eq=False, slots=True)
class Computation:
    """One item to compute.

    Computations start in the order of request time plus estimated seconds: short ones go first, and long ones do not starve.
    """

    key: Hashable
    requested_at: float
    seconds: float
    nbytes: int

    @property
    def priority(self) -> float:
        return self.requested_at + self.seconds

    @property
    def is_long(self) -> bool:
        return self.seconds > LONG_SECONDS


SizesOf = Callable[[Any], Iterable[tuple[int, int]]]


class ByteLimitedCache:
    """A thread-safe cache with a limit on its bytes, which evicts the least recently used items first.

    A thread that requests a missing item computes it once a slot is free. At most `max_computations` run at once, short ones
    first, and long ones never take the last slot. Threads that request the same item wait for the one that computes it; if that
    one fails or is interrupted, another thread computes it. Waiting threads call `check_visitor` regularly, which may raise to
    stop waiting. A computation may request other items: they are computed in the same slot, and their bytes count towards its own.
    """

    def __init__(
        self, max_bytes: int, max_computations: int = MAX_COMPUTATIONS, *, check_visitor: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic, sizes_of: SizesOf | None = None,
    ) -> None:
        self._limit, self._jobs, self._check_visitor, self._clock, self._sizes_of = (
            max_bytes,
            max_computations,
            check_visitor,
            clock,
            sizes_of or object_sizes,
        )
        self._entries: OrderedDict[Hashable, tuple[Any, Mapping[int, int]]] = OrderedDict()
        self._reference_counts: dict[int, int] = {}  # address → number of stored items that share these bytes
        self._stored_bytes = self._freed_bytes = 0
        self._dropped_in_use: dict[int, tuple[weakref.ref[Any], int]] = {}  # evicted items that are still in use, and their bytes
        self.freed_sizes: SimpleQueue[int] = SimpleQueue()  # bytes of each evicted item that went out of use
        self._condition = threading.Condition()
        self._waiting: list[Computation] = []
        self._running: list[Computation] = []  # one per slot
        self._computing: dict[Hashable, Computation] = {}  # the running ones, and the items that they requested
        self._thread_local = threading.local()

    def get(self, key: Hashable, make: Callable[[], T], seconds: float = 0.0, nbytes: int = 0) -> T:
        """Return the stored item, or compute it. seconds, nbytes: its approximate cost. An item above the limit is not stored."""
        outer: Computation | None = getattr(self._thread_local, "job", None)
        job = Computation(key, self._clock(), seconds, nbytes)
        held = self._wait_for_turn(job) if outer is None else self._start_nested(job, outer)
        if held is not NOT_STORED:
            return held
        try:
            self._thread_local.job = job
            self._trim_if_needed()
            torch.set_num_threads(1)  # for this thread: there are as many computations at once as cores
            item = make()
            self._insert(job, item)
            return item
        finally:
            self._thread_local.job = outer
            self._finish(job)

    def _wait_for_turn(self, job: Computation) -> Any:
        """Return the stored item, or `NOT_STORED` once it is this thread's turn to compute it."""
        with self._condition:
            if (held := self._find(job.key)) is not NOT_STORED:
                return held
            self._waiting.append(job)
        try:
            while True:
                with self._condition:
                    if (held := self._find(job.key)) is not NOT_STORED:
                        return held
                    if self._next_job() is job:
                        self._running.append(job)
                        self._start(job)
                        return NOT_STORED
                    self._condition.wait(POLL)
                self._check_visitor()
        finally:
            with self._condition:
                self._waiting.remove(job)
                self._condition.notify_all()

    def _start_nested(self, job: Computation, outer: Computation) -> Any:
        """Do the same as `_wait_for_turn` for an item that a running computation requests: in its slot and within its bytes.

        It does not call `check_visitor`, since others may wait for the outer item. Bytes beyond the outer estimate are reserved
        without waiting, since the outer computation could not finish otherwise.
        """
        job.nbytes = max(0, job.nbytes - outer.nbytes)
        with self._condition:
            while (held := self._find(job.key)) is NOT_STORED and job.key in self._computing:
                self._condition.wait()
            if held is NOT_STORED:
                self._start(job)
            return held

    def _find(self, key: Hashable) -> Any:
        if key not in self._entries:
            return NOT_STORED
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def _next_job(self) -> Computation | None:
        """Return the computation that may start: the first by priority for which there is a slot. If it lacks memory, all wait.

        If nothing runs and evicted items in use take the memory, the smallest computation starts instead, because its visitor then
        releases such items. After `MEMORY_WAIT_SECONDS` the first one starts in any case.
        """
        if len(self._running) >= self._jobs:
            return None
        all_but_one_long = sum(job.is_long for job in self._running) >= self._jobs - 1
        eligible = [job for job in self._waiting if job.key not in self._computing and not (job.is_long and all_but_one_long)]
        if not eligible:
            return None
        first = min(eligible, key=lambda job: job.priority)
        if self._unevictable_bytes() + first.nbytes <= self._limit:
            return first
        if self._running:
            return None
        if not self._dropped_in_use or self._clock() - first.requested_at > MEMORY_WAIT_SECONDS:
            return first
        smallest = min(eligible, key=lambda job: job.nbytes)
        return None if smallest is first else smallest

    def _start(self, job: Computation) -> None:
        self._computing[job.key] = job
        self._evict()

    def _finish(self, job: Computation) -> None:
        with self._condition:
            del self._computing[job.key]
            if job in self._running:
                self._running.remove(job)
            self._condition.notify_all()
        self._trim_if_needed()

    def _trim_if_needed(self) -> None:
        with self._condition:
            is_enough = self._freed_bytes > TRIM_BYTES
            self._freed_bytes *= not is_enough
            # Visitors hold these evicted items, or only reference cycles do, which a collection frees.
            in_use = sum(size for _, size in list(self._dropped_in_use.values())) > TRIM_BYTES
        if is_enough:
            trim_heap(collect_cycles=in_use)

    def _unevictable_bytes(self) -> int:
        """Return the bytes that eviction cannot free: those of running computations, and of evicted items that are in use."""
        return sum(job.nbytes for job in self._computing.values()) + sum(size for _, size in list(self._dropped_in_use.values()))

    def _insert(self, job: Computation, thing: object) -> None:
        parts = dict(self._sizes_of(thing))
        with self._condition:
            job.nbytes, self._freed_bytes = 0, self._freed_bytes + job.nbytes  # about this much was in use during the computation
            if sum(parts.values()) > self._limit:
                self._freed_bytes += sum(parts.values())
                return
            self._entries[job.key] = (thing, parts)
            for address, size in parts.items():
                self._stored_bytes += size * (address not in self._reference_counts)
                self._reference_counts[address] = self._reference_counts.get(address, 0) + 1
            self._evict()

    def _evict(self) -> None:
        """Evict the least recently used items until stored items, evicted items in use and running computations fit the limit."""
        while self._entries and self._stored_bytes + self._unevictable_bytes() > self._limit:
            _, (thing, parts) = self._entries.popitem(last=False)
            freed = 0
            for address, size in parts.items():
                self._reference_counts[address] -= 1
                if not self._reference_counts[address]:
                    del self._reference_counts[address]
                    freed += size
            self._stored_bytes -= freed
            self._freed_bytes += freed
            self._track_dropped(thing, freed)
            del thing

    def _track_dropped(self, thing: Any, size: int) -> None:
        """Count an evicted item for as long as it is in use. Small items and types without weak references are skipped."""
        if size >= TRACKED_BYTES:
            with suppress(TypeError):
                reference = weakref.ref(thing, self._on_collected)
                self._dropped_in_use[id(reference)] = reference, size

    def _on_collected(self, thing: "weakref.ref[Any]") -> None:
        _, size = self._dropped_in_use.pop(id(thing))  # called in any thread at any time, so it must not block
        self.freed_sizes.put(size)

    @property
    def nbytes(self) -> int:
        """The bytes of all stored items; shared bytes count once."""
        with self._condition:
            return self._stored_bytes

    def __contains__(self, key: Hashable) -> bool:
        """Return whether the item is stored. This counts as a use, since the caller is about to use the item."""
        with self._condition:
            return self._find(key) is not NOT_STORED

    def __len__(self) -> int:
        return len(self._entries)


def trim_dropped(sizes: "SimpleQueue[int]") -> NoReturn:
    """Return the memory of evicted items to the operating system. It runs in its own thread, without a reference to a cache."""
    freed = 0
    while True:
        freed += sizes.get()
        if freed > TRIM_BYTES:
            time.sleep(GC_DELAY)
            trim_heap(collect_cycles=False)
            freed = 0


def object_sizes(thing: object) -> Iterator[tuple[int, int]]:
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
        if address in seen or isinstance(x, UNCOUNTED_TYPES):
            continue
        seen.add(address)
        yield address, sys.getsizeof(x) if storage is None else storage.nbytes()
        stack.extend(_referenced_objects(x) if storage is None else ())


LEAF_TYPES = (str, bytes, int, float, complex, np.ndarray, np.generic)  # refer to nothing that counts
UNCOUNTED_TYPES = (type, NoneType, bool, FunctionType, MethodType, BuiltinFunctionType, ModuleType)


def _referenced_objects(x: Any) -> Iterator[Any]:
    """Yield the objects that an object refers to."""
    if isinstance(x, LEAF_TYPES):
        return
    if isinstance(x, torch.nn.Module):
        yield from (*x.parameters(), *x.buffers())
    elif isinstance(x, Mapping):
        yield from (*x.keys(), *x.values())
    elif isinstance(x, (list, tuple, set, frozenset)):
        yield from x
    else:
        yield from getattr(x, "__dict__", {}).values()
        yield from (getattr(x, name) for name in getattr(type(x), "__slots__", ()) if hasattr(x, name))
