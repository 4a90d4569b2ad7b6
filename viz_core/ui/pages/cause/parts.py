"""The section Attribution: one logit, or the difference of two, as the sum of the direct contributions of all components."""

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
MOST_ROWS = 12  # of the table, largest first


def attribution(pair: Pair, question: Question) -> None:
    """Draw the contributions as bars, compare their sum with the logit, and list the largest ones in a table."""
    from viz_core.ui.shell.cache import cached_result

    run, item, is_single, at = pair.run(), pair.item, view("cause_alone"), pair.place(question.at)
    capture = run.capture
    assert capture is not None
    other = None if is_single else question.other
    try:
        if at is None:
            raise Problem("the changed run has no token at the position of the question.", "patch_place", at=question.at + 1)
        found = cached_result("attribution", (run.key(), item, question.word, other, at),
                              lambda: attribute(capture, run.parameter, at, question.word, other, item))
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        _controls(pair, question)  # so that the question can be corrected
        return
    word, against = (answer(run, id, item) for id in question[:2])
    patched = run is pair.patched and not found.adds_up
    look(_what_to_look_at(found, word, None if is_single else against, patched))
    with picture():
        title = _("Logit of {word}", word=quoted(word)) if is_single else _(
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
    """Compare the sum with the logit, say what it holds fixed, and list the largest parts. patched_place: the patched value."""
    text = _("The sum of all parts is **{sum}**; the run’s own number is **{logit}**.", sum=rounded(found.sum, 6),
             logit=rounded(found.logit, 6))
    remainder = rounded(found.remainder, 2 if found.adds_up else 3)
    if found.adds_up:
        text += " " + _("The remainder, {remainder}, is the rounding of float32.", remainder=remainder)
    elif put_in:
        text += " " + _("B has A’s value of {place}, which no part of B wrote. The remainder, {remainder}, is what this value "
                        "adds.", place=put_in, remainder=remainder)
    else:
        text += " " + _("The remainder, {remainder}, is more than a thousandth of the largest part.", remainder=remainder)
    st.markdown(text)
    st.caption(_scales(run))
    from viz_core import tables

    frame = tables.attribution(found).sort_values("value", key=abs, ascending=False, kind="stable").head(MOST_ROWS)
    data_table(frame, "cause_parts_table", {"name": _("largest parts"), "value": numeric(_("share of the logit"))},
               _("The largest parts of the logit"), code=code, words={"name": [share_name(found.parts[i]) for i in frame.index]})


def _what_to_look_at(found: Attribution, word: str, other: str | None, patched: bool) -> str:
    """Return the hint: the largest and the most negative contribution. is_patched: whether the remainder is due to A's value."""
    most, least = (pick(found.parts, key=lambda share: share.value) for pick in (max, min))
    whose = token_code(word) if other is None else _("{word} over {other}", word=token_code(word), other=token_code(other))
    parts = " + ".join(f"{KIND_NAMES[kind]} {rounded(found.of(kind), 3)}" for kind in KINDS)
    rest = _("A’s value in the patched place") if patched else _("remainder")
    text = _("**{whose}: {logit}** = {parts} + {rest} {remainder}.", whose=whose, logit=rounded(found.logit, 4),
             parts=escaped(parts), rest=rest, remainder=rounded(found.remainder, 3 if patched else 1)) + " "
    if patched and found.remainder > most.value:
        text += _("Most of it comes from A’s value; the part of B that adds most is {most}, {value}.",
                  most=escaped(share_name(most)), value=rounded(most.value, 3))
    else:
        text += _("Most of it comes from {most}, {value}.", most=escaped(share_name(most)), value=rounded(most.value, 3))
    if least.value < 0:
        text += " " + _("The part that works most against it is {least}, {value}.",
                        least=escaped(share_name(least)), value=rounded(least.value, 3))
    return text


def _scales(run: Lab) -> str:
    """Return what the sum holds fixed."""
    if run.config.norm == "none" and not run.config.has_final_norm:
        return _("A share says what a part writes for this word directly; what later layers make of it is in their own shares.")
    return _("Each LayerNorm on the way divides by a number that depends on all parts together; here it is held at this run’s own "
             "value. A share says what a part writes for this word directly; what later layers make of it, and what it does to "
             "those numbers, is not in its share.")
