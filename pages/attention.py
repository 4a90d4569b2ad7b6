"""Attention: all heads at once, one head as a matrix and as lines, and the arithmetic of one weight."""

from viz_core.ui.shell import open_page

open_page(
    "Where does each head look?",
    "In every layer, each head spreads an attention weight of 1 from every query over the keys that it may attend to. "
    "Each tile below is one head: its rows are query tokens, its columns key tokens. Look for cells that stand out.",
)

from viz_core.ui.pages.attention.page import attention

attention()
