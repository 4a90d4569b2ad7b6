"""Pictures to download: a panel or lines as SVG, always in light colours for papers and slides.

Tokens look as they do on the pages, including quotes and angle brackets.
"""

import math
from collections.abc import Sequence
from xml.sax.saxutils import escape

import numpy as np

from viz_core.figures import theme
from viz_core.figures.panels import Panel, pool
from viz_core.language import translate as _
from viz_core.text import shorten

INK, QUIET = "#31333F", "#6B6F7B"
CELL, GAP = 26, 12  # pixels of a cell, and of a margin
MOST_CELLS = 128  # rows or columns of a picture; a larger matrix is pooled
LETTER = 7.6  # pixels of a letter at the labels' size, on average
ROW = 26  # pixels of a token in the lines
MOST_LINES = 5000


def panel_svg(shown: Panel, title: str) -> str:
    """The matrix with its labels, axis titles and colour range, for probabilities and signed values."""
    pooled = pool(shown.values, MOST_CELLS, MOST_CELLS, shown.masked)
    (n_rows, n_cols), (high, wide) = pooled.values.shape, pooled.block
    rows, cols = ([shorten(label) for label in labels] for labels in (shown.rows[::high], shown.cols[::wide]))
    left, top = GAP + 20 + _width(rows), 62 + _width(cols)
    hidden = np.zeros(pooled.values.shape, bool)
    if shown.masked is not None:
        hidden = shown.masked[pooled.kept[..., 0], pooled.kept[..., 1]]
    parts = [
        f'<text x="{GAP}" y="24" font-size="18" font-weight="600">{_text(title)}</text>',
        f'<text x="{left}" y="46" fill="{QUIET}">{_text(shown.col_axis)}</text>',
        f'<text transform="translate({GAP + 8} {top + n_rows * CELL / 2}) rotate(-90)" text-anchor="middle" fill="{QUIET}">'
        f"{_text(shown.row_axis)}</text>",
    ]
    for i, label in enumerate(rows):
        parts.append(f'<text x="{left - 6}" y="{top + (i + 0.68) * CELL:.1f}" text-anchor="end">{_text(label)}</text>')
    for j, label in enumerate(cols):
        parts.append(f'<text transform="translate({left + (j + 0.68) * CELL:.1f} {top - 6}) rotate(-90)">{_text(label)}</text>')
    for (i, j), x in np.ndenumerate(pooled.values):
        fill = "url(#masked)" if hidden[i, j] else _colour(shown, float(x))
        tooltip = _text(f"{rows[i]} → {cols[j]}: {float(x):.6g}")
        place = f'x="{left + j * CELL}" y="{top + i * CELL}" width="{CELL}" height="{CELL}"'
        parts.append(f'<rect {place} fill="{fill}"><title>{tooltip}</title></rect>')
    parts.append(_scale(shown, left, top + n_rows * CELL + 16,
                        _("pooled {high}×{wide},", high=high, wide=wide) + " " if high * wide > 1 else ""))
    width = left + max(n_cols * CELL, 240, LETTER * 1.3 * len(title) - left) + GAP
    return _svg(width, top + n_rows * CELL + 62, "".join(parts))


def lines_svg(weights: np.ndarray, queries: Sequence[str], keys: Sequence[str], heads: Sequence[int], title: str) -> str:
    """weights [H, T, S] as lines from queries (left) to keys (right), which are labels as they are shown; a line is as strong as
    its weight over the largest.

    At most MOST_LINES are drawn, the strongest ones, and the picture says so.
    """
    lefts, rights = (list(map(shorten, labels)) for labels in (queries, keys))
    query_heading, key_heading = "queries", "keys"
    left, top = GAP + _width([*lefts, query_heading]) + 8, 84
    right = left + 220
    shown = weights[list(heads)]
    largest = float(np.nanmax(shown, initial=0.0)) or 1.0
    parts = [f'<text x="{GAP}" y="24" font-size="18" font-weight="600">{_text(title)}</text>']
    for place, head in enumerate(heads):
        at = GAP + 84 * place
        parts.append(f'<rect x="{at}" y="38" width="12" height="12" fill="{theme.head_colour(head)}"/>')
        parts.append(f'<text x="{at + 17}" y="49">' + _("head {head}", head=head) + "</text>")
    parts.append(f'<text x="{left - 8}" y="{top - 8}" text-anchor="end" fill="{QUIET}">{query_heading}</text>')
    parts.append(f'<text x="{right + 8}" y="{top - 8}" fill="{QUIET}">{key_heading}</text>')
    drawn = np.argwhere(shown > 0.004 * largest)  # rows of (head, query, key)
    if len(drawn) > MOST_LINES:
        drawn = drawn[np.argsort(-shown[tuple(drawn.T)], kind="stable")[:MOST_LINES]]
        parts.append(f'<text x="{left}" y="{top - 8}" fill="{QUIET}" font-size="11">'
                      + _("the {most_lines:,} strongest lines", most_lines=MOST_LINES)
                      + "</text>")
    for at, t, s in drawn:
        strength = float(shown[at, t, s]) / largest
        y, v = top + (t + 0.5) * ROW, top + (s + 0.5) * ROW
        parts.append(
            f'<path d="M{left} {y} C{left + 77} {y} {right - 77} {v} {right} {v}" stroke="{theme.head_colour(heads[at])}" '
            f'fill="none" stroke-width="{1 + 3 * strength:.2f}" stroke-opacity="{strength:.3f}"/>'
        )
    for tokens, x, anchor in ((lefts, left - 8, "end"), (rights, right + 8, "start")):
        for i, token in enumerate(tokens):
            parts.append(f'<text x="{x}" y="{top + (i + 0.68) * ROW:.1f}" text-anchor="{anchor}">{_text(token)}</text>')
    width = max(right + 8 + _width([*rights, key_heading]), GAP + 84 * len(heads), LETTER * 1.3 * len(title)) + GAP
    return _svg(width, top + ROW * max(len(queries), len(keys)) + GAP, "".join(parts))


def _svg(width: float, height: float, inside: str) -> str:
    """The whole SVG file, with the hatching for masked cells."""
    hatch, size = theme.masked(), f'width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:.0f} {height:.0f}" font-family="{theme.FONT}" '
        f'font-size="14" fill="{INK}"><defs><pattern id="masked" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<rect width="6" height="6" fill="{hatch["fill"]}"/><path d="M0 6L6 0" stroke="{hatch["line"]}"/></pattern></defs>'
        f'<rect width="100%" height="100%" fill="white"/>{inside}</svg>'
    )


def _scale(shown: Panel, x: float, y: float, note: str) -> str:
    """The colour range as a bar with its lowest and highest value."""
    palette = theme.sequential() if shown.kind == "probability" else theme.diverging()
    stops = "".join(f'<stop offset="{at}" stop-color="{colour}"/>' for at, colour in theme.colorscale(palette))
    return (
        f'<defs><linearGradient id="scale">{stops}</linearGradient></defs>'
         + f'<rect x="{x}" y="{y}" width="160" height="12" fill="url(#scale)"/><text x="{x}" y="{y + 28}" fill="{QUIET}">'
         + _("{note}{low:.3g} to {high:.3g}", note=note, low=shown.low, high=shown.high)
         + "</text>"
    )


def _colour(shown: Panel, x: float) -> str:
    """The palette's colour at x, interpolated between the two nearest entries."""
    if math.isnan(x) or math.isinf(x):
        return theme.SPECIAL["NaN" if math.isnan(x) else "+∞" if x > 0 else "−∞"]
    palette = theme.sequential() if shown.kind == "probability" else theme.diverging()
    share = min(max((x - shown.low) / ((shown.high - shown.low) or 1.0), 0.0), 1.0) * (len(palette) - 1)
    low = min(int(share), len(palette) - 2)
    a, b = (np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) for colour in palette[low : low + 2])
    return "#" + "".join(f"{c:02X}" for c in np.rint(a + (b - a) * (share - low)).astype(int))


def _width(labels: Sequence[str]) -> float:
    """Room for the longest label; a character beyond Latin counts twice."""
    return LETTER * max((sum(1 if ord(c) < 0x2E80 else 2 for c in label) for label in labels), default=0)


def _text(text: str) -> str:
    return escape(text, {'"': "&quot;"})
