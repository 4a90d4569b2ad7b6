"""Cause and effect: patched runs, the logit lens, the parts of a logit, and attention beside what it does."""

from viz_core.ui.shell import PAGES, open_page

open_page(PAGES["cause"])

from viz_core.ui.pages.cause.page import cause

cause()
