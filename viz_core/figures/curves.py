"""Points and lines over two axes, drawn by the curves component (`viz_core.ui.components.curves`).

Plotly needs some 60 ms in a browser to draw a chart again, a noticeable wait where a chart changes together with matrices;
these charts are faster.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from viz_core.figures.panels import with_header
from viz_core.formats import about

Mark = Literal["line", "band", "circle", "square", "cross", "disc", "diamond"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Points x, y [N] under one name in the legend; "line" and "band" (a broad line) join them, other marks stand on each.

    said: the text for a point, with {x} and {y} in it; "" for points without a text.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    mark: Mark
    said: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line over the whole plot at y, with a label at one end, above or below."""

    y: float
    label: str
    colour: str
    end: Literal["left", "right"] = "right"
    above: bool = True
    dotted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """A chart. Later series lie on top of earlier ones. reach: the ends of the y axis, which may be logarithmic.

    span: the ends of the x axis, where they are not those of the points. here: an upright line at this x.
    """

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    reach: tuple[float, float]
    levels: tuple[Level, ...] = ()
    log: bool = False
    span: tuple[float, float] | None = None
    here: float | None = None


def padded(values: Sequence[np.ndarray], by: float = 0.05) -> tuple[float, float]:
    """Ends of an axis with some room around all the values, of which there is at least one."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    room = by * (high - low) or 1.0
    return low - room, high + room


def pack_curves(c: Curves, fill: bool = False, of: str = "") -> bytes:
    """The chart for the browser, as `with_header` writes it: x and y of each series as little-endian float64. `drawn` in
    the header changes with the content. fill: whether the chart takes the height of its box. of: what it shows beside what its
    titles say, such as the sentence; a zoom does not outlast another one, nor other titles or series (see `about`)."""
    body = b"".join(np.asarray(a, "<f8").tobytes() for s in c.series for a in (s.x, s.y))
    header = {
        "title": c.title, "xTitle": c.x_title, "yTitle": c.y_title, "reach": c.reach, "log": c.log, "fill": fill,
        "span": c.span, "here": c.here,
        "levels": [asdict(level) for level in c.levels],
        "series": [{"name": s.name, "n": len(s.x), "colour": s.colour, "mark": s.mark, "said": s.said} for s in c.series],
    }
    # A series of one point marks a moment, which comes and goes: it is not news.
    named = about(of, c.title, c.x_title, c.y_title, [s.name for s in c.series if len(s.x) > 1])
    header["drawn"] = f"{zlib.crc32(body, zlib.crc32(json.dumps(header).encode())):08x}"
    return with_header(header | {"about": named}, body)
