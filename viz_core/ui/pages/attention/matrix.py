"""The matrix of one head, or of one head in two runs, with the cell in focus picked."""

from collections.abc import Callable

from viz_core.analysis.labelled_weights import WordPair
from viz_core.analysis.two_runs import Places
from viz_core.figures.attention import STEP_TITLES
from viz_core.figures.panels import Panel
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.pages.attention.focus import InFocus
from viz_core.ui.shell import set_view, touch


def pickable(
    panels: list[Panel], focus: InFocus, words: WordPair | None, places: tuple[Places, Places] | None = None, at: int = 0, *,
    code: Callable[[], str],
) -> Pick | None:
    """Draw the matrices with the focused cell picked, and return the cell that is picked. A click moves the focus; where it falls
    on a token that only A has, the focus stays where it was.

    A picked word puts its first token into focus. places: which row of A and of B, and which column, stand on each place, if two
    runs are compared. at: the matrix in which the focused cell is picked. code: the lines that make `panels` in a notebook.
    """
    rows, cols = panels[0].values.shape
    row_of, col_of = (w.of for w in words) if words and focus.step == "weights" else (range(rows), range(cols))
    of_rows, of_cols = [[j for __, j in axis] for axis in places] if places else (list(range(rows)), list(range(cols)))

    def choose(pick: Pick | None) -> None:
        row, col = (of_rows[pick.row], of_cols[pick.col]) if pick else (None, None)
        if row is None or col is None:
            touch()
        else:
            set_view(att_query=row_of.index(row), att_key=col_of.index(col))

    inside = focus.query < len(row_of) and focus.key < len(col_of)
    here = (of_rows.index(row_of[focus.query]), of_cols.index(col_of[focus.key])) if inside else None
    pick = Pick(at, *here) if here else None
    return matrices(panels, key="att_matrix", pick=pick, on_pick=choose, fill=True, code=code,
                    name=_("{head}: {step}", head=focus.name, step=STEP_TITLES[focus.step]))
