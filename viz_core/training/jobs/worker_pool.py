"""The workers: local processes, started at the first job and ended when idle, or those of a cluster.

Both are a Dask scheduler with workers, used through the same client. A local worker is started by Dask's command line and never by
`multiprocessing`: Streamlit installs the app's script as `__main__`, which a spawned process would run again.
"""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import dask
from distributed import Client, Scheduler

from viz_core.messages.errors import UserError
from viz_core.training.jobs.capacity import n_local_workers
from viz_core.training.jobs.timeouts import Timeouts
from viz_core.training.jobs.worker_plugin import TrainingPlugin

LOOPBACK = "127.0.0.1"
DASK_SETTINGS: Mapping[str, object] = MappingProxyType({
    "distributed.admin.low-level-log-length": 100,  # events per topic that the scheduler keeps
    "distributed.scheduler.allowed-failures": 0,  # a run whose worker died is not restarted automatically
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "logging.distributed": "warning",
})
"""Dask settings of the local scheduler and workers. A cluster has its own settings; there only the assignment of tasks keeps a run
from being started twice."""
SINGLE_THREAD_ENV = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
NICENESS = 5  # niceness added for worker processes, so that the server answers visitors first


class WorkerPool(Protocol):
    """A pool of workers, one for each slot."""

    client: Client

    async def open(self) -> None:
        """Connect. Raises `UserError` if there is no scheduler."""

    async def close(self) -> None:
        """Disconnect, and end local worker processes."""

    async def slots(self) -> tuple[str, ...]:
        """Return the slots, preferred ones first."""

    def is_spare(self, slot: str) -> bool:
        """Return whether this slot stays empty while a visitor is active."""

    async def ensure_worker(self, slot: str) -> str:
        """Return the address of this slot's worker, starting one if needed. Raises `OSError` or `TimeoutError` if that fails."""

    async def has_worker(self, address: str) -> bool:
        """Return whether the scheduler still has this worker."""

    async def end_worker(self, slot: str) -> None:
        """End a worker that does not answer."""


class LocalWorkers:
    """A scheduler in this process with local worker processes, on loopback only.

    There is one worker process fewer than cores, and a spare one for the last core while no visitor is active.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self._slots = tuple(map(str, range(n_local_workers() + 1)))
        self._processes: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}  # by slot: (worker name, process)
        self._name_counter = count(1)

    async def open(self) -> None:
        logging.getLogger("distributed").setLevel(logging.WARNING)
        with dask.config.set(dict(DASK_SETTINGS)):
            self._scheduler = await Scheduler(host=LOOPBACK, port=0, dashboard=False, dashboard_address=f"{LOOPBACK}:0")
        self.client = await connect(self._scheduler.address, self.timeouts)

    async def close(self) -> None:
        for slot in tuple(self._processes):
            await self.end_worker(slot)
        await self.client.close()
        await self._scheduler.close()

    async def slots(self) -> tuple[str, ...]:
        return self._slots

    def is_spare(self, slot: str) -> bool:
        return slot == self._slots[-1]

    async def ensure_worker(self, slot: str) -> str:
        if slot not in self._processes or self._processes[slot][1].poll() is not None:
            self._processes[slot] = self._start_process(f"{slot}-{next(self._name_counter)}")
        return await asyncio.wait_for(self._wait_for_address(*self._processes[slot]), self.timeouts.worker_start)

    async def has_worker(self, address: str) -> bool:
        return address in self._scheduler.workers

    async def end_worker(self, slot: str) -> None:
        if slot in self._processes:
            __, process = self._processes.pop(slot)
            process.kill()
            while process.poll() is None:
                await asyncio.sleep(0.01)

    def _start_process(self, name: str) -> "tuple[str, subprocess.Popen[bytes]]":
        """Start a worker process with this name."""
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            self._scheduler.address,
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--dashboard-address",
            f"{LOOPBACK}:0",
            "--host",
            LOOPBACK,
            "--memory-limit",
            "0",
            "--death-timeout",
            str(int(self.timeouts.worker_start)),
            "--name",
            name,
            "--preload",
            "viz_core.training.jobs.train_loop",
        ]
        process = subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL)
        if hasattr(os, "setpriority"):
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        return name, process

    async def _wait_for_address(self, name: str, process: "subprocess.Popen[bytes]") -> str:
        """Wait until the worker of this process is running and return its address. Raises `OSError` if the process ends first."""
        while True:
            for worker in self._scheduler.workers.values():
                if worker.name == name and worker.status.name == "running":
                    return str(worker.address)
            if process.poll() is not None:
                raise OSError(f"the process {name} ended with {process.returncode} before it was ready.")
            await asyncio.sleep(0.02)


def _environment() -> dict[str, str]:
    """Return the environment of a local worker process: the same import path, one thread, and these Dask settings."""
    project_root = str(Path(__file__).parents[3])
    paths = [project_root, *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
    settings = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value) for name, value in DASK_SETTINGS.items()}
    return {**os.environ, **SINGLE_THREAD_ENV, **settings, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


class ClusterWorkers:
    """Workers of an existing cluster, reached through the address of its scheduler."""

    def __init__(self, address: str, timeouts: Timeouts) -> None:
        self.address, self.timeouts = address, timeouts
        self._excluded: set[str] = set()  # workers that did not answer, and get no more work

    async def open(self) -> None:
        self.client = await connect(self.address, self.timeouts)

    async def close(self) -> None:
        await self.client.close()

    async def slots(self) -> tuple[str, ...]:
        found = (await self._fetch_workers()).items()
        return tuple(address for address, info in found if address not in self._excluded and info["status"] == "running")

    def is_spare(self, slot: str) -> bool:
        return False

    async def ensure_worker(self, slot: str) -> str:
        return slot

    async def has_worker(self, address: str) -> bool:
        return address in await self._fetch_workers()

    async def end_worker(self, slot: str) -> None:
        """Restart a worker through its nanny; a worker without one gets no more work."""
        self._excluded.add(slot)
        with suppress(Exception):  # the nanny or the worker may be missing
            await asyncio.wait_for(self.client.restart_workers([slot], timeout=self.timeouts.grace), 2 * self.timeouts.grace)

    async def _fetch_workers(self) -> dict[str, Any]:
        found = await asyncio.wait_for(self.client.scheduler.identity(n_workers=-1), self.timeouts.grace)
        return dict(found["workers"])


async def connect(address: str, timeouts: Timeouts) -> Client:
    """Return a client whose workers have the plugin. Raises `UserError` if no scheduler answers at the address."""
    client = None
    try:
        client = Client(address, asynchronous=True, timeout=timeouts.grace, set_as_default=False, name="attention-lab")
        await client
        await client.register_plugin(TrainingPlugin())
    except (OSError, TimeoutError, ValueError) as error:
        if client is not None:
            with suppress(Exception):  # it may not be far enough connected to be closed
                await client.close(timeout=1)
        raise UserError("no_scheduler", address=address) from error
    return client


async def call_worker(client: Client, address: str, timeout: float, function: Callable[..., Any], *values: object) -> Any:
    """Call a function on a worker, alongside any training, and return its result. Raises `TimeoutError` if there is no answer."""
    answers = await asyncio.wait_for(client.run(function, *values, workers=[address]), timeout)
    return answers[address]
