"""The section Your sentence: embedding, position and their sum for the typed tokens, of one run or of A, B and A − B."""

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from viz_core.analysis.attention import real
from viz_core.analysis.positions import expected_length
from viz_core.analysis.rounding import difference
from viz_core.analysis.stack_input import Scale, StackInput, lengths, stack_input
from viz_core.analysis.two_runs import Places
from viz_core.capture import Capture
from viz_core.config import Init, Side
from viz_core.figures.position_schemes import input_panels, magnitudes_figure, two_inputs_panels
from viz_core.figures.two_runs import Shown
from viz_core.formats import long
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.stages import SIDE_NAMES
from viz_core.ui.controls import chart, dark, picking, sentence_picker
from viz_core.ui.pages.positions import snippets
from viz_core.ui.pages.positions.sentence import TITLES, nothing_typed, tell_clipped_colours
from viz_core.ui.shell import Lab, TwoRuns, below, look, picture, two_runs, view_widget

ALL_ON_ONE_SCALE = (
    _("**Compare the parts:** all share one colour scale, so the stronger a colour, the further its number is from 0.")
)


def sentence(lab: Lab) -> None:
    """Draw embedding, position and their sum for the typed tokens, and the length of each part."""
    if lab.capture is None:
        nothing_typed()
        return
    runs = two_runs(lab)
    lab = lab if runs is None else runs.b
    capture = lab.capture
    assert capture is not None
    takeaway_place = st.container(gap=None)  # filled below, once the rows are known
    main, controls = picture(), below()
    with controls:
        side, item, scale = _which_rows(lab, capture)
    b = stack_input(capture, side, item, scale)
    problem = _not_comparable(runs, side)
    if runs is None or problem:
        panels, colour_range = input_panels(b)
        takeaway = problem or ALL_ON_ONE_SCALE
    else:
        a = stack_input(runs.both.a, side, runs.both.item_a, scale)
        panels, colour_range = two_inputs_panels(a, b, runs.both.places[side], runs.shown)
        takeaway = _both_words(a, b, runs.both.places[side], runs.shown)
    with takeaway_place:
        look(takeaway)
    with main:
        picking(panels, "pos_parts", fill=True, code=lambda: (
            snippets.parts(lab, side, item, scale) if runs is None or problem else snippets.both_parts(runs, side, scale)))
    tell_clipped_colours(colour_range)
    if b.added is None:
        st.info(_("This model adds no positions to the input ({titles}). The section All schemes shows where they enter.",
                  titles=TITLES[b.config.position]))
    else:
        st.markdown(_("The position rows are the same for every sentence; the model receives only the sum."))
    if b.config.n_segments:
        st.caption(_("This model also adds a segment row, which is {value}part of the sum drawn here.",
                     value="" if b.own else _("not") + " "))
    _magnitudes(lab, capture, side, item, b.added)


def _not_comparable(two: TwoRuns | None, side: Side) -> str:
    """Return why the rows of this side cannot be compared with A's; "" if they can."""
    if two is None:
        return ""
    if side not in two.both.places:
        return _("A has no {side}, so this is B.", side=SIDE_NAMES[side])
    a, b = two.both.a.config.d_model, two.both.b.config.d_model
    return "" if a == b else _("A’s rows have {a} features and B’s have {b}, so nothing can be subtracted; this is B.", a=a, b=b)


def _both_words(a: StackInput, b: StackInput, rows: Places, shown: Shown) -> str:
    """Return what the colours mean, how many rows of each part differ, and which run adds no positions."""
    shared = [(i, j) for i, j in rows if i is not None and j is not None]
    rows_a, rows_b = (np.array([pair[k] for pair in shared], dtype=int) for k in (0, 1))

    def differing(x: np.ndarray, y: np.ndarray) -> int:
        change, __ = difference(x[rows_a], y[rows_b])
        return int((change != 0).any(axis=-1).sum())

    sentences = [
        _("**Orange is larger in A, blue in B.**") if shown == "difference" else _("**A and B have one colour scale.**"),
    ]
    sentences.append(_("Rows that differ, of the {n:,} that both have: {words:,} of the embedding, {places:,} of the position, "
                       "{sums:,} of the sum.", n=len(shared), words=differing(a.content, b.content),
                       places=differing(a.position, b.position),
                       sums=differing(a.total, b.total)))
    sentences += [_("{run} adds no positions to the embedding ({scheme}).", run=run, scheme=TITLES[p.config.position])
                  for run, p in (("A", a), ("B", b)) if p.added is None]
    return " ".join(sentences)


def _which_rows(lab: Lab, capture: Capture) -> tuple[Side, int, Scale]:
    """Draw the controls and return the side, the sentence, and how the embedding is scaled ("model", "with", "without")."""
    c, side = lab.config, lab.config.sides[0]
    if len(c.sides) > 1:
        side = view_widget(st.segmented_control, "pos_side", _("Side"), options=c.sides, required=True,
                           label_visibility="collapsed", format_func=SIDE_NAMES.get)
    item = sentence_picker(lab, capture)
    as_is = _("× √d_model as in the model (yes)") if c.scale_embedding else _("× √d_model as in the model (no)")
    scale = view_widget(st.segmented_control, "pos_scale", _("Embedding × √d_model"), required=True,
                        label_visibility="collapsed",
                        format_func={"model": as_is, "with": _("× √d_model"), "without": _("Not scaled")}.get)
    return side, item, scale


def _magnitudes(lab: Lab, capture: Capture, side: Side, item: int, added: np.ndarray | None) -> None:
    """Draw the lengths of this model's rows, and of the same rows initialised with N(0, 1) and with Xavier for this vocabulary."""
    from viz_core.ui.shell.cache import cached_result

    c, is_real = lab.config, real(capture, side, item)
    if not is_real.any():
        return
    ids, vocabulary = capture[f"ids.{side}"][item][is_real], c.vocab_size(side)
    drawn: dict[str, Init] = {_("N(0, 1) rows"): "torch", _("Xavier, {n:,} words", n=vocabulary): "xavier_uniform"}
    found, position = lengths(capture, side, item, {
        name: cached_result("embedding rows", (c, lab.setup.seed, init, side, ids.tobytes()), partial(_rows, lab, init, side, ids))
        for name, init in drawn.items()
    })
    comparison = compare_lengths(found[0].scaled if c.scale_embedding else found[0].plain, position)
    chart(magnitudes_figure(found, position, c.d_model, dark()), "pos_magnitudes",
          code=lambda: snippets.magnitudes(lab, side, item, drawn))
    expected_lengths = {name: expected_length(init, vocabulary, c.d_model) for name, init in drawn.items()}
    expected = "; ".join(_("{name} {x}, times √d_model {x_2}", name=name, x=long(x), x_2=long(x * c.d_model ** 0.5)) for name,
                         x in expected_lengths.items())
    note = "" if added is not None else " " + _("The positions are the sinusoidal ones that this model could add.")
    n = int(is_real.sum())
    st.caption(_("Measured on your {tokens}. Expected lengths: {expected}. {comparison}{whose}",
                 tokens=plural("{n:,} token", "{n:,} tokens", n), expected=expected, comparison=comparison, whose=note))


def compare_lengths(word: float, place: float) -> str:
    """Return which of the two parts of this model's sum is longer, and by what factor."""
    if not word or not place:
        return _("Here one of the two parts has length 0.")
    times = max(word / place, place / word)
    if times < 1.05:
        return _("Here both parts of the sum are about equally long.")
    if word > place:
        return _("On average (root mean square), the embedding vectors are {times} times as long as the position vectors.",
                 times=long(times))
    return _("On average (root mean square), the position vectors are {times} times as long as the embedding vectors.",
             times=long(times))


def _rows(lab: Lab, init: Init, side: Side, ids: np.ndarray) -> np.ndarray:
    """Return the embedding rows of these ids [T, D] with another initialisation."""
    from viz_core.experiments.word_order import embedding_rows

    return embedding_rows(replace(lab.config, init=init), lab.setup.seed, side, ids.tolist())
