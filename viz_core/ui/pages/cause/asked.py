"""The question: the logit of one word minus that of another, at one position. Each part has a default and a control."""

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

WORD_WIDTH, PLACE_WIDTH = 120, 170  # pixels
WORDS = {
    "cause_word": (_("Word"), _("One word of the model’s output. Empty: the word that the clean run writes there.")),
    "cause_other": (_("Other word"),
                    _("The word that it is compared with. Empty: the word that the changed run writes there, or its next best.")),
}
READ = 12  # tokens of the target that are quoted


def asked(pair: Pair) -> Question | None:
    """Return the question of the link, with a default for each part that it leaves out; None if the runs do not differ.

    For a typed word that is not in the vocabulary, the page shows a warning and uses the default.
    """
    clean, corrupted = pair.clean.capture, pair.changed.capture
    assert clean is not None and corrupted is not None
    side = pair.clean.config.output_side
    last = len(clean.ids(side, pair.item)) - 1
    at = inside("cause_at", _("Position"), last, -1)
    found = proposed_question(clean, corrupted, pair.item, pair.item, None if at < 0 else at)
    word, other = (_typed_id(pair, name) for name in ("cause_word", "cause_other"))
    if found is None:
        if word is None or other is None:
            return None
        return Question(word, other, at if at >= 0 else last)
    return Question(found.word if word is None else word, found.other if other is None else other, found.at)


def _typed_id(pair: Pair, name: str) -> int | None:
    """Return the id of a typed word; None if nothing is typed, or, after a warning, if it is not in the vocabulary."""
    if not view(name).strip():
        return None
    try:
        return answer_id(pair.clean.named(pair.item)[pair.clean.config.output_side], view(name))
    except ValueError as problem:
        st.warning(escaped(problem_words(problem)))
        return None


def controls(pair: Pair, question: Question | None) -> None:
    """Draw the controls of the question: the two words and the position."""
    clean = pair.clean
    assert clean.capture is not None
    side = clean.config.output_side
    named = ("", "") if question is None else tuple(answer(clean, id, pair.item) for id in question[:2])
    for (name, (label, meaning)), word in zip(WORDS.items(), named, strict=True):
        view_widget(st.text_input, name, label, placeholder=labelled(visible(word)), width=WORD_WIDTH,
                    label_visibility="collapsed", help=meaning)
    length = len(clean.capture.ids(side, pair.item))
    tokens = [shorten(visible(token)) for token in clean.capture.tokens(side)[pair.item][:length]]
    asked_at = -1 if question is None else question.at
    if clean.in_place:
        places = tuple(_("at {token}", token=in_quotes(labelled(token))) for token in tokens)
        proposed = _("at {token} (proposed)", token=in_quotes(tokens[asked_at])) if asked_at >= 0 else _("position: proposed")
    else:
        places = tuple(_("after {token}", token=in_quotes(labelled(token))) for token in tokens)
        proposed = _("after {token} (proposed)", token=in_quotes(tokens[asked_at])) if asked_at >= 0 else _("position: proposed")
    widget(st.selectbox, "cause_at", _("Position"), min(view("cause_at"), length - 1), keep, named=(proposed, *places),
           options=range(-1, length), width=PLACE_WIDTH, label_visibility="collapsed",
           format_func=lambda i: places[i] if i >= 0 else proposed)


def answer(lab: Lab, id: int, item: int) -> str:
    """Return the word of an id of the output side."""
    return lab.word(lab.config.output_side, id, item)


def target_words(pair: Pair, question: Question) -> str:
    """Return a sentence on the question: the target up to its position, and the two words."""
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
