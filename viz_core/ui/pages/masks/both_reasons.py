"""The section Reasons in a comparison: the masks of A and of B on their aligned tokens, and which cells differ."""

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.attention import MASK, kinds, sides
from viz_core.analysis.masks import ONLY_A, ONLY_B, agreement, informative_cell, provenance, reason, tally
from viz_core.analysis.two_runs import Places
from viz_core.figures.masks import AGREEMENT_TITLES, WHY_TITLES, both_reasons_panel
from viz_core.figures.panels import Panel
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.escape import token_code
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import InFocus, choose_focus
from viz_core.ui.pages.masks.words import reason_words
from viz_core.ui.shell import TwoRuns, below, beside, look, set_view, touch, view
from viz_core.ui.shell.two_runs import TITLES


def has_both(two: TwoRuns, focus: InFocus) -> bool:
    """Whether A has the kind of attention in focus, too."""
    return focus.kind in kinds(two.a.config)


def both_reasons(two: TwoRuns, focus: InFocus) -> None:
    """Draw the reasons of A or of B for every cell, or which cells differ, and explain the picked cell in both."""
    rows, cols = (two.both.places[side] for side in sides(focus.kind))
    mask_a, mask_b = (x[0] for x in two.both.values(MASK[focus.kind]))  # [T, S] each, NaN at a token that the run lacks
    cells, shared = agreement(mask_a, mask_b), np.isfinite(mask_a) & np.isfinite(mask_b)
    look(_same_or_not(cells, shared))
    shown = both_reasons_panel(two.both, focus.kind, cells, two.shown)
    place, rail = beside()
    with place:
        pick = matrices([shown], key="mask_map", pick=_to_pick(two, focus, rows, cols, cells, shared), fill=True,
                        on_pick=_chooser([j for __, j in rows], [j for __, j in cols]),
                        code=lambda: snippets.both_reasons(two, focus.kind))
    with rail:
        st.markdown(_("## Why?") + "\n\n" + _why(two, focus, rows, cols, pick) + "\n\n" + _counted(shown))
    with below():
        choose_focus(two.b, two.both.b, focus)


def _same_or_not(cells: np.ndarray, shared: np.ndarray) -> str:
    """Return whether the masks of A and B agree on the cells whose two tokens both runs have."""
    n, missing = int(((cells == ONLY_A) | (cells == ONLY_B))[shared].sum()), int(np.size(shared) - shared.sum())
    if n:
        text = plural("**The masks of A and B differ in {n:,} cell.**", "**The masks of A and B differ in {n:,} cells.**", n)
        text += " " + _("Click a cell to read why.")
    else:
        text = _("**The masks of A and B are equal**, cell by cell.") if not missing else (
            _("**The masks of A and B are equal** wherever both have the tokens."))
    return text + ("" if not missing else " " + plural("{n:,} cell has a token that one of the two lacks.",
                                                       "{n:,} cells have a token that one of the two lacks.", missing))


def _to_pick(two: TwoRuns, focus: InFocus, rows: Places, cols: Places, cells: np.ndarray, shared: np.ndarray) -> Pick:
    """Return the cell of the link, which has token indices of B; else the last cell that differs, else the default of B alone."""
    at = [{j: place for place, (__, j) in enumerate(axis) if j is not None} for axis in (rows, cols)]
    if (row := view("mask_query")) in at[0] and (col := view("mask_key")) in at[1]:
        return Pick(0, at[0][row], at[1][col])
    differ = np.argwhere(shared & ((cells == ONLY_A) | (cells == ONLY_B)))
    if len(differ):
        return Pick(0, *map(int, differ[-1]))
    row, col = informative_cell(provenance(two.both.b, focus.kind, focus.item))
    return Pick(0, at[0][row], at[1][col])


def _chooser(of_rows: Sequence[int | None], of_cols: Sequence[int | None]) -> Callable[[Pick | None], None]:
    """Return the callback that writes the picked cell into the link, if B has both its tokens."""
    def choose(pick: Pick | None) -> None:
        row, col = (of_rows[pick.row], of_cols[pick.col]) if pick else (None, None)
        if row is None or col is None:
            touch()
        else:
            set_view(mask_query=row, mask_key=col)

    return choose


def _why(two: TwoRuns, focus: InFocus, rows: Places, cols: Places, pick: Pick | None) -> str:
    """Return why each run allows or blocks the picked cell, or that it lacks a token."""
    if pick is None:
        return _("Pick a cell.")
    sentences = []
    for which, capture in enumerate((two.both.a, two.both.b)):
        row, col = rows[pick.row][which], cols[pick.col][which]
        name = TITLES["ab"[which]]
        if row is None or col is None:
            sentences.append(_("**{run}** has no such token.", run=name))
        else:
            sentences.append(f"**{name}**: {reason_words(reason(capture, focus.kind, focus.item, row, col), token_code)}")
    return "\n\n".join(dict.fromkeys(sentences))


def _counted(shown: Panel) -> str:
    """Return the number of cells in each class of the figure."""
    values = shown.values[np.isfinite(shown.values)] if shown.absent is None else shown.values[shown.absent == 0]
    names = AGREEMENT_TITLES if shown.names == AGREEMENT_TITLES else tuple(WHY_TITLES.values())
    lines = [f"- {name}: **{n:,}**" for name, n in zip(names, tally(values.astype(np.uint8)), strict=True) if n]
    return _("Of {size:,} cells:", size=values.size) + "\n\n" + "\n".join(lines)
