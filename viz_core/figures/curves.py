"""Charts of points and lines over two axes, drawn by the curves component (`viz_core.ui.components.curves`).

They redraw faster than Plotly, which needs some 60 ms in a browser: a noticeable delay where a chart changes together with
matrices.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np

from viz_core.figures.panels import with_header
from viz_core.messages import json_text
from viz_core.messages.number_format import description_hash

Marker = Literal["line", "band", "circle", "square", "cross", "disc", "diamond"]


@dataclass(frozen=True, slots=True, eq=False)
class ChartSeries:
    """Points x, y [N] with one legend entry; the markers "line" and "band" (a broad line) connect them, others mark each point.

    tooltip: the text for a point, with {x} and {y} in it; "" for points without a text.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    colour: str
    marker: Marker
    tooltip: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A horizontal line over the whole plot at y, with a label at one end, above or below the line."""

    y: float
    label: str
    colour: str
    end: Literal["left", "right"] = "right"
    above: bool = True
    dotted: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class CurveChart:
    """A chart; later series are drawn over earlier ones.

    y_range: the ends of the y axis. is_log: whether the y axis is logarithmic. x_range: the ends of the x axis, if they are not
    those of the points. x_marker: the x of a vertical line.
    """

    title: str
    x_title: str
    y_title: str
    series: tuple[ChartSeries, ...]
    y_range: tuple[float, float]
    levels: tuple[ReferenceLine, ...] = ()
    is_log: bool = False
    x_range: tuple[float, float] | None = None
    x_marker: float | None = None


def padded_range(values: Sequence[np.ndarray], margin: float = 0.05) -> tuple[float, float]:
    """Return the ends of an axis with a margin around all values; values: at least one."""
    every = np.concatenate(values)
    low, high = float(every.min()), float(every.max())
    room = margin * (high - low) or 1.0
    return low - room, high + room


def pack_curves(chart: CurveChart, fill: bool = False, subject: str = "") -> bytes:
    """Return the chart as bytes for the browser, in the format of `with_header`: x and y of each series as little-endian float64.

    fill: whether the chart takes the height of its container. subject: what the chart shows apart from its titles, such as the
    sentence; a zoom is reset when the subject, the titles or the series change, of which `about` in the header is a hash. `drawn`
    is a checksum of the content.
    """
    body = b"".join(np.asarray(a, "<f8").tobytes() for s in chart.series for a in (s.x, s.y))
    header = {
        "title": chart.title,
        "xTitle": chart.x_title,
        "yTitle": chart.y_title,
        "reach": chart.y_range,
        "log": chart.is_log,
        "fill": fill,
        "span": chart.x_range,
        "here": chart.x_marker,
        "levels": [asdict(level) for level in chart.levels],
        "series": [{"name": s.name, "n": len(s.x), "colour": s.colour, "mark": s.marker, "said": s.tooltip} for s in chart.series],
    }
    # A series of one point marks a step; a zoom is kept when it appears or disappears.
    named = description_hash(subject, chart.title, chart.x_title, chart.y_title, [s.name for s in chart.series if len(s.x) > 1])
    header["drawn"] = f"{zlib.crc32(body, zlib.crc32(json.dumps(header, default=json_text).encode())):08x}"
    return with_header(header | {"about": named}, body)
