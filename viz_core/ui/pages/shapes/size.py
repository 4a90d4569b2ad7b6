"""The size of the run that the page shows, and the size that it is compared with."""

import streamlit as st

from viz_core.config import TransformerConfig
from viz_core.ui.shell import Lab, current, lab_of, view
from viz_core.ui.shell.setup import packed_size, unpacked, unpacked_size, with_view
from viz_core.ui.shell.state import ADOPTED, SETTLE, SETUP

Size = tuple[TransformerConfig, int, int, int]  # config, sentences, source tokens, target tokens

SEEN = "shapes_seen"  # session state: the last size shown, its text in a link, and the size that it was compared with


def size_of(lab: Lab) -> Size | None:
    """Return the size of the run, even if it is too large to run; None if there is no text."""
    if lab.batch is None:
        return None
    shapes = {side: ids.shape for side, ids in lab.batch.ids.items()}
    first = next(iter(shapes.values()))
    return lab.config, first[0], shapes.get("source", (0, 0))[1], shapes.get("target", (0, 0))[1]


def remember() -> None:
    """Store the size that is shown. A later change is marked relative to it, and the link holds that size."""
    st.session_state.setdefault(SETTLE, {})["shapes"] = settle
    settle()


def settle() -> None:
    """Mark a change of size since the last run of the page, unless a link has set the size to compare with."""
    setup = current()
    if (size := size_of(lab_of(setup))) is None:
        return
    last, link, marked = st.session_state.get(SEEN, (size, "", ""))
    if size != last and setup.view("shapes_before") == marked and not st.session_state[ADOPTED]:
        st.session_state[SETUP] = setup = with_view(setup, shapes_before=link)
    st.session_state[SEEN] = size, packed_size(setup, size[1:]), setup.view("shapes_before")


def size_of_a() -> Size | None:
    """Return the size of the run that is kept as A, even if it is too large to run; None without one."""
    return size_of(lab_of(unpacked(view("kept"))[0])) if view("kept") else None


def marked_against() -> tuple[Size | None, str]:
    """Return the size to compare with, and what is wrong with the link's size. None and "" if nothing is marked.

    A run that is kept as A takes precedence over the size before the last change.
    """
    if (kept := size_of_a()) is not None:
        return kept, ""
    try:
        return unpacked_size(view("shapes_before")) if view("shapes_before") else None, ""
    except ValueError as error:
        return None, str(error)
