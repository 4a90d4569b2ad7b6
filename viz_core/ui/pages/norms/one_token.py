"""One token through one LayerNorm, step by step."""


import numpy as np
import streamlit as st

from viz_core.analysis.layernorm import Steps, layer_norm, layer_norms, max_abs_diff, unbiased_outside
from viz_core.figures.attention import number
from viz_core.figures.layernorm import feature_formula, steps_figure
from viz_core.ui.controls import chart, dark, table
from viz_core.ui.pages.norms.choices import NO_SENTENCE, choose_feature, choose_place, choose_sentence, choose_token
from viz_core.ui.shell import Lab, set_view, view, widget, widget_value
from viz_core.ui.shell.views import EPSILONS


def one_token(lab: Lab) -> None:
    """One token through one LayerNorm of the run: bars step by step, the numbers, ε, and torch's own answer."""
    capture = lab.capture
    if capture is None:
        st.info(NO_SENTENCE)
        return
    places = layer_norms(lab.config)
    if not places:
        st.info("This model has no LayerNorm: set LayerNorm to post or pre in the sidebar. LayerNorm and BatchNorm, the next "
                "section, needs none.")
        return
    lead = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        item = choose_sentence(lab, capture)
        place = choose_place(lab, places)
        token = choose_token(capture.tokens(place.side)[item])
        x = capture[place.reads][item, token]  # [D]
        feature = choose_feature(x)
    eps = _epsilon(lab.config.norm_eps)
    gamma, beta = lab.parameter(f"{place.path}.weight"), lab.parameter(f"{place.path}.bias")  # [D] each
    steps = layer_norm(x, gamma, beta, eps)
    lead.markdown("**Watch the bars from row to row:** subtracting the mean moves all of them together, dividing by the root "
                  f"changes their scale alone. {what_stays(steps)}")
    chart(steps_figure(steps, feature, dark()), "norm_steps")
    st.caption(f"What enters is `{place.reads}`, what leaves `{place.path}.out`. Orange is above zero, blue below; the grey column "
               f"is feature {feature}.{_untrained(gamma, beta)}")
    st.markdown(f"$$\n{feature_formula(steps, feature)}\n$$")
    _what_epsilon_does(steps, lab.config.norm_eps)
    _by_hand_and_torch(lab, steps, capture[f"{place.path}.out"][item, token])


def what_stays(steps: Steps) -> str:
    """What of the token is left after the division, before γ and β."""
    if steps.var == 0:
        return "This token has one value in every feature, so nothing of it is left."
    if not steps.kept >= 0.99:
        return "The pattern stays, and ε keeps some of how loud the token was."
    return "The pattern stays; how loud the token was is gone."


def _untrained(gamma: np.ndarray, beta: np.ndarray) -> str:
    if (gamma == 1).all() and (beta == 0).all():
        return " γ is 1 and β is 0 in every feature, as they begin, so the last two rows repeat the third."
    return ""


def _epsilon(own: float) -> float:
    """ε by a slider over powers of ten, the model's own among them."""
    asked = view("norm_epsilon")
    stops = sorted({own, *map(float, EPSILONS)})

    def chosen(name: str) -> None:
        value = widget_value(name)
        set_view(**{name: "own" if value == own else next(e for e in EPSILONS if float(e) == value)})

    eps = own if asked == "own" else float(asked)
    widget(st.select_slider, "norm_epsilon", f"ε, under the root (this model's own: {own:g})", eps, chosen, options=stops,
           format_func=lambda e: f"{e:g}")
    return eps


def _what_epsilon_does(steps: Steps, own: float) -> None:
    """One sentence about this ε beside this variance; another where it is not the model's."""
    if steps.var == 0 and steps.eps == 0:
        told = "Every feature has the same value and ε is 0, so this is 0/0: NaN. That is what ε is for."
    elif steps.var == 0:
        told = "Every feature has the same value: the variance is 0, and only ε keeps this from being 0/0."
    elif not np.isfinite(steps.var):
        told = "This token holds an infinite number or a NaN, and so does everything that is made of it."
    elif steps.eps == 0:
        told = "ε is 0, and this token's variance, which is not, does without it."
    elif steps.kept < 0.99:
        told = (f"ε is not small beside σ² = {number(steps.var, 4)} here: the variance that leaves the root is "
                f"{number(steps.kept, 3)} instead of 1.")
    else:
        short = steps.eps / (steps.var + steps.eps)
        told = (f"σ² = {number(steps.var, 4)} is much larger than ε: the variance that leaves the root falls short of 1 by only "
                f"{number(short, 3)}.")
    if steps.eps != own:
        told += f" The model itself uses ε = {number(own)}; moving the slider changes this section alone, not the run."
    st.markdown(told)


def _by_hand_and_torch(lab: Lab, steps: Steps, recorded: np.ndarray) -> None:
    """The same token by hand, by torch, as recorded, and by the other formula in circulation."""
    from viz_core.experiments.layernorm import torch_layer_norm

    theirs = torch_layer_norm(steps.x, steps.gamma, steps.beta, steps.eps)
    own = lab.config.norm_eps

    def apart(x: np.ndarray) -> str:
        return number(max_abs_diff(x, steps.out), 3)

    table(
        ("computed by", "σ² divides by", "ε", "largest difference"),
        [
            ("by hand (document 002)", f"d = {len(steps.x)}", f"{number(steps.eps)} under √", "–"),
            ("torch.nn.LayerNorm", "d", f"{number(steps.eps)} under √", apart(theirs)),
            ("this run, as recorded", "d", f"{number(own)} under √", apart(recorded)),
            ("the other formula", f"d − 1 = {len(steps.x) - 1}", f"{number(steps.eps)} beside √",
             apart(unbiased_outside(steps))),
        ],
    )
    st.caption("Document 002 writes LayerNorm by hand with ε = 1e-10; 000, 001, 003 and 004 use torch.nn.LayerNorm, ε = 1e-5. "
               "All divide the variance by d (unbiased=False) and put ε under the root. The other formula is The Annotated "
               "Transformer's: its standard deviation divides by d − 1, and ε stands beside the root. By hand is in float64, "
               "torch and the run are in float32.")
