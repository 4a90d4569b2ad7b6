"""The scrubber of a walk: one range input, which costs a tenth of a slider's redraw, and the title of the step, which
as a Markdown heading would bring an anchor and an icon, made anew at each step.

    scrubber("Step 3 of 113 · Inputs › target", "The ids of the target", 3, 113, key="walk_scrubber", on_move=go_to)
"""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz_core.ui.beside import beside

_COMPONENT = st.components.v2.component(
    "attention_lab_scrubber",
    html='<div class="scrubber">\n<label for="range"></label>\n<input id="range" type="range" min="1" step="1">\n<h5></h5>\n</div>',
    css=beside("scrubber.css"),
    js=beside("scrubber.js"),
)


def scrubber(label: str, title: str, value: int, most: int, *, key: str, on_move: Callable[[int], None]) -> None:
    """Show step `value` of 1..most; `on_move(step)` is called before the run that follows a move."""

    def report() -> None:
        state: Any = st.session_state.get(key)
        step = state.get("move") if isinstance(state, Mapping) else None
        if isinstance(step, int) and 1 <= step <= most:
            on_move(step)

    _COMPONENT(key=key, data={"label": label, "title": title, "value": value, "most": most}, on_move_change=report)
