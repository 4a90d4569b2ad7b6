"""The size of the run that the page shows, and the size that it is compared with."""

import streamlit as st

from viz_core.config import TransformerConfig
from viz_core.ui.shell import PageContext, context_of, current_setup, url_param
from viz_core.ui.shell.session.state import BEFORE_LINK, LINK_WAS_READ, SETUP
from viz_core.ui.shell.setup import from_query, from_size_query, to_size_query, with_url_params

RunSize = tuple[TransformerConfig, int, int, int]  # config, sentences, source tokens, target tokens

SEEN_KEY = "shapes_seen"  # session state: the last size shown, its text in a link, and the size that it was compared with


def run_size(context: PageContext) -> RunSize | None:
    """Return the size of the run, even if it is too large to run; None if there is no text."""
    if context.batch is None:
        return None
    shapes = {side: ids.shape for side, ids in context.batch.ids.items()}
    first = next(iter(shapes.values()))
    return context.config, first[0], shapes.get("source", (0, 0))[1], shapes.get("target", (0, 0))[1]


def remember_size() -> None:
    """Store the size that is shown. A later change is marked relative to it, and the link holds that size."""
    st.session_state.setdefault(BEFORE_LINK, {})["shapes"] = mark_size_change
    mark_size_change()


def mark_size_change() -> None:
    """Mark a change of size since the last run of the page, unless a link has set the size to compare with."""
    setup = current_setup()
    if (size := run_size(context_of(setup))) is None:
        return
    last, link, marked = st.session_state.get(SEEN_KEY, (size, "", ""))
    if size != last and setup.url_param("shapes_before") == marked and not st.session_state[LINK_WAS_READ]:
        st.session_state[SETUP] = setup = with_url_params(setup, shapes_before=link)
    st.session_state[SEEN_KEY] = size, to_size_query(setup, size[1:]), setup.url_param("shapes_before")


def run_size_of_a() -> RunSize | None:
    """Return the size of the run that is kept as A, even if it is too large to run; None without one."""
    return run_size(context_of(from_query(url_param("kept"))[0])) if url_param("kept") else None


def baseline_size() -> tuple[RunSize | None, str]:
    """Return the size to compare with, and what is wrong with the link's size. None and "" if nothing is marked.

    A run that is kept as A takes precedence over the size before the last change.
    """
    if (kept := run_size_of_a()) is not None:
        return kept, ""
    try:
        return from_size_query(url_param("shapes_before")) if url_param("shapes_before") else None, ""
    except ValueError as error:
        return None, str(error)
