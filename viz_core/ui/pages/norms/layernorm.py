"""LayerNorm taken apart, beside BatchNorm, layer by layer, and drawn: sections of the page on Pre- and Post-LN."""

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from viz_core.analysis.attention import real
from viz_core.analysis.layernorm import (
    NORMS,
    Cell,
    Norm,
    Place,
    Spreads,
    Steps,
    cases,
    furthest,
    layer_norm,
    layer_norms,
    leaves,
    members,
    normalise,
    share,
    spreads,
    stream,
    unbiased_outside,
)
from viz_core.capture import Capture
from viz_core.figures import theme
from viz_core.figures.attention import number
from viz_core.figures.layernorm import (
    NAMES,
    Members,
    blocks_html,
    cells_html,
    feature_formula,
    result_panels,
    ridges_figure,
    steps_figure,
)
from viz_core.figures.placement import COLOURS, TITLES
from viz_core.stages import Side
from viz_core.text import visible
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.controls import bounded, chart, dark, inside, keep, table
from viz_core.ui.shell import Lab, set_choice, set_view, touch, view, view_widget, widget, widget_value
from viz_core.ui.shell.views import EPSILONS

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.run`
    from viz_core.run import Batch

WHICH = {
    "self_attn": "self-attention", "cross_attn": "cross-attention", "ffn": "feed-forward", "embed": "embedding", "final": "final",
}
COMPANY = {
    "batch": "the whole batch, padding counted", "words": "the whole batch, words only", "sentence": "this sentence alone",
    "token": "this token alone",
}
USED_FOR: dict[Norm, str] = {
    "layer": "Transformers, and batches that are small or change in size.", "batch": "images in convolutional networks.",
    "instance": "style transfer with images.",
}
FORMULAS = (
    r"- **LayerNorm**, for each token over its features: $\mu_{bt} = \frac{1}{D}\sum_d x_{btd}$" "\n"
    r"- **BatchNorm**, for each feature over all tokens of all sentences: $\mu_d = \frac{1}{BT}\sum_b\sum_t x_{btd}$" "\n"
    r"- **InstanceNorm**, for each feature over the tokens of one sentence: $\mu_{bd} = \frac{1}{T}\sum_t x_{btd}$"
)


# ---------------------------------------------------------------- choosing


def _side(lab: Lab, sides: Sequence[Side]) -> Side:
    """The chosen side, of those that there are."""
    if len(sides) < 2:
        return sides[0]
    names = {"source": "Encoder", "target": "Decoder"}
    side: Side = view_widget(st.segmented_control, "norm_side", "Stack", options=sides, required=True, format_func=names.get)
    return side


def _item(lab: Lab, capture: Capture) -> int:
    """The selected sentence; a choice where there are several."""
    item = min(lab.setup.item, capture.n_sentences - 1)
    if capture.n_sentences > 1:
        widget(st.selectbox, "item", "Sentence", item, set_choice, options=range(capture.n_sentences),
               format_func=lambda i: str(i + 1))
    return item


def _choice(name: str, label: str, options: Sequence[str], names: Mapping[str, str]) -> str:
    """One of the options by a view whose default means the first; said where a link asked for one that is not there."""
    asked = view(name)
    held: str = asked if asked in options else options[0]
    if asked and asked != held:
        st.caption(f"{label}: there is no {names.get(asked, 'such one')} here; {names[held]} is shown.")
    if len(options) > 1:
        widget(st.selectbox, name, label, held, keep, options=options, format_func=lambda o: names[o])
    return held


def _place(lab: Lab, places: Sequence[Place]) -> Place:
    """The chosen LayerNorm of the chosen side and layer."""
    side = _side(lab, list(dict.fromkeys(p.side for p in places)))
    here = [p for p in places if p.side == side]
    which = _choice("norm_which", "LayerNorm", list(dict.fromkeys(p.which for p in here)), WHICH)
    same = [p for p in here if p.which == which]
    layer = 0 if same[0].layer is None else bounded(st.number_input, "norm_layer", "Layer", len(same) - 1)
    return same[layer]


def _token(tokens: Sequence[str]) -> int:
    """The chosen token of the sentence."""
    token = inside("norm_token", "Token", len(tokens) - 1)
    names = [f"{t} · {visible(name)}" for t, name in enumerate(tokens)]
    widget(st.selectbox, "norm_token", "Token", token, keep, options=range(len(tokens)), format_func=names.__getitem__)
    return token


def _feature(x: np.ndarray) -> int:
    """The chosen feature of a token [D]; where none was chosen, the one of largest size."""
    d, asked = len(x), view("norm_feature")
    held = inside("norm_feature", "Feature", d - 1) if asked >= 0 else int(np.argmax(np.nan_to_num(np.abs(x), nan=-1.0)))
    if d > 1:
        widget(st.number_input, "norm_feature", "Feature", held, keep, min_value=0, max_value=d - 1, step=1,
               help="Marked in the bars; its numbers stand in the formula.")
    return held


# ---------------------------------------------------------------- one token


def one_token(lab: Lab) -> None:
    """One token through one LayerNorm of the run: bars step by step, the numbers, ε, and torch's own answer."""
    capture = lab.capture
    if capture is None:
        return
    places = layer_norms(lab.config)
    if not places:
        st.info("This model has no LayerNorm: set LayerNorm to post or pre in the sidebar. LayerNorm and BatchNorm, the next "
                "section, needs none.")
        return
    lead = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        item = _item(lab, capture)
        place = _place(lab, places)
        token = _token(capture.tokens(place.side)[item])
        x = capture[place.reads][item, token]  # [D]
        feature = _feature(x)
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
        return number(furthest(x, steps.out), 3)

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


# ---------------------------------------------------------------- LayerNorm and BatchNorm


def layer_and_batch(lab: Lab) -> None:
    """The typed batch as a tensor: which cells share a mean in each norm, what each gives, and what company does to it."""
    if lab.capture is None or lab.batch is None:
        return
    capture, item, told = _in_company(lab, lab.capture, lab.batch)
    st.markdown("**Pick a cell and see whom it is compared with:** LayerNorm asks only the cell's own token, BatchNorm the same "
                f"feature in every token of every sentence. {told}")
    sides: list[Side] = [s for s in ("source", "target") if f"ids.{s}" in capture]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if told == "":
            item = _item(lab, capture)
        side = _side(lab, sides)
        names = stream(lab.config, side)
        stage = _choice("norm_stage", "What is normalised", names, {n: n for n in names})
        tokens = capture.tokens(side)
        token = _token(tokens[item])
        x = capture[stage]  # [B, T, D]
        feature = _feature(x[item, token])
    at, eps = Cell(item, token, feature), lab.config.norm_eps
    words = np.stack([real(capture, side, i) for i in range(len(x))])  # [B, T]
    every = np.ones_like(words)
    found = [Members(norm, members(norm, x.shape, at, every), _told(x, norm, at, eps)) for norm in NORMS]
    st.html(cells_html(found, words, tokens, at, dark()))
    st.markdown(FORMULAS)
    _company(x, words, at, eps)
    _gives(x, tokens, at, eps, stage)
    _torch_too(x, eps)


def _in_company(lab: Lab, capture: Capture, batch: "Batch") -> tuple[Capture, int, str]:
    """The run with more than one sentence: the typed batch, or one sentence together with its own first half."""
    if capture.n_sentences > 1 or max(ids.shape[1] for ids in batch.ids.values()) == 1:  # a single token has no half
        return capture, min(lab.setup.item, capture.n_sentences - 1), ""
    from viz_core.experiments.layernorm import beside_its_half
    from viz_core.ui.shell.cache import cached_run

    setup = lab.setup
    pair = beside_its_half(lab.config, batch, 0)
    run = cached_run(setup.weights, lab.config, pair, setup.seed, setup.device)
    return run, 0, ("You typed one sentence, so here the model reads it together with its own first half, padded to the same "
                    "length; type more lines for a batch of your own.")


def _told(x: np.ndarray, norm: Norm, at: Cell, eps: float) -> str:
    """One norm's numbers for the picked cell, and what it is used for."""
    found = share(x, norm, at, eps, np.ones(x.shape[:2], bool))
    return (
        f"Mean of {_cells(found.cells)}: μ = {number(found.mean, 4)}, σ² = {number(found.var, 4)}. The picked cell, "
        f"{number(float(x[at]), 4)}, becomes <b>{number(found.value, 4)}</b>. Document 002: {USED_FOR[norm]}"
    )


def _gives(x: np.ndarray, tokens: Sequence[Sequence[str]], at: Cell, eps: float, stage: str) -> None:
    """The picked sentence before, and after LayerNorm and BatchNorm."""
    every = np.ones(x.shape[:2], bool)
    st.markdown(f"**What each gives:** {what_each_gives(x, eps)} γ is 1 and β is 0 in both. Click a cell to pick it.")
    parts = [(f"What enters: {stage}", x[at.sentence])]
    norms: tuple[Norm, ...] = ("layer", "batch")
    parts += [(f"After {NAMES[norm]}", share(x, norm, at, eps, every).sentence) for norm in norms]
    names = list(map(visible, tokens[at.sentence]))

    def picked(pick: Pick | None) -> None:
        touch()
        if pick is not None:
            set_view(norm_token=pick.row, norm_feature=pick.col)

    here = Pick(0, at.token, at.feature)
    matrices(result_panels(parts, names), key="norm_both", pick=here, on_pick=picked)


def what_each_gives(x: np.ndarray, eps: float) -> str:
    """Mean 0 and variance 1 of what x [B, T, D] becomes: how many rows have them after LayerNorm, columns after BatchNorm."""
    if not np.isfinite(x).all():
        return "some numbers here are infinite or NaN, and so is what they are normalised with."
    every = np.ones(x.shape[:2], bool)
    rows, columns = normalise(x, "layer", eps, every).var(axis=-1).ravel(), normalise(x, "batch", eps, every).var(axis=(0, 1))

    def told(variance: np.ndarray, what: str) -> str:
        one = int((np.abs(variance - 1) < 0.01).sum())
        return f"every {what} has" if one == len(variance) else f"{one:,} of {len(variance):,} {what}s have"

    said = (f"after LayerNorm {told(rows, 'row')} mean 0 and variance 1; after BatchNorm {told(columns, 'column')}, over all "
            "sentences and their padding together.")
    short = bool((np.abs(rows - 1) >= 0.01).any() or (np.abs(columns - 1) >= 0.01).any())
    return said + " The others have hardly any variance beside ε to begin with." * short


def _company(x: np.ndarray, words: np.ndarray, at: Cell, eps: float) -> None:
    """What the picked cell becomes as other sentences, padding and other tokens leave."""
    found = cases(x, words, at, eps)
    st.markdown("**The same numbers in other company:** LayerNorm does not notice who else is in the batch. BatchNorm's answer for "
                "this sentence depends on the others, and on how much padding they brought.")
    table(
        ("normalised with", "LayerNorm gives", "BatchNorm gives", "its largest change", "its mean over", "μ", "σ²"),
        [
            (COMPANY[c.company], number(c.layer.value, 4), number(c.batch.value, 4), "–" if c is found[0] else number(c.moved, 3),
             _cells(c.batch.cells), number(c.batch.mean, 4), number(c.batch.var, 4))
            for c in found
        ],
    )
    padding = int((~words).sum())
    if not padding:
        st.caption("No sentence of this batch is padded: type one that is shorter than the others to see what padding does.")
    layer = float(np.nanmax([c.layer_moved for c in found]))
    st.caption(f"The change is the largest of any feature of this sentence's words against the first line; LayerNorm's is "
               f"{number(layer, 3)}. "
               + (f"{padding:,} of the batch's {words.size:,} tokens are padding. " if padding else "")
               + "A token alone is its own mean, so BatchNorm makes it 0 in every feature. In use, after training, BatchNorm "
               "takes running averages from training instead of the batch's own mean and variance.")


def _cells(n: int) -> str:
    return "1 cell" if n == 1 else f"{n:,} cells"


def _torch_too(x: np.ndarray, eps: float) -> None:
    """The largest difference between all this and torch's modules on the same tensor, now."""
    from viz_core.experiments.layernorm import torch_normalise

    every = np.ones(x.shape[:2], bool)
    modules: dict[Norm, str] = {"layer": "LayerNorm", "batch": "BatchNorm1d", "instance": "InstanceNorm1d"}
    told = []
    for norm, module in modules.items():
        try:
            apart = furthest(torch_normalise(x, norm, eps), normalise(x, norm, eps, every))
            told.append(f"torch.nn.{module} {number(apart, 3)}")
        except ValueError:  # torch's refusal, in our words
            told.append(f"torch.nn.{module} refuses a single token, which has no variance to take")
    st.caption(f"Against torch in training mode, padding counted, largest difference: {'; '.join(told)}.")


# ---------------------------------------------------------------- distributions


def distributions(captures: Mapping[str, Capture], key: Hashable) -> None:
    """Histograms of one stage, layer by layer, every placement on the same scale.

    captures: placement → run of the same text; key: what makes these runs the same ones again.
    """
    from viz_core.ui.shell.cache import cached_result

    sides: list[Side] = [s for s in ("source", "target") if leaves(captures, s)]
    if not sides:
        st.info("These runs have no layer, so there is nothing to count: choose a depth of at least 1.")
        return
    lead = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        side = sides[0]
        if len(sides) > 1:
            side = view_widget(st.segmented_control, "norm_side", "Stack", options=sides, required=True,
                               format_func={"source": "Encoder", "target": "Decoder"}.get)
        offered = leaves(captures, side)
        ordered = [leaf for leaf in ("resid_post",) if leaf in offered]
        ordered += [leaf for leaf in offered if leaf not in ordered]
        leaf = _choice("norm_leaf", "Stage", ordered, {n: n for n in ordered})
        scale = view_widget(st.segmented_control, "norm_scale", "Scale", required=True,
                            format_func={"auto": "Automatic", "linear": "Linear", "log": "Logarithmic"}.get)
    found = cached_result("norm spreads", (key, tuple(captures), side, leaf, scale), lambda: spreads(captures, side, leaf, scale))
    lead.markdown(f"**A ridge is one layer, the first on top.** {how_ridges_change(found)}")
    own = {TITLES[name]: colour for name, colour in COLOURS.items()}
    colours = {name: own.get(name, theme.head_colour(i)) for i, name in enumerate(captures)}
    chart(ridges_figure(found, colours, dark()), "norm_ridges")
    _read(found)


def how_ridges_change(found: Spreads) -> str:
    """From the first ridge to the last: whether each placement gets wider, narrower, or stays, and how many times."""
    told = []
    for name, s in found.by.items():
        if len(s.layers) > 1 and np.isfinite(s.std).all() and s.std[0] > 0:
            times = float(s.std[-1] / s.std[0])
            way = "gets wider" if times > 1.05 else "gets narrower" if times < 0.95 else "stays about as wide"
            told.append(f"{name} {way} (σ × {number(times, 3)})")
    return f"Downwards, from the first layer to the last: {', '.join(told)}." if told else ""


def _read(found: Spreads) -> None:
    """The spread of the first and the last layer, and what the picture leaves out."""
    rows = []
    for name, s in found.by.items():
        first = next((f"layer {layer}" for layer, odd in zip(s.layers, s.odd, strict=True) if odd > 0), "–")
        rows.append((name, number(s.std[0], 4), number(s.std[-1], 4), f"{s.beyond.max():.2%}", first))
    table(("placement", "σ, first layer", "σ, last layer", "beyond the axis", "∞ or NaN from"), rows)
    if found.scale == "log":
        st.caption("On the logarithmic scale a bin is the wider the further it is from 0, so a bell shape shows as two humps, one "
                   "for each sign: their place is the size of the numbers.")
    if found.without:
        st.caption(f"Without this stage: {', '.join(found.without)}.")


# ---------------------------------------------------------------- both blocks


def block_drawings(lit: str, cross: bool = False) -> None:
    """One layer of Post-LN and of Pre-LN, drawn. lit: "post" or "pre", or a stage's suffix such as "resid_mid"."""
    st.html(blocks_html(lit, cross, dark()))
