"""A page with nothing but the architecture drawing: what is clicked becomes the current stage, and another link begins anew."""

import streamlit as st

from viz_core.config import TransformerConfig
from viz_core.figures.architecture import architecture_diagram
from viz_core.stages import stages_with_shapes
from viz_core.ui.components.diagram import diagram

SMALL = {"d_model": 32, "n_heads": 4}
MODELS = {
    "both": TransformerConfig(**SMALL),
    "encoder": TransformerConfig(**SMALL, architecture="encoder-only", n_encoder_layers=3),
    "decoder": TransformerConfig(**SMALL, architecture="decoder-only", norm="pre"),
    "six": TransformerConfig(d_model=512, n_heads=8, n_encoder_layers=6, n_decoder_layers=6, norm="pre"),
    "bert": TransformerConfig(
        d_model=768, n_heads=12, architecture="encoder-only", n_encoder_layers=12, norm_embedding=True, n_segments=2,
        position="learned", scale_embedding=False, source_vocab_size=30522,
    ),
}

st.set_page_config(layout="wide")
choice = st.query_params.get("model", "both")
room = st.query_params.get("height")
size = (256, 128) if choice == "bert" else (7, 5)
stages = stages_with_shapes(MODELS[choice], 2, *size)
names = [stage.name for stage in stages]
if st.session_state.get("link") != (link := dict(st.query_params)):
    st.session_state.link, st.session_state.at = link, link.get("at")
at = st.session_state.at


def go_on() -> None:
    now = st.session_state.at
    st.session_state.at = names[(names.index(now) + 1) % len(names) if now else 0]


def note(stage: str) -> None:
    st.session_state.at = stage


st.button("Next", on_click=go_on)
told = st.empty()
opened = diagram(architecture_diagram(stages, at), key="drawing", height=int(room) if room else None, on_open=note)
told.text(f"at {at}; opened {opened}")
