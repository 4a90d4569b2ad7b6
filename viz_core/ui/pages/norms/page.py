"""The page on Pre-LN and Post-LN. The page draws one section at a time; the link holds which one."""

from collections.abc import Callable

import streamlit as st

from viz_core.language import translate as _
from viz_core.ui.pages.norms.batchnorm import layer_and_batch
from viz_core.ui.pages.norms.depth import depth
from viz_core.ui.pages.norms.distributions import distributions
from viz_core.ui.pages.norms.gradients import gradients
from viz_core.ui.pages.norms.one_token import one_token
from viz_core.ui.pages.norms.theory import theory
from viz_core.ui.shell import Lab, present, view_widget, write_link


@st.fragment
def norms() -> None:
    """The whole page below its title. It is a fragment: a change of view reruns only this, not the sidebar and the frame."""
    lab = present()
    section = view_widget(st.segmented_control, "norm_section", _("Section"), required=True, label_visibility="collapsed",
                          format_func=lambda s: SECTIONS[s][0])
    SECTIONS[section][1](lab)
    write_link()


SECTIONS: dict[str, tuple[str, Callable[[Lab], None]]] = {
    "depth": (_("Depth"), depth),
    "theory": (_("Theory"), theory),
    "gradients": (_("Gradients"), gradients),
    "token": (_("One token"), one_token),
    "batchnorm": (_("LayerNorm and BatchNorm"), layer_and_batch),
    "distributions": (_("Distributions"), distributions),
}
