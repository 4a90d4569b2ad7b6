"""Pre-LN and Post-LN side by side: the residual stream along depth, theory and measurement, gradients, and one LayerNorm."""

from viz_core.ui.shell import open_page

open_page(
    "Why did Pre-LN replace Post-LN?",
    "The first Transformers normalise each residual sum (Post-LN) and need a careful warm-up to train. Later ones normalise the "
    "input of each sub-layer and leave the sum alone (Pre-LN). The comparisons below use the same weights and the same sentence; "
    "only the place of the LayerNorm differs.",
)

from viz_core.ui.pages.norms.page import norms

norms()
