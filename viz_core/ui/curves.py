"""A chart of `viz_core.figures.curves` on the page: the pointer or the arrow keys read its points, in the browser alone."""

from pathlib import Path

import streamlit as st

from viz_core.figures.curves import Curves, pack_curves


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


_COMPONENT = st.components.v2.component(
    "attention_lab_curves",
    html='<div class="curves">\n</div>',
    css=_beside("curves.css"),
    js=_beside("curves.js"),
)


def curves(chart: Curves, key: str) -> None:
    """Draw the chart as wide as its column."""
    _COMPONENT(key=key, data=pack_curves(chart))
