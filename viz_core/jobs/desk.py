"""At a worker: the orders that lie there, and of each what waits to be fetched.

An order is put on the desk before Dask starts its task, and is taken from it once. So whatever Dask thinks fit to do again, such
as the task of a worker that was killed, nothing is trained twice.
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
    """The orders of a worker. One run at a time in a process: torch's random state is the process's."""

    name = "attention-lab-desk"
    idempotent = True  # a second server of the same cluster finds it there
    boxes: dict[str, Box]
    turn: threading.Lock

    def setup(self, worker: Worker) -> None:
        """torch is imported now: a worker that reads it from a slow disk does not answer meanwhile."""
        import viz_core.jobs.labour  # noqa: F401

        self.boxes, self.turn = {}, threading.Lock()

    def teardown(self, worker: Worker) -> None:
        for box in self.boxes.values():
            box.wish = "stop"


def desk_of(worker: Worker) -> Desk:
    found = worker.plugins[Desk.name]
    assert isinstance(found, Desk)
    return found


# --- What the server asks of a worker, answered by the thread that talks ----------------------------------------------
def put(order: Order, dask_worker: Worker) -> int:
    """Lay down an order -> the id of the process. Orders that no server has asked for since they ended are thrown away."""
    desk, now = desk_of(dask_worker), time.monotonic()
    desk.boxes = {n: box for n, box in desk.boxes.items() if now - box.asked < 2 * ORPHANED}
    desk.boxes[order.number] = Box(order)
    return os.getpid()


def tell(number: str, wish: Wish, dask_worker: Worker) -> bool:
    """The run of this order ends behind the step that it is taking -> True; an order that has not begun, since the worker is
    busy with another server's, is taken away -> False."""
    boxes = desk_of(dask_worker).boxes
    box = boxes[number]
    box.wish = wish
    if not box.taken:
        del boxes[number]
    return box.taken


def fetch(number: str, dask_worker: Worker) -> Parcel:
    return desk_of(dask_worker).boxes[number].fetched()


def last(number: str, dask_worker: Worker) -> Parcel:
    """The parcel of an order that has ended; it leaves the desk."""
    return desk_of(dask_worker).boxes.pop(number).fetched()


# --- What the scheduler starts, in the thread that trains -------------------------------------------------------------
def train(number: str) -> bool:
    """Carry out an order, once. What comes of it waits on the desk; False if there was none to carry out."""
    worker = get_worker()
    desk = desk_of(worker)
    box = desk.boxes.get(number)
    if box is None or box.taken:
        return False
    box.taken = True

    def announce(step: int, event: str | None) -> None:
        worker.log_event(box.order.topic, {"order": number, "step": step, "event": event})

    while not desk.turn.acquire(timeout=0.05):
        if due := box.due:
            box.end(due)
            return True
    try:
        _carry_out(box, announce)
    finally:
        desk.turn.release()
    return True


def _carry_out(box: Box, announce: Callable[[int, str | None], None]) -> None:
    """The steps are another module's, which imports torch: neither a scheduler nor the thread that talks should wait for it."""
    from viz_core.jobs.labour import carry_out

    carry_out(box, announce)
