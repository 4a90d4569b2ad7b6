"""Figures of training: loss and accuracy of a run, the gradient of each part of its model, and comparisons of runs.

The numbers come from `viz_core.training.interactive`.
"""

import html
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from viz_core.analysis.rows import Row
from viz_core.capture import Capture
from viz_core.config import Side
from viz_core.figures import theme
from viz_core.figures.curves import Curves, Level, Mark, Series
from viz_core.figures.glosses import quoted
from viz_core.figures.panels import Panel, panel
from viz_core.figures.scatter import GUIDE, guide_line, label, scatter_figure
from viz_core.language import translate as _
from viz_core.text import visible

TRAINING, HELD_OUT, HERE = theme.HEAD_COLOURS[5], theme.HEAD_COLOURS[0], theme.HEAD_COLOURS[4]
LEAST_LOSS = 1e-3  # nats: the lower limit of the logarithmic axis
USUAL_LOSS = 0.09  # nats: the axis always reaches this, so that it rarely changes during training
MOST_COLUMNS = 60  # columns of the gradient panel at most: narrower ones cannot be touched
FILL = 0.18  # opacity of a band: three overlapping ones are distinguishable


class Points(NamedTuple):
    """Values at steps of a run: steps [N] and values [N], NaN where unknown or not finite."""

    steps: np.ndarray
    values: np.ndarray

    def at(self, step: int) -> tuple[float, float]:
        """Return (step, value) of the last point at or before a step; of the first point if there is none."""
        i = max(0, int(np.searchsorted(self.steps, step, side="right")) - 1)
        return float(self.steps[i]), float(self.values[i])


# --- One run ----------------------------------------------------------------------------------------------------------
def loss_curves(training: Points, held_out: Points, n_steps: int, at: int, chance: float, floor: float | None) -> Curves:
    """Return a chart of the loss of each batch and of the held-out rows, on a logarithmic axis.

    step: the displayed step. uniform_loss: the loss of a uniform guess. best_loss: the best reachable loss, if known.
    """
    levels = [Level(chance, _("a uniform guess"), GUIDE, "right", True)]
    if floor is not None and floor > LEAST_LOSS:
        levels.append(Level(floor, _("the best reachable loss"), GUIDE, "left", False))
    shown = [np.maximum(p.values, LEAST_LOSS) for p in (training, held_out)]
    finite = np.concatenate([*(y[np.isfinite(y)] for y in shown), [level.y for level in levels]])
    reach = (min(USUAL_LOSS, 0.8 * float(finite.min())), 1.25 * float(finite.max()))
    series = _two(training, held_out, at, _("step {x}: loss {y} nats"), LEAST_LOSS)
    return Curves(_("Loss"), _("steps"), _("loss in nats (log scale)"), series, reach, tuple(levels), log=True,
                  span=(0.0, float(n_steps)), here=float(at))


def accuracy_curves(training: Points, held_out: Points, n_steps: int, at: int) -> Curves:
    """Return a chart of the share of positions whose most likely answer is correct, of each batch and of the held-out rows."""
    series = _two(training, held_out, at, _("step {x}: accuracy {y}"), 0.0)
    return Curves(_("Accuracy"), _("steps"), _("share of right answers"), series, (-0.03, 1.03), span=(0.0, float(n_steps)),
                  here=float(at))


def _two(training: Points, held_out: Points, at: int, said: str, least: float) -> tuple[Series, ...]:
    series = [_series(_("training batch"), training, TRAINING, "line", said, least),
             _series(_("held-out rows"), held_out, HELD_OUT, "disc", said, least)]
    if len(held_out.steps) and np.isfinite(held_out.at(at)[1]):
        x, y = held_out.at(at)
        series.append(Series(_("this step"), np.array([x]), np.array([max(y, least)]), HERE, "circle", said))
    return tuple(series)


def _series(name: str, points: Points, colour: str, mark: Mark, said: str, least: float) -> Series:
    """Return a series of the known values, clipped to at least `least`."""
    known = np.isfinite(points.values)
    return Series(name, points.steps[known].astype(float), np.maximum(points.values[known], least), colour, mark, said)


def gradient_panel(steps: np.ndarray, norms: np.ndarray, parts: Sequence[str]) -> Panel:
    """Return a panel of the gradient norms [N, P]: one row per part of the model, one column per step.

    The values are base-10 logarithms, so that a gradient a thousand times smaller than another is visible. Of many steps every
    n-th is shown.
    """
    every = max(1, -(-len(steps) // MOST_COLUMNS))
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.log10(norms[::every].T)  # [P, columns]
    return panel(
        _("Gradient norm of each part, as a power of 10"), powers.astype(np.float32), list(parts),
        [f"{s:,}" for s in steps[::every]], row_axis=_("part of the model"), col_axis=_("step"), kind="signed",
    )


def attention_panels(seen: Capture, stage: str, at: int, rows_of: Callable[[Side], Sequence[Row]]) -> list[Panel]:
    """Return panels of the weights of every head of one attention module at a training step.

    stage: the stage of its weights. rows_of: side → token rows.
    """
    weights = seen[stage][0]  # [H, T, S]
    side: Side = "target" if stage.startswith("decoder") else "source"
    keys: Side = "source" if "cross" in stage else side
    queries, cols = [row.label for row in rows_of(side)], [visible(row.reads) for row in rows_of(keys)]
    return [
        panel(_("Head {head} after {at:,} steps", head=h, at=at), weights[h], queries, cols, row_axis=_("T · query token"),
              col_axis=_("S · key token"), kind="probability", row_letter="T", col_letter="S", low=0.0, high=1.0)
        for h in range(weights.shape[0])
    ]


def answers_panel(on: Sequence[str], right: Sequence[str], words: Sequence[str], probabilities: np.ndarray, at: int) -> Panel:
    """Return a panel of the probabilities of the answers at N positions, [N, C + 1], at a training step.

    A row is labelled with its correct answer, or with the input token if there is none ("" in `correct`). tokens [N]: the input
    tokens. answers [C]: the labels of the columns; the last column is all others together.
    """
    rows = [visible(answer) if answer else _("after {token}", token=quoted(token))
            for answer, token in zip(right, on, strict=True)]
    return panel(
        _("Answers after {at:,} steps", at=at), probabilities.astype(np.float32), rows, [*map(visible, words), _("others")],
        row_axis=_("right answer"), col_axis=_("answer of the model"), kind="probability", row_letter="T", col_letter="V",
        low=0.0, high=1.0,
    )


# --- Several runs -----------------------------------------------------------------------------------------------------
class BandOf(NamedTuple):
    """One condition of an experiment: its name, and the mean, minimum and maximum over its seeds at each of N steps."""

    name: str
    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def bands_figure(
    arms: Sequence[BandOf], what: Literal["loss", "accuracy"], n_steps: int, chance: float | None, floor: float | None,
    dark: bool = False,
) -> go.Figure:
    """Return a figure of each condition's mean as a line within the range of its seeds.

    uniform_loss, best_loss: the loss of a uniform guess and the best reachable loss, drawn as lines.
    """
    traces = [trace for i, arm in enumerate(arms) for trace in _band(arm, theme.head_colour(i), what)]
    loss = what == "loss"
    levels = [(y, name) for y, name in ((chance, _("a uniform guess")), (floor, _("the best reachable loss"))) if y and loss]
    title, axis = ((_("Held-out loss: mean and range of the seeds"), _("loss in nats (log scale)")) if loss else
                   (_("Held-out accuracy: mean and range of the seeds"), _("share of right answers")))
    ticks = [m * 10.0**power for power in range(-3, 3) for m in (1, 2, 5)]
    yaxis = {"type": "log", "tickvals": ticks, "ticktext": [f"{y:g}" for y in ticks]} if loss else {"range": [-0.03, 1.03]}
    return scatter_figure(
        traces, title, _("steps"), axis, dark, xaxis={"range": [0, n_steps]}, yaxis=yaxis,
        shapes=[guide_line("y", y) for y, __ in levels],
        annotations=[label(name, float(np.log10(y)), 1.0, "right", "bottom") for y, name in levels],
    )


def _band(arm: BandOf, colour: str, what: str) -> list[dict[str, object]]:
    """Return the range of the seeds as an area without a legend entry, and the mean as a line."""
    least = LEAST_LOSS if what == "loss" else 0.0
    mean, low, high = (np.maximum(y, least) for y in (arm.mean, arm.low, arm.high))
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "legendgroup": arm.name}
    tooltip = _("{arm}<br>step %{{x:,}}: %{{y:.4g}}", arm=_escaped(arm.name)) + "<extra></extra>"
    return [
        {"x": arm.steps.tolist(), "y": low.tolist()} | edge,
        {"x": arm.steps.tolist(), "y": high.tolist(), "fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},{FILL})"} | edge,
        {"x": arm.steps.tolist(), "y": mean.tolist(), "mode": "lines", "line": {"color": colour, "width": 3},
         "name": _escaped(arm.name), "legendgroup": arm.name, "hovertemplate": tooltip},
    ]


def _escaped(text: str) -> str:
    """Escape a name for Plotly, which reads markup."""
    return html.escape(text)


# --- Trained models ---------------------------------------------------------------------------------------------------
def length_panel(names: Sequence[str], lengths: Sequence[int], accuracy: np.ndarray, trained: int) -> Panel:
    """Return a panel of the accuracy of each model at each test length [M, L]; a length beyond a model's maximum is masked.

    max_trained_length: the length of the longest training rows, for the title.
    """
    return panel(
        _("Accuracy at other lengths; the longest rows of the training have {trained} symbols", trained=trained),
        np.nan_to_num(accuracy), list(names), [str(length) for length in lengths], row_axis=_("model"),
        col_axis=_("length of the test rows"), kind="probability", low=0.0, high=1.0, masked=np.isnan(accuracy),
        masked_name=_("its position table ends before"),
    )


def induction_panel(scores: np.ndarray, of: str) -> Panel:
    """Return a panel of the induction score of each head: its attention to the token after the previous occurrence of its own."""
    layers, heads = scores.shape
    return panel(
        _("Induction score of each head, {of}", of=of), scores, [str(i) for i in range(layers)], [str(i) for i in range(heads)],
        row_axis=_("layer"), col_axis=_("head"), kind="probability", low=0.0, high=1.0, col_letter="H",
    )
