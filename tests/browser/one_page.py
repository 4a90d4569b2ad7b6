"""One open page of each server for the tests that look at different links and leave nothing behind.

    pytest_plugins = ["tests.browser.one_page"]

    def test_masks(serve, turn_to):
        page = turn_to(serve() + "/masks", theme="dark")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.browser.conftest import watch
from tests.browser.helpers import go, idle, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Leaves a text box, whose text is only now sent, and scrolls to the top; whether there was one.
REST = """() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    const typed = Boolean(at?.matches("textarea, input:not([type=range])"));
    if (typed) at.blur();
    document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    return typed;
}"""


FAILED = pytest.StashKey[bool]()  # of a test: whether it has failed, also where a second try follows


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    item.stash[FAILED] = call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception)
    return (yield)


@pytest.fixture(scope="session")
def kept(open_tab: Callable[[], Page]) -> Iterator[dict[str, Page]]:
    """The open page of each server, by its host and port, where there is one yet."""
    pages: dict[str, Page] = {}
    yield pages
    leave(pages)


def leave(pages: dict[str, Page]) -> None:
    while pages:
        _, page = pages.popitem()
        page.evaluate("localStorage.clear()")
        page.context.clear_cookies()
        page.close()


@pytest.fixture
def turn_to(kept: dict[str, Page], open_tab: Callable[[], Page], request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    """`turn_to(url, width=1280, height=900, theme="light")` → the open page of that server, drawn at this link in its session.

    It asks a quarter of what opening a page does. A test fails where the page has `page.problems`; what a failed test
    leaves is not where the next one, or its second try, begins.
    """

    def turn_to(url: str, width: int = 1280, height: int = 900, theme: str = "light") -> Page:
        server = urlsplit(url).netloc
        if is_open := server in kept:
            page = kept[server]
            page.mouse.move(0, 0)
            if page.evaluate(REST):
                idle(page)
        else:
            page = kept[server] = watch(open_tab())
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="no-preference")
        return (go if is_open else open_page)(page, url)

    yield turn_to
    problems = [problem for page in kept.values() for problem in page.problems]
    if problems or request.node.stash.get(FAILED, False):
        leave(kept)
    assert not problems, "\n".join(problems)
