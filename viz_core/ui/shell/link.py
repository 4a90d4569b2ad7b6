"""The link in the address bar: read when a session starts or a visitor goes back, and written after each change."""

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_core.language import translate as _
from viz_core.ui.shell.setup import LEFT_OUT, LeftOut, from_link, to_link, with_left_out, with_view
from viz_core.ui.shell.state import ADOPTED, ENTERED, FAULTS, GOING, GONE, HELD, LINK, PAGE, SETUP, WANTED, current
from viz_core.ui.shell.widgets import OUTDATED, RETURNING, TOUCHED
from viz_core.weights.guests import BROUGHT


def went_back() -> bool:
    """Return whether the browser's Back or Forward button started this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def left_out() -> tuple[LeftOut, str]:
    """Return the overflow text that the browser tab should store, and the name of the text that this session lacks."""
    state = st.session_state
    state[HELD] = LeftOut() if SETUP not in state else to_link(current())[1]
    return state[HELD], state.get(WANTED, st.query_params.get(LEFT_OUT, ""))


def adopt_link(page: str, held: str) -> None:
    """Take the setup from the link, in a new session or after the browser's Back or Forward led to another link.

    Other runs keep the setup: the address that the browser reports may be older, and during a change of page Streamlit reports
    none. An empty link in the history is the link that the app opens with, since history.js writes the link of every other page.

    tab_text: the overflow text of the link, if the browser tab has just sent it.
    """
    state, params = st.session_state, st.query_params.to_dict()
    moved, touched = state.get(PAGE) not in (None, page), state.get(TOUCHED, False)
    before = state.get(SETUP)
    if SETUP not in state:
        _read(params)
        state[FAULTS] += [(_("{k} (twice)", k=k), _("is given more than once; the last one is used"))
                          for k in params if len(st.query_params.get_all(k)) > 1]
    elif went_back() and params != state[LINK] and not touched:
        held = held or to_link(current())[1].text
        _read(params)
    if state.get(WANTED):
        whole = with_left_out(current(), held)
        if to_link(whole)[1].name == state[WANTED]:
            state[SETUP], state[WANTED] = whole, ""
    state[ADOPTED] = state[SETUP] is not before
    if moved:
        state.pop(GOING, None)
        if current().view("note") and not state[ADOPTED]:
            state[SETUP] = with_view(current(), note="")  # it was about the previous page
    if moved or ENTERED not in state:
        state[ENTERED] = state[SETUP]
    if not (touched or moved) or LINK not in state:
        state[LINK] = params
    state[PAGE] = page


def _read(params: Mapping[str, str]) -> None:
    """Store the setup of a link, its errors, the missing weights, and the name of its overflow text."""
    state = st.session_state
    state[SETUP], faults = from_link(params)
    gone = [fault for fault in faults if fault[0].startswith(f"weights={BROUGHT}")]
    state[FAULTS], state[GONE] = [fault for fault in faults if fault not in gone], gone[0] if gone else None
    state[OUTDATED] = bool(gone) and state.get(RETURNING, False)
    state[WANTED] = params.get(LEFT_OUT, "")


def write_link() -> None:
    """Write the setup to the address bar, or switch to the page that a click opens, which then writes it.

    It is called at the end of a fragment and before the page of a full run. The address that the browser reports may be older
    than the last one written, which may still be on its way.
    """
    state = st.session_state
    params, overflow = to_link(current())
    if overflow.name and state[HELD] != overflow:
        st.rerun()  # a fragment cannot send the overflow text to the tab: a full run does
    if page := state.get(GOING):
        st.switch_page(page, query_params=state[LINK])  # Back then leads to the present page as it was
    if state.get(WANTED):
        params[LEFT_OUT] = state[WANTED]
    if params != st.query_params.to_dict() or params != state[LINK]:
        st.query_params.from_dict(params)
    state[LINK] = params
    state[TOUCHED] = False
