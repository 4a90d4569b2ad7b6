"""The workers: processes beside the server, started at the first job and ended when idle, or those of a cluster.

Both are a Dask scheduler with workers, and the same client talks to them. A worker beside the server is started by Dask's own
command and never by `multiprocessing`: Streamlit puts the app's script in the place of `__main__`, which a spawned process would
run again.
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
    "distributed.admin.low-level-log-length": 100,  # events that the scheduler keeps of each topic
    "distributed.scheduler.allowed-failures": 0,  # a run whose worker died is not started again by itself
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "logging.distributed": "warning",
})
"""Dask's settings for processes beside the server. A cluster has its own: there the orders' desk alone keeps a run from being
started twice."""
ONE_THREAD = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS")}
LOWER = 5  # priority of a process that trains, below the server's: a visitor's click comes first


class Hub(Protocol):
    """Workers, each at a place of its own."""

    client: Client

    async def open(self) -> None:
        """`Problem`, one sentence, if there is no scheduler."""

    async def close(self) -> None: ...

    async def places(self) -> tuple[str, ...]:
        """Where a run could go, the ones to prefer first."""

    def spare(self, place: str) -> bool:
        """Whether this place is to be empty while a visitor is active."""

    async def ready(self, place: str) -> str:
        """The address of the worker at this place, which is started if there is none; `OSError` or `TimeoutError` if it fails."""

    async def there(self, address: str) -> bool:
        """Whether the scheduler still has this worker."""

    async def replace(self, place: str) -> None:
        """End a worker that does not answer."""


class Beside:
    """A scheduler in the server, and processes beside it: one less than there are cores, and a spare one for the last core while no
    visitor is active. On loopback only."""

    def __init__(self, times: Times) -> None:
        self.times = times
        self._places = tuple(map(str, range(processes() + 1)))
        self._processes: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}  # by place, with the name that its worker has
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
        command = [sys.executable, "-m", "distributed.cli.dask_worker", self._scheduler.address, "--no-nanny", "--nthreads", "1",
                   "--no-dashboard", "--dashboard-address", f"{LOOPBACK}:0", "--host", LOOPBACK, "--memory-limit", "0",
                   "--death-timeout", str(int(self.times.start)), "--name", name, "--preload", "viz_core.jobs.labour"]
        process = subprocess.Popen(command, env=_environment(), stdin=subprocess.DEVNULL)
        if hasattr(os, "setpriority"):
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + LOWER)
        return name, process

    async def _address(self, name: str, process: "subprocess.Popen[bytes]") -> str:
        """Where the worker of this process listens, once it does."""
        while True:
            for worker in self._scheduler.workers.values():
                if worker.name == name and worker.status.name == "running":
                    return str(worker.address)
            if process.poll() is not None:
                raise OSError(f"the process {name} ended with {process.returncode} before it was ready.")
            await asyncio.sleep(0.02)


def _environment() -> dict[str, str]:
    """Of a process beside the server: it finds the same modules, computes with one thread, and has Dask's settings from here."""
    own = str(Path(__file__).parents[2])
    paths = [own, *(path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path)]
    said = {f"DASK_{name.upper().replace('.', '__').replace('-', '_')}": str(value) for name, value in SETTINGS.items()}
    return {**os.environ, **ONE_THREAD, **said, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}


class Cluster:
    """Workers that somebody else has started, with a scheduler at a known address."""

    def __init__(self, address: str, times: Times) -> None:
        self.address, self.times = address, times
        self._out: set[str] = set()  # workers that did not answer and could not be restarted

    async def open(self) -> None:
        self.client = await connected(self.address, self.times)

    async def close(self) -> None:
        await self.client.close()

    async def places(self) -> tuple[str, ...]:
        found = (await self._workers()).items()
        return tuple(address for address, said in found if address not in self._out and said["status"] == "running")

    def spare(self, place: str) -> bool:
        return False

    async def ready(self, place: str) -> str:
        return place

    async def there(self, address: str) -> bool:
        return address in await self._workers()

    async def replace(self, place: str) -> None:
        """By its nanny; a worker without one gets no more work."""
        self._out.add(place)
        with suppress(Exception):  # there may be no nanny, or no worker any more
            await asyncio.wait_for(self.client.restart_workers([place], timeout=self.times.grace), 2 * self.times.grace)

    async def _workers(self) -> dict[str, Any]:
        found = await asyncio.wait_for(self.client.scheduler.identity(n_workers=-1), self.times.grace)
        return dict(found["workers"])


async def connected(address: str, times: Times) -> Client:
    """A client whose workers have a desk. `Problem` if no scheduler answers there."""
    client = None
    try:
        client = Client(address, asynchronous=True, timeout=times.grace, set_as_default=False, name="attention-lab")
        await client
        await client.register_plugin(Desk())
    except (OSError, TimeoutError, ValueError) as error:
        if client is not None:
            with suppress(Exception):  # it may not have come far enough to be closed
                await client.close(timeout=1)
        raise Problem(f"the scheduler at {address} does not answer; start it, or correct the address.", "no_scheduler",
                      address=address) from error
    return client


async def ask(client: Client, address: str, seconds: float, function: Callable[..., Any], *values: object) -> Any:
    """What a function says that is called at a worker, beside whatever it trains. `TimeoutError` if it says nothing."""
    answers = await asyncio.wait_for(client.run(function, *values, workers=[address]), seconds)
    return answers[address]
