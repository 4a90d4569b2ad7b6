"""The Masks page: why each cell is open or closed, how a mask is made and written, and experiments with wrong ones.

One section is computed at a time, and the link says which, with the attention, the cell and the word in focus.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from viz_core.analysis import masks as numbers
from viz_core.analysis.attention import Kind, kinds, module, n_layers, real, sides
from viz_core.analysis.summary import predictions
from viz_core.capture import Capture
from viz_core.concepts import PADDED
from viz_core.figures import masks as figures
from viz_core.figures.attention import KIND_TITLES, compared, head_name, head_panel, number
from viz_core.stages import Side
from viz_core.text import shorten, split_words
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.controls import keep, picking, table
from viz_core.ui.escape import code, escaped, words
from viz_core.ui.shell import (
    Lab,
    change,
    current,
    present,
    set_choice,
    set_view,
    touch,
    view,
    view_widget,
    widget,
    widget_value,
    write_link,
)
from viz_core.ui.shell.setup import Setup

if TYPE_CHECKING:
    from viz_core.experiments.masks import EmptyRows, Spread, Unsqueezed
    from viz_core.run import Batch

# torch takes over a second to import: the experiments, which need it, are imported where they are run.

SWITCHES = {
    "causal": "Causal", "mask_source_padding": "Source padding", "mask_target_padding": "Target padding",
    "mask_padded_queries": "Padded queries",
}
SHORT = {"encoder": "encoder self", "decoder": "decoder self", "cross": "cross"}
EXAMPLE = "mask_example"  # the button's key
MOST_TURNS = 32  # tokens that are exchanged one after another
WRITTEN_BY = {
    "may": "this app, 000, 002; F.scaled_dot_product_attention",
    "blocked": "004; nn.MultiheadAttention and torch's layers, attn_mask and key_padding_mask",
    "additive": "torch's layers accept it too; inside Hugging Face's models",
}
TREATED = {
    "−∞, then softmax": "scores.masked_fill(~mask, −∞), then softmax",
    "−1e20, then softmax": "scores.masked_fill(~mask, −1e20), then softmax",
    "this app": "this app's default: such a row is zeros",
}


@dataclass(frozen=True, slots=True)
class At:
    """What is in focus: an attention, and one sentence of the batch."""

    kind: Kind
    item: int


@st.fragment
def masks() -> None:
    """The whole page below its lead. A fragment: a change of view reruns this alone, not the sidebar and the frame."""
    lab = present()
    if lab.capture is None:
        return
    if st.session_state.get(EXAMPLE):  # it was clicked: the sidebar, outside this fragment, shows other sentences too
        st.rerun()
    available = kinds(lab.config)
    if not available:
        st.info("This model has no layer, so there is no attention to mask: give it at least one in the sidebar.")
        write_link()
        return
    section = view_widget(st.segmented_control, "mask_section", "Section", required=True, label_visibility="collapsed",
                          format_func=lambda s: SECTIONS[s][0])
    at = _focus(lab, lab.capture, available, section)
    try:
        SECTIONS[section][1](lab, lab.capture, at)
    except ValueError as error:  # one sentence: what is wrong, with which value, what to do
        st.info(escaped(str(error)))
    write_link()


# ---------------------------------------------------------------- the focus


def _focus(lab: Lab, capture: Capture, available: Sequence[Kind], section: str) -> At:
    """Which attention and which sentence, with their controls, and the example batch one click away."""
    kind: Kind = "decoder" if "decoder" in available and section != "empty" else available[0]
    if (asked := view("mask_kind")) in available:
        kind = asked
    elif asked:
        st.caption(f"This model has no {KIND_TITLES[asked].lower()}; {KIND_TITLES[kind].lower()} is shown.")
    item = min(lab.setup.item, capture.n_sentences - 1)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        causal_alone = section in ("leak", "unsqueeze")
        if len(available) > 1 and not causal_alone:
            widget(st.segmented_control, "mask_kind", "Attention", kind, _keep_kind, options=available, required=True,
                   format_func=lambda k: SHORT[k])
        if capture.n_sentences > 1:
            widget(st.segmented_control, "item", "Sentence", item, set_choice, options=range(capture.n_sentences), required=True,
                   format_func=lambda i: str(i + 1))
        if not (causal_alone or _has_padding(capture)):
            st.button("Two sentences of different lengths", icon=":material/format_line_spacing:", key=EXAMPLE, on_click=_example,
                      type="primary" if section == "empty" else "secondary",
                      help="There is no padding yet. The shorter of two sentences is filled up with padding, which has to be "
                      "masked.")
    return At(kind, item)


def _has_padding(capture: Capture) -> bool:
    own = [side for side in ("source", "target") if f"ids.{side}" in capture]
    return not all(real(capture, side, i).all() for side in own for i in range(capture.n_sentences))  # type: ignore[arg-type]


def _keep_kind(name: str) -> None:
    """Another attention has other tokens: the picked cell is let go."""
    set_view(mask_kind=widget_value(name), mask_query=-1, mask_key=-1, mask_layer=-1)


def _example() -> None:
    source, target = example(current())
    tokenizer = "word" if current().tokenizer == "ids" else current().tokenizer
    change(source=source, target=target, tokenizer=tokenizer, item=0)
    set_view(mask_query=-1, mask_key=-1, mask_place=-1)


def example(setup: Setup) -> tuple[str, str]:
    """Two sentences of different lengths that the weights know, the shorter first, so that it is padded."""
    if setup.card is None or not setup.card.examples:
        return PADDED["source"], PADDED["target"]
    by_length = sorted(setup.card.examples, key=lambda pair: len(split_words(pair[0] + " " + pair[1])))
    short, long = by_length[0], by_length[-1]
    return f"{short[0]}\n{long[0]}", f"{short[1]}\n{long[1]}"


def _key(lab: Lab, *more: Hashable) -> Hashable:
    from viz_core.ui.shell.cache import run_key

    assert lab.batch is not None
    return run_key(lab.setup.weights, lab.config, lab.batch, lab.setup.seed, lab.setup.device), *more


def _cost(lab: Lab) -> tuple[float, int]:
    """Seconds and bytes of one more run of these sentences."""
    from viz_core.ui.shell.cache import run_cost

    assert lab.batch is not None
    return run_cost(lab.config, lab.batch)


def _no_padding_here(capture: Capture, kind: Kind, item: int) -> bool:
    """Whether the sentence in focus has no padding that its attention could meet."""
    return all(real(capture, side, item).all() for side in sides(kind))


# ---------------------------------------------------------------- who sees whom


def _who(lab: Lab, capture: Capture, at: At) -> None:
    """Every cell with its reason; a picked one as a sentence."""
    why = numbers.provenance(capture, at.kind, at.item)
    row, col = view("mask_query"), view("mask_key")
    if not (0 <= row < why.shape[0] and 0 <= col < why.shape[1]):
        row, col = numbers.telling_cell(why)
    st.markdown("**A row is a token that asks, a column one that is asked.** Click a cell, or press an arrow key, to read why it "
                "is open or closed.")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        title = f"{KIND_TITLES[at.kind]}: the mask of every layer and head"
        matrices([figures.provenance_panel(capture, at.kind, at.item, title)], key="mask_map", pick=Pick(0, row, col),
                 on_pick=_choose_cell)
    with right:
        told = numbers.sentence(numbers.reason(capture, at.kind, at.item, row, col), code)
        counts = numbers.tally(why)
        lines = [f"- {name}: **{n:,}**" for name, n in zip(numbers.WHY, counts, strict=True) if n]
        st.markdown(f"#### Why?\n\n{told}\n\nOf {why.size:,} cells:\n\n" + "\n".join(lines) + f"\n\n{_unused(lab, capture, at)}")


def _choose_cell(pick: Pick | None) -> None:
    if pick is None:
        touch()
    else:
        set_view(mask_query=pick.row, mask_key=pick.col)


def _unused(lab: Lab, capture: Capture, at: At) -> str:
    """What this mask does not do here, where that is surprising."""
    found = numbers.parts(lab.config, at.kind)
    if found == (None, None, None):
        return "Nothing is masked here: every token sees every other one, padding too."
    asks, asked = sides(at.kind)
    padding = ~real(capture, asked, at.item)
    if found.keys is not None or not padding.any():
        return ""
    why = numbers.provenance(capture, at.kind, at.item)
    seen = (why == 0)[real(capture, asks, at.item)][:, padding]  # [words that ask, padding]
    if seen.any():
        return "Padding is not masked in this attention: words see it, and it takes part of their weight."
    return "Padding is not masked in this attention, but no word sees it: it stands after them, where the causal mask closes all."


# ---------------------------------------------------------------- how it is built


def _built(lab: Lab, capture: Capture, at: At) -> None:
    """The parts in their own shapes, their AND, and how each is stretched over the scores."""
    name = numbers.MASK[at.kind]
    st.markdown("**A mask is the AND of its parts: a cell is open where every part leaves it open.** `ne` finds the words, `tril` "
                "keeps what is not later. Document 002 multiplies 0 and 1, which is the same.")
    picking(figures.building_panels(capture, at.kind, at.item), "mask_built")
    st.markdown(f"$$\n{capture.stage(name).formula}\n$$")
    st.code("\n".join(numbers.recipe(lab.config, at.kind)), language="python")
    st.markdown("**Each part keeps its own small shape; an axis of size 1 serves all.** Every mask of this run, where it is used:")
    table(["Mask", "Used in", "Own shape", "Fits [B, H, T, S]", "One for all"], [_use(m) for m in numbers.in_use(capture)])


AXIS_WORDS = {"B": "sentences", "H": "heads", "T": "queries", "S": "keys"}


def _use(m: numbers.InUse) -> list[str]:
    name = m.name + (", turned to mask queries" if m.turned else "")
    repeated = ", ".join(f"{n} {AXIS_WORDS[a]}" for a, n in m.repeated.items()) or "–"
    own, full = (" × ".join(map(str, shape)).replace(" ", "\N{NO-BREAK SPACE}") for shape in (m.own, m.full))
    return [name, KIND_TITLES[m.kind], own, full, repeated]


# ---------------------------------------------------------------- conventions


def _conventions(lab: Lab, capture: Capture, at: At) -> None:
    """One mask as three conventions write it, with the line that makes each and the one that leads back."""
    st.markdown("**The same mask, written in three ways.** To confuse the first two opens exactly what was to be closed, and "
                "nothing raises an error. Here True always means may attend.")
    picking(figures.convention_panels(capture, at.kind, at.item), "mask_written")
    lines = [f"{numbers.TO[c]}\n{numbers.BACK[c]}  # and back" for c in numbers.CONVENTIONS if c != "may"]
    st.code("\n".join(lines), language="python", wrap_lines=True)
    table(["Convention", "Who writes it"], [[figures.CONVENTION_TITLES[c], WRITTEN_BY[c]] for c in numbers.CONVENTIONS])
    from viz_core.experiments.masks import agreement
    from viz_core.ui.shell.cache import cached_result

    path = module(at.kind, 0)
    seed = lab.setup.seed
    found = cached_result("mask forms", _key(lab, path), lambda: agreement(lab.model(), _batch(lab), path, seed), *_cost(lab))
    said = []
    if found.mha is not None:
        said.append(f"torch.nn.MultiheadAttention, with the parameters of this attention, was given this mask as bool and as float "
                    f"just now: the largest difference of its outputs is **{found.mha:.2g}**.")
    if found.sdpa is not None:
        said.append(f"F.scaled_dot_product_attention: **{found.sdpa:.2g}**. So torch takes both forms, bool and float, where "
                    "document 004 says that it wants floats only.")
    if found.problem:
        said.append(("torch.nn.MultiheadAttention cannot be asked here. " if found.mha is None and found.sdpa is not None else "")
                    + found.problem)
    st.markdown(" ".join(said))


def _batch(lab: Lab) -> "Batch":
    assert lab.batch is not None
    return lab.batch


# ---------------------------------------------------------------- with and without


def _effect(lab: Lab, capture: Capture, at: At) -> None:
    """One head's weights with a mask and without it, from two runs with the same parameters."""
    from viz_core.experiments.masks import masked_run, switch
    from viz_core.ui.shell.cache import run_cost, runs

    name = _switch(lab, at)
    layer, head = _layer_head(lab, at)
    model, batch = lab.model(), _batch(lab)

    def run(on: bool) -> Capture:
        config = switch(lab.config, name, on)
        cost = run_cost(config, batch)
        return runs().get(("masked", _key(lab), config), lambda: masked_run(model, batch, config, lab.setup.seed), *cost)

    on, off = run(True), run(False)
    a, b = (head_panel(c, at.kind, layer, head, at.item) for c in (on, off))
    st.markdown(f"**{head_name(at.kind, layer, head)}, with and without this mask.** Same parameters, two runs. Orange: looked at "
                "more once the mask is gone; blue: less.")
    picking(compared(a, b, ("With", "Without")), "mask_effect")
    st.markdown(" ".join(_effect_words(lab, on, off, at, layer, head, name)))


def _switch(lab: Lab, at: At) -> str:
    """Which mask is switched."""
    c = lab.config
    offered = [
        s for s in SWITCHES
        if not (s == "mask_source_padding" and not c.has_encoder) and not (s == "mask_target_padding" and not c.has_decoder)
    ]
    found = numbers.parts(c, at.kind)
    usual = "causal" if found.causal else f"mask_{sides(at.kind)[1]}_padding"
    chosen: str = view("mask_switch") if view("mask_switch") in offered else usual
    widget(st.segmented_control, "mask_switch", "Mask", chosen, keep, options=offered, required=True,
           format_func=lambda s: SWITCHES[s])
    return chosen


def _layer_head(lab: Lab, at: At, layers: bool = True, head: int = 0) -> tuple[int, int]:
    """The layer and head in focus, each a choice where there is one; the given head where nobody has chosen."""
    depth, n_heads = n_layers(lab.config, at.kind), lab.config.n_heads
    layer = min(max(view("mask_layer"), 0), depth - 1) if layers else 0
    chosen = min(view("mask_head"), n_heads - 1) if view("mask_head") >= 0 else head
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if layers and depth > 1:
            widget(st.segmented_control, "mask_layer", "Layer", layer, keep, options=range(depth), required=True)
        if n_heads > 1:
            widget(st.segmented_control, "mask_head", "Head", chosen, keep, options=range(n_heads), required=True)
    return layer, chosen


def _effect_words(lab: Lab, on: Capture, off: Capture, at: At, layer: int, head: int, name: str) -> list[str]:
    """What the cells take that this mask closes, and what becomes of the predictions."""
    cells = numbers.open_cells(on, off, at.kind, at.item)
    rows = real(off, sides(at.kind)[0], at.item) & cells.any(axis=-1)
    said = [f"In this model it is {'on' if getattr(lab.config, name.replace('causal', 'is_causal')) else 'off'}."]
    if cells.any():
        weights = off[f"{module(at.kind, layer)}.weights"][at.item, head]
        said.append(f"This mask closes {int(cells.sum()):,} of {cells.size:,} cells.")
        if rows.any():
            taken = f"{numbers.weight_there(weights, cells, rows):.1%}".replace("nan%", "NaN")
            said.append(f"Without it they take **{taken}** of the weight, on average over the words that would see one of them.")
    elif name == "causal" and at.kind == "cross":
        said.append("The causal mask is no part of cross-attention: what differs here comes from the decoder's own attention.")
    else:
        said.append("Here this mask closes no cell that would be open without it.")
        if _no_padding_here(on, at.kind, at.item) and name != "causal":
            said.append("This sentence has no padding.")
    if "probs" in on:
        both = list(zip(predictions(on, at.item, 1), predictions(off, at.item, 1), strict=True))
        changed = sum(a.ids != b.ids for a, b in both)
        said.append(f"The likeliest next word changes after **{changed} of {len(both)}** tokens; the loss is "
                    f"{number(float(on['loss']))} with and {number(float(off['loss']))} without.")
    return said


# ---------------------------------------------------------------- the leak test


def _leak(lab: Lab, capture: Capture, at: At) -> None:
    """One token exchanged: which outputs move, with the causal mask on and off."""
    from viz_core.experiments.masks import leak, read_side
    from viz_core.ui.shell.cache import cached_result

    side: Side = read_side(lab.config)
    tokens = figures.labels(capture, side, at.item)
    st.markdown("**Exchange one word. Under a causal mask nothing before it may notice, not by a single bit.** If something does, "
                "the future leaks, and a model learns to copy its answers.")
    place, id = _exchange(lab, capture, at, side)
    model, batch = lab.model(), _batch(lab)
    found = cached_result("mask leak", _key(lab, at.item, place, id), lambda: leak(model, batch, at.item, place, id), *_cost(lab))
    if not (np.isfinite(found.moved).all() and np.isfinite(found.moved_free).all()):
        raise ValueError("Some outputs of this sentence are no numbers, so nothing can be compared; Empty rows shows where NaN "
                         "comes from.")
    new = lab.tokenizers[side].decode(id) if not view("mask_word").strip() else view("mask_word")
    exchanged = f"“{shorten(tokens[place])}” ({place})"
    picking([figures.leak_panel(found.moved, found.moved_free, tokens, exchanged)], "mask_leak")
    early, late = int(found.changed[:place].sum()), int(found.changed_free[:place].sum())
    own = "as this model has it" if lab.config.is_causal else "which this model does not have"
    st.markdown(
        f"{code(tokens[place])} ({place}) became {code(new)}. Causal mask on, {own}: of the {place} outputs before it, **{early}** "
        f"changed in any bit. Off: **{late} of {place}** changed"
        + (f", the most by {number(float(found.moved_free[:place].max()), 3)}." if place and late else ".")
        + (" The first token has nothing before it: choose a later one." if place == 0 else "")
    )
    _turns(lab, capture, at, side, tokens)


def _exchange(lab: Lab, capture: Capture, at: At, side: Side) -> tuple[int, int]:
    """Which token is exchanged, and the id that takes its place."""
    tokens, places = figures.labels(capture, side, at.item), np.nonzero(real(capture, side, at.item))[0].tolist()
    if not places:
        raise ValueError(f"Sentence {at.item + 1} is nothing but padding, so there is no word to exchange: type one.")
    asked = view("mask_place")
    place = asked if asked in places else places[len(places) // 2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        widget(st.selectbox, "mask_place", "Exchange", place, keep, options=places, width=240,
               format_func=lambda t: f"{t} · {tokens[t]}")
        typed = view_widget(st.text_input, "mask_word", "for", width=240, placeholder="another word")
    if not typed.strip():
        return place, _others(lab, capture, at, side)[place]
    tokenizer = lab.tokenizers[side]
    if strangers := [word for word, _ in tokenizer.unknown(typed)]:
        st.caption(f"These weights do not know {words(strangers)}: read as \\<unk>.")
    read, ids = tokenizer.read(typed)
    if len(read) > 1:
        st.caption(f"That is {len(read)} tokens, and one has a place here: {code(read[0])}.")
    return place, ids[0]


def _others(lab: Lab, capture: Capture, at: At, side: Side) -> list[int]:
    """For each place of a sentence another word of it, where it has one, else the next id of the vocabulary that is a word."""
    ids = capture[f"ids.{side}"][at.item].tolist()
    pad = lab.config.source_pad_id if side == "source" else lab.config.target_pad_id
    size = lab.tokenizers[side].vocab_size
    found = []
    for place, id in enumerate(ids):
        candidates = (*ids[place + 1 :], *ids[:place], id + 1, id + 2, 1, 2)
        found.append(next(i for i in candidates if i not in (id, pad) and i < size))
    return found


def _turns(lab: Lab, capture: Capture, at: At, side: Side, tokens: Sequence[str]) -> None:
    """Every token in turn, where there are not too many."""
    if not view_widget(st.toggle, "mask_turns", "Exchange every token in turn"):
        return
    from viz_core.experiments.masks import reach
    from viz_core.ui.shell.cache import cached_result

    if len(tokens) > MOST_TURNS:
        raise ValueError(f"There are {len(tokens)} tokens, and at most {MOST_TURNS} are exchanged in turn: shorten the sentence.")
    others = _others(lab, capture, at, side)
    model, batch = lab.model(), _batch(lab)
    on = cached_result("mask reach", _key(lab, at.item, True), lambda: reach(model, batch, at.item, others, True), *_cost(lab))
    off = cached_result("mask reach", _key(lab, at.item, False), lambda: reach(model, batch, at.item, others, False), *_cost(lab))
    st.markdown("**A row is the token that was exchanged, a column the output that moved.** Under a causal mask the cells left of "
                "the diagonal are 0: what comes later reaches no output before it.")
    picking(figures.reach_panels(on, off, tokens), "mask_reach")


# ---------------------------------------------------------------- rows that see nothing


def _empty(lab: Lab, capture: Capture, at: At) -> None:
    """What becomes of a padded query whose row is masked throughout, and how NaN goes on from there."""
    from viz_core.experiments.masks import empty_rows, spread
    from viz_core.ui.shell.cache import cached_result

    st.markdown("**Document 002 masks padded queries too: such a row sees no key at all.** A softmax over nothing but −∞ is 0 / 0, "
                "and what comes out depends on whom you ask.")
    asks = sides(at.kind)[0]
    if real(capture, asks, at.item).all():
        raise ValueError(f"Sentence {at.item + 1} has no padded {asks} token, so every row sees something: take two sentences of "
                         "different lengths, and of them the shorter one.")
    model, batch, path = lab.model(), _batch(lab), module(at.kind, 0)
    seed, cost = lab.setup.seed, _cost(lab)
    found = cached_result("mask empty", _key(lab, path, at.item), lambda: empty_rows(model, batch, path, at.item, seed), *cost)
    if not found.empty.any():
        raise ValueError(f"{asks.capitalize()} padding is not masked in this model, so its rows see something: turn on Mask {asks} "
                         "padding under All switches.")
    st.markdown(f"The same scores of layer 0, masked in {len(found.treatments)} ways, run now and shown as they come out:")
    _, head = _layer_head(lab, at, layers=False)
    row = int(np.nonzero(found.empty)[0][0])
    _treatments(capture, asks, at, found, row, head)
    going = cached_result("mask spread", _key(lab, asks, at.item), lambda: spread(model, batch, asks, at.item, seed), *cost)
    st.markdown("#### How NaN spreads\n\nThe length of each token's vector, layer by layer, with rows left as −∞ makes them and "
                f"with this app's rule. {_spread_words(going, lab.config.has_cross_attention and asks == 'target')}")
    tokens = figures.labels(capture, asks, at.item)
    both = [("Rows as −∞ fills them", going.filled), ("This app: such rows are zeros", going.zero)]
    picking(figures.spread_panels(going.stops, both, tokens), "mask_spread")
    st.markdown(f"#### The weights of head {head}, as each way gives them")
    drawn = [(t.name, t.weights[head]) for t in found.treatments if t.weights is not None]
    for i in range(0, len(drawn), 2):  # two abreast keep legible cells
        panels = figures.head_panels(capture, at.kind, at.item, drawn[i : i + 2])
        picking(panels, f"mask_empty_{i}")


def _treatments(capture: Capture, asks: str, at: At, found: "EmptyRows", row: int, head: int) -> None:
    """One line a treatment: the weights of one empty row, and what leaves the attention there."""
    lines = []
    for t in found.treatments:
        name = TREATED.get(t.name, t.name)
        if t.out is None:
            lines.append([name, t.problem, ""])
            continue
        weights = "not returned" if t.weights is None else numbers.in_words(t.weights[head, row])
        lines.append([name, weights, numbers.in_words(t.out[row])])
    token = figures.labels(capture, asks, at.item)[row]
    table(["Masked by", f"Weights of “{token}” ({row}), head {head}", "Output at that token"], lines)
    st.caption("Weights of the fused function are read off with V = 1: then its output is its weights. Where all weights are 0, "
               "what is left of the output is the bias of W_O.")


def _spread_words(going: "Spread", reads_memory: bool) -> str:
    """How many tokens are NaN at each stop, and why; from the numbers themselves."""
    counts = [int(np.isnan(x).sum()) for x in going.filled]
    n_tokens = going.filled.shape[1]
    told = ", ".join(f"{stop} **{n}**" for stop, n in zip(going.stops, counts, strict=True))
    why = ""
    if reads_memory and n_tokens in counts[:2]:  # its own padded keys are NaN one layer later only
        why = " The decoder reads what the encoder wrote, and that is NaN for this sentence already."
    elif n_tokens in counts:
        why = " A padded key has the weight 0, but 0 × NaN is NaN: one layer later its value is in every token."
    left = int(np.isnan(going.zero).any(axis=0).sum())
    return f"Tokens that are NaN, of {n_tokens}: {told}.{why} With this app's rule: {left or 'none'}."


# ---------------------------------------------------------------- document 004's unsqueeze(1)


def _unsqueeze(lab: Lab, capture: Capture, at: At) -> None:
    """A (T, T) mask given unsqueeze(1): what torch answers here, and where T is the number of heads."""
    from viz_core.experiments.masks import read_side, unsqueezed
    from viz_core.ui.shell.cache import cached_result

    st.markdown("**Document 004 hands a (T, T) look-ahead mask to attention, which calls `mask.unsqueeze(1)` on it.** That is "
                "right for (B, T, T). Of (T, T) it makes (T, 1, T), and the first T then meets the heads.")
    st.code("look_ahead = torch.triu(torch.ones(T, T), diagonal=1).bool()  # True = blocked\n"
            "mask = look_ahead.unsqueeze(1)  # (T, 1, T)\n"
            "scores = scores.masked_fill(mask == True, float('-inf'))  # (B, H, T, T)", language="python")
    side: Side = read_side(lab.config)
    heads = lab.config.n_heads
    n_tokens = capture[f"ids.{side}"].shape[1]
    model, batch = lab.model(), _batch(lab)

    def tried(length: int) -> "Unsqueezed":
        made = lambda: unsqueezed(model, batch, at.item, length, lab.setup.seed)  # noqa: E731
        return cached_result("mask unsqueeze", _key(lab, at.item, length), made)

    typed = tried(n_tokens)
    shapes = f"the mask is {_shape(typed.mask)}, the scores are {_shape(typed.scores)}"
    if typed.answer:
        st.markdown(f"Your batch has T = {n_tokens} and the model H = {heads}: {shapes}. torch answers:")
        st.code(typed.answer, language=None, wrap_lines=True)
    if heads == 1:
        st.info("With one head T = H holds for one token alone, and that has no future to leak: choose more heads.")
        return
    if n_tokens < heads:
        st.info(f"Where T = H it runs without a word, and leaks. For that the {side} needs at least {heads} tokens, and there are "
                f"{n_tokens}: type a longer sentence, or choose fewer heads.")
        return
    leaky = typed if n_tokens == heads else tried(heads)
    if leaky.weights is None or leaky.future is None:
        return
    which = "Your batch has T = H" if n_tokens == heads else f"On the first {heads} tokens T = H"
    st.markdown(f"**{which} = {heads}, and it runs without a word.** Head h hides the keys after h, whoever asks: head 0 sees the "
                f"first key alone, and head {heads - 1} sees all the future.")
    _, head = _layer_head(lab, at, layers=False, head=heads - 1)
    kind: Kind = "decoder" if side == "target" else "encoder"
    drawn = [(f"As printed · head {head}", leaky.weights[head]), (f"As meant · head {head}", leaky.meant[head])]
    panels = figures.head_panels(capture, kind, at.item, drawn)
    share = figures.share_panel(leaky.future, "Weight on later tokens, as printed: mean over the rows that have any")
    picking([*panels, share], "mask_unsqueeze")
    st.markdown(f"Head {heads - 1} puts **{float(leaky.future[-1]):.1%}** of its weight on tokens that it must not see. As meant, "
                "every head has 0 there. This app's causal mask is (1, 1, T, T): it cannot meet the heads.")


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"


SECTIONS: dict[str, tuple[str, Callable[[Lab, Capture, At], None]]] = {
    "who": ("Who sees whom", _who),
    "built": ("How built", _built),
    "conventions": ("Conventions", _conventions),
    "effect": ("On and off", _effect),
    "leak": ("Leak test", _leak),
    "empty": ("Empty rows", _empty),
    "unsqueeze": ("unsqueeze(1)", _unsqueeze),
}
