"""What a picture gives to take along: its numbers as CSV, what they are as JSON, and the Python that makes it.

A file is made in the run after somebody asked for it, from what that run draws: a component says what it has with `offer`,
and `offer` looks whether that was asked for. Any other run costs nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from viz_core.language import translate as _
from viz_core.limits import BYTES_OF_A_ROW, MAX_EXPORT_BYTES, megabytes

if TYPE_CHECKING:
    import pandas as pd

What = Literal["csv", "json", "python"]
WHATS: tuple[What, ...] = ("csv", "json", "python")
FILE: Literal["file"] = "file"  # what was asked for where a button of a page stands for one file
# Of the session: what was asked for, what this run has made of it, and where a bar may stand in it without moving anything.
ASKED, MADE, PLACE = "lab_save_asked", "lab_save_made", "lab_save_place"
LONG = 100_000  # rows from which a progress bar says how far a file is


@dataclass(frozen=True, slots=True)
class Asked:
    """One click in a Save menu. key: of the picture; number: counts the clicks; link: of the state, as the browser has it."""

    key: str
    what: What | Literal["file"]
    number: int
    link: str = ""


@dataclass(frozen=True, slots=True)
class Made:
    """The file, or one sentence about why there is none. name: where it does not follow from the picture's."""

    name: str = ""
    mime: str = ""
    data: bytes = b""
    problem: str = ""


# How a snippet ends: what it has drawn as `picture`, and the picture's numbers as `frame`.
ENDS = {
    "panels": """
from viz_core import drawn
from viz_core.notebook import matrices
frame = drawn.panels(panels)
picture = matrices(panels)
""",
    "figure": """
from viz_core import drawn
frame = drawn.figure(picture)
""",
    "curves": """
from viz_core import drawn
from viz_core.notebook import curves
frame = drawn.curves(chart)
picture = curves(chart)
""",
    "lines": """
from viz_core import drawn
from viz_core.notebook import lines
frame = drawn.lines(weights, queries, keys)
picture = lines(weights, queries, keys, heads)
""",
    "faded_lines": """
from viz_core import drawn
from viz_core.notebook import lines
frame = drawn.faded_lines(weights, queries, keys, kept)
picture = lines(weights, queries, keys, heads, kept=kept)
""",
    "grids": """
from viz_core.notebook import tiles
picture = tiles(grids)
""",
    "clocks": """
from viz_core import drawn
from viz_core.notebook import clock
frame = drawn.clocks(clocks, position)
picture = clock(clocks, position)
""",
    "diagram": """
from viz_core import drawn
from viz_core.notebook import diagram
frame = drawn.diagram(drawing)
picture = diagram(drawing)
""",
    "choice": """
from viz_core import drawn
frame = drawn.choice(candidates)
picture = frame
""",
    "html": """
from viz_core.notebook import as_page
picture = as_page(shown)
""",
    "frame": """
picture = frame
""",  # a table of data
}


def offer(
    key: str, end: str, drawn: Sequence[Any], code: Callable[[], str] | None = None, rows: int = 0,
    numbers: "Callable[[], pd.DataFrame] | None" = None,
) -> None:
    """Make the file that was asked for, if it is of this picture.

    end: how its snippet ends, one of `ENDS`. drawn: what `viz_core.drawn` makes the tidy table of, by its function of that name;
    or numbers makes it. rows: about how many it has. code: the snippet as far as its end, which needs the names that the end
    reads.
    """
    asked: Asked | None = st.session_state.get(ASKED)
    if asked is None or asked.key != key:
        return

    def table() -> "pd.DataFrame":
        from viz_core import drawn as tables  # pandas takes half a second to import, and most visitors save nothing

        found: pd.DataFrame = numbers() if numbers is not None else getattr(tables, end)(*drawn)
        return found

    try:
        st.session_state[MADE] = _made(asked, end, table, code, rows)
    except ValueError as problem:  # one sentence
        st.session_state[MADE] = Made(problem=str(problem))


def _made(asked: Asked, end: str, numbers: "Callable[[], pd.DataFrame]", code: Callable[[], str] | None, rows: int) -> Made:
    if asked.what == "python":
        if code is None:
            return Made(problem=_("This picture has no Python; its numbers are in the CSV."))
        return Made("", "text/x-python", snippet(code() + ENDS[end]).encode("utf-8", "backslashreplace"))
    if (nbytes := rows * BYTES_OF_A_ROW) > MAX_EXPORT_BYTES:
        return Made(problem=_("The CSV would take about {size}, and the limit is {limit}; shorten the text.",
                              size=megabytes(nbytes, 0), limit=megabytes(MAX_EXPORT_BYTES, 0)))
    frame = numbers()
    if asked.what == "json":
        about = {"link": asked.link, "rows": len(frame), "columns": {name: str(dtype) for name, dtype in frame.dtypes.items()}}
        return Made("", "application/json", json.dumps(about, ensure_ascii=True, indent=1).encode())
    from viz_core.tidy import csv_of

    if len(frame) < LONG:
        return Made("", "text/csv", csv_of(frame))
    return Made("", "text/csv", with_bar(_("Writing {n:,} rows", n=len(frame)), lambda progress: csv_of(frame, progress)))


def with_bar(text: str, make: Callable[[Callable[[float], object]], bytes]) -> bytes:
    """What `make` makes, with a progress bar; make is given what moves it. In the run of a fragment the bar stands where it is."""
    bar = st.session_state.get(PLACE, st).progress(0.0, text)
    try:
        return make(lambda share: bar.progress(min(1.0, share), text))
    finally:
        bar.empty()


def file_button(
    label: str, key: str, name: str, mime: str, make: Callable[[Callable[[float], object]], bytes], **look: Any,
) -> None:
    """A button for one large file, which is made in the run after a click and sent with the next: a server keeps nothing of it.

    make: given what moves a progress bar. `ValueError`, one sentence, where it cannot be made.
    """
    st.button(label, key=key, on_click=_ask_for, args=(key,), **look)
    asked: Asked | None = st.session_state.get(ASKED)
    if asked is None or asked.what != FILE or asked.key != key or MADE in st.session_state:
        return
    try:
        st.session_state[MADE] = Made(name, mime, with_bar(label, make))
    except ValueError as problem:
        st.session_state[MADE] = Made(problem=str(problem))
    st.rerun()  # only the end of a whole run sends it, and this may be a fragment


def _ask_for(key: str) -> None:
    st.session_state[ASKED] = Asked(key, FILE, monotonic_ns())
    st.session_state.pop(MADE, None)


def snippet(text: str) -> str:
    """The lines of a snippet with its imports in front, those of a module in one line."""
    froms: dict[str, set[str]] = {}
    imports, rest = [], []
    for line in text.strip("\n").splitlines():
        if line.startswith("from "):
            module, __, names = line[5:].partition(" import ")
            froms.setdefault(module, set()).update(name.strip() for name in names.split(","))
        elif line.startswith("import "):
            imports.append(line)
        else:
            rest.append(line)
    head = [*dict.fromkeys(imports), *(f"from {module} import {', '.join(sorted(froms[module]))}" for module in sorted(froms))]
    return "\n".join([*head, "", *_single_blank(rest)]) + "\n"


def _single_blank(lines: list[str]) -> list[str]:
    """The same without blank lines at the beginning, at the end and beside another one."""
    kept = [line for i, line in enumerate(lines) if line.strip() or (i and lines[i - 1].strip())]
    return "\n".join(kept).strip("\n").splitlines()
