"""The Help page in Chromium: every entry of a document's list leads to its heading, and links lead to other documents."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.helpers import idle
from viz_core.ui.pages.help.page import DOCUMENT_NAMES

HELP = "help"
pytest_plugins = ["tests.browser.one_page"]



@pytest.fixture
def document(serve: Callable[..., str], turn_to: Callable[..., Page]) -> Callable[[str], Page]:
    """`document("server")` → Help at this document, drawn."""
    return lambda name: turn_to(f"{serve()}/{HELP}?preset=003&help_document={name}")


@pytest.mark.parametrize("name", DOCUMENT_NAMES)
def test_each_entry_of_the_list_is_the_anchor_of_a_heading(document: Callable[[str], Page], name: str) -> None:
    shown = document(name).locator(".st-key-help_text")
    anchors = shown.locator("ul").first.locator("a").evaluate_all("all => all.map((a) => a.getAttribute('href').slice(1))")
    headings = shown.locator("h3").evaluate_all("all => all.map((heading) => heading.id)")
    assert len(anchors) > 2 and anchors == headings


def test_an_entry_scrolls_to_its_part_and_a_link_opens_another_document(document: Callable[[str], Page]) -> None:
    page = document("running")
    shown = page.locator(".st-key-help_text")
    shown.get_by_role("link", name="Environment variables").first.click()
    expect(shown.get_by_role("heading", name="Environment variables")).to_be_in_viewport()
    link = shown.get_by_role("link", name="Memory").first
    if link.get_attribute("target") == "_blank":
        with page.expect_popup() as opened:
            link.click()
        page = opened.value
    else:
        link.click()
    idle(page)
    expect(page.get_by_role("heading", name="Memory")).to_be_in_viewport()
    assert parse_qs(urlsplit(page.url).query)["help_document"] == ["server"]
