"""A chart of `viz_core.figures.curves` on the page; the pointer or the arrow keys read its points without the server."""

from collections.abc import Callable

import streamlit as st

from viz_core.figures import assets
from viz_core.figures.curves import Curves, pack_curves
from viz_core.ui.components.saving import offer

_COMPONENT = st.components.v2.component("attention_lab_curves", **assets.component("curves"))


def curves(chart: Curves, key: str, fill: bool = False, code: Callable[[], str] | None = None, of: str = "") -> None:
    """Draw the chart at the width of its column. fill: at the height of its container, too. code: the lines that make `chart`.

    of: what it shows beside what its titles say, such as the sentence, so that a zoom does not outlast another one.
    """
    _COMPONENT(key=key, data=pack_curves(chart, fill, of))
    offer(key, "curves", (chart,), code, sum(len(s.x) for s in chart.series))
