"""Ablation: switch off heads, leave out the scale, or change the temperature, and compare with the intact run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from viz_core.analysis.attention import AttentionKind, hidden_stage, module, n_layers, real, relative_change
from viz_core.analysis.rounding import difference
from viz_core.analysis.rows import row_labels
from viz_core.analysis.summary import predictions
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.figures.attention import KIND_NAMES
from viz_core.figures.two_attentions import ablated_head, ablated_hidden
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.ui.components.glosses import labelled, named
from viz_core.ui.components.heads import Focus
from viz_core.ui.controls import data_table, numeric, picking
from viz_core.ui.pages.attention import snippets
from viz_core.ui.pages.attention.focus import InFocus, choose_head
from viz_core.ui.shell import Lab, below, look, picture, set_view, view, view_widget, widget, widget_value
from viz_core.ui.shell.setup import VIEW

if TYPE_CHECKING:
    from viz_core.experiments.ablation import Ablation


def ablation(lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """Switch off heads or the scale, or change the temperature, and compare the ablated run with the intact run."""
    from viz_core.experiments.ablation import Ablation

    layers = [(k, i) for k in available for i in range(n_layers(lab.config, k))]
    names = {f"{k}.{i}.{h}": (k, i, h) for k, i in layers for h in range(lab.config.n_heads)}
    chosen = [n for n in view("att_off") if n in names]
    off = frozenset((module(kind, layer), head) for kind, layer, head in (names[n] for n in chosen))
    change = Ablation(off, view("att_unscaled") and lab.config.scale_scores, view("att_temperature"))
    ablated = None if change.nothing else _ablated(lab, change)
    look(_what_to_look_at(capture, ablated, focus, (focus.path, focus.head) in off))
    with picture():
        drawn = ablated_head(capture, ablated, focus.kind, focus.layer, focus.head, focus.item, focus.colour)
        picking(drawn, "att_broken", fill=True, code=lambda: snippets.ablated(lab, change, focus))
    with below():
        _ablation_controls(lab.config, names, chosen, focus)
    st.caption(_("Scores are divided by the temperature before every softmax. Below 1, weights become sharper; above 1, flatter."))
    if ablated is not None:
        _ablated_output(lab, capture, ablated, focus, change)


def _ablated(lab: Lab, change: "Ablation") -> Capture:
    """The run with this change, from the store that all visitors share."""
    from viz_core.experiments.ablation import ablated_run
    from viz_core.ui.shell.cache import runs

    batch, model = lab.batch, lab.model()
    assert batch is not None
    return runs().get(("ablated", lab.key(), change), lambda: ablated_run(model, batch, change, lab.setup.seed), *lab.cost())


def _moved(capture: Capture, ablated: Capture, focus: InFocus) -> float:
    """The largest change of a weight of the head in focus; 0 where there is none."""
    stage = f"{focus.path}.weights"
    change, __ = difference(*(c[stage][focus.item, focus.head] for c in (capture, ablated)))
    return float(np.nanmax(np.abs(change), initial=0.0))


def _what_to_look_at(capture: Capture, ablated: Capture | None, focus: InFocus, is_off: bool) -> str:
    """What is changed, and how far the weights of the head in focus moved. is_off: whether that head is switched off."""
    if ablated is None:
        return _("**{name}.** Nothing is changed yet. Switch off a head, leave out the scale, or change the temperature.",
                 name=focus.name)
    moved = _moved(capture, ablated, focus)
    if not moved and is_off:
        return _("**{name}.** Switching it off replaces its output by zeros, not its weights: both pictures are equal. The effect "
                 "is in the hidden states below.", name=focus.name)
    if not moved:
        return _("**{name}.** Nothing that is changed feeds into its weights: both pictures are equal. The effect is in the hidden "
                 "states below.", name=focus.name)
    off_too = " " + _("It is switched off: its output is zeros.") if is_off else ""
    return _("**{name}.** The largest change of a weight is {moved}. Orange cells are larger in the ablated run.{off_too}",
             name=focus.name, moved=rounded(moved, 3), off_too=off_too)


def _ablation_controls(
    config: TransformerConfig, names: Mapping[str, Focus], chosen: Sequence[str], focus: InFocus
) -> None:
    """The controls of the ablation: the head that is drawn, those that are switched off, the temperature and the scale."""
    offered = [n for n in names if n in (VIEW["att_off"].options or ())]
    here = f"{focus.kind}.{focus.layer}.{focus.head}"

    def drawn(name: str) -> None:
        choose_head(names[widget_value(name)])

    widget(st.selectbox, "att_drawn", _("Head that is drawn"), here, drawn, options=list(names), width=180,
           format_func=lambda n: _named(*names[n]), label_visibility="collapsed")
    view_widget(st.multiselect, "att_off", _("Heads switched off"), options=offered, format_func=lambda n: _named(*names[n]),
                placeholder=_("Heads to switch off"), width=250, label_visibility="collapsed")
    if here in offered and here not in chosen:
        st.button(_("Switch it off"), key="att_off_here", on_click=set_view, kwargs={"att_off": (*chosen, here)},
                  help=_("Replaces the output of the head shown by zeros."))
    view_widget(st.select_slider, "att_temperature", _("Softmax temperature"), width=160, label_visibility="collapsed",
                format_func=lambda t: _("temperature {t}", t=f"{t:g}"))
    view_widget(st.toggle, "att_unscaled", _("Leave out ÷ √d_k"), disabled=not config.scale_scores)


def _named(kind: AttentionKind, layer: int, head: int) -> str:
    """ "encoder layer 0 head 1" """
    return _("{attention} layer {layer} head {head}", attention=KIND_NAMES[kind], layer=layer, head=head)


def _ablated_output(lab: Lab, capture: Capture, ablated: Capture, focus: InFocus, change: "Ablation") -> None:
    """How the last hidden states changed, as a matrix and for each token; and both runs' most likely next words."""
    side = lab.config.output_side
    tokens = row_labels(capture, side, focus.item)
    name = hidden_stage(lab.config)
    before, after = (c[name][focus.item] for c in (capture, ablated))
    shift = relative_change(before, after)
    summary = _predicted(lab, capture, ablated, focus.item)
    not_padding = real(capture, side, focus.item)
    share = f"{float(shift[not_padding].mean()):.1%}"
    st.markdown(_("The hidden states after the last layer changed by **{share}** of their length on average. {summary}",
                  share=share, summary=summary))
    picking([ablated_hidden(capture, ablated, focus.item)], "att_hidden",
            code=lambda: snippets.ablated_hidden(lab, change, focus.item))
    from viz_core import tables

    frame = tables.ablation(capture, ablated, focus.item, lambda id: lab.word(side, id, focus.item))
    words = {"token": [labelled(tokens[t]) for t in frame["position"]]}
    columns: dict[str, Any] = {"token": _("token"), "change": numeric(_("hidden state changed by"), percent=True)}
    if "probs" in capture:
        columns |= {
            "intact_word": _("intact: most likely word") if lab.in_place else _("intact: most likely next word"),
            "intact_probability": numeric(_("intact: probability"), percent=True),
            "ablated_word": _("ablated: most likely word") if lab.in_place else _("ablated: most likely next word"),
            "ablated_probability": numeric(_("ablated: probability"), percent=True),
        }
        words |= {name: list(map(named, frame[name])) for name in ("intact_word", "ablated_word")}
    data_table(frame, "att_changes", columns, _("What changed at each token"), words=words,
               code=lambda: snippets.changes(lab, change, focus.item))


def _predicted(lab: Lab, capture: Capture, ablated: Capture, item: int) -> str:
    """How many of the most likely words changed."""
    if "probs" not in capture:
        return _("This model predicts no words.")
    both = list(zip(predictions(capture, item, 1), predictions(ablated, item, 1), strict=True))
    changed = sum(a.ids != b.ids for a, b in both)
    if lab.in_place:
        return _("The most likely word changed at **{changed} of {n_both}** tokens.", changed=changed, n_both=len(both))
    return _("The most likely next word changed after **{changed} of {n_both}** tokens.", changed=changed, n_both=len(both))
