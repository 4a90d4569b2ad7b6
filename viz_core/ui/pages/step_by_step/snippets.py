"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Sequence

from viz_core.figures.panels import Panel
from viz_core.ui.pages.step_by_step.compared_stage import ComparedStage
from viz_core.ui.shell import PageContext, TwoRuns
from viz_core.ui.shell.export.notebook_code import (
    CodeLines,
    append_code,
    fill_template,
    run_code,
    tokenizers_code,
    trace_code,
    two_runs_code,
)


def architecture_drawing(context: PageContext, name: str) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.figures.architecture import architecture_diagram
        drawing = architecture_diagram([capture.stage(name) for name in capture], {name})
        """, run=run_code(context), name=name)


def architecture_strip(context: PageContext, name: str) -> CodeLines:
    return fill_template("""
        {run}
        from viz_core.figures.architecture_strip import architecture_strip
        drawing = architecture_strip([capture.stage(name) for name in capture], {name})
        """, run=run_code(context), name=name)


def stage(context: PageContext, name: str, item: int, head: int, drawn: Sequence[Panel]) -> CodeLines:
    words = _has_vocabulary_axis(drawn)
    return fill_template("""
        {run}
        from viz_core.figures.stage_panels import stage_panels
        panels = stage_panels(capture, {name}, item={item}, head={head}{given})
        """, run=CodeLines(run_code(context) + (tokenizers_code(context, item) if words else "")), name=name, item=item, head=head,
                         given=CodeLines(", tokenizers=readers" * words))


def compared(compared_stage: ComparedStage, drawn: Sequence[Panel]) -> CodeLines:
    """Return the code for a stage of one of two runs, or of A, B and A − B."""
    two, both = compared_stage.runs, compared_stage.runs.aligned
    if compared_stage.is_vocabulary:
        return stage(compared_stage.context, compared_stage.name, compared_stage.item, compared_stage.head, drawn)
    words = _has_vocabulary_axis(drawn)
    which = {"a": "run_index=0, ", "b": "run_index=1, "}.get(two.shown, "")
    return fill_template(
        """
        {runs}
        from viz_core.analysis.run_alignment import align_runs
        from viz_core.figures.two_run_stages import {draw}
        both = align_runs(a, b, {item_a}, {item_b})
        panels = {draw}(both, {name}, {which}head={head}{given})
        """,
        runs=_two_runs_and_tokenizers(two) if words else two_runs_code(two.a, two.b),
        name=compared_stage.name,
        head=compared_stage.head,
        item_a=both.item_a,
        item_b=both.item_b,
        which=CodeLines(which),
        draw=CodeLines("run_stage_panels" if which else "stage_difference_panels"),
        given=CodeLines(", tokenizers=(readers_a, readers_b)" * words),
    )


def parity(context: PageContext) -> CodeLines:
    """Return the code for the table of the differences from torch."""
    return fill_template("""
        {run}
        from viz_core import tables
        from viz_core.experiments.parity import check_parity
        frame = tables.parity(check_parity(model, batch, capture))
        frame["step"] = range(1, len(frame) + 1)
        frame = frame.sort_values("difference", ascending=False, kind="stable", ignore_index=True)
        """, run=trace_code(context))


def divergence(runs: TwoRuns, all_stages: bool, with_norm_steps: bool) -> CodeLines:
    rows = fill_template("token_activations(both, divergences(both), norms={norms})", norms=with_norm_steps)
    if not all_stages:
        rows = CodeLines(f"stream_divergences({rows.strip()})")
    return fill_template("""
        {runs}
        from viz_core.analysis.run_alignment import {names}
        from viz_core.figures.two_run_stages import divergence_panels
        both = align_runs(a, b, {item_a}, {item_b})
        rows = {rows}
        panels, stages = divergence_panels(both, rows)
        """, runs=two_runs_code(runs.a, runs.b), item_a=runs.aligned.item_a, item_b=runs.aligned.item_b, rows=rows,
                names=CodeLines("align_runs, divergences, token_activations" if all_stages else
                                "align_runs, divergences, stream_divergences, token_activations"))


def _has_vocabulary_axis(drawn: Sequence[Panel]) -> bool:
    """Return whether an axis of a panel is the vocabulary."""
    return any("W" in (panel.row_letter, panel.col_letter) for panel in drawn)


def _two_runs_and_tokenizers(runs: TwoRuns) -> CodeLines:
    """Return the code that makes both runs and the tokenizers of each."""
    readers_a, readers_b = (tokenizers_code(lab, item, name, f"readers_{name}") for lab, item, name in
                            ((runs.a, runs.aligned.item_a, "a"), (runs.b, runs.aligned.item_b, "b")))
    if runs.b.edited_run_key is not None:  # made from A
        return CodeLines(run_code(runs.b, "b") + readers_a + readers_b)
    one, other = CodeLines(run_code(runs.a, "a") + readers_a), CodeLines(run_code(runs.b, "b") + readers_b)
    return append_code(one, other) if runs.a.model_key() == runs.b.model_key() else CodeLines(one + other)
