"""How a browser test waits for the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# True once the page has been connected, not running, free of skeletons, and every visible chart drawn, without a
# break for longer than the 200 ms by which Streamlit delays a widget's rerun. Each call starts a count of its own.
IDLE = """([call, quiet]) => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const app = document.querySelector("[data-testid='stApp']");
    const still = app
        && app.getAttribute("data-test-connection-state") === "CONNECTED"
        && app.getAttribute("data-test-script-state") === "notRunning"
        && !document.querySelector("[data-testid='stSkeleton']")
        && all("[data-testid='stPlotlyChart']").every((e) => e.offsetParent === null || e.querySelector(".main-svg"));
    const now = performance.now();
    if (!still || window.idleCall !== call) [window.idleCall, window.idleSince] = [call, now];
    return still && now - window.idleSince > quiet;
}"""

calls = 0


def idle(page: Page, timeout: float = 60_000) -> None:
    """Wait until the app has answered everything that was asked of it, and drawn the answer."""
    global calls
    calls += 1
    page.wait_for_function(IDLE, arg=[calls, 300], timeout=timeout)


def open_page(page: Page, url: str) -> Page:
    """Go to `url` and wait until it is drawn."""
    page.goto(url)
    idle(page)
    return page
