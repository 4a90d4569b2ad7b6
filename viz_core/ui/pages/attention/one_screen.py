"""The section Heads: all heads, the head in focus as a matrix and as lines, and below them one weight step by step.

If a run was kept as A, the matrices show A, B and A − B, the tiles show one of these, and the lines of B are below them.
"""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from viz_core.analysis.attention import AttentionKind, Step, kinds, sides, steps
from viz_core.analysis.labelled_weights import kept_weights, layer_weights, special_tokens
from viz_core.analysis.rows import reads_and_writes
from viz_core.capture import Capture
from viz_core.figures.two_attentions import tiles_shown
from viz_core.formats import percent, rounded
from viz_core.language import translate as _
from viz_core.ui.escape import token_code
from viz_core.ui.pages.attention.all_heads import COLOURS, KIND_LABELS, UNIFORM, all_heads, kinds_shown
from viz_core.ui.pages.attention.comparison import comparable, compare, one_at_a_time, strongest_keys
from viz_core.ui.pages.attention.focus import InFocus, choose_head, kept_shown, picked_pair, words_shown
from viz_core.ui.pages.attention.one_head import drawn_lines, drawn_matrix, step_words
from viz_core.ui.pages.attention.one_weight import one_weight
from viz_core.ui.shell import Lab, TwoRuns, below, look, picture, view_widget
from viz_core.ui.shell.two_runs import TITLES

STEP_NAMES: dict[Step, str] = {"raw": "q·k", "scaled": "÷ √d_k", "biased": _("+ bias"), "masked": _("masked"),
                               "weights": _("weights")}
LOOK_FOR_WEIGHTS = _("Look for rows with one large weight and columns with many.")
HOW_THEY_DIFFER = _("**In A − B**, orange cells are larger in A and blue cells are larger in B.")
LOOK_FOR_SCORES = _("Look for rows with one large score and columns with many.")
TAUGHT_ALIGNMENT = _("This head was trained to attend to the words that each word is a translation of. The other heads had no "
                     "such training.")
TAUGHT_REFERENT = _("This head was trained to attend to the words that each word is a translation of, and for a pronoun to the "
                    "noun that it stands for. The other heads had no such training.")
MOST_LETTERS = 24  # of a token that the hint quotes


def one_screen(
    lab: Lab, capture: Capture, available: Sequence[AttentionKind], focus: InFocus, two: TwoRuns | None = None
) -> None:
    """Draw the section: the hint, the main figure, its controls, and the arithmetic of the weight in focus."""
    problem = comparable(two, focus) if two else ""
    both = None if problem else two
    look(_what_to_look_at(capture, focus, problem) if both is None else _how_they_differ(both, available, focus))
    missed = ""
    with picture(horizontal=both is None):
        if both is None:
            all_heads(lab, capture, available, focus)
            with st.container(key="att_middle", gap=None):
                drawn_matrix(lab, capture, focus, words_shown(lab, capture, focus.kind, focus))
                with st.container(key="att_strongest"):
                    _strongest_head(lab, capture, focus)
            drawn_lines(lab, capture, focus, fill=True)
        else:
            missed = compare(both, focus)
            all_heads(lab, capture, available, focus, both)
    with below():
        _controls(lab, available, focus)
    if missed:
        st.caption(missed)
    uniform = UNIFORM if focus.colour == "uniform" else ""
    left_out = "" if both is not None else _left_out(lab, capture, focus)
    st.caption(" ".join(filter(None, (step_words(capture, focus), left_out, uniform, _taught(lab, focus)))))
    if both is not None:
        strongest_keys(both, focus)
        drawn_lines(lab, capture, focus, _("Lines of B"))
    one_weight(lab, capture, focus)


def _how_they_differ(two: TwoRuns, available: Sequence[AttentionKind], focus: InFocus) -> str:
    """Return the hint of a comparison: what the colours of A − B mean, and which run the tiles show."""
    drawn = kinds_shown(available)
    instead = [kind for kind in drawn if tiles_shown(two.both, kind, two.shown) != two.shown]
    tiles = _("The tiles below show all heads of {run}.", run=TITLES["b" if instead == drawn else two.shown])
    if missing := [KIND_LABELS[kind] for kind in instead if kind not in kinds(two.a.config)]:
        tiles += " " + _("A has no attention of this kind: {named}.", named=", ".join(missing))
    elif instead:
        tiles += " " + _("A has a different number of heads or layers.")
    if one_at_a_time(two, focus):
        tiles += " " + _("The sentence is long, so one of the three is drawn: {run}.", run=TITLES[two.shown])
    return f"{HOW_THEY_DIFFER} {tiles}"


def _what_to_look_at(capture: Capture, focus: InFocus, problem: str) -> str:
    """Return the hint: the head in focus, the input and the target of its query, and what to look for; or `reason`."""
    if problem:
        return f"**{focus.name}.** {problem}"
    row = reads_and_writes(capture, sides(focus.kind)[0], focus.item)[focus.query]
    where = LOOK_FOR_WEIGHTS if focus.step == "weights" else LOOK_FOR_SCORES
    if row.writes is None:
        return _("**{name}.** Each row is a query, each column a key. {where}", name=focus.name, where=where)
    return _("**{name}.** The marked row reads {reads} and predicts {writes}. {where}", name=focus.name, where=where,
             reads=token_code(row.reads, MOST_LETTERS), writes=token_code(row.writes, MOST_LETTERS))


def _left_out(lab: Lab, capture: Capture, focus: InFocus) -> str:
    """Return which tokens the figures leave out and how much of its weight each row keeps; "" if they show all tokens."""
    kept = kept_shown(lab, capture, focus.kind, focus)
    if kept is None:
        return ""
    found = layer_weights(capture, focus.kind, focus.layer, focus.item, words_shown(lab, capture, focus.kind, focus))
    share = np.nan_to_num(kept_weights(found, kept)[1][focus.head])
    key_side = sides(focus.kind)[1]
    named = special_tokens(capture, key_side, focus.item, lab.tokenizers[key_side])
    text = _("The pictures leave out {tokens}: the other weights of each row are divided by their sum, so that they add up to 1.",
             tokens=", ".join(map(token_code, named)) or _("padding"))
    return text + " " + _("The paler a row, the less of its weight it keeps; in this head it is {least} to {most}. The arithmetic "
                          "below and all tables and files of weights are those of the run.",
                          least=percent(float(share.min())), most=percent(float(share.max())))


def _taught(lab: Lab, focus: InFocus) -> str:
    """Return a sentence on the supervision that training gave to the head in focus; "" for a head without any."""
    card, here = lab.setup.card, (focus.layer, focus.head)
    if card is None or focus.kind != "cross":
        return ""
    if here == card.taught("alignment"):
        return TAUGHT_ALIGNMENT
    return TAUGHT_REFERENT if here == card.taught("referent") else ""


def _strongest_head(lab: Lab, capture: Capture, focus: InFocus) -> None:
    """Draw a button that opens the head with the largest weight for the picked query and key, or say that this is the one."""
    found = picked_pair(lab, capture, focus)
    if not np.isfinite(found).all() or not found.any():
        st.caption(_("In no head does this query give this key any weight."))
        return
    if found[focus.layer, focus.head] == found.max():
        st.caption(_("No other head gives this pair a larger weight.") if found.size > 1 else _("This is the only head."))
        return
    layer, head = map(int, np.unravel_index(int(found.argmax()), found.shape))
    st.button(_("Largest weight for this pair: {weight}, in layer {layer}, head {head}", layer=layer, head=head,
                weight=rounded(float(found[layer, head]), 4)),
              key="att_open_strongest", type="tertiary", icon=":material/arrow_forward:", on_click=choose_head,
              args=((focus.kind, layer, head),), help=_("Opens that head. The picked pair stays."))


def _controls(lab: Lab, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """Draw the controls of the figure: kind of attention, step and colour scale."""
    if len(available) > 1:
        view_widget(st.segmented_control, "att_show", _("Attention"), options=("all", *available), required=True,
                    format_func=lambda k: KIND_LABELS[k], label_visibility="collapsed")
    view_widget(st.segmented_control, "att_step", _("From q·k to the weights"), options=steps(lab.config, focus.kind),
                required=True, format_func=lambda s: STEP_NAMES[s], label_visibility="collapsed")
    st.markdown(_("Colours:"), width="content")
    view_widget(st.segmented_control, "att_colour", _("Colour scale"), required=True, format_func=lambda c: COLOURS[c],
                label_visibility="collapsed")
