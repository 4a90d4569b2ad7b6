"""The section with the distribution of one stage's values, layer by layer, in every placement of the norm."""

from collections.abc import Sequence

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.analysis.layernorm import PlacementHistograms, activation_histograms, layer_stage_names
from viz_core.config import Side
from viz_core.figures.distributions import drawn_layers, ridges_figure
from viz_core.figures.norm_placement import PLACEMENT_COLOURS, PLACEMENT_TITLES
from viz_core.messages import translate as _
from viz_core.messages.number_format import rounded
from viz_core.ui.components.calls import Call, ScreenOnly, evaluated
from viz_core.ui.pages.norms.controls import choose_option
from viz_core.ui.pages.norms.untrained_stack import UntrainedStack, show_stack_caption, size_controls, untrained_stack
from viz_core.ui.shared.elements import chart, data_table, is_dark, number_column
from viz_core.ui.shell import PageContext, figure_and_rail, linked_widget, show_hint, url_param
from viz_core.ui.shell.export.cached_call import cached
from viz_core.ui.shell.setup import URL_PARAM_BY_NAME


def distributions_section(context: PageContext) -> None:
    """Draw histograms of one stage of the compared runs, layer by layer."""
    stack = untrained_stack(context)
    if stack is None:
        return
    names = url_param("norm_placements") or URL_PARAM_BY_NAME["norm_placements"].default
    layers = stack.config.n_layers(stack.config.output_side)
    if (n_drawn := len(drawn_layers(range(layers)))) < layers:
        show_hint(_("**Compare the widths of the ridges:** each ridge is one layer, with the first at the top. Of {layers} layers, "
                    "{drawn} are drawn.", layers=layers, drawn=n_drawn))
    else:
        show_hint(_("**Compare the widths of the ridges:** each ridge is one layer, with the first at the top."))
    main, rail = figure_and_rail()
    with rail:
        size_controls()
    if (found := _draw_histograms(stack, names, main, rail)) is not None:
        st.markdown(describe_widths(found.value()))
        _show_width_table(found)
    show_stack_caption(stack)


def _draw_histograms(
    stack: UntrainedStack, names: Sequence[str], main: DeltaGenerator, rail: DeltaGenerator
) -> Call[PlacementHistograms] | None:
    """Draw the histograms in `main`, every placement on the same scale, and their controls in `rail`, and return the histograms.

    Returns None if the runs have no layers.
    """
    runs = {str(PLACEMENT_TITLES[name]): capture for name, capture in stack.runs(names).items()}
    captures = evaluated(runs)
    sides: list[Side] = [s for s in ("source", "target") if layer_stage_names(captures, s)]
    if not sides:
        main.info(_("These runs have no layers: choose a depth of at least 1."))
        return None
    with rail:
        side = sides[0]
        if len(sides) > 1:
            side = linked_widget(st.segmented_control, "norm_side", _("Stack"), options=sides, required=True,
                                 format_func={"source": _("Encoder"), "target": _("Decoder")}.get)
        available = layer_stage_names(captures, side)
        ordered = [leaf for leaf in ("resid_post",) if leaf in available]
        ordered += [leaf for leaf in available if leaf not in ordered]
        leaf = choose_option("norm_leaf", _("Stage"), ordered, {n: n for n in ordered})
        scale = linked_widget(st.segmented_control, "norm_scale", _("Scale"), required=True,
                              format_func={"auto": _("Automatic"), "linear": _("Linear"), "log": _("Logarithmic")}.get)
    key = (stack.key, tuple(runs), side, leaf, scale)
    found = cached(Call(activation_histograms, runs, side, leaf, scale), "norm spreads", key)
    colours = {str(PLACEMENT_TITLES[name]): PLACEMENT_COLOURS[name] for name in names}
    with main:
        chart(Call(ridges_figure, found, colours, dark=ScreenOnly(is_dark())), "norm_ridges", fill=True)
    return found


def describe_widths(histograms: PlacementHistograms) -> str:
    """Return whether each placement's ridges get wider or narrower from the first layer to the last, and by what factor."""
    widths = []
    for name, s in histograms.by_placement.items():
        if len(s.layers) > 1 and np.isfinite(s.std).all() and s.std[0] > 0:
            widths.append(_describe_width(name, float(s.std[-1] / s.std[0])))
    return _("From the first layer to the last: {widths}.", widths=", ".join(widths)) if widths else ""


def _describe_width(placement: str, times: float) -> str:
    """Return a clause on a placement whose standard deviation grows by a factor."""
    if times > 1.05:
        return _("{placement} gets wider (σ × {times})", placement=placement, times=rounded(times, 3))
    if times < 0.95:
        return _("{placement} gets narrower (σ × {times})", placement=placement, times=rounded(times, 3))
    return _("{placement} stays about as wide (σ × {times})", placement=placement, times=rounded(times, 3))


def _show_width_table(histograms: Call[PlacementHistograms]) -> None:
    """Show a table of the standard deviation in the first and last layer, and of the share of values outside the chart."""
    found = histograms.value()
    data_table(Call("viz_core.tables.activation_spread", histograms), "norm_widths", {
        "placement": _("placement"), "first_std": number_column(_("σ, first layer")), "last_std": number_column(_("σ, last layer")),
        "outside": number_column(_("outside the axis"), percent=True), "first_not_finite": _("∞ or NaN from layer"),
    }, _("The widths of each placement’s ridges"), missing_text="–")
    if found.scale == "log":
        st.caption(_("On the logarithmic scale, bins get wider away from 0, so a bell curve appears as two humps, one for each "
                     "sign, at the magnitude of the numbers."))
    if found.missing_placements:
        st.caption(_("Placements without this stage: {without}.", without=", ".join(found.missing_placements)))
