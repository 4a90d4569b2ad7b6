"""The text alternative of a figure says the numbers that the figure draws."""

import math

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_core.analysis.layernorm import LayerHistograms, PlacementHistograms
from viz_core.figures import theme
from viz_core.figures.alt_text import MAX_CHARS, alt_text, plain_text
from viz_core.figures.distributions import ridges_figure
from viz_core.figures.position_schemes import magnitudes_figure, slopes_figure
from viz_core.figures.scatter import scatter_figure
from viz_core.figures.shapes import block_cost_figure


def said(*traces: dict[str, object], title: str = "Power", x: str = "layer", y: str = "‖x‖²", **layout: object) -> str:
    return alt_text(scatter_figure(list(traces), title, x, y, False, **layout).to_dict())  # type: ignore[arg-type]


def test_a_line_by_its_ends_and_its_extremes() -> None:
    y = np.array([3, -1.25, 7.5, 2], dtype=np.float32)
    assert said({"name": "Post-LN", "x": np.arange(4), "y": y}) == (
        "Power. Horizontal: layer; vertical: ‖x‖². Post-LN: from 3 at 0 to 2 at 3, lowest −1.25 at 1, highest 7.5 at 2."
    )
    rising = said({"name": "Pre-LN", "x": np.arange(4), "y": np.arange(4.0)})
    assert rising.endswith("Pre-LN: from 0 at 0 to 3 at 3.")
    assert said({"name": "flat", "x": [2, 5, 8], "y": [1, 1, 1]}).endswith("flat: 1 everywhere from 2 to 8.")
    assert said({"name": "this run", "x": [4], "y": [9]}).endswith("this run: 9 at 4.")


@pytest.mark.parametrize("seed", range(5))
def test_the_places_are_those_of_the_numbers(seed: int) -> None:
    y = np.random.default_rng(seed).permutation(50).astype(float)
    y[0] = y[-1] = 25.5  # no extreme at an end
    assert said({"name": "a", "x": 3 * np.arange(50), "y": y}).endswith(
        f"a: from 25.5 at 0 to 25.5 at 147, lowest {y.min():.0f} at {3 * y.argmin()}, highest {y.max():.0f} at {3 * y.argmax()}."
    )


def test_what_is_no_number_is_left_out() -> None:
    gaps = {"name": "a", "x": [0, 1, 2, 3], "y": [None, 4, math.inf, 2]}
    assert said(gaps).endswith("a: from 4 at 1 to 2 at 3.")
    assert said({"name": "b", "x": [0, 1], "y": [math.nan, math.nan]}).endswith("b: no values.")


def test_places_that_the_axis_names_or_counts() -> None:
    named = said({"name": "a", "x": [0, 1], "y": [1, 2]}, xaxis={"tickvals": [0, 1], "ticktext": ["the", "&lt;s&gt;"]})
    assert named.endswith("a: from 1 at the to 2 at <s>.")
    assert said({"name": "a", "x0": 10, "dx": 5, "y": [1, 2, 3]}).endswith("a: from 1 at 10 to 3 at 20.")


def test_bars_by_the_largest() -> None:
    blocks = {"encoder_layer_0": {"attention": 30, "feed_forward": 10}, "encoder_layer_1": {"attention": 50, "feed_forward": 40}}
    told = alt_text(block_cost_figure(blocks, "FLOPs by block", "FLOPs").to_dict())
    assert "attention: largest bar 50 at Encoder layer 1." in told and "feed-forward: largest bar 40 at " in told
    assert told.startswith("FLOPs by block. Horizontal: FLOPs, 130 in total.") and "%" not in told  # the shares are decoration
    signed = go.Figure([{"type": "bar", "x": [0, 1, 2], "y": [-2, 5, 1]}])
    assert alt_text(signed.to_dict()) == "Bars between −2 at 0 and 5 at 1."


def test_amounts_along_the_horizontal_axis() -> None:
    from viz_core.analysis.positions import EmbeddingNorm

    found = [EmbeddingNorm("translator", 1.5, 24.0), EmbeddingNorm("003", 0.5, 8.0)]
    told = alt_text(magnitudes_figure(found, 5.0, 256).to_dict())
    assert "embedding: from 1.5 at translator to 0.5 at 003." in told
    assert told.startswith("How long is each part of the sum? Horizontal: length of one row (log scale).")


def test_ridges_by_the_reach_of_the_first_and_the_last_layer() -> None:
    edges = np.linspace(-2, 2, 5)
    shares = np.array([[0, 0.5, 0.5, 0], [0.25, 0.25, 0.25, 0.25]])
    nothing = np.zeros(2)
    spread = LayerHistograms((0, 7), shares, nothing, nothing, nothing)
    found = PlacementHistograms("encoder.layers.*.resid_mid", "linear", 1.0, edges, {"post": spread}, ())
    told = alt_text(ridges_figure(found, {"post": "#0072B2"}).to_dict())
    assert told.endswith("post: in layer 0 from −1 to 1, in layer 7 from −2 to 2.")


def test_many_series_are_counted_and_the_text_stays_short() -> None:
    lines = [{"name": f"dimension {i}", "x": np.arange(9), "y": np.sin(i + np.arange(9))} for i in range(40)]
    told = said(*lines)
    counted = told.count("dimension ")
    assert len(told) <= MAX_CHARS and 3 <= counted < 40
    assert told.endswith(f"And {40 - counted} more series.")


def test_markup_becomes_text() -> None:
    assert plain_text("How long?<br> 10<sup>−2</sup> &lt;s&gt;") == "How long? 10^−2 <s>"
    slopes = alt_text(slopes_figure(np.array([0.5, 0.25]), 0).to_dict())
    assert slopes == "The slope m of each head. Horizontal: head; vertical: slope m. From 0.5 at 0 to 0.25 at 1."


@pytest.mark.parametrize("dark", [False, True])
def test_a_figure_without_words_says_what_it_has(dark: bool) -> None:
    assert alt_text(theme.Figure([{"type": "scatter", "y": [1, 2]}], dark=dark).to_dict()) == "From 1 at 0 to 2 at 1."
    assert alt_text({}) == ""
