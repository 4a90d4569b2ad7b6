"""The Masks page: the reason for each cell, how a mask is built and written, and experiments with wrong masks.

The page computes one section at a time. The link says which one, with the attention, the cell and the word in focus.
"""

from collections.abc import Callable

import streamlit as st

from viz_core.analysis.attention import kinds
from viz_core.capture import Capture
from viz_core.language import translate as _
from viz_core.ui.escape import escaped
from viz_core.ui.pages.masks.construction import construction
from viz_core.ui.pages.masks.conventions import conventions
from viz_core.ui.pages.masks.effect import effect
from viz_core.ui.pages.masks.focus import EXAMPLE, InFocus, read_focus
from viz_core.ui.pages.masks.fully_masked import fully_masked_rows
from viz_core.ui.pages.masks.leak import leak_test
from viz_core.ui.pages.masks.reasons import reasons
from viz_core.ui.pages.masks.unsqueeze import unsqueeze
from viz_core.ui.shell import PAGES, Lab, present, section_of, write_link
from viz_core.ui.shell.setup import problem_words

# torch takes over a second to import: the sections import the experiments, which need it, only when they run them.


@st.fragment
def masks() -> None:
    """Draw the page below its lead. It is a fragment: a change of view reruns only this part, not the sidebar."""
    lab = present()
    if lab.capture is None:
        return
    if st.session_state.get(EXAMPLE):  # clicked: the sidebar, which is outside this fragment, shows the new sentences too
        st.rerun()
    available = kinds(lab.config)
    if not available:
        st.info(_("This model has no layers, so it computes no attention. Add a layer in the sidebar."))
        write_link()
        return
    section = section_of(PAGES["masks"])
    focus = read_focus(lab, lab.capture, available, section)
    try:
        SECTIONS[section](lab, lab.capture, focus)
    except ValueError as error:  # its text says what is wrong and what to do
        st.info(escaped(problem_words(error)))
    write_link()


SECTIONS: dict[str, Callable[[Lab, Capture, InFocus], None]] = {
    "who": reasons, "built": construction, "conventions": conventions, "effect": effect, "leak": leak_test,
    "empty": fully_masked_rows, "unsqueeze": unsqueeze,
}
