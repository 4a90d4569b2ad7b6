"""The section Leak test: which outputs change when one token is replaced, with the causal mask and without it."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.attention import real
from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.figures.masks import labels, leak_panel, reach_panels
from viz_core.figures.panels import Panel
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.text import in_quotes, isolated, shorten, strangers
from viz_core.ui.components.glosses import labelled
from viz_core.ui.controls import keep, picking
from viz_core.ui.escape import code, token_code, words
from viz_core.ui.pages.masks import snippets
from viz_core.ui.pages.masks.focus import InFocus, batch_of, choose_focus
from viz_core.ui.shell import Lab, below, look, picture, view, view_widget, widget

MOST_TURNS = 32  # tokens that are replaced in turn


def leak_test(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw the section: replace one token, and show which outputs change with the causal mask and without it."""
    from viz_core.experiments.masks import leak, read_side
    from viz_core.ui.shell.cache import cached_result

    side: Side = read_side(lab.config)
    tokens = labels(capture, side, focus.item)
    look(_("**Replace one word. With a causal mask, no output before it may change, not even by a single bit.**"))
    drawn = picture()
    with below():
        place, id = _replacement(lab, capture, focus, side)
        in_turn = view_widget(st.toggle, "mask_turns", _("Replace every token in turn"))
        choose_focus(lab, capture, focus)
    model, batch = lab.model(), batch_of(lab)
    result = cached_result("mask leak", (lab.key(), focus.item, place, id), lambda: leak(model, batch, focus.item, place, id),
                           *lab.cost())
    if not (np.isfinite(result.moved).all() and np.isfinite(result.moved_free).all()):
        raise ValueError(_("Some outputs of this sentence are NaN or infinite, so they cannot be compared. The section Fully "
                           "masked rows shows where NaN comes from."))
    new = lab.named(focus.item)[side].decode(id) if not view("mask_word").strip() else view("mask_word")
    replaced = f"{in_quotes(labelled(shorten(tokens[place])))} ({place})"
    panel = leak_panel(result.moved, result.moved_free, tokens, replaced)

    def code_of_leak() -> str:
        return snippets.leak(lab, focus.item, place, id, replaced)

    with drawn:
        if in_turn:
            picking(_replaced_in_turn(lab, focus, side, tokens), "mask_reach", fill=True,
                    code=lambda: snippets.reach(lab, focus.item, lab.tokenizers[side].vocab_size))
        else:
            picking([panel], "mask_leak", fill=True, code=code_of_leak)
    if in_turn:
        st.markdown(_("**Each row is a replaced token, each column an output that may change.** With a causal mask, the cells left "
                      "of the diagonal are 0: a later token cannot change an earlier output."))
        picking([panel], "mask_leak", code=code_of_leak)
    early, late = int(result.changed[:place].sum()), int(result.changed_free[:place].sum())
    own = _("as in this model") if lab.config.is_causal else _("unlike in this model")
    st.markdown(
        _("{token} ({place}) became {new}. With the causal mask, {own}, **{early} of the {place}** outputs before it changed "
          "in any bit. Without the mask, **{late} of {place}** changed",
          token=token_code(tokens[place]), place=place, new=token_code(new), own=own, early=early, late=late)
        + (_(", by at most {value}.", value=rounded(float(result.moved_free[:place].max()), 3)) if place and late else ".")
        + (" " + _("No output comes before the first token, so choose a later one.") if place == 0 else "")
        + " " + _("If an output before the replaced word changes, the future leaks, and a model in training can learn to copy the "
                  "answers.")
    )


def _replacement(lab: Lab, capture: Capture, focus: InFocus, side: Side) -> tuple[int, int]:
    """Draw the controls of the replacement, and return the position of the token and the id that replaces it."""
    tokens, places = labels(capture, side, focus.item), np.nonzero(real(capture, side, focus.item))[0].tolist()
    if not places:
        raise ValueError(_("Sentence {item} contains only padding, so there is no word to replace. Type one.", item=focus.item + 1))
    chosen = view("mask_place")
    place = chosen if chosen in places else places[len(places) // 2]
    names = [f"{t} · {isolated(labelled(token))}" for t, token in enumerate(tokens)]
    st.markdown(_("Replace"), width="content")
    widget(st.selectbox, "mask_place", _("Replace"), place, keep, options=places, width=170, label_visibility="collapsed",
           format_func=names.__getitem__)
    st.markdown(_("with"), width="content")
    typed = view_widget(st.text_input, "mask_word", _("with"), width=170, placeholder=_("another word"),
                        label_visibility="collapsed")
    if not typed.strip():
        return place, _others(lab, focus, side)[place]
    tokenizer = lab.named(focus.item)[side]
    carried, lost = strangers(tokenizer, typed)
    if carried:
        st.caption(_("This model does not know {unknown} and reads it through a slot, which can carry it over.",
                     unknown=words(carried)))
    if lost:
        st.caption(_(r"This model does not know {unknown} and reads \<unk> instead.", unknown=words(lost)))
    read, ids = tokenizer.read(typed)
    if len(read) > 1:
        st.caption(_("This is {n_read} tokens, but it replaces one, so only {read} is used.", n_read=len(read), read=code(read[0])))
    return place, ids[0]


def _others(lab: Lab, focus: InFocus, side: Side) -> list[int]:
    """Return a replacement id for each position of the sentence."""
    from viz_core.experiments.masks import replacements

    return replacements(lab.config, batch_of(lab), focus.item, lab.tokenizers[side].vocab_size)


def _replaced_in_turn(lab: Lab, focus: InFocus, side: Side, tokens: Sequence[str]) -> list[Panel]:
    """Return the changes for each replaced token, with the causal mask and without it.

    Raises ValueError for more than `MAX_REPLACED_TOKENS` tokens.
    """
    from viz_core.experiments.masks import reach
    from viz_core.ui.shell.cache import cached_result

    if len(tokens) > MOST_TURNS:
        raise ValueError(_("There are {n_tokens} tokens, but at most {most_turns} can be replaced in turn. Shorten the sentence.",
                           n_tokens=len(tokens), most_turns=MOST_TURNS))
    others = _others(lab, focus, side)
    model, batch = lab.model(), batch_of(lab)

    def changes(causal: bool) -> np.ndarray:
        key = (lab.key(), focus.item, causal)
        return cached_result("mask reach", key, lambda: reach(model, batch, focus.item, others, causal), *lab.cost())

    return reach_panels(changes(True), changes(False), tokens)
