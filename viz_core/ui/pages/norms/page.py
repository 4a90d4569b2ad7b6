"""The page on Pre-LN and Post-LN. It draws the section that the link names."""

from collections.abc import Callable

import streamlit as st

from viz_core.ui.pages.norms.batchnorm import layer_and_batch
from viz_core.ui.pages.norms.depth import depth
from viz_core.ui.pages.norms.distributions import distributions
from viz_core.ui.pages.norms.gradients import gradients
from viz_core.ui.pages.norms.one_token import one_token
from viz_core.ui.pages.norms.theory import theory
from viz_core.ui.shell import PAGES, Lab, present, section_of, write_link


@st.fragment
def norms() -> None:
    """Draw the page below its title. A fragment: changing a link parameter reruns only this, not the sidebar and the frame."""
    context = present()
    SECTIONS[section_of(PAGES["norms"])](context)
    write_link()


SECTIONS: dict[str, Callable[[Lab], None]] = {
    "depth": depth, "theory": theory, "gradients": gradients, "token": one_token, "batchnorm": layer_and_batch,
    "distributions": distributions,
}
