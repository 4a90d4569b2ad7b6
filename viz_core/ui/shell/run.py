"""The run that a page shows, made or taken from the shared store, or one sentence about why there is none; and its status line."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.analysis.counts import Estimate, estimate
from viz_core.analysis.summary import word_of
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.language import language_problem, plural
from viz_core.language import translate as _
from viz_core.limits import MAX_KEPT_CHARS, MAX_LINK_BYTES, MAX_SENTENCES, cache_problem
from viz_core.problems import Problem
from viz_core.stages import ARCHITECTURE_NAMES, SIDE_NAMES
from viz_core.text import NO_TOKEN, AnyTokenizer, TokenizerKind, Vocabulary, bound, strangers
from viz_core.ui.components.glosses import show_glosses
from viz_core.ui.escape import code, escaped, few, words
from viz_core.ui.shell.left import gone, notice
from viz_core.ui.shell.setup import BY_FIELD, Setup, changes, ids, problem_words, sentences, to_link
from viz_core.ui.shell.state import DRAWN, WANTED, current, in_sidebar
from viz_core.ui.shell.warm import all_imported
from viz_core.ui.shell.written import box_text, check_table, writing_notes, written

if TYPE_CHECKING:
    from viz_core.generate import Written
    from viz_core.model.transformer import Transformer
    from viz_core.run import Batch, Sentence

# torch takes over a second to import. `viz_core.ui.shell.warm` imports it, and everything else that is large, after the sidebar
# and the title are sent. Functions that need any of it import it themselves.

MAX_SIMILAR = 2  # known words that are named for each unknown one
MAX_NAMED = 6  # unknown words, words that share an id, faults of a link: how many of each are named one by one


@dataclass(frozen=True, slots=True)
class Lab:
    """The context of a page: setup, run and batch. `capture` is None if nothing could run; the page already shows the reason.

    tools: the place in the page's line of heading, for controls of the whole page; None in a fragment. altered: the key of a
    run that was edited after the setup; None for the setup's own run.
    """

    setup: Setup
    capture: Capture | None
    batch: "Batch | None" = None
    tools: DeltaGenerator | None = None
    altered: Hashable = None

    @property
    def config(self) -> TransformerConfig:
        return self.setup.config

    @property
    def tokenizers(self) -> Mapping[str, AnyTokenizer]:
        return _tokenizers(self.setup)

    @property
    def in_place(self) -> bool:
        """Whether the model was trained to answer at each position for that very position, and not with the next word."""
        return self.setup.card is not None and self.setup.card.answers_in_place

    def model(self) -> "Transformer":
        """The model of this setup, shared by all visitors: nobody may change it."""
        from viz_core.ui.shell.cache import cached_model

        return cached_model(self.setup.weights, self.config, self.setup.seed, self.setup.device)

    def key(self) -> Hashable:
        """The key of this run in the store that all visitors share: equal keys mean the same run. Only where there is a run."""
        from viz_core.ui.shell.cache import run_key

        assert self.batch is not None
        if self.altered is not None:
            return self.altered
        return run_key(self.setup.weights, self.config, self.batch, self.setup.seed, self.setup.device)

    def model_key(self) -> Hashable:
        """The key of the model: equal keys mean the same parameters, on the same device."""
        from viz_core.ui.shell.cache import model_key

        return model_key(self.setup.weights, self.config, self.setup.seed, self.setup.device)

    def cost(self) -> tuple[float, int]:
        """The approximate seconds and bytes of one more run of these sentences. Only where there is a run."""
        from viz_core.ui.shell.cache import run_cost

        assert self.batch is not None
        return run_cost(self.config, self.batch)

    def item(self, capture: Capture) -> int:
        """The selected sentence of a run, counted from 0: the last one where the run has fewer than the setup selects."""
        return min(self.setup.item, capture.n_sentences - 1)

    def parameter(self, name: str) -> np.ndarray:
        """One parameter of the model by its torch name, read-only."""
        from viz_core.run import parameters

        return parameters(self.model())(name)

    def named(self, item: int) -> Mapping[str, AnyTokenizer]:
        """The tokenizer of each side as it reads and names one sentence of the run: a slot is the word that it carries there."""
        carried = () if self.capture is None else self.capture.carried(item)
        return {side: bound(tokenizer, carried) for side, tokenizer in self.tokenizers.items()}

    def word(self, side: str, id: int, item: int) -> str:
        """The name of an id in one sentence: the word typed here that has it, else the vocabulary's."""
        reader = self.named(item)[side]
        if self.capture is None or self.setup.origin:
            return reader.decode(id)
        return word_of(self.capture, side, reader)(id)


def present() -> Lab:
    """The setup and its run, without writing to the page: for a fragment, which reruns without its page."""
    if st.session_state.get(DRAWN) != in_sidebar():
        st.rerun()  # a click in the fragment changed it: the sidebar first, then the link, so that no link is newer than it
    show_glosses(glosses_in_use(current()))
    return lab_of(current())


def glosses_in_use(setup: Setup) -> Mapping[str, str]:
    """The dictionary words of the words that the model writes, unless they are switched off."""
    return setup.origin.glosses if setup.origin and setup.view("glosses") else {}


def lab_of(setup: Setup) -> Lab:
    """Another setup and its run, for a comparison."""
    all_imported()
    attempt = _attempt(setup)
    return Lab(setup, attempt.capture, attempt.batch)


def _tokenizers(setup: Setup) -> Mapping[str, AnyTokenizer]:
    """The tokenizer of each side: that of the checkpoint, or the untrained one of the config."""
    if setup.origin:
        return setup.origin.tokenizers()
    from viz_core.run import tokenizers

    kind: TokenizerKind = "word" if setup.tokenizer == "ids" else setup.tokenizer
    return tokenizers(setup.config, kind)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A run, or one sentence about why there is none; and notes about the sentences. target: the text that the model wrote."""

    capture: Capture | None = None
    batch: "Batch | None" = None
    size: Estimate | None = None
    problem: str = ""
    notes: Sequence[str] = ()
    target: str = ""


def _attempt(setup: Setup) -> Attempt:
    """Run this setup, or take its run from the shared store. Its size is estimated before it runs."""
    from viz_core.ui.shell.cache import cached_run

    source, target, notes = sentences(setup)
    lines = source or target
    if not any(s.strip() for s in lines):
        return Attempt(problem=problem_words(Problem("", "no_text")))
    if len(lines) > MAX_SENTENCES:
        return Attempt(problem=_("There are {n_lines} sentences and the limit is {max_sentences}: remove some lines.",
                                 n_lines=len(lines), max_sentences=MAX_SENTENCES))
    text, answers, said = "", cast("list[Sentence]", target), cast("Sequence[Written]", ())
    try:
        if setup.writer == "model":
            said = written(setup)
            text, answers = box_text(setup, said), [line.sentence for line in said]
            notes = [*notes, *writing_notes(setup, said)]
        batch = _batch(setup, source, answers)
        check_table(setup, batch)
        lengths = {side: ids.shape[1] for side, ids in batch.ids.items()}
        size = estimate(setup.config, len(lines), lengths.get("source", 0), lengths.get("target", 0))
        if size.problem:
            return Attempt(batch=batch, problem=problem_words(size.problem), notes=notes, target=text)
        notes = [*notes, *_unknown(setup, {"source": source, "target": target}, batch, [line.text for line in said])]
        capture = cached_run(setup.weights, setup.config, batch, setup.seed, setup.device)
        return Attempt(capture, batch, size, notes=notes, target=text)
    except ValueError as error:  # one sentence: what is wrong, with which value, and the remedy
        return Attempt(problem=problem_words(error), notes=notes, target=text)


def run_with_status(setup: Setup) -> Attempt:
    """The run of this setup, with its status line; if there is none, the page shows the reason."""
    attempt = _attempt(setup)
    gone()
    notice(setup)
    for note in attempt.notes:
        st.info(note)
    if st.session_state.get(WANTED):
        st.info(_("This link leaves out a text that is too long for a link. The text is in the tab in which it was typed."))
    elif (left_out := to_link(setup)[1]).name:
        stays = _("stays in this tab") if len(left_out.text) <= MAX_KEPT_CHARS else _("is lost when this tab is reloaded")
        st.info(_("The link would be longer than {max_link_bytes} KB, so it leaves the text out; the text {stays}.",
                  max_link_bytes=MAX_LINK_BYTES // 1024, stays=stays))
    if attempt.problem:
        st.warning(escaped(attempt.problem))
    for problem in filter(None, (cache_problem(), language_problem())):
        st.info(escaped(problem))
    if attempt.capture and attempt.size:
        _status(setup, attempt.capture, attempt.size)
    return attempt


def paragraphs(sentences: Sequence[str]) -> str:
    """The first few sentences for one box, each as a paragraph, and the number of further ones."""
    more = [_("And {n_sentences:,} more.", n_sentences=len(sentences) - MAX_NAMED)] if len(sentences) > MAX_NAMED else []
    return "\n\n".join([*sentences[:MAX_NAMED], *more])


def _unknown(setup: Setup, typed: dict[str, list[str]], batch: "Batch", wrote: Sequence[str] = ()) -> list[str]:
    """A note for each side with words that a checkpoint does not know: what becomes of them, and known words like them.

    wrote: what the model wrote for each sentence; empty where it did not write the target.
    """
    notes = []
    for side, tokenizer in _tokenizers(setup).items() if setup.origin and setup.tokenizer != "ids" else ():
        readers = [(bound(tokenizer, carried), line) for line, carried in zip(typed[side], batch.carried, strict=False)]
        missing = dict(m for reader, line in readers for m in reader.unknown(line))
        if not missing:
            continue
        if tokenizer.unk_id == NO_TOKEN:
            notes.append(_("This model has no token for these parts of the {side} text and leaves them out: {named}.",
                           side=SIDE_NAMES[side], named=few([words([part]) for part in missing], MAX_NAMED)))
            continue
        found = [strangers(reader, line) for reader, line in readers]
        carried, lost = (list(dict.fromkeys(word for pair in found for word in pair[i])) for i in (0, 1))
        note = []
        if carried:
            note.append(_("This model does not know these {side} words and reads each through a slot, which can carry it over: "
                          "{named}.", side=SIDE_NAMES[side], named=few([words([word]) for word in carried], MAX_NAMED)))
        if carried and side == "source" and wrote:
            note += _carried([(found[i][0], text) for i, text in enumerate(wrote)])
        if lost:
            note.append(_("This model does not know these {side} words and reads each as {unknown}: {named}.",
                          side=SIDE_NAMES[side], unknown=code(tokenizer.decode(tokenizer.unk_id)),
                          named=few([words([word]) for word in lost], MAX_NAMED)))
        if lost and carried and isinstance(tokenizer, Vocabulary):
            note.append(plural("In each sentence it can carry over {n} word, but no marks such as parentheses.",
                               "In each sentence it can carry over {n} different words, but no marks such as parentheses.",
                               tokenizer.n_slots))
        similar = dict.fromkeys(near for found in list(missing.values())[:MAX_NAMED] for near in found[:MAX_SIMILAR])
        if similar:
            note.append(_("Words spelt similarly that it knows: {named}.",
                          named=few([words([word]) for word in similar], MAX_NAMED)))
        notes.append(" ".join(note))
    return notes


def _carried(sentences: Sequence[tuple[Sequence[str], str]]) -> list[str]:
    """Which words in slots the model wrote, and which it did not. sentences: those words of each, and what it wrote for it."""
    missing = {word for slots, text in sentences for word in slots if word.casefold() not in text.casefold().split()}
    there = list(dict.fromkeys(word for slots, __ in sentences for word in slots if word not in missing))
    left = list(dict.fromkeys(word for slots, __ in sentences for word in slots if word in missing))
    said = []
    if there:
        said.append(_("Carried over into what it wrote: {named}.", named=few([words([word]) for word in there], MAX_NAMED)))
    if left and len(sentences) == 1:
        said.append(_("Missing from what it wrote: {named}.", named=few([words([word]) for word in left], MAX_NAMED)))
    elif left:
        said.append(_("Missing from at least one of the texts that it wrote: {named}.",
                      named=few([words([word]) for word in left], MAX_NAMED)))
    return said


def _batch(setup: Setup, source: list[str], target: "list[Sentence]") -> "Batch":
    """Typed sentences, typed ids, or what the model wrote, as a batch."""
    from viz_core.run import prepare

    if setup.tokenizer != "ids":
        return prepare(setup.config, source, target, _tokenizers(setup))
    return prepare(setup.config, ids("source", source), ids("target", list(map(str, target))), _tokenizers(setup))


def _status(setup: Setup, capture: Capture, size: Estimate) -> None:
    """Architecture, parameters, tokens and milliseconds; and words that share an id."""
    sides = [f"{SIDE_NAMES[side]} {_tokens(capture, side)}" for side in ("source", "target") if f"ids.{side}" in capture]
    parts = (
        ARCHITECTURE_NAMES[setup.config.architecture], _("{parameters:,} parameters, {which}",
                                     parameters=size.parameters, which=_("trained") if setup.card else _("untrained")),
        _(" and ").join(sides), _("{milliseconds:.1f} ms on {device}", milliseconds=capture.milliseconds, device=capture.device),
    )
    with st.sidebar:
        st.caption(" · ".join(parts))
    if setup.card and (changed := changes(setup)):
        named = "; ".join(escaped(f"{BY_FIELD[n].label}: {BY_FIELD[n].shown(v)}") for n, v in changed.items())
        st.info(_("Changed since training: {named}. The weights were trained without this change.", named=named))
    if setup.origin is None and setup.tokenizer != "ids":  # trained words may share an id on purpose: The, the
        _collisions(setup, capture)


def _collisions(setup: Setup, capture: Capture) -> None:
    """Words that share an id, in one box for both sides."""
    clashes = [
        (side, clash) for side, tokenizer in _tokenizers(setup).items()
        for clash in tokenizer.collisions(t for row in capture.tokens(side) for t in row if t not in ("<pad>", "<bos>"))
    ]
    if clashes:
        named = few([f"{words(list(clash))} ({SIDE_NAMES[side]})" for side, clash in clashes], MAX_NAMED, "; ")
        clashing = dict.fromkeys(side for side, __ in clashes)
        sides = _(" and the ").join(_("{side} vocabulary", side=SIDE_NAMES[side]) for side in clashing)
        st.info(_("Words that share one id are the same word to this model: {named}. To tell them apart, raise the {sides}.",
                  named=named, sides=sides))


def _tokens(capture: Capture, side: str) -> str:
    rows = capture[f"ids.{side}"].shape
    return (plural("{n} token", "{n} tokens", rows[1]) if rows[0] == 1 else
            _("{row} × {row_2} tokens", row=rows[0], row_2=rows[1]))
