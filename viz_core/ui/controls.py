"""Elements that several pages share: number inputs, the sentence picker, linked heatmaps, charts and tables."""

import html
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_core.capture import Capture
from viz_core.figures.alternatives import alternative, title_of
from viz_core.figures.lookup import Lookup
from viz_core.figures.panels import Panel
from viz_core.figures.tables import Cell, table_html
from viz_core.figures.theme import Written
from viz_core.formats import about, plain_name
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick, holds, matrices
from viz_core.ui.components.saving import offer
from viz_core.ui.shell import PAGES, Lab, current, set_choice, set_view, view, widget, widget_value
from viz_core.ui.shell.setup import VIEW
from viz_core.ui.shell.state import PAGE

if TYPE_CHECKING:  # pandas takes half a second to import: only code that draws a table does
    import pandas as pd
    from streamlit.elements.lib.column_types import ColumnConfig

LONG = 60  # characters of text in a table cell from which it is cut off
LONG_WIDTH = 240  # pixels of its column


def inside(name: str, what: str, most: int, least: int = 0) -> int:
    """Return the number of a link parameter, clamped to the valid range. A caption says if another one was asked for."""
    asked = view(name)
    held = max(least, min(asked, most))
    if held != asked and asked != VIEW[name].default:
        st.caption(_("{what} {asked:,} is out of range; {held:,} is shown.", what=what, asked=asked, held=held))
    return held


def bounded(make: Callable[..., Any], name: str, label: str, most: int, least: int = 0, **kwargs: Any) -> int:
    """Draw a number input bound to a link parameter, and return its value. Draws nothing if there is only one value."""
    held = inside(name, label, most, least)
    if most > least:
        widget(make, name, label, held, keep, min_value=least, max_value=most, step=1, **kwargs)
    return held


def keep(name: str) -> None:
    """Set the link parameter of this name to the widget's value. For callbacks."""
    set_view(**{name: widget_value(name)})


def sentence_picker(lab: Lab, capture: Capture, beside: bool = False, padded: Callable[[int], bool] = lambda i: False) -> int:
    """Draw the control that selects a sentence, if there are several, and return the index of the selected one, from 0.

    in_row: whether it is in a row of controls, where it has no label and names each sentence in full. is_padded: whether a sentence
    is marked as padded.
    """
    item = lab.item(capture)
    if capture.n_sentences > 1:
        def name(i: int) -> str:
            return _("Sentence {n} (padded)", n=i + 1) if padded(i) else _("Sentence {n}", n=i + 1)

        named = {"label_visibility": "collapsed", "format_func": name} if beside else {}
        widget(st.segmented_control, "item", _("Sentence"), item, set_choice, options=range(capture.n_sentences), required=True,
               **{"format_func": lambda i: str(i + 1) if i else _("Sentence 1"), "label_visibility": "collapsed", **named})
    return item


def picking(
    panels: Sequence[Panel], key: str, lead: Pick | None = None, on_pick: Callable[[Pick], None] | None = None,
    fill: bool = False, lookup: Lookup | None = None, code: Callable[[], str] | None = None,
    name: str = "",
) -> Pick | None:
    """Draw `matrices` whose picked cell is in the link, and return that cell. key: one of `HEATMAPS`.

    default: the cell that is picked if the link has none. A cell that is out of range is named, and nothing is picked. on_pick:
    called before the run that follows the choice of another cell. fill: whether they fill their container. lookup: for panels of
    ids. code: returns the lines that make `panels` in a notebook. name: a common title, if those of the panels are not enough.
    """
    stored, has_lead = next((place for canvas, *place in view("cells") if canvas == key), None), lead is not None

    def chosen(pick: Pick | None) -> None:  # kept in the session: it must not hold the panels
        set_view(cells=with_cell(view("cells"), key, pick if pick or not has_lead else ()))
        if pick and on_pick:
            on_pick(pick)

    shown = lead if stored is None else Pick(*stored) if stored else None
    newest = bool(stored) and view("cells")[-1][0] == key  # a link scrolls to the cell that was picked last
    pick = matrices(panels, key=key, pick=shown, on_pick=chosen, fill=fill, reveal=newest, lookup=lookup,
                    code=code, name=name)
    if stored and not holds([p.values.shape for p in panels], shown):
        panel, row, col = stored
        st.caption(_("The picked cell, row {row:,} and column {col:,} of matrix {panel}, is out of range, so no cell is picked.",
                     row=row, col=col, panel=panel + 1))
    return pick


def with_cell(cells: Sequence[tuple[Any, ...]], canvas: str, cell: Sequence[int] | None) -> tuple[tuple[Any, ...], ...]:
    """Return the picked cells with another one for a heatmap. None: the page chooses; (): nothing is picked."""
    others = tuple(c for c in cells if c[0] != canvas)
    return others if cell is None else (*others, (canvas, *cell))


def dark() -> bool:
    """Return whether the page has the dark theme."""
    return st.context.theme.type == "dark"


# The toolbar of a chart, shown on hover and on touch screens (frame.css), and its labels. The mouse wheel scrolls the page.
TOOLBAR: dict[str, Any] = {
    "displayModeBar": "hover", "displaylogo": False, "scrollZoom": False,
    "modeBarButtons": [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
    "locales": {"en-US": {"dictionary": {
        "Download plot as a PNG": _("Download as PNG"), "Zoom": _("Drag to zoom"), "Pan": _("Drag to move"),
        "Zoom in": _("Zoom in"), "Zoom out": _("Zoom out"), "Reset axes": _("Show everything"),
        "Double-click to zoom back out": _("Double-click to show everything"),
        "Preparing image - this may take a few seconds": _("The picture is being made."),
        "Image download succeeded": _("Downloaded"),
        "Sorry, there was a problem downloading your image!": _("The picture could not be made."),
    }}},
}


def chart(figure: Any, key: str, fill: bool = False, code: Callable[[], str] | None = None) -> None:
    """Draw a Plotly figure with its alternative text and Save menu.

    fill: whether it fills its container and has larger type in presenter's mode. code: returns the lines that make it as `picture`
    in a notebook.
    """
    offer(key, "figure", (figure,), code)
    if fill and view("present"):
        figure = figure.presented()
    sent = figure.to_dict()
    sent["layout"]["uirevision"] = _revision(sent)
    page = next((name for name, spec in PAGES.items() if spec.title == st.session_state.get(PAGE)), "")
    picture = {"format": "png", "scale": 2, "filename": plain_name(page, title_of(sent["layout"]) or key)}
    st.plotly_chart(Written(sent), key=key, theme=None, config=TOOLBAR | {"toImageButtonOptions": picture},
                    height="stretch" if fill else "content", alt=alternative(sent))


def _revision(figure: Mapping[str, Any]) -> str:
    """Return the `uirevision` of a chart: chart_zoom.js keeps the zoom while it is the same and the axis ranges are similar.

    A change of the marks or the curves keeps the zoom, since it helps to follow such a change. Another sentence, title, axis or
    series resets it, because the zoom could hide the new content. (Numbers in a title are ignored: see `about`.)
    """
    setup, layout = current(), figure["layout"]
    axes = sorted((name, title_of(axis), axis.get("type")) for name, axis in layout.items() if re.match("[xy]axis", name))
    names = [trace.get("name") for trace in figure["data"] if trace.get("hoverinfo") != "skip"]
    sentence = zlib.crc32(repr((setup.source, setup.target, setup.item)).encode("utf-8", "surrogatepass"))
    return f"{sentence:08x}-{about(title_of(layout), axes, names)}"


def drawn_html(
    body: str, key: str, table: str, shown: Sequence[Any], code: Callable[[], str], name: str = "", rows: int = 0,
    end: str = "html",
) -> str:
    """Return HTML with the attributes by which the Save menu finds it as a picture.

    table_function, figure_arguments: the name of a function of `plot_data` and its arguments, for the table of the picture; rows:
    its approximate number of rows. code: returns the lines that make `shown` (this HTML) and `frame` in a notebook, or only `frame`
    if `end`, a key of `ENDS`, is "frame". name: its title, if it has no caption.
    """
    def numbers() -> "pd.DataFrame":
        from viz_core import drawn  # with pandas: see `offer`

        found: pd.DataFrame = getattr(drawn, table)(*shown)
        return found

    offer(key, end, (body,), code, rows, numbers)
    named = f' data-name="{html.escape(name)}"' if name else ""
    return f'<div class="lab-html" data-key="{key}"{named}>{body}</div>'


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Cell]], **look: Any) -> None:
    """Draw a static table as one element. options: those of `table_html`, which says when to use which kind of table."""
    st.html(table_html(headings, rows, **look))


def data_table(
    frame: "pd.DataFrame", key: str, columns: Mapping[str, "str | ColumnConfig"], alt: str, missing: str = "NaN",
    code: Callable[[], str] | None = None, words: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Draw a data frame as a table that can be sorted, searched and shown on the full screen; `table` is for tables of text.

    columns: the shown columns in order, with their headings, or `number_column` for numbers. Cells need no escaping. alt: the
    alternative text. missing_text: shown in place of NaN. The height is at most that of ten rows; further rows scroll.

    The Save menu has the whole frame with its own column names and values. replaced_columns: texts shown in place of the values of
    a column. code: returns the lines that make `frame` in a notebook.
    """
    offer(key, "frame", (), code, len(frame), lambda: frame.reset_index(drop=True))
    shown = frame.assign(**(words or {}))[list(columns)]
    config = {name: st.column_config.TextColumn(heading, width=LONG_WIDTH) if isinstance(heading, str) and _long(shown[name])
              else heading for name, heading in columns.items()}
    with st.container(key=key):  # `st.dataframe` does not write its key to the page, by which the Save menu names it
        st.dataframe(shown, width="content", hide_index=True, column_config=config, placeholder=missing, alt=alt)


def _long(cells: "pd.Series[Any]") -> bool:
    """Return whether a cell has so much text that its column needs a fixed width. A click on the cell shows all of it."""
    return any(isinstance(cell, str) and len(cell) > LONG for cell in cells)


def numeric(heading: str, digits: int = 4, percent: bool = False) -> "ColumnConfig":
    """Return the configuration of a column of numbers: with this many significant digits, or as percent."""
    return st.column_config.NumberColumn(heading, format="percent" if percent else f"%.{digits}g")
