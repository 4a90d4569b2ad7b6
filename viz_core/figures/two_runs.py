"""Panels of two runs: both with one colour range, and their difference around zero.

`before_after_panels` compares a run before and after a change, on the same tokens. `a_b_panels` compares the runs A and B of a
page, whose sentences may differ: rows and columns are the position pairs of `viz_core.analysis.run_alignment`, and a token that
one run lacks is a gap.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from viz_core.analysis.rounding import difference
from viz_core.analysis.two_runs import A_LESS_B, EITHER, GAP, Places, both_labels
from viz_core.figures.panels import Panel, Reason, panel
from viz_core.formats import rounded
from viz_core.language import translate as _

Shown = Literal["a", "b", "difference"]
A_LACKS, B_LACKS = 1, 2  # bits of `Panel.absent`
LACKS = (
    Reason(_("not in A"), _("A has no such token")), Reason(_("not in B"), _("B has no such token")),
    Reason(_("in neither run"), _("neither run has both tokens")),
)
TITLES = {"a": "A", "b": "B", "difference": A_LESS_B}


def compared(
    a: Panel, b: Panel, names: tuple[str, str], about: tuple[str, str] = ("", ""),
) -> list[Panel]:
    """Return panels before and after a change with one colour range, and of after − before around zero.

    subtitles: what distinguishes the two, for the titles. Differences below the rounding error are drawn as zero.
    """
    return [*_on_one_scale(a, b, names, about), _less(b, a, f"{names[1]} − {names[0]}")]


def a_and_b(
    a: Panel, b: Panel, rows: Places, cols: Places | None = None, about: tuple[str, str] = ("", ""), title: str = A_LESS_B,
) -> list[Panel]:
    """Return panels of run A and run B with one colour range and aligned rows and columns, and of A − B around zero.

    rows, cols: pairs of a row (column) of A and one of B; None for cols: the columns are the same in both. A label of the
    difference shows both tokens if they differ. Differences below the rounding error are drawn as zero.
    """
    placed = [on_places(p, rows, cols, which) for which, p in enumerate((a, b))]
    return [*_on_one_scale(placed[0], placed[1], ("A", "B"), about), a_less_b(placed[0], placed[1], title)]


def chosen(a: Panel, b: Panel, rows: Places, cols: Places | None, shown: Shown) -> Panel:
    """Return the panel of `a_b_panels` for a view, with the view in its title."""
    title = a.title if a.title == b.title else f"{a.title}{EITHER}{b.title}"
    return only(a_and_b(a, b, rows, cols, title=f"{A_LESS_B}: {title}"), shown)


def only(drawn: Sequence[Panel], shown: Shown) -> Panel:
    """Return the panel of a view out of those of A, B and A − B."""
    return replace(drawn[("a", "b", "difference").index(shown)], role="output")


def on_places(p: Panel, rows: Places | None, cols: Places | None, which: int) -> Panel:
    """Return the panel of A (run_index 0) or B (1) on the aligned positions, with gaps where the run lacks a token.

    rows, cols: position pairs; None leaves an axis unchanged.
    """
    of_rows, of_cols = (list(range(n)) if places is None else [place[which] for place in places]
                        for n, places in zip(p.values.shape, (rows, cols), strict=True))
    missing = np.array([i is None for i in of_rows])[:, None] | np.array([j is None for j in of_cols])[None]  # [R, C]
    index = np.ix_([i or 0 for i in of_rows], [j or 0 for j in of_cols])
    absent = missing * np.uint8((A_LACKS, B_LACKS)[which])
    return replace(
        p, values=np.where(missing, np.float32(np.nan), p.values[index]),
        masked=None if p.masked is None else p.masked[index] & ~missing,
        rows=tuple(GAP if i is None else p.rows[i] for i in of_rows), cols=tuple(GAP if j is None else p.cols[j] for j in of_cols),
        absent=absent if missing.any() else None, absent_names=LACKS,
    )


def a_less_b(a: Panel, b: Panel, title: str = A_LESS_B) -> Panel:
    """Return A − B around zero, for two panels with aligned positions."""
    return _less(a, b, title, (a, b))


def _less(one: Panel, other: Panel, title: str, order: Sequence[Panel] = ()) -> Panel:
    """Return minuend − subtrahend; label_order: the panels in the order of their labels, by default the subtrahend first."""
    change, bound = difference(other.values, one.values)
    first, second = order or (other, one)
    return panel(
        title, change, both_labels(first.rows, second.rows), both_labels(first.cols, second.cols), row_axis=first.row_axis,
        col_axis=first.col_axis, kind="signed", row_letter=first.row_letter, col_letter=first.col_letter,
        masked=None if one.masked is None or other.masked is None else one.masked & other.masked,
        absent=absent_in_either(one, other), absent_names=LACKS, remark=rounding_remark(bound),
    )


def absent_in_either(a: Panel, b: Panel) -> np.ndarray | None:
    """Return `Panel.absent` of both panels combined; None if neither has gaps."""
    found = [p.absent for p in (a, b) if p.absent is not None]
    return None if not found else found[0] if len(found) == 1 else found[0] | found[1]


def _on_one_scale(a: Panel, b: Panel, names: tuple[str, str], about: tuple[str, str]) -> list[Panel]:
    low, high = min(a.low, b.low), max(a.high, b.high)
    return [
        replace(p, title=f"{name} · {what}: {p.title}" if what else f"{name}: {p.title}", low=low, high=high, role="input")
        for p, name, what in zip((a, b), names, about, strict=True)
    ]


def rounding_remark(bound: float) -> str:
    """Return the remark that differences below `bound` are drawn as 0; "" if bound is 0."""
    return _("below {bound}: drawn as 0", bound=rounded(bound, 1)) if bound else ""
