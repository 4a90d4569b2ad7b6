"""The Masks page and its sections.

Only the selected section is computed. The link holds the section, the kind of attention, the cell and the replaced word.
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

# torch takes over a second to import, so the sections import the experiments, which need it, only when they run them.


@st.fragment
def masks() -> None:
    """Draw the page below its introduction. As a fragment: a change of view reruns only this function, not the sidebar."""
    context = present()
    if context.capture is None:
        return
    if st.session_state.get(EXAMPLE):  # was clicked: the sidebar, outside this fragment, has to show the new sentences
        st.rerun()
    available = kinds(context.config)
    if not available:
        st.info(_("This model has no layers, so it computes no attention. Add a layer in the sidebar."))
        write_link()
        return
    section = section_of(PAGES["masks"])
    focus = read_focus(context, context.capture, available, section)
    try:
        SECTIONS[section](context, context.capture, focus)
    except ValueError as error:  # with a message for the reader
        st.info(escaped(problem_words(error)))
    write_link()


SECTIONS: dict[str, Callable[[Lab, Capture, InFocus], None]] = {
    "who": reasons, "built": construction, "conventions": conventions, "effect": effect, "leak": leak_test,
    "empty": fully_masked_rows, "unsqueeze": unsqueeze,
}
