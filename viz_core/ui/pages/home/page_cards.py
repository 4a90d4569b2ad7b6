"""Cards of the other pages, each with a thumbnail computed from the present run."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from viz_core.analysis.attention import attention_kinds, pooled_heads
from viz_core.analysis.masks import blocking_reasons
from viz_core.analysis.norm_placement import power
from viz_core.analysis.positions import sinusoidal_table
from viz_core.analysis.stage_costs import amounts_by_block, stage_costs
from viz_core.capture import Capture
from viz_core.config import STACKS
from viz_core.figures.thumbnails import bars, class_matrix, head_mosaic, line, matrix
from viz_core.messages import translate as _
from viz_core.presets import PRESETS, TOPICS, Status
from viz_core.ui.shared.elements import is_dark
from viz_core.ui.shell import PAGES, PageContext

STATUS_ORDER: tuple[Status, ...] = ("stated", "repaired", "assumed")
CARD_WIDTH = 232  # pixels


def page_cards(context: PageContext) -> None:
    """Draw a card for each other page, in the order of the navigation. The thumbnails are cached for all sessions."""
    from viz_core.ui.shell.caching.server_cache import cached_result

    capture = context.capture
    drawn = (
        {}
        if capture is None
        else cached_result(
            "previews",
            (context.run_key(), context.selected_item(capture), is_dark()),
            lambda: {name: draw(context, capture) for name, draw in PREVIEWS.items()},
        )
    )
    st.header(_("What you can look at"), anchor=False)
    with st.container(horizontal=True, gap="small", key="home_cards"):
        for page in PAGES.values():
            if not page.home_text:
                continue
            with st.container(border=True, width=CARD_WIDTH, gap="xsmall"):
                if picture := drawn.get(page.name):  # without a Save menu: the page has the full figure
                    st.html(picture)
                st.page_link(page.path, label=f"**{page.title}**", icon=page.icon)
                st.caption(page.home_text)


def _residual_stream(context: PageContext, capture: Capture) -> str:
    """The residual stream after the last layer, [T, D]."""
    side = context.config.input_side
    name = f"{STACKS[side]}.layers.{context.config.n_layers(side) - 1}.resid_post"
    if name not in capture:
        return ""
    return matrix(
        capture[name][context.selected_item(capture)],
        _("The residual stream after the last layer, tokens by features"),
        signed=True,
        dark=is_dark(),
    )


def _head_mosaic(context: PageContext, capture: Capture) -> str:
    """The weights of all heads of the last kind of attention, max-pooled."""
    if not (available := attention_kinds(context.config)):
        return ""
    kind = available[-1]
    pooled = pooled_heads(capture, kind, context.selected_item(capture), 32).values  # [L, H, r, c]
    layers, heads = pooled.shape[:2]
    return head_mosaic(
        pooled,
        _("{layers} layers of {heads} heads, each a matrix of attention weights", layers=layers, heads=heads),
        dark=is_dark(),
    )


def _next_word_bars(context: PageContext, capture: Capture) -> str:
    """The probabilities of the most likely words after the first token."""
    if "probs" not in capture:
        return ""
    likeliest = np.sort(capture["probs"][context.selected_item(capture), 0])[::-1][:8].tolist()
    return bars(likeliest, _("The probabilities of the likeliest next words"))


def _sublayer_norms(context: PageContext, capture: Capture) -> str:
    """The norm of each sub-layer's output in the output stack, at each token."""
    stack, item = STACKS[context.config.output_side], context.selected_item(capture)
    names = [f"{stack}.layers.{layer}.{part}.out" for layer in range(context.config.n_layers(context.config.output_side))
             for part in ("self_attn", "cross_attn", "ffn")]
    sizes = [np.linalg.norm(capture[name][item], axis=-1) for name in names if name in capture]  # [T] each
    if not sizes:
        return ""
    return matrix(np.stack(sizes), _("How much each sub-layer writes at each token"), signed=False, dark=is_dark())


def _token_losses(context: PageContext, capture: Capture) -> str:
    """The cross-entropy of each label, at most 20 nats."""
    if (
        "probs" not in capture or "ids.labels" not in capture or context.answers_in_place
    ):  # in place, the model was trained with another loss
        return ""
    item = context.selected_item(capture)
    labels = capture["ids.labels"][item]
    real = capture.token_mask("labels")[item]
    of_label = capture["probs"][item][np.arange(len(labels)), labels][real].astype(float)
    return bars(np.minimum(-np.log(np.maximum(of_label, 1e-30)), 20).tolist(), _("The loss of each token, which training lowers"))


def _mask_cells(context: PageContext, capture: Capture) -> str:
    available = attention_kinds(context.config)
    if not available:
        return ""
    kind = "decoder" if "decoder" in available else available[0]
    return class_matrix(
        blocking_reasons(capture, kind, context.selected_item(capture)), _("Which tokens may attend to which"), dark=is_dark()
    )


def _positional_encoding(context: PageContext, capture: Capture) -> str:
    """The positional encoding [T, D] that the model adds; the sinusoidal one if it adds none."""
    name, length = f"{STACKS[context.config.input_side]}.pos_embed", capture[f"ids.{context.config.input_side}"].shape[1]
    if name in capture:
        return matrix(
            capture[name][0], _("What is added to each of {length} positions", length=length), signed=True, dark=is_dark()
        )
    return matrix(sinusoidal_table(length, context.config.d_model, context.config.position_base),
                  _("Sine and cosine waves over {length} positions, which this model does not add", length=length), signed=True,
                  dark=is_dark())


def _stream_power(context: PageContext, capture: Capture) -> str:
    """The mean square of the residual stream after each layer."""
    side, item = context.config.input_side, context.selected_item(capture)
    names = [
        f"{STACKS[side]}.{leaf}" for leaf in ("embed", *(f"layers.{i}.resid_post" for i in range(context.config.n_layers(side))))
    ]
    found = [power(capture[name][item]) for name in names if name in capture]
    return line(found, _("The mean square of the residual stream after each layer"))


def _parameters_by_block(context: PageContext, capture: Capture) -> str:
    """The number of parameters of each block."""
    blocks = amounts_by_block(stage_costs(context.config, 1, 1, 1), "parameters")
    return bars([sum(parts.values()) for parts in blocks.values()], _("The parameters of each block"))


def _document_statuses(context: PageContext, capture: Capture) -> str:
    """The status of each setting of each document: stated, repaired or assumed."""
    table = np.array([[STATUS_ORDER.index(row.status) for row in preset.rows] for preset in PRESETS.values()])
    return class_matrix(table, _("{n_presets} documents by {n_topics} settings: stated, repaired or assumed", n_presets=len(table),
                                 n_topics=len(TOPICS)), dark=is_dark())


PREVIEWS: dict[str, Callable[[PageContext, Capture], str]] = {
    "step_by_step": _residual_stream,
    "attention": _head_mosaic,
    "writing": _next_word_bars,
    "cause": _sublayer_norms,
    "training": _token_losses,
    "masks": _mask_cells,
    "positions": _positional_encoding,
    "norms": _stream_power,
    "shapes": _parameters_by_block,
    "documents": _document_statuses,
}
