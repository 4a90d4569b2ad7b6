"""The Attention page: all heads, one head, one number; and on request what a head does, rollout, and what breaks.

The link says which head, query, key, step and colour are in focus, and which run was kept as A: its setup, not its
numbers, which come from the store that all visitors share.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from viz_core.analysis import attention as numbers
from viz_core.analysis.attention import Kind, Step
from viz_core.analysis.summary import predictions
from viz_core.analysis.word_attention import between_words
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.figures import attention as figures
from viz_core.figures.attention import KIND_TITLES, Colour, Grid
from viz_core.figures.export import lines_svg, panel_csv, panel_svg
from viz_core.figures.panels import Panel, panel
from viz_core.text import Words, split_words, visible, words_of
from viz_core.ui.components.canvas import Pick, matrices
from viz_core.ui.components.heads import Focus, heads
from viz_core.ui.components.lines import Lock, lines
from viz_core.ui.controls import picking, table
from viz_core.ui.escape import code
from viz_core.ui.shell import (
    Lab,
    change,
    current,
    lab_of,
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
from viz_core.ui.shell.setup import VIEW, Setup, packed, sentences, unpacked, with_view

COLOURS = {"largest": "0 to largest", "one": "0 to 1", "uniform": "against uniform"}
SHORT = {"all": "all", "encoder": "encoder self", "decoder": "decoder self", "cross": "cross"}
STEP_NAMES: dict[Step, str] = {"raw": "q·k", "scaled": "÷ √d_k", "biased": "+ bias", "masked": "masked", "weights": "weights"}
STEP_WORDS: dict[Step, str] = {
    "raw": "How well each query fits each key, as their dot product.",
    "scaled": "The dot products over √d_k, so that wide heads do not saturate the softmax.",
    "biased": "ALiBi takes away from each score what grows with the distance.",
    "masked": "What may not be seen is overwritten before the softmax.",
    "weights": "The softmax of each row: it sums to 1 where the query may see anything. Look for rows with one strong cell, "
    "and for stripes.",
}
MORE = {"none": "Nothing more", "table": "What a head does", "rollout": "Through the layers", "break": "Break it"}
UNIFORM = "Against uniform: weight × number of visible keys. 1, the middle colour, is a query that looks at all of them alike."
BY_WORD = (
    "A word may be several tokens. Weight that reaches a word is then the sum over its tokens, weight that leaves it the mean "
    "over them (Clark et al. 2019). What comes before the softmax, and one number, stay with tokens."
)
MOST_PARTS = 2_000_000  # numbers of the decomposition that is added up for one query


@dataclass(frozen=True, slots=True)
class At:
    """What is in focus, and how it is shown: all that a file of it needs beside its setup."""

    kind: Kind
    layer: int
    head: int
    item: int
    query: int
    key: int
    step: Step
    colour: Colour
    by_word: bool  # words on the axes instead of tokens
    overlaid: tuple[int, ...]  # the heads of the lines

    @property
    def path(self) -> str:
        return numbers.module(self.kind, self.layer)

    @property
    def name(self) -> str:
        return figures.head_name(self.kind, self.layer, self.head)


@dataclass(frozen=True, slots=True)
class Swap:
    """One word of an example exchanged for another, with the translation that is then right."""

    old: str
    new: str
    source: str
    target: str


@st.fragment
def attention() -> None:
    """The whole page below its lead. A fragment: a change of view reruns this alone, not the sidebar and the frame."""
    lab = present()
    if lab.capture is None:
        return
    available = numbers.kinds(lab.config)
    if not available:
        st.info("This model has no layer, so there is no attention to look at: give it at least one in the sidebar.")
        write_link()
        return
    item = min(lab.setup.item, lab.capture.n_sentences - 1)
    swap = find_swap(lab.setup, item)
    at = focus(lab, lab.capture, available, item, swap)
    _runs(lab, at, swap)
    if view("att_a"):  # what was asked for first
        _one_head(lab, lab.capture, at)
        _all_heads(lab, lab.capture, available, at)
    else:
        _all_heads(lab, lab.capture, available, at)
        _one_head(lab, lab.capture, at)
    _one_number(lab, lab.capture, at)
    _more(lab, lab.capture, available, at)
    write_link()


# ---------------------------------------------------------------- the focus


def focus(lab: Lab, capture: Capture, available: Sequence[Kind], item: int, swap: Swap | None) -> At:
    """What the link asks for, brought within this run; where it asks for nothing, what is most worth a look."""
    config, asked = lab.config, view("att_kind")
    kind, layer, head = opening(lab, available)
    head = lab.setup.attn_head or head
    if asked in available:
        kind, layer, head = asked, numbers.n_layers(config, asked) - 1, lab.setup.attn_head
    elif asked:
        st.caption(f"This model has no {KIND_TITLES[asked].lower()}; {KIND_TITLES[kind].lower()} is shown.")
    if (wanted := view("att_layer")) >= 0:
        layer, head = min(wanted, numbers.n_layers(config, kind) - 1), lab.setup.attn_head
        if layer != wanted:
            st.caption(f"Layer {wanted} is not there; layer {layer} is shown.")
    head = min(head, config.n_heads - 1)
    step: Step = view("att_step") if view("att_step") in numbers.steps(config, kind) else "weights"
    asks, asked_side = numbers.sides(kind)
    n_queries, n_keys = (capture[f"ids.{side}"].shape[1] for side in (asks, asked_side))
    query = view("att_query")
    if not 0 <= query < n_queries:
        query = _telling_query(lab, capture, kind, item, swap)
    key = view("att_key")
    if not 0 <= key < n_keys:
        row = capture[f"{numbers.module(kind, layer)}.weights"][item, head, query]
        key = int(np.argmax(np.nan_to_num(row, nan=-1.0)))
    return At(kind, layer, head, item, query, key, step, view("att_colour"), view("att_words"), _overlaid(config, head))


def _overlaid(config: TransformerConfig, head: int) -> tuple[int, ...]:
    """The heads whose lines are drawn: the chosen ones, or the one in focus; "none" is a choice, too."""
    chosen = view("att_heads")
    there = tuple(h for h in chosen if h != "none" and h < config.n_heads)
    return there if there or "none" in chosen else (head,)


def opening(lab: Lab, available: Sequence[Kind]) -> Focus:
    """The head a newcomer sees: the one that best finds what a pronoun stands for, where training measured that."""
    card = lab.setup.card
    kind: Kind = available[-1]
    if card is not None and kind == "cross":
        measured: Any = card.measures.get("referent", {}).get("predicts")
        if measured is not None:
            scores = np.array(measured)  # [layer, head]
            if scores.shape == (lab.config.n_decoder_layers, lab.config.n_heads):
                layer, head = np.unravel_index(scores.argmax(), scores.shape)
                return "cross", int(layer), int(head)
    return kind, numbers.n_layers(lab.config, kind) - 1, 0


def find_swap(setup: Setup, item: int) -> Swap | None:
    """Another example of these weights that differs from the sentence in one source word; None where there is none."""
    if setup.card is None:
        return None
    pairs = list(zip(*sentences(setup)[:2], strict=False))
    if not 0 <= item < len(pairs):
        return None
    source, target = pairs[item]
    own = split_words(source)
    for other, translation in setup.card.examples:
        words = split_words(other)
        differ = [i for i, (a, b) in enumerate(zip(own, words, strict=False)) if a != b]
        if (source, target) in setup.card.examples and len(words) == len(own) and len(differ) == 1:
            return Swap(own[differ[0]], words[differ[0]], other, translation)
    return None


def _telling_query(lab: Lab, capture: Capture, kind: Kind, item: int, swap: Swap | None) -> int:
    """The row that predicts the first word that a swap changes in the target; otherwise the last word."""
    asks = numbers.sides(kind)[0]
    last = int(np.max(np.nonzero(numbers.real(capture, asks, item))[0], initial=0))
    if asks == "target" and swap is not None and "labels" in capture.sides:
        here = capture.tokens("labels")[item]
        there = lab.tokenizers["target"].read(swap.target)[0]
        return next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), last)
    return last


def _choose_head(chosen: Focus) -> None:
    """Bring a head into focus, alone; query and key stay where the kind stays."""
    kind, layer, head = chosen
    reset: dict[str, Any] = {"att_heads": ()}
    if view("att_kind") != kind:
        reset |= {"att_query": -1, "att_key": -1, "att_lock": ""}
    views = with_view(current(), att_kind=kind, att_layer=layer, **reset).views
    change(views=views, attn_head=head)


# ---------------------------------------------------------------- runs to compare


def _runs(lab: Lab, at: At, swap: Swap | None) -> None:
    """Sentence, the one-word swap, and keeping this run as A."""
    kept = view("att_a")
    if swap is not None and not kept:
        st.markdown(f"One word can turn a sentence: put {code(swap.new)} for {code(swap.old)}, and see where this head looks.")
    elif kept:
        st.markdown("**A** is the run that was kept, **B** the present one. In B − A orange is larger in B, blue smaller.")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if (n_items := lab.capture.n_sentences if lab.capture else 1) > 1:
            widget(st.segmented_control, "item", "Sentence", at.item, set_choice, options=range(n_items), required=True,
                   format_func=lambda i: str(i + 1))
        if swap is not None and st.button(
            f"{visible(swap.old)} → {visible(swap.new)}", type="primary", key="att_swap", on_click=_swap, args=(swap, at),
            help="Keeps this run as A, and exchanges the one word in the source; the target follows.",
        ):
            st.rerun()  # the sidebar shows the sentence, too
        if kept:
            st.button("Let A go", icon=":material/close:", key="att_drop", on_click=set_view, kwargs={"att_a": ""})
        else:
            st.button("Keep this run as A", icon=":material/push_pin:", key="att_keep", on_click=_keep, args=(lab.setup,),
                      help="Then change anything at the left: what comes is B, and the difference is drawn.")


def _keep(setup: Setup) -> None:
    set_view(att_a=packed(setup))


def _swap(swap: Swap, at: At) -> None:
    """The other sentence becomes the present; this one A, unless the other was A already. The focus stays where it is."""
    setup, kept = current(), _kept()
    pairs = list(zip(*sentences(setup)[:2], strict=False))
    sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
    sources[at.item], targets[at.item] = swap.source, swap.target
    source, target = "\n".join(sources), "\n".join(targets)
    is_back = kept is not None and (kept.source, kept.target) == (source, target)
    focus = {"att_kind": at.kind, "att_layer": at.layer, "att_query": at.query}
    views = with_view(setup, **focus, att_a="" if is_back else packed(setup)).views
    change(source=source, target=target, views=views, attn_head=at.head)


def _kept() -> Setup | None:
    """The setup that was kept as A."""
    return unpacked(view("att_a"))[0] if view("att_a") else None


def _a(at: At) -> tuple[Lab | None, str]:
    """The run kept as A, if its head can stand beside B's; otherwise why not."""
    if not view("att_a"):
        return None, ""
    kept, faults = unpacked(view("att_a"))
    if faults:
        written, fault = faults[0]
        st.caption(f"The link's A says {code(written)}, which {fault}.")
    run = lab_of(kept)
    other = run.capture
    if other is None:
        return None, "The run kept as A can no longer be made."
    if at.kind not in numbers.kinds(other.config):
        return None, f"A has no {KIND_TITLES[at.kind].lower()}."
    if at.layer >= numbers.n_layers(other.config, at.kind) or at.head >= other.config.n_heads:
        return None, f"A has no layer {at.layer}, head {at.head}."
    if at.item >= other.n_sentences:
        return None, f"A has no sentence {at.item + 1}."
    return run, ""


# ---------------------------------------------------------------- all heads


def _all_heads(lab: Lab, capture: Capture, available: Sequence[Kind], at: At) -> None:
    """Layers × heads of each kind that is shown, in one component."""
    shown = list(available)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(available) > 1:
            only = view_widget(st.segmented_control, "att_show", "Attention", options=("all", *available), required=True,
                               format_func=lambda k: SHORT[k])
            shown = [k for k in available if only in ("all", k)]
        view_widget(st.segmented_control, "att_colour", "Colour", required=True, format_func=lambda c: COLOURS[c], help=UNIFORM)
        if any(not w.whole for kind in shown for w in _both_words(lab, capture, kind, at.item)):
            view_widget(st.toggle, "att_words", "Group tokens by word", help=BY_WORD)
    grids = [_grid(lab, capture, kind, at) for kind in shown]
    heads(grids, (at.kind, at.layer, at.head), key="att_heads", on_focus=_choose_head)


def _grid(lab: Lab, capture: Capture, kind: Kind, at: At) -> Grid:
    """One kind's tiles, made once for all visitors."""
    from viz_core.ui.shell.cache import cached_result

    def make() -> Grid:
        words = grouped(lab, capture, kind, at)
        found = numbers.tiles(
            capture, kind, at.item, figures.MAX_TILE, at.colour == "uniform", (words[0].of, words[1].of) if words else None
        )
        asks, asked = (capture[f"ids.{side}"].shape[1] for side in numbers.sides(kind))
        return figures.grid(kind, found, at.colour, (len(words[0].texts), len(words[1].texts)) if words else (asks, asked))

    return cached_result("attention tiles", (_key(lab), kind, at.item, at.colour, at.by_word), make)


def _both_words(lab: Lab, capture: Capture, kind: Kind, item: int) -> tuple[Words, Words]:
    """The words that ask and those that are asked."""
    asks, asked = (words_of(lab.tokenizers[side], capture.tokens(side)[item]) for side in numbers.sides(kind))
    return asks, asked


def grouped(lab: Lab, capture: Capture, kind: Kind, at: At) -> tuple[Words, Words] | None:
    """The words to show instead of tokens; None where tokens are wanted."""
    return _both_words(lab, capture, kind, at.item) if at.by_word else None


def _key(lab: Lab) -> Hashable:
    from viz_core.ui.shell.cache import run_key

    assert lab.batch is not None
    return run_key(lab.setup.weights, lab.config, lab.batch, lab.setup.seed, lab.setup.device)


# ---------------------------------------------------------------- one head


def _one_head(lab: Lab, capture: Capture, at: At) -> None:
    other, problem = _a(at)
    words = grouped(lab, capture, at.kind, at)
    stops = numbers.steps(lab.config, at.kind)
    st.markdown(f"#### {at.name}\n\n{STEP_WORDS[at.step]} {problem}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view_widget(st.segmented_control, "att_step", "From q·k to the weights", options=stops, required=True,
                    format_func=lambda s: STEP_NAMES[s])
        _save(lab.setup, at)
    if other is not None and other.capture is not None:
        _compare(other, other.capture, lab, capture, at)
        _lines(capture, at, words, "Lines of B")
        return
    left, right = st.columns([3, 2], gap="medium")
    with left:
        shown = figures.head_panel(capture, at.kind, at.layer, at.head, at.item, at.step, at.colour, words)
        _pickable([shown], at, words)
    with right:
        _lines(capture, at, words)


def _save(setup: Setup, at: At) -> None:
    """What is shown of this head as files, made when asked for.

    Streamlit makes them outside of any session, so each holds what it is of; and it keeps them as long as the session, so
    they hold the setup, whose run they fetch from the store, and no run.
    """
    named = f"{at.kind}_layer{at.layer}_head{at.head}_{at.step}"
    files = (
        ("Numbers", "CSV", numbers_file, f"{named}.csv", "text/csv"),
        ("Matrix", "SVG", matrix_file, f"{named}.svg", "image/svg+xml"),
        ("Lines", "SVG", lines_file, f"{at.kind}_layer{at.layer}_lines.svg", "image/svg+xml"),
    )
    with st.popover("Save", icon=":material/download:"):
        for label, kind, make, name, mime in files:
            data = partial(make, setup, at)
            st.download_button(f"{label} ({kind})", data, name, mime, key=f"att_save_{label}", on_click="ignore")


def numbers_file(setup: Setup, at: At) -> bytes:
    """The matrix of the head in focus as CSV, with the mark by which a spreadsheet knows UTF-8."""
    return panel_csv(_saved_panel(setup, at)).encode("utf-8-sig")


def matrix_file(setup: Setup, at: At) -> bytes:
    """The matrix of the head in focus as SVG."""
    return panel_svg(_saved_panel(setup, at), f"{at.name}: {STEP_NAMES[at.step]}").encode()


def lines_file(setup: Setup, at: At) -> bytes:
    """The lines of the layer in focus as SVG, without the pointer's and the lock's choice of a token."""
    lab, capture = _saved_run(setup)
    found = _line_weights(capture, at, grouped(lab, capture, at.kind, at))
    return lines_svg(*found, at.overlaid, f"{KIND_TITLES[at.kind]}, layer {at.layer}").encode()


def _saved_panel(setup: Setup, at: At) -> Panel:
    lab, capture = _saved_run(setup)
    words = grouped(lab, capture, at.kind, at)
    return figures.head_panel(capture, at.kind, at.layer, at.head, at.item, at.step, at.colour, words)


def _saved_run(setup: Setup) -> tuple[Lab, Capture]:
    lab = lab_of(setup)
    if lab.capture is None:
        raise ValueError("The run of this setup can no longer be made: open the page again.")
    return lab, lab.capture


def _pickable(panels: list[Panel], at: At, words: tuple[Words, Words] | None) -> None:
    """The matrices, the focused cell picked in the last one that shows this run; a click moves the focus.

    A word stands for its first token.
    """
    place = 1 if len(panels) > 1 else 0
    rows, cols = panels[place].values.shape
    asks, asked = (w.of for w in words) if words and at.step == "weights" else (range(rows), range(cols))

    def choose(pick: Pick | None) -> None:
        if pick is None:
            touch()
        else:
            set_view(att_query=asks.index(pick.row), att_key=asked.index(pick.col))

    pick = Pick(place, asks[at.query], asked[at.key]) if at.query < len(asks) and at.key < len(asked) else None
    matrices(panels, key="att_matrix", pick=pick, on_pick=choose)


def _compare(kept: Lab, other: Capture, lab: Lab, capture: Capture, at: At) -> None:
    """A, B and B − A of the focused head on one scale."""
    step: Step = at.step if at.step in numbers.steps(other.config, at.kind) else "weights"
    a, b = (
        figures.head_panel(c, at.kind, at.layer, at.head, at.item, step, at.colour, grouped(run, c, at.kind, at))
        for run, c in ((kept, other), (lab, capture))
    )
    panels = figures.compared(a, b)
    _pickable(panels, at, grouped(lab, capture, at.kind, at))
    both = (("A", other), ("B", capture))
    said = [f"**{name}**: {_strongest(c, at)}" for name, c in both if at.query < c[f"{at.path}.weights"].shape[2]]
    if len(panels) == 2:
        (t, s), (u, v) = a.values.shape, b.values.shape
        said.append(f"A has {t} × {s} cells and B {u} × {v}, so no difference is drawn.")
    st.markdown("  \n".join(said))


def _strongest(capture: Capture, at: At) -> str:
    """ "`因为` (predicts `动物`) looks most at `animal`, 0.83" """
    row = capture[f"{at.path}.weights"][at.item, at.head, at.query]
    key = int(np.argmax(np.nan_to_num(row, nan=-1.0)))
    asked = capture.tokens(numbers.sides(at.kind)[1])[at.item]
    return f"{_query_words(capture, at)} looks most at {code(asked[key])}, {figures.number(float(row[key]))}"


def _query_words(capture: Capture, at: At) -> str:
    """The query token, and in a decoder the word that its row predicts."""
    asks = numbers.sides(at.kind)[0]
    word = code(capture.tokens(asks)[at.item][at.query])
    if asks == "target" and "labels" in capture.sides:
        return f"{word} (whose row predicts {code(capture.tokens('labels')[at.item][at.query])})"
    return word


def _lines(capture: Capture, at: At, words: tuple[Words, Words] | None, title: str = "Lines") -> None:
    """The lines view of the focused layer, the focused head shown first."""
    weights, queries, keys = _line_weights(capture, at, words)
    asks, asked = (w.of for w in words) if words else (range(len(queries)), range(len(keys)))
    side = view("att_lock")
    locked: Lock = (side, asks[at.query] if side == "query" else asked[at.key]) if side else None

    def lock(chosen: Lock) -> None:
        """A locked query is the query in focus, a locked key the key; the other is then the strongest."""
        if chosen is None:
            set_view(att_lock="")
        elif chosen[0] == "query":
            set_view(att_lock="query", att_query=asks.index(chosen[1]), att_key=-1)
        else:
            set_view(att_lock="key", att_key=asked.index(chosen[1]))

    named = f"{title} · {KIND_TITLES[at.kind].lower()}, layer {at.layer}"
    lines(weights, queries, keys, at.overlaid, locked, named, key="att_lines", identity=f"{at.kind}.{at.layer}.{at.head}",
          on_lock=lock, on_heads=lambda heads: set_view(att_heads=() if heads == (at.head,) else heads or ("none",)))


def _line_weights(capture: Capture, at: At, words: tuple[Words, Words] | None) -> tuple[np.ndarray, list[str], list[str]]:
    """The focused layer's weights [H, T, S] and what stands at their two ends."""
    weights = capture[f"{at.path}.weights"][at.item]  # [H, T, S]
    if words is not None:
        return between_words(weights, words[0].of, words[1].of), list(words[0].texts), list(words[1].texts)
    queries, keys = (capture.tokens(side)[at.item] for side in numbers.sides(at.kind))
    return weights, queries, keys


# ---------------------------------------------------------------- one number


def _one_number(lab: Lab, capture: Capture, at: At) -> None:
    """From the products q_i · k_i to the weight, and from the weight to what it adds to the output."""
    asked = capture.tokens(numbers.sides(at.kind)[1])[at.item]
    asks = numbers.sides(at.kind)[0]
    query = figures.token(capture.tokens(asks)[at.item][at.query])
    if asks == "target" and "labels" in capture.sides:
        query += f" (whose row predicts {figures.token(capture.tokens('labels')[at.item][at.query])})"
    found = numbers.chain(capture, at.kind, at.layer, at.head, at.item, at.query, at.key)
    w_o = lab.parameter(f"{at.path}.w_o.weight")
    v = capture[f"{at.path}.v"][at.item, at.head]
    row = capture[f"{at.path}.weights"][at.item, at.head, at.query]
    lengths = numbers.norms(row[None], v, numbers.head_columns(w_o, at.head, v.shape[-1]))[0]
    st.html(
        '<h4 style="margin:0">One number</h4>'
        f"<p>How much <b>{query}</b> looks at <b>{figures.token(asked[at.key])}</b>. Click any cell above for another one.</p>"
        f"{figures.products(found)}{figures.chain_html(found)}"
        '<h5 style="margin:10px 0 4px">What the weight buys</h5>'
        f"{figures.values(v[at.key], found.recorded)}{figures.bought(asked, row, lengths, at.key)}"
        '<p style="opacity:.75;margin-top:6px">A large weight on a short value adds little: compare the two columns. '
        f"{_sum_words(lab, capture, at, w_o)}</p>"
    )  # one element, since each costs a few milliseconds


def _sum_words(lab: Lab, capture: Capture, at: At, w_o: np.ndarray) -> str:
    """That all heads and keys together, with the bias, are the output of this attention at this query."""
    weights, v = (capture[f"{at.path}.{leaf}"][at.item] for leaf in ("weights", "v"))  # [H, T, S], [H, S, V]
    if v.shape[0] * v.shape[1] * len(w_o) > MOST_PARTS:
        return ""
    bias = lab.parameter(f"{at.path}.w_o.bias") if lab.config.attention_bias else np.zeros(len(w_o), np.float32)
    total = numbers.contributions(weights[:, at.query], v, w_o).sum(axis=(0, 1)) + bias
    gap = float(np.abs(total - capture[f"{at.path}.out"][at.item, at.query]).max())
    too = ", with the bias" if lab.config.attention_bias else ""
    return (f"Added up over {v.shape[0]} heads and {v.shape[1]} keys{too}, they are the recorded output of this attention; the "
            f"largest difference is {gap:.1e}.")


# ---------------------------------------------------------------- more, on request


def _more(lab: Lab, capture: Capture, available: Sequence[Kind], at: At) -> None:
    """One further section, computed only while it is open."""
    chosen = view_widget(st.segmented_control, "att_more", "More", required=True, format_func=lambda m: MORE[m])
    if chosen == "table":
        _table(capture, available, at)
    elif chosen == "rollout":
        _rollout(capture, available, at)
    elif chosen == "break":
        _break(lab, capture, available, at)


def _table(capture: Capture, available: Sequence[Kind], at: At) -> None:
    only = view("att_show")
    kinds = [k for k in available if only in ("all", k) or only not in available]
    found = [p for kind in kinds for p in numbers.profiles(capture, kind, at.item)]
    st.caption("Means over the words of the sentence that ask, padding left out. Entropy is in nats: near its most a head looks "
               "everywhere, near 0 at one token; the least possible follows from the size of its scores (Zhai et al. 2023). In "
               "cross-attention places cannot be compared. Click a heading to sort.")
    columns = figures.profile_columns(found)
    exact = [name for name, column in columns.items() if any(isinstance(x, float) for x in column)]
    formats = {name: st.column_config.NumberColumn(format="%.3f") for name in exact}
    st.dataframe(columns, hide_index=True, column_config=formats, key="att_table")


def _rollout(capture: Capture, available: Sequence[Kind], at: At) -> None:
    """Rollout after a layer beside the mean over the heads of that layer."""
    own: list[Kind] = [k for k in available if k != "cross"]
    if not own:
        st.info("Rollout follows one sentence through its own layers, and this model has only cross-attention.")
        return
    kind = at.kind if at.kind in own else own[0]
    layers = numbers.n_layers(capture.config, kind)
    after = view("att_after") if 0 <= view("att_after") < layers else layers - 1
    if layers > 1:
        widget(st.segmented_control, "att_after", "After layer", after, _keep_after, options=range(layers), required=True)
    rolled = numbers.rollout_of(capture, kind, at.item)[after]
    mean = numbers.mean_over_heads(capture[f"{numbers.module(kind, after)}.weights"][at.item])
    here = "" if kind == at.kind else f" Cross-attention has no rollout of its own, so this is {KIND_TITLES[kind].lower()}."
    st.caption("Heads averaged, half of each layer for the residual connection, multiplied from layer to layer (Abnar & Zuidema "
               f"2020): how much of each input token is in each place by then, as far as attention alone tells.{here}")
    panels = [
        figures.token_panel(capture, kind, at.item, f"Rollout after layer {after}", rolled),
        figures.token_panel(capture, kind, at.item, f"Mean over heads · layer {after}", mean),
    ]
    picking(panels, "att_rollout")


def _keep_after(name: str) -> None:
    set_view(att_after=widget_value(name))


# ---------------------------------------------------------------- break it


def _break(lab: Lab, capture: Capture, available: Sequence[Kind], at: At) -> None:
    """Switch off heads, the scale, or change the temperature; what follows, beside the intact run."""
    from viz_core.experiments.ablation import Breakage, break_run
    from viz_core.ui.shell.cache import run_cost, runs

    off = _break_controls(lab.config, available, at)
    breakage = Breakage(off, view("att_unscaled"), view("att_temperature"))
    if breakage.nothing:
        st.info("Nothing is broken yet: switch off a head, leave out the scale, or change the temperature.")
        return
    batch, model = lab.batch, lab.model()
    assert batch is not None
    cost = run_cost(lab.config, batch)
    broken = runs().get(("broken", _key(lab), breakage), lambda: break_run(model, batch, breakage, lab.setup.seed), *cost)
    a, b = (figures.head_panel(c, at.kind, at.layer, at.head, at.item, "weights", at.colour) for c in (capture, broken))
    picking(figures.compared(a, b, ("Intact", "Broken")), "att_broken")
    if (at.path, at.head) in off:
        st.caption("A head that is off still has its weights; only what it found is thrown away.")
    _broken_output(lab, capture, broken, at)


def _break_controls(config: TransformerConfig, available: Sequence[Kind], at: At) -> frozenset[tuple[str, int]]:
    layers = [(k, i) for k in available for i in range(numbers.n_layers(config, k))]
    names = {f"{k}.{i}.{h}": (k, i, h) for k, i in layers for h in range(config.n_heads)}
    offered = [n for n in names if n in (VIEW["att_off"].options or ())]
    here = f"{at.kind}.{at.layer}.{at.head}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = view_widget(st.multiselect, "att_off", "Heads switched off", options=offered,
                             format_func=lambda n: n.replace(".", " layer ", 1).replace(".", " head "))
        if here in offered and here not in chosen:
            st.button("Switch off the head in focus", key="att_off_here", on_click=set_view, kwargs={"att_off": (*chosen, here)})
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view_widget(st.select_slider, "att_temperature", "Softmax temperature", format_func=lambda t: f"{t:g}", width=320,
                    help="Scores are divided by it before every softmax: below 1 heads get sharper, above 1 flatter.")
        view_widget(st.toggle, "att_unscaled", "Leave out ÷ √d_k", disabled=not config.scale_scores)
    return frozenset((numbers.module(kind, layer), head) for kind, layer, head in (names[n] for n in chosen))


def _broken_output(lab: Lab, capture: Capture, broken: Capture, at: At) -> None:
    """What leaves the last layer, as a difference map and token by token; and the likeliest next words."""
    side = "target" if lab.config.has_decoder else "source"
    tokens = tuple(map(visible, capture.tokens(side)[at.item]))
    name = numbers.hidden_stage(lab.config)
    before, after = (c[name][at.item] for c in (capture, broken))
    shift = numbers.moved(before, after)
    said, words = _predicted(lab, capture, broken, at.item, side)
    real = numbers.real(capture, side, at.item)  # type: ignore[arg-type]
    share = f"{float(shift[real].mean()):.1%}"
    st.markdown(f"The hidden states that leave the last layer moved by **{share}** of their length on average. {said}")
    difference = panel("Broken − intact: last hidden states", after - before, tokens, row_axis=f"T · {side} token",
                       col_axis="D · feature", row_letter="T", col_letter="D")
    picking([difference], "att_hidden")
    rows = [(tokens[t], f"{shift[t]:.1%}", *words.get(t, ())) for t in map(int, np.nonzero(real)[0])]
    heads_row = ("after", "hidden state moved by", "intact: likeliest next word", "broken: likeliest next word") if words else (
        "token", "hidden state moved by")
    table(heads_row, rows)


def _predicted(lab: Lab, capture: Capture, broken: Capture, item: int, side: str) -> tuple[str, dict[int, tuple[str, str]]]:
    """How many next words changed, and both runs' likeliest word after each token; nothing where there are no predictions."""
    if "probs" not in capture:
        return "This model predicts no words.", {}
    both = list(zip(predictions(capture, item, 1), predictions(broken, item, 1), strict=True))
    words = {a.position: tuple(f"{visible(lab.word(side, p.ids[0]))}  {p.probabilities[0]:.1%}" for p in (a, b)) for a, b in both}
    changed = sum(a.ids != b.ids for a, b in both)
    return f"The likeliest next word changed after **{changed} of {len(both)}** tokens.", words  # type: ignore[return-value]
