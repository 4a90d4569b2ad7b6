"""The section with the distribution of one stage's values, layer by layer, in every placement of the LayerNorm."""

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.analysis.layernorm import Spreads, leaves, spreads
from viz_core.config import Side
from viz_core.figures.distributions import drawn_layers, ridges_figure
from viz_core.figures.placement import COLOURS, TITLES
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.ui.controls import chart, dark, data_table, numeric
from viz_core.ui.pages.norms import snippets
from viz_core.ui.pages.norms.choices import choose_option
from viz_core.ui.pages.norms.compared import Compared, choose_sizes, compared_stack, say_what_runs
from viz_core.ui.shell import Lab, beside, look, view, view_widget
from viz_core.ui.shell.setup import VIEW


def distributions(lab: Lab) -> None:
    """Draw histograms of one stage of the compared runs, layer by layer."""
    stack = compared_stack(lab)
    if stack is None:
        return
    names = view("norm_placements") or VIEW["norm_placements"].default
    layers = stack.config.n_layers(stack.config.output_side)
    if (n_drawn := len(drawn_layers(range(layers)))) < layers:
        look(_("**Compare the widths of the ridges:** each ridge is one layer, with the first at the top. Of {layers} layers, "
               "{drawn} are drawn.", layers=layers, drawn=n_drawn))
    else:
        look(_("**Compare the widths of the ridges:** each ridge is one layer, with the first at the top."))
    main, rail = beside()
    with rail:
        choose_sizes()
    if (drawn := _histograms(stack, names, main, rail)) is not None:
        found, code = drawn
        st.markdown(describe_widths(found))
        _width_table(found, code)
    say_what_runs(stack)


def _histograms(
    compared: Compared, names: Sequence[str], place: DeltaGenerator, rail: DeltaGenerator
) -> tuple[Spreads, Callable[[], str]] | None:
    """Draw the histograms in `main`, every placement on the same scale, and their controls in `rail`.

    Returns the histograms and a function that makes the code of their table; None if the runs have no layers.
    """
    from viz_core.ui.shell.cache import cached_result

    captures = {TITLES[name]: capture for name, capture in compared.runs(names).items()}
    sides: list[Side] = [s for s in ("source", "target") if leaves(captures, s)]
    if not sides:
        place.info(_("These runs have no layers: choose a depth of at least 1."))
        return None
    with rail:
        side = sides[0]
        if len(sides) > 1:
            side = view_widget(st.segmented_control, "norm_side", _("Stack"), options=sides, required=True,
                               format_func={"source": "Encoder", "target": "Decoder"}.get)
        available = leaves(captures, side)
        ordered = [leaf for leaf in ("resid_post",) if leaf in available]
        ordered += [leaf for leaf in available if leaf not in ordered]
        leaf = choose_option("norm_leaf", _("Stage"), ordered, {n: n for n in ordered})
        scale = view_widget(st.segmented_control, "norm_scale", _("Scale"), required=True,
                            format_func={"auto": _("Automatic"), "linear": _("Linear"), "log": _("Logarithmic")}.get)
    found = cached_result("norm spreads", (compared.key, tuple(captures), side, leaf, scale),
                          lambda: spreads(captures, side, leaf, scale))
    with place:
        chart(ridges_figure(found, {TITLES[name]: COLOURS[name] for name in names}, dark()), "norm_ridges", fill=True,
              code=lambda: snippets.ridges(compared, names, side, leaf, scale))
    return found, lambda: snippets.widths(compared, names, side, leaf, scale)


def describe_widths(found: Spreads) -> str:
    """Return whether each placement's ridges get wider or narrower from the first layer to the last, and by what factor."""
    widths = []
    for name, s in found.by.items():
        if len(s.layers) > 1 and np.isfinite(s.std).all() and s.std[0] > 0:
            times = float(s.std[-1] / s.std[0])
            trend = _("gets wider") if times > 1.05 else _("gets narrower") if times < 0.95 else _("stays about as wide")
            widths.append(f"{name} {trend} (σ × {rounded(times, 3)})")
    return _("From the first layer to the last: {widths}.", widths=", ".join(widths)) if widths else ""


def _width_table(found: Spreads, code: Callable[[], str]) -> None:
    """Show a table of the standard deviation in the first and last layer, and of the share of values outside the chart."""
    from viz_core import tables

    data_table(tables.spread(found), "norm_widths", {
        "placement": _("placement"), "first_std": numeric(_("σ, first layer")), "last_std": numeric(_("σ, last layer")),
        "outside": numeric(_("outside the axis"), percent=True), "first_not_finite": _("∞ or NaN from layer"),
    }, _("The widths of each placement’s ridges"), missing="–", code=code)
    if found.scale == "log":
        st.caption(_("On the logarithmic scale, bins get wider away from 0, so a bell curve appears as two humps, one for each "
                     "sign, at the magnitude of the numbers."))
    if found.without:
        st.caption(_("Placements without this stage: {without}.", without=", ".join(found.without)))
