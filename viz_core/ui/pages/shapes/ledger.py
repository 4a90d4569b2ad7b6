"""The table of every tensor, with filters and marked changes, and its CSV file."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial

import streamlit as st

from viz_core.analysis.shapes import Line, changed, ledger, statistics, with_statistics
from viz_core.figures.shapes import PART_TITLES
from viz_core.language import translate as _
from viz_core.stages import block_title
from viz_core.ui.components.saving import file_button
from viz_core.ui.components.table import Cell, Filter, Head, LedgerRow, Mark, Split, as_text, ledger_table
from viz_core.ui.escape import code
from viz_core.ui.pages.shapes.change import against_a
from viz_core.ui.pages.shapes.columns import ALL, AMOUNTS, COLUMN_TITLES, COLUMNS, Column, sizes
from viz_core.ui.pages.shapes.size import Size, marked_against, size_of, size_of_a
from viz_core.ui.shell import Lab, below, look, open_stage, picture, present, set_view, view, view_widget, write_link
from viz_core.ui.shell.differences import differences
from viz_core.ui.shell.setup import Setup, changes, unpacked


@st.fragment
def table() -> None:
    """Draw the table with its filters. A fragment: a change reruns only this."""
    context = present()
    size = size_of(context)
    if size is None:
        return
    lines, (before, __), size_a = ledger(*size), marked_against(), size_of_a()
    if size_a is None:
        look(_("**Each row is a tensor, in the order of computation.** To find one, type its name, such as q, or an axis, such as "
               "H."))
    else:
        look(against_a(size_a, size, differences(unpacked(view("kept"))[0], context.setup, context.setup.item)))
    chosen, is_comparison = view("shapes_columns"), size_a is not None
    text = _planned(size, before, chosen, is_comparison)
    if "statistics" in chosen:
        text = table_text(_measured(context, lines), marks_of(before, lines), chosen, is_comparison)
        if context.capture is None:
            st.info(_("Statistics need a run, and this one is too large to run."))
    with picture():
        ledger_table(
            text, _filter(lines), key="shapes_table", only_marked=before is not None and view("shapes_marked"),
            on_filter=partial(_keep_filter, lines), on_open=open_stage, fill=True,
        )
    with below():
        with st.popover(_("More columns"), icon=":material/view_column:", key="shapes_more"):
            view_widget(st.pills, "shapes_columns", _("More columns"), selection_mode="multi", label_visibility="collapsed",
                        format_func=COLUMN_TITLES.get)
        file_button(_("Download the full table (CSV)"), "shapes_csv", file_name(context.setup), "text/csv",
                    partial(csv_file, context, lines), icon=":material/download:", help=_("All tensors with all columns."))
        view_widget(st.toggle, "shapes_marked", _("Show only changes"), disabled=before is None)
    write_link()


def _filter(lines: Sequence[Line]) -> Filter:
    """Return the filter of the link, with titles. Where this model lacks its block or part, a note says so and all are shown."""
    blocks, parts = _titles(lines)
    block, part = view("shapes_block"), view("shapes_part")
    if block != ALL and block not in blocks:
        st.info(_("This model has no block {block}, so all are shown.", block=code(block)))
    if part != ALL and part not in parts:
        st.info(_("This model has no part {part}, so all are shown.", part=code(part)))
    return Filter(view("shapes_filter"), blocks.get(block, ALL), parts.get(part, ALL))


def _keep_filter(lines: Sequence[Line], chosen: Filter) -> None:
    """Store the visitor's filter in the link. The browser sends titles, the link holds identifiers."""
    blocks, parts = ({title: name for name, title in titles.items()} for titles in _titles(lines))
    set_view(shapes_filter=chosen.text, shapes_block=blocks.get(chosen.block, ALL), shapes_part=parts.get(chosen.part, ALL))


def _titles(lines: Sequence[Line]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the titles of the blocks and of the parts of these lines."""
    return {n.stage.block: block_title(n.stage.block) for n in lines}, {n.part: PART_TITLES[n.part] for n in lines}


@lru_cache(maxsize=8)
def _planned(size: Size, before: Size | None, chosen: tuple[str, ...], beside: bool) -> str:
    """Return the table for the browser, without statistics of a run."""
    return table_text(ledger(*size), marks_of(before, ledger(*size)), chosen, beside)


def marks_of(before: Size | None, lines: Sequence[Line]) -> dict[str, Line | None]:
    """Return the changed lines by name, each with its previous line, or None if it is new."""
    return {} if before is None else changed(ledger(*before), lines)


def table_text(lines: Sequence[Line], marks: Mapping[str, Line | None], chosen: Sequence[str], beside: bool = False) -> str:
    """Return the fixed and the chosen columns of every line, with changes marked. is_comparison: the marks compare B with A."""
    columns = [c for c in COLUMNS if not c.choice or c.choice in chosen]
    heads = {line.stage.prefix: line.shape[line.stage.axes.index("H")] for line in lines if line.stage.leaf == "z"}
    rows = [_row(line, columns, line.name in marks, marks.get(line.name), heads.get(line.stage.prefix, 1), beside)
            for line in lines]
    return as_text([Head(c.label, c.kind, c.width) for c in columns], rows, beside)


def _row(line: Line, columns: Sequence[Column], marked: bool, was: Line | None, heads: int, beside: bool) -> LedgerRow:
    """Return one row of the table, with its previous values if it is marked."""
    cells = [_drawn(c.cell(line)) for c in columns]
    old_cells: dict[int, Cell] = {}
    if was is not None:
        old_cells = {i: _drawn(c.cell(was)) for i, c in enumerate(columns) if c.measure and c.measure(was) != c.measure(line)}
    mark: Mark = "" if not marked else "new" if was is None else "changed" if was.shape != line.shape else "cost"
    note = _note(line, was, beside) if marked else ""
    return LedgerRow(cells, block_title(line.stage.block), PART_TITLES[line.part], mark, old_cells, note, _split(line, heads))


def _split(line: Line, heads: int) -> Split | None:
    """Return how q, k and v are split into heads, and how z is joined again; None for other stages."""
    size = dict(zip(line.stage.axes, line.shape, strict=True))
    match line.stage.leaf, size:
        case "q" | "k" | "v" as leaf, {"H": _heads}:
            letter = "V" if leaf == "v" else "K"
            return Split(heads * size[letter], heads, size[letter], letter)
        case "concat", {"D": whole}:
            return Split(whole, heads, whole // heads, "V", joined=True)
    return None


def _note(line: Line, was: Line | None, beside: bool) -> str:
    """Return what a mark means, including columns that are not shown."""
    if was is None:
        return _("A has no such tensor.") if beside else _("This tensor is new.")
    amounts = (
        (_("shape"), sizes(was.shape), sizes(line.shape)),
        *((name, f"{getattr(was, key):,}", f"{getattr(line, key):,}") for key, name in AMOUNTS.items()),
    )
    between = "|" if beside else "→"
    return "\n".join(f"{name} {a} {between} {b}" for name, a, b in amounts if a != b)


def _drawn(cell: Cell) -> Cell:
    """Format statistics with six significant digits; None, shown as a dash, if not finite."""
    if isinstance(cell, float):
        return f"{cell:.6g}" if math.isfinite(cell) else None
    return cell


def _measured(lab: Lab, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Return the lines with the statistics of the run, if there is one."""
    if lab.capture is None or lab.batch is None:
        return lines
    from viz_core.ui.shell.cache import cached_result

    capture = lab.capture
    return with_statistics(lines, cached_result("ledger statistics", lab.key(), lambda: statistics(capture)))


def csv_file(lab: Lab, lines: tuple[Line, ...], progress: Callable[[float], object]) -> bytes:
    """Return all lines as CSV, with the statistics of the run if there is one."""
    return as_csv(_measured(lab, lines), progress)


def as_csv(lines: Sequence[Line], progress: Callable[[float], object] = lambda share: None) -> bytes:
    """Return the columns of `viz_core.tables.lines` as CSV, with identifiers instead of titles."""
    from viz_core import tables  # imports pandas, which takes half a second and is not needed to draw the page

    return tables.csv_of(tables.lines(lines), progress)


def file_name(setup: Setup) -> str:
    """Return the name of the CSV file, with the model and the changed settings: "shapes_000_qk_dim=8.csv"."""
    settings = changes(setup) | ({"seed": setup.seed} if setup.seed else {})
    base = setup.preset if setup.origin is None else setup.checkpoint
    parts = [base, *(f"{name}={value}" for name, value in settings.items())]
    return f"shapes_{re.sub(r'[^a-zA-Z0-9_=.+-]', '-', '_'.join(parts))[:120]}.csv"
