"""The section Effect: one head's weights with a mask and without it."""

import streamlit as st

from viz_core.analysis.attention import module, real, sides
from viz_core.analysis.masks import open_cells, parts, weight_there
from viz_core.analysis.summary import predictions
from viz_core.capture import Capture
from viz_core.figures.attention import head_name, head_panel
from viz_core.figures.two_runs import compared
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.stages import SIDE_NAMES
from viz_core.ui.controls import keep, picking
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import InFocus, batch_of, choose_focus, layer_and_head, no_padding_here
from viz_core.ui.shell import Lab, below, look, picture, view, widget

SWITCHES = {
    "causal": _("Causal"), "mask_source_padding": _("Source padding"), "mask_target_padding": _("Target padding"),
    "mask_padded_queries": _("Padded queries"),
}


def effect(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw the weights of one head with a mask, without it, and their difference, from two runs of one model."""
    from viz_core.experiments.masks import masked_run, switch
    from viz_core.ui.shell.cache import run_cost, runs

    look(_("**One head with a mask and without it.** In the difference, orange cells have more weight without the mask and blue "
           "cells less."))
    place = picture()
    with below():
        name = _switch(lab, focus)
        layer, head = layer_and_head(lab, focus)
        choose_focus(lab, capture, focus)
    model, batch = lab.model(), batch_of(lab)

    def run(on: bool) -> Capture:
        config = switch(lab.config, name, on)
        cost = run_cost(config, batch)
        return runs().get(("masked", lab.key(), config), lambda: masked_run(model, batch, config, lab.setup.seed), *cost)

    on, off = run(True), run(False)
    a, b = (head_panel(c, focus.kind, layer, head, focus.item) for c in (on, off))
    names = (_("With"), _("Without"))
    with place:
        picking(compared(a, b, names), "mask_effect", fill=True,
                code=lambda: snippets.effect(lab, focus, name, layer, head, names))
    st.markdown(_("**{head_name}, with and without this mask.** Both runs use the same parameters.",
                  head_name=head_name(focus.kind, layer, head)) + " "
                + " ".join(_effect_words(lab, on, off, focus, layer, head, name)))


def _switch(lab: Lab, focus: InFocus) -> str:
    """Draw the control that selects the mask to switch, and return its config field."""
    c = lab.config
    offered = [
        s for s in SWITCHES
        if not (s == "mask_source_padding" and not c.has_encoder) and not (s == "mask_target_padding" and not c.has_decoder)
    ]
    usual = "causal" if parts(c, focus.kind).causal else f"mask_{sides(focus.kind)[1]}_padding"
    chosen: str = view("mask_switch") if view("mask_switch") in offered else usual
    widget(st.selectbox, "mask_switch", _("Mask"), chosen, keep, options=offered, width=160, label_visibility="collapsed",
           format_func=lambda s: SWITCHES[s])
    return chosen


def _effect_words(lab: Lab, on: Capture, off: Capture, focus: InFocus, layer: int, head: int, name: str) -> list[str]:
    """Return sentences on the weight of the cells that this mask blocks, and on how the predictions change without it."""
    cells = open_cells(on, off, focus.kind, focus.item)
    rows = real(off, sides(focus.kind)[0], focus.item) & cells.any(axis=-1)
    sentences = [_("In this model the mask is {which}.",
                   which=_("on") if getattr(lab.config, name.replace("causal", "is_causal")) else _("off"))]
    if cells.any():
        weights = off[f"{module(focus.kind, layer)}.weights"][focus.item, head]
        sentences.append(_("Switched on, it blocks {sum:,} of {size:,} cells.", sum=int(cells.sum()), size=cells.size))
        if rows.any():
            taken = f"{weight_there(weights, cells, rows):.1%}".replace("nan%", "NaN")
            sentences.append(_("Without it, these cells take **{taken}** of the weight of their row, averaged over the words "
                               "whose row has such cells.", taken=taken))
    elif name == "causal" and focus.kind == "cross":
        sentences.append(_("Cross-attention has no causal mask: any difference here comes from the decoder's self-attention."))
    else:
        sentences.append(_("Here this mask blocks no cell that is allowed without it."))
        if no_padding_here(on, focus.kind, focus.item) and name != "causal":
            sentences.append(_("This sentence has no padding."))
    if "probs" in on:
        both = list(zip(predictions(on, focus.item, 1), predictions(off, focus.item, 1), strict=True))
        changed = sum(a.ids != b.ids for a, b in both)
        if lab.in_place:
            sentences.append(_("Without it, the most likely word changes at **{changed} of {n_both}** {side} positions.",
                               side=SIDE_NAMES[on.config.output_side], changed=changed, n_both=len(both)))
            return sentences
        sentences.append(_("Without it, the most likely next word changes at **{changed} of {n_both}** {side} positions; the "
                           "loss is {loss} with and {loss_2} without.", side=SIDE_NAMES[on.config.output_side],
                           changed=changed, n_both=len(both), loss=rounded(float(on["loss"])), loss_2=rounded(float(off["loss"]))))
    return sentences
