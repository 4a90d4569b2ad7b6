"""All heads of two runs, A − B, on the places that the tokens or the words of both share."""

from typing import NamedTuple

import numpy as np

from viz_core.analysis.attention import AttentionKind, Tiles, allowed, max_pool, module, n_layers, relative
from viz_core.analysis.rounding import difference
from viz_core.analysis.two_runs import Places, taken
from viz_core.analysis.word_attention import between_words, seen_words
from viz_core.capture import Capture


class OneOfTwo(NamedTuple):
    """A run and the sentence that is shown of it. words: the word of each query token and of each key token, to show words."""

    capture: Capture
    item: int
    words: tuple[tuple[int, ...], tuple[int, ...]] | None = None


def same_heads(a: Capture, b: Capture, kind: AttentionKind) -> bool:
    """Whether both runs have as many layers and heads of a kind, so that each head of one has its like in the other."""
    return all(n_layers(c.config, kind) == n_layers(b.config, kind) and c.config.n_heads == b.config.n_heads for c in (a, b))


def tiles_apart(
    a: OneOfTwo, b: OneOfTwo, kind: AttentionKind, rows: Places, cols: Places, most: int, uniform: bool = False
) -> Tiles:
    """A − B of every head of a kind that both runs have, [L, H, r, c], pooled to at most most × most cells a head.

    rows, cols: which query and which key of A and of B stand on each place. A block shows its difference of largest size, and is
    blocked where all its cells are blocked in both runs or have no token in one of them. Differences below rounding are 0.
    uniform: of weight × number of visible keys.
    """
    found = [_placed(one, kind, [p[i] for p in rows], [p[i] for p in cols], uniform) for i, one in enumerate((a, b))]
    weights, visible = zip(*found, strict=True)
    gaps = np.array([None in p for p in rows])[:, None] | np.array([None in p for p in cols])[None]  # [T, S]
    hidden = gaps | ~(visible[0] | visible[1])
    change, __ = difference(weights[1], weights[0])
    block = (-(-len(rows) // most), -(-len(cols) // most))
    return Tiles(largest_pool(np.where(gaps, 0.0, change), most), ~max_pool(~hidden, most).astype(bool), block)


def _placed(
    one: OneOfTwo, kind: AttentionKind, rows: list[int | None], cols: list[int | None], uniform: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The weights [L, H, T, S] of one run on the places of both, and what it may see there [T, S]: nothing at a gap."""
    visible = allowed(one.capture, kind, one.item)
    stack = np.stack([one.capture[f"{module(kind, i)}.weights"][one.item] for i in range(n_layers(one.capture.config, kind))])
    if one.words is not None:
        visible, stack = seen_words(visible, *one.words), between_words(stack, *one.words)
    weights = (relative(stack, visible) if uniform else stack).astype(np.float64)
    seen = taken(taken(visible.astype(np.float64), 0, rows), 1, cols)
    return taken(taken(weights, 2, rows), 3, cols), np.nan_to_num(seen) > 0


def largest_pool(x: np.ndarray, most: int) -> np.ndarray:
    """[..., T, S] in the smallest equal blocks that give at most most × most cells: of each the number of largest size, with its
    sign (NaN first)."""
    high, low = max_pool(x, most), -max_pool(-x, most)
    return np.where(high >= -low, high, np.where(np.isnan(high), high, low))
