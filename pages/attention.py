"""Attention: all heads, one head as a matrix and as lines, and the arithmetic of one weight."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["attention"])

from viz_core.ui.pages.attention.page import attention_page

attention_page(context)
