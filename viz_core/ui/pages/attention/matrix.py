"""The matrix of one head, or of one head in two runs, with the cell in focus picked."""

from viz_core.analysis.kept_positions import KeptPositions
from viz_core.analysis.labelled_weights import QueryKeyWords
from viz_core.analysis.run_alignment import PositionPairs
from viz_core.figures.attention import STEP_TITLES
from viz_core.figures.panels import Panel
from viz_core.messages import translate as _
from viz_core.ui.components.calls import Recorded, evaluated
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.pages.attention.focus import AttentionFocus
from viz_core.ui.shell import mark_activity, set_url_params


def draw_pickable_matrices(
    panels: Recorded[list[Panel]],
    focus: AttentionFocus,
    words: QueryKeyWords | None,
    places: tuple[PositionPairs, PositionPairs] | None = None,
    focused_panel: int = 0,
    *,
    kept: KeptPositions | None = None,
    aligned: bool = True,
) -> Pick | None:
    """Draw matrices with the cell in focus picked, and return the picked cell.

    A click moves the focus, but not if it is on a token that only A has. A click on a word focuses its first token.
    places: in a comparison, the index in A and in B of each row and of each column (None where a run lacks the token).
    kept: the queries and keys that the matrices show, if not all. focused_panel: the index of the matrix in which the cell in
    focus is picked. aligned: whether all matrices have these rows and columns; if not, only the focused one can be picked in.
    """
    rows, cols = evaluated(panels)[focused_panel].values.shape
    shown = kept or (range(rows), range(cols))
    n_rows, n_cols = (max(axis, default=-1) + 1 for axis in shown)
    row_of, col_of = (w.word_ids for w in words) if words and focus.step == "weights" else (range(n_rows), range(n_cols))
    of_rows, of_cols = [[j for __, j in axis] for axis in places] if places else [list(axis) for axis in shown]

    def choose(pick: Pick | None) -> None:
        row, col = (of_rows[pick.row], of_cols[pick.col]) if pick and (aligned or pick.panel == focused_panel) else (None, None)
        if row is None or col is None:
            mark_activity()
        else:
            set_url_params(att_query=row_of.index(row), att_key=col_of.index(col))

    pick = None
    if focus.query < len(row_of) and focus.key < len(col_of):
        row, col = row_of[focus.query], col_of[focus.key]
        pick = Pick(focused_panel, of_rows.index(row), of_cols.index(col)) if row in of_rows and col in of_cols else None
    return matrices(panels, key="att_matrix", pick=pick, on_pick=choose, fill=True,
                    name=_("{head}: {step}", head=focus.name, step=STEP_TITLES[focus.step]))
