"""What a session holds: its setup, as the one truth, and a few marks of where it stands. Captures are never in it."""

from dataclasses import replace
from typing import Any

import streamlit as st

from viz_core.ui.shell.setup import TEXTS, Setup, with_view
from viz_core.ui.shell.widgets import RESTORING, touch

# Where a session keeps what: the setup and the setup as this page was entered; the link as written, and whether it was
# left empty; what it leaves out and the tab holds, the name of what is missing, and whether this run took a link; the
# page; faults of the link and notes to show; unusual values on offer; and the marks of the way into the frame.
SETUP, ENTERED, LINK, BARE = "lab_setup", "lab_entered", "lab_link", "lab_bare"
HELD, WANTED, ADOPTED = "lab_held", "lab_wanted", "lab_adopted"
PAGE, FAULTS, NOTES = "lab_page", "lab_faults", "lab_notes"
HUB_NAME, UNUSUAL = "lab_hub", "lab_unusual"
SETTLE = "lab_settle"  # by page: what it does between a change and its link, so that both are one entry of the history
SHELL, ARRIVED = "lab_in_frame", "lab_arrived"
GOING = "lab_going"  # the page that a click leads to, until a page is entered
STEPS = "pages/step_by_step.py"


def current() -> Setup:
    """The setup of this session."""
    setup: Setup = st.session_state[SETUP]
    return setup


def change(**selection: Any) -> None:
    """Change what is selected (stage, item, head) or typed; for callbacks."""
    touch()
    st.session_state[SETUP] = replace(current(), **selection)
    st.session_state[FAULTS] = []
    if not selection.keys().isdisjoint(TEXTS) and not st.session_state.get(RESTORING):
        st.session_state[WANTED] = ""  # typed anew, so what the link had left out is no longer missed


def open_stage(name: str) -> None:
    """Go on to Step by step, at this stage; for callbacks. It does so in this run or, where that is broken off, in the next."""
    change(stage=name)
    st.session_state[GOING] = STEPS


def view(name: str) -> Any:
    """What this page has selected under a name of `viz_core.ui.shell.views`."""
    return current().view(name)


def set_view(**values: Any) -> None:
    """Change what pages have selected; for callbacks."""
    change(views=with_view(current(), **values).views)
