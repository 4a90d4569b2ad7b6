"""A component that reports whether the container around it is near the screen, so that its content is drawn only then.

    with st.container(key="part"):
        if is_near_screen("part_visibility"):
            draw()
        report_visibility("part_visibility", container="part", is_drawn=..., height=420)

It is invisible. While nothing is drawn in the container, the browser gives it the height that it had last.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz_core.figures.assets import script
from viz_core.ui.streamlit_internals import Component

_COMPONENT = Component("visibility", html="<i></i>", js=script("shell/layout/visibility/visibility.js"))


def report_visibility(key: str, container: str, is_drawn: bool, height: int) -> None:
    """Draw the component. The script runs again when the container comes near the screen, and a while after it has left it.

    container: its key. height: in pixels, until it is drawn for the first time.
    """
    data = {"container": container, "drawn": is_drawn, "near": is_near_screen(key), "height": height}
    _COMPONENT(key=key, data=data, on_near_change=_ignore)


def is_near_screen(key: str) -> bool:
    """Return whether the container is near the screen, as the browser reported last; False before its first report."""
    state: Any = st.session_state.get(key)
    return isinstance(state, Mapping) and state.get("near") is True


def _ignore() -> None:
    """Do nothing: after `mark_activity`, `read_link` would not read the link of a click on Back in the run that a report starts."""
