"""What the matrix and the lines of one head share: the picked cell, and weights between tokens or between words."""

import numpy as np

from viz_core.analysis.attention import sides
from viz_core.analysis.rows import row_labels
from viz_core.analysis.word_attention import between_words
from viz_core.capture import Capture
from viz_core.figures.panels import Panel
from viz_core.text import Words, visible
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.pages.attention.focus import InFocus
from viz_core.ui.shell import set_view, touch


def pickable(panels: list[Panel], focus: InFocus, words: tuple[Words, Words] | None) -> None:
    """Draw the matrices with the focused cell picked: in B if two runs are compared. A click moves the focus.

    A picked word puts its first token into focus.
    """
    place = 1 if len(panels) > 1 else 0
    rows, cols = panels[place].values.shape
    row_of, col_of = (w.of for w in words) if words and focus.step == "weights" else (range(rows), range(cols))

    def choose(pick: Pick | None) -> None:
        if pick is None:
            touch()
        else:
            set_view(att_query=row_of.index(pick.row), att_key=col_of.index(pick.col))

    inside = focus.query < len(row_of) and focus.key < len(col_of)
    pick = Pick(place, row_of[focus.query], col_of[focus.key]) if inside else None
    matrices(panels, key="att_matrix", pick=pick, on_pick=choose, fill=True)


def line_weights(capture: Capture, focus: InFocus, words: tuple[Words, Words] | None) -> tuple[np.ndarray, list[str], list[str]]:
    """The weights [H, T, S] of the focused layer, and the labels of its queries and keys: words or tokens."""
    weights = capture[f"{focus.path}.weights"][focus.item]  # [H, T, S]
    if words is not None:
        queries, keys = (list(map(visible, w.texts)) for w in words)
        return between_words(weights, words[0].of, words[1].of), queries, keys
    query_side, key_side = sides(focus.kind)
    return weights, list(row_labels(capture, query_side, focus.item)), list(map(visible, capture.tokens(key_side)[focus.item]))
