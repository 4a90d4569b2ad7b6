"""Scatter charts: titles, axes, a legend, guide lines and labels."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from viz_core.figures import theme

GUIDE = "#888888"  # lines that are no data
HEIGHT = 400
UNDER, ENTRY = 62, 22  # pixels of a horizontal axis with its title, and of a line of the legend


def scatter_figure(
    traces: Sequence[dict[str, Any]], title: str, x: str, y: str, dark: bool, height: int = HEIGHT, *,
    xaxis: dict[str, Any] | None = None, yaxis: dict[str, Any] | None = None, shapes: Sequence[dict[str, Any]] = (),
    annotations: Sequence[dict[str, Any]] = (), showlegend: bool = True, legend_columns: int = 0,
    legend: dict[str, Any] | None = None, above: int = 0,
) -> go.Figure:
    """Scatter traces with titles, in one piece: Plotly checks it once, which takes a tenth of the time of many updates.

    legend: where it is, if not below the horizontal axis. legend_columns: the legend's, with margins known beforehand;
    without them Plotly lays a figure out several times to find what it needs, which takes a third of the time to draw it.
    above: pixels between the title and the plot, for an annotation.
    """
    layout: dict[str, Any] = {
        "title": {"text": title, "pad": {"b": theme.ABOVE_PLOT + above}}, "height": height, "showlegend": showlegend,
        "xaxis": {"title": {"text": x}} | (xaxis or {}), "yaxis": {"title": {"text": y}} | (yaxis or {}),
        "shapes": list(shapes), "annotations": list(annotations),
        "margin": {"t": theme.ABOVE + above + (24 if "<br>" in title else 0), "b": 8},
        "legend": {"orientation": "h", "x": 0} | (legend or {"yanchor": "top", "y": -0.2}),
    }
    if legend_columns:
        entries = sum(trace.get("showlegend", True) for trace in traces)
        room, axes = ENTRY * -(-entries // legend_columns), {"automargin": False}
        layout["height"] = height + room
        layout["margin"] = {"t": layout["margin"]["t"], "l": 72, "r": 12, "b": UNDER + room, "autoexpand": False}
        layout["legend"] |= {"y": 0, "yref": "container", "yanchor": "bottom",  # at the foot, however high the figure becomes
                             "entrywidth": 1 / legend_columns - 0.01, "entrywidthmode": "fraction"}
        layout["xaxis"] |= axes
        layout["yaxis"] |= axes
    return theme.Figure([{"type": "scatter"} | trace for trace in traces], layout, dark=dark)


def guide_line(across: str, at: float, colour: str = GUIDE, dash: str = "dot", width: float = 1.5) -> dict[str, Any]:
    """A line over the whole plot: across "x" it stands upright at x = at, across "y" it lies at y = at."""
    other = "y" if across == "x" else "x"
    ends = {f"{across}0": at, f"{across}1": at, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1}
    return {"type": "line", "line": {"color": colour, "dash": dash, "width": width}} | ends


def label(text: str, y: float, x: float, xanchor: str, yanchor: str) -> dict[str, Any]:
    """Words beside a horizontal line; x from 0 to 1 of the plot's width, y as the axis counts (a log axis: the logarithm)."""
    return {"text": text, "x": x, "xref": "paper", "y": y, "xanchor": xanchor, "yanchor": yanchor, "showarrow": False}


def log_axis(reach: Sequence[float]) -> dict[str, Any]:
    """A log axis with a number at each power of ten; reach: the logarithms of its ends."""
    return {"type": "log", "range": list(reach), "dtick": 1, "exponentformat": "power"}
