"""The Training page, which polls once per second while a job that it shows is active."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_core.training.jobs.job import JobView
from viz_core.ui.pages.training.experiments import experiments_section, shown_job
from viz_core.ui.pages.training.job_controls import is_active, linked_job
from viz_core.ui.pages.training.one_run import one_run_section
from viz_core.ui.shell import PAGES, PageContext, choose_section, page_fragment, url_param

POLLING_KEY = "train_polling"  # session state: whether the page polls
POLL_SECONDS = 1.0  # between two polls


def training_page(context: PageContext) -> None:
    """Draw the page below its title."""
    page_fragment(draw_section, run_every=POLL_SECONDS if _should_poll() else None)(context)


def draw_section(context: PageContext) -> None:
    """Draw the chosen section, in a fragment. When polling has to start or stop, the whole page reruns."""
    section = choose_section(PAGES["training"])
    is_polling = _should_poll()
    SECTIONS[section](context)
    if st.session_state.get(POLLING_KEY, False) != is_polling:
        st.session_state[POLLING_KEY] = is_polling
        st.rerun()


def _should_poll() -> bool:
    """Return whether the job that the page shows is queued or running."""
    return is_active(SECTION_JOBS[url_param("train_section")]())


SECTIONS: dict[str, Callable[[PageContext], None]] = {"run": one_run_section, "experiments": experiments_section}
SECTION_JOBS: dict[str, Callable[[], JobView | None]] = {"run": partial(linked_job, "train_job"), "experiments": shown_job}
