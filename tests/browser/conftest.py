"""Fixtures of the browser tests: a Chromium, servers of the app, and pages that watch for trouble.

    def test_home(serve, new_page):
        page = open_page(new_page(theme="dark"), serve() + "/shapes")
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# On a deep link Streamlit's client first asks whether the page's own path is where the server lives.
PROBE = re.compile(r"://[^/]+/[^/]+/_stcore/(health|host-config)$")
LOCAL = re.compile(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:|about:")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


def find_browser() -> str | None:
    """$CHROMIUM where it is set, otherwise what this machine calls its Chromium."""
    named = os.environ.get("CHROMIUM")
    names = [named] if named else ["chromium", "/usr/bin/chromium", "chromium-browser", "google-chrome"]
    return next(filter(None, map(shutil.which, names)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("no browser: install Chromium, or let CHROMIUM name one")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


# --- servers ------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_health(url: str, process: subprocess.Popen[bytes], log: Path, seconds: float = 60) -> None:
    """Return once the server answers; raise with its log where it ends or stays silent."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server at {url} did not start:\n{log.read_text()}")


LOGS: list[Path] = []  # of the servers of this session


@pytest.fixture(scope="session")
def serve(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """`serve(app_path="app.py", env=None, fresh=False)` → the base URL of a running app.

    The same app with the same environment is served once a session, unless it is to be `fresh`.
    """
    processes: list[subprocess.Popen[bytes]] = []
    urls: dict[tuple[object, ...], str] = {}

    def start(app_path: str | Path, env: dict[str, str]) -> str:
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        log = tmp_path_factory.mktemp("server") / "log"
        options = {"port": port, "address": "127.0.0.1", "headless": "true", "fileWatcherType": "none"}
        arguments = [f"--server.{name}={value}" for name, value in options.items()]
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", str(app_path), *arguments],
                cwd=ROOT,
                env=os.environ | {"PYTHONUNBUFFERED": "1", "NO_COLOR": "1"} | env,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        processes.append(process)
        LOGS.append(log)
        await_health(url, process, log)
        return url

    def serve(app_path: str | Path = "app.py", env: dict[str, str] | None = None, fresh: bool = False) -> str:
        env = env or {}
        if fresh:
            return start(app_path, env)
        key = (str(app_path), *sorted(env.items()))
        if key not in urls:
            urls[key] = start(app_path, env)
        return urls[key]

    yield serve
    for process in processes:
        process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    LOGS.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failed test shows the end of each server's log."""
    report = yield
    if report.failed:
        report.sections += [(f"server log {log.parent.name}", log.read_text()[-4000:]) for log in LOGS]
    return report


# --- pages --------------------------------------------------------------------------------------


def watch(page: Page) -> Page:
    """Give the page a list `problems`: console errors, uncaught errors, and whatever it asks of another machine."""
    problems: list[str] = []
    page.problems, page.expect_problems = problems, False

    def note_if_away(url: str) -> None:
        if not LOCAL.match(url):
            problems.append(f"left this machine: {url[:200]}")

    def note_if_error(message: ConsoleMessage) -> None:
        url = message.location.get("url", "")
        if message.type == "error" and not PROBE.search(url):
            problems.append(f"console error: {message.text[:300]} {url}")

    page.on("console", note_if_error)
    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    page.on("request", lambda request: note_if_away(request.url))
    page.on("websocket", lambda websocket: note_if_away(websocket.url))
    return page


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """`new_page(width=1280, height=900, theme="light")` → a page in a browser context of its own.

    A test fails where one of its pages has `page.problems`, unless it set `page.expect_problems = True`.
    """
    pages: list[Page] = []

    def new_page(width: int = 1280, height: int = 900, theme: str = "light") -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        pages.append(watch(context.new_page()))
        return pages[-1]

    yield new_page
    problems = [problem for page in pages if not page.expect_problems for problem in page.problems]
    for page in pages:
        page.context.close()
    assert not problems, "\n".join(problems)
