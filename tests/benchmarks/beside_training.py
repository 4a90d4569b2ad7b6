"""Another visitor's step on another page, while a training runs and while none does, in turns.

A step is a new seed: from the message to the end of the run that answers it, which holds a whole run of the model.
"""

import asyncio
import time
from collections.abc import Iterator

from tests.benchmarks.measure import Result, ratio
from tests.benchmarks.servers import APP, served
from tests.benchmarks.visitor import Visitor, visitor

BAR = 2.0
ROUNDS, STEPS = 4, 10  # of each kind
TRAINING = {"train_task": "sort", "train_steps": "10000"}
PATIENCE = 120.0  # seconds until a process trains


async def steps(v: Visitor, seeds: range) -> list[float]:
    """Milliseconds of each new seed."""
    times = []
    for seed in seeds:
        ended = asyncio.Event()
        v.finished = lambda run, ended=ended: ended.set()
        key = next(name for name in v.widgets if name.startswith("set_seed"))
        start = time.perf_counter()
        await v.choose(key, float(seed))
        await ended.wait()
        times.append(1000 * (time.perf_counter() - start))
        await asyncio.sleep(0.3)
    return times


async def until(v: Visitor, said: str) -> None:
    """Ask until the page says so, as its clock does in a browser."""
    end = time.monotonic() + PATIENCE
    while not any(said in text for text in v.said):
        if time.monotonic() > end:
            raise RuntimeError(f"the page Training never said {said!r}: {v.said} {v.exceptions}")
        await asyncio.sleep(0.5)
        ended = asyncio.Event()
        v.finished = lambda run, ended=ended: ended.set()
        await v.rerun()
        await ended.wait()


async def both(url: str, rounds: int, each: int) -> tuple[list[float], list[float]]:
    """Milliseconds of the steps beside a training, and of those beside none."""
    beside: list[float] = []
    alone: list[float] = []
    async with visitor(url, "training", TRAINING) as trainer, visitor(url, "attention", {"preset": "000"}) as reader:
        await steps(reader, range(1, 3))  # warms up
        await trainer.press("train_begin")
        for turn in range(rounds):
            await until(trainer, "It is training.")
            beside += await steps(reader, range(100 * turn + 10, 100 * turn + 10 + each))
            await trainer.press("train_pause")
            await until(trainer, "**Paused.**")
            alone += await steps(reader, range(100 * turn + 60, 100 * turn + 60 + each))
            await trainer.press("train_go_on")
        await until(trainer, "It is training.")
        await trainer.press("train_stop")
        await until(trainer, "The trained weights are kept.")
        if problems := trainer.exceptions + reader.exceptions:
            raise RuntimeError("\n".join(problems))
    return beside, alone


def measure(small: bool) -> Iterator[Result]:
    with served(APP) as url:
        times = asyncio.run(both(url, *((1, 2) if small else (ROUNDS, STEPS))))
    yield ratio("a step beside a training", *times, None if small else BAR, "another visitor's new seed on Attention, preset 000")
