"""Hurried keys on the sizes' sliders: whatever the pace and the line, they end where slow ones do.

A slow hand waits for each answer. Keys of a hurried one come every 10 to 300 ms (a keyboard repeats every 33), on the
server's own machine and over a line whose answers take 240 ms.
"""

import asyncio
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.benchmarks.measure import Result
from tests.benchmarks.servers import APP, pages, served
from tests.browser.helpers import idle, open_page
from tests.browser.test_app import address
from tests.browser.test_hurry import SIZES, press, said, slider

# Slider and keys, one after another. d_model and qk_dim are rounded to the heads, so those come last.
ORDERS = (
    (("n_heads", "R8 L5"),), (("n_heads", "R8 L8"),), (("n_heads", "L3 R9 L2"),),
    (("d_model", "R5 L2"),), (("d_model", "L2 R6"),),
    (("qk_dim", "R4 L1"),), (("qk_dim", "L2 R5"),),
    (("d_model", "R3"), ("n_heads", "R4 L2")), (("qk_dim", "R2"), ("n_heads", "R5 L2")),
    (("qk_dim", "L1"), ("d_model", "R3"), ("n_heads", "R1 L2")),
)
SMALL = ((("n_heads", "R2 L1"),),)
PAUSES = (10, 33, 60, 150, 300)  # ms
LINE = 0.24  # seconds
SETTLED = 1000  # ms without a word from the server


def measure(small: bool) -> Iterator[Result]:
    orders, pauses = (SMALL, PAUSES[1:2]) if small else (ORDERS, PAUSES)
    tried, astray = 0, []
    with served(APP) as url, delayed(url, LINE) as far, pages() as new_page:
        for keys in orders:
            slow = ends(new_page(), url, keys, pause=None)
            for at in (url, far):
                for pause in pauses:
                    ended = ends(new_page(), at, keys, pause)
                    tried += 1
                    if ended != slow:
                        astray.append(f"{keys}, a key every {pause} ms{' over the line' * (at is far)}: {ended}, not {slow}")
    if astray:
        raise RuntimeError("\n".join(astray))
    setting = f"all of {len(orders)} orders of keys × {len(pauses)} paces × a line of 0 and {1000 * LINE:g} ms"
    yield Result("hurried keys that end right", tried, None, (tried, tried), "", setting)


def ends(page: Page, url: str, keys: tuple[tuple[str, str], ...], pause: int | None) -> tuple[dict[str, str], dict[str, str]]:
    """What the link and the sliders of a new tab say in the end. pause: ms between keys; None: each waits for its answer."""
    opened = {"open": "all_switches"} if any(name == "qk_dim" for name, _ in keys) else {}
    open_page(page, address(url, "documents", preset="000", **opened))  # of the pages the quickest
    for name, pressed in keys:
        if pause is None:
            for way, times in re.findall(r"([RL])(\d+)", pressed):
                for _ in range(int(times)):
                    press(page, name, f"{way}1", 0)
                    idle(page)
        else:
            press(page, name, pressed, pause)
    idle(page)
    page.wait_for_timeout(SETTLED)
    idle(page)
    shown = {name: slider(page, name) for name in ("n_heads", "d_model", *("qk_dim",) * bool(opened))}
    link = {name: value for name, value in said(page.url).items() if name in SIZES}
    page.close()
    return link, shown


@contextmanager
def delayed(url: str, seconds: float) -> Iterator[str]:
    """The same server at the end of a line: what it answers comes so many seconds later, in order."""
    host, port = urlsplit(url).hostname, urlsplit(url).port
    opened: Future[tuple[int, Callable[[], object]]] = Future()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, late: float) -> None:
        while data := await reader.read(2**16):
            asyncio.get_running_loop().call_later(late, writer.write, data)
        asyncio.get_running_loop().call_later(late, writer.close)

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(host, port)
        with suppress(asyncio.CancelledError):  # the line ends before the tab does
            await asyncio.gather(carry(reader, to_server, 0), carry(from_server, writer, seconds), return_exceptions=True)

    async def listen() -> None:
        loop, closed = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(connect, "127.0.0.1", 0)
        opened.set_result((server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(closed.set)))
        await closed.wait()

    thread = threading.Thread(target=asyncio.run, args=(listen(),))
    thread.start()
    near, close = opened.result()
    try:
        yield f"http://127.0.0.1:{near}"
    finally:
        close()
        thread.join()
