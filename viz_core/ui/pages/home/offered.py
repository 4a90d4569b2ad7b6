"""Cards of the other pages, each with a thumbnail computed from the present run."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from viz_core.analysis.attention import kinds, tiles
from viz_core.analysis.masks import provenance
from viz_core.analysis.placement import power
from viz_core.analysis.positions import waves
from viz_core.analysis.shapes import by_block, ledger
from viz_core.capture import Capture
from viz_core.config import STACKS
from viz_core.figures.thumbnails import bars, classes, line, matrix, mosaic
from viz_core.language import translate as _
from viz_core.presets import PRESETS, TOPICS, Status
from viz_core.ui.controls import dark
from viz_core.ui.shell import PAGES, Lab

STATUSES: tuple[Status, ...] = ("stated", "repaired", "assumed")
WIDTH = 232  # pixels


def offered(lab: Lab) -> None:
    """Draw a card for each other page, in the order of the navigation. The thumbnails are cached for all sessions."""
    from viz_core.ui.shell.cache import cached_result

    capture = lab.capture
    drawn = {} if capture is None else cached_result(
        "previews", (lab.key(), lab.item(capture), dark()), lambda: {name: draw(lab, capture) for name, draw in PREVIEWS.items()}
    )
    st.header(_("What you can look at"), anchor=False)
    with st.container(horizontal=True, gap="small", key="home_cards"):
        for page in PAGES.values():
            if not page.card:
                continue
            with st.container(border=True, width=WIDTH, gap="xsmall"):
                if picture := drawn.get(page.name):  # without a Save menu: the page has the full figure
                    st.html(picture)
                st.page_link(page.path, label=f"**{page.title}**", icon=page.icon)
                st.caption(page.card)


def _stream(lab: Lab, capture: Capture) -> str:
    """The residual stream after the last layer, [T, D]."""
    side = lab.config.input_side
    name = f"{STACKS[side]}.layers.{lab.config.n_layers(side) - 1}.resid_post"
    if name not in capture:
        return ""
    return matrix(capture[name][lab.item(capture)], _("The residual stream after the last layer, tokens by features"), signed=True,
                  dark=dark())


def _heads(lab: Lab, capture: Capture) -> str:
    """The weights of all heads of the last kind of attention, max-pooled."""
    if not (available := kinds(lab.config)):
        return ""
    kind = available[-1]
    pooled = tiles(capture, kind, lab.item(capture), 32).values  # [L, H, r, c]
    layers, heads = pooled.shape[:2]
    return mosaic(pooled, _("{layers} layers of {heads} heads, each a matrix of attention weights", layers=layers, heads=heads),
                  dark=dark())


def _next_words(lab: Lab, capture: Capture) -> str:
    """The probabilities of the most likely words after the first token."""
    if "probs" not in capture:
        return ""
    likeliest = np.sort(capture["probs"][lab.item(capture), 0])[::-1][:8].tolist()
    return bars(likeliest, _("The probabilities of the likeliest next words"))


def _written(lab: Lab, capture: Capture) -> str:
    """The norm of each sub-layer's output in the output stack, at each token."""
    stack, item = STACKS[lab.config.output_side], lab.item(capture)
    names = [f"{stack}.layers.{layer}.{part}.out" for layer in range(lab.config.n_layers(lab.config.output_side))
             for part in ("self_attn", "cross_attn", "ffn")]
    sizes = [np.linalg.norm(capture[name][item], axis=-1) for name in names if name in capture]  # [T] each
    if not sizes:
        return ""
    return matrix(np.stack(sizes), _("How much each sub-layer writes at each token"), signed=False, dark=dark())


def _losses(lab: Lab, capture: Capture) -> str:
    """The cross-entropy of each label, at most 20 nats."""
    if "probs" not in capture or "ids.labels" not in capture or lab.in_place:  # in place, the model was trained with another loss
        return ""
    item = lab.item(capture)
    labels = capture["ids.labels"][item]
    real = capture.is_token("labels")[item]
    of_label = capture["probs"][item][np.arange(len(labels)), labels][real].astype(float)
    return bars(np.minimum(-np.log(np.maximum(of_label, 1e-30)), 20).tolist(), _("The loss of each token, which training lowers"))


def _mask(lab: Lab, capture: Capture) -> str:
    available = kinds(lab.config)
    if not available:
        return ""
    kind = "decoder" if "decoder" in available else available[0]
    return classes(provenance(capture, kind, lab.item(capture)), _("Which tokens may attend to which"), dark=dark())


def _waves(lab: Lab, capture: Capture) -> str:
    """The positional encoding [T, D] that the model adds; the sinusoidal one if it adds none."""
    name, length = f"{STACKS[lab.config.input_side]}.pos_embed", capture[f"ids.{lab.config.input_side}"].shape[1]
    if name in capture:
        return matrix(capture[name][0], _("What is added to each of {length} positions", length=length), signed=True, dark=dark())
    return matrix(waves(length, lab.config.d_model, lab.config.position_base),
                  _("Sine and cosine waves over {length} positions, which this model does not add", length=length), signed=True,
                  dark=dark())


def _growth(lab: Lab, capture: Capture) -> str:
    """The mean square of the residual stream after each layer."""
    side, item = lab.config.input_side, lab.item(capture)
    names = [f"{STACKS[side]}.{leaf}" for leaf in ("embed", *(f"layers.{i}.resid_post" for i in range(lab.config.n_layers(side))))]
    found = [power(capture[name][item]) for name in names if name in capture]
    return line(found, _("The mean square of the residual stream after each layer"))


def _costs(lab: Lab, capture: Capture) -> str:
    """The number of parameters of each block."""
    blocks = by_block(ledger(lab.config, 1, 1, 1), "parameters")
    return bars([sum(parts.values()) for parts in blocks.values()], _("The parameters of each block"))


def _documents(lab: Lab, capture: Capture) -> str:
    """The status of each setting of each document: stated, repaired or assumed."""
    table = np.array([[STATUSES.index(row.status) for row in preset.rows] for preset in PRESETS.values()])
    return classes(table, _("{n_presets} documents by {n_topics} settings: stated, repaired or assumed", n_presets=len(table),
                            n_topics=len(TOPICS)), dark=dark())


PREVIEWS: dict[str, Callable[[Lab, Capture], str]] = {
    "step_by_step": _stream, "attention": _heads, "writing": _next_words, "cause": _written, "training": _losses, "masks": _mask,
    "positions": _waves, "norms": _growth, "shapes": _costs, "documents": _documents,
}
