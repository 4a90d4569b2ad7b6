"""The ledger: the shape, the parameters and the cost of every tensor."""

import streamlit as st

from viz_core.ui.shell import PAGES, open_page

lab = open_page(PAGES["shapes"])

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
