"""The state of one assigned task on a worker, shared by the training thread and the thread that answers the server."""

import threading
import time
from typing import TYPE_CHECKING

from viz_core.messages.errors import UserError
from viz_core.training.jobs.protocol import Assignment, Command, EndReason, ProgressUpdate, RunStart, SavedState
from viz_core.training.jobs.timeouts import ORPHAN_TIMEOUT

if TYPE_CHECKING:
    from viz_core.training.interactive.training_run import StepEvent

MAX_UNFETCHED_BYTES = 32 * 2**20  # of snapshots that wait to be fetched; beyond this the oldest are dropped


class Mailbox:
    """The server's command for a task, and the updates that wait to be fetched."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self.is_started = False
        self.command: Command | None = None  # read before every step
        self.last_fetch = time.monotonic()  # when the server last fetched an update
        self._unfetched = ProgressUpdate()
        self._lock = threading.Lock()

    @property
    def pending_end(self) -> EndReason | None:
        """Why the attempt should end now, or None."""
        if self.command is not None:
            return "told"
        return "orphaned" if time.monotonic() - self.last_fetch > ORPHAN_TIMEOUT else None

    def set_start(self, run_start: RunStart) -> None:
        """Set the facts about the start of the run."""
        with self._lock:
            self._unfetched.run_start = run_start

    def add_event(self, event: "StepEvent") -> None:
        """Add an event."""
        with self._lock:
            self._unfetched.events.append(event)

    def add_snapshot(self, snapshot: bytes) -> None:
        """Add a snapshot; drop the oldest while too many bytes wait. The newest always stays."""
        with self._lock:
            waiting = self._unfetched.snapshots
            waiting.append(snapshot)
            while len(waiting) > 1 and sum(map(len, waiting)) > MAX_UNFETCHED_BYTES:
                del waiting[0]

    def set_state(self, state: SavedState) -> None:
        """Set the latest saved state."""
        with self._lock:
            self._unfetched.saved_state = state

    def set_end(self, reason: EndReason, error: UserError | None = None) -> None:
        """Set why the attempt has ended."""
        with self._lock:
            self._unfetched.end_reason = reason
            self._unfetched.error = error

    def drain(self) -> ProgressUpdate:
        """Return everything that waits, and clear it."""
        self.last_fetch = time.monotonic()
        with self._lock:
            update, self._unfetched = self._unfetched, ProgressUpdate()
        return update
