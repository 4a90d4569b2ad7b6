"""Whatever is typed is read back from the drawn page, letter by letter, and stays text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from tests.browser.helpers import at_page, box, go, idle, linked, nav, read_on

if TYPE_CHECKING:
    from playwright.sync_api import Dialog, Page

pytest_plugins = ["tests.browser.one_page"]
TYPED = {  # what is typed → its tokens
    "<script>alert(1)</script>": ["<", "script", ">", "alert", "(", "1", ")", "<", "/", "script", ">"],
    "<img src=x onerror=alert(1)>": ["<", "img", "src", "=", "x", "onerror", "=", "alert", "(", "1", ")", ">"],
    "$x$ **b** :red[x]": ["$", "x", "$", "*", "*", "b", "*", "*", ":", "red", "[", "x", "]"],
    "👨‍👩‍👧 👍🏽 🇨🇳 1️⃣": ["👨‍👩‍👧", "👍🏽", "🇨🇳", "1️⃣"],
    "שלום עולם abc": ["שלום", "עולם", "abc"],
    "the the the": ["the", "the", "the"],
    "a\u200bb \u202ec": ["a", "U+200B", "b", "U+202E", "c"],
}
STAGE = {"source": "encoder.tok_embed", "target": "decoder.tok_embed"}

# What a canvas reads where the pointer is: the cell, the name and the whole of one part, and all that is said.
READ = """(canvas, nth) => {
    const readout = canvas.closest("figure").querySelector(".readout");
    const part = [...readout.querySelectorAll(":scope > span")].at(nth);
    return [canvas.dataset.hover, part.querySelector("bdi").textContent, part.textContent, readout.textContent];
}"""


def type_into(page: Page, side: str, text: str) -> None:
    typed = box(page, side)
    typed.click()
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
    corner = canvas.bounding_box()
    seen = []
    for i in range(count):
        row, col = (i, 0) if along == "rows" else (0, i)
        page.mouse.move(corner["x"] + left + (col + 0.5) * wide, corner["y"] + top + (row + 0.5) * high)
        hover, name, part, whole = canvas.evaluate(READ, 0 if along == "rows" else -1)
        assert hover.startswith(f"{row},{col},")
        assert name[0] == "“" and name[-1] == "”"
        assert "“”" not in whole  # a single row has no name, and none is said
        token = name[1:-1].removeprefix("\u2068").removesuffix("\u2069")  # what keeps a right-to-left one inside the quotes
        seen.append((token, part.rpartition("”")[2].strip(" ()")))
    return seen


@pytest.mark.parametrize("side", STAGE)
def test_typed_text_is_read_back_exactly(serve: Callable[..., str], turn_to: Callable[..., Page], side: str) -> None:
    page, opened = turn_to(f"{serve()}/?" + urlencode({"preset": "000", "stage": STAGE[side], "max_len": "50"})), []

    def dismiss(dialog: Dialog) -> None:
        opened.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", dismiss)
    typed = box(page, side)
    read_on(page)  # the ids are below the first screen
    links = {}
    for text, tokens in list(TYPED.items())[int(side == "target") :: 2]:  # each side reads them in the same way
        type_into(page, side, text)
        expected = numbered(side, tokens)
        assert drawn_tokens(page, f"ids.{side}", "cols", len(expected)) == expected
        if side == "target":
            heading = page.get_by_test_id("stHtml").locator("figcaption").first.text_content()
            assert heading in {f"Most likely next words after “{token}”" for token, _ in expected}
        links[text] = page.url

    for text in list(links)[::2]:  # the link holds it, for another page and another axis
        go(page, links[text].replace("/?", "/step_by_step?"))
        assert typed.input_value() == text
        expected = numbered(side, TYPED[text])
        assert drawn_tokens(page, STAGE[side], "rows", len(expected)) == expected
    text = list(TYPED)[int(side == "target")]  # markup
    type_into(page, side, text)
    expected = numbered(side, TYPED[text])
    for name, along in ((f"ids.{side}", "rows"), (STAGE[side], "rows")):
        assert drawn_tokens(page, name, along, len(expected)) == expected
    reload_keeps(page, side, text)
    page.remove_listener("dialog", dismiss)
    assert opened == []


def reload_keeps(page: Page, side: str, text: str) -> None:
    page.reload()
    idle(page)
    assert box(page, side).input_value() == text
    expected = numbered(side, TYPED[text])
    assert drawn_tokens(page, f"ids.{side}", "rows", len(expected)) == expected
    assert page.get_by_test_id("stException").count() == 0
    assert page.locator("main img[src='x'], script:text('alert(1)')").count() == 0


def numbered(side: str, tokens: list[str]) -> list[tuple[str, str]]:
    return [(token, str(i)) for i, token in enumerate((["<bos>"] if side == "target" else []) + tokens)]


def test_an_emptied_box_stays_empty_and_each_page_says_so(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    page = turn_to(f"{serve()}/?preset=000")
    typed, said = box(page), page.get_by_test_id("stAlert")
    typed.fill("")
    typed.press("Control+Enter")
    said.filter(has_text="nothing to read yet").wait_for()
    idle(page)
    nav(page, "step_by_step").click()
    at_page(page, "step_by_step")
    idle(page)
    assert "nothing to read yet" in said.inner_text() and typed.input_value() == ""
    page.reload()
    said.filter(has_text="nothing to read yet").wait_for()
    idle(page)
    assert typed.input_value() == ""
    typed.fill("back again")
    typed.press("Control+Enter")
    page.locator("canvas[data-drawn]").first.wait_for()
    idle(page)
    assert said.count() == 0


def test_what_a_link_holds_is_quoted_as_it_was_written(serve: Callable[..., str], turn_to: Callable[..., Page]) -> None:
    written, shared = "<b>x</b> $y$ **z** :red[w] `c`", "👨‍👩‍👧 $x **b"
    for path in ("", "step_by_step"):
        page = turn_to(f"{serve()}/{path}?" + urlencode({"norm": written, "source": "kept"}))
        alert = page.get_by_test_id("stAlert")
        assert f"norm={written}" in alert.inner_text(), path
        assert alert.locator("code").count() == 1 and alert.locator("b, strong, .katex").count() == 0, path
        assert box(page).input_value() == "kept"
        go(page, f"{serve()}/{path}?" + urlencode({"source_vocab_size": "5", "source": shared}))
        quoted = alert.filter(has_text="share one id").locator("code").all_inner_texts()
        assert [word.strip() for word in quoted] == ["👨‍👩‍👧", "$", "x", "*", "b"], path
