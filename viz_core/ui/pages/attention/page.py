"""The Attention page and its sections: heads, statistics, rollout and ablation.

The link holds the open section, the head, query, key, step and colours in focus, and the setup of the run that was kept as A.
The numbers of A come from the cache that all sessions share.
"""

from collections.abc import Callable, Sequence

import streamlit as st

from viz_core.analysis.attention import AttentionKind, kinds
from viz_core.capture import Capture
from viz_core.language import translate as _
from viz_core.ui.controls import sentence_picker
from viz_core.ui.pages.attention.ablation import ablation
from viz_core.ui.pages.attention.all_heads import with_or_without_special, words_or_tokens
from viz_core.ui.pages.attention.comparison import word_to_swap
from viz_core.ui.pages.attention.files import save
from viz_core.ui.pages.attention.focus import InFocus, read_focus
from viz_core.ui.pages.attention.one_screen import one_screen
from viz_core.ui.pages.attention.rollout import rollout
from viz_core.ui.pages.attention.statistics import statistics
from viz_core.ui.pages.attention.word_swap import find_swap
from viz_core.ui.shell import PAGES, Lab, TwoRuns, present, section_of, two_runs, write_link
from viz_core.ui.shell.two_runs import Shown


@st.fragment
def attention() -> None:
    """Draw the page below its heading. As a fragment: a change of view reruns only this function, not the sidebar."""
    context = present()
    if context.capture is None:
        return
    available = kinds(context.config)
    if not available:
        st.info(_("This model has no layers, so it computes no attention. Add a layer in the sidebar."))
        write_link()
        return
    item = context.item(context.capture)
    swap = find_swap(context.setup, item)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    focus = read_focus(context, context.capture, available, item, swap)
    with row:
        section = section_of(PAGES["attention"])
        sentence_picker(context, context.capture, beside=True)
        if section == "none":
            word_to_swap(focus, swap)
            save(context.setup, context.capture, focus)
            words_or_tokens(context, context.capture, available, focus)
            with_or_without_special(context, context.capture, available, focus)
    two = two_runs(context, OFFERED[section]) if section in OFFERED else None
    shown = context if two is None else two.b
    assert shown.capture is not None
    if section in WITH_A:
        WITH_A[section](shown, shown.capture, available, focus, two)
    else:
        ALONE[section](shown, shown.capture, available, focus)
    write_link()


ALL: Sequence[Shown] = ("a", "b", "difference")
# What the switch between A and B offers in each section. Ablation compares with a run of its own.
OFFERED: dict[str, Sequence[Shown]] = {"none": ALL, "table": (), "rollout": ALL}
WITH_A: dict[str, Callable[[Lab, Capture, Sequence[AttentionKind], InFocus, TwoRuns | None], None]] = {
    "none": one_screen, "rollout": rollout,
}
ALONE: dict[str, Callable[[Lab, Capture, Sequence[AttentionKind], InFocus], None]] = {"table": statistics, "break": ablation}
