"""The sentence that the Positions page reads, and the notes about it that its sections share."""

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.analysis.positions import Reach
from viz_core.formats import long
from viz_core.language import translate as _
from viz_core.position_schemes import SCHEMES, Position
from viz_core.text import AnyTokenizer, isolated, strangers
from viz_core.ui.controls import inside, keep
from viz_core.ui.escape import words as safe_words
from viz_core.ui.shell import Lab, view, widget
from viz_core.weights.card import Card

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.runs.page_context`
    from viz_core.experiments.word_order import Words
    from viz_core.model.transformer import Transformer

TITLES: dict[Position, str] = {position: scheme.title for position, scheme in SCHEMES.items()}


def typed(lab: Lab) -> "Words":
    """Return the selected sentence of the side that the model's first stack reads. There must be a run."""
    from viz_core.experiments.word_order import words_of

    assert lab.capture is not None and lab.batch is not None
    return words_of(lab.config, lab.batch, lab.item(lab.capture))


def choose_word(name: str, label: str, words: "Words", otherwise: int) -> int:
    """Return the position of the chosen word; `default` if none was chosen."""
    chosen = inside(name, label, len(words.ids) - 1) if view(name) >= 0 else otherwise
    widget(st.selectbox, name, label, chosen, keep, options=range(len(words.ids)),
           format_func=lambda t: f"{t} · {isolated(words.tokens[t])}")
    return chosen


def nothing_typed() -> None:
    """Show that the section needs a typed sentence."""
    st.info(_("This section reads your sentence: type one in the box on the left. The other sections work without one."))


def key_of(lab: Lab, *more: Hashable) -> Hashable:
    """Return the cache key of an experiment: what its result depends on besides its own settings, followed by `more`."""
    return lab.setup.weights, lab.config, lab.setup.seed, lab.setup.device, *more


def tell_clipped_colours(ends: Reach) -> None:
    """Show that the colour scale is clipped, if it is."""
    if ends.beyond:
        st.caption(_("Colours end at ±{most}, four times the root mean square, because a few numbers are far larger (up to "
                     "{largest}). These have the colour of the end; the pointer reads their values.",
                     most=long(ends.most), largest=long(ends.largest)))


def tell_cut(words: "Words") -> None:
    """Show that only the first tokens of the sentence are used, if that is so."""
    if words.left_out:
        st.caption(_("Your sentence has {n_ids:,} tokens; only the first {most_words} are used here.",
                     n_ids=len(words.ids) + words.left_out, most_words=len(words.ids)))


def tell_unknown(tokenizer: AnyTokenizer, text: str) -> None:
    """Show which words are not in the vocabulary of trained weights."""
    carried, lost = strangers(tokenizer, text)
    if carried:
        st.caption(_("These words are not in the model's vocabulary and are read through slots, which can carry them over: "
                     "{unknown}.", unknown=safe_words(carried)))
    if lost:
        st.caption(_(r"These words are not in the model's vocabulary and are read as \<unk>: {unknown}.",
                     unknown=safe_words(lost)))


def not_as_trained(lab: Lab) -> None:
    """Show that trained weights were trained with one scheme only."""
    if lab.setup.card:
        st.caption(_("These weights were trained with one scheme: {title}. The other schemes use the same weights, which were "
                     "not trained for them; the parameters that they would have to learn are random, drawn from the seed.",
                     title=lab.setup.base.scheme.title))


def loaded(card: Card) -> "Transformer":
    """Return the model of shipped weights, shared by all visitors."""
    from viz_core.ui.shell.cache import cached_model

    return cached_model(card.name, card.config, 0, "cpu")


def minus(text: str) -> str:
    """Write numbers such as 7.2e-07 as 7.2e−7, which no line break splits."""
    return re.sub(r"(?<=\d)e-0?(?=\d)", "e−", text)


def as_markdown(text: str) -> str:
    """Escape a sentence with numbers and field names for Markdown."""
    return minus(text).replace("_", r"\_")
