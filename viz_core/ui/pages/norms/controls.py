"""Controls of the sections on a single norm: side, option, norm, token, feature."""

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.layernorm import LayerNormSite
from viz_core.config import Side
from viz_core.messages import LazyText, lazy
from viz_core.messages import translate as _
from viz_core.text import bidi_isolated
from viz_core.ui.components.glosses import glossed_token
from viz_core.ui.shared.elements import clamped_input, clamped_url_param, set_param_from_widget
from viz_core.ui.shell import PageContext, linked_widget, url_param, widget

NO_SENTENCE_NOTE = lazy("This section reads your sentence. The note above says why there is none.")
NORM_TITLES = {
    "self_attn": lazy("self-attention"), "cross_attn": lazy("cross-attention"), "ffn": lazy("feed-forward"),
    "embed": lazy("embedding"),
    "final": lazy("final"),
}


def choose_side(context: PageContext, sides: Sequence[Side]) -> Side:
    """Draw the control that selects a side, if there are two, and return the selected one."""
    if len(sides) < 2:
        return sides[0]
    names = {"source": _("Encoder"), "target": _("Decoder")}
    side: Side = linked_widget(st.segmented_control, "norm_side", _("Stack"), options=sides, required=True, format_func=names.get)
    return side


def choose_option(name: str, label: str, options: Sequence[str], names: Mapping[str, str | LazyText]) -> str:
    """Draw the control that selects an option, if there are several, and return the selected one; by default the first.

    Where the link names an option that does not exist here, a caption says so.
    """
    requested = url_param(name)
    option: str = requested if requested in options else options[0]
    if requested and requested != option:
        st.caption(_("{label}: there is no {names} here; showing {name}.",
                     label=label, names=names.get(requested, _("such option")), name=names[option]))
    if len(options) > 1:
        widget(st.selectbox, name, label, option, set_param_from_widget, options=options, format_func=lambda o: str(names[o]))
    return option


def choose_layer_norm(context: PageContext, norms: Sequence[LayerNormSite]) -> LayerNormSite:
    """Draw the controls that select a norm by side, role and layer, and return it."""
    side = choose_side(context, list(dict.fromkeys(p.side for p in norms)))
    on_side = [p for p in norms if p.side == side]
    title = context.config.normalization.title
    which = choose_option("norm_which", title, list(dict.fromkeys(p.role for p in on_side)), NORM_TITLES)
    of_kind = [p for p in on_side if p.role == which]
    layer = 0 if of_kind[0].layer is None else clamped_input(st.number_input, "norm_layer", _("Layer"), len(of_kind) - 1)
    return of_kind[layer]


def choose_token(tokens: Sequence[str]) -> int:
    """Draw the control that selects a token, and return its index."""
    token = clamped_url_param("norm_token", _("Token"), len(tokens) - 1)
    names = [f"{t} · {bidi_isolated(glossed_token(name))}" for t, name in enumerate(tokens)]
    widget(
        st.selectbox,
        "norm_token",
        _("Token"),
        token,
        set_param_from_widget,
        options=range(len(tokens)),
        format_func=names.__getitem__,
    )
    return token


def choose_feature(x: np.ndarray) -> int:
    """Draw the control that selects a feature of a token x [D], and return it; by default the one with the largest magnitude."""
    d, requested = len(x), url_param("norm_feature")
    feature = (
        clamped_url_param("norm_feature", _("Feature"), d - 1)
        if requested >= 0
        else int(np.argmax(np.nan_to_num(np.abs(x), nan=-1.0)))
    )
    if d > 1:
        widget(st.number_input, "norm_feature", _("Feature"), feature, set_param_from_widget, min_value=0, max_value=d - 1, step=1,
               help=_("The bars mark this feature, and the formula shows its numbers."))
    return feature
