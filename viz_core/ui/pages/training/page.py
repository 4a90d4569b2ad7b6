"""The Training page, which polls once per second while a job that it shows is active."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_core.jobs.job import Look
from viz_core.ui.pages.training.experiments import experiments, shown_job
from viz_core.ui.pages.training.job import active, look_at
from viz_core.ui.pages.training.one_run import one_run
from viz_core.ui.shell import PAGES, Lab, present, section_of, view, write_link

GOES = "train_goes"  # session state: whether the page polls
SECONDS = 1.0  # between two polls


def training(lab: Lab) -> None:
    """Draw the page below its title."""
    st.fragment(sections, run_every=SECONDS if _goes() else None)()


def sections() -> None:
    """Draw the chosen section, in a fragment. When polling has to start or stop, the whole page reruns."""
    context = present()
    section = section_of(PAGES["training"])
    is_polling = _goes()
    SECTIONS[section](context)
    write_link()
    if st.session_state.get(GOES, False) != is_polling:
        st.session_state[GOES] = is_polling
        st.rerun()


def _goes() -> bool:
    """Return whether the job that the page shows is queued or running."""
    return active(JOBS[view("train_section")]())


SECTIONS: dict[str, Callable[[Lab], None]] = {"run": one_run, "experiments": experiments}
JOBS: dict[str, Callable[[], Look | None]] = {"run": partial(look_at, "train_job"), "experiments": shown_job}
