"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viz_core.analysis.attention import AttentionKind, attention_kinds, query_key_sides
from viz_core.ui.pages.attention.focus import AttentionFocus, shown_positions
from viz_core.ui.shell import PageContext, TwoRuns
from viz_core.ui.shell.export.notebook_code import (
    CodeLines,
    aligned_code,
    fill_template,
    glosses_code,
    model_code,
    python_literal,
    run_code,
    token_name_code,
    trace_code,
)

if TYPE_CHECKING:
    from viz_core.experiments.ablation import Ablation

EMPTY = CodeLines()


# ---------------------------------------------------------------- one run


def all_heads(context: PageContext, shown: Sequence[AttentionKind], focus: AttentionFocus, two: TwoRuns | None) -> CodeLines:
    """All heads as tiles; in a comparison, of A, B or A − B."""
    if two is not None:
        return _all_heads_of_two_runs(two, shown, focus)
    words = fill_template("""
        {readers}
        words = {{kind: query_key_words(capture, kind, item, readers) for kind in kinds}}
        """, readers=_tokenizers_code(context, "capture")) if focus.by_word else EMPTY
    kept = fill_template("""
        from viz_core.analysis.labelled_weights import without_special_tokens
        {readers}
        kept = {{kind: without_special_tokens(capture, kind, item, readers{own}) for kind in kinds}}
        """, readers=EMPTY if focus.by_word else _tokenizers_code(context, "capture"),
                         own=CodeLines(", words[kind]" if focus.by_word else "")) if focus.without_special else EMPTY
    return fill_template(
        """
        from viz_core.figures import plot_data
        from viz_core.analysis.labelled_weights import collect_heads
        from viz_core.figures.attention import head_grid
        {run}

        {own_kinds}
        grids = [head_grid(capture, kind, item, {colour}{own}{kept}) for kind in kinds]
        frame = plot_data.head_weights(collect_heads(capture, kind, item{own}{uniform}) for kind in kinds)
        """,
        run=run_code(context),
        kept=CodeLines(", kept=kept[kind]" if focus.without_special else ""),
        own_kinds=_join_lines(fill_template("kinds, item = {kinds}, {item}", kinds=list(shown), item=focus.item), words, kept),
        colour=focus.colour,
        own=CodeLines(", words[kind]" if focus.by_word else ""),
        uniform=CodeLines(", is_relative=True" if focus.colour == "uniform" else ""),
    )


def head_matrix(context: PageContext, focus: AttentionFocus) -> CodeLines:
    """One head at one step from q·k to the weights."""
    by_word, leaves_out = focus.by_word and focus.step == "weights", focus.without_special and focus.step == "weights"
    return fill_template(
        """
        from viz_core.figures.attention import head_panel
        {run}

        {head}
        panels = [head_panel(capture, kind, layer, head, item, {step}, {colour}{own}{kept})]
        """,
        run=run_code(context),
        step=focus.step,
        colour=focus.colour,
        own=CodeLines(", words" if by_word else ""),
        head=_join_lines(
            _head_code(focus),
            _words_code(context) if by_word else EMPTY,
            _kept_positions_code(context, by_word) if leaves_out else EMPTY,
        ),
        kept=CodeLines(", kept=kept" if leaves_out else ""),
    )


def head_lines(context: PageContext, focus: AttentionFocus) -> CodeLines:
    """The heads of a layer as lines."""
    leaves_out = shown_positions(context, context.capture, focus.kind, focus) is not None if context.capture is not None else False
    layer = fill_template("kind, layer, heads, item = {kind}, {layer}, {heads}, {item}", kind=focus.kind, layer=focus.layer,
                          heads=list(focus.line_heads), item=focus.item)
    return fill_template(
        """
        from viz_core.analysis.labelled_weights import layer_weights
        {run}

        {layer}
        {found} = layer_weights(capture, kind, layer, item{own})
        {kept}
        """,
        run=run_code(context),
        own=CodeLines(", words" if focus.by_word else ""),
        layer=_join_lines(
            layer,
            _words_code(context) if focus.by_word else EMPTY,
            _kept_positions_code(context, focus.by_word) if leaves_out else EMPTY,
        ),
        found=CodeLines("found" if leaves_out else "weights, queries, keys"),
        kept=fill_template("""
        from viz_core.analysis.labelled_weights import renormalized_kept_weights
        (weights, queries, keys), kept = renormalized_kept_weights(found, kept)
        """)
        if leaves_out
        else EMPTY,
    )


def head_statistics(context: PageContext, shown: Sequence[AttentionKind], item: int) -> CodeLines:
    """The statistics of every head."""
    return fill_template("""
        from viz_core import tables
        {run}
        frame = tables.head_profiles(capture, {kind}, {item})
        """, run=run_code(context), kind=shown[0] if len(shown) == 1 else None, item=item)


def rollout(context: PageContext, kind: AttentionKind, item: int, after: int, two: TwoRuns | None) -> CodeLines:
    """Rollout after a layer, and the mean of its heads; in a comparison, of A, B or A − B."""
    if two is None:
        return fill_template("""
            from viz_core.figures.attention import rollout_panels
            {run}
            panels = rollout_panels(capture, {kind}, {item}, {after})
            """, run=run_code(context), kind=kind, item=item, after=after)
    return fill_template("""
        from viz_core.figures.attention import rollout_panels
        from viz_core.figures.two_runs import view_panel
        {runs}
        places = both.pairs[{side}]
        of_a, of_b = (rollout_panels(run, {kind}, {item}, {after}) for run in (a, b))
        panels = [view_panel(one, other, places, places, {shown}) for one, other in zip(of_a, of_b)]
        """, runs=aligned_code(two), kind=kind, item=item, after=after, side=query_key_sides(kind)[0], shown=two.shown)


def _head_code(focus: AttentionFocus) -> CodeLines:
    """The line that assigns `kind, layer, head, item`."""
    return fill_template(
        "kind, layer, head, item = {kind}, {layer}, {head}, {item}",
        kind=focus.kind,
        layer=focus.layer,
        head=focus.head,
        item=focus.item,
    )


def _join_lines(*parts: CodeLines) -> CodeLines:
    """The parts joined by newlines, without empty ones."""
    return CodeLines("\n".join(filter(None, (part.strip("\n") for part in parts))))


def _words_code(context: PageContext) -> CodeLines:
    """The lines that assign `words`, for the `kind` and `item` of the lines above."""
    return fill_template("""
        {readers}
        words = query_key_words(capture, kind, item, readers)
        """, readers=_tokenizers_code(context, "capture"))


def _kept_positions_code(context: PageContext, by_word: bool) -> CodeLines:
    """The lines that assign `kept`, for the `kind` and `item` of the lines above, and for `words` if they are shown."""
    return fill_template("""
        from viz_core.analysis.labelled_weights import without_special_tokens
        {readers}
        kept = without_special_tokens(capture, kind, item, readers{own})
        """, readers=EMPTY if by_word else _tokenizers_code(context, "capture"), own=CodeLines(", words" if by_word else ""))


def _tokenizers_code(context: PageContext, run: str) -> CodeLines:
    """The lines that assign `readers`, the tokenizer of each side. run: the name of the run's variable."""
    setup = context.setup
    if setup.checkpoint_card is not None:
        return fill_template("""
            from viz_core.analysis.labelled_weights import query_key_words
            from viz_core.weights.catalogue import catalogue
            readers = catalogue()[{name}].tokenizers()
            """, name=setup.checkpoint)
    return fill_template("""
        from viz_core.analysis.labelled_weights import query_key_words
        from viz_core.run import untrained_tokenizers
        readers = untrained_tokenizers({run}.config, {kind})
        """, run=CodeLines(run), kind="word" if setup.tokenizer == "ids" else setup.tokenizer)


# ---------------------------------------------------------------- one weight


def products(context: PageContext, focus: AttentionFocus) -> CodeLines:
    """The products of q and k, feature by feature."""
    return fill_template("""
        {steps}
        from viz_core.figures import plot_data
        from viz_core.figures.attention import product_bars_html
        frame, shown = plot_data.features(steps.products), product_bars_html(steps)
        """, steps=_steps_code(run_code(context), focus))


def weight_chain(context: PageContext, focus: AttentionFocus) -> CodeLines:
    """The steps from the sum of the products to the weight."""
    return fill_template("""
        {steps}
        from viz_core.figures import plot_data
        from viz_core.figures.attention import weight_arithmetic_html
        frame, shown = plot_data.attention_steps(steps), weight_arithmetic_html(steps)
        """, steps=_steps_code(run_code(context), focus))


def values(context: PageContext, focus: AttentionFocus) -> CodeLines:
    """Weight times value, feature by feature."""
    return fill_template("""
        {steps}
        from viz_core.figures import plot_data
        from viz_core.figures.attention import value_bars_html, weighted_value
        v = capture[{v}][item, head, key]
        frame, shown = plot_data.features(weighted_value(v, steps.recorded)), value_bars_html(v, steps.recorded)
        """, steps=_steps_code(run_code(context), focus), v=f"{focus.path}.v")


def contributions(context: PageContext, focus: AttentionFocus) -> CodeLines:
    """Each key's weight, and the norm of its contribution to the output."""
    return fill_template(
        """
        {run}
        from viz_core.figures import plot_data
        from viz_core.analysis.attention import contribution_norms, head_w_o
        from viz_core.figures.attention import contribution_bars_html
        from viz_core.run import parameter_reader
        head, item, query, key = {head}, {item}, {query}, {key}
        v, w_o = capture[{v}][item, head], parameter_reader(model)({w_o})
        row, keys = capture[{weights}][item, head, query], capture.tokens({side})[item]
        lengths = contribution_norms(row[None], v, head_w_o(w_o, head, v.shape[-1]))[0]
        frame, shown = plot_data.contributions(keys, row, lengths), contribution_bars_html(keys, row, lengths, key{glosses})
        """,
        run=trace_code(context),
        head=focus.head,
        item=focus.item,
        query=focus.query,
        key=focus.key,
        v=f"{focus.path}.v",
        w_o=f"{focus.path}.w_o.weight",
        weights=f"{focus.path}.weights",
        side=query_key_sides(focus.kind)[1],
        glosses=glosses_code(),
    )


def _steps_code(run: CodeLines, focus: AttentionFocus) -> CodeLines:
    """The lines that assign `steps`, the computation of the weight in focus."""
    return fill_template("""
        {run}
        from viz_core.analysis.attention import weight_arithmetic
        {head}
        query, key = {query}, {key}
        steps = weight_arithmetic(capture, kind, layer, head, item, query, key)
        """, run=run, head=_head_code(focus), query=focus.query, key=focus.key)


# ---------------------------------------------------------------- ablation


def ablated(context: PageContext, ablation: "Ablation", focus: AttentionFocus) -> CodeLines:
    """A head in the intact run and, if anything is changed, in the ablated run."""
    return fill_template("""
        from viz_core.figures.two_run_attention import ablation_panels
        {runs}
        panels = ablation_panels(capture, {ablated}, {kind}, {layer}, {head}, {item}, {colour})
        """, runs=run_code(context) if ablation.is_empty else _ablated_code(context, ablation),
                         ablated=None if ablation.is_empty else CodeLines("ablated"), kind=focus.kind, layer=focus.layer,
                         head=focus.head, item=focus.item, colour=focus.colour)


def ablated_hidden(context: PageContext, ablation: "Ablation", item: int) -> CodeLines:
    """The change of the last hidden states."""
    return fill_template("""
        from viz_core.figures.two_run_attention import ablated_hidden_panel
        {runs}
        panels = [ablated_hidden_panel(capture, ablated, {item})]
        """, runs=_ablated_code(context, ablation), item=item)


def ablation_changes(context: PageContext, ablation: "Ablation", item: int) -> CodeLines:
    """The table of what changed at each token."""
    return fill_template("""
        {runs}
        {word}
        from viz_core import tables
        frame = tables.ablation(capture, ablated, {item}, word)
        """, runs=_ablated_code(context, ablation), word=token_name_code(context, context.config.output_side, item), item=item)


def _ablated_code(context: PageContext, ablation: "Ablation") -> CodeLines:
    """The lines that assign `capture` and `ablated`."""
    given = [f"heads=frozenset({python_literal(sorted(ablation.heads))})"] if ablation.heads else []
    given += ["unscaled=True"] if ablation.unscaled else []
    given += [f"temperature={python_literal(ablation.temperature)}"] if ablation.temperature != 1 else []
    return fill_template("""
        from viz_core.experiments.ablation import Ablation, ablated_run
        from viz_core.run import trace
        {model}
        capture = trace(model, batch, seed={seed})
        ablated = ablated_run(model, batch, Ablation({given}), seed={seed})
        """, model=model_code(context), seed=context.setup.seed, given=CodeLines(", ".join(given)))


# ---------------------------------------------------------------- two runs


def head_matrix_of_two_runs(two: TwoRuns, focus: AttentionFocus, about: tuple[str, str], is_single: bool) -> CodeLines:
    """One head in A, in B and in A − B. alone: whether only one of these is shown."""
    by_word = focus.by_word and focus.step == "weights"
    drawn = fill_template("""
        from viz_core.figures.two_runs import select_view
        panels = [select_view(panels, {shown})]
        """, shown=two.shown)
    return fill_template(
        """
        from viz_core.figures.two_run_attention import two_run_head_panels
        {runs}

        {head}
        panels = two_run_head_panels(both, kind, layer, head, {step}, {colour}, {about}{own})
        {drawn}
        """,
        runs=aligned_code(two),
        head=_join_lines(_head_code(focus), _words_of_both_runs_code(two, [focus.kind]) if by_word else EMPTY),
        step=focus.step,
        colour=focus.colour,
        about=about,
        own=CodeLines(", words[kind]" if by_word else ""),
        drawn=drawn if is_single else EMPTY,
    )


def _all_heads_of_two_runs(two: TwoRuns, shown: Sequence[AttentionKind], focus: AttentionFocus) -> CodeLines:
    own_kinds = fill_template("kinds, item = {kinds}, {item}", kinds=list(shown), item=focus.item)
    return fill_template(
        """
        from viz_core.figures import plot_data
        from viz_core.figures.two_run_attention import two_run_grid, two_run_weights
        {runs}

        {own_kinds}
        grids = [two_run_grid(both, kind, {shown}, {colour}{own}) for kind in kinds]
        frame = plot_data.head_weights(two_run_weights(both, kind, {shown}, {colour}{own}) for kind in kinds)
        """,
        runs=aligned_code(two),
        own_kinds=_join_lines(own_kinds, _words_of_both_runs_code(two, shown) if focus.by_word else EMPTY),
        shown=two.shown,
        colour=focus.colour,
        own=CodeLines(", words[kind]" if focus.by_word else ""),
    )


def _words_of_both_runs_code(two: TwoRuns, shown: Sequence[AttentionKind]) -> CodeLines:
    """The lines that assign `words`, a pair for A and B by kind of attention, for the `item` of the lines above; A may lack some
    kinds."""
    return fill_template("""
        {readers_of_a}
        words_of_a = {{kind: query_key_words(a, kind, item, readers) for kind in {in_a}}}
        {readers_of_b}
        words_of_b = {{kind: query_key_words(b, kind, item, readers) for kind in {in_b}}}
        words = {{kind: (words_of_a.get(kind), words_of_b[kind]) for kind in words_of_b}}
        """, readers_of_a=_tokenizers_code(two.a, "a"), readers_of_b=_tokenizers_code(two.b, "b"),
                         in_a=[kind for kind in shown if kind in attention_kinds(two.aligned.a.config)], in_b=list(shown))
