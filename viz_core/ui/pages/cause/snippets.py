"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from viz_core.experiments.question import Question
from viz_core.ui.pages.cause.pair import Pair
from viz_core.ui.shell import Lab
from viz_core.ui.shell.code import Source, below, code, run_code, traced_code, word_code


def maps(pair: Pair, question: Question, direction: str, values: str) -> Source:
    return code("""
        {contrast}
        {word}
        from viz_core.experiments.effect_maps import effect_maps
        from viz_core.figures.cause import effect_panels, maps_of
        found = effect_maps(contrast, {direction})
        panels = effect_panels(maps_of(found.of({values}), found.pairs, (clean, changed), word, {item}))
        """, contrast=_contrast(pair, question), word=word_code(pair.clean, pair.clean.config.output_side, pair.item, "clean"),
                direction=direction, values=values, item=pair.item)


def lens(run: Lab, item: int, length: int, by_rank: bool) -> Source:
    return code("""
        {lens}
        from viz_core.figures.cause import lens_panel
        panels = [lens_panel(found, capture.tokens({side})[{item}][:{length}], word, rank={by_rank})]
        """, lens=_lens(run, item, length), item=item, length=length, side=run.config.output_side, by_rank=by_rank)


def lens_words(run: Lab, item: int, length: int, at: tuple[int, int]) -> Source:
    """The table of the most likely words of a cell."""
    return code("""
        {lens}
        from viz_core import tables
        frame = tables.lens(found, word, {at})
        """, lens=_lens(run, item, length), at=at)


def _lens(run: Lab, item: int, length: int) -> Source:
    """The lines that assign `found`, the logit lens of a sentence, and `word`, which returns the name of an id."""
    return code("""
        {run}
        {word}
        from viz_core.analysis.logit_lens import logit_lens
        from viz_core.run import parameters
        found = logit_lens(capture, parameters(model), {item}).until({length})
        """, run=traced_code(run), word=word_code(run, run.config.output_side, item), item=item, length=length)


def shares(run: Lab, item: int, at: int, word: int, other: int | None, title: str) -> Source:
    return code("""
        {found}
        from viz_core.figures.cause import shares_figure
        picture = shares_figure(found, {title})
        """, found=_attribution(run, item, at, word, other), title=title)


def parts(run: Lab, item: int, at: int, word: int, other: int | None, most: int) -> Source:
    """The table of the largest contributions."""
    return code("""
        {found}
        from viz_core import tables
        frame = tables.attribution(found).sort_values("value", key=abs, ascending=False, kind="stable", ignore_index=True)
        frame = frame.head({most})
        """, found=_attribution(run, item, at, word, other), most=most)


def _attribution(run: Lab, item: int, at: int, word: int, other: int | None) -> Source:
    """The lines that assign `found`, the contributions to the logit."""
    return code("""
        {run}
        from viz_core.analysis.attribution import attribute
        from viz_core.run import parameters
        found = attribute(capture, parameters(model), {at}, {word}, {other}, {item})
        """, run=traced_code(run), item=item, at=at, word=word, other=other)


def heads(
    pair: Pair, question: Question, stack: str, attention: str, key: int, measure: str, name: str, x: str, y: str, title: str
) -> Source:
    return code("""
        {found}
        from viz_core.figures.cause import Heads, heads_figure
        heads = Heads({name}, found.weight, found.effect({measure}))
        picture = heads_figure(heads, {x}, {y}, {title})
        """, found=_head_effects(pair, question, stack, attention, key), measure=measure, name=name, x=x, y=y, title=title)


def heads_table(pair: Pair, question: Question, stack: str, attention: str, key: int) -> Source:
    """The table of all heads."""
    return code("""
        {found}
        from viz_core import tables
        frame = tables.head_effects(found).sort_values("weight_rank", kind="stable", ignore_index=True)
        """, found=_head_effects(pair, question, stack, attention, key))


def _head_effects(pair: Pair, question: Question, stack: str, attention: str, key: int) -> Source:
    """The lines that assign `found`, each head's weight and effects."""
    return code("""
        {contrast}
        from viz_core.experiments.head_effects import head_effects
        found = head_effects(contrast, None, {stack}, {attention}, {key})
        """, contrast=_contrast(pair, question), stack=stack, attention=attention, key=key)


def _contrast(pair: Pair, question: Question) -> Source:
    """The lines that assign `contrast`: the clean run, the corrupted run and the question."""
    return code("""
        {runs}
        from viz_core.experiments.patching import contrast_of
        from viz_core.experiments.question import Question
        contrast = contrast_of(model, clean, changed, {question}, {item})
        """, runs=below(traced_code(pair.clean, "clean"), run_code(pair.changed, "changed")), question=question, item=pair.item)
