"""The section Attention and effect: how much weight each head gives to a word, beside what patching or ablating that head does."""

from collections.abc import Callable, Hashable, Sequence
from math import isnan
from typing import Any

import streamlit as st

from viz_core.analysis.attention import AttentionKind, kinds, sides
from viz_core.config import StackName
from viz_core.experiments.grammar_effects import OverSentences, over_sentences
from viz_core.experiments.head_effects import (
    Attention,
    HeadEffects,
    Measure,
    attended_key,
    changed_key,
    head_effects,
    key_side,
    n_heads,
)
from viz_core.experiments.question import Question
from viz_core.figures.attention import KIND_TITLES
from viz_core.figures.cause import Heads, heads_figure
from viz_core.formats import rounded
from viz_core.language import translate as _
from viz_core.text import Vocabulary, in_quotes, shorten, visible
from viz_core.ui.components.glosses import labelled, quoted
from viz_core.ui.controls import chart, dark, data_table, inside, keep, numeric
from viz_core.ui.escape import escaped, token_code
from viz_core.ui.pages.attention.all_heads import KIND_LABELS
from viz_core.ui.pages.cause import snippets
from viz_core.ui.pages.cause.asked import controls
from viz_core.ui.pages.cause.measuring import contrast_of, key_of, measured, seconds_of
from viz_core.ui.pages.cause.pair import Pair
from viz_core.ui.shell import below, look, picture, touch, view, view_widget, widget
from viz_core.ui.shell.setup import problem_words

MEASURES: dict[Measure, str] = {"ablated": _("Ablation"), "denoise": _("Patch: sufficient"), "noise": _("Patch: necessary")}
MEANINGS: dict[Measure, str] = {
    "ablated": _("effect of its absence (z = 0)"), "denoise": _("effect of its clean z in the changed run"),
    "noise": _("effect of its changed z in the clean run"),
}
WHERE: dict[AttentionKind, tuple[StackName, Attention]] = {
    "encoder": ("encoder", "self_attn"), "decoder": ("decoder", "self_attn"), "cross": ("decoder", "cross_attn"),
}
SENTENCES = 16  # of the grammar
SECONDS = 0.25  # for one of them, roughly
GRAMMAR = "cause_grammar"  # the session's key: the model that was to be measured on the grammar's sentences


def heads(pair: Pair, question: Question) -> None:
    """A point for each head, the rank correlation above it, and all numbers below."""
    from viz_core.ui.shell.cache import cached_result

    available = kinds(pair.clean.config)
    if not available:
        st.info(_("This model has no layers, so it has no attention. Add a layer in the sidebar."))
        return
    kind: AttentionKind = view("cause_kind") if view("cause_kind") in available else available[-1]
    stack, attention = WHERE[kind]
    measure: Measure = view("cause_measure")
    try:
        length, proposed = cached_result("head keys", (key_of(pair, question), kind), lambda: _keys(pair, question, kind))
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        with below():  # the controls stay, so that the question can be put right
            controls(pair, question)
        return
    assert pair.clean.capture is not None
    tokens = pair.clean.capture.tokens(sides(kind)[1])[pair.item][:length]
    key = inside("cause_key", _("Key"), len(tokens) - 1, -1)
    key = proposed if key < 0 else key
    runs = 3 * n_heads(pair.clean.config, stack, attention)
    found = measured("head effects", (key_of(pair, question), kind, key), runs, seconds_of(pair, runs),
                     lambda said: head_effects(contrast_of(pair, question), None, stack, attention, key))
    if found is not None:
        look(_what_to_look_at(found, kind, measure, tokens[key], _asked_token(pair, question, kind)))
        with picture():
            texts = (_weight_axis(pair, question, kind, quoted(tokens[key])), MEANINGS[measure],
                     _("{attention}: each head, numbered by its layer", attention=KIND_TITLES[kind]))
            chart(heads_figure(Heads(KIND_TITLES[kind], found.weight, found.effect(measure)), *texts, dark()), "cause_heads",
                  fill=True, code=lambda: snippets.heads(pair, question, stack, attention, key, measure, KIND_TITLES[kind], *texts))
    with below():
        _controls(tokens, proposed, available, kind)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        controls(pair, question)
    if found is not None:
        _correlations(found)
        if kind == "cross":
            _over_sentences(pair)
        _table(found, lambda: snippets.heads_table(pair, question, stack, attention, key))


def _keys(pair: Pair, question: Question, kind: AttentionKind) -> tuple[int, int]:
    """How many keys both runs read, and the proposed one: the word that the best aligned head looks at, where training measured
    that; else the word that was changed, or the first. `Problem` where there is nothing to compare."""
    contrast, (stack, attention) = contrast_of(pair, question), WHERE[kind]
    length = contrast.clean.ids[key_side(stack, attention)].shape[1]
    card = pair.clean.setup.card
    aligned = None if card is None or kind != "cross" else card.alignment_head
    if aligned is not None:
        return length, attended_key(contrast, stack, attention, *aligned)
    return length, changed_key(contrast, stack, attention) or 0


def _controls(tokens: list[str], proposed: int, available: Sequence[AttentionKind], kind: AttentionKind) -> None:
    if len(available) > 1:
        widget(st.segmented_control, "cause_kind", _("Attention"), kind, keep, options=available, required=True,
               label_visibility="collapsed", format_func=lambda k: KIND_LABELS[k])
    view_widget(st.segmented_control, "cause_measure", _("Effect"), required=True, format_func=MEASURES.get,
                label_visibility="collapsed")
    names = [shorten(visible(token)) for token in tokens]
    keys = tuple(_("weight on {token}", token=in_quotes(labelled(name))) for name in names)
    first = _("weight on {token} (proposed)", token=in_quotes(names[proposed]))
    widget(st.selectbox, "cause_key", _("Key"), min(view("cause_key"), len(tokens) - 1), keep, named=(first, *keys),
           options=range(-1, len(tokens)), width=220, label_visibility="collapsed",
           format_func=lambda i: keys[i] if i >= 0 else first)


def _asked_token(pair: Pair, question: Question, kind: AttentionKind) -> str:
    """The query that a weight is of; "" where it is the mean over all, in an encoder that the question is not asked of."""
    capture, side = pair.clean.capture, sides(kind)[0]
    return "" if capture is None or side != pair.clean.config.output_side else capture.tokens(side)[pair.item][question.at]


def _weight_axis(pair: Pair, question: Question, kind: AttentionKind, key: str) -> str:
    """What the figure's horizontal axis measures."""
    if query := _asked_token(pair, question, kind):
        return _("weight of the query {query} on {token} in the clean run", query=quoted(query), token=key)
    return _("weight on {token} in the clean run, mean over all queries", token=key)


def _what_to_look_at(found: HeadEffects, kind: AttentionKind, measure: Measure, token: str, query: str) -> str:
    """The head that attends most, the head that does most, and how far the two rankings agree. query: "" for the mean."""
    weight, effect = found.weight, found.effect(measure)
    (i, j), (m, n) = (divmod(int(x.argmax()), x.shape[1]) for x in (weight, effect))
    rho = found.correlations[measure]
    of_what = _("the weight of the query {query}", query=token_code(query)) if query else _("the mean over all queries")
    said = _("**{attention}: layer {layer}, head {head} attends most to {token}** ({weight}, {of_what}; its effect is {own}).",
             attention=KIND_TITLES[kind], layer=i, head=j, token=token_code(token), weight=rounded(float(weight[i, j]), 2),
             of_what=of_what, own=rounded(float(effect[i, j]), 2))
    if (i, j) == (m, n):
        said += " " + _("It also has the largest effect.")
    else:
        said += " " + _("Layer {layer}, head {head} has the largest effect, {effect}, with weight {weight}.", layer=m, head=n,
                        effect=rounded(float(effect[m, n]), 2), weight=rounded(float(weight[m, n]), 2))
    if not isnan(rho):
        said += " " + _("Rank correlation of weight and effect: ρ = {rho}.", rho=rounded(rho, 2))
    return said


def _correlations(found: HeadEffects) -> None:
    """Spearman's ρ for each way to measure an effect."""
    named = [f"{MEASURES[measure]} {rounded(rho, 2)}" for measure, rho in found.correlations.items() if not isnan(rho)]
    if named:
        st.markdown(_("Spearman’s rank correlation of weight and effect over the heads: {named}. 1: both rank the heads alike; 0: "
                      "one says nothing about the other. A weight says where a head reads, not what it writes nor whether anything "
                      "later uses it.", named=escaped("; ".join(named))))


def _table(found: HeadEffects, code: Callable[[], str]) -> None:
    """One line a head, those that attend most first."""
    from viz_core import tables

    columns: dict[str, Any] = {
        "layer": _("layer"), "head": _("head"), "weight": numeric(_("weight"), 3), "weight_rank": _("rank by weight"),
    }
    for name, title in MEASURES.items():
        columns |= {name: numeric(title, 3), f"{name}_rank": _("rank of {measure}", measure=title)}
    data_table(tables.head_effects(found).sort_values("weight_rank", kind="stable"), "cause_heads_table", columns,
               _("Each head’s weight and effects"), code=code)


# ---------------------------------------------------------------- beyond one sentence


def _over_sentences(pair: Pair) -> None:
    """The same over sentences of the grammar, which knows the true source word of each word; measured on request."""
    clean = pair.clean
    words = {side: tokenizer for side, tokenizer in clean.tokenizers.items() if isinstance(tokenizer, Vocabulary)}
    if clean.setup.card is None or len(words) < 2 or clean.setup.card.glosses == {}:
        return
    model = clean.model_key()
    if st.session_state.get(GRAMMAR) != model:
        st.button(_("Measure the same over {n} sentences of the grammar: about {seconds:.0f} s",
                    n=SENTENCES, seconds=SECONDS * SENTENCES),
                  key="cause_over", on_click=_ask, args=(model,))
        return
    many: OverSentences | None = measured(
        "grammar effects", model, SENTENCES, SECONDS * SENTENCES,
        lambda said: over_sentences(clean.model(), words, SENTENCES, progress=said))
    if many is not None:
        named = [f"{MEASURES[measure]} {rounded(rho, 2)}" for measure, rho in many.mean.correlations.items()]
        st.markdown(_("Over {n} held-out sentences of the grammar, each with one word replaced and the weight taken on the true "
                      "source word, the mean weights and effects of the heads have these rank correlations: {named}.",
                      n=len(many.sentences), named=escaped("; ".join(named))))


def _ask(model: Hashable) -> None:
    touch()
    st.session_state[GRAMMAR] = model
