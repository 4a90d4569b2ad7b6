"""Token by token: what is written so far, and for one step the way from the logits to the word that is chosen."""

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
    """The text as a row of tokens, the candidates of the current step below it, and what the new token attends to."""
    look(LOOKS[view("write_strategy")])
    place, rail = beside(RAIL)
    with rail:
        how = controls(lab)
    with place:
        trail = trail_of(lab, begun, how)
    if trail is None:
        return
    at, name = step_of(len(trail.ids)), partial(lab.word, "target", item=begun.item)
    text = Text(tuple(visible(name(i)) for i in begun.start()), tuple(visible(name(i)) for i in trail.ids), at)
    with place:
        choice(text, candidates(trail, at, how, name, lab.tokenizers["target"].eos_id), title(trail, at, how, name),
               key="write_choice", on_step=go, code=lambda: snippets.chosen(lab, begun, how, at))
    moves(len(trail.ids), named(name(trail.ids[at])))
    lengths(begun)
    lost = _lost(lab, begun, trail)
    has_eos = lab.tokenizers["target"].eos_id != NO_TOKEN
    said = " ".join(filter(None, (lost, end_words(trail, how, lab.config.max_len, has_eos))))
    st.caption(said, help=lost_words_help(lab) if lost else None)
    _attended(lab, begun, how, trail, at)
    player(len(trail.ids))


def controls(lab: Lab) -> Strategy:
    """How each word is chosen, in the narrow column."""
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
    """What the text begins with and how long it may become, in a row below the picture."""
    with st.container(horizontal=True, key="write_lengths"):
        view_widget(st.number_input, "write_most", _("max_new_tokens"), width=200)
        if begun.source is None and begun.words:
            bounded(st.number_input, "write_from", _("Given words"), begun.words, least=-1, width=200,
                    help=_("The typed words that the model reads before it writes; −1: half of them."))


def candidates(trail: Trail, at: int, how: Strategy, name: Callable[[int], str], eos_id: int) -> Choice:
    """The candidates of one step, as the strategy looks at them."""
    if isinstance(how, Beam) and trail.search is not None:
        return searched(trail.search.steps, at, how, trail.ids, name, eos_id)
    if isinstance(how, Sampling):
        return drawn(draw(trail.logits[at], how, float(trail.numbers[at])), how, name, shown_glosses())
    return likeliest(draw(trail.logits[at], Sampling(), 0.0), name, glosses=shown_glosses())


def title(trail: Trail, at: int, how: Strategy, name: Callable[[int], str]) -> str:
    """The step in one line: its word, its probability, and how sure the model was."""
    found = draw(trail.logits[at], how if isinstance(how, Sampling) else Sampling(), 0.0)
    said = _("Step {at} writes {word}, with probability {p}. The entropy of the prediction is {entropy} of at most {most} nats.",
             at=at + 1, word=quoted(name(trail.ids[at])), p=percent(float(np.exp(trail.logprobs[at]))),
             entropy=rounded(found.model_entropy, 3), most=rounded(log(len(found.logits)), 3))
    if isinstance(how, Sampling) and found.entropy != found.model_entropy:
        said += " " + _("After temperature and filters the probability is {p} and the entropy {entropy} nats.",
                        p=percent(float(found.probs[trail.ids[at]])), entropy=rounded(found.entropy, 3))
    return said


def end_words(trail: Trail, how: Strategy, max_len: int, has_eos: bool = True) -> str:
    """The probability of the whole text, and why it ends. max_len: the rows of the position table, where there is one.

    has_eos: whether the model has a token that ends a text.
    """
    total = float(trail.logprobs.sum())
    said = [_("The log-probability of the whole text is {total}, the sum over its tokens. The geometric mean of their "
              "probabilities is {each}.", total=rounded(total, 4), each=percent(float(np.exp(trail.logprobs.mean()))))]
    most = longest()
    if not trail.ended and len(trail.ids) < most:
        said.append(_("It stops because the position table has no row left for another token: max_len = {max_len}.",
                      max_len=max_len))
    elif not trail.ended:
        said.append(_("It stops because it has reached max_new_tokens = {most}.", most=most))
    if not has_eos:
        said.append(_("This model has no token that ends a text, so it always writes up to the limit."))
    if isinstance(how, Greedy):
        said.append(_("Greedy takes the largest logit of each step; another text may have a larger sum."))
    return " ".join(said)


def _lost(lab: Lab, begun: Beginning, trail: Trail) -> str:
    """What the whole text may have lost of its source, by the run that `_attended` shows; "" of a text without its end."""
    if begun.source is None or not lab.config.is_causal or not lab.config.n_decoder_layers or not trail.ended:
        return ""
    return lost_words(lab, whole_run(lab, begun, begun.start(), trail.ids), 0)


def _attended(lab: Lab, begun: Beginning, how: Strategy, trail: Trail, at: int) -> None:
    """The mask as far as it has grown, and where the newest token looks in the chosen layer.

    With a causal mask, the run of the whole text shows every step; without one, its rows would also see what comes later.
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
