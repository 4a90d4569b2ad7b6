"""Small things that a page's sections share: the sentence, a bounded number, a picked cell, a chart, a table."""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz_core.capture import Capture
from viz_core.figures.alternatives import alternative
from viz_core.figures.lookup import Lookup
from viz_core.figures.panels import Panel
from viz_core.figures.tables import Cell, table_html
from viz_core.language import translate as _
from viz_core.ui.components.canvas import Pick, holds, matrices
from viz_core.ui.components.saving import offer
from viz_core.ui.shell import Lab, set_choice, set_view, view, widget, widget_value
from viz_core.ui.shell.setup import VIEW


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
) -> Pick | None:
    """`matrices` whose picked cell is in the link; returns it. key: one of `CANVASES`.

    lead: what the page picks where nobody has. A cell that is not here is named, and nothing is picked. on_pick is called
    before the run that follows another choice of a cell. fill: as large as its container. lookup: of panels of ids. code: the
    lines that make `panels` in a notebook.
    """
    held, has_lead = next((place for canvas, *place in view("cells") if canvas == key), None), lead is not None

    def chosen(pick: Pick | None) -> None:  # a session keeps it: no panel in it
        set_view(cells=with_cell(view("cells"), key, pick if pick or not has_lead else ()))
        if pick and on_pick:
            on_pick(pick)

    asked = lead if held is None else Pick(*held) if held else None
    newest = bool(held) and view("cells")[-1][0] == key  # a link leads to the cell that was picked last
    pick = matrices(panels, key=key, pick=asked, on_pick=chosen, fill=fill, reveal=newest, lookup=lookup,
                    code=code)
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


def chart(figure: Any, key: str, fill: bool = False, code: Callable[[], str] | None = None) -> None:
    """A Plotly figure as every page shows it, and in words for those who cannot see it.

    fill: as large as its container, and in presenter's mode with larger type. code: the lines that make it as `picture` in a
    notebook.
    """
    offer(key, "figure", (figure,), code)
    if fill and view("present"):
        figure = figure.presented()
    st.plotly_chart(figure, key=key, theme=None, config={"displayModeBar": False}, height="stretch" if fill else "content",
                    alt=alternative(figure.to_dict()))


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Cell]], **look: Any) -> None:
    """A table that is only read, as one element; look: the options of `table_html`, which says what other tables are for."""
    st.html(table_html(headings, rows, **look))
