"""Masks: why each cell is allowed or blocked, one mask in every convention, and what happens when a mask is wrong."""

from viz_core.ui.shell import open_page

open_page(
    "Which tokens may attend to which, and what happens when a mask is wrong?",
    "Without a mask, every query attends to every key. A mask blocks keys that a query should not use: padding, which carries "
    "no information, and future tokens, which the model has yet to predict.",
)

from viz_core.ui.pages.masks.page import masks

masks()
