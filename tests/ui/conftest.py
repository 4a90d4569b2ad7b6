"""What every test of the app without a browser needs."""

import inspect
import logging
import time
from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import local_script_runner
from streamlit.testing.v1.local_script_runner import LocalScriptRunner, require_widgets_deltas

from tests.ui.helpers import Open, open_page
from viz_core.ui.shell.caching.server_cache import server_cache


@pytest.fixture(autouse=True, scope="session")
def packages_are_scanned_once() -> Iterator[None]:
    """Without a server Streamlit looks through every installed package at each component that a page mounts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True, scope="session")
def a_run_is_awaited() -> Iterator[None]:
    """`AppTest` asks a thousand times a second whether the script has ended, which takes the processor from it."""

    def wait(runner: LocalScriptRunner, timeout: float = 3) -> None:
        begun = time.monotonic()
        runner._script_thread.join(timeout)
        require_widgets_deltas(runner, max(0.01, timeout - (time.monotonic() - begun)))  # raises where it has not ended

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", wait)
        yield


@pytest.fixture(autouse=True, scope="session")
def few_sentences_are_read() -> Iterator[None]:
    """Positions measures three translators on as few sentences as can be joined in every way: what it says holds for any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("viz_core.experiments.length_extrapolation.N_SENTENCES", 24)
        yield


@pytest.fixture(autouse=True, scope="session")
def streamlit_logs_as_others_do() -> None:
    """pytest adds its handlers to each logger that does not propagate, three times a test: Streamlit has a hundred of them."""
    for name, logger in logging.root.manager.loggerDict.items():
        if name.partition(".")[0] == "streamlit" and isinstance(logger, logging.Logger):
            logger.propagate = True


@pytest.fixture(autouse=True, scope="module")
def empty_caches() -> Iterator[None]:
    """No module sees what another one cached; within one, a model is built once. test_caches.py: caches change no page."""
    yield
    server_cache.clear()


@pytest.fixture(autouse=True)
def empty_caches_around_changed_code(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that replaces something finds no result from before, and leaves none of its own."""
    replaces = "monkeypatch" in inspect.signature(request.function).parameters
    if replaces:
        server_cache.clear()
    yield
    if replaces:
        server_cache.clear()


@pytest.fixture(autouse=True)
def another_link_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that writes another link into an open session means Back, which `AppTest` cannot say."""
    monkeypatch.setattr("viz_core.ui.shell.session.url.is_history_navigation", lambda: True)


@pytest.fixture
def open_at() -> Open:
    """`open_at("step_by_step", preset="003")` → the page behind that link, run; untrained unless it says more."""
    return lambda page="home", **params: open_page(page, **(params if "weights" in params else {"preset": "000"} | params))
