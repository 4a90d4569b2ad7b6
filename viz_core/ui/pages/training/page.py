"""The page on training. While something trains, it looks again each second."""

import streamlit as st

from viz_core.ui.pages.training.job import active, shown
from viz_core.ui.pages.training.one_run import one_run
from viz_core.ui.shell import PAGES, Lab, present, section_of, write_link

SECONDS = 1.0  # between two looks at a training


def training(lab: Lab) -> None:
    """The whole page below its title."""
    st.fragment(sections, run_every=SECONDS if active(shown()) else None)()


def sections() -> None:
    """The chosen section, in a fragment. Its clock goes only while something trains: the page runs again where that changes."""
    lab = present()
    goes = active(shown())
    section_of(PAGES["training"])
    one_run(lab)
    write_link()
    if st.session_state.get("train_goes", False) != goes:
        st.session_state["train_goes"] = goes
        st.rerun()
