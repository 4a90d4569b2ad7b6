"""Notebook code for the figures of this page, with the values that they are drawn with."""

from collections.abc import Sequence

from viz_core.figures.panels import Panel
from viz_core.ui.pages.steps.compared import Compared
from viz_core.ui.shell import Lab, TwoRuns
from viz_core.ui.shell.code import Source, below, code, run_code, tokenizers_code, traced_code, two_runs_code


def drawing(lab: Lab, name: str) -> Source:
    return code("""
        {run}
        from viz_core.figures.architecture import architecture
        drawing = architecture([capture.stage(name) for name in capture], {name})
        """, run=run_code(lab), name=name)


def strip(lab: Lab, name: str) -> Source:
    return code("""
        {run}
        from viz_core.figures.architecture_strip import strip
        drawing = strip([capture.stage(name) for name in capture], {name})
        """, run=run_code(lab), name=name)


def stage(lab: Lab, name: str, item: int, head: int, drawn: Sequence[Panel]) -> Source:
    words = _has_words(drawn)
    return code("""
        {run}
        from viz_core.figures.steps import stage_panels
        panels = stage_panels(capture, {name}, item={item}, head={head}{given})
        """, run=Source(run_code(lab) + (tokenizers_code(lab, item) if words else "")), name=name, item=item, head=head,
                given=Source(", tokenizers=readers" * words))


def compared(shown: Compared, drawn: Sequence[Panel]) -> Source:
    """Return the code for a stage of one of two runs, or of A, B and A − B."""
    two, both = shown.two, shown.two.both
    if shown.as_words:
        return stage(shown.run, shown.name, shown.item, shown.head, drawn)
    words = _has_words(drawn)
    which = {"a": "which=0, ", "b": "which=1, "}.get(two.shown, "")
    return code("""
        {runs}
        from viz_core.analysis.two_runs import together
        from viz_core.figures.compared_steps import {draw}
        both = together(a, b, {item_a}, {item_b})
        panels = {draw}(both, {name}, {which}head={head}{given})
        """, runs=_with_readers(two) if words else two_runs_code(two.a, two.b), name=shown.name, head=shown.head,
                item_a=both.item_a, item_b=both.item_b, which=Source(which),
                draw=Source("run_panels" if which else "difference_panels"),
                given=Source(", tokenizers=(readers_a, readers_b)" * words))


def parity(lab: Lab) -> Source:
    """Return the code for the table of the differences from torch."""
    return code("""
        {run}
        from viz_core import tables
        from viz_core.experiments.parity import check_parity
        frame = tables.parity(check_parity(model, batch, capture))
        frame["step"] = range(1, len(frame) + 1)
        frame = frame.sort_values("difference", ascending=False, kind="stable", ignore_index=True)
        """, run=traced_code(lab))


def parting(two: TwoRuns, whole: bool, norms: bool) -> Source:
    rows = code("amounts(both, parting(both), norms={norms})", norms=norms)
    if not whole:
        rows = Source(f"stream({rows.strip()})")
    return code("""
        {runs}
        from viz_core.analysis.two_runs import {names}
        from viz_core.figures.compared_steps import parting_panels
        both = together(a, b, {item_a}, {item_b})
        rows = {rows}
        panels, stages = parting_panels(both, rows)
        """, runs=two_runs_code(two.a, two.b), item_a=two.both.item_a, item_b=two.both.item_b, rows=rows,
                names=Source("amounts, parting, together" if whole else "amounts, parting, stream, together"))


def _has_words(drawn: Sequence[Panel]) -> bool:
    """Return whether an axis of a panel is the vocabulary."""
    return any("W" in (panel.row_letter, panel.col_letter) for panel in drawn)


def _with_readers(two: TwoRuns) -> Source:
    """Return the code that makes both runs and the tokenizers of each."""
    readers_a, readers_b = (tokenizers_code(lab, item, name, f"readers_{name}") for lab, item, name in
                            ((two.a, two.both.item_a, "a"), (two.b, two.both.item_b, "b")))
    if two.b.altered is not None:  # made from A
        return Source(run_code(two.b, "b") + readers_a + readers_b)
    one, other = Source(run_code(two.a, "a") + readers_a), Source(run_code(two.b, "b") + readers_b)
    return below(one, other) if two.a.model_key() == two.b.model_key() else Source(one + other)
