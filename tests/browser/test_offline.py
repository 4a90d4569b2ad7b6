"""The attention of a sentence as one file, opened by a browser without a network: all heads, one as a matrix and as lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.model.small import small, unlike_identity
from viz_core.figures.offline import attention_page
from viz_core.run import build, run

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_is_drawn_and_answers_without_a_network(new_page: Callable[..., Page], tmp_path: Path, theme: str) -> None:
    config = small(source_vocab_size=60, max_len=64)
    capture = run(config, ["<s> $x$ =1+1 שלום 👩‍🏫 the the"], ["猫 </script> y"], weights=unlike_identity(build(config)))
    file, page = tmp_path / "attention.html", new_page(theme=theme, apart=True)  # the context loses its network
    file.write_text(attention_page(capture, focus=("encoder", 0, 1), title="<b>One</b>"), "utf-8")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto(file.as_uri())
    page.locator("html[data-shown='encoder 0 1']").wait_for()
    matrix = page.locator("#matrix canvas[data-drawn]")
    assert matrix.get_attribute("data-theme") == theme and page.locator("h1").inner_text() == "<b>One</b>"
    weights, box = capture["encoder.layers.0.self_attn.weights"][0, 1], matrix.bounding_box()
    assert box is not None and matrix.get_attribute("data-rows") == str(len(weights))
    matrix.focus()
    row, col = divmod(int(weights.argmax()), weights.shape[1])
    for key in ("ArrowDown", *["ArrowDown"] * row, *["ArrowRight"] * col):  # the first one picks the first cell
        page.keyboard.press(key)
    said = page.locator("#matrix .readout").inner_text()
    assert float(said.split()[-1]) == pytest.approx(weights.max(), abs=0.001), said
    page.locator("#heads canvas").nth(2).focus()
    page.keyboard.press("ArrowDown")
    page.locator("html[data-shown='cross 0 0']").wait_for()
    grid = page.locator("#heads canvas").nth(2).bounding_box()
    assert grid is not None
    page.mouse.click(grid["x"] + 0.75 * grid["width"], grid["y"] + 0.8 * grid["height"])
    page.locator("html[data-shown='cross 1 1']").wait_for()
    assert "Cross-attention" in page.locator("#matrix figcaption").inner_text()
    assert "猫" in page.locator("#lines .view").inner_text() and page.locator("i, s").count() == 0
    assert [url for url in asked if not url.startswith("file:")] == []
