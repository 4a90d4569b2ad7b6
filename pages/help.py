"""Help: the documents for those who run the app, and for those who want its numbers."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["help"])

from viz_core.ui.pages.help.page import help_page

help_page(context)
