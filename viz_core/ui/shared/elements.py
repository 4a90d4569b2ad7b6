"""Elements that several pages share: number inputs, the sentence picker, linked heatmaps, charts and tables."""

import html
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_core.capture import Capture
from viz_core.figures.alt_text import alt_text, title_text
from viz_core.figures.html_table import TableCell, table_html
from viz_core.figures.lookup import VocabularyLookup
from viz_core.figures.panels import Panel
from viz_core.figures.theme import SerializedFigure
from viz_core.messages import lazy
from viz_core.messages import translate as _
from viz_core.messages.number_format import description_hash, file_stem
from viz_core.ui.components.calls import Call, Expression, Recorded, as_expression, evaluated
from viz_core.ui.components.canvas import Pick, is_valid_pick, matrices
from viz_core.ui.components.export import register_picture
from viz_core.ui.shell import PageContext, current_setup, set_from_widget, set_url_params, url_param, widget, widget_value
from viz_core.ui.shell.session.state import PAGE
from viz_core.ui.shell.setup import URL_PARAM_BY_NAME

if TYPE_CHECKING:  # pandas takes half a second to import: only code that draws a table does
    import pandas as pd
    from streamlit.elements.lib.column_types import ColumnConfig

LONG_CHARS = 60  # characters of text in a table cell from which it is cut off
LONG_WIDTH = 240  # pixels of its column


def clamped_url_param(name: str, label: str, maximum: int, minimum: int = 0) -> int:
    """Return the number of a link parameter, clamped to the valid range. A caption says if another one was requested."""
    requested = url_param(name)
    value = max(minimum, min(requested, maximum))
    if value != requested and requested != URL_PARAM_BY_NAME[name].default:
        st.caption(_("{what} {asked:,} is out of range; {held:,} is shown.", what=label, asked=requested, held=value))
    return value


def clamped_input(st_widget: Callable[..., Any], name: str, label: str, maximum: int, minimum: int = 0, **kwargs: Any) -> int:
    """Draw a number input bound to a link parameter, and return its value. Draws nothing if there is only one value."""
    value = clamped_url_param(name, label, maximum, minimum)
    if maximum > minimum:
        widget(st_widget, name, label, value, set_param_from_widget, min_value=minimum, max_value=maximum, step=1, **kwargs)
    return value


def set_param_from_widget(name: str) -> None:
    """Set the link parameter of this name to the widget's value. For callbacks."""
    set_url_params(**{name: widget_value(name)})


def sentence_picker(
    context: PageContext, capture: Capture, in_row: bool = False, is_padded: Callable[[int], bool] = lambda i: False
) -> int:
    """Draw the control that selects a sentence, if there are several, and return the index of the selected one, from 0.

    in_row: whether it is in a row of controls, where it has no label and names each sentence in full. is_padded: whether a sentence
    is marked as padded.
    """
    item = context.selected_item(capture)
    if capture.n_sentences > 1:
        def name(i: int) -> str:
            return _("Sentence {n} (padded)", n=i + 1) if is_padded(i) else _("Sentence {n}", n=i + 1)

        named = {"label_visibility": "collapsed", "format_func": name} if in_row else {}
        widget(
            st.segmented_control,
            "item",
            _("Sentence"),
            item,
            set_from_widget,
            options=range(capture.n_sentences),
            required=True,
            **{"format_func": lambda i: str(i + 1) if i else _("Sentence 1"), "label_visibility": "collapsed", **named},
        )
    return item


def linked_heatmaps(
    panels: Recorded[Sequence[Panel]], key: str, default: Pick | None = None, on_pick: Callable[[Pick], None] | None = None,
    fill: bool = False, lookup: VocabularyLookup | None = None, name: str = "",
) -> Pick | None:
    """Draw `matrices` whose picked cell is in the link, and return that cell. key: one of `HEATMAPS`.

    default: the cell that is picked if the link has none. A cell that is out of range is named, and nothing is picked. on_pick:
    called before the run that follows the choice of another cell. fill: whether they fill their container. lookup: for panels of
    ids. name: a common title, if those of the panels are not enough.
    """
    stored, has_default = next((place for heatmap, *place in url_param("cells") if heatmap == key), None), default is not None

    def chosen(pick: Pick | None) -> None:  # kept in the session: it must not hold the panels
        set_url_params(cells=with_cell(url_param("cells"), key, pick if pick or not has_default else ()))
        if pick and on_pick:
            on_pick(pick)

    shown = default if stored is None else Pick(*stored) if stored else None
    newest = bool(stored) and url_param("cells")[-1][0] == key  # a link scrolls to the cell that was picked last
    record = as_expression(panels)
    pick = matrices(record, key=key, pick=shown, on_pick=chosen, fill=fill, scroll_to_pick=newest, lookup=lookup, name=name)
    if stored and not is_valid_pick([p.values.shape for p in record.value()], shown):
        panel, row, col = stored
        st.caption(_("The picked cell, row {row:,} and column {col:,} of matrix {panel}, is out of range, so no cell is picked.",
                     row=row, col=col, panel=panel + 1))
    return pick


def with_cell(cells: Sequence[tuple[Any, ...]], heatmap: str, cell: Sequence[int] | None) -> tuple[tuple[Any, ...], ...]:
    """Return the picked cells with another one for a heatmap. None: the page chooses; (): nothing is picked."""
    others = tuple(c for c in cells if c[0] != heatmap)
    return others if cell is None else (*others, (heatmap, *cell))


def is_dark() -> bool:
    """Return whether the page has the dark theme."""
    return st.context.theme.type == "dark"


# The toolbar of a chart, shown on hover and on touch screens (frame.css). The mouse wheel scrolls the page.
PLOTLY_CONFIG: dict[str, Any] = {
    "displayModeBar": "hover", "displaylogo": False, "scrollZoom": False,
    "modeBarButtons": [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
}
TOOLBAR_TEXTS = {  # by Plotly's own
    "Download plot as a PNG": lazy("Download as PNG"), "Zoom": lazy("Drag to zoom"), "Pan": lazy("Drag to move"),
    "Zoom in": lazy("Zoom in"), "Zoom out": lazy("Zoom out"), "Reset axes": lazy("Show everything"),
    "Double-click to zoom back out": lazy("Double-click to show everything"),
    "Preparing image - this may take a few seconds": lazy("The picture is being made."),
    "Image download succeeded": lazy("Downloaded"),
    "Sorry, there was a problem downloading your image!": lazy("The picture could not be made."),
}


def chart(figure: Recorded[Any], key: str, fill: bool = False) -> None:
    """Draw a Plotly figure with its alternative text and Save menu.

    fill: whether it fills its container and has larger type in presenter's mode.
    """
    record, figure = as_expression(figure), evaluated(figure)
    register_picture(key, {"picture": record, "frame": Call("viz_core.figures.plot_data.figure", record)})
    if fill and url_param("present"):
        figure = figure.with_presentation_font()
    sent = figure.to_dict()
    sent["layout"]["uirevision"] = _zoom_identity(sent)
    page: str = st.session_state.get(PAGE, "")
    picture = {"format": "png", "scale": 2, "filename": file_stem(page, title_text(sent["layout"]) or key)}
    locales = {"en-US": {"dictionary": {theirs: str(ours) for theirs, ours in TOOLBAR_TEXTS.items()}}}
    st.plotly_chart(SerializedFigure(sent), key=key, theme=None, height="stretch" if fill else "content", alt=alt_text(sent),
                    config=PLOTLY_CONFIG | {"toImageButtonOptions": picture, "locales": locales})


def _zoom_identity(figure: Mapping[str, Any]) -> str:
    """Return the `uirevision` of a chart: chart_zoom.js keeps the zoom while it is the same and the axis ranges are similar.

    A change of the marks or the curves keeps the zoom, since it helps to follow such a change. Another sentence, title, axis or
    series resets it, because the zoom could hide the new content. (Numbers in a title are ignored: see `description_hash`.)
    """
    setup, layout = current_setup(), figure["layout"]
    axes = sorted((name, title_text(axis), axis.get("type")) for name, axis in layout.items() if re.match("[xy]axis", name))
    names = [trace.get("name") for trace in figure["data"] if trace.get("hoverinfo") != "skip"]
    sentence = zlib.crc32(repr((setup.source, setup.target, setup.item)).encode("utf-8", "surrogatepass"))
    return f"{sentence:08x}-{description_hash(title_text(layout), axes, names)}"


def saved_html(shown: Recorded[str], key: str, frame: "Expression[pd.DataFrame]", name: str = "", rows: int = 0) -> str:
    """Return HTML in an element that the Save menu treats as a picture. key: of the picture.

    shown: the call that makes the HTML; or the HTML itself, if only the app can make it: a notebook then shows the table. frame:
    the table of the picture; rows: its approximate number of rows. name: its title, if it has no caption.
    """
    if isinstance(shown, Expression):
        register_picture(key, {"shown": shown, "frame": frame, "picture": Call("viz_core.notebook.html_picture", shown)}, rows)
    else:
        register_picture(key, {"frame": frame, "picture": frame}, rows)
    named = f' data-name="{html.escape(name)}"' if name else ""
    return f'<div class="lab-html" data-key="{key}"{named}>{evaluated(shown)}</div>'


def table(headings: Sequence[str], rows: Sequence[Sequence[str | TableCell]], **options: Any) -> None:
    """Draw a static table as one element. options: those of `table_html`, which says when to use which kind of table."""
    st.html(table_html(headings, rows, **options))


def data_table(
    frame: "Recorded[pd.DataFrame]", key: str, columns: Mapping[str, "str | ColumnConfig"], alt: str, missing_text: str = "NaN",
    replaced_columns: Mapping[str, Sequence[Any]] | None = None,
) -> None:
    """Draw a data frame as a table that can be sorted, searched and shown on the full screen; `table` is for tables of text.

    columns: the shown columns in order, with their headings, or `number_column` for numbers. Cells need no escaping. alt: the
    alternative text. missing_text: shown in place of NaN. The height is at most that of ten rows; further rows scroll.

    The Save menu has the whole frame with its own column names and values. replaced_columns: texts shown in place of the values of
    a column.
    """
    record, data = as_expression(frame), evaluated(frame)
    register_picture(key, {"frame": record, "picture": record}, len(data))
    shown = data.assign(**(replaced_columns or {}))[list(columns)]
    config = {
        name: st.column_config.TextColumn(heading, width=LONG_WIDTH)
        if isinstance(heading, str) and _has_long_text(shown[name])
        else heading
        for name, heading in columns.items()
    }
    with st.container(key=key):  # `st.dataframe` does not write its key to the page, by which the Save menu names it
        st.dataframe(shown, width="content", hide_index=True, column_config=config, placeholder=missing_text, alt=alt)


def _has_long_text(cells: "pd.Series[Any]") -> bool:
    """Return whether a cell has so much text that its column needs a fixed width. A click on the cell shows all of it."""
    return any(isinstance(cell, str) and len(cell) > LONG_CHARS for cell in cells)


def number_column(heading: str, digits: int = 4, percent: bool = False) -> "ColumnConfig":
    """Return the configuration of a column of numbers: with this many significant digits, or as percent."""
    return st.column_config.NumberColumn(heading, format="percent" if percent else f"%.{digits}g")
