"""The clean and the changed run: the run that was kept as A and the present one, or the present one and a proposed change.

A always gives the values and B takes them, on every page. So the direction says which of them is the clean run: A where clean
values go into the changed run, B where changed values go into the clean one.
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

MOST_KNOWN = 40  # ids that are looked at for a word to put in place of the only one
OFFERING = 0.02  # seconds to find changes of a sentence, roughly
OFFERED_WIDTH = 210  # pixels of the list of changes
RUNS = {"clean": _("Clean run"), "changed": _("Changed run")}
Place = tuple[str, str, int, int | None, int | None]  # as the view "patch" holds it


@dataclass(frozen=True, slots=True)
class Pair:
    """Both runs, which read the same target; the changes of the clean sentence that are offered. patched: B with its patch."""

    clean: Lab
    changed: Lab
    item: int
    offers: tuple[Replacement, ...]
    patched: Lab | None = None

    @property
    def side(self) -> Side:
        """The side whose sentence is changed."""
        return self.clean.config.input_side

    def sentence(self, which: Lab) -> str:
        """The typed sentence of one of the runs."""
        return _sentence(which.setup, self.item)

    def run(self) -> Lab:
        """The run that a section shows which needs only one; with the patch, where it is B."""
        chosen = self.clean if view("cause_run") == "clean" else self.changed
        return self.patched if self.patched is not None and chosen is not self.donor() else chosen

    def place(self, at: int) -> int | None:
        """Where the run of `run` has the token that the clean one has at this place of the output side; None where it has none."""
        return at if view("cause_run") == "clean" else self.partner(at)

    def partner(self, at: int) -> int | None:
        """The place of the changed run's output side that stands for this one of the clean run; None where there is none."""
        clean, changed = self.clean.capture, self.changed.capture
        assert clean is not None and changed is not None
        side = self.clean.config.output_side
        return next((j for i, j in pairs(*(run.ids(side, self.item) for run in (clean, changed))) if i == at), None)

    def donor(self) -> Lab:
        """The run whose values are put into the other."""
        return self.clean if view("cause_direction") == "denoise" else self.changed


def find_pair(lab: Lab, two: TwoRuns | None) -> Pair | None:
    """The two runs of the page; None where there are none, after the reason."""
    clean, changed = lab, None
    if view("kept"):
        if two is None:
            return None  # the line about A and B has said why
        if two.a.model_key() != lab.model_key():
            st.markdown(_("A and B are runs of different models, so no value of one means anything in the other. Clear A, or "
                          "choose its model again."))
            return None
        clean, changed = (two.a, lab) if view("cause_direction") == "denoise" else (lab, two.a)
    assert lab.capture is not None
    item = lab.item(lab.capture)
    offers = _offers(clean, item)
    if changed is not None and _same_ids(clean, changed, item):
        st.caption(_("Both sentences give the model the same ids, so a proposed change is shown; change a word."))
        changed = None
    if changed is None:
        if not offers:
            st.markdown(_("The page has no other word for this sentence. Type a changed sentence below."))
            typed(clean, item, "")
            return None
        changed = _proposed(clean, item, offers)
    changed = _reading_the_target_of(clean, changed)
    if changed.capture is None:
        st.markdown(_("The changed sentence cannot be run: type another one."))
        typed(clean, item, _sentence(changed.setup, item))
        return None
    patched = two.b if two is not None and view("patch") and (lab is clean or lab is changed) else None
    return Pair(clean, changed, item, offers, patched)


def which_run() -> None:
    """The switch between the clean and the changed run."""
    view_widget(st.segmented_control, "cause_run", _("Run that is explained"), required=True, format_func=RUNS.get,
                label_visibility="collapsed")


# ---------------------------------------------------------------- the sentences


def with_sentence(setup: Setup, item: int, sentence: str) -> Setup:
    """The setup with another text in place of one of its sentences."""
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
    """Sentences that differ in one word; where neither examples nor lexicon have one, another word of the sentence or of the
    vocabulary in place of one of its own: ids, where those are typed, and characters, where these are the tokens."""
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
    """The run of the first change on offer after which the model writes another word; of the first one where it never does."""
    from viz_core.ui.shell.cache import cached_result

    def run_of(offer: Replacement) -> Lab:
        setup = _with_the_same_target(clean.setup, with_sentence(clean.setup, item, offer.sentence))
        return _reading_the_target_of(clean, lab_of(setup))

    def differs(changed: Lab) -> bool:
        if clean.capture is None or changed.capture is None:
            return False
        return first_difference(clean.capture, changed.capture, item, item) is not None

    number = cached_result("change", (clean.key(), item), lambda: next(
        (i for i, offer in enumerate(offers) if differs(run_of(offer))), 0), len(offers) * clean.cost()[0])
    return run_of(offers[number])


def _known(clean: Lab, item: int) -> Iterator[str]:
    """Some words of the vocabulary; ids, where those are typed."""
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
    """The changed run with the clean one's target, where the model has a source besides."""
    if not clean.config.has_cross_attention or clean.capture is None or _same_target(clean, changed):
        return changed
    again = lab_of(_with_the_same_target(clean.setup, changed.setup))
    return again if again.capture is None or _same_target(clean, again) else _with_target_ids(clean, again)


def _same_target(a: Lab, b: Lab) -> bool:
    """Whether both runs have read the same ids as their target."""
    rows = (None if lab.capture is None else lab.capture["ids.target"].tolist() for lab in (a, b))
    return next(rows) == next(rows)


def _with_target_ids(clean: Lab, changed: Lab) -> Lab:
    """The changed run with the very ids of the clean one's target, where the same text gives other ids: which unknown words a
    slot carries depends on the source."""
    from viz_core.ui.shell.cache import cached_run

    assert clean.batch is not None and changed.batch is not None
    def of_both(name: str) -> dict[str, Any]:
        own, target = getattr(changed.batch, name), getattr(clean.batch, name)
        return {"source": own["source"], "target": target["target"], "labels": target["labels"]}

    batch = replace(changed.batch, ids=of_both("ids"), tokens=of_both("tokens"), is_token=of_both("is_token"))
    setup = changed.setup
    return replace(changed, capture=cached_run(setup.weights, setup.config, batch, setup.seed, setup.device), batch=batch)


# ---------------------------------------------------------------- what clicks do


def adopt(clean: Setup, changed: Setup, patch: Sequence[object] = ()) -> None:
    """Keep the run that gives as A, show the other in the sidebar as B, and patch B; for callbacks."""
    after = adopted(current(), clean, changed, patch)
    change(source=after.source, target=after.target, writer=after.writer, tokenizer=after.tokenizer, views=after.views)


def adopted(now: Setup, clean: Setup, changed: Setup, patch: Sequence[object] = ()) -> Setup:
    """The setup with the run that gives as A and the text of the one that takes, in which this place is patched."""
    gives, takes = (clean, changed) if now.view("cause_direction") == "denoise" else (changed, clean)
    views = with_view(now, kept=packed(gives), patch=tuple(patch)).views
    return replace(now, source=takes.source, target=takes.target, writer=takes.writer, tokenizer=takes.tokenizer, views=views)


def turn(clean: Setup, changed: Setup, patch: Sequence[object]) -> None:
    """The other direction: where there is an A, A and B change places. patch: the same place, as the new A counts it."""
    direction = widget_value("cause_direction")
    kept = bool(view("kept"))
    change(views=with_view(current(), cause_direction=direction).views)
    if kept:
        adopt(clean, changed, patch)


def typed(clean: Lab, item: int, shown: str) -> None:
    """The box for a changed sentence of one's own."""
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
    """What the runs differ in, in a row of controls: the changes on offer, and the box for a changed sentence of one's own."""
    _offered(pair)
    typed(pair.clean, pair.item, pair.sentence(pair.changed))


def _offered(pair: Pair) -> None:
    """The changes on offer, with the one that is shown."""
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

