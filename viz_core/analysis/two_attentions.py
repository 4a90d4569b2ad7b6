"""The difference A − B of all attention heads of two runs, on their aligned tokens or words.

    aligned = align_runs(a, b)
    rows, cols = position_pairs(aligned, "cross")
    change = head_difference(collect_heads(a, "cross"), collect_heads(b, "cross"), rows, cols)  # every weight
    pooled_head_difference(change, 64)                                                          # pooled for overviews
"""

from collections.abc import Sequence

import numpy as np

from viz_core.analysis.attention import AttentionKind, Tiles, max_pool, n_layers, sides
from viz_core.analysis.labelled_weights import EveryHead, WordPair
from viz_core.analysis.rounding import difference
from viz_core.analysis.two_runs import A_LESS_B, GAP, Places, Together, both_labels, taken
from viz_core.capture import Capture
from viz_core.text.pairing import pairs

BothWords = tuple[WordPair | None, WordPair | None]  # the words of A and of B; None for tokens
TOKENS: BothWords = (None, None)


def same_heads(a: Capture, b: Capture, kind: AttentionKind) -> bool:
    """Return whether both runs have the same numbers of layers and heads of a kind."""
    return all(n_layers(c.config, kind) == n_layers(b.config, kind) and c.config.n_heads == b.config.n_heads for c in (a, b))


def places_between(both: Together, kind: AttentionKind, words: BothWords = TOKENS) -> tuple[Places, Places]:
    """Return the pairs of query positions of A and B, and the pairs of key positions: of tokens, or of words."""
    one, other = words
    if one is None or other is None:
        query_side, key_side = sides(kind)
        return both.places[query_side], both.places[key_side]
    rows, cols = (pairs(a.texts, b.texts) for a, b in zip(one, other, strict=True))
    return rows, cols


def heads_apart(a: EveryHead, b: EveryHead, rows: Places, cols: Places) -> EveryHead:
    """Return A − B of every head of a kind that both runs have. Differences below rounding are set to 0.

    rows, cols: the pairs of query positions and of key positions of A and B. A cell is `blocked` if it is blocked in both runs, or
    if one of them has no such token.
    """
    found = [_placed(one, [p[i] for p in rows], [p[i] for p in cols]) for i, one in enumerate((a, b))]
    weights, visible = zip(*found, strict=True)
    gaps = np.array([None in p for p in rows])[:, None] | np.array([None in p for p in cols])[None]  # [T, S]
    change, __ = difference(weights[1], weights[0])
    labels = [both_labels(_labels(x, p, 0), _labels(y, p, 1)) for x, y, p in ((a.queries, b.queries, rows), (a.keys, b.keys, cols))]
    return EveryHead(
        a.kind, np.where(gaps, np.nan, change), gaps | ~(visible[0] | visible[1]), labels[0], labels[1], b.relative, A_LESS_B, gaps,
    )


def tiles_apart(found: EveryHead, most: int) -> Tiles:
    """Return A − B pooled to at most max_cells × max_cells cells per head: the difference of largest absolute value per block."""
    n_rows, n_cols = found.blocked.shape
    change = found.weights if found.gaps is None else np.where(found.gaps, 0.0, found.weights)
    block = (-(-n_rows // most), -(-n_cols // most))
    return Tiles(largest_pool(change, most), ~max_pool(~found.blocked, most).astype(bool), block)


def _placed(one: EveryHead, rows: list[int | None], cols: list[int | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights [L, H, T, S] of one run at the aligned positions, and which are visible [T, S]; False at gaps."""
    weights, visible = one.weights.astype(np.float64), (~one.blocked).astype(np.float64)
    seen = taken(taken(visible, 0, rows), 1, cols)
    return taken(taken(weights, 2, rows), 3, cols), np.nan_to_num(seen) > 0


def _labels(names: Sequence[str], places: Places, which: int) -> tuple[str, ...]:
    """Return the label of each aligned position in A (which: 0) or in B (1)."""
    return tuple(GAP if (at := place[which]) is None else names[at] for place in places)


def largest_pool(x: np.ndarray, most: int) -> np.ndarray:
    """Return the value of largest absolute value of each block, with its sign.

    x: [..., T, S], in the smallest equal blocks that give at most max_cells × max_cells. NaN counts as larger than every number.
    """
    high, low = max_pool(x, most), -max_pool(-x, most)
    return np.where(high >= -low, high, np.where(np.isnan(high), high, low))
