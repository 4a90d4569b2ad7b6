"""The section that compares theory and measurement in the setting of Xiong et al. (2020)."""

from collections.abc import Mapping, Sequence

import streamlit as st

from viz_core.analysis.norm_placement import (
    MeanField,
    TheoryMeasurements,
    count_outside,
    ffn_gain,
    jacobian_norm,
    layer_ends,
    mean_field,
    mean_relative_difference,
    measure_theory,
    post_ln_power,
    pre_ln_power_bounds,
)
from viz_core.figures.norm_placement import PLACEMENT_TITLES, post_ln_theory_figure, pre_ln_theory_figure
from viz_core.messages import LazyText, lazy, plural
from viz_core.messages import translate as _
from viz_core.messages.number_format import rounded, signed_percent
from viz_core.ui.components.calls import Call, Expression, ScreenOnly, evaluated
from viz_core.ui.escape import escaped
from viz_core.ui.pages.norms.on_request import MAX_AUTOMATIC_FLOPS, flop_count, run_bytes, when_requested
from viz_core.ui.pages.norms.untrained_stack import UntrainedStack, round_up_depth, untrained_stack, warn_about_non_finite
from viz_core.ui.shared.elements import chart, is_dark, table
from viz_core.ui.shell import PageContext, figure_and_rail, linked_expander, linked_widget, set_url_params, show_hint, url_param
from viz_core.ui.shell.setup import URL_PARAM_BY_NAME

ASSUMPTION_NAMES: dict[str, tuple[str | LazyText, str | LazyText]] = {
    "gaussian": (lazy("iid Gaussian input"),
                 lazy("The input is now the embeddings of your words, with a power of {power} instead of 1. Post-LN's norms "
                      "remove the difference immediately; Pre-LN's stream keeps it.")),
    "uniform": ("W_Q = W_K = 0",
                lazy("Attention is no longer uniform: how much it averages depends on the input. Post-LN's 3d/2 does not depend on "
                     "this, because a norm follows the attention; the mean field does depend on it.")),
    "unbiased": (lazy("zero biases"), lazy("Biases are drawn with torch's U(±1/√fan_in): each adds the same vector to every "
                                           "token.")),
    "single": (lazy("one head"), lazy("The model has four heads. While W_Q = W_K = 0 they all average in the same way, so this "
                                      "alone changes nothing.")),
    "square": ("d_ff = d",
               lazy("d_ff = 4d: between Xavier matrices the feed-forward network adds f = 2·d·d_ff/(d + d_ff)² = 0.32 instead of "
                    "½. The mean field accounts for this; Lemma 2 as printed does not.")),
    "normal": (lazy("every matrix N(0, 1/d)"), lazy("torch's U(±1/√fan_in) has a variance of 1/(3d), so each sub-layer adds far "
                                                    "less.")),
}


def theory_section(context: PageContext) -> None:
    """Draw the measured power ‖x‖²/d of both placements beside what theory predicts; assumptions can be dropped."""
    show_hint(
        _(
            "**Compare the points with the lines:** theory predicts a flat line for Post-LN and a widening band for Pre-LN. Drop "
            "an assumption to see which ones matter."
        ),
        about="",
    )
    main, rail = figure_and_rail()
    with rail:
        depth = linked_widget(st.slider, "norm_depth", _("Depth (layers)"))
        width = linked_widget(st.select_slider, "norm_width", _("Width (d_model)"))
        draws = linked_widget(st.segmented_control, "norm_draws", _("Draws of the weights"), required=True, wrap=True,
                              help=_("The theory is about the mean over all draws; the points are the mean over this many."))
        broken = linked_widget(st.pills, "norm_broken", _("Assumptions to drop"), selection_mode="multi", wrap=True,
                               format_func=lambda b: str(ASSUMPTION_NAMES[b][0]))
        reset = {v: URL_PARAM_BY_NAME[v].default for v in ("norm_broken", "norm_draws", "norm_depth", "norm_width")}
        st.button(_("Reset to the paper's setting"), key="norm_paper", on_click=set_url_params, kwargs=reset,
                  help=_("The setting of Xiong et al. (2020), in which their theory holds. Its statements are below."))
    seeds = range(context.setup.seed, context.setup.seed + draws)
    with main:
        typed = untrained_stack(context) if "gaussian" in broken else None
        measured = None if typed is None and "gaussian" in broken else _measured(typed, depth, width, seeds, broken)
        if measured is None:
            return
        theory, ffn_power = measured
        n_tokens, dark = theory.attribute("n_tokens"), ScreenOnly[bool](is_dark())
        field_calls = {norm: Call(mean_field, norm, depth, n_tokens, ffn_power) for norm in ("post", "pre")}
        bounds = Call(pre_ln_power_bounds, Call("numpy.arange", depth + 1)).named("bounds")
        lemma, general = Call(post_ln_power), Call(post_ln_power, ffn_power)
        post = Call(post_ln_theory_figure, theory.attribute("post"), lemma, general, field_calls["post"], dark=dark)
        pre = Call(pre_ln_theory_figure, theory.attribute("pre"), bounds[0], bounds[1], field_calls["pre"], dark=dark)
        with st.container(key="norm_theory", horizontal=True):
            chart(post, "norm_post", fill=True)
            chart(pre, "norm_pre", fill=True)
    measurements, gain, fields = evaluated((theory, ffn_power, field_calls))
    warn_about_non_finite(measurements.first_non_finite)
    _show_comparison(measurements, fields, gain)
    _describe_dropped_assumptions(broken, draws, measurements, fields)
    _show_statements(measurements)


def _measured(
    typed: UntrainedStack | None, depth: int, width: int, seeds: range, broken: Sequence[str],
) -> tuple[Expression[TheoryMeasurements], Call[float]] | None:
    """Return the measurement and the power f that a feed-forward network of its width adds; None until it is requested."""
    from viz_core.experiments.norm_placement import PAPER_SENTENCES, PAPER_TOKENS, PaperSetting, paper_runs_by_seed

    def at(depth: int) -> tuple[PaperSetting, int]:
        setting = PaperSetting(depth=depth, width=width, broken_assumptions=frozenset(broken))
        return setting, 2 * len(seeds) * flop_count(setting.config, PAPER_SENTENCES, PAPER_TOKENS)

    setting, flops = at(round_up_depth(depth))
    if flops > MAX_AUTOMATIC_FLOPS:  # run only the layers that are shown
        setting, flops = at(depth)
    words = () if typed is None else (typed.runs(["pre"])["pre"].named("typed_run"),)
    key = setting, seeds, typed and typed.shared_key
    measured = Call(measure_theory, Call(paper_runs_by_seed, setting, seeds, *words))
    found = when_requested(_("theory"), key, flops, 2 * run_bytes(setting.config), measured)
    if found is None:
        return None
    shown = found if setting.depth == depth else found.method("first_layers", depth)
    return shown.named("theory"), Call(ffn_gain, width, setting.config.ff_width)


def _show_comparison(measurements: TheoryMeasurements, fields: Mapping[str, MeanField], gain: float) -> None:
    """Show a table that compares the measurement with each line of the theory."""
    depth, post = layer_ends(measurements.post)
    __, pre = layer_ends(measurements.pre)
    low, high = pre_ln_power_bounds(depth)
    expected = fields["pre"].power[fields["pre"].depth % 1 == 0]  # after whole layers
    rows = [
        (
            _("Post-LN, mean of all layers"),
            rounded(float(post.mean()), 4),
            _("Lemma 2: 1.5"),
            signed_percent(mean_relative_difference(post, post_ln_power())),
        ),
        *(
            [
                (
                    "",
                    "",
                    _("1 + f at this d_ff: {post_line}", post_line=rounded(post_ln_power(gain), 4)),
                    signed_percent(mean_relative_difference(post, post_ln_power(gain))),
                )
            ]
            if gain != 0.5
            else []
        ),
        (
            _("Pre-LN, after the last layer"),
            rounded(float(pre[-1]), 4),
            _("Lemma 2: {low} to {high}", low=rounded(float(low[-1])), high=rounded(float(high[-1]))),
            _("{outside} of {n_pre} layers outside", outside=count_outside(pre, low, high), n_pre=len(pre)),
        ),
        (
            "",
            "",
            _("mean field: {power}", power=rounded(float(expected[-1]), 4)),
            _(
                "after the last layer {last}, mean of all layers {mean}",
                last=signed_percent(mean_relative_difference(pre[-1], float(expected[-1]))),
                mean=signed_percent(mean_relative_difference(pre, expected)),
            ),
        ),
    ]
    table((_("‖x‖² / d of"), _("measured"), _("theory"), _("difference")), rows)
    st.caption(_("The mean field is what a very wide model has on average over all weights."))


def _describe_dropped_assumptions(
    broken: Sequence[str], draws: int, measurements: TheoryMeasurements, fields: Mapping[str, MeanField]
) -> None:
    """Show what each dropped assumption changes or, if all hold, why theory and measurement still differ."""
    if not broken:
        cosines = ", ".join(
            _("{cosine} in {titles}", cosine=rounded(float(fields[name].cosine[-1]), 3), titles=PLACEMENT_TITLES[name])
            for name in ("post", "pre")
        )
        st.markdown(_("All assumptions hold. The remaining difference comes from chance and from the finite width: the theory is "
                      "about the mean over all weights and about very wide models; this is {draws} at width {width}. In the mean "
                      "field two tokens have a cosine of {cosines} at the end. Attention averages over the tokens, and an average "
                      "of similar vectors is longer than one of different vectors. So the more similar the tokens become, the "
                      "more attention adds.",
                      draws=plural("{n:,} draw", "{n:,} draws", draws), width=url_param("norm_width"), cosines=cosines))
        return
    power = rounded(float(measurements.pre.values[0]), 3)
    named = [tuple(map(str, ASSUMPTION_NAMES[b])) for b in broken]
    dropped = [f"- {escaped(name)}. {escaped(effect.replace('{power}', power))}" for name, effect in named]
    st.markdown("\n".join([_("**The dropped assumptions:**"), *dropped]))


def _show_statements(measurements: TheoryMeasurements) -> None:
    """Show the statements of the paper, and measurements for the two lemmas without a chart."""
    from viz_core.experiments.norm_placement import autograd_jacobian_norm

    more = linked_expander("norm_statements", _("The statements and their assumptions"))
    if not more.open:
        return
    with more:
        st.markdown(
            _("Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*, for weights at initialisation: one "
              "head, $W_Q = W_K = 0$, no biases, every matrix $N(0, 1/d)$, $\\gamma = 1$, an iid Gaussian input.\n- **Lemma 1.** "
              "$X \\sim N(0, \\sigma^2 I_d)$: $\\; E\\|\\mathrm{ReLU}(X)\\|^2 = \\tfrac12 \\sigma^2 d$.\n- **Lemma 2.** Post-LN, "
              r"the sum before the second norm: $E\|x^5\|^2 = \tfrac32 d$ in every layer. Pre-LN after $l$ layers: $(1 + "
              "\\tfrac{l}{2})\\, d \\le E\\|x_l\\|^2 \\le (1 + \\tfrac{3l}{2})\\, d$.\n- **Lemma 3.** $\\|J_{LN}(x)\\|_2 = "
              r"O(\sqrt d / \|x\|)$. Exactly: $J = \frac1\sigma (I - \frac1d 11^\top - \frac1d \hat x \hat x^\top)$, so "
              "$\\|J\\|_2 = \\sqrt d / \\|x - \\mu\\|$.\n- **Mean field** (derived for this page, for wide models). $r = "
              r"\|x\|^2/d$, $\rho$ the cosine of two tokens, from $r = 1$, $\rho = 0$. Attention adds $a = \frac1n + (1 - "
              r"\frac1n)\rho$ to $r$ and to $s = \rho r$; then the feed-forward network adds $f = \frac{2 d\, "
              r"d_{ff}}{(d + d_{ff})^2}$ to $r$ and $f\,\kappa(\rho)$ to $s$, with $\kappa(\rho) = \frac1\pi (\sqrt{1-\rho^2} + "
              r"\rho(\pi - \arccos\rho))$. Post-LN divides both by $r$ after each.")
        )
        outputs = measurements.layer_outputs[-1]
        measured, expected = autograd_jacobian_norm(outputs, measurements.eps), jacobian_norm(outputs)
        table(("", _("measured now"), _("theory"), _("difference")), [
            (_("Lemma 1: ‖ReLU(X)‖² / ‖X‖², hidden inputs of layer 0"), rounded(measurements.relu_power_share, 4), "0.5",
             signed_percent(measurements.relu_power_share / 0.5 - 1)),
            (_("Lemma 3: ‖J‖₂ of the final norm at the first token, by autograd"), rounded(measured, 5), rounded(expected, 5),
             signed_percent(measured / expected - 1)),
        ])
        st.caption(_("Lemma 3 leaves ε out; the model has ε = 1e-5 under the root."))
