"""The page Training in Chromium: a run that many look at, one that waits behind it, and weights that go to other pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.helpers import button, idle, linked, open_page, option
from tests.browser.looks import LOOKS, look

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytest_plugins = ["tests.browser.one_page"]
Open = Callable[..., "Page"]
PAGE = "training"
LONG_ENOUGH = 240_000  # milliseconds for a short training on a busy machine
SHORT = {"train_task": "reverse", "train_length": "4", "train_symbols": "6", "source": "one two three one"}


def says(page: Page, text: str) -> None:
    page.get_by_text(text).first.wait_for(timeout=LONG_ENOUGH)


def curves(page: Page) -> Locator:
    return page.locator(".st-key-train_curves [data-series]")


def points(page: Page, name: str = "held-out rows") -> int:
    """How many points the curve of this name has."""
    return dict(json.loads(curves(page).get_attribute("data-series") or "[]")).get(name, 0)


def test_a_class_trains(serve: Open, new_page: Open) -> None:
    url = serve()
    # Measured after each 500 steps, of which a fast machine takes seconds, and long enough to be looked at until it is stopped.
    page = open_page(new_page(), f"{url}/{PAGE}?{urlencode(SHORT | {'train_steps': '10000'})}")
    button(page, "train_begin").click()
    says(page, "It is training.")
    expect(curves(page)).to_have_attribute("data-series", re.compile(r'"held-out rows",\s*([2-9]|\d\d)'), timeout=LONG_ENOUGH)
    address = page.url
    assert parse_qs(urlsplit(address).query)["train_job"]

    second = open_page(new_page(), f"{url}/{PAGE}?{urlencode(SHORT | {'train_steps': '50'})}")  # another visitor waits
    button(second, "train_begin").click()
    says(second, "In the queue:")

    watcher = new_page()  # whoever opens the link sees the same run
    watcher.goto(address)
    says(watcher, "It is training.")
    watcher.goto("about:blank")  # an open page draws a training anew each second

    page.goto(f"{url}/masks")  # it goes on behind another page
    idle(page)
    page.goto(address)
    says(page, "It is training.")
    before = points(page)
    page.reload()
    says(page, "It is training.")
    assert points(page) >= before >= 2
    button(page, "train_stop").click()
    says(page, "The trained weights are kept.")
    page.goto("about:blank")

    says(second, "Done.")  # its turn came
    idle(second)
    scrubber = second.locator(".st-key-train_scrubber input")
    scrubber.focus()
    scrubber.press("Home")
    linked(second, "train_moment=0")
    assert second.locator("canvas[data-drawn]").first.get_attribute("data-title") == "Head 0 after 0 steps"
    scrubber.press("End")
    linked(second, lambda link: "train_moment" not in link)
    button(second, "train_use").click()
    linked(second, "weights=trained-")
    second.get_by_role("link", name="Attention").first.click()
    linked(second, "/attention")
    idle(second)
    assert second.locator("canvas[data-drawn]").count() and second.get_by_test_id("stException").count() == 0
    assert "parameters, trained" in second.get_by_test_id("stSidebar").inner_text()


@pytest.mark.parametrize("section", ["run", "experiments"])
def test_every_section_fits(serve: Open, turn_to: Open, section: str) -> None:
    page = turn_to(f"{serve()}/{PAGE}?{urlencode(SHORT | {'train_section': section})}")
    for width, theme in LOOKS:
        look(page, width, theme)
        assert button(page, "train_begin").is_visible(), (width, theme)


def test_another_section_is_one_click(serve: Open, turn_to: Open) -> None:
    page = turn_to(f"{serve()}/{PAGE}?{urlencode(SHORT)}")
    option(page, "train_section", "experiments").click()
    linked(page, "train_section=experiments")
    assert page.get_by_role("button", name="Measure again here").is_visible()
