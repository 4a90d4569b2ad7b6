"""Two runs as pictures: both on one scale, and the difference around zero; what one of them lacks is a gap.

`compared` is for a run before and after a change of it, on the same tokens. `a_and_b` is for the runs that a page calls A and B,
whose sentences may differ: its panels stand on the places of `viz_core.analysis.two_runs`.
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
A_LACKS, B_LACKS = 1, 2  # bits of a cell's number in `Panel.absent`
LACKS = (
    Reason(_("not in A"), _("A has no such token")), Reason(_("not in B"), _("B has no such token")),
    Reason(_("in neither run"), _("neither run has both tokens")),
)
TITLES = {"a": "A", "b": "B", "difference": A_LESS_B}


def compared(
    a: Panel, b: Panel, names: tuple[str, str], about: tuple[str, str] = ("", ""),
) -> list[Panel]:
    """Before and after on one scale, and after − before around zero. What lies below rounding is drawn as zero.

    about: what tells either from the other, for the titles.
    """
    return [*_on_one_scale(a, b, names, about), _less(b, a, f"{names[1]} − {names[0]}")]


def a_and_b(
    a: Panel, b: Panel, rows: Places, cols: Places | None = None, about: tuple[str, str] = ("", ""), title: str = A_LESS_B,
) -> list[Panel]:
    """Run A and run B on one scale and on the same places, and A − B around zero. What lies below rounding is drawn as zero.

    rows, cols: which row of A and which of B stand on each place; without cols, the columns are the same in both. Where the
    tokens differ, a label of the difference shows both.
    """
    placed = [on_places(p, rows, cols, which) for which, p in enumerate((a, b))]
    return [*_on_one_scale(placed[0], placed[1], ("A", "B"), about), a_less_b(placed[0], placed[1], title)]


def chosen(a: Panel, b: Panel, rows: Places, cols: Places | None, shown: Shown) -> Panel:
    """The one of `a_and_b` that a page shows, with what it is in its title."""
    title = a.title if a.title == b.title else f"{a.title}{EITHER}{b.title}"
    return only(a_and_b(a, b, rows, cols, title=f"{A_LESS_B}: {title}"), shown)


def only(drawn: Sequence[Panel], shown: Shown) -> Panel:
    """One of the three panels of A, of B and of A − B, by itself."""
    return replace(drawn[("a", "b", "difference").index(shown)], role="output")


def on_places(p: Panel, rows: Places | None, cols: Places | None, which: int) -> Panel:
    """The panel of A (which: 0) or of B (1) on the places of both, with a gap where it lacks a token; None: an axis as it is."""
    of_rows, of_cols = (list(range(n)) if places is None else [place[which] for place in places]
                        for n, places in zip(p.values.shape, (rows, cols), strict=True))
    gone = np.array([i is None for i in of_rows])[:, None] | np.array([j is None for j in of_cols])[None]  # [R, C]
    taken = np.ix_([i or 0 for i in of_rows], [j or 0 for j in of_cols])
    absent = gone * np.uint8((A_LACKS, B_LACKS)[which])
    return replace(
        p, values=np.where(gone, np.float32(np.nan), p.values[taken]), masked=None if p.masked is None else p.masked[taken] & ~gone,
        rows=tuple(GAP if i is None else p.rows[i] for i in of_rows), cols=tuple(GAP if j is None else p.cols[j] for j in of_cols),
        absent=absent if gone.any() else None, absent_names=LACKS,
    )


def a_less_b(a: Panel, b: Panel, title: str = A_LESS_B) -> Panel:
    """A − B around zero, of two panels on the same places."""
    return _less(a, b, title, (a, b))


def _less(one: Panel, other: Panel, title: str, order: Sequence[Panel] = ()) -> Panel:
    """one − other. order: whose label comes first where the labels differ; other's, if it is not said."""
    change, bound = difference(other.values, one.values)
    first, second = order or (other, one)
    return panel(
        title, change, both_labels(first.rows, second.rows), both_labels(first.cols, second.cols), row_axis=first.row_axis,
        col_axis=first.col_axis, kind="signed", row_letter=first.row_letter, col_letter=first.col_letter,
        masked=None if one.masked is None or other.masked is None else one.masked & other.masked,
        absent=absent_in_either(one, other), absent_names=LACKS, remark=rounding_remark(bound),
    )


def absent_in_either(a: Panel, b: Panel) -> np.ndarray | None:
    """The gaps of both panels; None where there are none."""
    found = [p.absent for p in (a, b) if p.absent is not None]
    return None if not found else found[0] if len(found) == 1 else found[0] | found[1]


def _on_one_scale(a: Panel, b: Panel, names: tuple[str, str], about: tuple[str, str]) -> list[Panel]:
    low, high = min(a.low, b.low), max(a.high, b.high)
    return [
        replace(p, title=f"{name} · {what}: {p.title}" if what else f"{name}: {p.title}", low=low, high=high, role="input")
        for p, name, what in zip((a, b), names, about, strict=True)
    ]


def rounding_remark(bound: float) -> str:
    """What a picture of a difference says where smaller ones are drawn as zero; "" where there are none."""
    return _("below {bound}: drawn as 0", bound=rounded(bound, 1)) if bound else ""
