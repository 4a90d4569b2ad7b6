"""Masks: why each cell is allowed or blocked, the mask conventions, and the effects of wrong masks."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["masks"])

from viz_core.ui.pages.masks.page import masks_page

masks_page(context)
