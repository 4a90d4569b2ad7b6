"""The first screen of Home: on the left a text box and the model's output, on the right attention between the words."""

from typing import TYPE_CHECKING

import streamlit as st

from viz_core.analysis.attention import AttentionKind, kinds
from viz_core.analysis.labelled_weights import weights_read
from viz_core.analysis.summary import sureness
from viz_core.capture import Capture
from viz_core.figures.attention import KIND_TITLES
from viz_core.figures.glosses import glosses_of, words_html
from viz_core.formats import percent
from viz_core.language import plural
from viz_core.language import translate as _
from viz_core.stages import tour
from viz_core.text import in_quotes, isolated, shorten, visible
from viz_core.ui.components.glosses import labelled, shown_glosses
from viz_core.ui.components.lines import lines
from viz_core.ui.controls import sentence_picker
from viz_core.ui.escape import escaped
from viz_core.ui.pages.attention.focus import first_head
from viz_core.ui.pages.home import snippets
from viz_core.ui.pages.lost_words import lost_words, lost_words_help
from viz_core.ui.shell import PAGES, Lab, change, current, look, picture, set_view, touch, widget, widget_value
from viz_core.ui.shell.setup import Setup
from viz_core.ui.shell.state import ENTERED, GOING
from viz_core.ui.shell.task_words import known_words, task_words, typed_target
from viz_core.ui.shell.widgets import RESTORING
from viz_core.ui.shell.written import written

if TYPE_CHECKING:  # torch is imported where it is used: see `viz_core.ui.shell.runs.page_context`
    from viz_core.generate import Written

TYPED_SIDE = 296  # pixels of the column with the text box
MOST_EXAMPLES = 4
COLUMNS: dict[str, tuple[str, str]] = {
    "cross": (_("the target"), _("your sentence")), "translated": (_("translation"), _("your sentence")),
    "written": (_("what it writes"), _("what it reads")),
    "encoder": (_("each word"), _("attends to")),
    "decoder": (_("to predict this word"), _("the model attends to")),
}
READS: dict[str, str] = {
    "cross": _("Each line leads from a word of the target to a word of your sentence that the model attended to; the thicker "
               "the line, the larger the weight."),
    "encoder": _("Each line leads from a word to a word that it takes information from; the thicker the line, the larger the "
                 "weight."),
    "decoder": _("Each line leads from a word that the model has to predict to a word that it attended to for this; the thicker "
                 "the line, the larger the weight."),
}


def welcome(lab: Lab) -> None:
    """Draw the first screen."""
    kind = kinds(lab.config)[-1] if kinds(lab.config) else None
    if lab.capture is not None:
        look(_reads(lab, kind) if kind else _("This model has no layers, so no word attends to another one. Add a layer in the "
                                              "sidebar."))
    with st.container(key="lab_beside", horizontal=True, gap="medium"):
        with st.container(key="home_typed", width=TYPED_SIDE):
            _box(lab)
            if lab.capture is not None:
                sentence_picker(lab, lab.capture)  # selects the sentence of the rest of the page
            _translation(lab)
            _examples(lab)
            _next_step(lab)
        if lab.capture is not None and kind is not None:
            with picture():
                _words(lab, lab.capture, kind)


def _reads(lab: Lab, kind: AttentionKind) -> str:
    """Return how to read the lines."""
    card = lab.setup.card
    writes = kind == "cross" and lab.setup.writer == "model" and card is not None
    return task_words(card, lab.config.architecture).story if writes and card else READS[kind]


def _story(lab: Lab, kind: AttentionKind) -> str:
    """Return the key in `COLUMN_TITLES`: a kind of attention, or "translated" or "written" for the model's own output."""
    if kind != "cross" or lab.setup.writer != "model":
        return kind
    return "translated" if lab.setup.card and lab.setup.card.task == "translate" else "written"


def _box(lab: Lab) -> None:
    """Draw the text box, which shows the same text as that of the sidebar."""
    side = lab.config.input_side
    widget(st.text_area, f"home_{side}", _box_label(lab.setup), getattr(current(), side), _keep_text, height=110,
           help=_("One sentence per line. Press Ctrl+Enter, or click elsewhere, and the model reads it."))


def _box_label(setup: Setup) -> str:
    """Return the label of the text box: what to type, and what the model does with it."""
    if setup.tokenizer == "ids":
        return _("Type the ids of a sentence")
    if setup.card is None:
        return _("Type a sentence for this untrained model")
    if setup.translates and setup.writer != "model":
        return typed_target(setup.card)
    return task_words(setup.card, setup.config.architecture).box


def _translation(lab: Lab) -> None:
    """Write the model's output for the selected sentence, and what is known about it.

    The caption names untranslated words, says whether the output was cut off, and gives its probability.
    """
    if lab.setup.writer != "model" or lab.capture is None or lab.setup.card is None:
        return
    title = task_words(lab.setup.card, lab.config.architecture).title
    item = lab.item(lab.capture)
    one = written(lab.setup)[item]
    words = [shorten(visible(word)) for word in one.text.split()]  # in full in the sidebar
    if glosses_of(words, shown_glosses()):
        output = _("<b>{title}:</b> {text}", title=title, text=words_html(words, shown_glosses()))
        st.html(f'<div style="line-height:1.3">{output}</div>')
    else:
        st.markdown(_("**{title}:** {text}", title=title, text=escaped(isolated(" ".join(words)))))
    has_probs = "probs" in lab.capture and lab.config.is_causal  # without a causal mask, one run does not give these probabilities
    known = [lost_words(lab, lab.capture, item) if has_probs else "", _stopped(one)]
    if has_probs and (sure := sureness(lab.capture, item, ended=one.ended)) is not None:
        least = in_quotes(labelled(shorten(visible(lab.capture.tokens("labels")[item][sure.least]))))
        known.append(_("Probability: {each} per word (the geometric mean), {all} for the whole, a product over all words. The "
                       "model was least sure of {word}: {least}.", each=percent(sure.per_word), all=percent(sure.probability),
                       word=escaped(least), least=percent(sure.least_probability)))
    if caption := " ".join(filter(None, known)):
        st.caption(caption, help=lost_words_help(lab) if known[0] else None)


def _stopped(one: "Written") -> str:
    """Return that the output was cut off at the limit; "" if it ended by itself."""
    if one.ended:
        return ""
    return plural("It stopped at the limit of {n} word, before its end.", "It stopped at the limit of {n} words, before its end.",
                  len(one.text.split()))


def _keep_text(name: str) -> None:
    side = name.removeprefix("home_")
    if st.session_state.get(RESTORING) and widget_value(name) == getattr(st.session_state[ENTERED], side):
        return  # a restored tab: the text was typed into the sidebar's box
    change(**{side: widget_value(name)})


def _examples(lab: Lab) -> None:
    """Draw buttons with example sentences."""
    examples = lab.setup.origin.examples if lab.setup.origin else []
    if not examples:
        return
    with st.container(gap="xxsmall"):
        st.caption(known_words(lab.setup.card) if lab.setup.card else _("Or try one of these:"))
        for i, (source, target) in enumerate(examples[:MOST_EXAMPLES]):
            st.button(escaped(source or target), key=f"home_try_{i}", on_click=change, type="tertiary", wrap=True,
                      kwargs={"source": source, "target": target})


def _next_step(lab: Lab) -> None:
    """Draw the button that starts the tour of Step by step."""
    st.button(_("Follow a word through the model"), key="home_tour", type="primary", icon=":material/arrow_forward:",
              on_click=_begin_tour, args=(tour(lab.config)[0],), disabled=lab.capture is None, width="stretch")


def _begin_tour(first: str) -> None:
    touch()
    change(stage=first)
    set_view(walk_mode="tour")
    st.session_state[GOING] = PAGES["step_by_step"].path


def _words(lab: Lab, capture: Capture, kind: AttentionKind) -> None:
    """Draw the attention of one head as lines between words, from the target to the source or within one sentence."""
    __, layer, head = first_head(lab, capture, [kind])
    item = lab.item(capture)
    weights, queries, keys = weights_read(capture, kind, layer, item)
    named = _("{kind_titles}, layer {layer}, head {head}", kind_titles=KIND_TITLES[kind], layer=layer, head=head)
    lines(weights, queries, keys, [head], None, named, key="home_words", identity=f"{kind}.{layer}.{head}", fill=True,
          names=COLUMNS[_story(lab, kind)],  # what is picked here is not in the link, unlike on the Attention page
          code=lambda: snippets.words(lab, kind, layer, head, item))
