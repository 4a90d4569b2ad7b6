"""The page on Pre- and Post-LN. One section is drawn at a time, and the link says which.

The comparisons run an untrained stack on the typed words, shared in the store of all visitors: a change of view draws what
is held, and nothing is computed again.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import streamlit as st

from viz_core.analysis.counts import by_depth, estimate, flops
from viz_core.analysis.placement import (
    Curve,
    MeanField,
    Metric,
    Odd,
    averaged,
    curves,
    difference,
    ffn_gain,
    first_odd,
    jacobian_norm,
    layer_ends,
    mean_field,
    of_kind,
    outside,
    post_line,
    pre_band,
    ratio,
    relu_share,
    slope,
    through,
    up_to,
)
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.figures.attention import number
from viz_core.figures.placement import (
    METRIC_NAMES,
    METRIC_TITLES,
    TITLES,
    depth_figure,
    gradients_figure,
    last_layer_figure,
    post_figure,
    pre_figure,
)
from viz_core.stages import plan
from viz_core.ui.controls import chart, dark, table
from viz_core.ui.escape import escaped
from viz_core.ui.shell import Lab, fold, present, set_view, touch, view, view_widget, write_link
from viz_core.ui.shell.setup import VIEW

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.run`
    from viz_core.experiments.placement import LayerGradients, Setting
    from viz_core.model.transformer import Transformer
    from viz_core.run import Batch

T = TypeVar("T")
LEFT_RIGHT = (5, 2)
UNASKED = 2e10  # floating-point operations that a section may spend without being asked: about half a second
STEP = 12  # layers: a comparison runs a multiple of them, and shallower stacks are its first layers
ASKED = "norm_asked"  # where a session keeps what it has asked for
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


@st.fragment
def norms() -> None:
    """The whole page below its title. A fragment: a change of view reruns this alone, not the sidebar and the frame."""
    lab = present()
    section = view_widget(st.segmented_control, "norm_section", "Section", required=True, label_visibility="collapsed",
                          format_func=lambda s: SECTIONS[s][0])
    SECTIONS[section][1](lab)
    write_link()


# ---------------------------------------------------------------- the untrained models that are compared


@dataclass(frozen=True, slots=True)
class Compared:
    """What the comparisons run: an untrained Pre-LN stack, and the words that it reads. All placements share its weights."""

    lab: Lab
    config: TransformerConfig
    batch: "Batch"

    @property
    def key(self) -> Hashable:
        return self._key(self.config)

    @property
    def shared_key(self) -> Hashable:
        """The same for all depths that share a run."""
        return self._key(self.deep)

    def _key(self, config: TransformerConfig) -> Hashable:
        from viz_core.ui.shell.cache import run_key

        return run_key("untrained", config, self.batch, self.lab.setup.seed, self.lab.setup.device)

    @property
    def deep(self) -> TransformerConfig:
        """What is drawn and run: a few layers more, so that the next depth finds them; no more than fit."""
        from viz_core.experiments.placement import config_depth, deep

        config = deep(self.config, rounded(config_depth(self.config)))
        shape = next(iter(self.batch.ids.values())).shape
        return self.config if estimate(config, shape[0], shape[1], shape[1]).problem else config

    @property
    def cost(self) -> tuple[float, int]:
        """Seconds and bytes of one placement, the model that is drawn for it included."""
        from viz_core.ui.shell.cache import model_cost, run_cost

        (to_draw, weights), (to_run, recorded) = model_cost(self.deep), run_cost(self.deep, self.batch)
        return to_draw + to_run, weights + recorded

    def _model(self) -> "Transformer":
        """The deep model as Pre-LN, shared by all visitors: to draw its weights costs more than to run it."""
        from viz_core.run import build
        from viz_core.ui.shell.cache import model_cost, models

        config, seed, device = self.deep, self.lab.setup.seed, self.lab.setup.device
        return models().get(("compared", config, seed, device), lambda: build(config, seed, device), *model_cost(config))

    def model(self, name: str) -> "Transformer":
        """The model of one placement. Nobody may change it."""
        from viz_core.experiments.placement import config_depth, placed

        return placed(self._model(), name, config_depth(self.config))

    def runs(self, names: Iterable[str]) -> dict[str, Capture]:
        """The run of each placement. Its layers are shared by all visitors, whatever the depth, and frozen."""
        from viz_core.experiments.placement import config_depth, first_layers, placement
        from viz_core.ui.shell.cache import runs

        def make(name: str) -> Capture:
            return placement(self._model(), self.batch, name, self.lab.setup.seed)

        key, depth = self.shared_key, config_depth(self.config)
        made = {name: runs().get(("placement", name, key), partial(make, name), *self.cost) for name in names}
        return {name: first_layers(capture, self._model(), depth) for name, capture in made.items()}

    def curves(self, names: Sequence[str], metric: Metric) -> dict[str, tuple[Sequence[Curve], Odd | None]]:
        """One metric of each placement along its depth, and where its numbers stop being numbers."""
        from viz_core.ui.shell.cache import cached_result

        captures = lru_cache(maxsize=1)(lambda: self.runs(names))

        def measured(name: str) -> tuple[Sequence[Curve], Odd | None]:
            return curves(captures()[name], [metric])[metric], first_odd(captures()[name])

        return {
            name: cached_result("norm curves", (name, metric, self.key), partial(measured, name), *self.cost) for name in names
        }


def rounded(depth: int) -> int:
    """How many layers are run for a depth."""
    return -(-depth // STEP) * STEP


def _compared(lab: Lab) -> Compared | None:
    """The comparison of this depth, width and init; None where there is nothing to run, and the page says why."""
    from viz_core.experiments.placement import comparable, reading

    if lab.capture is None:
        st.info("This section reads your sentence, and the note above says why there is none to read. Theory needs none.")
        return None
    config = comparable(lab.config, view("norm_depth"), view("norm_width"), view("norm_init"))
    if problem := estimate(config, 1, 1, 1).problem:
        st.warning(f"{escaped(problem)} Here d\\_model is the slider Width.")
        return None
    return Compared(lab, config, reading(lab.capture))


def _sizes() -> None:
    """Depth; width and init a click away."""
    view_widget(st.slider, "norm_depth", "Depth (layers)")
    more = fold("norm_more", "Width and initialisation")
    if more.open:
        with more:
            view_widget(st.select_slider, "norm_width", "Width (d_model)")
            view_widget(st.selectbox, "norm_init", "Initialisation")


def _what_runs(c: Compared) -> None:
    """One line: what is measured, on which words, and why not on trained weights."""
    config, lab = c.config, c.lab
    layers = config.n_decoder_layers if config.has_decoder else config.n_encoder_layers
    (side,) = [s for s in ("source", "target") if s in c.batch.ids]
    rows, tokens = c.batch.ids[side].shape
    assert lab.capture is not None
    cut = c.batch.ids[side].size < lab.capture[f"ids.{side}"].size
    read = f"{rows} × {tokens} tokens" if rows > 1 else f"{tokens} token{'s' * (tokens > 1)}"
    told = (
        f"Untrained, {config.init}, seed {lab.setup.seed}: {'a decoder' if config.has_decoder else 'an encoder'} of {layers} "
        f"layer{'s' * (layers > 1)}, d_model {config.d_model}, {config.n_heads} head{'s' * (config.n_heads > 1)}, d_ff "
        f"{config.ff_width}, no biases, reading {'the first ' * cut}{read} of your {side} text. "
        "The same weights in every placement."
    )
    if lab.setup.card:
        trained = {"post": "Post-LN", "pre": "Pre-LN"}.get(lab.setup.base.norm, "no norm")
        told += f" The weights in the sidebar were trained as {trained} and mean something there alone: they are not compared."
    st.caption(escaped(told))


def _odd(odds: Mapping[str, Odd | None]) -> None:
    """Where numbers stopped being numbers."""
    for name, odd in odds.items():
        if odd is not None:
            st.warning(f"{TITLES[name]}: the first value that is {odd.what} is in `{odd.stage}`. From there on the line has gaps.")


# ---------------------------------------------------------------- along depth


def _depth(lab: Lab) -> None:
    from viz_core.ui.pages.norms.layernorm import block_drawings

    names = view_widget(st.pills, "norm_placements", "Placements", selection_mode="multi", wrap=True, format_func=TITLES.get,
                        label_visibility="collapsed")
    left, right = st.columns(LEFT_RIGHT, gap="medium")
    with right:
        _sizes()
        metric: Metric = view_widget(st.pills, "norm_metric", "Metric", required=True, wrap=True, format_func=METRIC_NAMES.get)
    with left:
        st.markdown(look_at(metric, names, lab.config.activation))
        compared = _compared(lab)
        if compared is not None and not names:
            st.info("No placement is chosen: choose Post-LN, Pre-LN or another one.")
        elif compared is not None:
            found = compared.curves(names, metric)
            shown = {name: of for name, (of, _) in found.items()}
            figure = depth_figure(shown, metric, dark())
            chart(figure, "norm_depth_chart")
            st.markdown(_last_values(shown, metric) + LOG * (figure.layout.yaxis.type == "log"))
            _odd({name: odd for name, (_, odd) in found.items()})
            if metric == "inactive" and compared.config.activation != "relu":
                st.caption("Inactive means at or below 0. GELU, unlike ReLU, lets a little of that through.")
            _what_runs(compared)
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


# ---------------------------------------------------------------- theory over measurement


ASSUMED = {
    "gaussian": ("iid Gaussian input",
                 "The input is now your words as they are embedded, of power {power} instead of 1. Post-LN's norms hide that at "
                 "once; Pre-LN's stream keeps it."),
    "uniform": ("W_Q = W_K = 0",
                "Attention is no longer uniform: how much is averaged depends on the input. Post-LN's 3d/2 asks nothing of "
                "attention, since a norm follows it; the mean field does."),
    "unbiased": ("zero biases", "Biases are drawn as torch draws them, U(±1/√fan_in): each adds the same vector to every token."),
    "single": ("one head", "Four heads. While W_Q = W_K = 0 all of them average alike, so this alone changes nothing."),
    "square": ("d_ff = d",
               "d_ff = 4d: between Xavier matrices the feed-forward network adds f = 2·d·d_ff/(d + d_ff)² = 0.32 instead of ½. "
               "The mean field knows; Lemma 2 as printed does not."),
    "normal": ("every matrix N(0, 1/d)", "torch's own U(±1/√fan_in) has a variance of 1/(3d), so each sub-layer adds far less."),
}


@dataclass(frozen=True, slots=True)
class Theory:
    """Measured powers of both placements, the mean of several draws of the weights; and lemmas 1 and 3 measured."""

    post: Curve
    pre: Curve
    relu: float  # ‖ReLU(X)‖² / ‖X‖² in layer 0
    ends: np.ndarray  # [L, d] what each layer of Pre-LN makes of the first token
    eps: float
    odd: Mapping[str, Odd | None]
    tokens: int  # in a sentence

    def first_layers(self, depth: int) -> "Theory":
        """What would have been measured at a smaller depth: a layer knows nothing of those after it."""
        inside = tuple(f"encoder.layers.{i}." for i in range(depth, len(self.ends)))
        odd = {name: None if o and o.stage.startswith(inside) else o for name, o in self.odd.items()}
        return replace(self, post=up_to(self.post, depth), pre=up_to(self.pre, depth), ends=self.ends[:depth], odd=odd)


def _theory(lab: Lab) -> None:
    from viz_core.experiments.placement import SENTENCES, TOKENS, Setting

    st.markdown("**Theory says where the points should lie, before anything is computed:** Post-LN on a flat line, Pre-LN in a "
                "widening band. Break an assumption and see which one carries the weight.")
    controls = st.columns(4, gap="medium", vertical_alignment="bottom")
    with controls[0]:
        depth = view_widget(st.slider, "norm_depth", "Depth (layers)")
    with controls[1]:
        width = view_widget(st.select_slider, "norm_width", "Width (d_model)")
    with controls[2]:
        draws = view_widget(st.segmented_control, "norm_draws", "Draws of the weights", required=True, wrap=True,
                            help="Theory speaks of the mean over all draws; the points are the mean of this many.")
    with controls[3]:
        reset = {v: VIEW[v].default for v in ("norm_broken", "norm_draws", "norm_depth", "norm_width")}
        st.button("The paper's setting", key="norm_paper", on_click=set_view, kwargs=reset)
    broken = view_widget(st.pills, "norm_broken", "Break an assumption", selection_mode="multi", wrap=True,
                         format_func=lambda b: ASSUMED[b][0])
    compared = _compared(lab) if "gaussian" in broken else None
    if "gaussian" in broken and compared is None:
        return
    def at(depth: int) -> tuple[list[Setting], int]:
        settings = [Setting(depth=depth, width=width, broken=frozenset(broken), seed=lab.setup.seed + i) for i in range(draws)]
        return settings, sum(2 * flop_count(s.config, SENTENCES, TOKENS) for s in settings)

    settings, cost = at(rounded(depth))
    if cost > UNASKED:  # then no more than what is asked for
        settings, cost = at(depth)
    key = tuple(settings), compared and compared.shared_key
    found = _when_asked("theory", key, cost, 2 * byte_count(settings[0].config), lambda: _run_theory(settings, compared))
    if found is None:
        return
    found = found.first_layers(depth)
    gain = ffn_gain(width, settings[0].config.ff_width)
    fields = {norm: mean_field(norm, depth, found.tokens, gain) for norm in ("post", "pre")}
    low, high = pre_band(np.arange(depth + 1))
    charts = st.columns(2)
    with charts[0]:
        chart(post_figure(found.post, post_line(), post_line(gain), fields["post"], dark()), "norm_post")
    with charts[1]:
        chart(pre_figure(found.pre, low, high, fields["pre"], dark()), "norm_pre")
    _odd(found.odd)
    _how_far(found, fields, gain)
    _which_fails(broken, draws, found, fields)
    _lemmas(found)


def _run_theory(settings: "Sequence[Setting]", compared: Compared | None) -> Theory:
    """All draws, one after another: only their curves are kept."""
    from viz_core.experiments.placement import paper_runs

    typed = None if compared is None else compared.runs(["pre"])["pre"]
    found: dict[str, list[Curve]] = {"post": [], "pre": []}
    odd: dict[str, Odd | None] = {}
    for setting in settings:
        runs = paper_runs(setting, typed)
        for name, capture in runs.items():
            found[name].append(of_kind(curves(capture, ["power"])["power"], "sum", "stream"))
            odd[name] = odd.get(name) or first_odd(capture)
    pre = runs["pre"]
    ends = np.stack([pre[f"encoder.layers.{i}.resid_post"][0, 0] for i in range(pre.config.n_encoder_layers)])
    words = int((pre["ids.source"][0] != pre.config.source_pad_id).sum())
    return Theory(
        averaged(found["post"]), averaged(found["pre"]), relu_share(pre["encoder.layers.0.ffn.pre_act"]),
        ends, pre.config.norm_eps, odd, words,
    )


def _how_far(found: Theory, fields: Mapping[str, MeanField], gain: float) -> None:
    """Measurement against each line, as numbers."""
    depth, post = layer_ends(found.post)
    _, pre = layer_ends(found.pre)
    low, high = pre_band(depth)
    whole = fields["pre"].depth % 1 == 0
    rows = [
        ("Post-LN, mean of all layers", number(float(post.mean()), 4), "Lemma 2: 1.5", _percent(difference(post, post_line()))),
        *([("", "", f"1 + f at this d_ff: {number(post_line(gain), 4)}", _percent(difference(post, post_line(gain))))]
          if gain != 0.5 else []),
        ("Pre-LN, after the last layer", number(float(pre[-1]), 4),
         f"Lemma 2: {number(float(low[-1]))} to {number(float(high[-1]))}",
         f"{outside(pre, low, high)} of {len(pre)} layers outside"),
        ("", "", f"mean field: {number(float(fields['pre'].power[-1]), 4)}",
         f"{_percent(difference(pre, fields['pre'].power[whole]))} on average"),
    ]
    table(("‖x‖² / d of", "measured", "theory", "measured against theory"), rows)


def _percent(share: float) -> str:
    return f"{share:+.1%}".replace("-", "−")


def _which_fails(broken: Sequence[str], draws: int, found: Theory, fields: Mapping[str, MeanField]) -> None:
    if not broken:
        alike = ", ".join(f"{number(float(fields[name].cosine[-1]), 3)} in {TITLES[name]}" for name in ("post", "pre"))
        st.markdown(f"All assumptions hold. What is left is chance: theory speaks of the mean over all weights and of wide models; "
                    f"this is {draws} draw{'s' * (draws > 1)} of a width of {view('norm_width')}. By the mean field two "
                    f"tokens have a cosine of {alike} at the end: the more alike they are, the less there is to average "
                    "over.")
        return
    power = number(float(found.pre.values[0]), 3)
    told = [f"- {escaped(ASSUMED[b][0])}. {escaped(ASSUMED[b][1].replace('{power}', power))}" for b in broken]
    st.markdown("\n".join(["**The assumptions that fail:**", *told]))


def _lemmas(found: Theory) -> None:
    """The statements, and the two lemmas that have no chart."""
    from viz_core.experiments.placement import measured_jacobian_norm

    more = fold("norm_statements", "The statements and their assumptions")
    if not more.open:
        return
    with more:
        st.markdown(
            "Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*, for weights as they are drawn: one head, "
            "$W_Q = W_K = 0$, no biases, every matrix $N(0, 1/d)$, $\\gamma = 1$, an iid Gaussian input.\n"
            "- **Lemma 1.** $X \\sim N(0, \\sigma^2 I_d)$: $\\; E\\|\\mathrm{ReLU}(X)\\|^2 = \\tfrac12 \\sigma^2 d$.\n"
            "- **Lemma 2.** Post-LN, the sum before the second norm: $E\\|x^5\\|^2 = \\tfrac32 d$ in every layer. "
            "Pre-LN after $l$ layers: $(1 + \\tfrac{l}{2})\\, d \\le E\\|x_l\\|^2 \\le (1 + \\tfrac{3l}{2})\\, d$.\n"
            "- **Lemma 3.** $\\|J_{LN}(x)\\|_2 = O(\\sqrt d / \\|x\\|)$. Exactly: $J = \\frac1\\sigma (I - \\frac1d 11^\\top - "
            "\\frac1d \\hat x \\hat x^\\top)$, so $\\|J\\|_2 = \\sqrt d / \\|x - \\mu\\|$.\n"
            "- **Mean field** (derived for this page, for wide models). $r = \\|x\\|^2/d$, $\\rho$ the cosine of two tokens, from "
            "$r = 1$, $\\rho = 0$. Attention adds $a = \\frac1n + (1 - \\frac1n)\\rho$ to $r$ and to $s = \\rho r$; then the "
            "feed-forward network adds $f = \\frac{2 d\\, d_{ff}}{(d + d_{ff})^2}$ to $r$ and $f\\,\\kappa(\\rho)$ to $s$, with "
            "$\\kappa(\\rho) = \\frac1\\pi (\\sqrt{1-\\rho^2} + \\rho(\\pi - \\arccos\\rho))$. Post-LN divides both by $r$ "
            "after each."
        )
        measured, expected = measured_jacobian_norm(found.ends[-1], found.eps), jacobian_norm(found.ends[-1])
        table(("", "measured now", "theory", "difference"), [
            ("Lemma 1: ‖ReLU(X)‖² / ‖X‖², hidden inputs of layer 0", number(found.relu, 4), "0.5", _percent(found.relu / 0.5 - 1)),
            ("Lemma 3: ‖J‖₂ of the final norm at the first token, by autograd", number(measured, 5), number(expected, 5),
             _percent(measured / expected - 1)),
        ])
        st.caption("Lemma 3 leaves ε out; the model has 1e-5 under the root.")


# ---------------------------------------------------------------- gradients


def _gradients(lab: Lab) -> None:
    from viz_core.experiments.placement import DEPTHS, SENTENCES, TOKENS, Setting

    left, right = st.columns(LEFT_RIGHT, gap="medium")
    with right:
        _sizes()
        batches = view_widget(st.segmented_control, "norm_batches", "Batches", required=True, wrap=True)
    with left:
        st.markdown("**Compare the two placements layer by layer.** Large gradients in the first steps of training are what a "
                    "warm-up is for.")
        compared = _compared(lab)
        if compared is not None:
            _by_layer(compared, batches)
        st.subheader("The last layer against depth", anchor=False)
        width, seed = view("norm_width"), lab.setup.seed
        cost = sum(2 * batches * flop_count(Setting(depth=d, width=width).config, SENTENCES, TOKENS) for d in DEPTHS)
        most = 2 * byte_count(Setting(depth=max(DEPTHS), width=width).config)
        found = _when_asked("last layer", (width, batches, seed), cost, most, partial(_last_layer, width, batches, seed))
        if found is not None:
            _theorem(np.array(DEPTHS), found, width, batches)


def _by_layer(c: Compared, batches: int) -> None:
    """Each layer's gradient on the typed words and on random ones, both placements."""
    (side,) = [s for s in ("source", "target") if s in c.batch.ids]
    rows, tokens = c.batch.ids[side].shape
    cost = 2 * 3 * batches * flop_count(c.config, rows, tokens)
    try:
        found = _when_asked("gradients", (c.key, batches), cost, 2 * c.cost[1], lambda: _layer_gradients(c, batches))
    except ValueError as error:  # one sentence: what is wrong, what to do
        st.warning(escaped(str(error)))
        return
    if found is None:
        return
    chart(gradients_figure({n: {"attention": g.attention, "feed-forward": g.ffn} for n, g in found.items()}, batches, dark()),
          "norm_gradients")
    more = f" and {batches - 1} batch{'es' * (batches > 2)} of random words of the same shape" if batches > 1 else ""
    losses = ", ".join(f"{TITLES[n]} {number(g.loss, 4)}" for n, g in found.items())
    st.markdown(f"{where_they_part(found['post'].ffn, found['pre'].ffn)} Drawn is the "
                "Frobenius norm of $\\partial L/\\partial W$, all matrices of a part together, after averaging the gradient over "
                f"your text{more}. The loss: {losses}. The paper calls its statements on layers before the last preliminary, and "
                "so does this page: how the lines bend depends on the words and the width.")
    if any(not np.isfinite(x).all() for g in found.values() for x in (g.attention, g.ffn)):
        st.warning("Some gradients are infinite or not a number here; their points are left out.")
    _what_runs(c)


def where_they_part(post: np.ndarray, pre: np.ndarray) -> str:
    """Post-LN's gradient over Pre-LN's in the feed-forward networks [L]: in the last layer, and where they are furthest apart."""
    times = [ratio(a, b) for a, b in zip(post, pre, strict=True)]
    told = f"In the last layer's feed-forward network Post-LN's gradient is **{number(times[-1], 3)} times** Pre-LN's."
    apart = [abs(np.log(x)) if np.isfinite(x) and x > 0 else np.nan for x in times]
    if len(times) == 1 or not np.isfinite(apart).any():
        return told
    far, near = int(np.nanargmax(apart)), int(np.nanargmin(apart))
    return (f"{told} The two are furthest apart in layer {far}, **{number(times[far], 3)} times**, and nearest in layer {near}, "
            f"**{number(times[near], 3)} times**.")


def _layer_gradients(c: Compared, batches: int) -> "dict[str, LayerGradients]":
    from viz_core.experiments.placement import layer_gradients, with_random_batches

    given = with_random_batches(c.batch, c.config, batches, c.lab.setup.seed)
    return {name: layer_gradients(c.model(name), given) for name in ("post", "pre")}


def _last_layer(width: int, batches: int, seed: int) -> dict[str, np.ndarray]:
    from viz_core.experiments.placement import last_layer_gradients

    return last_layer_gradients(width, batches=batches, seed=seed)


def _theorem(depths: np.ndarray, found: Mapping[str, np.ndarray], width: int, batches: int) -> None:
    """Theorem 1's scaling over the measured norms."""
    laws = {name: through(depths, found[name], exponent) for name, exponent in (("post", 0.0), ("pre", -0.5))}
    chart(last_layer_figure(depths.tolist(), found, laws, dark()), "norm_last")
    powers = {name: slope(depths, norms) for name, norms in found.items()}
    st.markdown(
        "**Theorem 1** (Xiong et al. 2020) bounds the gradient of the last $W^2$ by $O(d\\sqrt{\\ln d})$ in Post-LN, whatever the "
        "depth, and by $O(d\\sqrt{\\ln d / L})$ in Pre-LN: the final norm divides by the stream's length, which has grown like "
        f"$\\sqrt L$. Measured: Post-LN $\\propto L^{{{powers['post']:+.2f}}}$ (theory 0), Pre-LN "
        f"$\\propto L^{{{powers['pre']:+.2f}}}$ (theory −0.5)."
    )
    n = f"{batches} batch{'es' * (batches > 1)}"
    st.caption(f"In the paper's setting, d = d_ff = {width}, Gaussian inputs, random answers, {n}. "
               "A bound says how, not how high: the height of each line is fitted to its points.")


# ---------------------------------------------------------------- what costs time


@lru_cache(maxsize=64)
def flop_count(config: TransformerConfig, rows: int, tokens: int) -> int:
    """Floating-point operations of one forward pass of a stack over rows of tokens."""
    sides = (0, tokens) if config.has_decoder else (tokens, 0)
    return by_depth(config, lambda few: _flop_count(few, rows, *sides))


@lru_cache(maxsize=64)
def _flop_count(config: TransformerConfig, rows: int, source: int, target: int) -> int:
    return sum(flops(plan(config, rows, source, target)).values())


def byte_count(config: TransformerConfig) -> int:
    """Bytes of an encoder of the paper's setting and of what a run of it records."""
    from viz_core.experiments.placement import SENTENCES, TOKENS

    size = estimate(config, SENTENCES, TOKENS, 0)
    return 4 * size.parameters + size.capture_bytes


def _when_asked(what: str, key: Hashable, cost: float, nbytes: int, make: Callable[[], T]) -> T | None:
    """What is held or cheap is shown at once; what costs more, behind a button that says how much. None until it is asked."""
    from viz_core.ui.shell.cache import FLOPS, cached_result

    if cost > UNASKED and st.session_state.get(ASKED, {}).get(what) != key:
        st.button(f"Measure: about {cost / 1e9:,.0f} billion operations", key=f"norm_ask_{what}", on_click=_ask, args=(what, key))
        return None
    return cached_result(f"norms {what}", key, make, cost / FLOPS, nbytes)


def _ask(what: str, key: Hashable) -> None:
    """For this session, until another is asked for."""
    touch()
    st.session_state[ASKED] = st.session_state.get(ASKED, {}) | {what: key}


# ---------------------------------------------------------------- a norm taken apart


def _token(lab: Lab) -> None:
    from viz_core.ui.pages.norms.layernorm import one_token

    if lab.capture is None:
        st.info("This section reads your sentence, and the note above says why there is none to read.")
    one_token(lab)


def _batchnorm(lab: Lab) -> None:
    from viz_core.ui.pages.norms.layernorm import layer_and_batch

    if lab.capture is None:
        st.info("This section reads your sentence, and the note above says why there is none to read.")
    layer_and_batch(lab)


def _distributions(lab: Lab) -> None:
    from viz_core.ui.pages.norms.layernorm import distributions

    compared = _compared(lab)
    if compared is None:
        return
    names = view("norm_placements") or VIEW["norm_placements"].default
    left, right = st.columns(LEFT_RIGHT, gap="medium")
    with right:
        _sizes()
    with left:
        distributions({TITLES[name]: capture for name, capture in compared.runs(names).items()}, compared.key)
        _what_runs(compared)


SECTIONS: dict[str, tuple[str, Callable[[Lab], None]]] = {
    "depth": ("Depth", _depth),
    "theory": ("Theory", _theory),
    "gradients": ("Gradients", _gradients),
    "token": ("One token", _token),
    "batchnorm": ("LayerNorm and BatchNorm", _batchnorm),
    "distributions": ("Distributions", _distributions),
}
