"""The page on writing. The page draws one section at a time; the link holds which one."""

from collections.abc import Callable

import streamlit as st

from viz_core.ui.pages.writing.beginning import Beginning, beginning, needs_a_decoder
from viz_core.ui.pages.writing.branch import branch
from viz_core.ui.pages.writing.choose import choose
from viz_core.ui.pages.writing.forced import forced
from viz_core.ui.pages.writing.grown import grown
from viz_core.ui.shell import PAGES, Lab, present, section_of, write_link


def writing(lab: Lab) -> None:
    """The whole page below its title. Another model changes the sidebar too, so what offers one stands outside the fragment."""
    if lab.capture is None or lab.config.has_decoder:
        sections()
    else:
        section_of(PAGES["writing"])
        needs_a_decoder()


@st.fragment
def sections() -> None:
    """The chosen section. It is a fragment: a step reruns only this, not the sidebar and the frame."""
    lab = present()
    section = section_of(PAGES["writing"])
    begun = beginning(lab)
    if begun is not None:
        SECTIONS[section](lab, begun)
    write_link()


SECTIONS: dict[str, Callable[[Lab, Beginning], None]] = {"choose": choose, "branch": branch, "forcing": forced, "cache": grown}
