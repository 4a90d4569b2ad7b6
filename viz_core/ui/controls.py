"""Small things that a page's sections share: a bounded number, a chart, a table."""

import html
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from viz_core.ui.frame import set_view, view, widget, widget_value
from viz_core.ui.setup import VIEW


def inside(name: str, what: str, most: int, least: int = 0) -> int:
    """A number that a view holds, brought within what there is here; said where someone asked for another."""
    asked = view(name)
    held = max(least, min(asked, most))
    if held != asked and asked != VIEW[name].default:
        st.caption(f"{what} {asked:,} is not there; {held:,} is shown.")
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


def dark() -> bool:
    """Whether the page is dark."""
    return st.context.theme.type == "dark"


def chart(figure: Any, key: str) -> None:
    """A Plotly figure as every page shows it."""
    st.plotly_chart(figure, key=key, theme=None, config={"displayModeBar": False})


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of plain text, one element, which scrolls in its own box where the page is narrow."""
    cell = "padding:6px 14px 6px 0;text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.35)"
    cell += ";max-width:20em;overflow-wrap:break-word"  # a long word breaks, and leaves the other columns their room
    head = "".join(f'<th style="{cell};font-weight:600">{html.escape(h)}</th>' for h in headings)
    body = "".join("<tr>" + "".join(f'<td style="{cell}">{html.escape(x)}</td>' for x in row) + "</tr>" for row in rows)
    style = "border-collapse:collapse;font-variant-numeric:tabular-nums"
    st.html(f'<div style="overflow-x:auto;margin:4px 0 10px"><table style="{style}">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")  # fmt: skip
