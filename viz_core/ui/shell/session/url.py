"""The link in the address bar: read when a session starts or a visitor goes back, and written after each change."""

from collections.abc import Mapping

import streamlit as st

from viz_core.messages import lazy
from viz_core.messages.errors import UserError
from viz_core.ui.shell.session.state import (
    LINK_ERRORS,
    LINK_WAS_READ,
    MISSING_TEXT,
    MISSING_WEIGHTS,
    NEXT_PAGE,
    OVERFLOW,
    PAGE,
    SETUP,
    SETUP_ON_ENTRY,
    WRITTEN_PARAMS,
    current_setup,
)
from viz_core.ui.shell.session.widgets import OUTDATED, RETURNING, TOUCHED
from viz_core.ui.shell.setup import OVERFLOW_PARAM, OverflowText, from_link, to_link, with_overflow, with_url_params
from viz_core.ui.streamlit_internals import is_history_navigation
from viz_core.weights.user_weights import USER_WEIGHTS_PREFIX


def overflow_state() -> tuple[OverflowText, str]:
    """Return the overflow text that the browser tab should store, and the name of the text that this session lacks."""
    state = st.session_state
    state[OVERFLOW] = OverflowText() if SETUP not in state else to_link(current_setup())[1]
    return state[OVERFLOW], state.get(MISSING_TEXT, st.query_params.get(OVERFLOW_PARAM, ""))


def read_link(page: str, tab_text: str) -> None:
    """Take the setup from the link, in a new session or after the browser's Back or Forward led to another link.

    Other runs keep the setup: the address that the browser reports may be older, and during a change of page Streamlit reports
    none. An empty link in the history means the default setup, since history.js writes the link of every other page.

    tab_text: the overflow text of the link, if the browser tab has just sent it.
    """
    state, params = st.session_state, st.query_params.to_dict()
    moved, touched = state.get(PAGE) not in (None, page), state.get(TOUCHED, False)
    before = state.get(SETUP)
    if SETUP not in state:
        _take_setup(params)
        twice = [k for k in params if len(st.query_params.get_all(k)) > 1]
        state[LINK_ERRORS] += [(lazy("{k} (twice)", k=k), UserError("link_twice")) for k in twice]
    elif is_history_navigation() and params != state[WRITTEN_PARAMS] and not touched:
        tab_text = tab_text or to_link(current_setup())[1].text
        _take_setup(params)
    if state.get(MISSING_TEXT):
        whole = with_overflow(current_setup(), tab_text)
        if to_link(whole)[1].name == state[MISSING_TEXT]:
            state[SETUP], state[MISSING_TEXT] = whole, ""
    state[LINK_WAS_READ] = state[SETUP] is not before
    if moved:
        state.pop(NEXT_PAGE, None)
        if current_setup().url_param("note") and not state[LINK_WAS_READ]:
            state[SETUP] = with_url_params(current_setup(), note="")  # it was about the previous page
    if moved or SETUP_ON_ENTRY not in state:
        state[SETUP_ON_ENTRY] = state[SETUP]
    if not (touched or moved) or WRITTEN_PARAMS not in state:
        state[WRITTEN_PARAMS] = params
    state[PAGE] = page


def _take_setup(params: Mapping[str, str]) -> None:
    """Store the setup of a link, its errors, the missing weights, and the name of its overflow text."""
    state = st.session_state
    state[SETUP], errors = from_link(params)
    gone = [error for error in errors if str(error[0]).startswith(f"weights={USER_WEIGHTS_PREFIX}")]
    state[LINK_ERRORS], state[MISSING_WEIGHTS] = [error for error in errors if error not in gone], gone[0] if gone else None
    state[OUTDATED] = bool(gone) and state.get(RETURNING, False)
    state[MISSING_TEXT] = params.get(OVERFLOW_PARAM, "")


def write_link() -> None:
    """Write the setup to the address bar, or switch to the page that a click opens, which then writes it.

    It is called at the end of a fragment and before the page of a full run. The address that the browser reports may be older
    than the last one written, which the browser may not have received yet.
    """
    state = st.session_state
    params, overflow = to_link(current_setup())
    if overflow.name and state[OVERFLOW] != overflow:
        st.rerun()  # a fragment cannot send the overflow text to the tab: a full run does
    if page := state.get(NEXT_PAGE):
        st.switch_page(page, query_params=state[WRITTEN_PARAMS])  # Back then leads to the present page as it was
    if state.get(MISSING_TEXT):
        params[OVERFLOW_PARAM] = state[MISSING_TEXT]
    if params != st.query_params.to_dict() or params != state[WRITTEN_PARAMS]:
        st.query_params.from_dict(params)
    state[WRITTEN_PARAMS] = params
    state[TOUCHED] = False
