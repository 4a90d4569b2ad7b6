"""Help: the documents of `viz_core/docs`, one at a time."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["help"])

from viz_core.ui.pages.help.page import help_page

help_page(context)
