"""The loss of each token under teacher forcing and free running, as bars; and time and work a step with the key-value cache."""

import html
from collections.abc import Mapping, Sequence
from math import floor, log10

import numpy as np
import plotly.graph_objects as go

from viz_core.figures import theme
from viz_core.figures.curves import Curves, Series
from viz_core.figures.glosses import NO_GLOSSES, gloss
from viz_core.figures.shapes import LEGEND
from viz_core.language import translate as _
from viz_core.text import isolated

SEEN = 0.02  # of the highest bar: on a linear axis, a lower one cannot be told from none
LEAST = 1e-5  # nats: where a logarithmic axis begins at the latest; a lower loss has no bar
MOST_MEANT = 12  # places below which there is room for what their tokens mean
FORCED, FREE = theme.HEAD_COLOURS[0], theme.HEAD_COLOURS[1]


def losses_figure(
    forced: np.ndarray, free: np.ndarray, labels: Sequence[str], parts_at: int | None, uniform: float, dark: bool = False,
    glosses: Mapping[str, str] = NO_GLOSSES,
) -> go.Figure:
    """Two bars for each label: forced [N], and free [M] of the first M labels. parts_at: where the two texts part; uniform: the
    loss of a uniform guess, as a line. glosses: word → dictionary words, for the labels that have some.

    The axis is logarithmic where a linear one would hide some of the bars, and its title says so.
    """
    places, roomy = list(range(len(labels))), len(labels) <= MOST_MEANT
    named = [_named(i, label, gloss(label, glosses)) for i, label in enumerate(labels, 1)]
    ticks = [_named(i, label, gloss(label, glosses).split(", ")[0] if roomy else "") for i, label in enumerate(labels, 1)]
    said = _("%{text}: loss %{y:.4f} nats")
    traces = [
        {"type": "bar", "name": name, "x": places[: len(y)], "y": y.tolist(), "marker": {"color": colour},
         "text": named[: len(y)], "textposition": "none", "hovertemplate": said + "<extra></extra>"}
        for name, y, colour in ((_("reads the true words"), forced, FORCED), (_("reads its own words"), free, FREE))
    ]
    losses = np.concatenate([forced, free, [uniform]])
    losses = losses[np.isfinite(losses) & (losses > 0)]
    top, lowest = float(losses.max()), float(losses.min())
    logarithmic = lowest < SEEN * top
    low = max(LEAST, 10.0 ** floor(log10(lowest)))
    ends = (log10(low), log10(10 * top)) if logarithmic else (0, 1.15 * top)  # above the highest bar, room for a note
    shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": uniform, "y1": uniform,
               "line": {"dash": "dot", "width": 1}}]
    notes = [{"xref": "paper", "x": 0, "y": log10(uniform) if logarithmic else uniform, "xanchor": "left", "yanchor": "bottom",
              "showarrow": False, "text": _("a uniform guess")}]
    if parts_at is not None:
        shapes.append({"type": "line", "yref": "paper", "x0": parts_at + 0.5, "x1": parts_at + 0.5, "y0": 0, "y1": 1,
                       "line": {"dash": "dash", "width": 2}})
        notes.append({"yref": "paper", "x": parts_at + 0.5, "y": 0.93, "xanchor": "left", "yanchor": "top", "showarrow": False,
                      "text": _("from here on, it reads other words")})
    layout = {
        "height": 380, "title": {"text": _("Loss of each true token, −ln p")}, "barmode": "group", "shapes": shapes,
        "annotations": notes,
        "xaxis": {"title": {"text": _("true token")}, "tickvals": places, "ticktext": ticks,
                  "ticklabeloverflow": "allow",  # the margin makes room for the last label, which is not to be hidden
                  "range": [-0.5, len(labels) - 0.5]},
        "yaxis": {"title": {"text": _("loss in nats (log scale)") if logarithmic else _("loss in nats")}, "range": list(ends)}
        | ({"type": "log", "dtick": 1, "exponentformat": "power"} if logarithmic else {}),
        "legend": LEGEND, "showlegend": True, "margin": {"t": theme.ABOVE, "b": 8},
    }
    return theme.Figure(traces, layout, dark=dark)


def _named(number: int, label: str, said: str) -> str:
    """The name of a place as Plotly's markup: its number and its token, and in a second line what that means."""
    return f"{number}. {html.escape(isolated(label))}" + (f"<br>({html.escape(said)})" if said else "")


def step_curves(cached: np.ndarray, anew: np.ndarray, title: str, unit: str, at: int) -> Curves:
    """What each step costs [t] with the cache and without; the step `at` is marked."""
    x = np.arange(1.0, len(cached) + 1)
    said = _("token {x}: {y}")
    series = (
        Series(_("without the cache"), x, anew, FREE, "line", said), Series(_("with the cache"), x, cached, FORCED, "line", said),
        Series(_("this step"), x[[at, at]], np.array([anew[at], cached[at]]), FREE, "circle", said),
    )
    most = float(max(cached.max(), anew.max())) or 1.0
    return Curves(title, _("tokens read"), unit, series, (0.0, 1.05 * most))
