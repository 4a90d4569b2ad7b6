"""Clocks whose hands turn with the position, moved by a slider inside the component.

    clock(sinusoidal_clocks(100, 20, 10000.0, shift=3), position, key="hands", on_move=remember)

The browser draws each position without a rerun; Python receives only the position at which the slider stops.
"""

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from viz_core.figures import assets
from viz_core.figures.clock import ClockChart
from viz_core.ui.components.calls import Call, Recorded, as_expression, evaluated
from viz_core.ui.components.export import register_picture
from viz_core.ui.streamlit_internals import Component

_COMPONENT = Component("clock", **assets.component("clock"))


def clock(clocks: Recorded[ClockChart], position: int, *, key: str, on_move: Callable[[int], None], fill: bool = False) -> None:
    """Draw the clocks at a position; `on_move(position)` is called before the rerun after the slider stops.

    fill: whether they take the size of the container.
    """
    record, clocks = as_expression(clocks), evaluated(clocks)
    first, last = clocks.first, clocks.last

    def report() -> None:
        _, moved_to = _parse_move(st.session_state.get(key))
        if moved_to is not None and first <= moved_to <= last:
            on_move(moved_to)

    echo, _ = _parse_move(st.session_state.get(key))
    _COMPONENT(key=key, data=clocks.to_dict() | {"position": position, "echo": echo, "fill": fill}, on_rest_change=report)
    register_picture(key, {
        "clocks": record, "frame": Call("viz_core.figures.plot_data.clocks", record, position),
        "picture": Call("viz_core.notebook.clock", record, position),
    })


def _parse_move(state: Any) -> tuple[int, int | None]:
    """Return the number of the user's last move and its position from the browser's state, or (0, None)."""
    sent = state.get("rest") if isinstance(state, Mapping) else None
    number, position = (sent.get("number"), sent.get("position")) if isinstance(sent, Mapping) else (None, None)
    if not (isinstance(number, int) and isinstance(position, int)):
        return 0, None
    return number, position
