"""Distributions over depth: ridges as high as their shares, on linear and logarithmic axes."""

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_core.analysis.layernorm import N_BINS, LayerHistograms, PlacementHistograms, activation_histograms
from viz_core.figures import distributions
from viz_core.presets import PRESETS
from viz_core.run import run


def two_placements() -> PlacementHistograms:
    config = replace(PRESETS["000"].config, n_encoder_layers=3, d_model=32, d_ff=32)
    runs = {n: run(replace(config, norm=n), ["the cat sat"], ["猫"], device="cpu") for n in ("post", "pre")}
    return activation_histograms(runs, "source", "resid_post")


def test_ridges_are_as_high_as_the_shares() -> None:
    found = two_placements()
    figure = distributions.ridges_figure(found, {"post": "#0072B2", "pre": "#E69F00"})
    highest = max(s.fractions.max() for s in found.by_placement.values())
    assert [t.name for t in figure.data] == ["post", "pre"]
    for trace, s in zip(figure.data, found.by_placement.values(), strict=True):
        ends = np.flatnonzero(np.isnan(trace.x))
        assert len(ends) == 3  # a gap after each layer
        for layer, (start, end) in enumerate(zip([0, *ends + 1], ends, strict=False)):
            x, y = trace.x[start:end], layer - trace.y[start:end]
            assert y[0] == y[-1] == 0
            held = np.flatnonzero(s.fractions[layer])
            first, last = held[0], held[-1] + 1
            np.testing.assert_allclose(x, np.repeat(found.edges[first : last + 1], 2), rtol=1e-5)
            np.testing.assert_allclose(y[1:-1:2] / distributions.OVERLAP * highest, s.fractions[layer][first:last], atol=1e-5)
    assert figure.layout.title.text == "Encoder: resid_post, layer by layer"
    assert figure.layout.xaxis.title.text == "value of an activation" and figure.layout.yaxis.title.text == "layer"


def test_of_a_deep_stack_fewer_layers_are_drawn_and_each_is_higher() -> None:
    def spread(layers: int) -> PlacementHistograms:
        shares = np.zeros((layers, N_BINS))
        shares[:, 30] = 1.0
        one = LayerHistograms(tuple(range(layers)), shares, *np.zeros((2, layers)), np.ones(layers))
        return PlacementHistograms("encoder.layers.*.x", "linear", 1.0, np.linspace(-1, 1, N_BINS + 1), {"a": one}, ())

    few, many = (distributions.ridges_figure(spread(n), {"a": "#0072B2"}) for n in (24, 48))
    for figure, drawn, last in ((few, 24, 23), (many, 16, 47)):
        rows = {t.split(",")[0] for t in figure.data[0].text if t}
        assert len(rows) == drawn and {"layer 0", f"layer {last}"} <= rows
    tops = [float(np.nanmin(figure.data[0].y)) for figure in (few, many)]  # of layer 0, above its row
    assert tops == pytest.approx([-distributions.OVERLAP, -distributions.OVERLAP * 47 / 15])
    assert many.layout.yaxis.tickvals[:2] == (0, 3) and many.layout.yaxis.tickvals[-1] == 47


def test_hover_reads_the_share_of_its_bin() -> None:
    found = two_placements()
    trace = distributions.ridges_figure(found, {"post": "#0072B2", "pre": "#E69F00"}).data[0]
    s = found.by_placement["post"]
    peak = int(s.fractions[0].argmax())
    here = [t for t in trace.text if t.startswith("layer 0") and t.endswith(f": {s.fractions[0][peak]:.2%}")]
    assert here and len(trace.text) == len(trace.x)


def test_a_logarithmic_axis_has_powers_of_ten_where_they_stand() -> None:
    shares = np.zeros((1, N_BINS))
    shares[0, 30] = 1.0
    edges = 1e-3 * np.sinh(np.linspace(-1, 1, N_BINS + 1) * np.arcsinh(1e6 / 1e-3))
    spread = LayerHistograms((0,), shares, np.zeros(1), np.zeros(1), np.ones(1))
    spreads = PlacementHistograms("encoder.layers.*.resid_mid", "log", 1e-3, edges, {"a": spread}, ())
    figure = distributions.ridges_figure(spreads, {"a": "#0072B2"})
    axis = figure.layout.xaxis
    named = dict(zip(axis.ticktext, axis.tickvals, strict=True))
    assert named["0"] == 0 and "log" in axis.title.text
    for text, at in named.items():
        if found := re.fullmatch(r"(−?)10<sup>(−?\d+)</sup>", text):
            value = 10.0 ** int(found[2].replace("−", "-")) * (-1 if found[1] else 1)
            assert at == pytest.approx(np.arcsinh(value / 1e-3))
    assert 3 <= len(named) <= 9
    assert np.diff(sorted(named.values())).min() > axis.range[1] / 4  # far enough apart to be read


@pytest.mark.parametrize("reach", [0.03, 1.0, 3.04, 17.0, 4e5])
def test_a_linear_axis_has_a_few_round_numbers(reach: float) -> None:
    found = PlacementHistograms("encoder.layers.*.resid_mid", "linear", 1.0, np.linspace(-reach, reach, N_BINS + 1), {}, ())
    ticks = distributions._ticks(found)["tickvals"]
    assert 5 <= len(ticks) <= 9 and 0 in ticks and max(ticks) <= reach


def test_no_layer_at_all_is_drawn_as_an_empty_picture() -> None:
    figure = distributions.ridges_figure(
        PlacementHistograms("encoder.layers.*.x", "linear", 1.0, np.linspace(-1, 1, N_BINS + 1), {}, ("a",)), {}
    )
    assert isinstance(figure, go.Figure) and not figure.data


def test_a_layer_of_nothing_but_nan_leaves_a_gap() -> None:
    shares = np.zeros((2, N_BINS))
    shares[0, 5] = 1.0
    spread = LayerHistograms((0, 1), shares, np.zeros(2), np.array([0.0, 1.0]), np.array([1.0, np.nan]))
    found = PlacementHistograms("encoder.layers.*.x", "linear", 1.0, np.linspace(-1, 1, N_BINS + 1), {"a": spread}, ())
    (trace,) = distributions.ridges_figure(found, {"a": "#0072B2"}).data
    assert np.isnan(trace.x).sum() == 1
