"""The Dask worker plugin that holds assigned tasks and their updates.

A task is assigned before Dask starts it, and is started only once. So nothing is trained twice, even if Dask reschedules a task,
for example that of a killed worker.
"""

import os
import threading
import time
from collections.abc import Callable

from distributed import Worker, WorkerPlugin, get_worker

from viz_core.training.jobs.mailbox import Mailbox
from viz_core.training.jobs.protocol import Assignment, Command, ProgressUpdate
from viz_core.training.jobs.timeouts import ORPHAN_TIMEOUT


class TrainingPlugin(WorkerPlugin):
    """The assigned tasks of a worker. One run at a time per process, because torch's random state is global."""

    name = "attention-lab-training"
    idempotent = True  # a second server of the same cluster uses the same plugin
    mailboxes: dict[str, Mailbox]
    run_lock: threading.Lock

    def setup(self, worker: Worker) -> None:
        """Import torch before the first task: while a worker reads it from a slow disk, it does not answer."""
        import viz_core.training.jobs.train_loop  # noqa: F401

        self.mailboxes, self.run_lock = {}, threading.Lock()

    def teardown(self, worker: Worker) -> None:
        """Stop all runs."""
        for box in self.mailboxes.values():
            box.command = "stop"


def get_plugin(worker: Worker) -> TrainingPlugin:
    """Return the plugin of a worker."""
    found = worker.plugins[TrainingPlugin.name]
    assert isinstance(found, TrainingPlugin)
    return found


# --- Called by the server through Client.run, in the worker's event loop ----------------------------------------------
def assign(assignment: Assignment, dask_worker: Worker) -> int:
    """Assign a task and return the process id. Drop ended tasks whose updates no server has fetched for a long time."""
    plugin, now = get_plugin(dask_worker), time.monotonic()
    plugin.mailboxes = {n: box for n, box in plugin.mailboxes.items() if now - box.last_fetch < 2 * ORPHAN_TIMEOUT}
    plugin.mailboxes[assignment.assignment_id] = Mailbox(assignment)
    return os.getpid()


def send_command(assignment_id: str, command: Command, dask_worker: Worker) -> bool:
    """End a run after its current step and return True; if it has not started because another server's run is in progress, remove
    the task and return False."""
    boxes = get_plugin(dask_worker).mailboxes
    box = boxes[assignment_id]
    box.command = command
    if not box.is_started:
        del boxes[assignment_id]
    return box.is_started


def fetch_update(assignment_id: str, dask_worker: Worker) -> ProgressUpdate:
    """Return what has happened in a task since the last fetch."""
    return get_plugin(dask_worker).mailboxes[assignment_id].drain()


def fetch_last_update(assignment_id: str, dask_worker: Worker) -> ProgressUpdate:
    """Return the last update of a task that has ended, and remove the task."""
    return get_plugin(dask_worker).mailboxes.pop(assignment_id).drain()


# --- Run as a Dask task, in the training thread -----------------------------------------------------------------------
def run_assignment(assignment_id: str) -> bool:
    """Run an assigned task once, leaving its updates to be fetched. Return False if there is no such task left to start."""
    worker = get_worker()
    plugin = get_plugin(worker)
    box = plugin.mailboxes.get(assignment_id)
    if box is None or box.is_started:
        return False
    box.is_started = True

    def announce(step: int, event: str | None) -> None:
        worker.log_event(box.assignment.topic, {"order": assignment_id, "step": step, "event": event})

    while not plugin.run_lock.acquire(timeout=0.05):
        if reason := box.pending_end:
            box.set_end(reason)
            return True
    try:
        _run_training(box, announce)
    finally:
        plugin.run_lock.release()
    return True


def _run_training(mailbox: Mailbox, announce: Callable[[int, str | None], None]) -> None:
    """Call `run_training`, imported here because it imports torch: neither a scheduler nor the answering thread should wait for
    that."""
    from viz_core.training.jobs.train_loop import run_training

    run_training(mailbox, announce)
