"""The section Attribution: one logit, or the difference of two, as the sum of what each part of the model wrote."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_core.analysis.attribution import Attribution, Kind, attribute
from viz_core.experiments.question import Question
from viz_core.figures.cause import KIND_NAMES, share_name, shares_figure
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.problems import Problem
from viz_core.ui.components.glosses import quoted
from viz_core.ui.controls import chart, dark, data_table, numeric
from viz_core.ui.escape import escaped, token_code
from viz_core.ui.pages.cause import snippets
from viz_core.ui.pages.cause.asked import answer, controls
from viz_core.ui.pages.cause.pair import Pair, which_run
from viz_core.ui.shell import Lab, below, look, picture, view, view_widget
from viz_core.ui.shell.setup import problem_words
from viz_core.ui.shell.two_runs import patch_words

KINDS: tuple[Kind, ...] = ("embedding", "head", "ffn", "bias")
MOST_ROWS = 12  # of the table: the largest shares


def attribution(pair: Pair, question: Question) -> None:
    """The parts as bars, the sum against the logit, and the largest ones in a table."""
    from viz_core.ui.shell.cache import cached_result

    run, item, alone, at = pair.run(), pair.item, view("cause_alone"), pair.place(question.at)
    capture = run.capture
    assert capture is not None
    other = None if alone else question.other
    try:
        if at is None:
            raise Problem("the changed run has no token at the asked place.", "patch_place", at=question.at + 1)
        found = cached_result("attribution", (run.key(), item, question.word, other, at),
                              lambda: attribute(capture, run.parameter, at, question.word, other, item))
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        _controls(pair, question)  # so that it can be put right
        return
    word, against = (answer(run, id, item) for id in question[:2])
    patched = run is pair.patched and not found.adds_up
    look(_what_to_look_at(found, word, None if alone else against, patched))
    with picture():
        title = _("Logit of {word}", word=quoted(word)) if alone else _(
            "Logit of {word} minus logit of {other}", word=quoted(word), other=quoted(against))
        chart(shares_figure(found, title, dark()), "cause_shares", fill=True,
              code=lambda: snippets.shares(run, item, at, question.word, other, title))
    _controls(pair, question)
    code = partial(snippets.parts, run, item, at, question.word, other, MOST_ROWS)
    _checked(run, found, code, patch_words(pair.donor(), view("patch"), pair.item) if patched else "")


def _controls(pair: Pair, question: Question) -> None:
    with below():
        which_run()
        view_widget(st.toggle, "cause_alone", _("First word alone"))
        controls(pair, question)


def _checked(run: Lab, found: Attribution, code: Callable[[], str], put_in: str) -> None:
    """The sum written out against the logit, what is held fixed in it, and the largest parts. put_in: the patched place."""
    said = _("The sum of all parts is **{sum}**; the run’s own number is **{logit}**.", sum=rounded(found.sum, 6),
             logit=rounded(found.logit, 6))
    remainder = rounded(found.remainder, 2 if found.adds_up else 3)
    if found.adds_up:
        said += " " + _("The sum leaves {remainder} of it, which is the rounding of float32.", remainder=remainder)
    elif put_in:
        said += " " + _("B has A’s value of {place}, which no part of B wrote. The sum leaves {remainder}: that is what this value "
                        "adds to the sum.", place=put_in, remainder=remainder)
    else:
        said += " " + _("The sum leaves {remainder} of it, more than a thousandth of the largest part.", remainder=remainder)
    st.markdown(said)
    st.caption(_scales(run))
    from viz_core import tables

    frame = tables.attribution(found).sort_values("value", key=abs, ascending=False, kind="stable").head(MOST_ROWS)
    data_table(frame, "cause_parts_table", {"name": _("largest parts"), "value": numeric(_("share of the logit"))},
               _("The largest parts of the logit"), code=code, words={"name": [share_name(found.parts[i]) for i in frame.index]})


def _what_to_look_at(found: Attribution, word: str, other: str | None, patched: bool) -> str:
    """The part that adds most and the one that takes most away. patched: the remainder is what A's value adds."""
    most, least = (pick(found.parts, key=lambda share: share.value) for pick in (max, min))
    whose = token_code(word) if other is None else _("{word} over {other}", word=token_code(word), other=token_code(other))
    parts = " + ".join(f"{KIND_NAMES[kind]} {rounded(found.of(kind), 3)}" for kind in KINDS)
    rest = _("A’s value in the patched place") if patched else _("remainder")
    said = _("**{whose}: {logit}** = {parts} + {rest} {remainder}.", whose=whose, logit=rounded(found.logit, 4),
             parts=escaped(parts), rest=rest, remainder=rounded(found.remainder, 3 if patched else 1)) + " "
    if patched and found.remainder > most.value:
        said += _("Most of it comes from A’s value; the part of B that adds most is {most}, {value}.",
                  most=escaped(share_name(most)), value=rounded(most.value, 3))
    else:
        said += _("Most of it comes from {most}, {value}.", most=escaped(share_name(most)), value=rounded(most.value, 3))
    if least.value < 0:
        said += " " + _("The part that works most against it is {least}, {value}.",
                        least=escaped(share_name(least)), value=rounded(least.value, 3))
    return said


def _scales(run: Lab) -> str:
    """What the sum holds fixed."""
    if run.config.norm == "none" and not run.config.has_final_norm:
        return _("A share says what a part writes for this word directly; what later layers make of it is in their own shares.")
    return _("Each LayerNorm on the way divides by a number that depends on all parts together; here it is held at this run’s own "
             "value. A share says what a part writes for this word directly; what later layers make of it, and what it does to "
             "those numbers, is not in its share.")
