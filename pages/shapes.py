"""Shapes: the shape, the parameters and the cost of every tensor."""

import streamlit as st

from viz_core.language import translate as _
from viz_core.ui.shell import PAGES, open_page, two_runs

lab = open_page(PAGES["shapes"])

from viz_core.ui.pages.shapes.change import changing
from viz_core.ui.pages.shapes.cost import block_charts, growth_charts, totals
from viz_core.ui.pages.shapes.ledger import table
from viz_core.ui.pages.shapes.size import remember, size_of
from viz_core.ui.shell.view_widgets import fold

dark = st.context.theme.type == "dark"
size = size_of(lab)
if size is not None:
    remember()
    two_runs(lab, ())
    table()
    changing(size)
    totals(lab, size)
cost = None if size is None else fold("shapes_cost", _("What costs most, and how the cost grows with longer texts"))
if cost is None or cost.open:  # four charts, slower to draw than the table
    with cost or st.container():
        block_charts(lab, size, dark)
        growth_charts(lab, size, dark)
