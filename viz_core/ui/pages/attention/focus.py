"""The attention, layer, head, query and key in focus: from the link, or an informative default."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from viz_core.analysis.attention import AttentionKind, Step, kinds, module, n_layers, of_pair, sides, steps
from viz_core.analysis.kept_keys import Kept
from viz_core.analysis.labelled_weights import WordPair, without_special, words_of_both
from viz_core.analysis.story import head_between_words, telling_row
from viz_core.analysis.two_attentions import BothWords
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.figures.attention import KIND_TITLES, Colour, head_name
from viz_core.language import translate as _
from viz_core.ui.components.heads import Focus
from viz_core.ui.pages.attention.word_swap import Swap
from viz_core.ui.shell import Lab, TwoRuns, change, current, view
from viz_core.ui.shell.setup import Setup, with_view


@dataclass(frozen=True, slots=True)
class InFocus:
    """The head, query and key in focus, and how they are shown. A download needs only this and the setup."""

    kind: AttentionKind
    layer: int
    head: int
    item: int
    query: int
    key: int
    step: Step
    colour: Colour
    by_word: bool  # whether the axes show words instead of tokens
    overlaid: tuple[int, ...]  # the heads whose weights are drawn as lines
    without_special: bool = False  # whether the figures leave out special tokens such as [CLS]

    @property
    def path(self) -> str:
        return module(self.kind, self.layer)

    @property
    def name(self) -> str:
        return head_name(self.kind, self.layer, self.head)


def read_focus(lab: Lab, capture: Capture, available: Sequence[AttentionKind], item: int, swap: Swap | None) -> InFocus:
    """Return the focus that the link holds, clamped to this run, with an informative default for what the link leaves out."""
    config, chosen = lab.config, view("att_kind")
    kind, layer, head = first_head(lab, capture, available)
    if lab.setup.attn_head:
        layer, head = usual_layer(lab, kind), lab.setup.attn_head
    if chosen in available:
        kind, layer, head = chosen, n_layers(config, chosen) - 1, lab.setup.attn_head
    elif chosen:
        st.caption(_("This model has no {kind_titles}. The page shows {kind_titles_2} instead.",
                     kind_titles=KIND_TITLES[chosen].lower(), kind_titles_2=KIND_TITLES[kind].lower()))
    if (wanted := view("att_layer")) >= 0:
        layer, head = min(wanted, n_layers(config, kind) - 1), lab.setup.attn_head
        if layer != wanted:
            st.caption(_("There is no layer {wanted}. The page shows layer {layer} instead.", wanted=wanted, layer=layer))
    head = min(head, config.n_heads - 1)
    step: Step = view("att_step") if view("att_step") in steps(config, kind) else "weights"
    n_queries, n_keys = (capture[f"ids.{side}"].shape[1] for side in sides(kind))
    query = view("att_query")
    if not 0 <= query < n_queries:
        query = _informative_query(lab, capture, (kind, layer, head), item, swap)
    hides = view("att_without_special") and not view("kept")  # a comparison of two runs shows all tokens
    key = view("att_key")
    if not 0 <= key < n_keys:
        row = np.nan_to_num(capture[f"{module(kind, layer)}.weights"][item, head, query], nan=-1.0)
        kept = without_special(capture, kind, item, lab.tokenizers) if hides else None
        key = int(np.argmax(row)) if kept is None else kept.keys[int(np.argmax(row[list(kept.keys)]))]
    return InFocus(kind, layer, head, item, query, key, step, view("att_colour"), view("att_words"), _overlaid(config, head), hides)


def _overlaid(config: TransformerConfig, head: int) -> tuple[int, ...]:
    """Return the heads drawn as lines: the selected ones, else the head in focus; none for "none"."""
    chosen = view("att_heads")
    selected = tuple(h for h in chosen if h != "none" and h < config.n_heads)
    return selected if selected or "none" in chosen else (head,)


def first_head(lab: Lab, capture: Capture, available: Sequence[AttentionKind]) -> Focus:
    """Return the kind, layer and head that the page shows first.

    With trained weights: the cross-attention head that resolves pronouns best, if training measured that, else the head that
    puts most weight between the words of this sentence. Untrained: head 0 of the last layer, since all heads are alike.
    """
    kind: AttentionKind = available[-1]
    if lab.setup.card is None:
        return kind, usual_layer(lab, kind), 0
    if kind == "cross" and (measured := lab.setup.card.referent_head):
        return "cross", *measured
    from viz_core.ui.shell.cache import cached_result

    item = lab.item(capture)
    return kind, *cached_result("head between words", (lab.key(), kind, item), lambda: head_between_words(capture, kind, item))


def usual_layer(lab: Lab, kind: AttentionKind) -> int:
    """Return the layer for a link that names only a head: that of the measured head, else the last."""
    card = lab.setup.card
    if card is not None and kind == "cross" and (measured := card.referent_head):
        return measured[0]
    return n_layers(lab.config, kind) - 1


def _informative_query(lab: Lab, capture: Capture, focus: Focus, item: int, swap: Swap | None) -> int:
    """Return the query that predicts the first target word that the swap changes; without a swap, this head's most telling row."""
    kind, layer, head = focus
    if sides(kind)[0] == "target" and swap is not None and "labels" in capture.sides:
        labels = capture.tokens("labels")[item]
        swapped = lab.tokenizers["target"].read(swap.target)[0]
        changed = next((i for i, (a, b) in enumerate(zip(labels, swapped, strict=False)) if a != b), None)
        if changed is not None:
            return changed
    return telling_row(capture, kind, layer, head, item)


def choose_head(chosen: Focus) -> None:
    """Bring a head into focus. The picked query and key stay if they belong to the same side in both kinds of attention."""
    setup = with_head(current(), chosen)
    change(views=setup.views, attn_head=setup.attn_head)


def with_head(setup: Setup, chosen: Focus) -> Setup:
    """Return the setup with another head in focus."""
    kind, layer, head = chosen
    reset: dict[str, Any] = {"att_heads": ()}
    available = kinds(setup.config)
    before: AttentionKind = setup.view("att_kind") if setup.view("att_kind") in available else available[-1]
    for name, here, there in zip(("query", "key"), sides(before), sides(kind), strict=True):
        if here != there:
            reset |= {f"att_{name}": -1} | ({"att_lock": ""} if setup.view("att_lock") == name else {})
    return replace(with_view(setup, att_kind=kind, att_layer=layer, **reset), attn_head=head)


def words_shown(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> WordPair | None:
    """Return the words to show instead of tokens, or None to show tokens."""
    return words_of_both(capture, kind, focus.item, lab.tokenizers) if focus.by_word else None


def kept_shown(lab: Lab, capture: Capture, kind: AttentionKind, focus: InFocus) -> Kept | None:
    """Return the indices of the queries and keys to show (tokens, or words if those are shown), or None to show all of them."""
    if not focus.without_special:
        return None
    return without_special(capture, kind, focus.item, lab.tokenizers, words_shown(lab, capture, kind, focus))


def words_of_two(two: TwoRuns, kind: AttentionKind, focus: InFocus) -> BothWords:
    """Return `words_shown` of A and of B; None for A if it has no attention of this kind."""
    in_a = kind in kinds(two.both.a.config)
    return words_shown(two.a, two.both.a, kind, focus) if in_a else None, words_shown(two.b, two.both.b, kind, focus)


def picked_pair(lab: Lab, capture: Capture, focus: InFocus) -> np.ndarray:
    """Return, for each head of the kind in focus [L, H], its weight from the query in focus to the key in focus."""
    words = words_shown(lab, capture, focus.kind, focus) if focus.step == "weights" else None
    of = None if words is None else (words[0].of, words[1].of)
    return of_pair(capture, focus.kind, focus.item, focus.query, focus.key, of)
