"""Python snippets that reproduce the figures of this page, filled in with their arguments."""

from collections.abc import Sequence

from viz_core.analysis.attention import AttentionKind, attention_path
from viz_core.config import Side
from viz_core.ui.pages.masks.focus import MaskFocus
from viz_core.ui.shell import PageContext, TwoRuns
from viz_core.ui.shell.export.notebook_code import CodeLines, aligned_code, fill_template, model_code, run_code, trace_code

# ---------------------------------------------------------------- the masks of the run


def reasons(context: PageContext, focus: MaskFocus, title: str) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.figures.masks import block_reason_panel
        panels = [block_reason_panel(capture, {kind}, {item}, {title})]
        """, run=run_code(context), kind=focus.kind, item=focus.item, title=title)


def both_reasons(two: TwoRuns, kind: AttentionKind) -> CodeLines:
    return fill_template("""
        {both}
        from viz_core.analysis.attention import MASK_STAGES
        from viz_core.analysis.masks import compare_masks
        from viz_core.figures.masks import two_run_reason_panel
        mask_a, mask_b = (mask[0] for mask in both.values(MASK_STAGES[{kind}]))
        panels = [two_run_reason_panel(both, {kind}, compare_masks(mask_a, mask_b), {shown})]
        """, both=aligned_code(two), kind=kind, shown=two.shown)


def construction(context: PageContext, focus: MaskFocus) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.figures.masks import mask_part_panels
        panels = mask_part_panels(capture, {kind}, {item})
        """, run=run_code(context), kind=focus.kind, item=focus.item)


def conventions(context: PageContext, focus: MaskFocus) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.figures.masks import convention_panels
        panels = convention_panels(capture, {kind}, {item})
        """, run=run_code(context), kind=focus.kind, item=focus.item)


# ---------------------------------------------------------------- experiments


def effect(context: PageContext, focus: MaskFocus, switch: str, layer: int, head: int, names: tuple[str, str]) -> CodeLines:
    return fill_template(
        """
        {model}
        from viz_core.experiments.masks import masked_run, with_mask
        from viz_core.figures.attention import head_panel
        from viz_core.figures.two_runs import before_after_panels
        runs = [masked_run(model, batch, with_mask(config, {switch}, on), {seed}) for on in (True, False)]
        a, b = (head_panel(run, {kind}, {layer}, {head}, {item}) for run in runs)
        panels = before_after_panels(a, b, {names})
        """,
        model=model_code(context),
        switch=switch,
        seed=context.setup.seed,
        kind=focus.kind,
        layer=layer,
        head=head,
        item=focus.item,
        names=names,
    )


def leak(context: PageContext, item: int, position: int, token_id: int, replaced: str) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.experiments.masks import measure_leak, causal_side
        from viz_core.figures.masks import token_labels, token_leak_panel
        found = measure_leak(model, batch, {item}, {place}, {id})
        labels = token_labels(capture, causal_side(config), {item})
        panels = [token_leak_panel(found.change, found.change_without_mask, labels, {replaced})]
        """, run=_model_and_run_code(context), item=item, place=position, id=token_id, replaced=replaced)


def reach(context: PageContext, item: int, vocab_size: int) -> CodeLines:
    """Return the code for which outputs change when each token is replaced in turn."""
    return fill_template("""
        {run}
        from viz_core.experiments.masks import replacement_changes, causal_side, replacement_ids
        from viz_core.figures.masks import token_labels, all_token_leak_panels
        others = replacement_ids(config, batch, {item}, {size})
        moved, moved_free = (replacement_changes(model, batch, {item}, others, causal) for causal in (True, False))
        panels = all_token_leak_panels(moved, moved_free, token_labels(capture, causal_side(config), {item}))
        """, run=_model_and_run_code(context), item=item, size=vocab_size)


def spread(context: PageContext, focus: MaskFocus, is_halved: bool, side: Side) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.experiments.masks import spread_nan
        from viz_core.figures.masks import token_labels, empty_row_norm_panels
        found = spread_nan(model, batch, {side}, {item}, {seed})
        labels = token_labels(capture, {side}, {item})
        panels = empty_row_norm_panels(found.layers, found.lengths_softmax, found.lengths_zero, labels)
        """, run=_model_and_run_code(context, is_halved), side=side, item=focus.item, seed=context.setup.seed)


def fully_masked(
    context: PageContext, focus: MaskFocus, is_halved: bool, head: int, titles: Sequence[tuple[str, str]]
) -> CodeLines:
    """Return the code for the weights of several implementations. titles: their titles and names."""
    return fill_template(
        """
        {run}
        from viz_core.experiments.masks import compare_empty_rows
        from viz_core.figures.masks import implementation_panels
        found = {{t.name: t.weights for t in compare_empty_rows(model, batch, {path}, {item}, {seed}).results}}
        weights = [(title, found[name][{head}]) for title, name in {titles}]
        panels = implementation_panels(capture, {kind}, {item}, weights)
        """,
        run=_model_and_run_code(context, is_halved),
        path=attention_path(focus.kind, 0),
        item=focus.item,
        seed=context.setup.seed,
        head=head,
        titles=list(titles),
        kind=focus.kind,
    )


def unsqueeze(context: PageContext, kind: AttentionKind, item: int, head: int, titles: Sequence[str]) -> CodeLines:
    """Return the code for a head with the printed and the intended mask. titles: of both, and of the weight on later tokens."""
    return fill_template(
        """
        {run}
        from viz_core.experiments.masks import unsqueeze_mask
        from viz_core.figures.masks import implementation_panels, future_weight_panel
        found = unsqueeze_mask(model, batch, {item}, config.n_heads, {seed})
        weights = [({printed}, found.weights[{head}]), ({meant}, found.intended_weights[{head}])]
        panels = [*implementation_panels(capture, {kind}, {item}, weights), future_weight_panel(found.future_share, {share})]
        """,
        run=_model_and_run_code(context),
        item=item,
        seed=context.setup.seed,
        head=head,
        kind=kind,
        printed=titles[0],
        meant=titles[1],
        share=titles[2],
    )


def _model_and_run_code(context: PageContext, is_halved: bool = False) -> CodeLines:
    """Return the lines that assign `model`, `batch` and `capture`. is_halved: whether the batch gets the sentence's first half."""
    if not is_halved:
        return trace_code(context)
    return fill_template("""
        {model}
        from viz_core.experiments.torch_norms import padded_pair
        from viz_core.run import trace
        batch = padded_pair(config, batch, 0)
        capture = trace(model, batch)
        """, model=model_code(context))
