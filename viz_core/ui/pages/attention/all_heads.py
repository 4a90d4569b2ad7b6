"""All heads of the run as tiles, one grid for each kind of attention; of two runs, those of A, of B, or A − B."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.attention import AttentionKind, Tiles, kinds, sides, tiles
from viz_core.analysis.two_attentions import OneOfTwo, same_heads, tiles_apart
from viz_core.capture import Capture
from viz_core.figures.attention import MAX_TILE, Grid, colour_range, grid
from viz_core.figures.two_runs import Shown
from viz_core.language import translate as _
from viz_core.ui.components.heads import heads
from viz_core.ui.pages.attention.focus import InFocus, choose_head, picked_pair, places_of, words_of_both_sides, words_shown
from viz_core.ui.shell import Lab, TwoRuns, view, view_widget
from viz_core.ui.shell.two_runs import TITLES

COLOURS = {"largest": _("0 to largest"), "one": _("0 to 1"), "uniform": _("relative to uniform")}
KIND_LABELS = {"all": _("all"), "encoder": _("encoder self"), "decoder": _("decoder self"), "cross": _("cross")}
UNIFORM = _("Relative to uniform: weight × number of visible keys. The middle colour is 1, the value of a uniform row.")
BY_WORD = (
    _("A word may be several tokens. The weight to a word is the sum over its tokens, and the weight from a word is the mean "
      "over its tokens (Clark et al. 2019). The steps before the softmax and the section One weight still show tokens.")
)


def kinds_shown(available: Sequence[AttentionKind]) -> list[AttentionKind]:
    """The kinds of attention that the page shows: all, or the chosen one where this model has it."""
    only = view("att_show")
    return [k for k in available if only in ("all", k) or only not in available]


def words_or_tokens(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """The switch that shows words in place of tokens, where a word is several."""
    if any(not w.whole for kind in kinds_shown(available) for w in words_of_both_sides(lab, capture, kind, focus.item)):
        view_widget(st.toggle, "att_words", _("Group tokens by word"), help=BY_WORD)


def all_heads(
    lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus, two: TwoRuns | None = None
) -> None:
    """Draw the layers × heads of each chosen kind of attention in one component: of A, of B or A − B where there are two runs."""
    if two is None:
        grids = [_grid(lab, capture, kind, focus) for kind in kinds_shown(available)]
    else:
        grids = [_of_two(two, kind, focus) for kind in kinds_shown(available)]
    heads(grids, (focus.kind, focus.layer, focus.head), key="att_heads", on_focus=choose_head, fill=True,
          picked=picked_pair(lab, capture, focus) if two is None else None)


def tiles_shown(two: TwoRuns, kind: AttentionKind) -> Shown:
    """Which run the tiles of a kind show: the chosen one, but B where A has no such heads, or not as many to subtract."""
    if kind not in kinds(two.a.config) or (two.shown == "difference" and not same_heads(two.both.a, two.both.b, kind)):
        return "b"
    return two.shown


def _grid(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Grid:
    """The tiles of one kind of attention, computed once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> Grid:
        return grid(kind, _tiles(lab, capture, kind, focus), focus.colour, _lengths(lab, capture, kind, focus))

    return cached_result("attention tiles", (lab.key(), kind, focus.item, focus.colour, focus.by_word), make)


def _of_two(two: TwoRuns, kind: AttentionKind, focus: InFocus) -> Grid:
    """The tiles of A and of B in one colour range, or of A − B around zero; computed once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    shown, has_both = tiles_shown(two, kind), kind in kinds(two.a.config)

    def make() -> Grid:
        runs = [(two.b, two.both.b), (two.a, two.both.a)][: 2 if has_both else 1]
        if shown == "difference":
            apart = _apart(two, kind, focus)
            most = float(np.abs(apart.values[np.isfinite(apart.values)]).max(initial=0.0)) or 1.0
            rows, cols = places_of(two, kind, focus)
            named = _("no value") if any(None in place for place in (*rows, *cols)) else ""
            return grid(kind, apart, "uniform", (len(rows), len(cols)), TITLES[shown], (-most, most), named)
        ranges = [colour_range(_tiles(run, made, kind, focus).values, focus.colour) for run, made in runs]
        span = min(low for low, __ in ranges), max(high for __, high in ranges)
        lab, capture = runs[shown == "a"]
        return grid(kind, _tiles(lab, capture, kind, focus), focus.colour, _lengths(lab, capture, kind, focus), TITLES[shown], span)

    key = (two.a.key(), two.b.key(), kind, focus.item, focus.colour, focus.by_word, shown)
    return cached_result("attention tiles of two runs", key, make)


def _apart(two: TwoRuns, kind: AttentionKind, focus: InFocus) -> Tiles:
    """A − B of all heads of a kind, between words if the page shows words."""
    def one(lab: Lab, capture: Capture) -> OneOfTwo:
        words = words_shown(lab, capture, kind, focus)
        return OneOfTwo(capture, focus.item, (words[0].of, words[1].of) if words else None)

    rows, cols = places_of(two, kind, focus)
    return tiles_apart(one(two.a, two.both.a), one(two.b, two.both.b), kind, rows, cols, MAX_TILE, focus.colour == "uniform")


def _tiles(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Tiles:
    words = words_shown(lab, capture, kind, focus)
    return tiles(capture, kind, focus.item, MAX_TILE, focus.colour == "uniform", (words[0].of, words[1].of) if words else None)


def _lengths(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> tuple[int, int]:
    """The queries and keys of a tile, as words or as tokens, before any are pooled."""
    if words := words_shown(lab, capture, kind, focus):
        return len(words[0].texts), len(words[1].texts)
    n_queries, n_keys = (capture[f"ids.{side}"].shape[1] for side in sides(kind))
    return n_queries, n_keys
