"""Small things that a page's sections share: the sentence, a bounded number, a picked cell, a chart, a table."""

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

if TYPE_CHECKING:  # pandas takes half a second: only who draws a table imports it
    import pandas as pd
    from streamlit.elements.lib.column_types import ColumnConfig

LONG = 60  # characters of a text in a table's cell; a longer one is cut off
LONG_WIDTH = 240  # pixels of its column


def inside(name: str, what: str, most: int, least: int = 0) -> int:
    """A number that a view holds, brought within what there is here; said where someone asked for another."""
    asked = view(name)
    held = max(least, min(asked, most))
    if held != asked and asked != VIEW[name].default:
        st.caption(_("{what} {asked:,} is out of range; {held:,} is shown.", what=what, asked=asked, held=held))
    return held


def bounded(make: Callable[..., Any], name: str, label: str, most: int, least: int = 0, **kwargs: Any) -> int:
    """A number widget from least to most, bound to a view; none where there is nothing to choose."""
    held = inside(name, label, most, least)
    if most > least:
        widget(make, name, label, held, keep, min_value=least, max_value=most, step=1, **kwargs)
    return held


def keep(name: str) -> None:
    """What a widget made with `widget` does to the view of its name; for callbacks."""
    set_view(**{name: widget_value(name)})


def sentence_picker(lab: Lab, capture: Capture, beside: bool = False, padded: Callable[[int], bool] = lambda i: False) -> int:
    """The selected sentence of a run, counted from 0, with the control that selects it if there are several.

    beside: in a row of controls, where its label would make the row higher, so each sentence is named in full; padded: which
    of them are said to be padded.
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
    """`matrices` whose picked cell is in the link; returns it. key: one of `CANVASES`.

    lead: what the page picks where nobody has. A cell that is not here is named, and nothing is picked. on_pick is called
    before the run that follows another choice of a cell. fill: as large as its container. lookup: of panels of ids. code: the
    lines that make `panels` in a notebook. name: what they show together, where their titles do not say it.
    """
    held, has_lead = next((place for canvas, *place in view("cells") if canvas == key), None), lead is not None

    def chosen(pick: Pick | None) -> None:  # a session keeps it: no panel in it
        set_view(cells=with_cell(view("cells"), key, pick if pick or not has_lead else ()))
        if pick and on_pick:
            on_pick(pick)

    asked = lead if held is None else Pick(*held) if held else None
    newest = bool(held) and view("cells")[-1][0] == key  # a link leads to the cell that was picked last
    pick = matrices(panels, key=key, pick=asked, on_pick=chosen, fill=fill, reveal=newest, lookup=lookup,
                    code=code, name=name)
    if held and not holds([p.values.shape for p in panels], asked):
        panel, row, col = held
        st.caption(_("The picked cell, row {row:,} and column {col:,} of matrix {panel}, is out of range, so no cell is picked.",
                     row=row, col=col, panel=panel + 1))
    return pick


def with_cell(cells: Sequence[tuple[Any, ...]], canvas: str, cell: Sequence[int] | None) -> tuple[tuple[Any, ...], ...]:
    """The picked cells with another one on a canvas. None: whatever the page picks; (): nothing, whatever the page would pick."""
    others = tuple(c for c in cells if c[0] != canvas)
    return others if cell is None else (*others, (canvas, *cell))


def dark() -> bool:
    """Whether the page is dark."""
    return st.context.theme.type == "dark"


# The toolbar of a chart, on hover and on touch screens (frame.css), and what Plotly says in it. A wheel scrolls the page.
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
    """A Plotly figure as every page shows it, and in words for those who cannot see it.

    fill: as large as its container, and in presenter's mode with larger type. code: the lines that make it as `picture` in a
    notebook.
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
    """What a chart is about: `zoom.js` keeps a zoom as long as that is the same, and its axes reach about as far as before.

    A slider that moves a mark, or the curves themselves, leaves the zoom, since one zooms in to follow such a change. Another
    sentence, another title or axis, and a series that was not there are something new, which a zoom could hide. (A number in
    a title is not: see `about`.)
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
    """HTML that is a picture of its own, as a part of the HTML of a page: the Save menu finds it there.

    table, shown: the function of `viz_core.drawn` that makes its table, and what of; rows: about how many that has. code: the
    lines that make `shown`, this HTML, and `frame` in a notebook, or `frame` alone where the end of `ENDS` is "frame". name: what
    it shows, where it has no caption.
    """
    def numbers() -> "pd.DataFrame":
        from viz_core import drawn  # with pandas: see `offer`

        found: pd.DataFrame = getattr(drawn, table)(*shown)
        return found

    offer(key, end, (body,), code, rows, numbers)
    named = f' data-name="{html.escape(name)}"' if name else ""
    return f'<div class="lab-html" data-key="{key}"{named}>{body}</div>'


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Cell]], **look: Any) -> None:
    """A table that is only read, as one element; look: the options of `table_html`, which says what other tables are for."""
    st.html(table_html(headings, rows, **look))


def data_table(
    frame: "pd.DataFrame", key: str, columns: Mapping[str, "str | ColumnConfig"], alt: str, missing: str = "NaN",
    code: Callable[[], str] | None = None, words: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """A table of data, a row a thing of one kind: it sorts, searches and has the whole screen; `table` is for what only words say.

    columns: those that are shown, in this order, with their headings, or with `numeric` for numbers. What is in the cells is data
    and needs no escaping. alt: what it is a table of, for those who cannot see it. missing: what stands where there is nothing,
    as pandas has NaN there. It takes as much room as ten rows, and further rows scroll.

    Its Save menu has the whole frame, with the frame's own names and values. words: of a column, what the page says in each row.
    code: the lines that make `frame` in a notebook.
    """
    offer(key, "frame", (), code, len(frame), lambda: frame.reset_index(drop=True))
    shown = frame.assign(**(words or {}))[list(columns)]
    config = {name: st.column_config.TextColumn(heading, width=LONG_WIDTH) if isinstance(heading, str) and _long(shown[name])
              else heading for name, heading in columns.items()}
    with st.container(key=key):  # a table itself does not have its key on the page, by which the Save menu asks for it
        st.dataframe(shown, width="content", hide_index=True, column_config=config, placeholder=missing, alt=alt)


def _long(cells: "pd.Series[Any]") -> bool:
    """Whether one of them is a text so long that it would leave the other columns no room; a click shows all of it."""
    return any(isinstance(cell, str) and len(cell) > LONG for cell in cells)


def numeric(heading: str, digits: int = 4, percent: bool = False) -> "ColumnConfig":
    """The heading of a column of numbers with so many significant digits, or of shares as percent."""
    return st.column_config.NumberColumn(heading, format="percent" if percent else f"%.{digits}g")
