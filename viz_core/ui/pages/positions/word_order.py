"""The section with experiments on word order and length, each measured under every position scheme."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from viz_core.config import STACKS, Position
from viz_core.figures.word_order import layers_figure, longer_figure, moved_panels
from viz_core.formats import rounded_percent
from viz_core.language import translate as _
from viz_core.problems import Problem
from viz_core.stages import STACK_NAMES
from viz_core.text import Vocabulary, bound, carried_words
from viz_core.ui.controls import chart, dark, data_table, numeric, picking, sentence_picker, table
from viz_core.ui.escape import code, escaped
from viz_core.ui.pages.positions import snippets
from viz_core.ui.pages.positions.experiment_words import length_words, order_words, past_words, prepend_words, zero_words
from viz_core.ui.pages.positions.sentence import (
    TITLES,
    as_markdown,
    choose_word,
    key_of,
    loaded,
    minus,
    not_as_trained,
    nothing_typed,
    tell_cut,
    tell_unknown,
    typed,
)
from viz_core.ui.shell import Lab, beside, look, set_view, view, view_widget
from viz_core.ui.shell.setup import problem_words, sentences
from viz_core.ui.shell.views import SENTENCES
from viz_core.weights.card import Card

if TYPE_CHECKING:
    from viz_core.experiments.length_extrapolation import LengthResult, Score
    from viz_core.experiments.word_order import Reordering, Words

BUTTONS = {"swap": _("Swap two words"), "shuffle": _("Shuffle"), "prepend": _("Prepend a word"), "past": _("Exceed max_len"),
           "longer": _("Length extrapolation")}
LOOKS = {
    "swap": _("**Compare the columns:** a column of zeros belongs to a scheme whose outputs do not depend on the order of the "
              "words."),
    "shuffle": _("**Compare the columns:** a column of zeros belongs to a scheme whose outputs do not depend on the order of the "
                 "words."),
    "prepend": _("**Look for lines in the grey band:** under these schemes the scores of the same words stay as they were."),
    "past": _("**Compare the results:** which schemes read a sentence that is longer than the position table?"),
}
LOOKS_LONGER = {
    "moved": _("**Follow the curves to the right:** the later a sentence starts, the more of its positions are new to the models. "
               "At the solid line, all of them are."),
    "row": _("**Follow the curves to the right:** beyond the solid line the texts are longer than the sentences of the training."),
}
VERDICTS = {True: _("the same vectors, reordered"), False: _("order-sensitive")}
SECONDS = 4.0  # roughly, for three models to read all held-out sentences


def experiments(lab: Lab) -> None:
    """Draw the chosen experiment: one of four changes to a sentence under every scheme, or trained weights on longer texts."""
    chosen = view("pos_experiment")
    look(LOOKS_LONGER[view("pos_way")] if chosen == "longer" else LOOKS[chosen])
    main, rail = beside()
    with main:
        main = st.container(key="pos_experiment")
    with rail:
        for name, label in BUTTONS.items():
            st.button(label, key=f"pos_do_{name}", type="primary" if name == chosen else "secondary", on_click=set_view,
                      kwargs={"pos_experiment": name}, width="stretch")
    if chosen == "longer":
        _longer(lab, main, rail)
        return
    with rail:
        words = _chosen_sentence(lab)
    if words.ids:
        _measure(lab, chosen, words, main, rail)
    else:
        with main:
            nothing_typed()
    _tell_left_out(lab)


def _measure(lab: Lab, chosen: str, words: "Words", place: DeltaGenerator, rail: DeltaGenerator) -> None:
    """Draw one of the four changes to a sentence, with what was measured under every scheme."""
    stack = STACK_NAMES[STACKS[lab.config.input_side]]
    st.markdown(_("The {stacks} reads: {tokens}", stacks=stack, tokens=" ".join(map(code, words.tokens))))
    tell_cut(words)
    try:
        EXPERIMENTS[chosen](lab, words, place, rail)
    except ValueError as error:
        with place:
            st.info(as_markdown(problem_words(error)))
        return
    not_as_trained(lab)


def _chosen_sentence(lab: Lab) -> "Words":
    """Return the typed sentence, or a sentence of the documents whose words are all in the vocabulary."""
    from viz_core.experiments.word_order import Words, as_words

    known = _known(lab)
    which = view_widget(st.segmented_control, "pos_sentence", _("Sentence"), options=["yours", *known], required=True,
                        label_visibility="collapsed", format_func=lambda name: SENTENCES.get(name, _("Your sentence")))
    if which != "yours":
        return as_words(*lab.tokenizers[lab.config.input_side].read(SENTENCES[which]))
    if lab.capture is None:
        return Words((), ())
    sentence_picker(lab, lab.capture)
    return typed(lab)


def _known(lab: Lab) -> list[str]:
    """Return the names of the documents' sentences whose words are all in the vocabulary."""
    return [name for name, text in SENTENCES.items() if not lab.tokenizers[lab.config.input_side].unknown(text)]


def _of_the_documents(lab: Lab) -> str:
    """Return the chosen sentence of the documents; "" for the typed one."""
    which = view("pos_sentence")
    return SENTENCES[which] if which in _known(lab) else ""


def _tell_left_out(lab: Lab) -> None:
    """Show which sentences of the documents are not offered, and why."""
    known = _known(lab)
    if left_out := [text for name, text in SENTENCES.items() if name not in known]:
        st.caption(_("Sentences of the documents that are not offered here, because this model does not know all of their words: "
                     "{left_out}. A document's model reads any text: choose one under Model.", left_out=", ".join(left_out)))


def _swap(lab: Lab, words: "Words", place: DeltaGenerator, rail: DeltaGenerator) -> None:
    """Swap two words. Raises ValueError if there are no two different words."""
    from viz_core.experiments.word_order import swap
    from viz_core.training.bilingual.replacements import exchangeable

    n = len(words.ids)
    if n < 2:
        raise Problem(_("One token has only one order; type a second word."), "one_order")
    added_ids = _added(lab)
    # Words only: neither punctuation nor tokens such as [CLS].
    word_positions = [i for i in range(n) if any(map(str.isalnum, words.tokens[i])) and words.ids[i] not in added_ids]
    candidates = word_positions if len(word_positions) > 1 else list(range(n))
    first = candidates[0 if len(candidates) < 4 else 1]
    other = next((i for i in candidates[::-1] if words.ids[i] != words.ids[first]), candidates[-1])
    first, other = exchangeable(words.tokens) or (first, other)  # prefer two nouns: the dog bites the man
    with rail:
        a = choose_word("pos_a", _("Swap"), words, first)
        b = choose_word("pos_b", _("with"), words, other)
    if a == b:
        raise ValueError(_("You chose the same word twice: choose two different words."))
    _reordered(lab, words, swap(n, a, b), place)


def _added(lab: Lab) -> set[int]:
    """Return the ids that the tokenizer puts around every sentence, such as [CLS] and [SEP]."""
    return set(lab.tokenizers[lab.config.input_side].read("")[1])


def _shuffle(lab: Lab, words: "Words", place: DeltaGenerator, rail: DeltaGenerator) -> None:
    """Shuffle the words."""
    from viz_core.experiments.word_order import shuffle

    draw = view("pos_draw")
    with rail:
        st.button(_("Shuffle again"), key="pos_again", on_click=set_view, kwargs={"pos_draw": (draw + 1) % 1000}, width="stretch",
                  icon=":material/shuffle:")
    _reordered(lab, words, shuffle(len(words.ids), draw), place)


def _reordered(lab: Lab, words: "Words", order: tuple[int, ...], place: DeltaGenerator) -> None:
    """Show how the outputs of every scheme change if the tokens are read in another order."""
    from viz_core.experiments.word_order import ROUNDING, reorder
    from viz_core.ui.shell.cache import cached_result

    result: Reordering = cached_result(
        "reorder", key_of(lab, words.ids, order), lambda: reorder(lab.model(), words.ids, order, lab.setup.seed)
    )
    st.markdown(_("Changed to: {order}", order=" ".join(code(words.tokens[i]) for i in order)))
    st.success(as_markdown(order_words(result.rows)))
    from viz_core import tables

    frame = tables.reordering(result)
    frame = frame[frame["problem"].isna()]
    verdicts = {name: [VERDICTS[same] for same in frame[name]] for name in ("equivariant", "causal_equivariant")}
    data_table(frame, "pos_differences", {
        "scheme": _("Scheme"), "difference": numeric(_("Largest difference, no mask"), 2), "equivariant": _("which means"),
        "causal_difference": numeric(_("Largest difference, causal mask only"), 2), "causal_equivariant": _("and that means"),
    }, _("The difference of each position scheme"), words={"scheme": [TITLES[name] for name in frame["scheme"]], **verdicts},
        code=lambda: snippets.reordered(lab, _of_the_documents(lab), order))
    _refused({r.position: r.problem for r in result.rows if r.problem})
    size = max((r.size for r in result.rows if not r.problem), default=0.0)
    st.caption(minus(_("The table compares the outputs for the original order with those for the new order, put back into the "
                       "original order. Outputs reach {size:.2g}, so a difference up to {rounding:.0e} is float32 rounding: "
                       "the model is permutation-equivariant. The matrices show how much each word's output changed, relative "
                       "to its length; a change up to {rounding_2:.0e} is rounding and drawn as 0.", size=size,
                       rounding=ROUNDING * size, rounding_2=ROUNDING)))
    if moved := result.moved:
        with place:
            picking(moved_panels(moved, words.tokens), "pos_moved", fill=True,
                    code=lambda: snippets.moved(lab, _of_the_documents(lab), order))


def _refused(problems: Mapping[Position, Problem]) -> None:
    """Show why each of these schemes has no row in the table."""
    for position, problem in problems.items():
        st.caption(_("{scheme}: {why}", scheme=TITLES[position], why=escaped(problem_words(problem))))


def _prepend(lab: Lab, words: "Words", place: DeltaGenerator, rail: DeltaGenerator) -> None:
    """Put words in front, and show how the scores between the other words change under every scheme."""
    from viz_core.experiments.word_order import ROUNDING, prepend, words_in_front
    from viz_core.ui.shell.cache import cached_result

    side = lab.config.input_side
    with rail:
        text = view_widget(st.text_input, "pos_front", _("Words to put in front"))
    tokenizer = bound(lab.tokenizers[side], _carried(lab))
    front = words_in_front(tokenizer, text)
    tell_unknown(tokenizer, text)
    if not front.ids:
        raise ValueError(_("Type at least one word to put in front."))
    result = cached_result(
        "prepend", key_of(lab, words.ids, front.ids), lambda: prepend(lab.model(), words.ids, front.ids, lab.setup.seed)
    )
    st.markdown(_("Changed to: {value}", value=" ".join(map(code, (*front.tokens, *words.tokens)))))
    st.success(as_markdown(prepend_words(result.rows)))
    from viz_core import tables

    frame = tables.prepending(result)
    frame = frame[frame["problem"].isna()]
    layers = {name: numeric(_("Layer {layer}", layer=name.partition("_")[2]), 2)
              for name in map(str, frame) if name.startswith("layer_")}
    if layers:
        words_of = {"scheme": [TITLES[name] for name in frame["scheme"]],
                    "unchanged": [_("unchanged") if same else _("changed") for same in frame["unchanged"]]}
        data_table(frame, "pos_changes", {"scheme": _("Scheme"), "unchanged": _("Scores of layer 0"), **layers},
                   _("The change of each position scheme"), words=words_of,
                   code=lambda: snippets.prepended(lab, _of_the_documents(lab), text, _carried(lab)))
    else:
        st.caption(_("This model has no layer."))
    _refused({r.position: r.problem for r in result.rows if r.problem})
    st.caption(_("The largest change of a score between the same two words, relative to the largest score of the layer. A "
                 "score is q·k ÷ √d_k with the bias of ALiBi or T5, before the mask."))
    if zeros := zero_words(result.rows):
        st.caption(zeros)
    if result.changes:
        with place:
            chart(layers_figure(result.changes, ROUNDING, dark()), "pos_layers", fill=True,
                  code=lambda: snippets.layers(lab, _of_the_documents(lab), text, _carried(lab)))


def _carried(lab: Lab) -> tuple[str, ...]:
    """Return the words of the selected sentence that are read through slots."""
    return () if lab.capture is None else tuple(lab.capture.carried(lab.item(lab.capture)))


def _past(lab: Lab, words: "Words", place: DeltaGenerator, rail: DeltaGenerator) -> None:
    """Repeat the sentence until it exceeds the position table, and show which schemes read it."""
    from viz_core.experiments.word_order import past_the_table
    from viz_core.ui.shell.cache import cached_result

    result = cached_result("past", key_of(lab, words.ids), lambda: past_the_table(lab.model(), words.ids, lab.setup.seed))
    st.markdown(_(r"The position table has **{max_len:,}** rows (max\_len). The sentence is repeated until it is one token "
                  "longer.", max_len=result.max_len))
    st.success(as_markdown(past_words(result.rows)))
    rows = []
    for r in result.rows:
        if r.problem:
            result_words = problem_words(r.problem)
        elif r.finite:
            result_words = _("reads all tokens; all outputs are finite")
        else:
            result_words = _("reads all tokens; some outputs are not finite")
        rows.append([TITLES[r.position], f"{r.tokens:,}", result_words])
    with place:
        table([_("Scheme"), _("Tokens"), _("Result")], rows, fill=True)
    if len({r.tokens for r in result.rows}) > 1:
        st.caption(_("The schemes without a table have no limit, so fewer tokens are enough to show it."))
    st.caption(_("The waves follow a formula, so a longer table continues the shorter one: raise max_len in the sidebar. A "
                 "learned table cannot be continued. *Length extrapolation* measures trained weights at positions that they "
                 "never saw in training."))


# ---------------------------------------------------------------- longer than trained


WAYS = {"moved": _("Start the same sentences later"), "row": _("Join several sentences")}


def _longer(lab: Lab, place: DeltaGenerator, rail: DeltaGenerator) -> None:
    """Draw the accuracy of three shipped translators beyond their trained positions; the model in the sidebar is not used."""
    from viz_core.experiments.length_extrapolation import READ, checkpoints, longer
    from viz_core.ui.shell.cache import cached_result

    cards = checkpoints()
    vocabulary = _vocabulary(cards["sinusoidal"])
    with rail:
        test = view_widget(st.radio, "pos_way", _("How to go beyond the training"), format_func=WAYS.get)
        if test == "moved":
            step = view_widget(st.select_slider, "pos_moved", _("Positions later"))
        else:
            step = view_widget(st.select_slider, "pos_row_of", _("Joined sentences"))
    with place:
        waiting = st.empty()
    with waiting, st.spinner(_("{n_cards} trained models are reading {read} sentences …", n_cards=len(cards), read=READ)):
        found: LengthResult = cached_result(
            "longer", test, lambda: longer(test, {p: loaded(card) for p, card in cards.items()}, vocabulary), SECONDS
        )
    st.markdown(_("{n_cards} trained translators, which differ only in their position scheme, read {read} held-out sentences "
                  "of their grammar. In training every sentence started at position 0, and none had more than {trained} tokens.",
                  n_cards=len(cards), read=READ, trained=found.trained))
    st.success(as_markdown(length_words(found, step)))
    axis = _("position of the first word") if test == "moved" else _("tokens of the longest text")
    with place:
        chart(longer_figure(found.curves, found.trained, axis, found.place(step), dark()), "pos_longer", fill=True,
              code=lambda: snippets.longer(test, step, axis))
    _longer_table(found, cards, step)
    if test == "moved":
        _longer_sentence(lab, cards, vocabulary, step)


def _vocabulary(card: Card) -> dict[str, Vocabulary]:
    """Return the vocabulary of each side of a shipped translator."""
    return {side: words for side, words in card.tokenizers().items() if isinstance(words, Vocabulary)}


def _longer_table(found: "LengthResult", cards: dict[Position, Card], step: int) -> None:
    """Show the accuracy of each scheme at the chosen step; schemes without trained weights have an empty row."""
    first = found.steps[0]
    before, now = (_("At position 0"), _("{step} positions later", step=step)) if found.way == "moved" else (_("One sentence"),
                                                                                                             _("{step} joined",
                                                                                                                                  step=step))
    rows = []
    for position, title in TITLES.items():
        if position not in cards:
            rows.append([title, _("no trained weights here; see Prepend a word"), "–", "–"])
            continue
        rows.append([title, cards[position].title, *(_score_words(found.at(position, s)) for s in (first, step))])
    table([_("Scheme"), _("Weights"), before, now], rows)


def _score_words(score: "Score") -> str:
    """Return an accuracy as a percentage, or why the checkpoint refuses the texts."""
    if score.problem:
        return problem_words(score.problem)
    assert score.share is not None
    return rounded_percent(score.share, 1)


def _longer_sentence(lab: Lab, cards: dict[Position, Card], vocabulary: dict[str, Vocabulary], step: int) -> None:
    """Show the three translations of the typed sentence, started at position 0 and started later."""
    from viz_core.experiments.length_extrapolation import translated
    from viz_core.experiments.word_order import as_words
    from viz_core.ui.shell.cache import cached_result

    source, target, __ = sentences(lab.setup)
    lines = source or target
    if not lines:
        return
    text = lines[min(lab.setup.item, len(lines) - 1)]
    copied = carried_words(vocabulary["source"], text)
    named = {side: replace(words, carried=copied) for side, words in vocabulary.items()}
    words = as_words(*named["source"].read(text))
    st.markdown(_("**Your sentence:** {tokens}", tokens=" ".join(map(code, words.tokens))))
    tell_cut(words)
    tell_unknown(named["source"], text)

    def translation(position: Position, places: int) -> str:
        def make() -> str:
            try:
                return " ".join(translated(loaded(cards[position]), named, words.ids, places))
            except ValueError as error:
                return problem_words(error)

        return cached_result("translated", (cards[position].name, words.ids, copied, places), make)

    table([_("Scheme"), _("Translation at position 0"), _("Translation {step} positions later", step=step)],
          [[TITLES[p], translation(p, 0), translation(p, step)] for p in cards])


EXPERIMENTS = {"swap": _swap, "shuffle": _shuffle, "prepend": _prepend, "past": _past}
