"""The architecture drawing on a page: `viz_core.figures.architecture` drawn as SVG, with boxes to click.

    opened = diagram(architecture(stages, current), key="architecture")

The browser keeps its nodes from run to run, so that moving the lit box costs next to nothing.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import fields
from typing import Any

import streamlit as st

from viz_core.figures import assets
from viz_core.figures.architecture import Diagram
from viz_core.ui.components.saving import offer

_COMPONENT = st.components.v2.component("attention_lab_diagram", **assets.component("diagram"))


def diagram(
    d: Diagram,
    *,
    key: str,
    height: int | None = None,
    fill: bool = False,
    stages: Iterable[str] = (),
    on_open: Callable[[str], None] | None = None,
    turn: str = "",
    on_turn: Callable[[], None] | None = None,
    code: Callable[[], str] | None = None,
) -> str | None:
    """Draw it and return the stage of the box that was clicked (or chosen by Enter or Space), once; else None.

    The drawing takes the width of the page up to a quarter more than its natural size. With a `height` in pixels
    it shrinks to fit, and scrolls inside its own box where its text would become too small. `on_open` is called with
    the stage before the run that follows a click, so that the same run can already show it.

    fill: it takes the size of the container that it is in, and scrolls in it, the lit box in sight.

    turn: the text of a button above the drawing, for another view of it; `on_turn` is called when it is pressed.

    stages: all that a drawing of this model may have a box for. A hurried click is on the drawing before this one, whose
    boxes may be others.

    code: the lines that make `drawing` in a notebook.
    """
    known = frozenset((*stages, *(box.stage for box in d.boxes)))

    def report() -> None:
        stage = _opened(st.session_state.get(key), known)
        if on_open is not None and stage is not None:
            on_open(stage)

    def turned() -> None:
        if on_turn is not None:
            on_turn()

    data = _data(d) | {"room": height, "fill": fill, "turn": turn}
    result = _COMPONENT(key=key, data=data, on_open_change=report, on_turn_change=turned)
    offer(key, "diagram", (d,), code, len(d.boxes))
    return _opened(result, known)


def _data(d: Diagram) -> dict[str, Any]:
    """The drawing as plain data, its parts one level deep (`asdict` copies every number and takes ten times as long)."""

    def plain(part: Any) -> dict[str, Any]:
        return {f.name: getattr(part, f.name) for f in fields(part)}

    lists = {"boxes": d.boxes, "arrows": d.arrows, "frames": d.frames}
    # Tuples: Streamlit imports pandas to see whether a list is a table.
    return plain(d) | {name: tuple(map(plain, parts)) for name, parts in lists.items()}


def _opened(state: Any, known: Container[str]) -> str | None:
    """The stage that the browser sent, if there is such a one."""
    stage = state.get("open") if isinstance(state, Mapping) else None
    return stage if isinstance(stage, str) and stage in known else None
