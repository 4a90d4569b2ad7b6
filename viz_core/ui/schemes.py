"""The Positions page on the typed sentence: the three parts of the sum, the five schemes, and the experiments."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from viz_core.analysis.positions import (
    alibi_decay,
    alibi_slopes,
    cosines,
    expected_length,
    magnitude,
    norms,
    rms,
    rope_closed_form,
    rope_scores,
    spread_along_diagonals,
    waves,
)  # fmt: skip
from viz_core.capture import Capture
from viz_core.config import Init, Position
from viz_core.figures.clock import number, plane_clocks
from viz_core.figures.positions import (
    attention_panels,
    bias_panel,
    decay_figure,
    layers_figure,
    magnitudes_figure,
    matrix_panel,
    moved_panels,
    rope_panel,
    sentence_panels,
    slopes_figure,
    table_panel,
)  # fmt: skip
from viz_core.text import visible
from viz_core.ui.canvas import matrices
from viz_core.ui.clock import clock
from viz_core.ui.controls import chart, dark, inside, keep, table
from viz_core.ui.frame import Lab, set_choice, set_view, touch, view, view_widget, widget
from viz_core.ui.safe import code
from viz_core.ui.safe import words as safe_words
from viz_core.ui.setup import VIEW

if TYPE_CHECKING:
    from viz_core.experiments.order import Reordering, Scheme

FEW_WORDS = 8  # three matrices fit beside each other
MOST_WORDS = 48  # of a sentence that is read five times over
ROPE_POSITIONS = 100  # how far the slider of RoPE's planes goes
ROPE_TABLE = 8  # positions of the table of scores
MOST_ROWS = 200  # of a learned table whose rows are compared
TITLES: dict[Position, str] = {"sinusoidal": "Sinusoidal", "learned": "Learned", "rope": "RoPE", "alibi": "ALiBi", "none": "None"}
SAID: dict[Position, str] = {"sinusoidal": "sinusoidal", "learned": "learned", "rope": "RoPE", "alibi": "ALiBi", "none": "no"}
ENTERS: dict[Position, str] = {
    "sinusoidal": "added to the input: a fixed wave for each feature",
    "learned": "added to the input: a trained row for each position",
    "rope": "queries and keys are turned, in every layer's self-attention",
    "alibi": "added to the scores, in every layer's self-attention: −m · distance",
    "none": "nowhere",
}


# ---------------------------------------------------------------- what was typed


@dataclass(frozen=True, slots=True)
class Words:
    """One sentence as the experiments read it: tokens as shown, without <pad> and <bos>, and their ids."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    left_out: int = 0  # tokens behind MOST_WORDS


def _typed(lab: Lab, capture: Capture) -> Words:
    """The selected sentence of the side that the model's first stack reads."""
    side = "source" if lab.config.has_encoder else "target"
    item = min(lab.setup.item, capture.n_sentences - 1)
    pad = lab.config.source_pad_id if side == "source" else lab.config.target_pad_id
    pairs = [(t, int(i)) for t, i in zip(capture.tokens(side)[item], capture[f"ids.{side}"][item], strict=True)]
    pairs = [pair for pair in pairs[side == "target" :] if pair[1] != pad]
    return _words([t for t, _ in pairs], [i for _, i in pairs])


def _words(tokens: Sequence[str], ids: Sequence[int]) -> Words:
    return Words(tuple(map(visible, tokens[:MOST_WORDS])), tuple(ids[:MOST_WORDS]), max(0, len(ids) - MOST_WORDS))


def _item(capture: Capture, lab: Lab) -> int:
    """The selected sentence; a choice where there are several."""
    item = min(lab.setup.item, capture.n_sentences - 1)
    if capture.n_sentences > 1:
        widget(st.segmented_control, "item", "Sentence", item, set_choice, options=range(capture.n_sentences), required=True,
               format_func=lambda i: str(i + 1))  # fmt: skip
    return item


def _head(lab: Lab) -> int:
    """The selected head; a choice where there are several."""
    if lab.config.n_heads > 1:
        widget(st.segmented_control, "attn_head", "Head", lab.setup.attn_head, set_choice, options=range(lab.config.n_heads),
               required=True)  # fmt: skip
    return lab.setup.attn_head


def _nothing_typed() -> None:
    st.info("This section reads your sentence: type one in the box at the left. The other sections need none.")


def _key(lab: Lab, *more: Hashable) -> Hashable:
    """What an experiment's result depends on, beside its own choices."""
    return lab.setup.weights, lab.config, lab.setup.seed, lab.setup.device, *more


# ---------------------------------------------------------------- the sentence


def sentence(lab: Lab) -> None:
    """Embedding, position and their sum for the typed tokens, and how large each part is."""
    capture = lab.capture
    if capture is None:
        _nothing_typed()
        return
    c = lab.config
    sides = [side for side in ("source", "target") if f"ids.{side}" in capture]
    with st.container(horizontal=True):
        side = view_widget(st.segmented_control, "pos_side", "Side", options=sides, required=True) if len(sides) > 1 else sides[0]
        item = _item(capture, lab)
        scale = view_widget(st.segmented_control, "pos_scale", "Embedding × √d_model", required=True,
                            format_func={"model": f"As in the model ({'with' if c.scale_embedding else 'without'})",
                                         "with": "With", "without": "Without"}.get)  # fmt: skip
    stack = "encoder" if side == "source" else "decoder"
    scaled = c.scale_embedding if scale == "model" else scale == "with"
    content = capture[f"{stack}.tok_embed"][item] * (np.sqrt(c.d_model) if scaled else 1.0)
    added = capture[f"{stack}.pos_embed"][0] if f"{stack}.pos_embed" in capture else None
    own = scaled == c.scale_embedding
    total = capture[f"{stack}.embed"][item] if own else content + (0 if added is None else added)
    tokens = [visible(t) for t in capture.tokens(side)[item]]
    parts = [(f"Token embedding{' × √d_model' if scaled else ''}", content)]
    if added is not None:
        parts.append((f"+ position · {c.position}", added))
    parts.append(("= what enters the first layer", total))
    if added is None:
        st.info(f"This model adds no positions to the input ({TITLES[c.position]}): where they enter is drawn under Five schemes.")
    st.markdown("**All in one colour range,** so that you see which part is loud. The position rows are the same for every "
                "sentence; the sum is all that the model gets.")  # fmt: skip
    matrices(sentence_panels(parts, tokens), key="pos_parts", on_pick=lambda _: touch())
    if c.n_segments:
        st.caption("This model also adds a segment row, which is in the sum.")
    _magnitudes(lab, capture, side, item, added)


def _magnitudes(lab: Lab, capture: Capture, side: str, item: int, added: np.ndarray | None) -> None:
    """This model's rows, and the same rows as N(0, 1) and as Xavier would draw them for this vocabulary."""
    from viz_core.ui.cache import cached_result

    c, ids = lab.config, capture[f"ids.{side}"][item]
    stack, pad = ("encoder", c.source_pad_id) if side == "source" else ("decoder", c.target_pad_id)
    real = ids != pad
    if not real.any():
        return
    position = waves(len(ids), c.d_model, c.position_base)[real] if added is None else added[real]
    vocabulary = c.source_vocab_size if side == "source" else c.target_vocab_size
    drawn: dict[str, Init] = {"N(0, 1) rows": "torch", f"Xavier, {vocabulary:,} words": "xavier_uniform"}
    own = f"this model ({'× √d_model' if c.scale_embedding else 'not scaled'})"
    found = [magnitude(own, capture[f"{stack}.tok_embed"][item][real])]
    for name, init in drawn.items():
        key = (c, lab.setup.seed, init, side, ids[real].tobytes())
        rows = cached_result("embedding rows", key, partial(_rows, lab, init, side, ids[real]))
        found.append(magnitude(name, rows))
    chart(magnitudes_figure(found, rms(norms(position)), c.d_model, dark()), "pos_magnitudes")
    lengths = {name: expected_length(init, vocabulary, c.d_model) for name, init in drawn.items()}
    told = "; ".join(f"{name} {number(x)}, times √d_model {number(x * c.d_model**0.5)}" for name, x in lengths.items())
    whose = "" if added is not None else " The positions are the sinusoidal ones that this model could add."
    st.caption(f"Measured on your {int(real.sum())} tokens. Expected lengths: {told}. Of two parts of different length the longer "
               f"one drowns the other.{whose}")  # fmt: skip


def _rows(lab: Lab, init: Init, side: str, ids: np.ndarray) -> np.ndarray:
    from viz_core.experiments.order import embedding_rows

    return embedding_rows(replace(lab.config, init=init), lab.setup.seed, side, ids.tolist())


# ---------------------------------------------------------------- the five schemes


def five_schemes(lab: Lab) -> None:
    """One head's attention under every scheme, weights held fixed; then one scheme in detail."""
    from viz_core.experiments.order import schemes
    from viz_core.ui.cache import cached_result

    if lab.capture is None:
        _nothing_typed()
        return
    words = _typed(lab, lab.capture)
    if not words.ids:
        _nothing_typed()
        return
    _item(lab.capture, lab)
    head = _head(lab)
    found = cached_result("schemes", _key(lab, words.ids), lambda: schemes(lab.model(), words.ids, lab.setup.seed))
    ready = [(TITLES[s.position], s.weights[head]) for s in found if s.weights is not None]
    masked = _future(len(words.ids)) if _causal(lab) else None
    st.markdown(f"**The same sentence, the same weights, five schemes:** layer 0, head {head}. Only what the model knows of "
                "positions differs.")  # fmt: skip
    columns = st.columns(3 if len(words.ids) <= FEW_WORDS else 2, gap="small")
    for i, panel in enumerate(attention_panels(ready, words.tokens, masked)):
        with columns[i % len(columns)]:
            matrices([panel], key=f"pos_attention_{panel.title}", on_pick=lambda _: touch())
    table(["Scheme", "Where it enters", "Largest change against none"], [_scheme_row(s, found[-1], head) for s in found])
    _cut(words)
    if lab.setup.card:
        st.caption(f"These weights were trained with {SAID[lab.setup.base.position]} positions. Under another scheme they are "
                   "the same numbers, not as trained; a learned table that they lack is drawn from the seed.")  # fmt: skip
    scheme = view_widget(st.segmented_control, "pos_scheme", "One scheme in detail", required=True, format_func=TITLES.get)
    chosen = next(s for s in found if s.position == scheme)
    if chosen.problem:
        st.info(_plain(chosen.problem))
    else:
        DETAILS[scheme](lab, chosen, words, head)


def _scheme_row(s: "Scheme", none: "Scheme", head: int) -> list[str]:
    if s.weights is None or none.weights is None:
        return [TITLES[s.position], ENTERS[s.position], s.problem]
    change = float(np.abs(s.weights[head] - none.weights[head]).max())
    return [TITLES[s.position], ENTERS[s.position], "–" if s is none else f"{change:.2g}"]


def _causal(lab: Lab) -> bool:
    """Whether the first stack works under a causal mask."""
    return lab.config.is_causal and not lab.config.has_cross_attention


def _future(n: int) -> np.ndarray:
    """True where a causal mask forbids, [T, T]."""
    return np.triu(np.ones((n, n), dtype=bool), 1)


def _cut(words: Words) -> None:
    if words.left_out:
        st.caption(f"Your sentence has {len(words.ids) + words.left_out:,} tokens; the first {MOST_WORDS} are read here.")


def _unknown(lab: Lab, side: str, text: str) -> None:
    """Say which words trained weights do not know."""
    if strangers := [word for word, _ in lab.tokenizers[side].unknown(text)]:
        st.caption(f"These weights do not know {safe_words(strangers)}: all of them are read as \\<unk>.")


def _plain(text: str) -> str:
    """A sentence with field names, as Markdown shows it."""
    return text.replace("_", r"\_")


def _sinusoidal(lab: Lab, s: "Scheme", words: Words, head: int) -> None:
    assert s.pos_embed is not None
    st.markdown("**A fixed wave for each feature is added to the word's vector** before the first layer. Nothing is learned, and "
                "every position is different. Waves, Matrix, Clock and Similarity take it apart.")  # fmt: skip
    rows = sentence_panels([("The rows added to your tokens", s.pos_embed)], words.tokens)
    matrices(rows, key="pos_detail", on_pick=lambda _: touch())


def _learned(lab: Lab, s: "Scheme", words: Words, head: int) -> None:
    assert s.pos_embed is not None
    c = lab.config
    own = c.position == "learned"
    rows = _learned_table(lab)
    trained = own and lab.setup.card is not None
    if trained:
        st.markdown("**A trained row for each position is added to the word's vector.** What was learned shows in the similarity: "
                    "neighbours have become alike. Rows that no training sentence reached are still noise.")  # fmt: skip
    else:
        st.markdown("**A row for each position is added to the word's vector, and training has to fill it.** This table is "
                    "untrained: noise. Each row is like itself alone, and the matrix shows no distance yet.")  # fmt: skip
    n = min(len(rows), MOST_ROWS)
    alike = cosines(rows[:n])
    title = f"Cosine of row p and row q, the first {n} rows" if n < len(rows) else "Cosine of row p and row q"
    matrices([table_panel(rows, title=f"The learned table: {len(rows):,} rows × {c.d_model} features", role="input"),
              matrix_panel(title, alike)], key="pos_detail", on_pick=lambda _: touch())  # fmt: skip
    near, far = (float(np.mean(np.diagonal(alike, k))) if n > k else float("nan") for k in (1, n // 2))
    if n > 2:
        st.markdown(f"Mean cosine of neighbours: **{near:.3f}**; of rows {n // 2} apart: **{far:.3f}**. "
                    f"The table ends after {len(rows):,} rows: there is no row for a later word.")  # fmt: skip


def _learned_table(lab: Lab) -> np.ndarray:
    """The model's own learned table, or the one that an untrained model would have."""
    stack = "encoder" if lab.config.has_encoder else "decoder"
    if lab.config.position == "learned":
        return lab.parameter(f"{stack}.pos_embedding.weight")
    from viz_core.experiments.order import drawn_table

    return drawn_table(lab.config, lab.setup.seed, stack, "pos_embedding", lab.config.max_len).numpy()


def _rope(lab: Lab, s: "Scheme", words: Words, head: int) -> None:
    assert s.q is not None and s.k is not None and s.q_rot is not None and s.k_rot is not None
    last, base = len(words.ids) - 1, lab.config.position_base
    st.markdown("**Each pair of features of a query or key is a hand, turned by its position.** Move both words along: each hand "
                "turns, the angle between them stays, and so does their score.")  # fmt: skip
    with st.container(horizontal=True):
        m = _word("pos_query", "Query of", words, last)
        n = _word("pos_key", "Key of", words, 0)
    q, k = s.q[head, m].astype(float), s.k[head, n].astype(float)
    distance = m - n
    names = (f"query of {words.tokens[m]} at {{p}}", f"key of {words.tokens[n]} at {{s}}")
    planes = plane_clocks(q, k, distance, ROPE_POSITIONS, base, names)
    at = max(planes.first, min(view("pos_at"), planes.last))
    clock(planes, at, key="pos_planes", on_move=lambda p: set_view(pos_at=min(p, 4999)))
    score = float(rope_closed_form(q, k, np.array(distance), base))
    scores = rope_scores(q, k, ROPE_TABLE, base)
    st.markdown(f"$q \\cdot k$ of these two words, {abs(distance)} apart: **{score:.6g}** by the closed form, "
                f"**{_model_score(s, head, m, n):.6g}** in the model. Below the same two vectors stand at every pair of positions: "
                "each diagonal holds one number.")  # fmt: skip
    matrices([rope_panel(scores)], key="pos_detail", on_pick=lambda _: touch())
    kept = max(float(np.abs(norms(a) - norms(b)).max()) for a, b in ((s.q[head], s.q_rot[head]), (s.k[head], s.k_rot[head])))
    st.markdown(f"Largest spread along a diagonal: **{spread_along_diagonals(scores):.2g}**. Turning keeps every length: the "
                f"norms of your tokens' queries and keys change by **{kept:.2g}** at most. Both are rounding.")  # fmt: skip


def _model_score(s: "Scheme", head: int, m: int, n: int) -> float:
    """⟨q_rot, k_rot⟩ of the model's own turned vectors."""
    assert s.q_rot is not None and s.k_rot is not None
    return float(s.q_rot[head, m].astype(float) @ s.k_rot[head, n].astype(float))


def _word(name: str, label: str, words: Words, otherwise: int) -> int:
    """Which word, by its place; `otherwise` where nobody has chosen."""
    chosen = inside(name, label, len(words.ids) - 1) if view(name) >= 0 else otherwise
    widget(st.selectbox, name, label, chosen, keep, options=range(len(words.ids)), format_func=lambda t: f"{t} · {words.tokens[t]}")
    return chosen


def _alibi(lab: Lab, s: "Scheme", words: Words, head: int) -> None:
    assert s.bias is not None
    n = len(words.ids)
    slopes = alibi_slopes(lab.config.n_heads)
    st.markdown("**A penalty that grows with distance is added to the scores:** steep heads look near, flat ones far. Nothing is "
                "added to the words, and nothing is learned.")  # fmt: skip
    if not _causal(lab):
        st.info("The paper has ALiBi in decoders, which see only back. Here this stack sees both ways, so the penalty is "
                "−m · |i − j|: an extension.")  # fmt: skip
    left, right = st.columns(2, gap="medium")
    with left:
        chart(slopes_figure(slopes, head, dark()), "pos_slopes")
    with right:
        chart(decay_figure([alibi_decay(float(m), max(n - 1, 20)) for m in slopes], head, dark()), "pos_decay")
    masked = _future(n) if _causal(lab) else None
    matrices([bias_panel(s.bias[head], words.tokens, head, masked)], key="pos_detail", on_pick=lambda _: touch())
    st.caption(f"Head {head}: m = {slopes[head]:.6g}. The curves are what a causal head would do if all words matched equally "
               "well: a geometric series. Colours are the heads', as at the left.")  # fmt: skip


def _none(lab: Lab, s: "Scheme", words: Words, head: int) -> None:
    st.markdown("**Nothing says where a word stands.** Without a mask the model is blind to order: shuffle the words and its "
                "outputs are shuffled with them, nothing else. A causal mask tells it a little, for the first word sees one word "
                "and the last sees all. Experiments measures both.")  # fmt: skip


DETAILS: dict[Position, Any] = {"sinusoidal": _sinusoidal, "learned": _learned, "rope": _rope, "alibi": _alibi, "none": _none}


# ---------------------------------------------------------------- experiments


BUTTONS = {"swap": "Swap two words", "shuffle": "Shuffle", "prepend": "Prepend a word", "past": "Go past the table"}


def experiments(lab: Lab) -> None:
    """Four things to do to a sentence, each measured under the five schemes."""
    c, chosen = lab.config, view("pos_experiment")
    side = "source" if c.has_encoder else "target"
    tokenizer = lab.tokenizers[side]
    known = [s for s in VIEW["pos_sentence"].options or () if s == "yours" or not tokenizer.unknown(s)]
    which = view_widget(st.segmented_control, "pos_sentence", "Sentence", options=known, required=True,
                        format_func=lambda s: "Your sentence" if s == "yours" else s)  # fmt: skip
    if which == "yours" and lab.capture is None:
        _nothing_typed()
        return
    if which == "yours":
        assert lab.capture is not None
        _item(lab.capture, lab)
        words = _typed(lab, lab.capture)
    else:
        words = _words(*tokenizer.read(which))
    with st.container(horizontal=True):
        for name, label in BUTTONS.items():
            st.button(label, key=f"pos_do_{name}", type="primary" if name == chosen else "secondary", on_click=set_view,
                      kwargs={"pos_experiment": name})  # fmt: skip
    if not words.ids:
        _nothing_typed()
        return
    st.markdown(f"The {'encoder' if c.has_encoder else 'decoder'} reads: {' '.join(map(code, words.tokens))}")
    _cut(words)
    try:
        EXPERIMENTS[chosen](lab, words)
    except ValueError as error:
        st.info(_plain(str(error)))


def _swap(lab: Lab, words: Words) -> None:
    from viz_core.experiments.order import swap

    n = len(words.ids)
    if n < 2:
        raise ValueError("One token has only one order: type a second word.")
    spelt = [i for i in range(n) if any(map(str.isalnum, words.tokens[i]))]  # no full stop, where there are words
    places = spelt if len(spelt) > 1 else list(range(n))
    first = places[0 if len(places) < 4 else 1]
    other = next((i for i in places[::-1] if words.ids[i] != words.ids[first]), places[-1])
    with st.container(horizontal=True):
        a = _word("pos_a", "Swap", words, first)
        b = _word("pos_b", "with", words, other)
    if a == b:
        raise ValueError("A word cannot change places with itself: choose two different ones.")
    _reordered(lab, words, swap(n, a, b))


def _shuffle(lab: Lab, words: Words) -> None:
    from viz_core.experiments.order import shuffle

    draw = view("pos_draw")
    st.button("Shuffle again", key="pos_again", on_click=set_view, kwargs={"pos_draw": (draw + 1) % 1000})
    _reordered(lab, words, shuffle(len(words.ids), draw))


def _reordered(lab: Lab, words: Words, order: tuple[int, ...]) -> None:
    from viz_core.experiments.order import ROUNDING, reorder
    from viz_core.ui.cache import cached_result

    result: Reordering = cached_result(
        "reorder", _key(lab, words.ids, order), lambda: reorder(lab.model(), words.ids, order, lab.setup.seed)
    )
    st.markdown(f"and then: {' '.join(code(words.tokens[i]) for i in order)}")
    st.success(result.verdict)
    rows = []
    for r in result.rows:
        if r.problem:
            rows.append([TITLES[r.position], r.problem, ""])
            continue
        rows.append([TITLES[r.position], f"{r.free:.2g} · {'permuted' if r.merely_permuted else 'seen'}",
                     f"{r.causal:.2g} · {'permuted' if r.causal_merely_permuted else 'seen'}"])  # fmt: skip
    table(["Scheme", "No mask", "Causal mask alone"], rows)
    size = max((r.size for r in result.rows if not r.problem), default=0.0)
    st.caption("The largest difference between the outputs for the new order, put back into the first order, and those for the "
               f"first order. Outputs reach {size:.2g}, so up to {ROUNDING * size:.0e} is float32's rounding: merely permuted. "
               "Below: by how much of its length each word's output changed.")  # fmt: skip
    tried = [r for r in result.rows if not r.problem]
    moved = [(TITLES[r.position], r.moved, r.moved_causal) for r in tried if r.moved is not None and r.moved_causal is not None]
    if moved:
        matrices(moved_panels(moved, words.tokens), key="pos_moved", on_pick=lambda _: touch())


def _prepend(lab: Lab, words: Words) -> None:
    from viz_core.experiments.order import ROUNDING, prepend
    from viz_core.ui.cache import cached_result

    side = "source" if lab.config.has_encoder else "target"
    typed = view_widget(st.text_input, "pos_front", "Put in front")
    front = _words(*lab.tokenizers[side].read(typed)) if typed.strip() else Words((), ())
    _unknown(lab, side, typed)
    if not front.ids:
        raise ValueError("There is no word to put in front: type one.")
    result = cached_result(
        "prepend", _key(lab, words.ids, front.ids), lambda: prepend(lab.model(), words.ids, front.ids, lab.setup.seed)
    )
    st.markdown(f"and then: {' '.join(map(code, (*front.tokens, *words.tokens)))}")
    st.success(result.verdict)
    rows = []
    for r in result.rows:
        if r.problem or not r.changes:
            rows.append([TITLES[r.position], r.problem or "this model has no layer", ""])
            continue
        deeper = ", ".join(f"{x:.2g}" for x in r.changes[1:]) or "–"
        rows.append([TITLES[r.position], f"{r.changes[0]:.2g} · {'the same' if r.unchanged else 'moved'}", deeper])
    table(["Scheme", "Layer 0", "Deeper layers"], rows)
    st.caption("The largest move of a score, as a share of its layer's largest one. A score is q·k ÷ √d_k with ALiBi's bias, "
               "before the mask, of the same two words before and after.")  # fmt: skip
    lines = [(TITLES[r.position], r.changes) for r in result.rows if r.changes]
    if lines:
        chart(layers_figure(lines, ROUNDING, dark()), "pos_layers")


def _past(lab: Lab, words: Words) -> None:
    from viz_core.experiments.order import past_the_table
    from viz_core.ui.cache import cached_result

    result = cached_result("past", _key(lab, words.ids), lambda: past_the_table(lab.model(), words.ids, lab.setup.seed))
    st.markdown(f"The table has **{result.max_len:,}** rows (max\\_len). The sentence is repeated until it is one token longer.")
    st.success(_plain(result.verdict))
    rows = []
    for r in result.rows:
        said = r.answer or "read to the end, " + ("every output a number" if r.finite else "some outputs no numbers")
        rows.append([TITLES[r.position], f"{r.tokens:,}", said])
    table(["Scheme", "Tokens given", "What the model answers"], rows)
    if len({r.tokens for r in result.rows}) > 1:
        st.caption("The schemes without a table have no end to pass, so fewer tokens show it.")
    st.caption("The waves have a formula, so a longer table only goes on where the shorter one ended: raise max_len in the "
               "sidebar. A learned table has nothing to go on with.")  # fmt: skip


EXPERIMENTS = {"swap": _swap, "shuffle": _shuffle, "prepend": _prepend, "past": _past}
