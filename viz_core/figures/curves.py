"""Points and lines over two axes, drawn by the curves component (`viz_core.ui.components.curves`).

Plotly takes a browser some 60 ms to draw a chart anew. Where a chart changes together with matrices, a reader waits for it;
for these hardly.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from viz_core.figures.panels import with_header

Mark = Literal["line", "band", "circle", "square", "cross", "disc", "diamond"]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """Points x, y [N] under one name in the legend; "line" and "band" (a broad line) join them, any other mark stands on each.

    said: what the reader is told of a point, with {x} and {y} in it; "" for points that are not read.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    mark: Mark
    said: str = ""


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line over the whole plot at y, its label at one end of it, above or below."""

    y: float
    label: str
    colour: str
    end: Literal["left", "right"] = "right"
    above: bool = True
    dotted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """A chart: later series lie over earlier ones. reach: the ends of the y axis, which may be logarithmic."""

    title: str
    x_title: str
    y_title: str
    series: tuple[Series, ...]
    reach: tuple[float, float]
    levels: tuple[Level, ...] = ()
    log: bool = False


def padded(values: Sequence[np.ndarray], by: float = 0.05) -> tuple[float, float]:
    """Ends of an axis on which all the values have some room; at least one value."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    room = by * (high - low) or 1.0
    return low - room, high + room


def pack_curves(c: Curves) -> bytes:
    """The chart for the browser, as `with_header` writes it: x and y of each series as little-endian float64. `drawn` in
    the header changes with any of it."""
    body = b"".join(np.asarray(a, "<f8").tobytes() for s in c.series for a in (s.x, s.y))
    header = {
        "title": c.title, "xTitle": c.x_title, "yTitle": c.y_title, "reach": c.reach, "log": c.log,
        "levels": [asdict(level) for level in c.levels],
        "series": [{"name": s.name, "n": len(s.x), "colour": s.colour, "mark": s.mark, "said": s.said} for s in c.series],
    }
    header["drawn"] = f"{zlib.crc32(body, zlib.crc32(json.dumps(header).encode())):08x}"
    return with_header(header, body)
