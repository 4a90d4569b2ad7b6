"""The section on teacher forcing: the loss of each true token if the model reads the true tokens, and if it reads its own."""

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
SAME = 1e-3  # losses that differ by less count as equal: two runs round differently
EXAMPLE = (101, 400, 500, 102)  # document 000's sentence as ids: [CLS], two words, [SEP]


def forced(lab: Lab, begun: Beginning) -> None:
    """Draw both losses of each true token as bars, and the two texts below them, token by token."""
    look(_("**Compare the two bars of each token:** once the model has written another word, it reads its own words, and then it "
           "may predict the true ones less well."))
    main, rail = beside(RAIL)
    with rail:
        labels = _truth(lab, begun)
        if not labels:
            main.info(_("All typed tokens are given, and this model has no token that ends a text, so no true token is left to "
                        "compare. Give it fewer words in the section Choose, or type a longer text."))
            return
        slip = bounded(st.number_input, "write_slip", _("Forced error at token"), len(labels) - 1, least=-1, help=_(
            "At this token the model is made to write its second choice. 0: at none; −1: at the token where it is least certain, "
            "unless it writes a wrong token by itself."))
        assert lab.capture is not None
        sentence_picker(lab, lab.capture)
    with main:
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
    """Return the ids of the true text after the prompt, <eos> last if the model has one; with an encoder it has a text box."""
    if begun.source is None:
        return begun.labels[len(begun.start()) - 1 :][:MAX_WRITTEN]
    text = view_widget(st.text_input, "write_true", _("True sentence"), placeholder=_example_target(lab),
                       help=_("Empty: the target of this run, or the example's own answer.")) or _example_target(lab)
    tokenizer = lab.named(begun.item)["target"]
    ids = tokenizer.read(text)[1] if text.strip() and lab.setup.tokenizer != "ids" else []
    labels = (*ids, *tokenizer.around[1]) if ids else begun.labels
    if len(labels) > MAX_WRITTEN:
        st.caption(_("Only the first {most} tokens are compared.", most=MAX_WRITTEN))
    return labels[:MAX_WRITTEN]


def _example_target(lab: Lab) -> str:
    """Return the target of this source if it is an example of the card of the weights; else ""."""
    source = lab.setup.source.strip()
    return next((e[1] for e in (lab.setup.card.examples if lab.setup.card else ()) if e[0] == source), "")


def _compared(lab: Lab, begun: Beginning, labels: tuple[int, ...], slip: int) -> Slipped | None:
    """Return the losses with teacher forcing and free running, cached; None, after a warning, if they cannot be computed."""
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
    """Return where the texts diverge, and how that changes the later losses, as Markdown."""
    if found.parts_at is None and found.slip is not None:
        return _("**They never diverge:** at token {slip} the model was made to write its second choice, and that is the true "
                 "word. Change a word of the true sentence, or force the error at another token.", slip=found.slip + 1)
    if found.parts_at is None and not np.allclose(found.free, found.forcing.forced[: len(found.free)], atol=SAME):
        return _("**They never diverge:** the model writes the true sentence by itself. The losses differ all the same: without a "
                 "causal mask, the run that reads the true sentence also sees the tokens that come later.")
    if found.parts_at is None:
        return _("**They never diverge:** the model writes the true sentence by itself, so both losses are the same. Change a word "
                 "of the true sentence, or force an error.")
    at, n = found.parts_at, len(found.free)
    sentences = [_("**They diverge at token {at}:** the truth is {label}, the model writes {word}.", at=at + 1,
                   label=token_code(labels[at]), word=token_code(written[at]))]
    if found.slip is not None:
        sentences.append(_("The model was made to write its second choice at token {slip}.", slip=found.slip + 1))
    if n > at + 1:
        sentences.append(_("After that token, the mean loss is {free} if it reads its own words and {forced} if it reads the "
                           "true ones.",
                           free=rounded(float(found.free[at + 1 :].mean()), 3),
                           forced=rounded(float(found.forcing.forced[at + 1 : n].mean()), 3)))
    if len(found.free) < len(labels):
        sentences.append(_("Its own text ends after {n} tokens, so the later true tokens have no second bar.", n=n))
    return " ".join(sentences)


def _both_texts(lab: Lab, begun: Beginning, labels: tuple[int, ...], found: Slipped, slip: int) -> None:
    """Show a table with a row per position: the token that each way reads, the true token, and what each way predicts."""
    from viz_core import tables

    compared = replace(found.forcing, written=found.written, free=found.free)
    frame = tables.forcing(compared, labels, begun.start()[-1], lambda id: lab.word("target", id, begun.item))
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
    """Show inputs and labels of document 000's sentence: the same ids, shifted by one position."""
    st.markdown(_("**Inputs and labels are one sentence, shifted by one place.** Document 000 writes a sentence as the ids {ids}. "
                  "The decoder reads all but the last; at each place the label is the id that follows:",
                  ids=escaped(str(list(EXAMPLE)))))
    steps = list(pairwise(EXAMPLE))
    table([_("place"), _("reads so far"), _("input"), _("label")],
          [[str(i + 1), " ".join(map(str, EXAMPLE[: i + 1])), str(x), str(y)] for i, (x, y) in enumerate(steps)])
