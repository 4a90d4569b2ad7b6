"""Attention of two runs: one head of A, B and A − B, all heads of one of these, and a run next to an ablated one.

    both = align_runs(a, b)
    two_run_head_panels(both, "cross", 1, 0)     # three panels with the same rows and columns
    two_run_grid(both, "cross", "difference")    # all heads of A − B
    ablation_panels(capture, ablated, "cross", 1, 0, 0)

`words` holds the words of A and of B if words are shown instead of tokens.
"""

from dataclasses import replace

import numpy as np

from viz_core.analysis.attention import AttentionKind, Step, hidden_stage, kinds, steps
from viz_core.analysis.labelled_weights import EveryHead, every_head
from viz_core.analysis.rounding import difference
from viz_core.analysis.rows import row_labels
from viz_core.analysis.two_attentions import TOKENS, BothWords, heads_apart, places_between, same_heads, tiles_apart
from viz_core.analysis.two_runs import Together
from viz_core.capture import Capture
from viz_core.figures.attention import MAX_TILE, Colour, Grid, colour_range, grid, head_grid, head_panel, head_tiles
from viz_core.figures.panels import Panel, panel
from viz_core.figures.two_runs import TITLES, Shown, a_and_b, compared, rounding_remark
from viz_core.language import translate as _
from viz_core.stages import SIDE_NAMES

# ---------------------------------------------------------------- all heads


def tiles_shown(both: Together, kind: AttentionKind, shown: Shown) -> Shown:
    """Return the view that the tiles of a kind can show: `view`, or "b" if A has no such heads or a different number of them."""
    if kind not in kinds(both.a.config) or (shown == "difference" and not same_heads(both.a, both.b, kind)):
        return "b"
    return shown


def grid_of_two(both: Together, kind: AttentionKind, shown: Shown, colour: Colour = "largest", words: BothWords = TOKENS) -> Grid:
    """Return all heads of A or B in a common colour range, or of A − B around zero; those of B if A has no such heads."""
    shown, has_both = tiles_shown(both, kind, shown), kind in kinds(both.a.config)
    if shown == "difference":
        apart = weights_of_two(both, kind, shown, colour, words)
        pooled = tiles_apart(apart, MAX_TILE)
        most = float(np.abs(pooled.values[np.isfinite(pooled.values)]).max(initial=0.0)) or 1.0
        n_queries, n_keys = apart.blocked.shape
        named = _("no value") if apart.gaps is not None and apart.gaps.any() else ""
        return grid(kind, pooled, "uniform", (n_queries, n_keys), TITLES[shown], (-most, most), named)
    runs = [(both.a, both.item_a, words[0]), (both.b, both.item_b, words[1])][0 if has_both else 1 :]
    ranges = [colour_range(head_tiles(run, kind, item, colour, own).values, colour) for run, item, own in runs]
    span = min(low for low, __ in ranges), max(high for __, high in ranges)
    capture, item, own = runs[0 if shown == "a" else -1]
    return head_grid(capture, kind, item, colour, own, TITLES[shown], span)


def weights_of_two(
    both: Together, kind: AttentionKind, shown: Shown, colour: Colour = "largest", words: BothWords = TOKENS
) -> EveryHead:
    """Return the weights of `two_run_grid` before they are pooled into tiles."""
    shown = tiles_shown(both, kind, shown)
    a, b = ((both.a, kind, both.item_a, words[0], colour == "uniform"), (both.b, kind, both.item_b, words[1], colour == "uniform"))
    if shown == "difference":
        rows, cols = places_between(both, kind, words)
        return heads_apart(every_head(*a), every_head(*b), rows, cols)
    return every_head(*(a if shown == "a" else b), TITLES[shown])


# ---------------------------------------------------------------- one head


def head_of_two(
    both: Together, kind: AttentionKind, layer: int, head: int, step: Step = "weights", colour: Colour = "largest",
    about: tuple[str, str] = ("", ""), words: BothWords = TOKENS,
) -> list[Panel]:
    """Return panels of one head in A and in B with a common colour range, and of A − B, on the aligned positions.

    subtitles: what distinguishes A and B, for the titles. Words replace tokens only for the weights. If A does not compute the
    step, the weights are shown.
    """
    step, words = step if step in steps(both.a.config, kind) else "weights", words if step == "weights" else TOKENS
    rows, cols = places_between(both, kind, words)
    runs = ((both.a, both.item_a), (both.b, both.item_b))
    a, b = (head_panel(run, kind, layer, head, item, step, colour, own) for (run, item), own in zip(runs, words, strict=True))
    return a_and_b(a, b, rows, cols, about)


# ---------------------------------------------------------------- ablation


def ablated_head(
    capture: Capture, ablated: Capture | None, kind: AttentionKind, layer: int, head: int, item: int, colour: Colour = "largest"
) -> list[Panel]:
    """Return the weights of one head in the intact and the ablated run, and their difference; one panel if they are equal."""
    both, intact = (_("Intact"), _("Ablated")), head_panel(capture, kind, layer, head, item, "weights", colour)
    if ablated is None:
        return [replace(intact, title=f"{both[0]}: {intact.title}")]
    drawn = compared(intact, head_panel(ablated, kind, layer, head, item, "weights", colour), both)
    if np.nan_to_num(drawn[2].values).any():
        return drawn
    return [replace(intact, title=_("Intact and ablated: weights"))]


def ablated_hidden(capture: Capture, ablated: Capture, item: int) -> Panel:
    """Return a panel of ablated − intact of the last hidden states [T, D], around zero."""
    side, name = capture.config.output_side, hidden_stage(capture.config)
    change, bound = difference(capture[name][item], ablated[name][item])
    return panel(
        _("Ablated − intact: last hidden states"), change, row_labels(capture, side, item), remark=rounding_remark(bound),
        row_axis=_("T · {side} token", side=SIDE_NAMES[side]), col_axis=_("D · feature"), row_letter="T", col_letter="D",
    )
