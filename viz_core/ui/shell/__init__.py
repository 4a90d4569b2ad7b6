"""The frame of every page: navigation, sidebar, link and run. Pages import these functions from here."""

from viz_core.ui.shell.link import write_link
from viz_core.ui.shell.navigation import main, open_page
from viz_core.ui.shell.page_list import PAGES, PageSpec
from viz_core.ui.shell.run import Lab, lab_of, present
from viz_core.ui.shell.screen import below, beside, look, picture, section_of
from viz_core.ui.shell.sidebar import set_choice
from viz_core.ui.shell.state import change, current, open_stage, set_view, use_weights, view
from viz_core.ui.shell.two_runs import TwoRuns, keep, two_runs
from viz_core.ui.shell.view_widgets import fold, view_widget
from viz_core.ui.shell.widgets import touch, widget, widget_value

__all__ = [
    "PAGES", "Lab", "PageSpec", "TwoRuns", "below", "beside", "change", "current", "fold", "keep", "lab_of", "look", "main",
    "open_page", "open_stage", "picture", "present", "section_of", "set_choice", "set_view", "touch", "two_runs", "use_weights",
    "view", "view_widget", "widget", "widget_value", "write_link",
]
