"""Masks: why each cell is allowed or blocked, one mask in every convention, and what happens when a mask is wrong."""

from viz_core.ui.shell import PAGES, open_page

open_page(PAGES["masks"])

from viz_core.ui.pages.masks.page import masks

masks()
