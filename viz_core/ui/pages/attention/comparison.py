"""The head in focus in two runs: in the run that was kept as A, in the present run B, and A − B."""

import numpy as np
import streamlit as st

from viz_core.analysis.attention import kinds, n_layers, sides
from viz_core.analysis.rows import reads_and_writes
from viz_core.analysis.two_attentions import TOKENS, BothWords, places_between
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES
from viz_core.figures.two_attentions import head_of_two
from viz_core.figures.two_runs import only
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.text import isolated, visible
from viz_core.ui.escape import token_code
from viz_core.ui.pages.attention import snippets
from viz_core.ui.pages.attention.focus import InFocus, words_of_two
from viz_core.ui.pages.attention.matrix import pickable
from viz_core.ui.pages.attention.word_swap import Swap
from viz_core.ui.shell import TwoRuns, change, current, view
from viz_core.ui.shell.differences import in_titles
from viz_core.ui.shell.setup import packed, sentences, unpacked, with_view

MOST_BESIDE = 40  # of each of three matrices: with more keys, the cells are too small to distinguish


def word_to_swap(focus: InFocus, swap: Swap | None) -> None:
    """Draw a button that keeps this run as A and replaces one word; nothing if no example differs in one word."""
    if swap is not None and st.button(
        " → ".join(isolated(visible(word)) for word in (swap.old, swap.new)), type="primary", key="att_swap", on_click=_swap,
        args=(swap, focus),
        help=_("One word can change the meaning of a sentence. This keeps the run as A, replaces the word in the source, and "
               "changes the target to match."),
    ):
        st.rerun()  # the sidebar, outside this fragment, shows the sentence too


def _swap(swap: Swap, focus: InFocus) -> None:
    """Replace the word and keep the present run as A, or clear A if the result is the sentence of A. The focus stays."""
    setup = current()
    kept = unpacked(view("kept"))[0] if view("kept") else None
    sources, targets, __ = sentences(setup)
    sources[focus.item] = swap.source
    if targets:
        targets[focus.item] = swap.target
    source, target = "\n".join(sources), "\n".join(targets) if targets else setup.target  # the typed one, if any
    is_back = kept is not None and (kept.source, kept.target, kept.writer) == (source, target, setup.writer)
    same = {"att_kind": focus.kind, "att_layer": focus.layer, "att_query": focus.query}
    views = with_view(setup, **same, patch=(), kept="" if is_back else packed(setup)).views
    change(source=source, target=target, views=views, attn_head=focus.head)


def comparable(two: TwoRuns, focus: InFocus) -> str:
    """Return why the head in focus cannot be compared with that of A; "" if it can."""
    other = two.both.a
    if focus.kind not in kinds(other.config):
        return _("A has no {kind_titles}.", kind_titles=KIND_TITLES[focus.kind].lower())
    if focus.layer >= n_layers(other.config, focus.kind) or focus.head >= other.config.n_heads:
        return _("A has no layer {layer}, head {head}.", layer=focus.layer, head=focus.head)
    return ""


def compare(two: TwoRuns, focus: InFocus) -> str:
    """Draw the head in focus in A and in B on one colour scale, and A − B, on the aligned tokens of both.

    Returns a sentence about a picked token that B lacks, which therefore cannot be in focus; "" otherwise.
    """
    words, about = _words(two, focus), in_titles(two.differ)
    rows, cols = places_between(two.both, focus.kind, words)
    drawn = head_of_two(two.both, focus.kind, focus.layer, focus.head, focus.step, focus.colour, about, words)
    is_single = one_at_a_time(two, focus)
    panels = [only(drawn, two.shown)] if is_single else drawn
    pick = pickable(panels, focus, words[1], (rows, cols), 0 if is_single else 1,
                    code=lambda: snippets.matrix_of_two(two, focus, about, is_single))
    if pick is None:
        return ""
    only_in_a = [drawn[0].rows[pick.row]] if rows[pick.row][1] is None else []
    only_in_a += [drawn[0].cols[pick.col]] if cols[pick.col][1] is None else []
    if not only_in_a:
        return ""
    return _("B has no {token}, so the weight below is still that of the cell that you picked before.",
             token=_(" and no ").join(map(token_code, only_in_a)))


def one_at_a_time(two: TwoRuns, focus: InFocus) -> bool:
    """Whether the sentence is too long for three matrices side by side, so that a switch selects one of them."""
    return len(places_between(two.both, focus.kind, _words(two, focus))[1]) > MOST_BESIDE


def _words(two: TwoRuns, focus: InFocus) -> BothWords:
    """Return the words to show of both runs. Only weights can be shown between words; other steps show tokens."""
    return words_of_two(two, focus.kind, focus) if focus.step == "weights" else TOKENS


def strongest_keys(two: TwoRuns, focus: InFocus) -> None:
    """Write the key with the largest weight from the query in focus, in A and in B."""
    side = sides(focus.kind)[0]
    of_a = next(i for i, j in two.both.places[side] if j == focus.query)
    in_a = _("this run has no such token") if of_a is None else _strongest(two.both.a, focus, of_a)
    st.markdown(f"**A**: {in_a}  \n**B**: {_strongest(two.both.b, focus, focus.query)}")


def _strongest(capture: Capture, focus: InFocus, query: int) -> str:
    """Return e.g. "`因为` (whose row predicts `动物`) attends most to `animal`, with weight 0.83"."""
    row = capture[f"{focus.path}.weights"][focus.item, focus.head, query]
    key = int(np.argmax(np.nan_to_num(row, nan=-1.0)))
    keys = capture.tokens(sides(focus.kind)[1])[focus.item]
    return _("{query_words} attends most to {key}, with weight {row}",
             query_words=_query_words(capture, focus, query), key=token_code(keys[key]), row=rounded(float(row[key])))


def _query_words(capture: Capture, focus: InFocus, query: int) -> str:
    """Return the query token and, in a decoder, the target token of its position."""
    row = reads_and_writes(capture, sides(focus.kind)[0], focus.item)[query]
    if row.writes is None:
        return token_code(row.reads)
    return _("{word} (whose row predicts {token})", word=token_code(row.reads), token=token_code(row.writes))
