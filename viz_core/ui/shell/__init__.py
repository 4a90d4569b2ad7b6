"""The frame of every page: navigation, sidebar, link and run. Pages import these functions from here."""

from viz_core.ui.shell.link import write_link
from viz_core.ui.shell.navigation import main, open_page
from viz_core.ui.shell.page_list import PAGES, PageSpec
from viz_core.ui.shell.run import PageContext, context_of, current_context
from viz_core.ui.shell.screen import controls_row, figure_and_rail, show_hint, main_figure, choose_section
from viz_core.ui.shell.sidebar import set_from_widget
from viz_core.ui.shell.state import update_setup, current_setup, open_stage, set_url_params, use_weights, url_param
from viz_core.ui.shell.two_runs import TwoRuns, keep_run, two_runs
from viz_core.ui.shell.view_widgets import linked_expander, linked_widget
from viz_core.ui.shell.widgets import mark_activity, widget, widget_value

__all__ = [
    "PAGES", "PageContext", "PageSpec", "TwoRuns", "controls_row", "figure_and_rail", "update_setup", "current_setup", "linked_expander", "keep_run", "context_of", "show_hint", "main",
    "open_page", "open_stage", "main_figure", "current_context", "choose_section", "set_from_widget", "set_url_params", "mark_activity", "two_runs", "use_weights",
    "url_param", "linked_widget", "widget", "widget_value", "write_link",
]
