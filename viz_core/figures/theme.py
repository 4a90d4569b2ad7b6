"""The one visual language: every colour and font that any figure or canvas uses.

Zero looks like the page: on a light page palettes start (or are centred) near white, on a dark page near
black, so that what stands out is what is large. Palettes with a `_DARK` twin are chosen by the page's
theme; the others are of middling brightness and serve both.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure

from viz_core.language import translate as _

# Twelve heads at most are told apart; colours repeat after that. The first six are from Okabe and Ito; the
# others keep as much distance from them, and from each other, under simulated protanopia, deuteranopia and
# tritanopia as those six keep among themselves.
HEAD_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9",
    "#613DC4", "#BCA793", "#025372", "#826CDF", "#786C81", "#634902",
)

# One colour per axis letter. White text on each has a contrast of 5:1 or more. The letter is always written
# beside its colour, as ten hues of one brightness cannot all be told apart by the colour-blind.
AXIS_COLOURS = {
    "B": "#7A5C00",  # batch
    "T": "#0067A5",  # position that asks (query)
    "S": "#B0460A",  # position that is asked (key, value)
    "H": "#7B3F9E",  # head
    "D": "#00755E",  # model feature
    "K": "#A8326F",  # query and key feature of one head
    "V": "#5B6B00",  # value feature of one head
    "F": "#4A5AC8",  # hidden feature of the feed-forward network
    "W": "#8A4B2A",  # word of the vocabulary
    "1": "#666A70",  # broadcast
}

# One colour per part of the model, in the hues that the architecture drawing gives them. Names stand beside them.
PART_COLOURS = {
    "embedding": "#613DC4",
    "attention": "#E69F00",
    "token_pairs": "#B8460A",
    "feed_forward": "#56B4E9",
    "layer_norm": "#D9C62E",
    "residual_stream": "#025372",
    "output": "#009E73",
    "input": "#786C81",
    "mask": "#BCA793",
}

# Probabilities: even steps of lightness in OKLCH from the page's own brightness, through green and blue.
SEQUENTIAL = (
    "#EDF6F0", "#BBE6D2", "#85D4C0", "#4AC0B5", "#04A8AB",
    "#038D9B", "#077289", "#155973", "#254153", "#262B30",
)
SEQUENTIAL_DARK = (
    "#1D2130", "#18355C", "#024F74", "#016981", "#04858C",
    "#08A293", "#46BC90", "#92CD97", "#C8DEB0", "#EFF1DA",
)

# Activations and scores: blue below zero, orange above, the page's own brightness at zero.
DIVERGING = (
    "#014E8E", "#316EAD", "#618EC1", "#8FAFD4", "#BFD0E5", "#F2F2F2",
    "#EBD0BC", "#E0B08E", "#D48F61", "#C56D34", "#AF4E03",
)
DIVERGING_DARK = (
    "#8ECBFF", "#63A8E1", "#5286B1", "#416482", "#324554", "#262730",
    "#533D2C", "#805636", "#AE6F42", "#DE8A51", "#FFAF7E",
)

# Two flat looks for 0 and 1 of a mask, and the ground behind written ids.
MASK = ("#E3E5E9", "#077289")
MASK_DARK = ("#30343D", "#46BC90")
GROUND = "#EEF1F4"
GROUND_DARK = "#262B36"

# A masked cell is hatched: `line` drawn at 45 degrees on `fill`.
MASKED = {"fill": "#E9E9EC", "line": "#A3A6AD"}
MASKED_DARK = {"fill": "#1B1E25", "line": "#5A606C"}

# A cell that is not there, as one of two runs has no such token: crossed lines in the colours of a masked cell.
MISSING, MISSING_DARK = MASKED | {"mark": "cross"}, MASKED_DARK | {"mark": "cross"}

# Four classes of cells: one open (as 1 of a mask) and three closed. The closed ones differ by what is drawn on them, too:
# dots, lines, crossed lines. `line` is drawn on `fill`.
CLASSES = (
    {"fill": "#077289", "line": "", "mark": ""},
    {"fill": "#FBEBC8", "line": "#8A6100", "mark": "dots"},
    {"fill": "#D6E6F2", "line": "#0067A5", "mark": "lines"},
    {"fill": "#F1D9E6", "line": "#8E2F66", "mark": "cross"},
)
CLASSES_DARK = (
    {"fill": "#46BC90", "line": "", "mark": ""},
    {"fill": "#3B2C07", "line": "#E6B24A", "mark": "dots"},
    {"fill": "#12304C", "line": "#63A8E1", "mark": "lines"},
    {"fill": "#3E1E32", "line": "#E29CC6", "mark": "cross"},
)

# Values that are no number on the scale. None of these colours occurs in a palette above.
SPECIAL = {"NaN": "#D81B9A", "+∞": "#F2DC1B", "−∞": "#8E44E0"}

# The page around a picture, as `.streamlit/config.toml` has it.
PAGE = {
    "primary_color": "#1f6aa5", "background_color": "#ffffff", "secondary_background_color": "#f3f5f7",
    "text_color": "#0d141c", "border_color": "#d5dbe1",
}
PAGE_DARK = {
    "primary_color": "#6cb2e8", "background_color": "#14181d", "secondary_background_color": "#20262d",
    "text_color": "#e8ecf0", "border_color": "#3a434d",
}

FONT = _("Source Sans, Source Sans Pro, Noto Sans, Noto Sans CJK SC, DejaVu Sans, sans-serif")
FONT_SIZE = 15
PRESENTED = 20  # read from the back row
ABOVE, ABOVE_PLOT = 50, 8  # pixels above a chart's plot: for the toolbar and a line of title; and from the title to the plot


def head_colour(head: int) -> str:
    """The colour of a head, the same on every page."""
    return HEAD_COLOURS[head % len(HEAD_COLOURS)]


def sequential(dark: bool = False) -> tuple[str, ...]:
    """The palette for probabilities and other amounts."""
    return SEQUENTIAL_DARK if dark else SEQUENTIAL


def diverging(dark: bool = False) -> tuple[str, ...]:
    """The palette for signed values; its middle stands for zero."""
    return DIVERGING_DARK if dark else DIVERGING


def masked(dark: bool = False) -> dict[str, str]:
    """The `fill` and `line` colours of the masked look."""
    return MASKED_DARK if dark else MASKED


def page(dark: bool = False) -> dict[str, str]:
    """The colours of the page around a picture, by Streamlit's names for them."""
    return PAGE_DARK if dark else PAGE


def palette() -> dict[str, Any]:
    """All colours that the components' scripts draw with."""
    looks = {
        "sequential": (SEQUENTIAL, SEQUENTIAL_DARK), "diverging": (DIVERGING, DIVERGING_DARK), "mask": (MASK, MASK_DARK),
        "ground": (GROUND, GROUND_DARK), "masked": (MASKED, MASKED_DARK), "missing": (MISSING, MISSING_DARK),
        "classes": (CLASSES, CLASSES_DARK),
    }
    light, dark = ({name: both[i] for name, both in looks.items()} for i in (0, 1))
    return {"light": light, "dark": dark, "special": SPECIAL, "axis": AXIS_COLOURS, "heads": HEAD_COLOURS}


def colorscale(palette: Sequence[str]) -> list[list[float | str]]:
    """A palette as Plotly wants it: [[0.0, colour], ..., [1.0, colour]]."""
    return [[float(at), colour] for at, colour in zip(np.linspace(0, 1, len(palette)), palette, strict=True)]


@cache
def template(dark: bool = False, size: int = FONT_SIZE) -> go.layout.Template:
    """The Plotly template of every figure: fonts of this size, the page as background, quiet grid lines."""
    text, line, quiet = ("#FAFAFA", "#454B57", "#A9B0BB") if dark else ("#31333F", "#D5D8DE", "#656B76")
    axis = {
        "automargin": True,
        "gridcolor": line,
        "linecolor": line,
        "zerolinecolor": line,
        "tickfont": {"size": size - 1},
        "title": {"font": {"size": size}, "standoff": 10},
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": size, "color": text},
            # A title stands directly above the plot, so that the toolbar has the room above it.
            "title": {"font": {"size": size + 3}, "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom",
                      "pad": {"b": ABOVE_PLOT}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": quiet, "activecolor": text},
            "paper_bgcolor": page(dark)["background_color"],  # a downloaded picture has the ground that its ink is made for
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(HEAD_COLOURS),
            "colorscale": {
                "sequential": colorscale(sequential(dark)),
                "sequentialminus": colorscale(sequential(dark)[::-1]),
                "diverging": colorscale(diverging(dark)),
            },
            "coloraxis": {"colorbar": {"outlinewidth": 0, "tickfont": {"size": size - 1}}},
            "hoverlabel": {"font": {"family": FONT, "size": size}},
            "legend": {"font": {"size": size - 1}},
            "margin": {"l": 8, "r": 8, "t": ABOVE, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
        },
        data={"heatmap": [{"colorbar": {"outlinewidth": 0, "tickfont": {"size": size - 1}}}]},
    )


class Figure(go.Figure):
    """A figure with this app's template, which is put in where the figure is written out.

    Plotly copies and checks a template at each assignment, which takes longer than all the rest of a figure.
    """

    def __init__(self, data: Any = None, layout: Any = None, *, dark: bool = False, size: int = FONT_SIZE) -> None:
        super().__init__(data, {"template": "none"} | (layout or {}))
        self._dark, self._size = dark, size

    def to_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = super().to_dict()
        found["layout"]["template"] = _written(self._dark, self._size)
        return found

    def presented(self) -> "Figure":
        """The same figure with type, and fixed margins, for the back row."""
        layout = self.layout.to_plotly_json()
        margin = layout.get("margin", {})
        if margin.get("autoexpand") is False:
            layout["margin"] = margin | {side: margin[side] * PRESENTED / FONT_SIZE for side in "tlb"}
        return Figure(self.data, layout, dark=self._dark, size=PRESENTED)


class Written(BaseFigure):
    """A figure as `to_dict` wrote it, which copies all of it each time that it is asked."""

    def __init__(self, written: dict[str, Any]) -> None:  # not Plotly's, which would check it once more
        self._figure = written

    def to_dict(self) -> dict[str, Any]:
        return self._figure


@cache
def _written(dark: bool, size: int) -> dict[str, Any]:
    """The template as it travels."""
    written: dict[str, Any] = template(dark, size).to_plotly_json()
    return written


def every_part() -> go.Figure:
    """One of each kind of trace and part that the app's figures have. Plotly imports each when it is first made."""
    x = np.ones(1)
    figure = go.Figure([go.Bar(x=x, y=x, marker_line_width=1), go.Scatter(x=x, y=x, line_width=1)])
    figure.update_layout(template=template(), title_font_size=1, xaxis_title_font_size=1, yaxis_title_font_size=1)
    figure.add_annotation(font_size=1)
    figure.add_shape(line_width=1)
    return figure
