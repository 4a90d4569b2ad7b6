"""Masks: why each cell is open or closed, one mask in every convention, and what happens when a mask is wrong."""

from viz_core.ui.shell import open_page

open_page(
    "Who may look at whom, and what happens when a mask is wrong?",
    "Attention lets every token look at every other one. A mask takes some of that away: padding, which says nothing, and "
    "the future, which is still to be predicted.",
)

from viz_core.ui.pages.masks import masks

masks()
