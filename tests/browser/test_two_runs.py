"""Two runs in Chromium: a run is kept as A, a word is changed, and Step by step and Shapes say what that changes and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.browser.helpers import box, button, idle, linked, nav, open_page, option

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LINK = {"preset": "000", "source": "the cat was tired", "target": "x y"}
STAGE = "encoder.layers.1.self_attn.weights"


def query(page: Page) -> dict[str, str]:
    return {name: values[-1] for name, values in parse_qs(urlsplit(page.url).query).items()}


def titles(page: Page) -> list[str]:
    return page.locator(".st-key-walk_canvas canvas").evaluate_all("all => all.map((c) => c.dataset.title)")


def cell(canvas: Locator, row: int, col: int) -> dict[str, float]:
    left, top, wide, high = map(float, str(canvas.get_attribute("data-grid")).split(","))
    return {"x": left + (col + 0.5) * wide, "y": top + (row + 0.5) * high}


def test_a_word_is_changed_and_the_difference_is_followed(serve: Callable[..., str], new_page: Callable[..., Page]) -> None:
    page = open_page(new_page(), f"{serve()}/step_by_step?{urlencode(LINK | {'stage': STAGE})}")
    button(page, "lab_keep").click()
    linked(page, "kept=")
    box(page).fill("the cat was wide")
    box(page).press("Control+Enter")
    linked(page, "wide")
    assert titles(page) == [f"{run}: weights · head 0" for run in ("A", "B", "A − B")]
    option(page, "shown", "a").click()
    linked(page, "shown=a")
    assert titles(page)[-1] == "weights · head 0"

    option(page, "walk_look", "parting").click()
    linked(page, "walk_look=parting")
    assert "They diverge at the token embedding of the encoder" in page.locator(".st-key-lab_hint").inner_text()
    source = page.locator(".st-key-walk_parting canvas").first
    source.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowDown"):  # the first key comes to the first cell
        source.press(key)
    assert str(source.get_attribute("data-hover")).startswith("1,1,"), "keys move without opening"
    assert "walk_look" in query(page)
    source.click(position=cell(source, 2, 3))
    linked(page, lambda url: "walk_look" not in url)
    said = query(page)
    assert said["stage"] == "encoder.layers.0.resid_mid" and "shown" not in said  # A − B is what is shown at first
    assert said["cells"].startswith("walk_canvas.2.3.")
    assert titles(page) == [f"{run}: resid_mid" for run in ("A", "B", "A − B")]
    assert "A − B =" in page.locator(".walk-apart").inner_text()

    option(page, "walk_look", "parting").click()
    linked(page, "walk_look=parting")
    target = page.locator(".st-key-walk_parting canvas").nth(1)
    target.focus()
    for key in ("ArrowDown", "End", "Enter"):
        target.press(key)
    linked(page, "stage=decoder.tok_embed")
    assert query(page)["cells"].startswith("walk_canvas.2.2.")

    nav(page, "shapes").click()
    page.locator(".stage-table .row").first.wait_for()
    idle(page)
    assert "only the words do" in page.locator(".st-key-lab_hint").inner_text()
    button(page, "lab_clear_a").click()
    linked(page, lambda url: "kept" not in url)
    assert "Each row is a tensor" in page.locator(".st-key-lab_hint").inner_text()


def test_a_missing_token_is_hatched_and_says_so(serve: Callable[..., str], new_page: Callable[..., Page]) -> None:
    kept = {"kept": urlencode(LINK), "source": "the cat was very tired"}
    page = open_page(new_page(), f"{serve()}/step_by_step?{urlencode(LINK | kept | {'stage': 'encoder.embed', 'shown': 'a'})}")
    canvas = page.locator(".st-key-walk_canvas canvas").last
    canvas.hover(position=cell(canvas, 3, 0))
    figure = page.locator(".st-key-walk_canvas figure").last
    assert "A has no such token" in figure.locator(".readout").inner_text()
    assert "not in A" in figure.locator(".legend").inner_text()
    canvas.hover(position=cell(canvas, 4, 0))
    assert "tired" in figure.locator(".readout").inner_text() and "no such" not in figure.locator(".readout").inner_text()
