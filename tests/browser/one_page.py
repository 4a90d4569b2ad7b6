"""One open page for the tests of a file, for those that look at different links and leave nothing behind.

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
from tests.browser.helpers import go, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def kept() -> Iterator[list[Page]]:
    """The file's open page, where there is one yet."""
    pages: list[Page] = []
    yield pages
    for page in pages:
        leave(page)


def leave(page: Page) -> None:
    page.evaluate("localStorage.clear()")
    page.context.clear_cookies()
    page.close()


@pytest.fixture
def turn_to(kept: list[Page], open_tab: Callable[[], Page], request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    """`turn_to(url, width=1280, height=900, theme="light")` → the file's page, drawn at this link in the session it has.

    It asks a quarter of what opening a page does. A test fails where the page has `page.problems`; what a failed test
    leaves is not where the next begins.
    """

    def turn_to(url: str, width: int = 1280, height: int = 900, theme: str = "light") -> Page:
        if not kept:
            kept.append(watch(open_tab()))
        (page,) = kept
        page.mouse.move(0, 0)
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, reduced_motion="no-preference")
        here, there = urlsplit(page.url), urlsplit(url)
        return (go if here[:2] == there[:2] else open_page)(page, url)

    failed = request.session.testsfailed
    yield turn_to
    problems = [problem for page in kept for problem in page.problems]
    if kept and (problems or request.session.testsfailed > failed):
        leave(kept.pop())
    assert not problems, "\n".join(problems)
