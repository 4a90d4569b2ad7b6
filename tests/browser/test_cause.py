"""The page on cause and effect in a browser: the maps of the opening sentence, a click on a cell, its link on a fresh server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.browser.helpers import idle, linked, open_page
from viz_core.ui.shell import PAGES
from viz_core.ui.shell.setup import DEFAULT_WEIGHTS
from viz_core.weights.catalogue import catalogue

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest_plugins = ["tests.browser.one_page"]

SECTION = PAGES["cause"].section_param


def cells(page: Page) -> list[dict[str, str]]:
    """What each map says of itself."""
    found: list[dict[str, str]] = page.locator(".st-key-cause_maps canvas").evaluate_all("all => all.map((e) => ({...e.dataset}))")
    return found


def click_cell(page: Page, panel: int, row: int, col: int) -> None:
    canvas = page.locator(".st-key-cause_maps canvas").nth(panel)
    left, top, wide, high = map(float, str(canvas.get_attribute("data-grid")).split(","))
    canvas.click(position={"x": left + (col + 0.5) * wide, "y": top + (row + 0.5) * high})


@pytest.mark.skipif(DEFAULT_WEIGHTS not in catalogue(), reason="the translator is not shipped here")
def test_a_click_on_a_cell_makes_that_run_b_and_its_link_opens_it_elsewhere(
    serve: Callable[..., str], new_page: Callable[..., Page]
) -> None:
    page = open_page(new_page(), f"{serve()}/cause")
    maps = cells(page)
    assert [each["title"] for each in maps] == ["Encoder: residual stream", "Decoder: residual stream"]
    assert page.locator('[class*="st-key-set_cause_changed"] input').input_value() == "Change: tired → wide"
    place = page.locator(".st-key-lab_hint").inner_text()
    assert "The clean run writes" in place
    tired = 10  # The animal didn't cross the street because it was too tired .
    click_cell(page, 0, 2, tired)
    linked(page, "patch=encoder.residual.1.10")
    assert "too wide" in page.locator('[class*="st-key-set_source"] textarea').input_value()  # the sidebar shows B
    again = cells(page)
    assert again[0]["pick"] == f"2,{tired}" and [each["drawn"] for each in again] == [each["drawn"] for each in maps]
    assert "B has A’s value of the residual stream after layer 1 of the encoder" in page.locator("body").inner_text()

    other = open_page(new_page(), f"{serve(fresh=True)}/cause?{urlsplit(page.url).query}")
    assert [(each["drawn"], each["pick"]) for each in cells(other)] == [(each["drawn"], each["pick"]) for each in again]
    other.get_by_role("link", name="Attention").last.click()
    idle(other)
    assert "B has A’s value of the residual stream after layer 1 of the encoder" in other.locator("body").inner_text()


@pytest.mark.skipif(DEFAULT_WEIGHTS not in catalogue(), reason="the translator is not shipped here")
@pytest.mark.parametrize("section", [section.name for section in PAGES["cause"].sections])
def test_the_changed_sentence_is_typed_at_the_picture(
    section: str, serve: Callable[..., str], turn_to: Callable[..., Page]
) -> None:
    page = turn_to(f"{serve()}/cause?{SECTION}={section}", width=1280, height=720)
    box = page.get_by_role("textbox", name="Changed sentence", exact=True)
    picture, typed = page.locator(".st-key-lab_picture").bounding_box(), box.bounding_box()
    assert picture is not None and typed is not None
    assert typed["y"] < picture["y"] < typed["y"] + 120 and typed["width"] > 350  # all of an everyday sentence is seen
    if section == "patching":
        box.fill("The animal didn't cross the street because it was too dark.")
        box.press("Enter")
        linked(page, "kept=")
        assert "too dark" in page.locator('[class*="st-key-set_source"] textarea').input_value()  # it is B


@pytest.mark.skipif(DEFAULT_WEIGHTS not in catalogue(), reason="the translator is not shipped here")
def test_both_directions_and_the_readout_of_a_cell(serve: Callable[..., str], new_page: Callable[..., Page]) -> None:
    page = open_page(new_page(), f"{serve()}/cause?cause_part=heads")
    titles = [each["title"] for each in cells(page)]
    assert titles == ["Encoder: heads of self-attention", "Decoder: heads of self-attention", "Decoder: heads of cross-attention"]
    click_cell(page, 2, 2, 1)
    linked(page, "patch=decoder.cross_attn.2.h1")
    assert "→" in page.locator(".st-key-cause_maps .readout b").last.inner_text()  # the word that this run would write
    before = parse_qs(urlsplit(page.url).query)
    page.get_by_text("What is necessary").click()
    linked(page, "cause_direction=noise")
    after = parse_qs(urlsplit(page.url).query)
    assert after["patch"] == before["patch"] and "wide" in after["kept"][0] and "wide" in before["source"][0]
    assert SECTION == "cause_section" and cells(page)[2]["pick"] == "2,1"
