"""The page Cause and effect and its sections."""

from collections.abc import Callable, Sequence

import streamlit as st

from viz_core.experiments.question import Question
from viz_core.language import translate as _
from viz_core.ui.controls import sentence_picker
from viz_core.ui.escape import escaped
from viz_core.ui.pages.cause.asked import asked, controls, target_words
from viz_core.ui.pages.cause.grid import patching
from viz_core.ui.pages.cause.heads import heads
from viz_core.ui.pages.cause.lens import lens
from viz_core.ui.pages.cause.pair import Pair, changed_sentence, find_pair
from viz_core.ui.pages.cause.parts import attribution
from viz_core.ui.shell import PAGES, below, current, present, section_of, two_runs, view, write_link
from viz_core.ui.shell.setup import problem_words
from viz_core.ui.shell.widgets import widget_shows


@st.fragment
def cause() -> None:
    """Draw the page below its heading. As a fragment: a click on a cell reruns only this function, once the sidebar shows B."""
    context = present()
    if _sidebar_is_older(context.config.sides):
        st.rerun()
    if context.capture is not None:
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        with row:
            section = section_of(PAGES["cause"])
            sentence_picker(context, context.capture, beside=True)
        two = two_runs(context, ())
        if not context.config.has_head:
            st.info(_("This model has no vocabulary logits, so it gives no answer to explain. Choose a model with a decoder."))
        elif (pair := find_pair(context, two)) is not None:
            with row:
                changed_sentence(pair)
            _section(section, pair)
    write_link()


def _sidebar_is_older(sides: Sequence[str]) -> bool:
    """Whether the text boxes of the sidebar show a text from before a click on this page.

    sides: those of the model. The sidebar draws no box for other sides, so their widget state may be that of an earlier model.
    """
    setup = current()
    boxes = [side for side in sides if side == "source" or setup.writer != "model"]
    return any(widget_shows(side) not in (None, getattr(setup, side)) for side in boxes)


def _section(name: str, pair: Pair) -> None:
    """Draw the selected section, or say why there is no question to answer."""
    try:
        question = asked(pair)
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        return
    if question is None and name != "lens":
        st.info(_no_question(pair))
        with below():
            controls(pair, None)
    else:
        SECTIONS[name](pair, question or Question(0, 0, 0))
    if question is not None and name != "lens":
        st.markdown(target_words(pair, question))


def _no_question(pair: Pair) -> str:
    """Return why there is no question, at the selected position or at any."""
    at = view("cause_at")
    if at < 0:
        return _("Both runs give the same answer at every position, so there is no difference to explain. Choose another change.")
    if pair.partner(at) is None:
        return _("The changed sentence has no counterpart of token {at}; choose another position.", at=at + 1)
    return _("At this position both runs give the same answer; choose another position.")


SECTIONS: dict[str, Callable[[Pair, Question], None]] = {
    "patching": patching, "lens": lens, "attribution": attribution, "heads": heads,
}
