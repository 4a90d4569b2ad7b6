"""Pre-LN and Post-LN side by side: the stream along depth, theory over measurement, gradients, and a norm taken apart."""

from viz_core.ui.shell import open_page

open_page(
    "Why did the field move the LayerNorm, and can I see it?",
    "The first Transformers normalised after each sum (Post-LN) and needed a careful warm-up to train. Later ones normalise what a "
    "sub-layer reads, and leave the sum alone (Pre-LN). Same weights, same sentence: only the place of the norm differs.",
)

from viz_core.ui.pages.norms.page import norms

norms()
