"""The architecture drawing in Chromium: where you are, what a click and a key open, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.helpers import idle
from tests.browser.looks import LOOKS, look

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytest_plugins = ["tests.browser.one_page"]
APP = str(Path(__file__).with_name("diagram_app.py"))
links = count(1)
WEIGHTS = "encoder.layers.0.self_attn.weights"


@pytest.fixture
def drawn(serve: Callable[..., str], turn_to: Callable[..., Page]) -> Callable[..., Page]:
    """`drawn("model=both&at=loss", width=390)` → the page with that drawing: each link is a beginning."""

    def drawn(query: str = "", **options: object) -> Page:
        return turn_to(f"{serve(APP)}/?link={next(links)}&{query}", **options)

    return drawn


def box(page: Page, box_id: str) -> Locator:
    return page.locator(f".box[data-box='{box_id}']")


def lit(page: Page) -> list[str]:
    return page.locator(".box[data-current='true']").evaluate_all("nodes => nodes.map((node) => node.dataset.box)")


def told(page: Page) -> str:
    idle(page)
    return page.locator("[data-testid='stText']").inner_text()


def test_nothing_is_lit_without_a_stage(drawn: Callable[..., Page]) -> None:
    page = drawn()
    assert lit(page) == []
    assert told(page) == "at None; opened None"
    name = page.locator("svg[role='group'][viewBox]").get_attribute("aria-label") or ""
    assert "encoder" in name and "decoder" in name


def test_a_click_opens_the_stage_once(drawn: Callable[..., Page]) -> None:
    page = drawn()
    box(page, "encoder.layers.0.self_attn").click()
    assert told(page) == f"at {WEIGHTS}; opened {WEIGHTS}"
    assert lit(page) == ["encoder.layers.0.self_attn"]
    assert box(page, "encoder.layers.0.self_attn").get_attribute("aria-current") == "step"
    page.get_by_role("button", name="Next", exact=True).click()
    assert told(page) == "at encoder.layers.0.self_attn.z; opened None"
    assert lit(page) == ["encoder.layers.0.self_attn"]


def test_the_same_box_can_be_clicked_again(drawn: Callable[..., Page]) -> None:
    page = drawn("at=encoder.layers.0.self_attn.q")
    for _ in range(2):
        box(page, "encoder.layers.0.self_attn").click()
        assert told(page).endswith(f"opened {WEIGHTS}")


def test_a_slab_opens_its_layer(drawn: Callable[..., Page]) -> None:
    page = drawn("model=six&at=encoder.layers.0.ffn.out")
    box(page, "encoder.layers.3").click()
    assert told(page).startswith("at encoder.layers.3.ffn.out;")
    assert lit(page) == ["encoder.layers.3.ffn"]
    assert page.locator(".frame.layer .label").all_text_contents() == ["layer 3 (of 6)", "layer 0 (of 6)"]


def test_a_key_opens_the_box_in_focus(drawn: Callable[..., Page]) -> None:
    for key in ("Enter", "Space"):
        page = drawn("at=ids.source")
        box(page, "ids.source").focus()
        page.keyboard.press("Tab")
        page.keyboard.press(key)
        assert told(page) == "at encoder.tok_embed_scaled; opened encoder.tok_embed_scaled", key
        assert lit(page) == ["encoder.tok_embed"], key


def test_focus_goes_on_where_a_slab_became_the_layer(drawn: Callable[..., Page]) -> None:
    page = drawn("model=encoder&at=encoder.layers.0.ffn.out")
    box(page, "encoder.layers.1").focus()
    page.keyboard.press("Enter")
    assert told(page).startswith("at encoder.layers.1.ffn.out;")
    page.wait_for_function(
        """() => [...document.querySelectorAll("*")].some((node) =>
            node.shadowRoot?.activeElement?.closest(".box")?.dataset.box === "encoder.layers.1.ffn")"""
    )


def test_boxes_are_kept_from_step_to_step(drawn: Callable[..., Page]) -> None:
    page = drawn("at=encoder.layers.0.self_attn.q")
    page.locator(".box").evaluate_all("nodes => nodes.forEach((node) => { node.kept = true; })")
    for _ in range(12):
        page.get_by_role("button", name="Next", exact=True).click()
        idle(page)
    assert lit(page) == ["encoder.layers.0.norm_self_attn"]
    assert page.locator(".box").evaluate_all("nodes => nodes.every((node) => node.kept)")


def test_a_box_says_what_it_is(drawn: Callable[..., Page]) -> None:
    page = drawn()
    attention = box(page, "decoder.layers.0.cross_attn")
    assert attention.locator("text").all_text_contents() == ["Cross-attentionweights", "B 2 · H 4 · T 5 · S 7"]
    title = attention.locator("title").text_content() or ""
    assert title.startswith("Cross-attention, decoder layer 0 (of 2): B 2 · H 4 · T 5 · S 7.")
    assert page.get_by_role("button", name="Cross-attention, decoder layer 0 (of 2)").count() == 1


# What of the texts is smaller than `least` pixels, or reaches out of its box.
MISFITS = """(nodes, least) => nodes.flatMap((node) => {
    const box = node.querySelector(".face").getBoundingClientRect();
    return [...node.querySelectorAll("text")].filter((text) => text.textContent).flatMap((text) => {
        const place = text.getBoundingClientRect(), scale = text.getScreenCTM().a;
        const sizes = [text, ...text.children].map((part) => parseFloat(getComputedStyle(part).fontSize) * scale);
        const out = place.left < box.left || place.right > box.right;
        return Math.min(...sizes) < least || out ? [`${node.dataset.box}: ${text.textContent} ${sizes}`] : [];
    });
})"""


def test_the_text_is_legible_and_fits(drawn: Callable[..., Page]) -> None:
    for model in ("both", "encoder", "decoder", "six", "bert"):
        page = drawn(f"model={model}")
        for width, theme in LOOKS:
            look(page, width, theme)
            least = 12 if width == 1280 else 10
            assert page.locator(".box").evaluate_all(MISFITS, least) == [], (model, width, theme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (model, width, theme)


def test_the_lit_box_is_in_sight_on_a_phone(drawn: Callable[..., Page]) -> None:
    page = drawn("at=decoder.layers.0.self_attn.q", width=390)
    for name in ("decoder.layers.0.self_attn", "encoder.layers.1.self_attn"):
        box(page, name).dispatch_event("click")
        idle(page)
        place = box(page, name).bounding_box()
        assert lit(page) == [name]
        assert place and place["x"] >= 0 and place["x"] + place["width"] <= 390


def test_with_a_height_it_scrolls_inside_its_own_box(drawn: Callable[..., Page]) -> None:
    page = drawn("model=six&at=loss&height=400")
    frame = page.locator(".drawing").bounding_box()
    place = box(page, "loss").bounding_box()
    assert frame and place and frame["height"] <= 400
    assert frame["y"] <= place["y"] and place["y"] + place["height"] <= frame["y"] + frame["height"]
    assert page.locator(".box").evaluate_all(MISFITS, 12) == []
