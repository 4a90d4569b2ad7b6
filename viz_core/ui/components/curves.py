"""A chart of `viz_core.figures.curves` on the page: the pointer or the arrow keys read its points, in the browser alone."""


import streamlit as st

from viz_core.figures.assets import script, style
from viz_core.figures.curves import Curves, pack_curves

_COMPONENT = st.components.v2.component(
    "attention_lab_curves",
    html='<div class="curves">\n</div>',
    css=style("curves"),
    js=script("curves"),
)


def curves(chart: Curves, key: str) -> None:
    """Draw the chart as wide as its column."""
    _COMPONENT(key=key, data=pack_curves(chart))
