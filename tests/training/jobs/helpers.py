"""Waiting for a job, and reaching into an engine's cluster to disturb it."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from distributed import Client

from tests.training.interactive.small import recipe
from tests.training.jobs.starts import process_id
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.training_run import StepEvent, TrainingRun, tensors_sha256
from viz_core.training.jobs.engine import Engine
from viz_core.training.jobs.job import JobView

LONG = recipe(steps=20_000, measured_every=20_000)  # longer than any test waits
SHORT = recipe(steps=60, measured_every=20, **{"config.norm": "pre"})


def awaited(engine: Engine, number: str, until: Callable[[JobView], bool], seconds: float = 200) -> JobView:
    """The job as soon as this is true of it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        seen = engine.view(number)
        assert seen is not None
        if until(seen):
            return seen
        time.sleep(0.01)
    raise AssertionError(f"after {seconds} seconds the job is {engine.view(number)}")


def ended(engine: Engine, number: str) -> JobView:
    return awaited(engine, number, lambda seen: seen.state not in ("waiting", "starting", "running"))


def beyond(engine: Engine, number: str, step: int) -> JobView:
    """The job once a state behind this step is stored on the server."""
    return awaited(engine, number, lambda seen: seen.runs[0].saved_step >= step)


def in_loop(engine: Engine, make: Callable[[], Awaitable[Any]]) -> Any:
    """What something says that is awaited in the engine's own loop."""
    async def said() -> Any:
        return await make()

    assert engine._dispatcher is not None and engine._dispatcher._loop is not None
    return asyncio.run_coroutine_threadsafe(said(), engine._dispatcher._loop).result(60)


def client(engine: Engine) -> Client:
    assert engine._dispatcher is not None and engine._dispatcher.pool is not None
    return engine._dispatcher.pool.client


def address(engine: Engine) -> str:
    """Of the worker that trains now."""
    assert engine._dispatcher is not None
    (attempt,) = engine._dispatcher.attempts.values()
    return attempt._address


def worker(engine: Engine) -> int:
    """The process that trains now."""
    where = address(engine)
    return int(in_loop(engine, lambda: client(engine).run(process_id, workers=[where]))[where])


def alive(process: int) -> bool:
    """Whether there is such a process, zombies aside."""
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def trained(asked: Recipe) -> tuple[TrainingRun, list[StepEvent]]:
    """The same run here, without any engine."""
    run = TrainingRun(asked)
    return run, list(run)


def hash_of(engine: Engine, number: str, run: int = 0) -> str:
    return tensors_sha256(engine.weights(number, run))
