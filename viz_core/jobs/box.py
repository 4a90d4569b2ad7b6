"""At a worker: one order, between the thread that trains and the thread that talks to the server."""

import threading
import time
from typing import TYPE_CHECKING

from viz_core.jobs.messages import Ended, Opening, Order, Parcel, Stored, Wish
from viz_core.jobs.times import ORPHANED
from viz_core.problems import Problem

if TYPE_CHECKING:
    from viz_core.learning.training_run import Event

WAITING_BYTES = 32 * 2**20  # of moments that wait to be fetched; the oldest are dropped


class Box:
    """What the server wishes, and what waits to be fetched."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.taken = False
        self.wish: Wish | None = None  # read at every step
        self.asked = time.monotonic()  # when the server last did
        self._waiting = Parcel()
        self._lock = threading.Lock()

    @property
    def due(self) -> Ended | None:
        """Why the attempt should end now, if it should."""
        if self.wish is not None:
            return "told"
        return "orphaned" if time.monotonic() - self.asked > ORPHANED else None

    def open(self, opening: Opening) -> None:
        with self._lock:
            self._waiting.opening = opening

    def add(self, event: "Event") -> None:
        with self._lock:
            self._waiting.events.append(event)

    def keep(self, moment: bytes) -> None:
        """One more moment. The newest always stays."""
        with self._lock:
            waiting = self._waiting.moments
            waiting.append(moment)
            while len(waiting) > 1 and sum(map(len, waiting)) > WAITING_BYTES:
                del waiting[0]

    def store(self, state: Stored) -> None:
        with self._lock:
            self._waiting.state = state

    def end(self, why: Ended, problem: Problem | None = None) -> None:
        with self._lock:
            self._waiting.ended = why
            self._waiting.problem = problem

    def fetched(self) -> Parcel:
        """All that waits; nothing waits afterwards."""
        self.asked = time.monotonic()
        with self._lock:
            parcel, self._waiting = self._waiting, Parcel()
        return parcel
