"""A lost session: the server is killed and started again, or the connection is cut for longer than sessions are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from subprocess import Popen
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.browser.helpers import idle, linked, open_page
from tests.browser.test_app import address, box, query

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocketRoute

# On each page something that answers only where the page's fragment is known: what to click, and what the link says then.
CLICKS = {
    "": ("slider", "After the token", "home_after"),
    "step_by_step": ("button", "Next", "stage"),
    "attention": ("radio", "0 to 1", "att_colour"),
    "masks": ("radio", "Conventions", "mask_section"),
    "positions": ("radio", "Matrix", "pos_section"),
    "norms": ("radio", "Gradients", "norm_section"),
    "shapes": ("button", "FLOPs", "shapes_columns"),
    "documents": ("radio", re.compile("^Models differ"), "documents_rows"),
}
LONG = "the cat sat on the " + "m" * 9000  # few tokens, and over 8 KB in a link
STATE = "document.querySelector('[data-testid=stApp]').getAttribute('data-test-connection-state')"


def lost(page: Page) -> None:
    page.expect_problems = True  # Chromium says of each request that nobody answers
    page.wait_for_function(f"{STATE} !== 'CONNECTED'", timeout=60_000)


def back(page: Page) -> None:
    page.wait_for_function(f"{STATE} === 'CONNECTED'", timeout=60_000)


def works_at_the_next_click(page: Page, path: str) -> None:
    role, name, says = CLICKS[path]
    found = page.get_by_test_id("stMain").get_by_role(role, name=name).first
    if role == "slider":  # a click waits by itself until the page takes clicks again
        page.wait_for_function("!document.querySelector('[data-testid=stMain]').inert")
        found.focus()
        found.press("ArrowLeft")
    else:
        found.click()
    linked(page, f"{says}=")


def opened_in_the_middle_of_work(url: str, path: str, page: Page) -> Page:
    """The page with a link of its own, a size changed, and a text in its box that was not sent yet."""
    open_page(page, address(url, path, source=f"a link to {path or 'home'}"))
    page.get_by_role("slider", name="n_heads").press("ArrowLeft")
    linked(page, "n_heads=3")
    box(page).fill(f"typed on {path or 'home'}, not yet sent")
    return page


def goes_on(page: Page, path: str) -> None:
    works_at_the_next_click(page, path)
    assert box(page).input_value() == query(page)["source"] == f"typed on {path or 'home'}, not yet sent"
    assert query(page)["n_heads"] == "3"
    assert page.get_by_test_id("stException").count() == 0


def test_after_the_server_was_killed_every_page_goes_on(
    serve: Callable[..., str], servers: dict[str, Popen[bytes]], new_page: Callable[..., Page]
) -> None:
    url = serve(fresh=True)
    pages = {path: opened_in_the_middle_of_work(url, path, new_page()) for path in CLICKS}
    servers[url].kill()
    servers[url].wait()
    for page in pages.values():
        lost(page)
    serve(port=urlsplit(url).port)
    for path, page in pages.items():
        back(page)
        goes_on(page, path)


@dataclass
class Cable:
    """The connections of pages to their server, which can be cut and mended."""

    cut: bool = False
    sockets: list[WebSocketRoute] = field(default_factory=list)

    def lay(self, page: Page) -> Page:
        """Before the page is opened."""
        page.route_web_socket(re.compile("_stcore/stream"), self.connect)
        return page

    def connect(self, socket: WebSocketRoute) -> None:
        if self.cut:
            return socket.close()
        socket.connect_to_server()
        self.sockets.append(socket)

    def out(self, pages: Iterable[Page]) -> None:
        """Out until the server has given up the sessions: it keeps one without a connection for a second here."""
        self.cut = True
        while self.sockets:
            self.sockets.pop().close()
        for page in pages:
            lost(page)
        page.wait_for_timeout(4000)
        self.cut = False
        for page in pages:
            back(page)


@pytest.fixture
def impatient(serve: Callable[..., str]) -> str:
    """A server that keeps a session without a connection for one second, where others keep it for two minutes."""
    return serve(env={"STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "1"})


def test_after_a_long_cut_every_page_goes_on(impatient: str, new_page: Callable[..., Page]) -> None:
    cable = Cable()
    pages = {path: opened_in_the_middle_of_work(impatient, path, cable.lay(new_page())) for path in CLICKS}
    cable.out(pages.values())
    for path, page in pages.items():
        goes_on(page, path)


def test_after_a_long_cut_a_long_text_and_a_kept_run_are_there(impatient: str, new_page: Callable[..., Page]) -> None:
    cable = Cable()
    page = open_page(cable.lay(new_page()), address(impatient, "attention"))
    box(page).fill(LONG)
    box(page).press("Control+Enter")
    linked(page, "left_out=")
    page.get_by_role("button", name=re.compile("^Keep this run")).click()
    linked(page, "left_out=")
    before = query(page)
    cable.out([page])
    works_at_the_next_click(page, "attention")
    assert box(page).input_value() == LONG
    assert query(page) == before | {"att_colour": "one"}
    assert page.get_by_text("is the run that was kept").count() == 1


def test_what_the_link_leaves_out_outlives_a_reload_and_is_missed_elsewhere(
    serve: Callable[..., str], new_page: Callable[..., Page]
) -> None:
    page = open_page(new_page(), address(serve(), "masks"))
    box(page).fill(LONG)
    box(page).press("Control+Enter")
    page.get_by_test_id("stAlert").filter(has_text="stays in this tab").wait_for()
    linked(page, "left_out=")
    link = page.url
    page.reload()
    page.get_by_test_id("stAlert").filter(has_text="stays in this tab").wait_for()
    idle(page)
    assert box(page).input_value() == LONG and page.url == link
    other = open_page(new_page(apart=True), link)
    assert other.get_by_test_id("stAlert").filter(has_text="in the tab in which it was typed").count() == 1
    box(other).fill("mine")
    box(other).press("Control+Enter")
    linked(other, "source=mine")
    assert "left_out" not in query(other)
