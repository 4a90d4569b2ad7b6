"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from viz_core.experiments.question import Question
from viz_core.ui.pages.cause.run_pair import RunPair
from viz_core.ui.shell import PageContext
from viz_core.ui.shell.export.notebook_code import CodeLines, append_code, fill_template, run_code, token_name_code, trace_code


def effect_maps(pair: RunPair, question: Question, direction: str, values: str) -> CodeLines:
    return fill_template(
        """
        {contrast}
        {word}
        from viz_core.experiments.effect_maps import effect_maps
        from viz_core.figures.cause import effect_panels, effect_map_data
        found = effect_maps(contrast, {direction})
        panels = effect_panels(effect_map_data(found.of_kind({values}), found.pairs, (clean, changed), word, {item}))
        """,
        contrast=_runs_code(pair, question),
        word=token_name_code(pair.clean, pair.clean.config.output_side, pair.item, "clean"),
        direction=direction,
        values=values,
        item=pair.item,
    )


def lens(run: PageContext, item: int, length: int, by_rank: bool) -> CodeLines:
    return fill_template("""
        {lens}
        from viz_core.figures.cause import lens_panel
        panels = [lens_panel(found, capture.tokens({side})[{item}][:{length}], word, show_rank={by_rank})]
        """, lens=_lens_code(run, item, length), item=item, length=length, side=run.config.output_side, by_rank=by_rank)


def lens_words(run: PageContext, item: int, length: int, cell: tuple[int, int]) -> CodeLines:
    """Return the code for the table of the most likely words of a cell."""
    return fill_template("""
        {lens}
        from viz_core import tables
        frame = tables.lens(found, word, {at})
        """, lens=_lens_code(run, item, length), at=cell)


def _lens_code(run: PageContext, item: int, length: int) -> CodeLines:
    """Return the lines that assign `found`, the logit lens of a sentence, and `word`, which returns the name of an id."""
    return fill_template("""
        {run}
        {word}
        from viz_core.analysis.logit_lens import logit_lens
        from viz_core.run import parameter_reader
        found = logit_lens(capture, parameter_reader(model), {item}).truncated({length})
        """, run=trace_code(run), word=token_name_code(run, run.config.output_side, item), item=item, length=length)


def attribution_bars(run: PageContext, item: int, at: int, word: int, other: int | None, title: str) -> CodeLines:
    return fill_template("""
        {found}
        from viz_core.figures.cause import attribution_figure
        picture = attribution_figure(found, {title})
        """, found=_attribution_code(run, item, at, word, other), title=title)


def attribution_table(run: PageContext, item: int, at: int, word: int, other: int | None, n_rows: int) -> CodeLines:
    """Return the code for the table of the largest contributions."""
    return fill_template("""
        {found}
        from viz_core import tables
        frame = tables.attribution(found).sort_values("value", key=abs, ascending=False, kind="stable", ignore_index=True)
        frame = frame.head({most})
        """, found=_attribution_code(run, item, at, word, other), most=n_rows)


def _attribution_code(run: PageContext, item: int, at: int, word: int, other: int | None) -> CodeLines:
    """Return the lines that assign `found`, the contributions to the logit."""
    return fill_template("""
        {run}
        from viz_core.analysis.attribution import attribute_logit
        from viz_core.run import parameter_reader
        found = attribute_logit(capture, parameter_reader(model), {at}, {word}, {other}, {item})
        """, run=trace_code(run), item=item, at=at, word=word, other=other)


def head_effects_plot(
    pair: RunPair, question: Question, stack: str, attention: str, key: int, measure: str, name: str, x: str, y: str, title: str
) -> CodeLines:
    return fill_template("""
        {found}
        from viz_core.figures.cause import HeadScatterData, head_effects_figure
        heads = HeadScatterData({name}, found.weight, found.effect({measure}))
        picture = head_effects_figure(heads, {x}, {y}, {title})
        """, found=_head_effects_code(pair, question, stack, attention, key), measure=measure, name=name, x=x, y=y, title=title)


def head_effects_table(pair: RunPair, question: Question, stack: str, attention: str, key: int) -> CodeLines:
    """Return the code for the table of all heads."""
    return fill_template("""
        {found}
        from viz_core import tables
        frame = tables.head_effects(found).sort_values("weight_rank", kind="stable", ignore_index=True)
        """, found=_head_effects_code(pair, question, stack, attention, key))


def _head_effects_code(pair: RunPair, question: Question, stack: str, attention: str, key: int) -> CodeLines:
    """Return the lines that assign `found`, each head's weight and effects."""
    return fill_template("""
        {contrast}
        from viz_core.experiments.head_effects import head_effects
        found = head_effects(contrast, None, {stack}, {attention}, {key})
        """, contrast=_runs_code(pair, question), stack=stack, attention=attention, key=key)


def _runs_code(pair: RunPair, question: Question) -> CodeLines:
    """Return the lines that assign `contrast`: the clean run, the corrupted run and the question."""
    return fill_template(
        """
        {runs}
        from viz_core.experiments.patching import runs_of_captures
        from viz_core.experiments.question import Question
        contrast = runs_of_captures(model, clean, changed, {question}, {item})
        """,
        runs=append_code(trace_code(pair.clean, "clean"), run_code(pair.corrupted, "changed")),
        question=question,
        item=pair.item,
    )
