"""Whatever is typed is read back from the drawn page, letter by letter, and stays text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.browser.helpers import idle, linked, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Page

TYPED = {  # what is typed → its tokens
    "<script>alert(1)</script>": ["<", "script", ">", "alert", "(", "1", ")", "<", "/", "script", ">"],
    "<img src=x onerror=alert(1)>": ["<", "img", "src", "=", "x", "onerror", "=", "alert", "(", "1", ")", ">"],
    "$x$ **b** :red[x]": ["$", "x", "$", "*", "*", "b", "*", "*", ":", "red", "[", "x", "]"],
    "👨‍👩‍👧 👍🏽 🇨🇳 1️⃣": ["👨‍👩‍👧", "👍🏽", "🇨🇳", "1️⃣"],
    "שלום עולם abc": ["שלום", "עולם", "abc"],
    "the the the": ["the", "the", "the"],
    "a\u200bb \u202ec": ["a", "U+200B", "b", "U+202E", "c"],
}
BOXES = {"source": "Source sentences", "target": "Target sentences"}
STAGE = {"source": "encoder.tok_embed", "target": "decoder.tok_embed"}


def type_into(page: Page, side: str, text: str) -> None:
    box = page.get_by_role("textbox", name=BOXES[side], exact=True)
    box.click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    page.keyboard.press("Control+Enter")
    linked(page, lambda url: parse_qs(urlsplit(url).query).get(side) == [text])


def drawn_tokens(page: Page, title: str, along: str, count: int) -> list[tuple[str, str]]:
    """The tokens on an axis of a canvas with their numbers, each read from where the pointer is held over it."""
    canvas = page.locator(f'canvas[data-title="{title}"][data-{along}="{count}"][data-drawn]')
    canvas.wait_for()
    canvas.scroll_into_view_if_needed()
    left, top, wide, high = map(float, canvas.get_attribute("data-grid").split(","))
    readout = canvas.locator("xpath=..").locator(".readout")
    seen = []
    for i in range(count):
        row, col = (i, 0) if along == "rows" else (0, i)
        canvas.hover(position={"x": left + (col + 0.5) * wide, "y": top + (row + 0.5) * high})
        assert canvas.get_attribute("data-hover").startswith(f"{row},{col},")
        part = readout.locator("> span").nth(0 if along == "rows" else -1)
        name = part.locator("bdi").text_content()
        assert name[0] == "“" and name[-1] == "”"
        assert "“”" not in readout.text_content()  # a single row has no name, and none is said
        seen.append((name[1:-1], part.text_content().rpartition("”")[2].strip(" ()")))
    return seen


@pytest.mark.parametrize("side", BOXES)
@pytest.mark.parametrize("path", ["", "step_by_step"])
def test_typed_text_is_read_back_exactly(serve: Callable[..., str], new_page: Callable[..., Page], path: str, side: str) -> None:
    page, opened = new_page(), []
    page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    open_page(page, f"{serve()}/{path}?" + urlencode({"preset": "000", "stage": STAGE[side], "max_len": "50"}))
    for text, tokens in TYPED.items():
        type_into(page, side, text)
        expected = (["<bos>"] if side == "target" else []) + tokens
        numbered = [(token, str(i)) for i, token in enumerate(expected)]
        assert drawn_tokens(page, f"ids.{side}", "cols", len(expected)) == numbered
        if path:
            assert drawn_tokens(page, STAGE[side], "rows", len(expected)) == numbered
        elif side == "target":
            heading = page.get_by_test_id("stHtml").locator("figcaption").first.text_content()
            assert heading in {f"Likeliest next words after “{token}”" for token in expected}
        if path and text != list(TYPED)[-1]:
            continue
        page.reload()  # the link holds it
        idle(page)
        assert page.get_by_role("textbox", name=BOXES[side], exact=True).input_value() == text
        assert len(drawn_tokens(page, f"ids.{side}", "cols", len(expected))) == len(expected)
        assert page.get_by_test_id("stException").count() == 0
    assert page.locator("main img[src='x'], script:text('alert(1)')").count() == 0
    assert opened == []


@pytest.mark.parametrize("path", ["", "step_by_step"])
def test_an_emptied_box_stays_empty_and_the_page_says_so(
    serve: Callable[..., str], new_page: Callable[..., Page], path: str
) -> None:
    page = open_page(new_page(), f"{serve()}/{path}?preset=000")
    box = page.get_by_role("textbox", name=BOXES["source"], exact=True)
    box.fill("")
    box.press("Control+Enter")
    page.get_by_test_id("stAlert").filter(has_text="nothing to read yet").wait_for()
    idle(page)
    page.reload()
    page.get_by_test_id("stAlert").filter(has_text="nothing to read yet").wait_for()
    idle(page)
    assert box.input_value() == ""
    box.fill("back again")
    box.press("Control+Enter")
    page.locator("canvas[data-drawn]").first.wait_for()
    idle(page)
    assert page.get_by_test_id("stAlert").count() == 0


@pytest.mark.parametrize("path", ["", "step_by_step"])
def test_a_hostile_link_is_quoted_as_it_was_written(serve: Callable[..., str], new_page: Callable[..., Page], path: str) -> None:
    written = "<b>x</b> $y$ **z** :red[w] `c`"
    page = open_page(new_page(), f"{serve()}/{path}?" + urlencode({"norm": written, "source": "kept"}))
    alert = page.get_by_test_id("stAlert")
    assert f"norm={written}" in alert.inner_text()
    assert alert.locator("code").count() == 1 and alert.locator("b, strong, .katex").count() == 0
    assert page.get_by_role("textbox", name=BOXES["source"], exact=True).input_value() == "kept"


@pytest.mark.parametrize("path", ["", "step_by_step"])
def test_words_that_share_an_id_are_quoted_as_typed(serve: Callable[..., str], new_page: Callable[..., Page], path: str) -> None:
    text = "👨‍👩‍👧 $x **b"
    page = open_page(new_page(), f"{serve()}/{path}?" + urlencode({"source_vocab_size": "5", "source": text}))
    quoted = page.get_by_test_id("stAlert").filter(has_text="share one id").locator("code").all_inner_texts()
    assert [word.strip() for word in quoted] == ["👨‍👩‍👧", "$", "x", "*", "b"]
