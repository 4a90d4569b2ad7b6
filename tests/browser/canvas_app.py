"""A page with nothing but the canvas: a button goes from one set of panels to the next, and another link begins anew."""

import numpy as np
import streamlit as st

from viz_core.figures.panels import Panel, panel
from viz_core.ui.components.canvas import Pick, matrices

TOKENS = ["<s>", "the", "cat", "$x$", "**b**", "the", "<script>alert(1)</script>", "猫", "sat", "</s>"]
FEATURES = {"row_axis": "T · token", "row_letter": "T", "col_axis": "D · feature", "col_letter": "D"}
PAIRS = {"row_axis": "T · query token", "row_letter": "T", "col_axis": "S · key token", "col_letter": "S"}


def attention() -> list[Panel]:
    """Scores, masked scores and weights of one causal head, with a NaN and infinities among the scores."""
    scores = np.random.default_rng(0).normal(size=(len(TOKENS), len(TOKENS))).astype(np.float32)
    future = np.triu(np.ones_like(scores, dtype=bool), 1)
    powers = np.where(future, 0, np.exp(scores))
    weights = powers / powers.sum(-1, keepdims=True)
    scores[1, 0], scores[3, 1], scores[5, 2] = np.nan, np.inf, -np.inf
    masked = np.where(future, -np.inf, scores)
    return [
        panel("Scores", scores, TOKENS, TOKENS, **PAIRS, role="input"),
        panel("May attend", ~future, TOKENS, TOKENS, **PAIRS, kind="mask", role="input"),
        panel("Masked scores", masked, TOKENS, TOKENS, **PAIRS, masked=future),
        panel("Weights", weights, TOKENS, TOKENS, **PAIRS, kind="probability", masked=future),
    ]


def wide() -> list[Panel]:
    """Three matrices of 10 x 512: what most steps of a published model look like."""
    x, noise = np.random.default_rng(1).normal(size=(2, len(TOKENS), 512))
    waves = np.cos(np.arange(len(TOKENS))[:, None] / 50 ** (np.arange(512) / 512))
    return [
        panel("Token embedding", x, TOKENS, **FEATURES, role="input"),
        panel("Position", waves, TOKENS, **FEATURES, role="input"),
        panel("Sum", x + waves + noise, TOKENS, **FEATURES),
    ]


def small() -> list[Panel]:
    """Ids, a matrix small enough for its values to be written, and one too large to be sent whole."""
    ids = np.array([[101, 1996, 4937, 7, 42, 1996, 30521, 9, 2938, 102]])
    id_axes = {"row_axis": "", "col_axis": "T · token", "col_letter": "T"}
    large = np.zeros((600, 1000), np.float32)
    large[[7, 599], [13, 999]] = 3, -5
    return [
        panel("Token ids", ids, ["id"], TOKENS, **id_axes, kind="ids", role="input"),
        panel("Values", np.arange(-6, 6).reshape(3, 4) / 8, TOKENS[:3], **FEATURES),
        panel("Large", large, row_axis="row", col_axis="column"),
    ]


SETS = [attention, wide, small]
link = st.query_params.get("link", "")
if st.session_state.setdefault("link", link) != link:
    st.session_state.clear()
    st.session_state.link = link
at = st.session_state.setdefault("set", 0)


def go_on() -> None:
    st.session_state.set = (at + 1) % len(SETS)


def note(pick: Pick | None) -> None:
    st.session_state.told = tuple(pick) if pick else None


st.set_page_config(layout="wide")
st.button("Next", on_click=go_on)
if st.button("Pick 2, 3"):
    st.session_state.asked = Pick(len(SETS[at]()) - 1, 2, 3)
chosen = matrices(SETS[at](), key=f"canvas{link}", pick=st.session_state.get("asked"), on_pick=note)
st.text(f"set {at}; pick {tuple(chosen) if chosen else None}; told {st.session_state.get('told')}")
