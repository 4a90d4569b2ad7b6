"""The component that draws the architecture diagram (`viz_core.figures.architecture`) as SVG with clickable boxes.

    opened = diagram(architecture_diagram(stages, current), key="architecture")

The browser keeps its DOM nodes between runs, so that a change of the current box is cheap.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import streamlit as st

from viz_core.figures import assets
from viz_core.figures.architecture import Diagram
from viz_core.ui.components.calls import Call, Recorded, as_expression, evaluated
from viz_core.ui.components.export import register_picture
from viz_core.ui.streamlit_internals import Component

_COMPONENT = Component("diagram", **assets.component("diagram"))


def diagram(
    drawing: Recorded[Diagram],
    *,
    key: str,
    height: int | None = None,
    fill: bool = False,
    known_stages: Iterable[str] = (),
    on_open: Callable[[str], None] | None = None,
    toggle_label: str = "",
    on_toggle: Callable[[], None] | None = None,
) -> str | None:
    """Draw the diagram and return the stage of the box that was clicked (or pressed by Enter or Space) in this run, else None.

    The drawing takes the width of the page, up to 1.25 times its natural size.

    height: in pixels; the drawing shrinks to it, and scrolls inside its own box if the text would become too small. fill: the
    drawing takes the size of the container and scrolls in it, with the current box visible. known_stages: all stages that a
    diagram of this model can open, because a quick click can be on the previous diagram, which may have other boxes. on_open:
    called with the stage before the rerun after a click, so that this rerun can show it. toggle_label: the text of a button
    above the drawing for another view; on_toggle: called when it is pressed.
    """
    record, drawing = as_expression(drawing), evaluated(drawing)
    known = frozenset((*known_stages, *(box.stage for box in drawing.boxes)))

    def report() -> None:
        stage = _opened_stage(st.session_state.get(key), known)
        if on_open is not None and stage is not None:
            on_open(stage)

    def toggled() -> None:
        if on_toggle is not None:
            on_toggle()

    data = drawing.to_dict() | {"room": height, "fill": fill, "toggle": toggle_label}
    result = _COMPONENT(key=key, data=data, on_open_change=report, on_toggle_change=toggled)
    register_picture(key, {
        "drawing": record, "frame": Call("viz_core.figures.plot_data.diagram", record),
        "picture": Call("viz_core.notebook.diagram", record),
    }, len(drawing.boxes))
    return _opened_stage(result, known)


def _opened_stage(state: Any, known: Container[str]) -> str | None:
    """Return the stage that the browser sent, if it is known."""
    stage = state.get("open") if isinstance(state, Mapping) else None
    return stage if isinstance(stage, str) and stage in known else None
