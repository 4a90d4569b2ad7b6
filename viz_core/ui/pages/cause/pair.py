"""The clean and the corrupted run, which the page calls the changed run: A and the present run, or the present run and a change.

On every page, values are patched from A into B. So the direction determines which of them is the clean run: A if clean values
are patched into the corrupted run (denoising), B if corrupted values are patched into the clean run (noising).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from viz_core.config import Side
from viz_core.experiments.question import first_difference
from viz_core.language import translate as _
from viz_core.stages import SIDE_NAMES
from viz_core.text import split_characters, split_words
from viz_core.text.pairing import pairs
from viz_core.training.bilingual.replacements import Replacement, other_word, suggestions
from viz_core.ui.shell import Lab, TwoRuns, change, current, lab_of, touch, view, view_widget, widget, widget_value
from viz_core.ui.shell.setup import Setup, ids, packed, sentences, with_view
from viz_core.ui.shell.written import text_written

MOST_KNOWN = 40  # ids that are tried as a replacement
OFFERING = 0.02  # seconds to find replacements, approximately
OFFERED_WIDTH = 210  # pixels
RUNS = {"clean": _("Clean run"), "changed": _("Changed run")}
Place = tuple[str, str, int, int | None, int | None]  # stack, part, layer, head, token: the value of the link parameter "patch"


@dataclass(frozen=True, slots=True)
class Pair:
    """The clean and the corrupted run with the same target, and other replacements to choose from. patched: B with its patch."""

    clean: Lab
    changed: Lab
    item: int
    offers: tuple[Replacement, ...]
    patched: Lab | None = None

    @property
    def side(self) -> Side:
        """The side whose sentence is corrupted."""
        return self.clean.config.input_side

    def sentence(self, which: Lab) -> str:
        """Return the typed sentence of one of the runs."""
        return _sentence(which.setup, self.item)

    def run(self) -> Lab:
        """Return the run for a section that shows only one; if that is B and B is patched, the patched run."""
        chosen = self.clean if view("cause_run") == "clean" else self.changed
        return self.patched if self.patched is not None and chosen is not self.donor() else chosen

    def place(self, at: int) -> int | None:
        """Return the position in `explained_run` of a token of the clean run's output side; None if it has no counterpart."""
        return at if view("cause_run") == "clean" else self.partner(at)

    def partner(self, at: int) -> int | None:
        """Return the position in the corrupted run of a token of the clean run's output side; None if it has no counterpart."""
        clean, corrupted = self.clean.capture, self.changed.capture
        assert clean is not None and corrupted is not None
        side = self.clean.config.output_side
        return next((j for i, j in pairs(*(run.ids(side, self.item) for run in (clean, corrupted))) if i == at), None)

    def donor(self) -> Lab:
        """Return the run whose values are patched into the other."""
        return self.clean if view("cause_direction") == "denoise" else self.changed


def find_pair(lab: Lab, two: TwoRuns | None) -> Pair | None:
    """Return the two runs of the page; None, after the reason, if there are none."""
    clean, corrupted = lab, None
    if view("kept"):
        if two is None:
            return None  # `two_runs` has shown the reason
        if two.a.model_key() != lab.model_key():
            st.markdown(_("A and B are runs of different models, so no value of one means anything in the other. Clear A, or "
                          "choose its model again."))
            return None
        clean, corrupted = (two.a, lab) if view("cause_direction") == "denoise" else (lab, two.a)
    assert lab.capture is not None
    item = lab.item(lab.capture)
    offers = _offers(clean, item)
    if corrupted is not None and _same_ids(clean, corrupted, item):
        st.caption(_("Both sentences give the model the same ids, so a proposed change is shown; change a word."))
        corrupted = None
    if corrupted is None:
        if not offers:
            st.markdown(_("The page has no other word for this sentence. Type a changed sentence below."))
            typed(clean, item, "")
            return None
        corrupted = _proposed(clean, item, offers)
    corrupted = _reading_the_target_of(clean, corrupted)
    if corrupted.capture is None:
        st.markdown(_("The changed sentence cannot be run: type another one."))
        typed(clean, item, _sentence(corrupted.setup, item))
        return None
    patched = two.b if two is not None and view("patch") and (lab is clean or lab is corrupted) else None
    return Pair(clean, corrupted, item, offers, patched)


def which_run() -> None:
    """Draw the control that selects the clean or the corrupted run."""
    view_widget(st.segmented_control, "cause_run", _("Run that is explained"), required=True, format_func=RUNS.get,
                label_visibility="collapsed")


# ---------------------------------------------------------------- the sentences


def with_sentence(setup: Setup, item: int, sentence: str) -> Setup:
    """Return the setup with one of its sentences replaced. item: the number of the sentence, without empty lines."""
    side = _typed_side(setup)
    lines = getattr(setup, side).replace("\r\n", "\n").split("\n")
    number = [i for i, line in enumerate(lines) if line.strip()][item]
    lines[number] = sentence.replace("\r", " ").replace("\n", " ")
    text = "\n".join(lines)
    return replace(setup, source=text) if side == "source" else replace(setup, target=text)


def _typed_side(setup: Setup) -> str:
    return "source" if setup.config.has_encoder else "target"


def _sentence(setup: Setup, item: int) -> str:
    sources, targets, __ = sentences(setup)
    typed_lines = sources if setup.config.has_encoder else targets
    return typed_lines[item] if item < len(typed_lines) else ""


def _offers(clean: Lab, item: int) -> tuple[Replacement, ...]:
    """Return sentences that differ from the clean one in one word.

    If neither the examples nor the lexicon have any: one in which a word (or id, or character, as the text is tokenized) is
    replaced by another one of the sentence or of the vocabulary.
    """
    from viz_core.ui.shell.cache import cached_result

    setup, sentence = clean.setup, _sentence(clean.setup, item)
    side = clean.config.input_side
    if setup.tokenizer == "word":
        examples = [example[side == "target"] for example in setup.origin.examples] if setup.origin else []
        key = setup.checkpoint, clean.config.vocab_size(side), sentence
        if found := cached_result("offers", key, lambda: suggestions(sentence, clean.named(item)[side], examples), OFFERING):
            return found
    reader, split = clean.named(item)[side], split_characters if setup.tokenizer == "character" else split_words

    def read(text: str) -> tuple[Sequence[str], Sequence[int]]:
        return (split_words(text), ids(side, [text])[0]) if setup.tokenizer == "ids" else reader.read(text)

    one = other_word(sentence, read, _known(clean, item), reader.unk_id, split)
    return () if one is None else (one,)


def _proposed(clean: Lab, item: int, offers: Sequence[Replacement]) -> Lab:
    """Return the run of the first replacement that changes a predicted word, or of the first replacement if none does."""
    from viz_core.ui.shell.cache import cached_result

    def run_of(offer: Replacement) -> Lab:
        setup = _with_the_same_target(clean.setup, with_sentence(clean.setup, item, offer.sentence))
        return _reading_the_target_of(clean, lab_of(setup))

    def differs(corrupted: Lab) -> bool:
        if clean.capture is None or corrupted.capture is None:
            return False
        return first_difference(clean.capture, corrupted.capture, item, item) is not None

    number = cached_result("change", (clean.key(), item), lambda: next(
        (i for i, offer in enumerate(offers) if differs(run_of(offer))), 0), len(offers) * clean.cost()[0])
    return run_of(offers[number])


def _known(clean: Lab, item: int) -> Iterator[str]:
    """Yield some words of the vocabulary, or ids if ids are typed."""
    reader = clean.named(item)[clean.config.input_side]
    special = (reader.pad_id, reader.bos_id, reader.eos_id, reader.unk_id)
    for id in range(min(reader.vocab_size, MOST_KNOWN)):
        word = reader.decode(id)
        if id not in special and clean.setup.tokenizer == "ids":
            yield str(id)
        elif id not in special and word.strip() and reader.read(word)[1] == [id]:
            yield word


def _same_ids(a: Lab, b: Lab, item: int) -> bool:
    if a.capture is None or b.capture is None:
        return False
    side = a.config.input_side
    return a.capture.ids(side, item) == b.capture.ids(side, min(item, b.capture.n_sentences - 1))


def _reading_the_target_of(clean: Lab, changed: Lab) -> Lab:
    """Return the corrupted run with the target of the clean run. Only a model with cross-attention has both."""
    if not clean.config.has_cross_attention or clean.capture is None or _same_target(clean, changed):
        return changed
    again = lab_of(_with_the_same_target(clean.setup, changed.setup))
    return again if again.capture is None or _same_target(clean, again) else _with_target_ids(clean, again)


def _same_target(a: Lab, b: Lab) -> bool:
    """Whether both runs have the same target ids."""
    rows = (None if context.capture is None else context.capture["ids.target"].tolist() for context in (a, b))
    return next(rows) == next(rows)


def _with_target_ids(clean: Lab, changed: Lab) -> Lab:
    """Return the corrupted run with the target ids of the clean run.

    The same text can give other ids: the source determines which unknown word each copy slot holds.
    """
    from viz_core.ui.shell.cache import cached_run

    assert clean.batch is not None and changed.batch is not None
    def of_both(name: str) -> dict[str, Any]:
        own, target = getattr(changed.batch, name), getattr(clean.batch, name)
        return {"source": own["source"], "target": target["target"], "labels": target["labels"]}

    batch = replace(changed.batch, ids=of_both("ids"), tokens=of_both("tokens"), is_token=of_both("is_token"))
    setup = changed.setup
    return replace(changed, capture=cached_run(setup.weights, setup.config, batch, setup.seed, setup.device), batch=batch)


# ---------------------------------------------------------------- callbacks and their controls


def adopt(clean: Setup, changed: Setup, patch: Sequence[object] = ()) -> None:
    """Make the donor A and the other run B, which the sidebar shows, and patch B. For callbacks."""
    after = adopted(current(), clean, changed, patch)
    change(source=after.source, target=after.target, writer=after.writer, tokenizer=after.tokenizer, views=after.views)


def adopted(now: Setup, clean: Setup, changed: Setup, patch: Sequence[object] = ()) -> Setup:
    """Return the setup with the donor kept as A, the text of the other run, and this patch."""
    gives, takes = (clean, changed) if now.view("cause_direction") == "denoise" else (changed, clean)
    views = with_view(now, kept=packed(gives), patch=tuple(patch)).views
    return replace(now, source=takes.source, target=takes.target, writer=takes.writer, tokenizer=takes.tokenizer, views=views)


def turn(clean: Setup, changed: Setup, patch: Sequence[object]) -> None:
    """Change the direction; if a run is kept as A, A and B are exchanged. patch: the patch with token indices of the new A."""
    direction = widget_value("cause_direction")
    kept = bool(view("kept"))
    change(views=with_view(current(), cause_direction=direction).views)
    if kept:
        adopt(clean, changed, patch)


def typed(clean: Lab, item: int, shown: str) -> None:
    """Draw the text box for a corrupted sentence. shown: its text."""
    setup = clean.setup

    def take(name: str) -> None:
        if text := widget_value(name).strip():
            adopt(setup, _with_the_same_target(setup, with_sentence(setup, item, text)))
        else:
            touch()

    if setup.config.has_cross_attention:
        meaning = _("The clean run stays as A. What you type here becomes the source of the sidebar, with the clean run’s target.")
    else:
        meaning = _("The clean run stays as A. What you type here becomes the {side} of the sidebar.",
                    side=SIDE_NAMES[clean.config.input_side])
    widget(st.text_input, "cause_typed", _("Changed sentence"), shown, take, help=meaning, label_visibility="collapsed",
           icon=":material/edit:", placeholder=_("Changed sentence"))


def changed_sentence(pair: Pair) -> None:
    """Draw the controls of the corrupted sentence: the list of replacements, and a text box."""
    _offered(pair)
    typed(pair.clean, pair.item, pair.sentence(pair.changed))


def _offered(pair: Pair) -> None:
    """Draw the list of replacements, with the present one selected."""
    shown, setup, item = pair.sentence(pair.changed), pair.clean.setup, pair.item
    named = {offer.sentence: _("Change: {old} → {new}", old=offer.old, new=offer.new) for offer in pair.offers}
    if shown not in named:
        named = {shown: _("Change: typed"), **named}

    def take(name: str) -> None:
        adopt(setup, _with_the_same_target(setup, with_sentence(setup, item, widget_value(name))))

    widget(st.selectbox, "cause_changed", _("Change"), shown, take, options=list(named), named=tuple(named.values()),
           format_func=named.__getitem__, label_visibility="collapsed", width=OFFERED_WIDTH)


def _with_the_same_target(clean: Setup, changed: Setup) -> Setup:
    if not clean.config.has_cross_attention:
        return changed
    target = text_written(clean) if clean.writer == "model" else clean.target
    return replace(changed, writer="typed", target=target)

