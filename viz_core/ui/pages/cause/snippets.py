"""The Python of this page's pictures, filled with the values with which they are drawn."""

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
    side = run.config.output_side
    return code("""
        {run}
        {word}
        from viz_core.analysis.logit_lens import logit_lens
        from viz_core.figures.cause import lens_panel
        from viz_core.run import parameters
        found = logit_lens(capture, parameters(model), {item}).until({length})
        panels = [lens_panel(found, capture.tokens({side})[{item}][:{length}], word, rank={by_rank})]
        """, run=traced_code(run), word=word_code(run, side, item), item=item, length=length, side=side, by_rank=by_rank)


def shares(run: Lab, item: int, at: int, word: int, other: int | None, title: str) -> Source:
    return code("""
        {run}
        from viz_core.analysis.attribution import attribute
        from viz_core.figures.cause import shares_figure
        from viz_core.run import parameters
        found = attribute(capture, parameters(model), {at}, {word}, {other}, {item})
        picture = shares_figure(found, {title})
        """, run=traced_code(run), item=item, at=at, word=word, other=other, title=title)


def heads(
    pair: Pair, question: Question, stack: str, attention: str, key: int, measure: str, name: str, x: str, y: str, title: str
) -> Source:
    return code("""
        {contrast}
        from viz_core.experiments.head_effects import head_effects
        from viz_core.figures.cause import Heads, heads_figure
        found = head_effects(contrast, None, {stack}, {attention}, {key})
        heads = Heads({name}, found.weight, found.effect({measure}))
        picture = heads_figure(heads, {x}, {y}, {title})
        """, contrast=_contrast(pair, question), stack=stack, attention=attention, key=key, measure=measure, name=name, x=x, y=y,
                title=title)


def _contrast(pair: Pair, question: Question) -> Source:
    """The clean and the changed run, and what both are asked."""
    return code("""
        {runs}
        from viz_core.experiments.patching import contrast_of
        from viz_core.experiments.question import Question
        contrast = contrast_of(model, clean, changed, {question}, {item})
        """, runs=below(traced_code(pair.clean, "clean"), run_code(pair.changed, "changed")), question=question, item=pair.item)
