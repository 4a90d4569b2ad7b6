"""Pre-LN and Post-LN compared: the residual stream along depth, theory and measurement, gradients, and one LayerNorm."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["norms"])

from viz_core.ui.pages.norms.page import norms_page

norms_page(context)
