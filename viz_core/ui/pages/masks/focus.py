"""The attention and the sentence that the Masks page shows, an example with padding, and what every section needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.analysis.attention import AttentionKind, n_layers, real, sides
from viz_core.capture import Capture
from viz_core.concepts import PADDED
from viz_core.figures.attention import KIND_TITLES
from viz_core.language import translate as _
from viz_core.text import split_words
from viz_core.ui.controls import keep, sentence_picker
from viz_core.ui.shell import Lab, change, current, set_view, view, widget, widget_value
from viz_core.ui.shell.setup import Setup

if TYPE_CHECKING:
    from viz_core.run import Batch

KIND_LABELS = {"encoder": _("encoder self"), "decoder": _("decoder self"), "cross": _("cross")}
EXAMPLE = "mask_example"  # the button's key


@dataclass(frozen=True, slots=True)
class InFocus:
    """The kind of attention and the sentence of the batch that the page shows. offered: the kinds to choose from here."""

    kind: AttentionKind
    item: int
    offered: tuple[AttentionKind, ...] = ()


def read_focus(lab: Lab, capture: Capture, available: Sequence[AttentionKind], section: str) -> InFocus:
    """The attention and the sentence that the link asks for, as far as this model has them."""
    kind: AttentionKind = "decoder" if "decoder" in available and section != "empty" else available[0]
    if (chosen := view("mask_kind")) in available:
        kind = chosen
    elif chosen:
        st.caption(_("This model has no {kind_titles}. The page shows {kind_titles_2} instead.",
                     kind_titles=KIND_TITLES[chosen].lower(), kind_titles_2=KIND_TITLES[kind].lower()))
    return InFocus(kind, lab.item(capture), () if section in ("leak", "unsqueeze") else tuple(available))


def choose_focus(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Controls for the attention and the sentence, in a row, and a button for an example with padding."""
    if len(focus.offered) > 1:
        widget(st.segmented_control, "mask_kind", _("Attention"), focus.kind, _keep_kind, options=focus.offered, required=True,
               format_func=lambda k: KIND_LABELS[k], label_visibility="collapsed")
    sentence_picker(lab, capture, beside=True, padded=lambda i: not no_padding_here(capture, focus.kind, i))
    if focus.offered and not _has_padding(capture):
        st.button(_("Show a padded sentence"), icon=":material/format_line_spacing:", key=EXAMPLE, on_click=_example,
                  help=_("These sentences have no padding. This replaces what you typed by two sentences of different lengths: "
                         "the shorter one is padded, and the padding has to be masked."))


def _has_padding(capture: Capture) -> bool:
    """Whether any sentence of the batch has padding."""
    own = [side for side in ("source", "target") if f"ids.{side}" in capture]
    return not all(real(capture, side, i).all() for side in own for i in range(capture.n_sentences))  # type: ignore[arg-type]


def _keep_kind(name: str) -> None:
    """Choose another attention. It has other tokens, so the picked cell is cleared."""
    set_view(mask_kind=widget_value(name), mask_query=-1, mask_key=-1, mask_layer=-1)


def _example() -> None:
    source, target = example(current())
    tokenizer = "word" if current().tokenizer == "ids" else current().tokenizer
    change(source=source, target=target, tokenizer=tokenizer, item=0)
    set_view(mask_query=-1, mask_key=-1, mask_place=-1)


def example(setup: Setup) -> tuple[str, str]:
    """Two sentences of different lengths in words that the chosen weights know. The shorter one comes first and is padded."""
    if setup.origin is None or not setup.origin.examples:
        return PADDED["source"], PADDED["target"]
    by_length = sorted(setup.origin.examples, key=lambda pair: len(split_words(pair[0] + " " + pair[1])))
    short, long = by_length[0], by_length[-1]
    return f"{short[0]}\n{long[0]}", f"{short[1]}\n{long[1]}"


def batch_of(lab: Lab) -> "Batch":
    """The batch of this run."""
    assert lab.batch is not None
    return lab.batch


def no_padding_here(capture: Capture, kind: AttentionKind, item: int) -> bool:
    """Whether neither the queries nor the keys of this sentence contain padding."""
    return all(real(capture, side, item).all() for side in sides(kind))


def layer_and_head(lab: Lab, focus: InFocus, layers: bool = True, head: int = 0) -> tuple[int, int]:
    """The layer and head in focus, with a control for each if there are several, in a row. head: the default."""
    depth, n_heads = n_layers(lab.config, focus.kind), lab.config.n_heads
    layer = min(max(view("mask_layer"), 0), depth - 1) if layers else 0
    chosen = min(view("mask_head"), n_heads - 1) if view("mask_head") >= 0 else head
    if layers and depth > 1:
        widget(st.selectbox, "mask_layer", _("Layer"), layer, keep, options=range(depth), width=112, label_visibility="collapsed",
               format_func=lambda i: _("Layer {layer}", layer=i))
    if n_heads > 1:
        widget(st.selectbox, "mask_head", _("Head"), chosen, keep, options=range(n_heads), width=112, label_visibility="collapsed",
               format_func=lambda i: _("Head {head}", head=i))
    return layer, chosen
