"""A chart of `viz_core.figures.curves` on the page: the pointer or the arrow keys read its points, in the browser alone."""


import streamlit as st

from viz_core.figures.curves import Curves, pack_curves
from viz_core.ui.beside import beside

_COMPONENT = st.components.v2.component(
    "attention_lab_curves",
    html='<div class="curves">\n</div>',
    css=beside("curves.css"),
    js=beside("curves.js"),
)


def curves(chart: Curves, key: str) -> None:
    """Draw the chart as wide as its column."""
    _COMPONENT(key=key, data=pack_curves(chart))
