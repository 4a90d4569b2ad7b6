"""All heads of the run as tiles, one grid for each kind of attention."""

from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.attention import AttentionKind, sides, tiles
from viz_core.capture import Capture
from viz_core.figures.attention import MAX_TILE, Grid, grid
from viz_core.language import translate as _
from viz_core.ui.components.heads import heads
from viz_core.ui.pages.attention.focus import InFocus, choose_head, words_of_both_sides, words_shown
from viz_core.ui.shell import Lab, view_widget

COLOURS = {"largest": _("0 to largest"), "one": _("0 to 1"), "uniform": _("relative to uniform")}
KIND_LABELS = {"all": _("all"), "encoder": _("encoder self"), "decoder": _("decoder self"), "cross": _("cross")}
UNIFORM = _("Relative to uniform: weight × number of visible keys. The middle colour is 1, the value of a uniform row.")
BY_WORD = (
    _("A word may be several tokens. The weight to a word is the sum over its tokens, and the weight from a word is the mean "
      "over its tokens (Clark et al. 2019). The steps before the softmax and the section One weight still show tokens.")
)


def all_heads(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """Draw the layers × heads of each chosen kind of attention in one component."""
    shown = list(available)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(available) > 1:
            only = view_widget(st.segmented_control, "att_show", _("Attention"), options=("all", *available), required=True,
                               format_func=lambda k: KIND_LABELS[k])
            shown = [k for k in available if only in ("all", k)]
        view_widget(st.segmented_control, "att_colour", _("Colour scale"), required=True, help=UNIFORM,
                    format_func=lambda c: COLOURS[c])
        if any(not w.whole for kind in shown for w in words_of_both_sides(lab, capture, kind, focus.item)):
            view_widget(st.toggle, "att_words", _("Group tokens by word"), help=BY_WORD)
    grids = [_grid(lab, capture, kind, focus) for kind in shown]
    heads(grids, (focus.kind, focus.layer, focus.head), key="att_heads", on_focus=choose_head)


def _grid(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Grid:
    """The tiles of one kind of attention, computed once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> Grid:
        words = words_shown(lab, capture, kind, focus)
        pooled = tiles(
            capture, kind, focus.item, MAX_TILE, focus.colour == "uniform", (words[0].of, words[1].of) if words else None
        )
        n_queries, n_keys = (capture[f"ids.{side}"].shape[1] for side in sides(kind))
        return grid(kind, pooled, focus.colour, (len(words[0].texts), len(words[1].texts)) if words else (n_queries, n_keys))

    return cached_result("attention tiles", (lab.key(), kind, focus.item, focus.colour, focus.by_word), make)
