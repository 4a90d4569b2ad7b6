"""The tab, which outlives a session. It keeps the text that the link leaves out, and reports its widgets when it returns.

A session ends with its server process, or when its connection was cut for longer than sessions are kept. The tab stays
open; when it finds a server again, it gets a new session, which knows only the link. Its history has one entry a page.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from viz_core.ui.shell.setup import LeftOut
from viz_core.ui.shell.state import OWN, return_with_weights
from viz_core.ui.shell.widgets import return_with, touch

# This session's name, the one that its tab had before, and how often the tab has come back, as far as this run knows.
SESSION, FORMER, RETURNS = "lab_session", "lab_former", "lab_returns"
SCRIPT = "\n".join((Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8") for name in ("tab", "history"))
MAX_WIDGETS = 200  # that a tab may report

_COMPONENT = st.components.v2.component("attention_lab_tab", html="<div>\n</div>", js=SCRIPT)


def tab(left_out: LeftOut, wanted: str) -> str:
    """Let the tab hold the text that the link leaves out, and take over its state of a lost session; first in each run.

    wanted: the name of a text that the link mentions and this session lacks. Returns that text, "" while it is not here.
    """
    state = st.session_state
    state.setdefault(SESSION, secrets.token_hex(8))
    data = {"session": state[SESSION], "left_out": left_out.name, "text": left_out.text, "wanted": wanted,
            "weights": " ".join(state.get(OWN, ()))}  # a list would let Streamlit look for tables in it, with pandas
    sent: Any = _COMPONENT(key="lab_tab", data=data, on_back_change=touch, on_text_change=touch)
    back = sent.get("back")
    back = back if isinstance(back, Mapping) else {}
    session, times = back.get("session"), back.get("times")
    state[RETURNS] = times if type(times) is int else 0
    if isinstance(session, str) and session not in (state[SESSION], state.get(FORMER)):
        state[FORMER] = session
        return_with(_generations(back.get("generations")))
        return_with_weights(back.get("weights"))
    text = sent.get("text")
    return text if isinstance(text, str) else ""


def say_whole() -> None:
    """Tell a tab that has come back that its page is whole; last in each run."""
    if times := st.session_state.get(RETURNS):
        with st.container(key="lab_whole"):
            st.html(f'<i class="times-{times}"></i>')


def _generations(reported: Any) -> dict[str, int]:
    """How often each widget of the tab was rebuilt; impossible values are dropped."""
    if not isinstance(reported, Mapping):
        return {}
    valid = {n: g for n, g in reported.items() if isinstance(n, str) and type(g) is int and 0 < g < 10**6}
    return dict(list(valid.items())[:MAX_WIDGETS])
