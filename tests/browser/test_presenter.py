"""Presenter's mode (`viz_core.ui.shell.layout.frame`) in Chromium: a key opens and leaves it, the link says so, keys go on from
there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.browser.helpers import idle, linked
from viz_core.weights.catalogue import catalogue

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytest_plugins = ["tests.browser.one_page"]


def presented(page: Page) -> bool:
    return page.evaluate("document.documentElement.hasAttribute('data-lab-present')")


def press(page: Page, key: str) -> None:
    page.keyboard.press(key)
    idle(page)


def test_a_key_opens_it_and_the_link_says_so(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(serve() + "/masks")
    assert not presented(page)
    press(page, "f")
    assert presented(page) and "present=on" in page.url
    box = page.locator(".st-key-lab_picture").bounding_box()
    assert box is not None and (box["x"], box["y"]) == (0, 0) and box["width"] == page.viewport_size["width"]
    assert page.get_by_test_id("stSidebar").is_hidden() and page.get_by_test_id("stHeader").is_hidden()
    press(page, "Escape")
    assert not presented(page) and "present" not in page.url
    assert page.get_by_test_id("stSidebar").is_visible()


def test_keys_go_on_and_move_the_sliders(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(serve() + "/masks?present=on&preset=002&n_heads=2&d_model=16&source=a+b&target=c")
    assert presented(page)
    press(page, "ArrowRight")
    assert "mask_section=built" in page.url
    press(page, "PageDown")  # as a clicker sends it
    assert "mask_section=conventions" in page.url
    press(page, "ArrowLeft")
    assert "mask_section=built" in page.url
    press(page, "]")
    assert "n_heads=3" in page.url and presented(page)
    press(page, "Shift+N")
    assert "n_heads=2" in page.url
    press(page, "N")  # without Shift, as Caps Lock types it
    assert "n_heads=3" in page.url
    press(page, "Alt+[")  # as it is typed where the key has another letter
    assert "n_heads=2" in page.url
    before = int(re.search(r"d_model=(\d+)", page.url)[1])
    press(page, "-")
    assert (smaller := int(re.search(r"d_model=(\d+)", page.url)[1])) < before
    press(page, "d")
    assert int(re.search(r"d_model=(\d+)", page.url)[1]) > smaller
    page.keyboard.press("b")
    assert page.evaluate("getComputedStyle(document.body, '::after').backgroundColor") == "rgb(0, 0, 0)"
    page.keyboard.press("B")
    assert page.evaluate("getComputedStyle(document.body, '::after').content") == "none"


def test_on_writing_the_words_come_before_the_next_section(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(serve() + "/writing?present=on&preset=002&n_heads=2&d_model=16&source=a+b&target=c&write_most=3")
    for key, step in (("ArrowRight", 1), ("PageDown", 2)):  # PageDown: of a remote control
        page.keyboard.press(key)
        linked(page, f"write_step={step}")
    assert "write_section" not in page.url
    page.keyboard.press("ArrowRight")  # the third word was the last
    linked(page, "write_section=branch")


def test_its_buttons_do_the_same_on_a_touch_screen(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(serve() + "/masks?present=on&preset=002&n_heads=2&d_model=16&source=a+b&target=c")
    page.mouse.move(200, 200)
    page.get_by_role("button", name="Next (→)").click()
    idle(page)
    assert "mask_section=built" in page.url
    page.get_by_role("button", name="Leave presenter's mode (Esc)").click()
    idle(page)
    assert not presented(page)


def test_a_letter_typed_into_a_box_is_text(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(serve() + "/masks?preset=002&n_heads=2&d_model=16&source=a+b&target=c")
    page.locator("[class*='st-key-set_source'] textarea").press("f")
    assert not presented(page)


def test_the_sentence_of_a_step_stays_above_its_picture(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    measured = catalogue()["translator"].referent_head  # the layer that has a stop of its own
    assert measured is not None
    page = turn_to(serve() + f"/step_by_step?walk_mode=tour&stage=decoder.layers.{measured[0]}.cross_attn.weights&present=on")
    title = page.locator(".st-key-walk_scrubber h2")
    assert "puts" in title.inner_text()
    said, drawn = title.bounding_box(), page.locator(".st-key-walk_canvas").bounding_box()
    assert said is not None and drawn is not None
    assert said["y"] >= 0 and said["y"] + said["height"] <= drawn["y"]
    assert title.evaluate("e => parseFloat(getComputedStyle(e).fontSize)") >= 16  # seen from the back row
    assert page.locator(".st-key-walk_scrubber input").is_hidden()


def test_a_mouse_in_the_picture_does_not_bring_the_bar_before_its_values(
    serve: Callable[..., str], turn_to: Callable[..., Page]
) -> None:
    page = turn_to(serve() + "/masks?present=on&preset=002&n_heads=2&d_model=16&source=a+b&target=c")
    bar = page.locator(".st-key-lab_frame .bar")
    page.wait_for_function("e => !e.classList.contains('awake')", arg=bar.element_handle(), timeout=30_000)
    page.mouse.move(300, 300)
    page.mouse.move(310, 310)
    assert "awake" not in bar.get_attribute("class")
    wide, high = page.viewport_size["width"], page.viewport_size["height"]
    page.mouse.move(wide - 90, high - 40)
    assert "awake" in bar.get_attribute("class")
