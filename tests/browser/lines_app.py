"""A page with nothing but the lines view and the grid of heads; another link begins anew."""

import numpy as np
import streamlit as st

from viz_core.analysis.attention import PooledHeads
from viz_core.analysis.labelled_weights import LabelledWeights
from viz_core.figures.attention import grid_of_tiles
from viz_core.ui.components.heads import Focus, head_grids
from viz_core.ui.components.lines import Lock, attention_lines

TOKENS = ["<s>", "$x$", "<b>bold</b>", "the", "the", "the", "مرحبا", "👩‍👩‍👧", "**a**", "</s>"]
WEIGHTS = np.random.default_rng(0).dirichlet(np.full(10, 0.4), size=(3, 10)).astype(np.float32)


def lock(at: Lock) -> None:
    st.session_state.locked = at


def choose(heads: tuple[int, ...]) -> None:
    st.session_state.shown = heads


def focus(at: Focus) -> None:
    st.session_state.focus = at
    st.session_state.pop("shown", None)


@st.fragment  # as on the Attention page: its reruns follow one another, where whole runs may overlap
def page() -> None:
    link = st.query_params.get("link", "")
    at = st.session_state.get("focus", ("encoder", 0, 1))
    tiles = PooledHeads(np.stack([WEIGHTS, WEIGHTS[::-1]]), np.triu(np.ones((10, 10), bool), 1), (1, 1))
    head_grids([grid_of_tiles("encoder", tiles, "largest", (10, 10))], at, key=f"heads{link}", on_focus=focus)
    shown = st.session_state.get("shown", (at[2],))
    attention_lines(
        LabelledWeights(WEIGHTS, tuple(TOKENS), tuple(TOKENS)),
        shown,
        st.session_state.get("locked"),
        "Lines",
        key=f"lines{link}",
        selection_id=str(at),
        on_lock=lock,
        on_heads=choose,
    )
    st.text(f"focus {at}; locked {st.session_state.get('locked')}; shown {shown}")


st.set_page_config(layout="wide")
if st.session_state.get("link") != (link := st.query_params.get("link", "")):
    st.session_state.clear()
    st.session_state.link = link
page()
