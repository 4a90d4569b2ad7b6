"""The ledger: the shape, the parameters and the cost of every tensor."""

import streamlit as st

from viz_core.ui.shell import open_page

lab = open_page(
    "What shape is every tensor, and what does it cost?",
    "This table lists every tensor of the run in the order of computation. Look for the head axis (H), which exists only inside "
    "attention, and for the T × S matrices of queries by keys. Click a name to open the tensor in Step by step.",
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
