"""What the model would say next, as bars."""

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from viz_core.analysis.summary import Prediction
from viz_core.figures import theme
from viz_core.text import shorten, visible


def next_words(prediction: Prediction, words: Sequence[str], vocab_size: int, heading: str, dark: bool = False) -> go.Figure:
    """Probability of the likeliest next words, best on top, and the line of a uniform guess.

    words: the names of prediction.ids. They are drawn as data: escaped, on a numeric axis, never merged.
    """
    y = list(range(len(words)))
    names = [html.escape(shorten(visible(w))) for w in words]
    figure = go.Figure(
        go.Bar(
            x=list(prediction.probabilities), y=y, orientation="h", marker_color=theme.HEAD_COLOURS[0],
            text=[f"{p:.2%}" for p in prediction.probabilities], textposition="outside", cliponaxis=False,
            customdata=[[n, i] for n, i in zip(names, prediction.ids, strict=True)],
            hovertemplate="%{customdata[0]} (id %{customdata[1]}): %{x:.6f}<extra></extra>",
        ),
        layout={"template": theme.template(dark)},
    )  # fmt: skip
    figure.add_vline(x=1 / vocab_size, line_dash="dot", line_color="#888888")
    figure.update_layout(
        title_text=html.escape(heading), height=84 + 34 * len(words), showlegend=False, margin={"r": 60, "b": 48},
        xaxis={"title_text": f"probability (dotted: a blind guess, 1/{vocab_size:,})", "rangemode": "tozero",
               "tickformat": ".2~%", "nticks": 6},
        yaxis={"title_text": "", "tickvals": y, "ticktext": names, "range": [len(words) - 0.5, -0.5]},
    )  # fmt: skip
    return figure
