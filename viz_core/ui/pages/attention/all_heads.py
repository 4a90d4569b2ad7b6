"""All heads of the run as tiles, one grid for each kind of attention; of two runs, one for each run and kind."""

from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.attention import AttentionKind, Tiles, kinds, sides, tiles
from viz_core.capture import Capture
from viz_core.figures.attention import MAX_TILE, Grid, colour_range, grid
from viz_core.language import translate as _
from viz_core.ui.components.heads import heads
from viz_core.ui.pages.attention.focus import InFocus, choose_head, picked_pair, words_of_both_sides, words_shown
from viz_core.ui.shell import Lab, view, view_widget

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


def all_heads(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus, kept: Lab | None) -> None:
    """Draw the layers × heads of each chosen kind of attention in one component; of the run kept as A beside them."""
    grids = []
    for kind in kinds_shown(available):
        if kept is None or kept.capture is None or kind not in kinds(kept.config):
            grids.append(_grid(lab, capture, kind, focus))
        else:
            grids += _both(kept, kept.capture, lab, capture, kind, focus)
    heads(grids, (focus.kind, focus.layer, focus.head), key="att_heads", on_focus=choose_head, fill=True,
          picked=picked_pair(lab, capture, focus) if kept is None else None)


def _grid(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Grid:
    """The tiles of one kind of attention, computed once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> Grid:
        return grid(kind, _tiles(lab, capture, kind, focus), focus.colour, _lengths(lab, capture, kind, focus))

    return cached_result("attention tiles", (lab.key(), kind, focus.item, focus.colour, focus.by_word), make)


def _both(kept: Lab, other: Capture, lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> list[Grid]:
    """The tiles of A and of B in one colour range, computed once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> list[Grid]:
        runs = (("A", kept, other), ("B", lab, capture))
        pooled = [_tiles(run, made, kind, focus) for __, run, made in runs]
        ranges = [colour_range(each.values, focus.colour) for each in pooled]
        span = min(low for low, __ in ranges), max(high for __, high in ranges)
        return [grid(kind, each, focus.colour, _lengths(run, made, kind, focus), name, span)
                for (name, run, made), each in zip(runs, pooled, strict=True)]

    key = (kept.key(), lab.key(), kind, focus.item, focus.colour, focus.by_word)
    return cached_result("attention tiles of two runs", key, make)


def _tiles(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Tiles:
    words = words_shown(lab, capture, kind, focus)
    return tiles(capture, kind, focus.item, MAX_TILE, focus.colour == "uniform", (words[0].of, words[1].of) if words else None)


def _lengths(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> tuple[int, int]:
    """The queries and keys of a tile, as words or as tokens, before any are pooled."""
    if words := words_shown(lab, capture, kind, focus):
        return len(words[0].texts), len(words[1].texts)
    n_queries, n_keys = (capture[f"ids.{side}"].shape[1] for side in sides(kind))
    return n_queries, n_keys
