"""The Attention page from top to bottom: all heads, one head, one weight; and on request statistics, rollout, or ablation.

The link says which head, query, key, step and colours are in focus, and which run was kept as A. It holds the setup of
A; the numbers of A come from the store that all visitors share.
"""

from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.attention import AttentionKind, kinds
from viz_core.capture import Capture
from viz_core.language import translate as _
from viz_core.ui.pages.attention.ablation import ablation
from viz_core.ui.pages.attention.all_heads import all_heads
from viz_core.ui.pages.attention.comparison import runs_to_compare
from viz_core.ui.pages.attention.focus import InFocus, read_focus
from viz_core.ui.pages.attention.one_head import one_head
from viz_core.ui.pages.attention.one_weight import one_weight
from viz_core.ui.pages.attention.rollout import rollout
from viz_core.ui.pages.attention.statistics import statistics
from viz_core.ui.pages.attention.word_swap import find_swap
from viz_core.ui.shell import Lab, present, view, view_widget, write_link

MORE = {"none": _("None"), "table": _("Head statistics"), "rollout": _("Attention rollout"), "break": _("Ablation")}


@st.fragment
def attention() -> None:
    """Draw the page below its lead. It is a fragment: a change of view reruns only this part, not the sidebar."""
    lab = present()
    if lab.capture is None:
        return
    available = kinds(lab.config)
    if not available:
        st.info(_("This model has no layers, so it computes no attention. Add a layer in the sidebar."))
        write_link()
        return
    item = lab.item(lab.capture)
    swap = find_swap(lab.setup, item)
    focus = read_focus(lab, lab.capture, available, item, swap)
    runs_to_compare(lab, focus, swap)
    if view("att_a"):  # the comparison comes first
        one_head(lab, lab.capture, focus)
        all_heads(lab, lab.capture, available, focus)
    else:
        all_heads(lab, lab.capture, available, focus)
        one_head(lab, lab.capture, focus)
    one_weight(lab, lab.capture, focus)
    more_sections(lab, lab.capture, available, focus)
    write_link()


def more_sections(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """Show one further section, which is computed only while it is open."""
    chosen = view_widget(st.segmented_control, "att_more", _("More about attention"), required=True, format_func=lambda m: MORE[m])
    if chosen == "table":
        statistics(capture, available, focus)
    elif chosen == "rollout":
        rollout(capture, available, focus)
    elif chosen == "break":
        ablation(lab, capture, available, focus)
