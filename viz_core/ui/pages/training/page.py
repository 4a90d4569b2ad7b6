"""The page on training. While something trains, it looks again each second."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_core.jobs.job import Look
from viz_core.ui.pages.training.experiments import experiments, shown_job
from viz_core.ui.pages.training.job import active, look_at
from viz_core.ui.pages.training.one_run import one_run
from viz_core.ui.shell import PAGES, Lab, present, section_of, view, write_link

GOES = "train_goes"  # whether the clock goes
SECONDS = 1.0  # between two looks at a training


def training(lab: Lab) -> None:
    """The whole page below its title."""
    st.fragment(sections, run_every=SECONDS if _goes() else None)()


def sections() -> None:
    """The chosen section, in a fragment. Its clock goes only while something trains: the page runs again where that changes."""
    lab = present()
    section = section_of(PAGES["training"])
    goes = _goes()
    SECTIONS[section](lab)
    write_link()
    if st.session_state.get(GOES, False) != goes:
        st.session_state[GOES] = goes
        st.rerun()


def _goes() -> bool:
    """Whether a training that the page shows is at work or waits for its turn."""
    return active(JOBS[view("train_section")]())


SECTIONS: dict[str, Callable[[Lab], None]] = {"run": one_run, "experiments": experiments}
JOBS: dict[str, Callable[[], Look | None]] = {"run": partial(look_at, "train_job"), "experiments": shown_job}
