"""Two runs side by side: keep a run as A, change something, and compare it with the new run B."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.attention import Step, kinds, n_layers, sides, steps
from viz_core.analysis.rows import reads_and_writes
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES, compared, head_panel
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.text import visible
from viz_core.ui.escape import token_code
from viz_core.ui.pages.attention.focus import InFocus, words_shown
from viz_core.ui.pages.attention.matrix import pickable
from viz_core.ui.pages.attention.word_swap import Swap
from viz_core.ui.shell import Lab, TwoRuns, change, current, view
from viz_core.ui.shell.differences import Difference, in_titles
from viz_core.ui.shell.setup import packed, sentences, unpacked, with_view


def word_to_swap(focus: InFocus, swap: Swap | None) -> None:
    """A button that replaces one word and keeps this run as A; nothing where no example differs in one word."""
    if swap is not None and st.button(
        f"{visible(swap.old)} → {visible(swap.new)}", type="primary", key="att_swap", on_click=_swap, args=(swap, focus),
        help=_("One word can change the meaning of a sentence. This keeps the run as A, replaces the word in the source, and "
               "changes the target to match."),
    ):
        st.rerun()  # the sidebar shows the sentence, too


def _swap(swap: Swap, focus: InFocus) -> None:
    """Switch to the other sentence and keep this one as A, unless the other one is A already. The focus stays."""
    setup = current()
    kept = unpacked(view("kept"))[0] if view("kept") else None
    sources, targets, __ = sentences(setup)
    sources[focus.item] = swap.source
    if targets:
        targets[focus.item] = swap.target
    source, target = "\n".join(sources), "\n".join(targets) if targets else setup.target  # which the model writes, if it does
    is_back = kept is not None and (kept.source, kept.target, kept.writer) == (source, target, setup.writer)
    same = {"att_kind": focus.kind, "att_layer": focus.layer, "att_query": focus.query}
    views = with_view(setup, **same, patch=(), kept="" if is_back else packed(setup)).views
    change(source=source, target=target, views=views, attn_head=focus.head)


def comparable(two: TwoRuns, focus: InFocus) -> str:
    """Why the head in focus cannot be compared with A's; "" where it can."""
    assert two.a.capture is not None
    other = two.a.capture
    if focus.kind not in kinds(other.config):
        return _("A has no {kind_titles}.", kind_titles=KIND_TITLES[focus.kind].lower())
    if focus.layer >= n_layers(other.config, focus.kind) or focus.head >= other.config.n_heads:
        return _("A has no layer {layer}, head {head}.", layer=focus.layer, head=focus.head)
    return ""


def compare(kept: Lab, other: Capture, lab: Lab, capture: Capture, focus: InFocus, differ: Sequence[Difference]) -> None:
    """The focused head in A and in B on one scale, and B − A."""
    step: Step = focus.step if focus.step in steps(other.config, focus.kind) else "weights"
    a, b = (
        head_panel(c, focus.kind, focus.layer, focus.head, focus.item, step, focus.colour, words_shown(run, c, focus.kind, focus))
        for run, c in ((kept, other), (lab, capture))
    )
    pickable(compared(a, b, about=in_titles(differ)), focus, words_shown(lab, capture, focus.kind, focus))


def strongest_keys(other: Capture, capture: Capture, focus: InFocus) -> None:
    """Where the query in focus looks most in A and in B, and whether a difference can be drawn."""
    sentences_shown = [
        f"**{name}**: {_strongest(c, focus)}" for name, c in (("A", other), ("B", capture))
        if focus.query < c[f"{focus.path}.weights"].shape[2]
    ]
    (t, s), (u, v) = (c[f"{focus.path}.weights"].shape[2:] for c in (other, capture))
    if (t, s) != (u, v):
        sentences_shown.append(_("A has {t} × {s} cells and B has {u} × {v}, so no difference is drawn.", t=t, s=s, u=u, v=v))
    st.markdown("  \n".join(sentences_shown))


def _strongest(capture: Capture, focus: InFocus) -> str:
    """ "`因为` (whose row writes `动物`) attends most to `animal`, with weight 0.83" """
    row = capture[f"{focus.path}.weights"][focus.item, focus.head, focus.query]
    key = int(np.argmax(np.nan_to_num(row, nan=-1.0)))
    keys = capture.tokens(sides(focus.kind)[1])[focus.item]
    return _("{query_words} attends most to {key}, with weight {row}",
             query_words=_query_words(capture, focus), key=token_code(keys[key]), row=rounded(float(row[key])))


def _query_words(capture: Capture, focus: InFocus) -> str:
    """The query token and, in a decoder, the word that its row writes."""
    row = reads_and_writes(capture, sides(focus.kind)[0], focus.item)[focus.query]
    if row.writes is None:
        return token_code(row.reads)
    return _("{word} (whose row writes {token})", word=token_code(row.reads), token=token_code(row.writes))
