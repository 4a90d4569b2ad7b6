"""What this is, the model drawn with live shapes, the tokens, the predictions, and the doors."""

import streamlit as st

from viz_core.ui import home
from viz_core.ui.frame import open_page

lab = open_page(
    "home",
    "Watch a Transformer read your sentence",
    "Type a sentence at the left and a real Transformer computes on it, here and now. "
    "Every tensor on its way from word to prediction can be opened, named and checked. "
    "Five documents describe this model in five ways: each is a preset, and every switch is yours to flip.",
)
if lab.capture is not None:
    item = home.tokens(lab, lab.capture)
    home.drawing(lab.capture)
    home.next_word(lab, lab.capture, item)
st.subheader("Doors", anchor=False)
st.page_link("pages/step_by_step.py", label="Step by step: walk through every tensor, from id to loss", icon=":material/footprint:")
home.preset_rows(lab)
