"""All heads as tiles, one grid for each kind of attention; in a comparison, those of A, of B, or of A − B."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.analysis.attention import AttentionKind, module, n_layers
from viz_core.analysis.labelled_weights import every_head, without_special, words_of_both
from viz_core.capture import Capture
from viz_core.figures.attention import Grid, head_grid
from viz_core.figures.two_attentions import grid_of_two, tiles_shown, weights_of_two
from viz_core.language import translate as _
from viz_core.ui.components.heads import heads
from viz_core.ui.pages.attention import snippets
from viz_core.ui.pages.attention.focus import InFocus, choose_head, kept_shown, picked_pair, words_of_two, words_shown
from viz_core.ui.shell import Lab, TwoRuns, view, view_widget

if TYPE_CHECKING:
    import pandas as pd

COLOURS = {"largest": _("0 to largest"), "one": _("0 to 1"), "uniform": _("relative to uniform")}
KIND_LABELS = {"all": _("all"), "encoder": _("encoder self"), "decoder": _("decoder self"), "cross": _("cross")}
UNIFORM = _("Relative to uniform: weight × number of visible keys. The middle colour is 1, the value of a uniform row.")
BY_WORD = (
    _("A word may be several tokens. The weight to a word is the sum over its tokens, and the weight from a word is the mean "
      "over its tokens (Clark et al. 2019). The steps before the softmax and the section One weight still show tokens.")
)
WITHOUT_SPECIAL = (
    _("Many trained heads put most of their weight on special tokens such as [CLS] or <bos>. Without these, the other weights of "
      "each row are divided by their sum, so that they add up to 1; the less of its weight a row keeps, the paler it is. Only the "
      "pictures change, and only where there is one run.")
)


def kinds_shown(available: Sequence[AttentionKind]) -> list[AttentionKind]:
    """Return the kinds of attention to show: the selected one if this model has it, else all."""
    only = view("att_show")
    return [k for k in available if only in ("all", k) or only not in available]


def words_or_tokens(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """Draw the toggle that groups tokens by word, if any word has several tokens."""
    words = (words_of_both(capture, kind, focus.item, lab.tokenizers) for kind in kinds_shown(available))
    if any(not side.whole for pair in words for side in pair):
        view_widget(st.toggle, "att_words", _("Group tokens by word"), help=BY_WORD)


def with_or_without_special(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """Draw the toggle that leaves out special tokens, if the sentence has any. It is disabled while two runs are compared."""
    if any(without_special(capture, kind, focus.item, lab.tokenizers) for kind in kinds_shown(available)):
        view_widget(st.toggle, "att_without_special", _("Without special tokens"), help=WITHOUT_SPECIAL,
                    disabled=bool(view("kept")))


def all_heads(
    lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus, two: TwoRuns | None = None
) -> None:
    """Draw the layers × heads of each kind of attention to show: of one run, or of A, B or A − B in a comparison."""
    shown = kinds_shown(available)
    grids = [_grid(lab, capture, kind, focus) if two is None else _of_two(two, kind, focus) for kind in shown]
    heads(grids, (focus.kind, focus.layer, focus.head), key="att_heads", on_focus=choose_head, fill=True,
          picked=picked_pair(lab, capture, focus) if two is None else None, rows=_n_weights(capture, shown),
          numbers=lambda: _numbers(lab, capture, shown, focus, two), code=lambda: snippets.heads(lab, shown, focus, two))


def _numbers(
    lab: Lab, capture: Capture, shown: Sequence[AttentionKind], focus: InFocus, two: TwoRuns | None
) -> "pd.DataFrame":
    """Return every attention weight behind the tiles, one a row."""
    from viz_core import drawn

    if two is None:
        words = {kind: words_shown(lab, capture, kind, focus) for kind in shown}
        return drawn.heads(every_head(capture, kind, focus.item, words[kind], focus.colour == "uniform") for kind in shown)
    return drawn.heads(
        weights_of_two(two.both, kind, two.shown, focus.colour, words_of_two(two, kind, focus)) for kind in shown
    )


def _n_weights(capture: Capture, shown: Sequence[AttentionKind]) -> int:
    return sum(n_layers(capture.config, kind) * capture[f"{module(kind, 0)}.weights"][0].size for kind in shown)


def _grid(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Grid:
    """Return the tiles of one kind of attention, cached for all sessions."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> Grid:
        words, kept = words_shown(lab, capture, kind, focus), kept_shown(lab, capture, kind, focus)
        return head_grid(capture, kind, focus.item, focus.colour, words, kept=kept)

    key = (lab.key(), kind, focus.item, focus.colour, focus.by_word, focus.without_special)
    return cached_result("attention tiles", key, make)


def _of_two(two: TwoRuns, kind: AttentionKind, focus: InFocus) -> Grid:
    """Return the tiles of A, of B or of A − B, cached for all sessions."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> Grid:
        return grid_of_two(two.both, kind, two.shown, focus.colour, words_of_two(two, kind, focus))

    key = (two.a.key(), two.b.key(), kind, focus.item, focus.colour, focus.by_word, tiles_shown(two.both, kind, two.shown))
    return cached_result("attention tiles of two runs", key, make)
