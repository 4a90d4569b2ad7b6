"""Parts of a page below its first screen: nothing of them is computed or sent until the visitor scrolls to them.

The browser reports when a part comes near the screen and when it has left it (`viz_core.ui.shell.layout.visibility`). With another
sentence, only the parts near the screen are drawn again. A part that is drawn stays until then. Its heading belongs to the page,
which draws it in any case: screen readers and the scroll bar find the part by it.
"""

from collections.abc import Callable
from functools import wraps

import streamlit as st

from viz_core.ui.shell.layout.visibility import is_near_screen, report_visibility
from viz_core.ui.shell.runs.page_context import PageContext, page_fragment
from viz_core.ui.shell.session.state import ALL_PARTS, DRAWN_PARTS, current_setup, url_param


def below_fold(*names: str, height: int = 420) -> Callable[[Callable[[PageContext], None]], Callable[[PageContext], None]]:
    """Decorator for a part of a page below its first screen: a `page_fragment` that is drawn once it is near the screen.

    names: of its link parameters, heatmaps and expanders. While the link says something about one of them, it is always drawn.
    height: in pixels, kept free for the part until it is drawn for the first time.
    """

    def decorate(draw: Callable[[PageContext], None]) -> Callable[[PageContext], None]:
        part = f"lab_part_{draw.__name__.strip('_')}"
        visibility = f"{part}_visibility"

        @page_fragment
        @wraps(draw)
        def fragment(context: PageContext) -> None:
            drawn: set[str] = st.session_state[DRAWN_PARTS]
            if is_near_screen(visibility) or _is_linked(names) or st.session_state.get(ALL_PARTS):
                drawn.add(part)
            with st.container(key=part):
                if part in drawn:
                    draw(context)
                report_visibility(visibility, part, part in drawn, height)

        @wraps(draw)
        def with_page(context: PageContext) -> None:
            st.session_state.setdefault(DRAWN_PARTS, set()).discard(part)
            fragment(context)

        return with_page

    return decorate


def _is_linked(names: tuple[str, ...]) -> bool:
    """Return whether the link has one of these parameters, a cell of one of these heatmaps, or one of these expanders open."""
    params, heatmaps = (name for name, __ in current_setup().url_params), (heatmap for heatmap, *__ in url_param("cells"))
    return not {*params, *heatmaps, *url_param("open")}.isdisjoint(names)
