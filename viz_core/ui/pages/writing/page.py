"""The Writing page. It draws the section that the link names."""

from collections.abc import Callable

import streamlit as st

from viz_core.ui.pages.writing.beginning import Beginning, beginning, needs_a_decoder
from viz_core.ui.pages.writing.branch import branch
from viz_core.ui.pages.writing.choose import choose
from viz_core.ui.pages.writing.forced import forced
from viz_core.ui.pages.writing.grown import grown
from viz_core.ui.shell import PAGES, Lab, present, section_of, write_link


def writing(lab: Lab) -> None:
    """Draw the page below its title. Buttons for other weights are outside the fragment, because they change the sidebar."""
    if lab.capture is None or lab.config.has_decoder:
        sections()
    else:
        section_of(PAGES["writing"])
        needs_a_decoder()


@st.fragment
def sections() -> None:
    """Draw the chosen section. A fragment: a step reruns only this, not the sidebar and the frame."""
    context = present()
    section = section_of(PAGES["writing"])
    prompt = beginning(context)
    if prompt is not None:
        SECTIONS[section](context, prompt)
    write_link()


SECTIONS: dict[str, Callable[[Lab, Beginning], None]] = {"choose": choose, "branch": branch, "forcing": forced, "cache": grown}
