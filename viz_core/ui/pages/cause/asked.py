"""The question: this word against that word, at this place. The page proposes it, and each part can be typed or chosen."""

import streamlit as st

from viz_core.experiments.question import Question, proposed_question
from viz_core.language import translate as _
from viz_core.text import in_quotes, shorten, visible
from viz_core.text.answers import answer_id
from viz_core.ui.components.glosses import labelled
from viz_core.ui.controls import inside, keep
from viz_core.ui.escape import escaped, token_code
from viz_core.ui.pages.cause.pair import Pair
from viz_core.ui.shell import Lab, view, view_widget, widget
from viz_core.ui.shell.setup import problem_words

WORD_WIDTH, PLACE_WIDTH = 120, 170  # pixels of the controls
WORDS = {
    "cause_word": (_("Word"), _("One word of the model’s output. Empty: the word that the clean run writes there.")),
    "cause_other": (_("Other word"),
                    _("The word that it is compared with. Empty: the word that the changed run writes there, or its next best.")),
}
READ = 12  # tokens of the target that a sentence repeats


def asked(pair: Pair) -> Question | None:
    """The question of the link, its parts proposed where the link leaves them out; None where the runs do not differ.

    A typed word that is none is said, and the proposed one is used.
    """
    clean, changed = pair.clean.capture, pair.changed.capture
    assert clean is not None and changed is not None
    side = pair.clean.config.output_side
    last = len(clean.ids(side, pair.item)) - 1
    at = inside("cause_at", _("Place"), last, -1)
    found = proposed_question(clean, changed, pair.item, pair.item, None if at < 0 else at)
    word, other = (_typed_id(pair, name) for name in ("cause_word", "cause_other"))
    if found is None:
        if word is None or other is None:
            return None
        return Question(word, other, at if at >= 0 else last)
    return Question(found.word if word is None else word, found.other if other is None else other, found.at)


def _typed_id(pair: Pair, name: str) -> int | None:
    """The id of a typed answer; None where none is typed, or what is typed is none, which is then said."""
    if not view(name).strip():
        return None
    try:
        return answer_id(pair.clean.named(pair.item)[pair.clean.config.output_side], view(name))
    except ValueError as problem:
        st.warning(escaped(problem_words(problem)))
        return None


def controls(pair: Pair, question: Question | None) -> None:
    """Word against word, and the place, in a row of controls."""
    clean = pair.clean
    assert clean.capture is not None
    side = clean.config.output_side
    named = ("", "") if question is None else tuple(answer(clean, id, pair.item) for id in question[:2])
    for (name, (label, meaning)), said in zip(WORDS.items(), named, strict=True):
        view_widget(st.text_input, name, label, placeholder=labelled(visible(said)), width=WORD_WIDTH,
                    label_visibility="collapsed", help=meaning)
    length = len(clean.capture.ids(side, pair.item))
    tokens = [shorten(visible(token)) for token in clean.capture.tokens(side)[pair.item][:length]]
    asked_at = -1 if question is None else question.at
    if clean.in_place:
        places = tuple(_("at {token}", token=in_quotes(labelled(token))) for token in tokens)
        proposed = _("at {token} (proposed)", token=in_quotes(tokens[asked_at])) if asked_at >= 0 else _("place: proposed")
    else:
        places = tuple(_("after {token}", token=in_quotes(labelled(token))) for token in tokens)
        proposed = _("after {token} (proposed)", token=in_quotes(tokens[asked_at])) if asked_at >= 0 else _("place: proposed")
    widget(st.selectbox, "cause_at", _("Place"), min(view("cause_at"), length - 1), keep, named=(proposed, *places),
           options=range(-1, length), width=PLACE_WIDTH, label_visibility="collapsed",
           format_func=lambda i: places[i] if i >= 0 else proposed)


def answer(lab: Lab, id: int, item: int) -> str:
    """An id of the output side as a word."""
    return lab.word(lab.config.output_side, id, item)


def target_words(pair: Pair, question: Question) -> str:
    """What both runs have read when they are asked, and what they are asked."""
    clean = pair.clean
    assert clean.capture is not None
    tokens = clean.capture.tokens(clean.config.output_side)[pair.item][: question.at + 1]
    read = " ".join(map(visible, tokens[-READ:]))
    words = [token_code(answer(clean, id, pair.item)) for id in question[:2]]
    if not clean.config.has_cross_attention:
        return _("The question is asked at token {at}, {token}: the logit of {word} minus that of {other}.", at=question.at,
                 token=token_code(tokens[-1]), word=words[0], other=words[1])
    return _("Both runs have read the same target, {read}, and are asked for the next word: the logit of {word} minus that of "
             "{other}.", read=token_code(("… " if len(tokens) > READ else "") + read), word=words[0], other=words[1])
