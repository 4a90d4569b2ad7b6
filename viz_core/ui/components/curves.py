"""A chart of `viz_core.figures.curves` on the page; the pointer or the arrow keys read its points without the server."""

import streamlit as st

from viz_core.figures import assets
from viz_core.figures.curves import Curves, pack_curves

_COMPONENT = st.components.v2.component("attention_lab_curves", **assets.component("curves"))


def curves(chart: Curves, key: str, fill: bool = False) -> None:
    """Draw the chart at the width of its column. fill: at the height of its container, too."""
    _COMPONENT(key=key, data=pack_curves(chart, fill))
