"""Positions: waves, clocks, a sentence, every position scheme, and experiments that measure what each scheme tells the model."""

from viz_core.ui.shell import PAGES, open_page

open_page(PAGES["positions"])

from viz_core.ui.pages.positions.waves import positions

positions()
