"""The sentence that the Positions page reads: which one, how much of it, and what there is to say about it."""

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from viz_core.capture import Capture
from viz_core.config import Position
from viz_core.text import visible
from viz_core.ui.controls import inside, keep
from viz_core.ui.escape import words as safe_words
from viz_core.ui.shell import Lab, set_choice, view, widget
from viz_core.weights.card import Card

if TYPE_CHECKING:
    from viz_core.model.transformer import Transformer

MOST_WORDS = 48  # of a sentence that is read five times over
TITLES: dict[Position, str] = {"sinusoidal": "Sinusoidal", "learned": "Learned", "rope": "RoPE", "alibi": "ALiBi", "none": "None"}
SAID: dict[Position, str] = {"sinusoidal": "sinusoidal", "learned": "learned", "rope": "RoPE", "alibi": "ALiBi", "none": "no"}


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence as the experiments read it: tokens as shown, without <pad> and <bos>, and their ids."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    left_out: int = 0  # tokens behind MOST_WORDS


def typed(lab: Lab, capture: Capture) -> Words:
    """The selected sentence of the side that the model's first stack reads."""
    side = "source" if lab.config.has_encoder else "target"
    item = min(lab.setup.item, capture.n_sentences - 1)
    pad = lab.config.source_pad_id if side == "source" else lab.config.target_pad_id
    pairs = [(t, int(i)) for t, i in zip(capture.tokens(side)[item], capture[f"ids.{side}"][item], strict=True)]
    pairs = [pair for pair in pairs[side == "target" :] if pair[1] != pad]
    return as_words([t for t, _ in pairs], [i for _, i in pairs])


def as_words(tokens: Sequence[str], ids: Sequence[int]) -> Words:
    return Words(tuple(map(visible, tokens[:MOST_WORDS])), tuple(ids[:MOST_WORDS]), max(0, len(ids) - MOST_WORDS))


def choose_item(capture: Capture, lab: Lab) -> int:
    """The selected sentence; a choice where there are several."""
    item = min(lab.setup.item, capture.n_sentences - 1)
    if capture.n_sentences > 1:
        widget(st.segmented_control, "item", "Sentence", item, set_choice, options=range(capture.n_sentences), required=True,
               format_func=lambda i: str(i + 1))
    return item


def choose_word(name: str, label: str, words: Words, otherwise: int) -> int:
    """Which word, by its place; `otherwise` where nobody has chosen."""
    chosen = inside(name, label, len(words.ids) - 1) if view(name) >= 0 else otherwise
    widget(st.selectbox, name, label, chosen, keep, options=range(len(words.ids)), format_func=lambda t: f"{t} · {words.tokens[t]}")
    return chosen


def nothing_typed() -> None:
    st.info("This section reads your sentence: type one in the box at the left. The other sections need none.")


def key_of(lab: Lab, *more: Hashable) -> Hashable:
    """What an experiment's result depends on, beside its own choices."""
    return lab.setup.weights, lab.config, lab.setup.seed, lab.setup.device, *more


def tell_cut(words: Words) -> None:
    if words.left_out:
        st.caption(f"Your sentence has {len(words.ids) + words.left_out:,} tokens; the first {MOST_WORDS} are read here.")


def tell_unknown(lab: Lab, side: str, text: str) -> None:
    """Say which words trained weights do not know."""
    if strangers := [word for word, _ in lab.tokenizers[side].unknown(text)]:
        st.caption(f"These weights do not know {safe_words(strangers)}: all of them are read as \\<unk>.")


def not_as_trained(lab: Lab) -> None:
    if lab.setup.card:
        st.caption(f"These weights were trained with {SAID[lab.setup.base.position]} positions. Under another scheme they are "
                   "the same numbers, not as trained; a learned table that they lack is drawn from the seed.")


def loaded(card: Card) -> "Transformer":
    """The model of shipped weights, shared by all visitors."""
    from viz_core.ui.shell.cache import cached_model

    return cached_model(card.name, card.config, 0, "cpu")


def minus(text: str) -> str:
    """A sentence with numbers such as 7.2e-07, as they are set here: 7.2e−7, which no line is broken in."""
    return re.sub(r"(?<=\d)e-0?(?=\d)", "e−", text)


def said(text: str) -> str:
    """A sentence with numbers and field names, as Markdown shows it."""
    return minus(text).replace("_", r"\_")
