"""The section Leak test: which outputs change when one token is replaced, with the causal mask and without it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.attention import token_mask
from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.figures.masks import all_token_leak_panels, token_labels, token_leak_panel
from viz_core.figures.panels import Panel
from viz_core.messages import translate as _
from viz_core.messages.number_format import rounded
from viz_core.text import bidi_isolated, in_quotes, shorten, unknown_words
from viz_core.ui.components.glosses import glossed_label
from viz_core.ui.escape import code_span, code_spans, token_code_span
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import MaskFocus, batch_of, focus_controls
from viz_core.ui.shared.elements import linked_heatmaps, set_param_from_widget
from viz_core.ui.shell import PageContext, controls_row, linked_widget, main_figure, show_hint, url_param, widget

MAX_REPLACED_TOKENS = 32  # tokens that are replaced in turn


def leak_section(context: PageContext, capture: Capture, focus: MaskFocus) -> None:
    """Draw the section: replace one token, and show which outputs change with the causal mask and without it."""
    from viz_core.experiments.masks import causal_side, measure_leak
    from viz_core.ui.shell.caching.server_cache import cached_result

    side: Side = causal_side(context.config)
    tokens = token_labels(capture, side, focus.item)
    show_hint(_("**Replace one word. With a causal mask, no output before it may change, not even by a single bit.**"))
    drawn = main_figure()
    with controls_row():
        place, id = _replacement_controls(context, capture, focus, side)
        in_turn = linked_widget(st.toggle, "mask_turns", _("Replace every token in turn"))
        focus_controls(context, capture, focus)
    model, batch = context.model(), batch_of(context)
    result = cached_result(
        "mask leak",
        (context.run_key(), focus.item, place, id),
        lambda: measure_leak(model, batch, focus.item, place, id),
        *context.run_cost(),
    )
    if not (np.isfinite(result.change).all() and np.isfinite(result.change_without_mask).all()):
        raise ValueError(_("Some outputs of this sentence are NaN or infinite, so they cannot be compared. The section Fully "
                           "masked rows shows where NaN comes from."))
    new = context.sentence_tokenizers(focus.item)[side].decode(id) if not url_param("mask_word").strip() else url_param("mask_word")
    replaced = f"{in_quotes(glossed_label(shorten(tokens[place])))} ({place})"
    panel = token_leak_panel(result.change, result.change_without_mask, tokens, replaced)

    def code_of_leak() -> str:
        return snippets.leak(context, focus.item, place, id, replaced)

    with drawn:
        if in_turn:
            linked_heatmaps(_replaced_in_turn(context, focus, side, tokens), "mask_reach", fill=True,
                            code=lambda: snippets.reach(context, focus.item, context.tokenizers[side].vocab_size))
        else:
            linked_heatmaps([panel], "mask_leak", fill=True, code=code_of_leak)
    if in_turn:
        st.markdown(_("**Each row is a replaced token, each column an output that may change.** With a causal mask, the cells left "
                      "of the diagonal are 0: a later token cannot change an earlier output."))
        linked_heatmaps([panel], "mask_leak", code=code_of_leak)
    early, late = int(result.is_changed[:place].sum()), int(result.is_changed_without_mask[:place].sum())
    own = _("as in this model") if context.config.is_causal else _("unlike in this model")
    st.markdown(
        _("{token} ({place}) became {new}. With the causal mask, {own}, **{early} of the {place}** outputs before it changed "
          "in any bit. Without the mask, **{late} of {place}** changed",
          token=token_code_span(tokens[place]), place=place, new=token_code_span(new), own=own, early=early, late=late)
        + (_(", by at most {value}.", value=rounded(float(result.change_without_mask[:place].max()), 3)) if place and late else ".")
        + (" " + _("No output comes before the first token, so choose a later one.") if place == 0 else "")
        + " " + _("If an output before the replaced word changes, the future leaks, and a model in training can learn to copy the "
                  "answers.")
    )


def _replacement_controls(context: PageContext, capture: Capture, focus: MaskFocus, side: Side) -> tuple[int, int]:
    """Draw the controls of the replacement, and return the position of the token and the id that replaces it."""
    tokens, places = token_labels(capture, side, focus.item), np.nonzero(token_mask(capture, side, focus.item))[0].tolist()
    if not places:
        raise ValueError(_("Sentence {item} contains only padding, so there is no word to replace. Type one.", item=focus.item + 1))
    chosen = url_param("mask_place")
    place = chosen if chosen in places else places[len(places) // 2]
    names = [f"{t} · {bidi_isolated(glossed_label(token))}" for t, token in enumerate(tokens)]
    st.markdown(_("Replace"), width="content")
    widget(
        st.selectbox,
        "mask_place",
        _("Replace"),
        place,
        set_param_from_widget,
        options=places,
        width=170,
        label_visibility="collapsed",
        format_func=names.__getitem__,
    )
    st.markdown(_("with"), width="content")
    typed = linked_widget(st.text_input, "mask_word", _("with"), width=170, placeholder=_("another word"),
                          label_visibility="collapsed")
    if not typed.strip():
        return place, _replacement_ids(context, focus, side)[place]
    tokenizer = context.sentence_tokenizers(focus.item)[side]
    carried, lost = unknown_words(tokenizer, typed)
    if carried:
        st.caption(_("This model does not know {unknown} and reads it through a slot, which can carry it over.",
                     unknown=code_spans(carried)))
    if lost:
        st.caption(_(r"This model does not know {unknown} and reads \<unk> instead.", unknown=code_spans(lost)))
    read, ids = tokenizer.tokens_and_ids(typed)
    if len(read) > 1:
        st.caption(
            _("This is {n_read} tokens, but it replaces one, so only {read} is used.", n_read=len(read), read=code_span(read[0]))
        )
    return place, ids[0]


def _replacement_ids(context: PageContext, focus: MaskFocus, side: Side) -> list[int]:
    """Return a replacement id for each position of the sentence."""
    from viz_core.experiments.masks import replacement_ids

    return replacement_ids(context.config, batch_of(context), focus.item, context.tokenizers[side].vocab_size)


def _replaced_in_turn(context: PageContext, focus: MaskFocus, side: Side, tokens: Sequence[str]) -> list[Panel]:
    """Return the changes for each replaced token, with the causal mask and without it.

    Raises ValueError for more than `MAX_REPLACED_TOKENS` tokens.
    """
    from viz_core.experiments.masks import replacement_changes
    from viz_core.ui.shell.caching.server_cache import cached_result

    if len(tokens) > MAX_REPLACED_TOKENS:
        raise ValueError(_("There are {n_tokens} tokens, but at most {most_turns} can be replaced in turn. Shorten the sentence.",
                           n_tokens=len(tokens), most_turns=MAX_REPLACED_TOKENS))
    others = _replacement_ids(context, focus, side)
    model, batch = context.model(), batch_of(context)

    def changes(causal: bool) -> np.ndarray:
        key = (context.run_key(), focus.item, causal)
        return cached_result(
            "mask reach", key, lambda: replacement_changes(model, batch, focus.item, others, causal), *context.run_cost()
        )

    return all_token_leak_panels(changes(True), changes(False), tokens)
