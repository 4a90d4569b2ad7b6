"""Scatter charts: titles, axes, legend, guide lines and annotations."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from viz_core.figures import theme

GUIDE_COLOUR = "#888888"  # lines that are not data
HEIGHT = 400
X_AXIS_HEIGHT, LEGEND_LINE_HEIGHT = 62, 22  # pixels: the x axis with its title; a legend line


def scatter_figure(
    traces: Sequence[dict[str, Any]], title: str, x: str, y: str, dark: bool, height: int = HEIGHT, *,
    xaxis: dict[str, Any] | None = None, yaxis: dict[str, Any] | None = None, shapes: Sequence[dict[str, Any]] = (),
    annotations: Sequence[dict[str, Any]] = (), showlegend: bool = True, legend_columns: int = 0,
    legend: dict[str, Any] | None = None, space_above: int = 0,
) -> go.Figure:
    """Return a scatter figure, built in one call because Plotly then validates it once (a tenth of the time of many updates).

    legend: the position of the legend, below the x axis by default. legend_columns: the number of legend columns; the margins
    are then fixed, because Plotly otherwise lays the figure out several times, which takes a third of the drawing time.
    space_above: pixels between the title and the plot, for an annotation.
    """
    layout: dict[str, Any] = {
        "title": {"text": title, "pad": {"b": theme.TITLE_PAD + space_above}}, "height": height, "showlegend": showlegend,
        "xaxis": {"title": {"text": x}} | (xaxis or {}), "yaxis": {"title": {"text": y}} | (yaxis or {}),
        "shapes": list(shapes), "annotations": list(annotations),
        "margin": {"t": theme.TOP_MARGIN + space_above + (24 if "<br>" in title else 0), "b": 8},
        "legend": {"orientation": "h", "x": 0} | (legend or {"yanchor": "top", "y": -0.2}),
    }
    if legend_columns:
        entries = sum(trace.get("showlegend", True) for trace in traces)
        room, axes = LEGEND_LINE_HEIGHT * -(-entries // legend_columns), {"automargin": False}
        layout["height"] = height + room
        layout["margin"] = {"t": layout["margin"]["t"], "l": 72, "r": 12, "b": X_AXIS_HEIGHT + room, "autoexpand": False}
        layout["legend"] |= {"y": 0, "yref": "container", "yanchor": "bottom",  # at the lower edge for any height of the figure
                             "entrywidth": 1 / legend_columns - 0.01, "entrywidthmode": "fraction"}
        layout["xaxis"] |= axes
        layout["yaxis"] |= axes
    return theme.Figure([{"type": "scatter"} | trace for trace in traces], layout, dark=dark)


def guide_line(axis: str, value: float, colour: str = GUIDE_COLOUR, dash: str = "dot", width: float = 1.5) -> dict[str, Any]:
    """Return a line over the whole plot: vertical at x = value for the axis "x", horizontal at y = value for "y"."""
    other = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1}
    return {"type": "line", "line": {"color": colour, "dash": dash, "width": width}} | ends


def text_annotation(text: str, y: float, x: float, xanchor: str, yanchor: str) -> dict[str, Any]:
    """Return a text annotation; x: from 0 to 1 of the plot's width; y: in axis units, on a log axis the logarithm."""
    return {"text": text, "x": x, "xref": "paper", "y": y, "xanchor": xanchor, "yanchor": yanchor, "showarrow": False}


def log_axis(log10_range: Sequence[float]) -> dict[str, Any]:
    """Return a log axis with a tick at each power of ten; log10_range: the base-10 logarithms of its ends."""
    return {"type": "log", "range": list(log10_range), "dtick": 1, "exponentformat": "power"}
