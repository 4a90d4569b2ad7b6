"""Counts what Dask starts at a worker, beside everything that the engine itself says."""

from pathlib import Path

from distributed import Worker, WorkerPlugin


class Starts(WorkerPlugin):
    """Writes a line with the task's key whenever one starts, which survives the worker."""

    name = "starts"

    def __init__(self, path: str) -> None:
        self.path = path

    def setup(self, worker: Worker) -> None:
        self.worker = worker

    def transition(self, key: str, start: str, finish: str, **more: object) -> None:
        if finish == "executing":
            with Path(self.path).open("a") as file:
                file.write(f"{key}\n")


def process_id() -> int:
    """Of the worker that is asked."""
    import os

    return os.getpid()
