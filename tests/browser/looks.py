"""How an open page is looked at again: at another width, in another theme."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.helpers import idle

if TYPE_CHECKING:
    from playwright.sync_api import Page

LOOKS = [(1280, "light"), (1280, "dark"), (390, "dark"), (390, "light")]  # one change from each to the next


def look(page: Page, width: int, theme: str) -> None:
    """At this width and in this theme, once the page has drawn itself anew."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    idle(page)
