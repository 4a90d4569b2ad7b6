"""Losing a session: what a visitor was doing on each page, how the session is lost, and whether the tab goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.browser.helpers import box, button, keyed, linked, open_page, option, scroll_to, slider
from tests.browser.test_app import address, query

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, WebSocketRoute



def further_column(page: Page) -> Locator:
    keyed(page, "shapes_more").locator("button").first.click()
    return option(page, "shapes_columns", "flops")


# On each page something that answers only where the page's fragment is known, and the parameter that the link has then.
CLICKS: dict[str, tuple[Callable[[Page], Locator], str]] = {
    "": (lambda page: slider(page, "home_after"), "home_after"),
    "step_by_step": (lambda page: button(page, "walk_next"), "stage"),
    "attention": (lambda page: option(page, "att_colour", "one"), "att_colour"),
    "masks": (lambda page: option(page, "mask_section", "conventions"), "mask_section"),
    "positions": (lambda page: option(page, "pos_section", "matrix"), "pos_section"),
    "norms": (lambda page: option(page, "norm_section", "gradients"), "norm_section"),
    "shapes": (further_column, "shapes_columns"),
    "documents": (lambda page: option(page, "documents_rows", "differ"), "documents_rows"),
}
STATE = "document.querySelector('[data-testid=stApp]').getAttribute('data-test-connection-state')"


def opened_in_the_middle_of_work(url: str, path: str, page: Page) -> Page:
    """The page with a link of its own, a size changed, and a text in its box that was not sent yet."""
    open_page(page, address(url, path, source=f"a link to {path or 'home'}"))
    slider(page, "n_heads").press("ArrowLeft")
    linked(page, "n_heads=3")
    box(page).fill(f"typed on {path or 'home'}, not yet sent")
    return page


def lost(page: Page) -> None:
    """Wait until the tab knows that nobody answers."""
    page.expect_problems = True  # Chromium says so of each request
    page.wait_for_function(f"{STATE} !== 'CONNECTED'", timeout=60_000)


def back(page: Page) -> None:
    """Wait until it has found a server."""
    page.wait_for_function(f"{STATE} === 'CONNECTED'", timeout=60_000)


def works_at_the_next_click(page: Page, path: str) -> None:
    find, says = CLICKS[path]
    if not path:  # a click waits by itself until the page takes clicks again
        page.wait_for_function("!document.querySelector('[data-testid=stMain]').inert")
        scroll_to(page, "next_words")
    found = find(page)
    if not path:
        found.focus()
        found.press("ArrowLeft")
    else:
        found.click()
    linked(page, f"{says}=")


def goes_on(page: Page, path: str) -> None:
    """The next click works, and nothing of what `opened_in_the_middle_of_work` did is lost."""
    works_at_the_next_click(page, path)
    assert box(page).input_value() == query(page)["source"] == f"typed on {path or 'home'}, not yet sent"
    assert query(page)["n_heads"] == "3"
    assert page.get_by_test_id("stException").count() == 0


@dataclass
class Cable:
    """The connections of pages to their server, which can be cut and mended."""

    is_cut: bool = False
    sockets: list[WebSocketRoute] = field(default_factory=list)

    def lay(self, page: Page) -> Page:
        """Before the page is opened."""
        page.route_web_socket(re.compile("_stcore/stream"), self._connect)
        return page

    def _connect(self, socket: WebSocketRoute) -> None:
        if self.is_cut:
            return socket.close()
        socket.connect_to_server()
        self.sockets.append(socket)

    def cut(self, pages: Iterable[Page], seconds: float) -> None:
        """Cut for so long, then mended, and the pages have found it."""
        self.is_cut = True
        while self.sockets:
            self.sockets.pop().close()
        for page in pages:
            lost(page)
        page.wait_for_timeout(1000 * seconds)
        self.is_cut = False
        for page in pages:
            back(page)
