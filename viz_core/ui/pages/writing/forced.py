"""Teacher forcing against free running: the loss of each true token where the model reads the truth, and its own words."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import log
from typing import Any

import numpy as np
import streamlit as st

from viz_core.figures.losses import losses_figure
from viz_core.formats import rounded
from viz_core.generation.forcing import Slipped, compare_with_slip
from viz_core.language import translate as _
from viz_core.limits import MAX_WRITTEN
from viz_core.text import visible
from viz_core.ui.components.glosses import named, shown_glosses
from viz_core.ui.controls import bounded, chart, dark, data_table, numeric, sentence_picker, table
from viz_core.ui.escape import escaped, token_code
from viz_core.ui.pages.writing import snippets
from viz_core.ui.pages.writing.beginning import SECONDS, Beginning, model_id
from viz_core.ui.shell import Lab, beside, look, view_widget
from viz_core.ui.shell.setup import problem_words

RAIL = 190
SAME = 1e-3  # by which two losses may differ and count as the same: two runs round differently
EXAMPLE = (101, 400, 500, 102)  # document 000's sentence as ids: [CLS], two words, [SEP]


def forced(lab: Lab, begun: Beginning) -> None:
    """Bars for both losses of each true token, and the two texts below them, word by word."""
    look(_("**Compare the two bars of each token:** once the model has written another word, it reads its own words, and then it "
           "may predict the true ones less well."))
    place, rail = beside(RAIL)
    with rail:
        labels = _truth(lab, begun)
        if not labels:
            place.info(_("All typed tokens are given, and this model has no token that ends a text, so no true token is left to "
                         "compare. Give it fewer words in the section Choose, or type a longer text."))
            return
        slip = bounded(st.number_input, "write_slip", _("Slip at token"), len(labels) - 1, least=-1, help=_(
            "At this token the model is made to write its second choice. 0: it never slips; −1: it slips at the token of which it "
            "is least sure, unless it goes wrong by itself."))
        assert lab.capture is not None
        sentence_picker(lab, lab.capture)
    with place:
        found = _compared(lab, begun, labels, slip)
        name = partial(lab.word, "target", item=begun.item)
        if found is not None:
            words = [visible(name(id)) for id in labels]
            chart(losses_figure(found.forcing.forced, found.free, words, found.parts_at, log(lab.config.output_vocab_size), dark(),
                                shown_glosses()), "write_losses", fill=True,
                  code=lambda: snippets.losses(lab, begun, labels, slip))
    if found is not None:
        st.markdown(_words(found, [name(i) for i in labels], [name(i) for i in found.written]))
        _both_texts(lab, begun, labels, found, slip)
    _example()


def _truth(lab: Lab, begun: Beginning) -> tuple[int, ...]:
    """The ids of the true sentence behind the start, <eos> last where the model has one; with an encoder a text box says it."""
    if begun.source is None:
        return begun.labels[len(begun.start()) - 1 :][:MAX_WRITTEN]
    text = view_widget(st.text_input, "write_true", _("True sentence"), placeholder=_example_target(lab),
                       help=_("Empty: the target of this run, or the example's own answer.")) or _example_target(lab)
    reader = lab.named(begun.item)["target"]
    ids = reader.read(text)[1] if text.strip() and lab.setup.tokenizer != "ids" else []
    labels = (*ids, *reader.around[1]) if ids else begun.labels
    if len(labels) > MAX_WRITTEN:
        st.caption(_("Only the first {most} tokens are compared.", most=MAX_WRITTEN))
    return labels[:MAX_WRITTEN]


def _example_target(lab: Lab) -> str:
    """The target that the card of the weights gives for this source, where it is one of its examples."""
    source = lab.setup.source.strip()
    return next((e[1] for e in (lab.setup.card.examples if lab.setup.card else ()) if e[0] == source), "")


def _compared(lab: Lab, begun: Beginning, labels: tuple[int, ...], slip: int) -> Slipped | None:
    from viz_core.ui.shell.cache import cached_result

    start, eos = begun.start(), lab.tokenizers["target"].eos_id

    def make() -> Slipped:
        return compare_with_slip(lab.model(), start, labels, begun.source, eos_id=eos, slip=None if slip < 0 else slip - 1)

    try:
        return cached_result("forcing", (model_id(lab), start, begun.source, labels, slip), make, 3 * SECONDS * len(labels),
                             8 * len(labels) * lab.config.output_vocab_size)
    except ValueError as error:
        st.warning(escaped(problem_words(error)))
        return None


def _words(found: Slipped, labels: Sequence[str], written: Sequence[str]) -> str:
    """Where the texts part, and what the first other word does to the losses behind it."""
    if found.parts_at is None and found.slip is not None:
        return _("**They never part:** at token {slip} the model was made to write its second choice, and that is the true word. "
                 "Change a word of the true sentence, or let the model slip elsewhere.", slip=found.slip + 1)
    if found.parts_at is None and not np.allclose(found.free, found.forcing.forced[: len(found.free)], atol=SAME):
        return _("**They never part:** the model writes the true sentence by itself. The losses differ all the same: without a "
                 "causal mask, the run that reads the true sentence also sees the tokens that come later.")
    if found.parts_at is None:
        return _("**They never part:** the model writes the true sentence by itself, so both losses are the same. Change a word of "
                 "the true sentence, or let the model slip.")
    at, n = found.parts_at, len(found.free)
    said = [_("**They part at token {at}:** the truth is {label}, the model writes {word}.", at=at + 1,
              label=token_code(labels[at]), word=token_code(written[at]))]
    if found.slip is not None:
        said.append(_("The model was made to slip at token {slip}, where it wrote its second choice.", slip=found.slip + 1))
    if n > at + 1:
        said.append(_("After that token, the mean loss is {free} if it reads its own words and {forced} if it reads the true ones.",
                      free=rounded(float(found.free[at + 1 :].mean()), 3),
                      forced=rounded(float(found.forcing.forced[at + 1 : n].mean()), 3)))
    if len(found.free) < len(labels):
        said.append(_("Its own text ends after {n} tokens, so the later true tokens have no second bar.", n=n))
    return " ".join(said)


def _both_texts(lab: Lab, begun: Beginning, labels: tuple[int, ...], found: Slipped, slip: int) -> None:
    """One line for each place: what each way reads last, the true token, and what each way would write."""
    from viz_core import tables

    both = replace(found.forcing, written=found.written, free=found.free)
    frame = tables.forcing(both, labels, begun.start()[-1], lambda id: lab.word("target", id, begun.item))
    words: dict[str, list[Any]] = {"place": [place + 1 for place in frame["place"]]}
    for name in ("input", "label", "predicted", "own_input", "written"):
        words[name] = [None if word is None else named(word) for word in frame[name]]
    data_table(frame, "write_both", {
        "place": _("place"), "input": _("true input"), "label": _("true token (label)"), "predicted": _("would write"),
        "forced_loss": numeric(_("loss, forced")), "own_input": _("own input"), "written": _("writes"),
        "free_loss": numeric(_("loss, free")),
    }, _("Both texts, token by token"), missing="–", words=words,
        code=lambda: snippets.both_texts(lab, begun, labels, slip))


def _example() -> None:
    """Inputs and labels of document 000's sentence: the same ids, one place apart."""
    st.markdown(_("**Inputs and labels are one sentence, shifted by one place.** Document 000 writes a sentence as the ids {ids}. "
                  "The decoder reads all but the last; at each place the label is the id that follows:",
                  ids=escaped(str(list(EXAMPLE)))))
    steps = list(pairwise(EXAMPLE))
    table([_("place"), _("reads so far"), _("input"), _("label")],
          [[str(i + 1), " ".join(map(str, EXAMPLE[: i + 1])), str(x), str(y)] for i, (x, y) in enumerate(steps)])
