"""Shapes: the shape, the parameters and the cost of every tensor."""

import streamlit as st

from viz_core.messages import translate as _
from viz_core.ui.shell import PAGES, open_page, two_runs

context = open_page(PAGES["shapes"])

from viz_core.ui.pages.shapes.change import size_change_controls
from viz_core.ui.pages.shapes.cost import change_and_totals, draw_block_charts, draw_growth_charts
from viz_core.ui.pages.shapes.size import remember_size, run_size
from viz_core.ui.pages.shapes.tensor_table import tensor_table
from viz_core.ui.shell.session.linked_widgets import linked_expander

dark = st.context.theme.type == "dark"
size = run_size(context)
if size is not None:
    remember_size()
    two_runs(context, ())
    tensor_table(context)
    size_change_controls(size)
    change_and_totals(context)
cost = None if size is None else linked_expander("shapes_cost", _("What costs most, and how the cost grows with longer texts"))
if cost is None or cost.open:  # four charts, slower to draw than the table
    with cost or st.container():
        draw_block_charts(context, size, dark)
        draw_growth_charts(context, size, dark)
