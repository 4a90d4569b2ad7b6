"""A printed page: its picture as on the screen, without the sidebar, light, with the sentences and the link below."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from tests.browser.helpers import idle, open_page, until
from viz_core.ui.page_list import PAGES

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest_plugins = ["tests.browser.one_page"]

# The widths and heights of the elements of the main picture.
SIZES = """() => [...document.querySelectorAll(".st-key-lab_picture [data-testid='stElementContainer']")]
  .filter((e) => e.checkVisibility() && e.offsetHeight > 30)
  .map((e) => [e.className.match(/st-key-\\S+/)?.[0], e.offsetWidth, e.offsetHeight])"""
PRINTED = "getComputedStyle(document.querySelector(\"[data-testid='stMainBlockContainer']\"), '::after').content"


def as_printed(page: Page) -> None:
    """The page as `print.css` has it. No script may redraw what has another size now, as none does while a page prints."""
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")


@pytest.mark.parametrize("name", [name for name in PAGES if name not in ("help",)])
def test_a_printed_picture_has_the_size_that_it_has_on_the_screen(
    name: str, serve: Callable[..., str], turn_to: Callable[..., Page]
) -> None:
    page = turn_to(f"{serve()}/{'' if name == 'home' else name}?preset=002&n_heads=2&d_model=16&source=a+b&target=c")
    on_screen = page.evaluate(SIZES)
    as_printed(page)
    try:
        printed = page.evaluate(SIZES)
        assert on_screen and len(printed) == len(on_screen)
        for (key, *before), (__, *after) in zip(on_screen, printed, strict=True):
            assert all(abs(a - b) <= 4 for a, b in zip(before, after, strict=True)), (key, before, after)
        assert page.get_by_test_id("stSidebar").is_hidden() and page.get_by_test_id("stHeader").is_hidden()
        said = page.evaluate(PRINTED)
        assert "a b" in said and "source=a+b" in unquote(said)
    finally:
        page.emulate_media(media="screen")


def test_a_dark_page_is_printed_light(serve: Callable[..., str], new_page: Callable[..., Page]) -> None:
    page = open_page(new_page(theme="dark"), f"{serve()}/masks?preset=002&n_heads=2&d_model=16&source=a+b&target=c")
    as_printed(page)
    assert page.evaluate("getComputedStyle(document.querySelector(\"[data-testid='stApp']\")).filter").startswith("invert(1)")


def test_the_print_key_draws_all_parts_before_it_prints(serve: Callable[..., str], new_page: Callable[..., Page]) -> None:
    page = open_page(new_page(height=600), f"{serve()}/documents")
    page.evaluate("() => { window.printed = 0; window.print = () => { window.printed += 1 } }")
    empty = "document.querySelectorAll('[class*=st-key-lab_part_] > [class*=_visibility]:only-child').length"
    assert page.evaluate(empty) > 0
    page.keyboard.press("Control+p")
    until(page, lambda: page.evaluate("window.printed") == 1)
    assert page.evaluate(empty) == 0
    idle(page)
