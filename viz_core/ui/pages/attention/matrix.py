"""What the matrix and the lines of one head share: the picked cell, and weights between tokens or between words."""

import numpy as np

from viz_core.analysis.attention import sides
from viz_core.analysis.rows import row_labels
from viz_core.analysis.two_runs import Places
from viz_core.analysis.word_attention import between_words
from viz_core.capture import Capture
from viz_core.figures.panels import Panel
from viz_core.text import Words, visible
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.pages.attention.focus import InFocus
from viz_core.ui.shell import set_view, touch


def pickable(
    panels: list[Panel], focus: InFocus, words: tuple[Words, Words] | None, places: tuple[Places, Places] | None = None, at: int = 0
) -> Pick | None:
    """Draw the matrices with the focused cell picked, and return the cell that is picked. A click moves the focus; where it falls
    on a token that only A has, the focus stays where it was.

    A picked word puts its first token into focus. places: which row of A and of B, and which column, stand on each place, if two
    runs are compared. at: the matrix in which the focused cell is picked.
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
    return matrices(panels, key="att_matrix", pick=pick, on_pick=choose, fill=True)


def line_weights(capture: Capture, focus: InFocus, words: tuple[Words, Words] | None) -> tuple[np.ndarray, list[str], list[str]]:
    """The weights [H, T, S] of the focused layer, and the labels of its queries and keys: words or tokens."""
    weights = capture[f"{focus.path}.weights"][focus.item]  # [H, T, S]
    if words is not None:
        queries, keys = (list(map(visible, w.texts)) for w in words)
        return between_words(weights, words[0].of, words[1].of), queries, keys
    query_side, key_side = sides(focus.kind)
    return weights, list(row_labels(capture, query_side, focus.item)), list(map(visible, capture.tokens(key_side)[focus.item]))
