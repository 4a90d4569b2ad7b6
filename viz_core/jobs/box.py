"""The state of one assigned task on a worker, shared by the training thread and the thread that answers the server."""

import threading
import time
from typing import TYPE_CHECKING

from viz_core.jobs.messages import Ended, Opening, Order, Parcel, Stored, Wish
from viz_core.jobs.times import ORPHANED
from viz_core.problems import Problem

if TYPE_CHECKING:
    from viz_core.learning.training_run import Event

WAITING_BYTES = 32 * 2**20  # of snapshots that wait to be fetched; beyond this the oldest are dropped


class Box:
    """The server's command for a task, and the updates that wait to be fetched."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.taken = False
        self.wish: Wish | None = None  # read before every step
        self.asked = time.monotonic()  # when the server last fetched an update
        self._waiting = Parcel()
        self._lock = threading.Lock()

    @property
    def due(self) -> Ended | None:
        """Why the attempt should end now, or None."""
        if self.wish is not None:
            return "told"
        return "orphaned" if time.monotonic() - self.asked > ORPHANED else None

    def open(self, opening: Opening) -> None:
        """Set the facts about the start of the run."""
        with self._lock:
            self._waiting.opening = opening

    def add(self, event: "Event") -> None:
        """Add an event."""
        with self._lock:
            self._waiting.events.append(event)

    def keep(self, moment: bytes) -> None:
        """Add a snapshot; drop the oldest while too many bytes wait. The newest always stays."""
        with self._lock:
            waiting = self._waiting.moments
            waiting.append(moment)
            while len(waiting) > 1 and sum(map(len, waiting)) > WAITING_BYTES:
                del waiting[0]

    def store(self, state: Stored) -> None:
        """Set the latest saved state."""
        with self._lock:
            self._waiting.state = state

    def end(self, why: Ended, problem: Problem | None = None) -> None:
        """Set why the attempt has ended."""
        with self._lock:
            self._waiting.ended = why
            self._waiting.problem = problem

    def fetched(self) -> Parcel:
        """Return everything that waits, and clear it."""
        self.asked = time.monotonic()
        with self._lock:
            parcel, self._waiting = self._waiting, Parcel()
        return parcel
