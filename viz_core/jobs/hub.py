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

from viz_core.jobs.desk import Desk
from viz_core.jobs.times import Times
from viz_core.jobs.waiting import processes
from viz_core.problems import Problem

LOOPBACK = "127.0.0.1"
SETTINGS: Mapping[str, object] = MappingProxyType({
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
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
LOWER = 5  # niceness added for worker processes, so that the server answers visitors first


class Hub(Protocol):
    """A pool of workers, one for each slot."""

    client: Client

    async def open(self) -> None:
        """Connect. Raises `UserError` if there is no scheduler."""

    async def close(self) -> None:
        """Disconnect, and end local worker processes."""

    async def places(self) -> tuple[str, ...]:
        """Return the slots, preferred ones first."""

    def spare(self, place: str) -> bool:
        """Return whether this slot stays empty while a visitor is active."""

    async def ready(self, place: str) -> str:
        """Return the address of this slot's worker, starting one if needed. Raises `OSError` or `TimeoutError` if that fails."""

    async def there(self, address: str) -> bool:
        """Return whether the scheduler still has this worker."""

    async def replace(self, place: str) -> None:
        """End a worker that does not answer."""


class Beside:
    """A scheduler in this process with local worker processes, on loopback only.

    There is one worker process less than cores, and a spare one for the last core while no visitor is active.
    """

    def __init__(self, times: Times) -> None:
        self.times = times
        self._places = tuple(map(str, range(processes() + 1)))
        self._processes: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}  # by slot: (worker name, process)
        self._count = count(1)

    async def open(self) -> None:
        logging.getLogger("distributed").setLevel(logging.WARNING)
        with dask.config.set(dict(SETTINGS)):
            self._scheduler = await Scheduler(host=LOOPBACK, port=0, dashboard=False, dashboard_address=f"{LOOPBACK}:0")
        self.client = await connected(self._scheduler.address, self.times)

    async def close(self) -> None:
        for place in tuple(self._processes):
            await self.replace(place)
        await self.client.close()
        await self._scheduler.close()

    async def places(self) -> tuple[str, ...]:
        return self._places

    def spare(self, place: str) -> bool:
        return place == self._places[-1]

    async def ready(self, place: str) -> str:
        if place not in self._processes or self._processes[place][1].poll() is not None:
            self._processes[place] = self._started(f"{place}-{next(self._count)}")
        return await asyncio.wait_for(self._address(*self._processes[place]), self.times.start)

    async def there(self, address: str) -> bool:
        return address in self._scheduler.workers

    async def replace(self, place: str) -> None:
        if place in self._processes:
            __, process = self._processes.pop(place)
            process.kill()
            while process.poll() is None:
                await asyncio.sleep(0.01)

    def _started(self, name: str) -> "tuple[str, subprocess.Popen[bytes]]":
        """Start a worker process with this name."""
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self._scheduler.address, "--no-nanny", "--nthreads", "1",
                   "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0", "--host", LOOPBACK, "--memory-limit", "0",
                   "--death-timeout", str(int(self.times.start)), "--name", name, "--preload", "viz_core.jobs.labour"]
        process = subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL)
        if hasattr(os, "setpriority"):
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + LOWER)
        return name, process

    async def _address(self, name: str, process: "subprocess.Popen[bytes]") -> str:
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
    project_root = str(Path(__file__).parents[2])
    paths = [project_root, *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
    settings = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value) for name, value in SETTINGS.items()}
    return {**os.environ, **ONE_THREAD, **settings, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


class Cluster:
    """Workers of an existing cluster, reached through the address of its scheduler."""

    def __init__(self, address: str, times: Times) -> None:
        self.address, self.times = address, times
        self._out: set[str] = set()  # workers that did not answer, and get no more work

    async def open(self) -> None:
        self.client = await connected(self.address, self.times)

    async def close(self) -> None:
        await self.client.close()

    async def places(self) -> tuple[str, ...]:
        found = (await self._workers()).items()
        return tuple(address for address, info in found if address not in self._out and info["status"] == "running")

    def spare(self, place: str) -> bool:
        return False

    async def ready(self, place: str) -> str:
        return place

    async def there(self, address: str) -> bool:
        return address in await self._workers()

    async def replace(self, place: str) -> None:
        """Restart a worker through its nanny; a worker without one gets no more work."""
        self._out.add(place)
        with suppress(Exception):  # the nanny or the worker may be missing
            await asyncio.wait_for(self.client.restart_workers([place], timeout=self.times.grace), 2 * self.times.grace)

    async def _workers(self) -> dict[str, Any]:
        found = await asyncio.wait_for(self.client.scheduler.identity(n_workers=-1), self.times.grace)
        return dict(found["workers"])


async def connected(address: str, times: Times) -> Client:
    """Return a client whose workers have the plugin. Raises `UserError` if no scheduler answers at the address."""
    client = None
    try:
        client = Client(address, asynchronous=True, timeout=times.grace, set_as_default=False, name="attention-lab")
        await client
        await client.register_plugin(Desk())
    except (OSError, TimeoutError, ValueError) as error:
        if client is not None:
            with suppress(Exception):  # it may not be far enough connected to be closed
                await client.close(timeout=1)
        raise Problem(f"the scheduler at {address} does not answer; start it, or correct the address.", "no_scheduler",
                      address=address) from error
    return client


async def ask(client: Client, address: str, seconds: float, function: Callable[..., Any], *values: object) -> Any:
    """Call a function on a worker, alongside any training, and return its result. Raises `TimeoutError` if there is no answer."""
    answers = await asyncio.wait_for(client.run(function, *values, workers=[address]), seconds)
    return answers[address]
