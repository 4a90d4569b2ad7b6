"""Tabs that lose their session in the middle of work, on every page: each goes on at the next click and has lost nothing.

The server is killed and started again, or the connection is cut for 140 seconds, longer than Streamlit keeps a session.
A tab is timed from the moment when its server can be reached again until it has answered the next click; the tabs click
one after another, so the last one has also waited for the others.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from playwright.sync_api import Page

from tests.benchmarks.measure import Result, middle_half
from tests.benchmarks.servers import VIEWPORT, chromium, launched
from tests.browser.conftest import await_health
from tests.browser.helpers import listen
from tests.browser.sessions import CLICKS, Cable, back, goes_on, lost, opened_in_the_middle_of_work

CUT = 140.0  # seconds


def measure(small: bool) -> Iterator[Result]:
    paths = ["masks"] if small else list(CLICKS)  # the suite takes others
    with chromium() as browser:
        context = listen(browser.new_context(viewport=VIEWPORT))
        yield told("killed server", killed(paths, context.new_page))
        if not small:  # the suite cuts shorter, where sessions are given up earlier
            yield told(f"connection cut for {CUT:g} s", cut(paths, context.new_page))


def told(cause: str, seconds: list[float]) -> Result:
    setting = f"until the slowest of {len(seconds)} tabs has answered its next click; all did, and had lost nothing"
    return Result(f"after a {cause}", max(seconds), None, middle_half(seconds), "s", setting)


def killed(paths: list[str], new_page: Callable[[], Page]) -> list[float]:
    with launched("app.py") as (url, process, log):
        await_health(url, process, log)
        pages = {path: opened_in_the_middle_of_work(url, path, new_page()) for path in paths}
        process.kill()
        process.wait()
        for page in pages.values():
            lost(page)
    with launched("app.py", urlsplit(url).port) as (url, process, log):
        await_health(url, process, log)
        return went_on(pages)


def cut(paths: list[str], new_page: Callable[[], Page]) -> list[float]:
    cable = Cable()
    with launched("app.py") as (url, process, log):
        await_health(url, process, log)
        pages = {path: opened_in_the_middle_of_work(url, path, cable.lay(new_page())) for path in paths}
        cable.cut(pages.values(), CUT)
        return went_on(pages)


def went_on(pages: Mapping[str, Page]) -> list[float]:
    """Seconds of each tab. `AssertionError` where one does not go on or has lost something."""
    begun, seconds = time.perf_counter(), []
    for path, page in pages.items():
        back(page)
        goes_on(page, path)
        seconds.append(time.perf_counter() - begun)
        page.close()
    return seconds
