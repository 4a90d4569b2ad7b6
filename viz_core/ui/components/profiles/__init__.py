"""A table with one row for each head and one column for each statistic, coloured by value.

    profile_table(HeadProfiles(columns, names, 3), focus, key="att_profiles", on_open=open_head)

A click or Enter on a row opens it; the arrow keys move up and down; a click on a heading sorts by its column in the browser. The
table takes the size of its container and scrolls in it.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_core.figures.assets import component_script, stylesheet
from viz_core.messages.number_format import cell_number
from viz_core.ui.components.calls import Expression
from viz_core.ui.components.export import register_picture
from viz_core.ui.streamlit_internals import Component

if TYPE_CHECKING:
    import pandas as pd

_COMPONENT = Component(
    "profiles", html='<div class="profiles">\n</div>', css=stylesheet("profiles"), js=component_script("profiles"),
)


@dataclass(frozen=True, slots=True)
class HeadProfiles:
    """The data of the table.

    columns: heading → one value for each row, None for no value. names: the row names for screen readers. n_key_columns: the
    number of leading columns that identify the row; the others are numbers with a colour.
    """

    columns: Mapping[str, Sequence[Any]]
    names: Sequence[str]
    n_key_columns: int


def profile_table(
    profiles: HeadProfiles, focus: int | None, *, key: str, on_open: Callable[[int], None],
    frame: "Expression[pd.DataFrame]",
) -> None:
    """Draw the table; `on_open(row)` is called before the rerun after a row was opened. focus: the marked row.

    frame: the table as a tidy DataFrame for the export.
    """
    n_rows = len(profiles.names)

    def opened() -> None:
        state: Any = st.session_state.get(key)
        row = state.get("open") if isinstance(state, Mapping) else None
        if type(row) is int and 0 <= row < n_rows:
            on_open(row)

    # Sent as text, because Streamlit imports pandas to check whether a list is a table.
    _COMPONENT(key=key, data={"table": profiles_json(profiles), "focus": -1 if focus is None else focus}, on_open_change=opened)
    register_picture(key, {"frame": frame, "picture": frame}, n_rows)


def profiles_json(profiles: HeadProfiles) -> str:
    """Return the table as JSON: for each column the heading, the values, their display text, and their ratio to the largest."""
    columns = []
    for place, (label, values) in enumerate(profiles.columns.items()):
        numbers = [v for v in values if v is not None]
        heat = place >= profiles.n_key_columns
        top = max(numbers, default=0) if heat else 0
        scale = max((abs(v) for v in numbers if isinstance(v, float) and math.isfinite(v)), default=0.0)
        columns.append({
            "label": label, "heat": heat, "values": values, "written": [_format_value(v, scale) for v in values],
            "shares": [round(v / top, 3) if v and top else 0 for v in values] if heat else [],
        })
    return json.dumps({"columns": columns, "names": profiles.names}, ensure_ascii=False)


def _format_value(value: Any, scale: float) -> str:
    if value is None:
        return "–"
    return cell_number(value, scale) if isinstance(value, float) else str(value)
