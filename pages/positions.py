"""Positions: sinusoids, a sentence with every position scheme, and experiments on what each scheme tells the model."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["positions"])

from viz_core.ui.pages.positions.page import positions_page

positions_page(context)
