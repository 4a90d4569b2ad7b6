"""The language of a visitor: a value of the session, known in each run before its callbacks."""

import streamlit as st

from viz_core.messages import set_language

LANGUAGE = "lab_language"  # the key of the session state; without it, the server's default is used


def set_visitor_language(code: str) -> None:
    """Show everything to this visitor in a language from now on. Raises ValueError for one without a catalogue."""
    set_language(code)
    st.session_state[LANGUAGE] = code


def use_visitor_language() -> None:
    """Let `viz_core.messages` use this visitor's language in this thread."""
    set_language(st.session_state.get(LANGUAGE))
