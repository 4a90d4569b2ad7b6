"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from collections.abc import Sequence

from viz_core.analysis.attention import AttentionKind, module
from viz_core.config import Side
from viz_core.ui.pages.masks.focus import InFocus
from viz_core.ui.shell import Lab, TwoRuns
from viz_core.ui.shell.code import Source, both_code, code, model_code, run_code, traced_code

# ---------------------------------------------------------------- the masks of the run


def reasons(lab: Lab, focus: InFocus, title: str) -> Source:
    return code("""
        {run}
        from viz_core.figures.masks import provenance_panel
        panels = [provenance_panel(capture, {kind}, {item}, {title})]
        """, run=run_code(lab), kind=focus.kind, item=focus.item, title=title)


def both_reasons(two: TwoRuns, kind: AttentionKind) -> Source:
    return code("""
        {both}
        from viz_core.analysis.attention import MASK
        from viz_core.analysis.masks import agreement
        from viz_core.figures.masks import both_reasons_panel
        mask_a, mask_b = (mask[0] for mask in both.values(MASK[{kind}]))
        panels = [both_reasons_panel(both, {kind}, agreement(mask_a, mask_b), {shown})]
        """, both=both_code(two), kind=kind, shown=two.shown)


def built(lab: Lab, focus: InFocus) -> Source:
    return code("""
        {run}
        from viz_core.figures.masks import building_panels
        panels = building_panels(capture, {kind}, {item})
        """, run=run_code(lab), kind=focus.kind, item=focus.item)


def written(lab: Lab, focus: InFocus) -> Source:
    return code("""
        {run}
        from viz_core.figures.masks import convention_panels
        panels = convention_panels(capture, {kind}, {item})
        """, run=run_code(lab), kind=focus.kind, item=focus.item)


# ---------------------------------------------------------------- experiments


def effect(lab: Lab, focus: InFocus, switch: str, layer: int, head: int, names: tuple[str, str]) -> Source:
    return code("""
        {model}
        from viz_core.experiments.masks import masked_run, switch
        from viz_core.figures.attention import head_panel
        from viz_core.figures.two_runs import compared
        runs = [masked_run(model, batch, switch(config, {switch}, on), {seed}) for on in (True, False)]
        a, b = (head_panel(run, {kind}, {layer}, {head}, {item}) for run in runs)
        panels = compared(a, b, {names})
        """, model=model_code(lab), switch=switch, seed=lab.setup.seed, kind=focus.kind, layer=layer, head=head, item=focus.item,
                names=names)


def leak(lab: Lab, item: int, place: int, id: int, replaced: str) -> Source:
    return code("""
        {run}
        from viz_core.experiments.masks import leak, read_side
        from viz_core.figures.masks import labels, leak_panel
        found = leak(model, batch, {item}, {place}, {id})
        panels = [leak_panel(found.moved, found.moved_free, labels(capture, read_side(config), {item}), {replaced})]
        """, run=_model_and_run(lab), item=item, place=place, id=id, replaced=replaced)


def reach(lab: Lab, item: int, size: int) -> Source:
    """Which outputs change when each token is replaced in turn."""
    return code("""
        {run}
        from viz_core.experiments.masks import reach, read_side, replacements
        from viz_core.figures.masks import labels, reach_panels
        others = replacements(config, batch, {item}, {size})
        moved, moved_free = (reach(model, batch, {item}, others, causal) for causal in (True, False))
        panels = reach_panels(moved, moved_free, labels(capture, read_side(config), {item}))
        """, run=_model_and_run(lab), item=item, size=size)


def spread(lab: Lab, focus: InFocus, halved: bool, side: Side) -> Source:
    return code("""
        {run}
        from viz_core.experiments.masks import spread
        from viz_core.figures.masks import labels, spread_panels
        found = spread(model, batch, {side}, {item}, {seed})
        panels = spread_panels(found.stops, found.filled, found.zero, labels(capture, {side}, {item}))
        """, run=_model_and_run(lab, halved), side=side, item=focus.item, seed=lab.setup.seed)


def empty(lab: Lab, focus: InFocus, halved: bool, head: int, titles: Sequence[tuple[str, str]]) -> Source:
    """The weights of several implementations. titles: their titles and names."""
    return code("""
        {run}
        from viz_core.experiments.masks import empty_rows
        from viz_core.figures.masks import head_panels
        found = {{t.name: t.weights for t in empty_rows(model, batch, {path}, {item}, {seed}).treatments}}
        weights = [(title, found[name][{head}]) for title, name in {titles}]
        panels = head_panels(capture, {kind}, {item}, weights)
        """, run=_model_and_run(lab, halved), path=module(focus.kind, 0), item=focus.item, seed=lab.setup.seed, head=head,
                titles=list(titles), kind=focus.kind)


def unsqueezed(lab: Lab, kind: AttentionKind, item: int, head: int, titles: Sequence[str]) -> Source:
    """A head with the printed and the intended mask. titles: of both, and of the weight on later tokens."""
    return code("""
        {run}
        from viz_core.experiments.masks import unsqueezed
        from viz_core.figures.masks import head_panels, share_panel
        found = unsqueezed(model, batch, {item}, config.n_heads, {seed})
        weights = [({printed}, found.weights[{head}]), ({meant}, found.meant[{head}])]
        panels = [*head_panels(capture, {kind}, {item}, weights), share_panel(found.future, {share})]
        """, run=_model_and_run(lab), item=item, seed=lab.setup.seed, head=head, kind=kind, printed=titles[0], meant=titles[1],
                share=titles[2])


def _model_and_run(lab: Lab, halved: bool = False) -> Source:
    """The lines that assign `model`, `batch` and `capture`. is_halved: whether the batch gets the sentence's first half."""
    if not halved:
        return traced_code(lab)
    return code("""
        {model}
        from viz_core.experiments.layernorm import with_first_half
        from viz_core.run import trace
        batch = with_first_half(config, batch, 0)
        capture = trace(model, batch)
        """, model=model_code(lab))
