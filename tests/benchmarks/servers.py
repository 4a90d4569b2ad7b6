"""Servers of the app and a Chromium for the benchmarks."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import FLAGS, await_health, find_browser, free_port

ROOT = Path(__file__).parents[2]
VIEWPORT = {"width": 1280, "height": 900}


@contextmanager
def launched(script: str, port: int = 0) -> Iterator[tuple[str, subprocess.Popen[bytes], Path]]:
    """`streamlit run script`, just begun, on a free port unless one is named: its URL, process and log."""
    port = port or free_port()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}", "--server.address=127.0.0.1"],
                cwd=ROOT, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}", process, log
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def served(script: str) -> Iterator[str]:
    """The URL of a server that answers."""
    with launched(script) as (url, process, log):
        await_health(url, process, log)
        yield url


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        yield browser
        browser.close()
