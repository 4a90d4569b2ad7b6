"""The Dask worker plugin that holds assigned tasks and their updates.

A task is assigned before Dask starts it, and is started only once. So nothing is trained twice, even if Dask reschedules a task,
for example that of a killed worker.
"""

import os
import threading
import time
from collections.abc import Callable

from distributed import Worker, WorkerPlugin, get_worker

from viz_core.jobs.box import Box
from viz_core.jobs.messages import Order, Parcel, Wish
from viz_core.jobs.times import ORPHANED


class Desk(WorkerPlugin):
    """The assigned tasks of a worker. One run at a time per process, because torch's random state is global."""

    name = "attention-lab-desk"
    idempotent = True  # a second server of the same cluster uses the same plugin
    boxes: dict[str, Box]
    turn: threading.Lock

    def setup(self, worker: Worker) -> None:
        """Import torch before the first task: while a worker reads it from a slow disk, it does not answer."""
        import viz_core.jobs.labour  # noqa: F401

        self.boxes, self.turn = {}, threading.Lock()

    def teardown(self, worker: Worker) -> None:
        """Stop all runs."""
        for box in self.boxes.values():
            box.wish = "stop"


def desk_of(worker: Worker) -> Desk:
    """Return the plugin of a worker."""
    found = worker.plugins[Desk.name]
    assert isinstance(found, Desk)
    return found


# --- Called by the server through Client.run, in the worker's event loop ----------------------------------------------
def put(order: Order, dask_worker: Worker) -> int:
    """Assign a task and return the process id. Drop ended tasks whose updates no server has fetched for a long time."""
    plugin, now = desk_of(dask_worker), time.monotonic()
    plugin.boxes = {n: box for n, box in plugin.boxes.items() if now - box.asked < 2 * ORPHANED}
    plugin.boxes[order.number] = Box(order)
    return os.getpid()


def tell(number: str, wish: Wish, dask_worker: Worker) -> bool:
    """End a run after its current step and return True; if it has not started because another server's run is in progress, remove
    the task and return False."""
    boxes = desk_of(dask_worker).boxes
    box = boxes[number]
    box.wish = wish
    if not box.taken:
        del boxes[number]
    return box.taken


def fetch(number: str, dask_worker: Worker) -> Parcel:
    """Return the update of a task."""
    return desk_of(dask_worker).boxes[number].fetched()


def last(number: str, dask_worker: Worker) -> Parcel:
    """Return the last update of a task that has ended, and remove the task."""
    return desk_of(dask_worker).boxes.pop(number).fetched()


# --- Run as a Dask task, in the training thread -----------------------------------------------------------------------
def train(number: str) -> bool:
    """Run an assigned task once, leaving its updates to be fetched. Return False if there is no such task left to start."""
    worker = get_worker()
    plugin = desk_of(worker)
    box = plugin.boxes.get(number)
    if box is None or box.taken:
        return False
    box.taken = True

    def announce(step: int, event: str | None) -> None:
        worker.log_event(box.order.topic, {"order": number, "step": step, "event": event})

    while not plugin.turn.acquire(timeout=0.05):
        if reason := box.due:
            box.end(reason)
            return True
    try:
        _carry_out(box, announce)
    finally:
        plugin.turn.release()
    return True


def _carry_out(box: Box, announce: Callable[[int, str | None], None]) -> None:
    """Call `run_training`, imported here because it imports torch: neither a scheduler nor the answering thread should wait for
    that."""
    from viz_core.jobs.labour import carry_out

    carry_out(box, announce)
