"""The section Reasons: for each cell of the mask, why it is allowed or blocked."""

import streamlit as st

from viz_core.analysis.attention import real, sides
from viz_core.analysis.masks import informative_cell, parts, provenance, reason, tally
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES
from viz_core.figures.masks import WHY_TITLES, provenance_panel
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.escape import token_code
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.both_reasons import both_reasons, has_both
from viz_core.ui.pages.masks.focus import InFocus, choose_focus
from viz_core.ui.pages.masks.words import reason_words
from viz_core.ui.shell import Lab, below, beside, look, set_view, touch, two_runs, view


def reasons(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw the reason for every cell, and explain the picked one; in a comparison, for both A and B."""
    two = two_runs(lab)
    if two is not None and has_both(two, focus):
        both_reasons(two, focus)
        return
    why = provenance(capture, focus.kind, focus.item)
    row, col = view("mask_query"), view("mask_key")
    if not (0 <= row < why.shape[0] and 0 <= col < why.shape[1]):
        row, col = informative_cell(why)
    look(_("**Each row is a query token, each column a key token.** Click a cell, or press an arrow key, to read why it "
           "is allowed or blocked.") + ("" if two is None else " " + _("A has no such attention, so this is B.")))
    place, rail = beside()
    with place:
        title = _("{kind_titles}: the mask of every layer and head", kind_titles=KIND_TITLES[focus.kind])
        matrices([provenance_panel(capture, focus.kind, focus.item, title)], key="mask_map", pick=Pick(0, row, col),
                 on_pick=_choose_cell, fill=True, code=lambda: snippets.reasons(lab, focus, title))
    with rail:
        explanation = reason_words(reason(capture, focus.kind, focus.item, row, col), token_code)
        counts = tally(why)
        lines = [f"- {name}: **{n:,}**" for name, n in zip(WHY_TITLES.values(), counts, strict=True) if n]
        note = _unused(lab, capture, focus)
        st.markdown(_("## Why?\n\n{explanation}\n\nOf {size:,} cells:", explanation=explanation, size=why.size) + "\n\n"
                    + "\n".join(lines) + f"\n\n{note}")
    with below():
        choose_focus(lab, capture, focus)


def _choose_cell(pick: Pick | None) -> None:
    if pick is None:
        touch()
    else:
        set_view(mask_query=pick.row, mask_key=pick.col)


def _unused(lab: Lab, capture: Capture, focus: InFocus) -> str:
    """Return a note if nothing is masked, or if this attention does not mask the padding of the sentence; else ""."""
    used = parts(lab.config, focus.kind)
    if used == (None, None, None):
        return _("Nothing is masked here: every query may attend to every key, including padding.")
    query_side, key_side = sides(focus.kind)
    padding = ~real(capture, key_side, focus.item)
    if used.keys is not None or not padding.any():
        return ""
    why = provenance(capture, focus.kind, focus.item)
    seen = (why == 0)[real(capture, query_side, focus.item)][:, padding]  # [queries that are words, padding]
    if seen.any():
        return _("This attention does not mask padding: words may attend to it, and it takes part of their weight.")
    return _("This attention has no padding mask, but the causal mask blocks padding for every word, since it comes after them.")
