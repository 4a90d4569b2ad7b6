"""The section Fully masked rows: what each implementation returns for a query that may attend to no key."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from viz_core.analysis.attention import module, real, sides
from viz_core.analysis.masks import values
from viz_core.capture import Capture
from viz_core.figures.masks import head_panels, labels, spread_panels
from viz_core.language import translate as _
from viz_core.presets import DOCUMENTS
from viz_core.stages import SIDE_NAMES
from viz_core.text import in_quotes
from viz_core.ui.components.glosses import labelled
from viz_core.ui.controls import picking, table
from viz_core.ui.pages.halves import has_half, with_own_half
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import InFocus, batch_of, choose_focus, layer_and_head
from viz_core.ui.pages.masks.words import no_twin_words, values_words, where_words
from viz_core.ui.shell import Lab, below, look, picture

if TYPE_CHECKING:
    from viz_core.experiments.masks import EmptyRows, NaNSpread
    from viz_core.run import Batch

TITLES = {
    "infinite_fill": _("−∞, then softmax"),
    "finite_fill": _("−1e20, then softmax"),
    "module_with_weights": _("nn.MultiheadAttention, need_weights=True"),
    "module_without_weights": _("nn.MultiheadAttention, need_weights=False"),
    "fused": "F.scaled_dot_product_attention",
    "app": _("this app"),
}
IN_FULL = {
    "infinite_fill": _("scores.masked_fill(~mask, −∞), then softmax"),
    "finite_fill": _("scores.masked_fill(~mask, −1e20), then softmax"),
    "app": _("this app's default: the row is set to zeros"),
}


def fully_masked_rows(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw how NaN spreads from fully masked rows, and what six implementations return for one."""
    from viz_core.experiments.masks import empty_rows, spread
    from viz_core.ui.shell.cache import cached_result

    look(_("**{value} masks padded queries too:** the softmax of such a row is NaN (not a number). See how it spreads.",
           value=DOCUMENTS["002"]))
    place = picture()
    with below():
        choose_focus(lab, capture, focus)
        __, head = layer_and_head(lab, focus, layers=False)
    capture, batch, focus, note = _padded(lab, capture, focus)
    side = sides(focus.kind)[0]
    if real(capture, side, focus.item).all():
        raise ValueError(_("Sentence {item} has no padded {side} token, so none of its rows is fully masked. Use two sentences "
                           "of different lengths, and choose the shorter one.", item=focus.item + 1, side=SIDE_NAMES[side]))
    model, path = lab.model(), module(focus.kind, 0)
    seed, cost = lab.setup.seed, lab.cost()
    result = cached_result("mask empty", (lab.key(), path, focus.item),
                           lambda: empty_rows(model, batch, path, focus.item, seed), *cost)
    if not result.empty.any():
        raise ValueError(_("This model does not mask {side} padding, so none of its rows is fully masked. Turn on Mask {side} "
                           "padding under All switches.", side=SIDE_NAMES[side]))
    nan_spread = cached_result("mask spread", (lab.key(), side, focus.item),
                               lambda: spread(model, batch, side, focus.item, seed), *cost)
    tokens = labels(capture, side, focus.item)
    halved = batch is not batch_of(lab)
    with place:
        picking(spread_panels(nan_spread.stops, nan_spread.filled, nan_spread.zero, tokens), "mask_spread", fill=True,
                code=lambda: snippets.spread(lab, focus, halved, side))
    st.markdown(_("Each cell is the length of a token's vector after a layer: first with a plain softmax over −∞ in the fully "
                  "masked rows, then with this app's rule, which sets all weights of such a row to 0. {spread_words}{note}",
                  spread_words=_spread_words(nan_spread, lab.config.has_cross_attention and side == "target"), note=note))
    st.markdown(_("## What each implementation returns\n\nA softmax over −∞ alone is 0 / 0, so the result depends on the "
                  "implementation. The table shows the same scores of layer 0, masked in {n_treatments} ways and computed just "
                  "now:", n_treatments=len(result.treatments)))
    _treatments(capture, side, result, focus, int(np.nonzero(result.empty)[0][0]), head)
    st.markdown(_("## The weights of head {head} from each implementation", head=head))
    drawn = [(TITLES[t.name], t.name, t.weights[head]) for t in result.treatments if t.weights is not None]
    for i in range(0, len(drawn), 2):  # two side by side keep the cells legible
        pair = drawn[i : i + 2]
        picking(head_panels(capture, focus.kind, focus.item, [(title, weights) for title, __, weights in pair]), f"mask_empty_{i}",
                code=partial(snippets.empty, lab, focus, halved, head, [(title, name) for title, name, __ in pair]))


def _padded(lab: Lab, capture: Capture, focus: InFocus) -> "tuple[Capture, Batch, InFocus, str]":
    """Return a run with padding, its batch and focus, and a note if a single sentence was batched with its own first half."""
    batch = batch_of(lab)
    if not has_half(capture, batch):
        return capture, batch, focus, ""
    run, pair = with_own_half(lab, batch)
    return run, pair, replace(focus, item=1), " " + _("You typed one sentence, so here the model reads it together with its own "
                                                      "first half, which is the padded one that is shown.")


def _treatments(capture: Capture, side: str, result: "EmptyRows", focus: InFocus, row: int, head: int) -> None:
    """Draw a table with a row for each implementation: its weights and its output at one fully masked row."""
    lines = []
    for t in result.treatments:
        name = IN_FULL.get(t.name, TITLES[t.name])
        if t.out is None:
            lines.append([name, no_twin_words(t.no_twin, capture.config), ""])
            continue
        weights = _("not returned") if t.weights is None else values_words(values(t.weights[head, row]))
        lines.append([name, weights, values_words(values(t.out[row]))])
    token = labels(capture, side, focus.item)[row]
    table([_("Masked by"), _("Weights of {token} ({row}), head {head}", token=in_quotes(labelled(token)), row=row, head=head),
           _("Output at that token")], lines)
    st.caption(_("F.scaled_dot_product_attention returns no weights, so the app also calls it with the identity matrix as V: its "
                 "output is then its weights. If all weights of a row are 0, the output at that token is the bias of W_O."))


def _spread_words(nan_spread: "NaNSpread", reads_memory: bool) -> str:
    """Return how many tokens are NaN after each layer, and why."""
    counts = [int(np.isnan(x).sum()) for x in nan_spread.filled]
    n_tokens = nan_spread.filled.shape[1]
    by_stop = ", ".join(f"**{n}** {where_words(stop)}" for stop, n in zip(nan_spread.stops, counts, strict=True))
    why = ""
    if reads_memory and n_tokens in counts[:2]:  # its own padded keys are NaN only from the next layer on
        why = " " + _("The decoder attends to the encoder's output, which is NaN already for this sentence.")
    elif n_tokens in counts:
        why = " " + _("A padded key has weight 0, but 0 × NaN is NaN, so one layer later every token is NaN.")
    left = int(np.isnan(nan_spread.zero).any(axis=0).sum())
    return _("Of {n_tokens} tokens, this many are NaN: {by_stop}.{why} With this app's rule: {left}.",
             n_tokens=n_tokens, by_stop=by_stop, why=why, left=left or _("none"))
