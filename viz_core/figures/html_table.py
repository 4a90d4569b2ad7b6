"""HTML tables for text that is only read.

Tables of numbers are shown as DataFrames by `data_table`. Four other tables have code of their own: `ui/components/table`
filters, sorts and marks hundreds of stages; `ui/components/profiles` sorts attention heads and opens them; the cells of the
Documents page expand; and the cell inspector lists the terms of a sum, with bars and an expandable part.
"""

import html
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from viz_core.figures import theme
from viz_core.figures.glosses import chinese_html

CELL_STYLE = "padding:6px 14px 6px 0;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.35)"
WRAP_STYLE = "max-width:20em;overflow-wrap:break-word"  # a long word breaks, so that the other columns keep their width
FILL_STYLE = "overflow:auto;position:absolute;inset:0;font-size:max(1rem, var(--lab-type))"
STICKY_STYLE = "position:sticky;top:0;background:var(--st-background-color)"  # while the rows scroll


@dataclass(frozen=True, slots=True)
class TableCell:
    """The text and style of a table cell.

    code: the text is an identifier, which may break after a dot. strong: the text is bold. bar: the length of a bar below the
    text, from 0 to 1.
    """

    text: str
    code: bool = False
    strong: bool = False
    bar: float | None = None


def table_html(
    headings: Sequence[str], rows: Sequence[Sequence[str | TableCell]], *,
    caption: str = "", right_aligned: Collection[int] = (), height: int = 0, fill: bool = False,
) -> str:
    """Return an HTML table that scrolls inside its own box.

    height: the maximum height in pixels; 0 limits only the width. right_aligned: the columns that are aligned on the right,
    such as numbers. fill: whether the table takes the size of its container. Text is escaped; its line breaks are kept.
    """
    stays = f";{STICKY_STYLE}" if height else ""
    styles = [f"{CELL_STYLE};{WRAP_STYLE};text-align:{'right' if i in right_aligned else 'left'}" for i in range(len(headings))]
    head = "".join(_heading(h, f"{s};font-weight:600{stays}") for s, h in zip(styles, headings, strict=True))
    body = "".join(f"<tr>{''.join(_cell(cell, s) for cell, s in zip(row, styles, strict=True))}</tr>" for row in rows)
    above = f'<caption style="text-align:left">{html.escape(caption)}</caption>' if caption else ""
    box = FILL_STYLE if fill else f"overflow:auto;max-height:{height}px" if height else "overflow-x:auto"
    key, size = ' tabindex="0"' if height or fill else "", "width:100%;height:100%;" if fill else ""  # keys scroll it
    return (
        f'<div style="{box};margin:4px 0 10px"{key}>'
        f'<table style="{size}border-collapse:collapse;font-variant-numeric:tabular-nums">{above}'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _heading(text: str, style: str) -> str:
    """Return a column heading; an empty one is an ordinary cell, because it is no heading for screen readers."""
    return f'<th scope="col" style="{style}">{html.escape(text)}</th>' if text else f'<td style="{style}"></td>'


def _cell(cell: str | TableCell, style: str) -> str:
    if isinstance(cell, str):
        cell = TableCell(cell)
    text = chinese_html(cell.text).replace("\n", "<br/>")
    if cell.code:
        text = f"<code>{text.replace('.', '.<wbr/>')}</code>"
    bold = ";font-weight:700" if cell.strong else ""
    return f'<td style="{style}{bold}">{text}{"" if cell.bar is None else _bar(cell.bar)}</td>'


def _bar(share: float) -> str:
    return f'<div style="height:4px;width:{min(max(share, 0), 1):.0%};background:{theme.HEAD_COLOURS[0]};border-radius:2px"></div>'
