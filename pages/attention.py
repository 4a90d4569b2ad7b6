"""Attention: every head at once, one head as a matrix and as lines, and the arithmetic of one weight."""

from viz_core.ui.shell import open_page

open_page(
    "Where does each head look?",
    "In every layer each token asks the tokens that it may see, once per head, and shares out a weight of 1 among them. "
    "Each tile below is one head: a row is a token that asks, a column one that is asked, and what stands out is where it looks.",
)

from viz_core.ui.pages.attention import attention

attention()
