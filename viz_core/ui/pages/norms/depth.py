"""Along depth: one metric of the residual stream in every placement of the LayerNorm, and both blocks drawn."""

from collections.abc import Mapping, Sequence

import streamlit as st

from viz_core.analysis.placement import Curve, Metric
from viz_core.figures.attention import number
from viz_core.figures.block_drawing import blocks_html
from viz_core.figures.placement import METRIC_NAMES, METRIC_TITLES, TITLES, depth_figure
from viz_core.ui.controls import chart, dark
from viz_core.ui.pages.norms.compared import LEFT_RIGHT, choose_sizes, compared_stack, say_what_runs, warn_not_finite
from viz_core.ui.shell import Lab, view_widget

LIT = {"inactive": "ffn.out", "entropy": "self_attn.out"}  # the drawn box that a metric looks into; the others follow the stream
LOOK: dict[Metric, str] = {
    "power": "**Look at the slopes:** {placements}",
    "mean": "**Look how far from 0 the features drift together:** a LayerNorm takes their mean away.",
    "std": "**The square root of the power, where the mean is small:** Post-LN's is 1 after every norm.",
    "largest": "**The loudest single value** is the first to leave what half precision can hold.",
    "cosine": "**Do the tokens collapse into one?** At 1 all tokens of a sentence point the same way, and attention has "
              "nothing left to choose between.",
    "inactive": "**A unit that is at or below 0 for every token** {passes} on here, and learns {learns} from this batch.",
    "entropy": "**High: each token looks everywhere; low: at few.** Look whether depth changes it, and in which placement.",
}


def depth(lab: Lab) -> None:
    names = view_widget(st.pills, "norm_placements", "Placements", selection_mode="multi", wrap=True, format_func=TITLES.get,
                        label_visibility="collapsed")
    left, right = st.columns(LEFT_RIGHT, gap="medium")
    with right:
        choose_sizes()
        metric: Metric = view_widget(st.pills, "norm_metric", "Metric", required=True, wrap=True, format_func=METRIC_NAMES.get)
    with left:
        st.markdown(look_at(metric, names, lab.config.activation))
        compared = compared_stack(lab)
        if compared is not None and not names:
            st.info("No placement is chosen: choose Post-LN, Pre-LN or another one.")
        elif compared is not None:
            found = compared.curves(names, metric)
            shown = {name: of for name, (of, _) in found.items()}
            figure = depth_figure(shown, metric, dark())
            chart(figure, "norm_depth_chart")
            st.markdown(_last_values(shown, metric) + LOG * (figure.layout.yaxis.type == "log"))
            warn_not_finite({name: odd for name, (_, odd) in found.items()})
            if metric == "inactive" and compared.config.activation != "relu":
                st.caption("Inactive means at or below 0. GELU, unlike ReLU, lets a little of that through.")
            say_what_runs(compared)
    st.markdown("**One layer of each, drawn.** The thick line is the residual stream: in Post-LN every sum goes through a norm, in "
                "Pre-LN it runs past all of them.")
    lit = view_widget(st.segmented_control, "norm_lit", "Light all that leads to", required=True, wrap=True,
                      format_func=lambda s: s or "what the metric reads")
    block_drawings(lit or LIT.get(metric, "resid_mid"))


BACK = {
    "post": "Post-LN is brought back to 1 after every sum.",
    "pre": "Nothing ever brings Pre-LN's stream back, so what a layer adds stays in it.",
    "open": "Without a final norm Pre-LN's stream leaves the stack as it is.",
    "none": "Without any norm nothing holds the stream.",
    "cut": "Without residual connections Post-LN's norm sees what the sub-layer alone gives.",
    "bare": "With neither, each sub-layer passes on only what it makes of the one before.",
}  # what each placement does to the stream, whatever its weights


def look_at(metric: Metric, names: Sequence[str], activation: str) -> str:
    """What a metric is looked at for, of the placements that are drawn."""
    exact = activation == "relu"  # GELU lets a little through
    return LOOK[metric].format(
        placements=" ".join(BACK[name] for name in names) or "how much each layer adds.",
        passes="passes nothing" if exact else "passes next to nothing", learns="nothing" if exact else "little",
    )


LOG = " The axis is logarithmic: there a straight line is growth, or loss, by the same factor in every layer."


def _last_values(found: Mapping[str, Sequence[Curve]], metric: Metric) -> str:
    """The last value of every placement, in words."""
    told = []
    for name, curves_ in found.items():
        for curve in curves_:
            if curve.kind != "sum" and len(curve.values):
                final = " after its final norm" if curve.kind == "final" else ""
                told.append(f"{TITLES[name]}{final} **{number(float(curve.values[-1]), 4)}**")
    return f"At the end, {METRIC_TITLES[metric][1]}: {', '.join(told)}." if told else ""


def block_drawings(lit: str, cross: bool = False) -> None:
    """One layer of Post-LN and of Pre-LN, drawn. lit: "post" or "pre", or a stage's suffix such as "resid_mid"."""
    st.html(blocks_html(lit, cross, dark()))
