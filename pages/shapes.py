"""The ledger: what shape every tensor has, what made it and what it costs."""

import streamlit as st

from viz_core.ui.shell import open_page

lab = open_page(
    "What shape is every tensor, and what does it cost?",
    "Every tensor of this run in the order in which it is computed. Look for the heads (H) that come and go inside attention, "
    "and for the tables of tokens by tokens (T × S) between them. A click on a name opens it in Step by step.",
)

from viz_core.ui.pages import shapes

dark = st.context.theme.type == "dark"
size = shapes.size_of(lab)
if size is not None:
    shapes.remember()
    shapes.table()
    shapes.changing(size)
    shapes.totals(lab, size)
shapes.block_charts(size, lab.config, dark)
shapes.growth_charts(size, lab.config, dark)
