"""What one change of one visitor costs the server: processor time and bytes, for a new sentence and for a widget, page by page.

The sentences are those of `viz_core/training/corpus/eval_set.txt`, as people type them. A change is over when the server has sent
nothing for a moment, so that everything which the change sets off counts.
"""

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.benchmarks.crowd import processor
from tests.benchmarks.measure import Result
from tests.benchmarks.servers import APP, running
from tests.benchmarks.visitor import Visitor, visitor
from viz_core.training.corpus import eval_set

SILENCE = 0.15  # seconds without a message after which a change is over
REPEATS = 20  # of each change: the operating system counts a process's time in hundredths of a second
SENTENCE_MS, SENTENCE_KB, WIDGET_MS, WIDGET_KB = 45.0, 150.0, 15.0, 25.0  # the bars
ALL_HEADS = ("attention",)  # pages that send the weights of all heads: their bytes have no bar

Turn = Callable[[Visitor, int], Any]  # makes the change number i; awaitable


def newest(page: Visitor, key: str) -> str:
    """The key of a widget now: when the app sets a widget's value, it appends a number to its key."""
    return next(k for k in reversed(page.widgets) if k == key or k.startswith(f"{key}--"))


def option(key: str) -> Turn:
    """The options of a group of buttons, one after another."""

    def turn(page: Visitor, i: int) -> Any:
        now = newest(page, key)
        offered = [o.content for o in page.widgets[now].element.options]
        return page.choose(now, [offered[(i + 1) % len(offered)]])

    return turn


def slider(key: str, first: int) -> Turn:
    return lambda page, i: page.choose(newest(page, key), [float(first + i)])


def component(key: str, name: str, values: Callable[[int], dict[str, Any]]) -> Turn:
    """A component's state, which counts its changes."""
    return lambda page, i: page.choose(key, json.dumps({name: {"number": i + 1, **values(i)}}))


def stage(page: Visitor, i: int) -> Any:
    boxes = json.loads(page.widgets["walk_map"].element.json)["boxes"]
    names = sorted({box["stage"] for box in boxes})
    return page.tell("walk_map", "open", names[i % len(names)])


def after_token(page: Visitor, i: int) -> Any:
    key = newest(page, "set_home_after")
    stops = list(page.widgets[key].element.options)
    return page.choose(key, [stops[i % len(stops)]])


WIDGETS: dict[str, tuple[str, Turn]] = {  # page → what is changed there, and how
    "home": ("after", after_token),
    "step_by_step": ("stage", stage),
    "attention": ("head", component("att_heads", "focus", lambda i: {"head": ["cross", i % 2, (i // 2) % 4]})),
    "writing": ("strategy", option("set_write_strategy")),
    "cause": ("direction", option("set_cause_direction")),
    "training": ("number", option("set_train_number")),
    "masks": ("cell", component("mask_map", "pick", lambda i: {"cell": [0, i % 3, (i // 3) % 3]})),
    "positions": ("position", slider("set_pos_at", 11)),
    "norms": ("metric", option("set_norm_metric")),
    "shapes": ("columns", option("set_shapes_columns")),
    "documents": ("rows", option("set_documents_rows")),
}


async def quiet(page: Visitor) -> None:
    """Wait until the server says nothing more."""
    before = -1
    while before != page.received:
        before = page.received
        await asyncio.sleep(SILENCE)


async def cost(page: Visitor, process: int, turns: Iterator[Any]) -> tuple[float, float]:
    """Milliseconds of the server's processor and kilobytes, the mean of these changes."""
    await quiet(page)
    used, received, n = processor(process), page.received, 0
    for n, turn in enumerate(turns, 1):  # noqa: B007
        runs = asyncio.Event()
        page.finished = lambda run, runs=runs: runs.set()
        await turn
        await asyncio.wait_for(runs.wait(), 60)
        await quiet(page)
    return 1000 * (processor(process) - used) / n, (page.received - received) / n / 1e3


async def costs(url: str, process: int, name: str, sentences: Iterator[str], repeats: int) -> Iterator[tuple[str, float, float]]:
    """(kind, milliseconds, kilobytes) of this page's changes."""
    found = []
    async with visitor(url, "" if name == "home" else name, {}) as page:
        widget, turn = WIDGETS[name]
        kinds = {
            "sentence": lambda n: (page.choose(newest(page, "set_source"), next(sentences)) for _ in range(n)),
            f"widget ({widget})": lambda n: (turn(page, i) for i in range(n)),
        }
        for kind, turns in kinds.items():
            await cost(page, process, turns(2))  # what only a first change does is left out
            found.append((kind, *await cost(page, process, turns(repeats))))
        if page.exceptions:
            raise RuntimeError(f"{name}: {page.exceptions[0]}")
    return iter(found)


def measure(small: bool) -> Iterator[Result]:
    repeats = 2 if small else REPEATS
    typed = itertools.cycle(sentence.english for sentence in eval_set.eval_sentences())
    with running(APP) as (url, process, _):
        for name in WIDGETS:
            for kind, ms, kb in asyncio.run(costs(url, process.pid, name, typed, repeats)):
                bars = (SENTENCE_MS, SENTENCE_KB) if kind == "sentence" else (WIDGET_MS, WIDGET_KB)
                if small:
                    bars = (None, None)
                if name in ALL_HEADS and kind == "sentence":
                    bars = (bars[0], None)
                yield Result(f"{name}: {kind}, processor", ms, bars[0], (ms, ms), "ms", f"mean of {repeats}")
                yield Result(f"{name}: {kind}, sent", kb, bars[1], (kb, kb), "kB", f"mean of {repeats}")
