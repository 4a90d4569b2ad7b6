"""Cause and effect: activation patching, the logit lens, the parts of a logit, and attention compared with its effect."""

from viz_core.ui.shell import PAGES, open_page

context = open_page(PAGES["cause"])

from viz_core.ui.pages.cause.page import cause_page

cause_page(context)
