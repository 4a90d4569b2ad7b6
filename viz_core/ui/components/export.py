"""Exports of a figure: its numbers as CSV, a description of them as JSON, and the Python code that creates it.

A click in a Save menu puts an `ExportRequest` into the session state. In the rerun after it, each component calls
`register_export`, which creates the file if the request is for this component. Other runs cost nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from viz_core.config.limits import CSV_BYTES_PER_ROW, MAX_EXPORT_BYTES, megabytes
from viz_core.messages import translate as _

if TYPE_CHECKING:
    import pandas as pd

ExportFormat = Literal["csv", "json", "python"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = ("csv", "json", "python")
FILE: Literal["file"] = "file"  # the format of a request from `export_button`
# Session-state keys: the request, its result in this run, and the container for a progress bar that does not shift the page.
REQUEST_KEY, RESULT_KEY, PROGRESS_SLOT_KEY = "lab_save_asked", "lab_save_made", "lab_save_place"
PROGRESS_ROWS = 100_000  # rows from which a progress bar is shown


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """One click in a Save menu. key: of the figure; number: counts clicks; link: the URL of the page."""

    key: str
    file_format: ExportFormat | Literal["file"]
    number: int
    link: str = ""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The file, or an error message. name: the file name, "" to derive it from the figure."""

    name: str = ""
    mime: str = ""
    data: bytes = b""
    error: str = ""


# The last lines of a snippet: they set `picture`, the figure in a notebook, and `frame`, its numbers.
SNIPPET_ENDINGS = {
    "panels": """
from viz_core.figures import plot_data
from viz_core.notebook import matrices
frame = plot_data.panels(panels)
picture = matrices(panels)
""",
    "figure": """
from viz_core.figures import plot_data
frame = plot_data.figure(picture)
""",
    "curves": """
from viz_core.figures import plot_data
from viz_core.notebook import curves
frame = plot_data.curves(chart)
picture = curves(chart)
""",
    "lines": """
from viz_core.figures import plot_data
from viz_core.notebook import lines
frame = plot_data.lines(weights, queries, keys)
picture = lines(weights, queries, keys, heads)
""",
    "faded_lines": """
from viz_core.figures import plot_data
from viz_core.notebook import lines
frame = plot_data.faded_lines(weights, queries, keys, kept)
picture = lines(weights, queries, keys, heads, kept_share=kept)
""",
    "grids": """
from viz_core.notebook import head_grids
picture = head_grids(grids)
""",
    "clocks": """
from viz_core.figures import plot_data
from viz_core.notebook import clock
frame = plot_data.clocks(clocks, position)
picture = clock(clocks, position)
""",
    "diagram": """
from viz_core.figures import plot_data
from viz_core.notebook import diagram
frame = plot_data.diagram(drawing)
picture = diagram(drawing)
""",
    "choice": """
from viz_core.figures import plot_data
frame = plot_data.choice(candidates)
picture = frame
""",
    "html": """
from viz_core.notebook import html_picture
picture = html_picture(shown)
""",
    "frame": """
picture = frame
""",  # a DataFrame shown as a table
}


def register_export(
    key: str, ending: str, plot_args: Sequence[Any], code: Callable[[], str] | None = None, n_rows: int = 0,
    make_frame: "Callable[[], pd.DataFrame] | None" = None,
) -> None:
    """Create the requested file if the request in the session state is for this figure.

    ending: a key of `SNIPPET_ENDINGS`. plot_args: the arguments of the function of that name in `viz_core.figures.plot_data`,
    which returns the tidy table; or make_frame returns it. n_rows: its approximate number of rows. code: returns the snippet
    without its last lines; it must define the names that they use.
    """
    asked: ExportRequest | None = st.session_state.get(REQUEST_KEY)
    if asked is None or asked.key != key:
        return

    def table() -> "pd.DataFrame":
        from viz_core.figures import plot_data  # imported here: pandas takes half a second, and most visitors export nothing

        found: pd.DataFrame = make_frame() if make_frame is not None else getattr(plot_data, ending)(*plot_args)
        return found

    try:
        st.session_state[RESULT_KEY] = _export(asked, ending, table, code, n_rows)
    except ValueError as problem:
        st.session_state[RESULT_KEY] = ExportResult(error=str(problem))


def _export(
    request: ExportRequest, ending: str, make_frame: "Callable[[], pd.DataFrame]", code: Callable[[], str] | None, n_rows: int
) -> ExportResult:
    if request.file_format == "python":
        if code is None:
            return ExportResult(error=_("This picture has no Python; its numbers are in the CSV."))
        return ExportResult(
            "", "text/x-python", with_sorted_imports(code() + SNIPPET_ENDINGS[ending]).encode("utf-8", "backslashreplace")
        )
    if (nbytes := n_rows * CSV_BYTES_PER_ROW) > MAX_EXPORT_BYTES:
        return ExportResult(error=_("The CSV would take about {size}, and the limit is {limit}; shorten the text.",
                                    size=megabytes(nbytes, 0), limit=megabytes(MAX_EXPORT_BYTES, 0)))
    frame = make_frame()
    if request.file_format == "json":
        about = {"link": request.link, "rows": len(frame), "columns": {name: str(dtype) for name, dtype in frame.dtypes.items()}}
        return ExportResult("", "application/json", json.dumps(about, ensure_ascii=True, indent=1).encode())
    from viz_core.capture.tidy import csv_bytes

    if len(frame) < PROGRESS_ROWS:
        return ExportResult("", "text/csv", csv_bytes(frame))
    return ExportResult(
        "", "text/csv", with_progress_bar(_("Writing {n:,} rows", n=len(frame)), lambda progress: csv_bytes(frame, progress))
    )


def with_progress_bar(text: str, make: Callable[[Callable[[float], object]], bytes]) -> bytes:
    """Call `make` and show a progress bar; make receives a function that sets the progress, from 0 to 1."""
    bar = st.session_state.get(PROGRESS_SLOT_KEY, st).progress(0.0, text)
    try:
        return make(lambda share: bar.progress(min(1.0, share), text))
    finally:
        bar.empty()


def export_button(
    label: str, key: str, name: str, mime: str, make: Callable[[Callable[[float], object]], bytes], **button_args: Any,
) -> None:
    """Draw a button that exports one large file.

    The file is created in the rerun after the click and sent at the end of the next whole run; the server does not keep it.
    make: receives a function that sets the progress, and raises ValueError with a message if the file cannot be created.
    """
    st.button(label, key=key, on_click=_request_file, args=(key,), **button_args)
    asked: ExportRequest | None = st.session_state.get(REQUEST_KEY)
    if asked is None or asked.file_format != FILE or asked.key != key or RESULT_KEY in st.session_state:
        return
    try:
        st.session_state[RESULT_KEY] = ExportResult(name, mime, with_progress_bar(label, make))
    except ValueError as problem:
        st.session_state[RESULT_KEY] = ExportResult(error=str(problem))
    st.rerun()  # the file is sent at the end of a whole run, and this may be a fragment


def _request_file(key: str) -> None:
    st.session_state[REQUEST_KEY] = ExportRequest(key, FILE, monotonic_ns())
    st.session_state.pop(RESULT_KEY, None)


def with_sorted_imports(text: str) -> str:
    """Return a snippet with its imports moved to the top and merged by module."""
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
    """Return the lines without leading, trailing and repeated blank lines."""
    kept = [line for i, line in enumerate(lines) if line.strip() or (i and lines[i - 1].strip())]
    return "\n".join(kept).strip("\n").splitlines()
