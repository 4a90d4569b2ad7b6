"""The link: read when a session begins or a visitor goes back, and written after each change."""

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from viz_core.language import translate as _
from viz_core.ui.shell.setup import LEFT_OUT, LeftOut, from_link, to_link, with_left_out, with_view
from viz_core.ui.shell.state import ADOPTED, ENTERED, FAULTS, GOING, GONE, HELD, LINK, PAGE, SETUP, WANTED, current
from viz_core.ui.shell.widgets import OUTDATED, RETURNING, TOUCHED
from viz_core.weights.guests import BROUGHT


def went_back() -> bool:
    """Whether the browser's Back or Forward started this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def left_out() -> tuple[LeftOut, str]:
    """The text that the tab should hold for this session, and the name of the text that the session lacks."""
    state = st.session_state
    state[HELD] = LeftOut() if SETUP not in state else to_link(current())[1]
    return state[HELD], state.get(WANTED, st.query_params.get(LEFT_OUT, ""))


def adopt_link(page: str, held: str) -> None:
    """Take the setup from the link: in a new session, and when a visitor went back or forward to another link.

    No other run does so, since the address that the browser reports may be older than the setup, and on the way to another
    page Streamlit reports none. An empty link in the history is the one that the app opens with, as in a new session: the tab's
    script leaves no page without its link there.

    held: the text that the link had left out, if its tab has just sent it.
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
            state[SETUP] = with_view(current(), note="")  # it was about the page that is left
    if moved or ENTERED not in state:
        state[ENTERED] = state[SETUP]
    if not (touched or moved) or LINK not in state:
        state[LINK] = params
    state[PAGE] = page


def _read(params: Mapping[str, str]) -> None:
    """The setup of a link, its faults, the weights that are not here, and the name of the text that it leaves out."""
    state = st.session_state
    state[SETUP], faults = from_link(params)
    gone = [fault for fault in faults if fault[0].startswith(f"weights={BROUGHT}")]
    state[FAULTS], state[GONE] = [fault for fault in faults if fault not in gone], gone[0] if gone else None
    state[OUTDATED] = bool(gone) and state.get(RETURNING, False)
    state[WANTED] = params.get(LEFT_OUT, "")


def write_link() -> None:
    """Write the setup to the address bar, or open the page that a click leads to, which then writes it; last in a run, or before
    its page.

    The address that the browser reports may be older than the last one written, which is then still being sent.
    """
    state = st.session_state
    params, rest = to_link(current())
    if rest.name and state[HELD] != rest:
        st.rerun()  # a fragment cannot reach the tab: the whole run sends it the text that the link leaves out
    if page := state.get(GOING):
        st.switch_page(page, query_params=state[LINK])  # the address of the page that is left stays: Back leads to it as it was
    if state.get(WANTED):
        params[LEFT_OUT] = state[WANTED]
    if params != st.query_params.to_dict() or params != state[LINK]:
        st.query_params.from_dict(params)
    state[LINK] = params
    state[TOUCHED] = False
