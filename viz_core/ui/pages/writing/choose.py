"""The section Choose: the text generated so far, and for one step how a token is chosen from the logits."""

from collections.abc import Callable
from functools import partial
from math import log

import numpy as np
import streamlit as st

from viz_core.figures.growing import attended_panels
from viz_core.figures.writing import Choice, drawn, likeliest, searched
from viz_core.formats import percent, rounded
from viz_core.generation.draw import draw
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy
from viz_core.generation.trail import Trail
from viz_core.language import translate as _
from viz_core.text import NO_TOKEN, visible
from viz_core.ui.components.choice import Text, choice
from viz_core.ui.components.glosses import named, quoted, shown_glosses
from viz_core.ui.controls import bounded, picking, sentence_picker
from viz_core.ui.pages.lost_words import lost_words, lost_words_help
from viz_core.ui.pages.writing import snippets
from viz_core.ui.pages.writing.beginning import Beginning, longest, strategy, trail_of, whole_run
from viz_core.ui.pages.writing.steps import go, moves, player, step_of
from viz_core.ui.shell import Lab, beside, look, view, view_widget

RAIL = 240
STRATEGIES = {"greedy": _("Greedy"), "sampling": _("Sampling"), "beam": _("Beam")}
LOOKS = {
    "greedy": _("**The largest logit wins, at every step.** Click a token to see what else the model could have written there."),
    "sampling": _("**Follow a row from left to right:** its logit becomes a share of the line, and the drawn number u falls on one "
                  "word's share."),
    "beam": _("**The longest bar is the best text so far.** At each step, beam search keeps only the texts with the largest scores "
              "and drops the others, whose rows are struck out."),
}


def choose(lab: Lab, begun: Beginning) -> None:
    """Draw the text as a row of tokens, the candidates of the current step, and what the new token attends to."""
    look(LOOKS[view("write_strategy")])
    main, rail = beside(RAIL)
    with rail:
        strategy = controls(lab)
    with main:
        trace = trail_of(lab, begun, strategy)
    if trace is None:
        return
    step, name = step_of(len(trace.ids)), partial(lab.word, "target", item=begun.item)
    text = Text(tuple(visible(name(i)) for i in begun.start()), tuple(visible(name(i)) for i in trace.ids), step)
    with main:
        choice(text, candidates(trace, step, strategy, name, lab.tokenizers["target"].eos_id), title(trace, step, strategy, name),
               key="write_choice", on_step=go, code=lambda: snippets.chosen(lab, begun, strategy, step))
    moves(len(trace.ids), named(name(trace.ids[step])))
    lengths(begun)
    lost_words_text = _lost(lab, begun, trace)
    has_eos = lab.tokenizers["target"].eos_id != NO_TOKEN
    caption = " ".join(filter(None, (lost_words_text, end_words(trace, strategy, lab.config.max_len, has_eos))))
    st.caption(caption, help=lost_words_help(lab) if lost_words_text else None)
    _attended(lab, begun, strategy, trace, step)
    player(len(trace.ids))


def controls(lab: Lab) -> Strategy:
    """Draw the controls of the decoding strategy, and return it."""
    view_widget(st.segmented_control, "write_strategy", _("Strategy"), required=True, format_func=STRATEGIES.get)
    if view("write_strategy") == "sampling":
        view_widget(st.select_slider, "write_temperature", _("Temperature"), help=_(
            "The logits are divided by it. Below 1, likely words become likelier; above 1, less so. It cannot be 0: the limit is "
            "Greedy."))
        view_widget(st.number_input, "write_top_k", _("top-k (0: all words)"))
        view_widget(st.select_slider, "write_top_p", _("top-p"))
        view_widget(st.number_input, "write_seed", _("Seed"))
        if view("write_top_k") > lab.config.output_vocab_size:
            st.caption(_("The vocabulary has only {n:,} words: top-k leaves all of them.", n=lab.config.output_vocab_size))
    elif view("write_strategy") == "beam":
        view_widget(st.slider, "write_beams", _("num_beams"))
        view_widget(st.select_slider, "write_penalty", _("Length penalty"))
    assert lab.capture is not None
    sentence_picker(lab, lab.capture)
    return strategy()


def lengths(begun: Beginning) -> None:
    """Draw the controls for the length of the prompt and of the text, in a row below the figure."""
    with st.container(horizontal=True, key="write_lengths"):
        view_widget(st.number_input, "write_most", _("max_new_tokens"), width=200)
        if begun.source is None and begun.words:
            bounded(st.number_input, "write_from", _("Given words"), begun.words, least=-1, width=200,
                    help=_("The typed words that the model reads before it writes; −1: half of them."))


def candidates(trail: Trail, at: int, how: Strategy, name: Callable[[int], str], eos_id: int) -> Choice:
    """Return the candidates of one step, in the form that fits the strategy."""
    if isinstance(how, Beam) and trail.search is not None:
        return searched(trail.search.steps, at, how, trail.ids, name, eos_id)
    if isinstance(how, Sampling):
        return drawn(draw(trail.logits[at], how, float(trail.numbers[at])), how, name, shown_glosses())
    return likeliest(draw(trail.logits[at], Sampling(), 0.0), name, glosses=shown_glosses())


def title(trail: Trail, at: int, how: Strategy, name: Callable[[int], str]) -> str:
    """Return the step in one line: its token, its probability, and the entropy of the prediction."""
    distribution = draw(trail.logits[at], how if isinstance(how, Sampling) else Sampling(), 0.0)
    sentence = _("Step {at} writes {word}, with probability {p}. The entropy of the prediction is {entropy} of at most {most} "
                 "nats.",
                 at=at + 1, word=quoted(name(trail.ids[at])), p=percent(float(np.exp(trail.logprobs[at]))),
                 entropy=rounded(distribution.model_entropy, 3), most=rounded(log(len(distribution.logits)), 3))
    if isinstance(how, Sampling) and distribution.entropy != distribution.model_entropy:
        sentence += " " + _("After temperature and filters the probability is {p} and the entropy {entropy} nats.",
                            p=percent(float(distribution.probs[trail.ids[at]])), entropy=rounded(distribution.entropy, 3))
    return sentence


def end_words(trail: Trail, how: Strategy, max_len: int, has_eos: bool = True) -> str:
    """Return the probability of the whole text, and why it ends.

    max_len: the rows of the position table, if there is one. has_eos: whether the model has a token that ends a text.
    """
    total = float(trail.logprobs.sum())
    sentences = [_("The log-probability of the whole text is {total}, the sum over its tokens. The geometric mean of their "
                   "probabilities is {each}.", total=rounded(total, 4), each=percent(float(np.exp(trail.logprobs.mean()))))]
    limit = longest()
    if not trail.ended and len(trail.ids) < limit:
        sentences.append(_("It stops because the position table has no row left for another token: max_len = {max_len}.",
                           max_len=max_len))
    elif not trail.ended:
        sentences.append(_("It stops because it has reached max_new_tokens = {most}.", most=limit))
    if not has_eos:
        sentences.append(_("This model has no token that ends a text, so it always writes up to the limit."))
    if isinstance(how, Greedy):
        sentences.append(_("Greedy takes the largest logit of each step; another text may have a larger sum."))
    return " ".join(sentences)


def _lost(lab: Lab, begun: Beginning, trail: Trail) -> str:
    """Return which words of the source the whole text may leave out; "" for an unfinished text."""
    if begun.source is None or not lab.config.is_causal or not lab.config.n_decoder_layers or not trail.ended:
        return ""
    return lost_words(lab, whole_run(lab, begun, begun.start(), trail.ids), 0)


def _attended(lab: Lab, begun: Beginning, how: Strategy, trail: Trail, at: int) -> None:
    """Draw the causal mask up to this step, and where the newest token attends in the chosen layer.

    With a causal mask, one run of the whole text serves every step. Without one, rows would also attend to later tokens, so each
    step has its own run.
    """
    layers = lab.config.n_decoder_layers
    if not layers:
        return
    st.markdown(_("**What this step could see:** the last row of the causal mask belongs to the token from which this step "
                  "predicts. The other matrices show where this token attends, one row for each head.") if lab.config.is_causal else
                _("**What this step could see:** without a causal mask, every token sees all that is written so far. The other "
                  "matrices show where the token from which this step predicts attends, one row for each head."))
    layer = bounded(st.number_input, "write_layer", _("Layer (−1: the last)"), layers - 1, least=-1, width=200)
    run = whole_run(lab, begun, begun.start(), trail.ids if lab.config.is_causal else trail.ids[: at + 1])
    layer, length = layers - 1 if layer < 0 else layer, len(begun.start()) + at
    picking(attended_panels(run, layer, length, shown_glosses()), "write_attended",
            code=lambda: snippets.attended(lab, begun, how, layer, length))
