"""The Attention page: its heads on one screen, and sections with their statistics, rollout and ablation.

The link says which section is open, which head, query, key, step and colours are in focus, and which run was kept as A. It
holds the setup of A; the numbers of A come from the store that all visitors share.
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
    """Draw the page below its heading. It is a fragment: a change of view reruns only this part, not the sidebar."""
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
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    focus = read_focus(lab, lab.capture, available, item, swap)
    with row:
        section = section_of(PAGES["attention"])
        sentence_picker(lab, lab.capture, beside=True)
        if section == "none":
            word_to_swap(focus, swap)
            save(lab.setup, lab.capture, focus)
            words_or_tokens(lab, lab.capture, available, focus)
            with_or_without_special(lab, lab.capture, available, focus)
    two = two_runs(lab, OFFERED[section]) if section in OFFERED else None
    shown = lab if two is None else two.b
    assert shown.capture is not None
    if section in WITH_A:
        WITH_A[section](shown, shown.capture, available, focus, two)
    else:
        ALONE[section](shown, shown.capture, available, focus)
    write_link()


ALL: Sequence[Shown] = ("a", "b", "difference")
OFFERED: dict[str, Sequence[Shown]] = {"none": ALL, "table": (), "rollout": ALL}  # of A and B; Ablation has runs of its own
WITH_A: dict[str, Callable[[Lab, Capture, Sequence[AttentionKind], InFocus, TwoRuns | None], None]] = {
    "none": one_screen, "rollout": rollout,
}
ALONE: dict[str, Callable[[Lab, Capture, Sequence[AttentionKind], InFocus], None]] = {"table": statistics, "break": ablation}
