"""The calls of a component overlap when a page is built again while its script is still on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from viz_core.figures import assets
from viz_core.figures.clock import sinusoidal_clocks

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Two calls for one element; the first ends before the second begins, or only after it. Then a few frames.
CALLS = """async ([js, first, second, late]) => {
    const host = document.body.appendChild(document.createElement("div"));
    host.innerHTML = '<div class="clocks"></div>';
    const { default: call } = await import(URL.createObjectURL(new Blob([js], { type: "text/javascript" })));
    const parts = { parentElement: host, setStateValue() {} };
    const end = call({ ...parts, data: first });
    if (!late) end();
    call({ ...parts, data: second });
    if (late) end();
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
    return host.firstChild.dataset.position;
}"""


@pytest.mark.parametrize("late", [False, True])
def test_the_end_of_an_earlier_call_leaves_what_the_next_one_began(late: bool, new_page: Callable[..., Page]) -> None:
    page, sent = new_page(), sinusoidal_clocks(100, 20, 10000.0, shift=3).to_dict() | {"echo": 0, "fill": False}
    page.goto("about:blank")
    script = assets.translated(assets.component("clock")["js"])
    assert page.evaluate(CALLS, [script, sent | {"position": 4}, sent | {"position": 10}, late]) == "10"
