"""Restoring a session: the browser tab stores the overflow text of the link, and reports its widgets when it reconnects.

A session ends with its server process, or after its connection was lost for longer than Streamlit keeps sessions. The tab stays
open; when it reconnects, it gets a new session, which knows only the link. history.js gives each opened page one history entry.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz_core.figures.assets import script
from viz_core.ui.shell.session.state import USER_WEIGHTS, restore_user_weights
from viz_core.ui.shell.session.widgets import mark_activity, restore_widgets
from viz_core.ui.shell.setup import OverflowText
from viz_core.ui.streamlit_internals import Component

# The id of this session, that of the tab's former session, and how often the tab has reconnected, as far as this run knows.
SESSION, FORMER_SESSION, N_RECONNECTIONS = "lab_session", "lab_former_session", "lab_n_reconnections"
MAX_WIDGETS = 200  # widgets that a tab may report

_COMPONENT = Component("tab", html="<div>\n</div>", js=script("shell/session/session_restore/session_restore.js"))


def restore_session(overflow: OverflowText, missing_text: str) -> str:
    """Let the browser tab store the overflow text of the link, and restore the widgets of its former session.

    It is called first in each run. missing_text: the name of an overflow text that the link has and this session lacks. Return
    that text, or "" while the tab has not sent it.
    """
    state = st.session_state
    state.setdefault(SESSION, secrets.token_hex(8))
    data = {"session": state[SESSION], "left_out": overflow.name, "text": overflow.text, "wanted": missing_text,
            "weights": " ".join(state.get(USER_WEIGHTS, ()))}  # for a list, Streamlit would import pandas to look for tables
    sent: Any = _COMPONENT(key="lab_tab", data=data, on_back_change=mark_activity, on_text_change=mark_activity)
    back = sent.get("back")
    back = back if isinstance(back, Mapping) else {}
    session, times = back.get("session"), back.get("times")
    state[N_RECONNECTIONS] = times if type(times) is int else 0
    if isinstance(session, str) and session not in (state[SESSION], state.get(FORMER_SESSION)):
        state[FORMER_SESSION] = session
        restore_widgets(_valid_generations(back.get("generations")))
        restore_user_weights(back.get("weights"))
    text = sent.get("text")
    return text if isinstance(text, str) else ""


def mark_page_complete() -> None:
    """Tell a reconnected tab that its page is complete. It is called last in each run."""
    if times := st.session_state.get(N_RECONNECTIONS):
        with st.container(key="lab_page_complete"):
            st.html(f'<i class="times-{times}"></i>')


def _valid_generations(reported: Any) -> dict[str, int]:
    """Return the generation of each widget of the tab, without invalid values."""
    if not isinstance(reported, Mapping):
        return {}
    valid = {n: g for n, g in reported.items() if isinstance(n, str) and type(g) is int and 0 < g < 10**6}
    return dict(list(valid.items())[:MAX_WIDGETS])
