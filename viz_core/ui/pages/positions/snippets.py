"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Mapping, Sequence

from viz_core.analysis.stack_input import EmbeddingScale
from viz_core.config import Init, Side
from viz_core.config.position_schemes import POSITION_SCHEMES, Position
from viz_core.figures.position_schemes import TableName
from viz_core.ui.shell import PageContext, TwoRuns
from viz_core.ui.shell.export.notebook_code import (
    CodeLines,
    aligned_code,
    build_code,
    fill_template,
    model_code,
    run_code,
    tokenizer_code,
)


def waves(length: int, d_model: int, base: float, dims: Sequence[int], at: int) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import sinusoidal_columns, sinusoidal_term
        from viz_core.figures.positions import waves_figure
        length, d_model, base, dims, position = {length}, {d_model}, {base}, {dims}, {at}
        terms = [sinusoidal_term(position, dim, d_model, base) for dim in dims]
        picture = waves_figure(sinusoidal_columns(dims, length, d_model, base), dims, terms)
        """, length=length, d_model=d_model, base=base, dims=list(dims), at=at)


def table(length: int, d_model: int, base: float) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import wavelengths, sinusoidal_table
        from viz_core.figures.positions import position_table_panel
        length, d_model, base = {length}, {d_model}, {base}
        panels = [position_table_panel(sinusoidal_table(length, d_model, base), wavelengths(d_model, base).tolist())]
        """, length=length, d_model=d_model, base=base)


def window(d_model: int, base: float, row: int, rows: int, col: int, cols: int) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import wavelengths, sinusoidal_table
        from viz_core.figures.positions import window_panel
        d_model, base, row, col = {d_model}, {base}, {row}, {col}
        cells = sinusoidal_table({rows}, d_model, base, start=row)[:, col : col + {cols}]
        panels = [window_panel(cells, row, col, wavelengths(d_model, base).tolist())]
        """, d_model=d_model, base=base, row=row, rows=rows, col=col, cols=cols)


def wavelengths(d_model: int, base: float, span: int, span_title: str) -> CodeLines:
    return fill_template("""
        import numpy as np
        from viz_core.analysis.positions import wavelengths
        from viz_core.figures.positions import wavelength_chart
        chart = wavelength_chart(np.array(wavelengths({d_model}, {base})), {base}, {span}, {of})
        """, d_model=d_model, base=base, span=span, of=span_title)


def clocks(length: int, d_model: int, base: float, k: int, at: int) -> CodeLines:
    return fill_template("""
        from viz_core.figures.clock import sinusoidal_clocks
        clocks, position = sinusoidal_clocks({length}, {d_model}, {base}, shift={k}), {at}
        """, length=length, d_model=d_model, base=base, k=k, at=at)


def shift(k: int, d_model: int, base: float) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import shift_matrix
        from viz_core.figures.positions import shift_panel
        k, d_model, base = {k}, {d_model}, {base}
        panels = [shift_panel(shift_matrix(k, d_model, base), k, d_model)]
        """, k=k, d_model=d_model, base=base)


def similarity(title: str, n: int, first: int, d_model: int, base: float) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import dot_products, sinusoidal_table
        from viz_core.figures.positions import position_matrix_panel
        panels = [position_matrix_panel({title}, dot_products(sinusoidal_table({n}, {d_model}, {base}, start={first})), {first})]
        """, title=title, n=n, first=first, d_model=d_model, base=base)


def profile(positions: Sequence[int], length: int, d_model: int, base: float) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import similarity_profiles
        from viz_core.figures.positions import similarity_chart
        chart = similarity_chart(similarity_profiles({positions}, {length}, {d_model}, {base}), {d_model})
        """, positions=list(positions), length=length, d_model=d_model, base=base)


# ---------------------------------------------------------------- the sentence with its positions


def parts(context: PageContext, side: Side, item: int, scale: EmbeddingScale) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.analysis.stack_input import stack_input
        from viz_core.figures.position_schemes import input_panels
        panels, __ = input_panels(stack_input(capture, {side}, {item}, {scale}))
        """, run=run_code(context), side=side, item=item, scale=scale)


def both_parts(runs: TwoRuns, side: Side, scale: EmbeddingScale) -> CodeLines:
    return fill_template(
        """
        {both}
        from viz_core.analysis.stack_input import stack_input
        from viz_core.figures.position_schemes import two_run_input_panels
        of_a, of_b = stack_input(a, {side}, {item_a}, {scale}), stack_input(b, {side}, {item_b}, {scale})
        panels, __ = two_run_input_panels(of_a, of_b, both.pairs[{side}], {shown})
        """,
        both=aligned_code(runs),
        side=side,
        item_a=runs.aligned.item_a,
        item_b=runs.aligned.item_b,
        scale=scale,
        shown=runs.shown,
    )


def magnitudes(context: PageContext, side: Side, item: int, drawn: Mapping[str, Init]) -> CodeLines:
    return fill_template("""
        {run}
        from dataclasses import replace
        from viz_core.analysis.attention import token_mask
        from viz_core.analysis.stack_input import embedding_lengths
        from viz_core.experiments.position_experiments import embedding_rows
        from viz_core.figures.position_schemes import magnitudes_figure
        side, item = {side}, {item}
        ids = capture[f"ids.{{side}}"][item][token_mask(capture, side, item)]
        others = {{name: embedding_rows(replace(config, init=init), {seed}, side, ids) for name, init in {drawn}}}
        found, position = embedding_lengths(capture, side, item, others)
        picture = magnitudes_figure(found, position, config.d_model)
        """, run=run_code(context), side=side, item=item, seed=context.setup.seed, drawn=list(drawn.items()))


# ---------------------------------------------------------------- every scheme on the sentence


def _words_code(context: PageContext) -> CodeLines:
    """Return the code that makes `config`, `model` and `words`, the selected sentence."""
    assert context.capture is not None
    return fill_template("""
        {model}
        from viz_core.experiments.position_experiments import sentence_tokens
        words = sentence_tokens(config, batch, {item})
        """, model=model_code(context), item=context.selected_item(context.capture))


def _schemes_code(context: PageContext) -> CodeLines:
    """Return the code of `_words_code`, followed by `found`: what each scheme adds to the sentence."""
    return fill_template("""
        {words}
        from viz_core.experiments.position_experiments import run_schemes
        found = {{s.position: s for s in run_schemes(model, words.ids, {seed})}}
        """, words=_words_code(context), seed=context.setup.seed)


def attention(context: PageContext, head: int) -> CodeLines:
    return fill_template("""
        {found}
        from viz_core.experiments.position_experiments import causal_blocked
        from viz_core.figures.position_schemes import scheme_attention_panels
        from viz_core.config.position_schemes import POSITION_SCHEMES
        weights = [(POSITION_SCHEMES[s.position].title, s.weights[{head}]) for s in found.values() if s.weights is not None]
        panels = scheme_attention_panels(weights, words.tokens, causal_blocked(config, len(words.ids)))
        """, found=_schemes_code(context), head=head)


def added(context: PageContext, position: Position, head: int, title: str) -> CodeLines:
    """Return the code for what a scheme adds: rows, angles, or biases of the scores."""
    entered = POSITION_SCHEMES[position].applied_to
    if entered == "embedding":
        panel = fill_template("""
            from viz_core.analysis.positions import color_range
            from viz_core.figures.position_schemes import added_rows_panel
            rows = found[{position}].pos_embed
            panels = [added_rows_panel({title}, rows, words.tokens, color_range(rows).limit)]
            """, position=position, title=title)
    elif entered == "queries and keys":
        panel = fill_template("""
            from viz_core.analysis.positions import rope_angles
            from viz_core.figures.position_schemes import rotation_panel
            turned = rope_angles(len(words.ids), found[{position}].q_rot.shape[-1], config.position_base)
            panels = [rotation_panel({title}, turned, words.tokens)]
            """, position=position, title=title)
    else:
        return bias(context, position, head, title)
    return fill_template("""
        {found}
        {panel}
        """, found=_schemes_code(context), panel=panel)


def bias(context: PageContext, position: Position, head: int, title: str) -> CodeLines:
    return fill_template("""
        {found}
        from viz_core.experiments.position_experiments import causal_blocked
        from viz_core.figures.position_schemes import bias_panel
        panels = [bias_panel(found[{position}].bias[{head}], words.tokens, {title}, causal_blocked(config, len(words.ids)))]
        """, found=_schemes_code(context), position=position, head=head, title=title)


def added_rows(context: PageContext, title: str) -> CodeLines:
    return fill_template("""
        {found}
        from viz_core.analysis.positions import color_range
        from viz_core.figures.position_schemes import sentence_panels
        rows = found["sinusoidal"].pos_embed
        panels = sentence_panels([({title}, rows)], words.tokens, color_range(rows).limit)
        """, found=_schemes_code(context), title=title)


def learned(context: PageContext, which: TableName) -> CodeLines:
    return _learned_table_code(fill_template("""
        {built}
        from viz_core.experiments.position_experiments import learned_table
        rows = learned_table(model, "learned", {seed})
        """, built=build_code(context), seed=context.setup.seed), which)


def trained() -> CodeLines:
    return _learned_table_code(fill_template("""
        from viz_core.experiments.position_experiments import learned_table
        from viz_core.weights.catalogue import find_card
        rows = learned_table(find_card(position="learned").load(), "learned")
        """), "trained")


def _learned_table_code(rows: CodeLines, which: TableName) -> CodeLines:
    return fill_template("""
        {rows}
        from viz_core.analysis.positions import cosine_similarities, color_range
        from viz_core.figures.position_schemes import MAX_COMPARED_ROWS, learned_table_panels
        panels = learned_table_panels(rows, cosine_similarities(rows[:MAX_COMPARED_ROWS]), color_range(rows).limit, {which})
        """, rows=rows, which=which)


def _query_and_key_code(context: PageContext, head: int, m: int, n: int) -> CodeLines:
    """Return the code that makes `q`, the query of word m, and `k`, the key of word n, before RoPE rotates them."""
    return fill_template("""
        {found}
        m, n = {m}, {n}
        q, k = found["rope"].q[{head}, m].astype(float), found["rope"].k[{head}, n].astype(float)
        """, found=_schemes_code(context), head=head, m=m, n=n)


def planes(context: PageContext, head: int, m: int, n: int, positions: int, at: int) -> CodeLines:
    return fill_template("""
        {vectors}
        from viz_core.figures.clock import rope_clocks, rope_hand_names
        names = rope_hand_names(words.tokens[m], words.tokens[n])
        clocks, position = rope_clocks(q, k, m - n, {positions}, config.position_base, names), {at}
        """, vectors=_query_and_key_code(context, head, m, n), positions=positions, at=at)


def rope(context: PageContext, head: int, m: int, n: int, positions: int) -> CodeLines:
    return fill_template("""
        {vectors}
        from viz_core.analysis.positions import rope_scores
        from viz_core.figures.position_schemes import rope_score_panel
        panels = [rope_score_panel(rope_scores(q, k, {positions}, config.position_base))]
        """, vectors=_query_and_key_code(context, head, m, n), positions=positions)


def slopes(n_heads: int, head: int) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import alibi_slopes
        from viz_core.figures.position_schemes import slopes_figure
        picture = slopes_figure(alibi_slopes({n_heads}), {head})
        """, n_heads=n_heads, head=head)


def decay(n_heads: int, head: int, last: int) -> CodeLines:
    return fill_template("""
        from viz_core.analysis.positions import alibi_decay, alibi_slopes
        from viz_core.figures.position_schemes import decay_figure
        picture = decay_figure([alibi_decay(float(m), {last}) for m in alibi_slopes({n_heads})], {head})
        """, n_heads=n_heads, head=head, last=last)


def by_distance(context: PageContext, head: int, shown: int) -> CodeLines:
    return fill_template("""
        {built}
        from viz_core.analysis.positions import t5_bias_by_distance
        from viz_core.experiments.position_experiments import learned_table, has_causal_mask
        from viz_core.figures.position_schemes import distance_bias_figure
        table = learned_table(model, "t5", {seed}).astype(float)
        distance, numbers = t5_bias_by_distance(table, has_causal_mask(config))
        picture = distance_bias_figure(distance, numbers, {head}, {shown})
        """, built=build_code(context), seed=context.setup.seed, head=head, shown=shown)


# ---------------------------------------------------------------- word order


def _sentence_code(context: PageContext, text: str) -> CodeLines:
    """Return the code that makes `config`, `model` and `words`. text: a sentence of the documents, or "" for the selected one."""
    if not text:
        return _words_code(context)
    return fill_template("""
        {built}
        {tokenizer}
        from viz_core.experiments.position_experiments import first_tokens
        words = first_tokens(*tokenizer.tokens_and_ids({text}))
        """, built=build_code(context), tokenizer=tokenizer_code(context, context.config.input_side), text=text)


def moved(context: PageContext, text: str, order: Sequence[int]) -> CodeLines:
    return fill_template("""
        {words}
        from viz_core.experiments.position_experiments import reorder
        from viz_core.figures.word_order import output_change_panels
        panels = output_change_panels(reorder(model, words.ids, {order}, {seed}).token_changes, words.tokens)
        """, words=_sentence_code(context, text), order=tuple(order), seed=context.setup.seed)


def reordered(context: PageContext, text: str, order: Sequence[int]) -> CodeLines:
    """Return the code for the table of the schemes that read the sentence in another order."""
    return fill_template("""
        {words}
        from viz_core import tables
        from viz_core.experiments.position_experiments import reorder
        frame = tables.reordering(reorder(model, words.ids, {order}, {seed}))
        {readable}
        """, words=_sentence_code(context, text), order=tuple(order), seed=context.setup.seed, readable=WITHOUT_REFUSED)


WITHOUT_REFUSED = CodeLines(
    'frame = frame[frame["problem"].isna()].reset_index(drop=True)  # without the schemes that cannot read this'
)


def prepended(context: PageContext, text: str, front: str, copied_words: Sequence[str]) -> CodeLines:
    """Return the code for the table of the schemes with words in front."""
    return fill_template("""
        {found}
        from viz_core import tables
        frame = tables.prepending(found)
        {readable}
        """, found=_prepended_code(context, text, front, copied_words), readable=WITHOUT_REFUSED)


def layers(context: PageContext, text: str, front: str, copied_words: Sequence[str]) -> CodeLines:
    return fill_template("""
        {found}
        from viz_core.experiments.position_experiments import RELATIVE_TOLERANCE
        from viz_core.figures.word_order import score_change_figure
        picture = score_change_figure(found.changes, RELATIVE_TOLERANCE)
        """, found=_prepended_code(context, text, front, copied_words))


def _prepended_code(context: PageContext, text: str, front: str, copied_words: Sequence[str]) -> CodeLines:
    """Return the code that makes `found`, every scheme with words in front.

    copied_words: the words of the sentence that are read through slots.
    """
    # The code of a sentence of the documents makes the tokenizer itself.
    tokenizer = CodeLines("") if text else tokenizer_code(context, context.config.input_side)
    reader = CodeLines("tokenizer")
    if copied_words:
        reader = fill_template("with_copied_words(tokenizer, {carried})", carried=list(copied_words))
    return fill_template("""
        {words}
        {tokenizer}
        {bound}
        from viz_core.experiments.position_experiments import prepend, prefix_tokens
        front = prefix_tokens({reader}, {front})
        found = prepend(model, words.ids, front.ids, {seed})
        """, words=_sentence_code(context, text), tokenizer=tokenizer, reader=reader, front=front,
                bound=CodeLines("from viz_core.text import with_copied_words" if copied_words else ""), seed=context.setup.seed)


def longer(way: str, step: int, axis: str) -> CodeLines:
    return fill_template("""
        from viz_core.experiments.length_extrapolation import checkpoints_by_scheme, extrapolate_lengths
        from viz_core.figures.word_order import length_accuracy_figure
        cards = checkpoints_by_scheme()
        models = {{position: card.load() for position, card in cards.items()}}
        found = extrapolate_lengths({way}, models, cards["sinusoidal"].tokenizers())
        picture = length_accuracy_figure(found.curves, found.trained_length, {axis}, found.axis_value({step}))
        """, way=way, step=step, axis=axis)
