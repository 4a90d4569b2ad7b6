"""The section Logit lens: the prediction of each layer at each position."""

from functools import partial

import numpy as np
import streamlit as st

from viz_core.analysis.logit_lens import LogitLens, logit_lens
from viz_core.experiments.question import Question
from viz_core.figures.cause import lens_panel
from viz_core.formats import percent
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick
from viz_core.ui.components.glosses import named
from viz_core.ui.controls import data_table, numeric, picking
from viz_core.ui.escape import escaped, token_code
from viz_core.ui.pages.cause import snippets
from viz_core.ui.pages.cause.asked import answer
from viz_core.ui.pages.cause.pair import Pair, which_run
from viz_core.ui.shell import Lab, below, beside, look, view, view_widget
from viz_core.ui.shell.setup import problem_words

RAIL = 230
COLOURS = {"chance": _("Probability"), "rank": _("Rank")}


def lens(pair: Pair, question: Question) -> None:
    """Draw the layers × positions matrix, and the most likely words of the picked cell."""
    from viz_core.ui.shell.cache import cached_result

    run, item, at = pair.run(), pair.item, pair.place(question.at)
    capture = run.capture
    assert capture is not None
    try:
        found = cached_result("lens", (run.key(), item), lambda: logit_lens(capture, run.parameter, item))
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        return
    side = run.config.output_side
    length = len(capture.ids(side, item))
    found = found.until(length)
    at = length - 1 if at is None else min(at, length - 1)  # without a counterpart, the last token
    look(_what_to_look_at(run, item, found, at))
    place, rail = beside(RAIL)
    with place:
        tokens, by_rank = capture.tokens(side)[item][:length], view("cause_lens") == "rank"
        drawn = lens_panel(found, tokens, partial(answer, run, item=item), by_rank)
        pick = picking([drawn], "cause_lens", Pick(0, len(found.stages) - 1, at), fill=True,
                       code=lambda: snippets.lens(run, item, length, by_rank))
    with rail:
        if pick is not None:
            _words(run, item, found, pick, length)
    with below():
        which_run()
        st.markdown(_("Colour:"), width="content")
        view_widget(st.segmented_control, "cause_lens", _("Colour of the lens"), required=True, format_func=COLOURS.get,
                    label_visibility="collapsed")
    st.caption(_assumption(run))


def _what_to_look_at(run: Lab, item: int, found: LogitLens, at: int) -> str:
    """Return the hint: the layer from which on the final word is the most likely one, and the most likely word before it."""
    assert run.capture is not None
    token = token_code(run.capture.tokens(run.config.output_side)[item][at])
    final = token_code(answer(run, int(found.final[at]), item))
    behind = np.nonzero(found.rank[:, at])[0]  # stages where another word is likelier
    if not len(behind) and run.in_place:
        return _("**At {token}, {final} is the likeliest word from the embedding on**, through every layer.", token=token,
                 final=final)
    if not len(behind):
        return _("**After {token}, {final} is the likeliest word from the embedding on**, through every layer.", token=token,
                 final=final)
    stage = int(behind[-1])
    if run.in_place and stage == len(found.stages) - 1:
        return _("**At {token}, the model writes {final}.** Read down its column: what does each layer already predict?",
                 token=token, final=final)
    if run.in_place:
        return _("**At {token}, {final} is the likeliest from layer {layer} on,** and {before} just before it. Read down a column: "
                 "when does its final word appear?", token=token, final=final, layer=stage,
                 before=token_code(answer(run, int(found.words[stage, at, 0]), item)))
    if stage == len(found.stages) - 1:
        return _("**After {token}, the model writes {final}.** Read down its column: what does each layer already predict?",
                 token=token, final=final)
    return _("**After {token}, {final} is the likeliest from layer {layer} on,** and {before} just before it. Read down a column: "
             "when does its final word appear?", token=token, final=final, layer=stage,
             before=token_code(answer(run, int(found.words[stage, at, 0]), item)))


def _words(run: Lab, item: int, found: LogitLens, pick: Pick, length: int) -> None:
    """Draw the most likely words of one cell, with the rank and the probability of the final word."""
    from viz_core import tables

    where = _("the embedding") if pick.row == 0 else _("layer {layer}", layer=pick.row - 1)
    st.markdown(_("**The likeliest words at the output of {where}:**", where=where))
    frame = tables.lens(found, lambda id: answer(run, id, item), (pick.row, pick.col))
    data_table(frame, "cause_lens_words", {"word": _("word"), "probability": numeric(_("probability"))},
               _("The likeliest words of the picked cell"), words={"word": list(map(named, frame["word"]))},
               code=lambda: snippets.lens_words(run, item, length, (pick.row, pick.col)))
    st.caption(_("The final word {word} has rank {rank:,} here, with probability {chance}; rank 0 is the likeliest.",
                 word=token_code(answer(run, int(found.final[pick.col]), item)), rank=int(found.rank[pick.row, pick.col]),
                 chance=percent(float(found.chance[pick.row, pick.col]))))


def _assumption(run: Lab) -> str:
    """Return how the lens reads this model, and what it assumes."""
    if run.config.has_final_norm:
        reading = _("Each layer’s residual stream goes through the final LayerNorm and the vocabulary head.")
    elif run.config.norm == "post":
        reading = _("Each layer’s normalised output goes straight to the vocabulary head, as the last layer’s does.")
    else:
        reading = _("Each layer’s residual stream goes straight to the vocabulary head.")
    return reading + " " + _("The lens assumes that earlier layers write in the same directions as the last one, for which the "
                             "head was trained; where they do not, its words say little.")
