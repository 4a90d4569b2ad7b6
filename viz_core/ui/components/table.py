"""The ledger on a page: a table whose rows are filtered in the browser as one types, with coloured axes and marks.

    ledger_table(as_text(columns, rows), Filter("scores"), key="shapes", on_filter=keep, on_open=choose)

The rows travel as one text; the browser makes them anew only where it has changed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import streamlit as st

from viz_core.figures.assets import script, style
from viz_core.limits import MAX_VIEW_CHARS

Kind = Literal["name", "axes", "shape", "text", "number"]
Mark = Literal["", "new", "changed", "cost"]  # "cost": the same shape, at another cost
Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Head:
    """One column: its heading, how its cells are drawn, its least width in pixels. The first four are name, axes, shape, text."""

    label: str
    kind: Kind
    width: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a cell a column, what it can be filtered by, and how it is marked. was: column number → the cell as it was."""

    cells: Sequence[Cell]
    block: str
    part: str
    mark: Mark = ""
    was: Mapping[int, Cell] = field(default_factory=dict)
    note: str = ""


_HTML = f"""<div class="ledger">
<div class="find">
  <input type="search" aria-label="Filter" placeholder="Filter: a name, an axis, a word" maxlength="{MAX_VIEW_CHARS}">
  <select aria-label="Block"></select><select aria-label="Part"></select><span class="count" role="status"></span>
</div>
<div class="box" tabindex="0"></div>
</div>"""

_COMPONENT = st.components.v2.component(
    "attention_lab_table",
    html=_HTML,
    css=style("table"),
    js=script("table"),
)


def as_text(columns: Sequence[Head], rows: Sequence[Row]) -> str:
    """The table as the browser reads it."""
    return json.dumps({"columns": [asdict(c) for c in columns], "rows": [_plain(r) for r in rows]}, ensure_ascii=False)


def _plain(row: Row) -> dict[str, Any]:
    return {"cells": row.cells, "block": row.block, "part": row.part, "mark": row.mark, "was": row.was, "note": row.note}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are shown: those that have every word of the text, in the block and of the part, "all" for any."""

    text: str = ""
    block: str = "all"
    part: str = "all"


def ledger_table(
    table: str, filter: Filter, *, key: str, on_filter: Callable[[Filter], None], on_open: Callable[[str], None],
    only_marked: bool = False,
) -> None:
    """Draw `as_text(...)`.

    `on_filter` is called with the reader's filter before the run that follows a choice, or a pause in typing; the rows
    have been filtered by then. `on_open` is called with the name that was clicked, before the run that follows.
    """

    def said(what: str) -> Any:
        state: Any = st.session_state.get(key)
        return state.get(what) if isinstance(state, Mapping) else None

    def filtered() -> None:
        told = said("filter")
        if isinstance(told, Mapping) and set(told) == set(Filter.__slots__) and all(isinstance(v, str) for v in told.values()):
            on_filter(Filter(**told))

    def opened() -> None:
        if isinstance(name := said("open"), str):
            on_open(name)

    # Side by side: Streamlit imports pandas to see whether a dict is a table.
    data = {"table": table, "marked": only_marked} | asdict(filter)
    _COMPONENT(key=key, data=data, on_filter_change=filtered, on_open_change=opened)
