"""The pictures of normalisation hold the numbers that they were given, escape what was typed, and light the right path."""

import re
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_core.analysis.layernorm import BINS, Cell, Spread, Spreads, layer_norm, members, spreads
from viz_core.figures import batchnorm, block_drawing, distributions, theme
from viz_core.figures import layernorm as F
from viz_core.presets import PRESETS
from viz_core.run import run

X = np.array([1.0, -2.0, 3.0, 0.5])
STEPS = layer_norm(X, np.array([1.0, 0.5, 2.0, 1.0]), np.array([0.0, 0.1, 0.2, 0.3]), 0.25)


# ---------------------------------------------------------------- one token


def test_each_row_of_bars_is_a_step() -> None:
    figure = F.steps_figure(STEPS, 2)
    expected = (X, STEPS.centred, STEPS.normalized, STEPS.scaled, STEPS.out)
    assert len(figure.data) == 5
    for i, (trace, values) in enumerate(zip(figure.data, expected, strict=True)):
        np.testing.assert_allclose(trace.y, values, rtol=1e-6)
        np.testing.assert_array_equal(trace.x, range(4))
        assert trace.yaxis == ("y" if i == 0 else f"y{i + 1}")
        assert list(trace.marker.color) == [F.BELOW if v < 0 else F.ABOVE for v in values]
    assert figure.layout.title.text == "One token’s 4 features, step by step"
    assert figure.layout.xaxis.title.text == "D · feature"


def test_the_headings_have_the_numbers() -> None:
    headings = [a.text for a in F.steps_figure(STEPS, 0).layout.annotations]
    assert headings[0] == "x: mean μ = 0.625 (dashed), variance σ² = 3.172"  # (0.375² + 2.625² + 2.375² + 0.125²) / 4
    assert headings[2] == "÷ √(σ² + ε) = 1.85: the variance is now 0.926941"  # 3.171875 / 3.421875
    assert headings[3:] == ["× γ (0.5 to 2)", "+ β (0 to 0.3): the output"]


def test_scales_are_shared_before_and_after_the_division() -> None:
    ranges = [F.steps_figure(STEPS, 0).layout[f"yaxis{i}"].range for i in ("", "2", "3", "4", "5")]
    assert ranges[0] == ranges[1] and ranges[2] == ranges[3] == ranges[4]
    assert ranges[0][0] < STEPS.centred.min() and X.max() < ranges[0][1]
    assert ranges[2][0] < STEPS.scaled.min() and STEPS.out.max() < ranges[2][1]
    loud = layer_norm(1000 * X, STEPS.gamma, STEPS.beta, 0.25)
    assert F.steps_figure(loud, 0).layout.yaxis.range[1] > 1000 and F.steps_figure(loud, 0).layout.yaxis3.range[1] < 10


def test_the_marked_feature_and_the_mean_are_drawn_where_they_are() -> None:
    band, mean = F.steps_figure(STEPS, 2).layout.shapes
    assert (band.x0, band.x1) == (1.5, 2.5)
    wide = F.steps_figure(layer_norm(np.arange(600.0), np.ones(600), np.zeros(600), 0.0), 100).layout.shapes[0]
    assert (wide.x0, wide.x1) == (98, 102)  # wide enough to be seen
    assert mean.y0 == mean.y1 == pytest.approx(0.625) and mean.yref == "y"


@pytest.mark.parametrize("x", [[0.0], [2.0, 2.0], [np.inf, 1.0], [np.nan, 1.0]])
def test_a_token_without_variance_or_with_oddities_is_drawn(x: list[float]) -> None:
    steps = layer_norm(np.array(x), np.ones(len(x)), np.zeros(len(x)), 0.0)
    figure = F.steps_figure(steps, 0)
    for i in ("", "2", "3", "4", "5"):
        low, high = figure.layout[f"yaxis{i}"].range
        assert np.isfinite([low, high]).all() and low < high
    assert F.feature_formula(steps, 0)


def test_the_formula_has_the_features_numbers() -> None:
    tex = F.feature_formula(STEPS, 1)
    assert r"\hat x_{1} &= \frac{-2 - 0.625}{\sqrt{3.1719 + 0.25}}" in tex
    assert rf"= {STEPS.normalized[1]:.5g}" in tex
    assert rf"N_{{1}} &= 0.5 \cdot ({STEPS.normalized[1]:.5g}) + 0.1" in tex
    assert tex.rstrip().endswith(rf"= {STEPS.out[1]:.5g} \end{{aligned}}")
    assert tex.count("{") == tex.count("}")


def test_the_dark_page_has_its_own_template() -> None:
    for dark in (False, True):
        written = F.steps_figure(STEPS, 0, dark=dark).to_dict()["layout"]["template"]
        assert written == theme.template(dark).to_plotly_json()


# ---------------------------------------------------------------- cells

WORDS = np.array([[True, True, True], [True, False, False]])
TOKENS = [["<b>the</b>", "cat", "sat"], ["dog", "<pad>", "<pad>"]]
AT = Cell(0, 1, 2)


def looks(page: str) -> list[list[str]]:
    """The look of each cell, block by block: "picked", "member" or "other", and "/" where it is hatched."""
    names = {F.ABOVE: "picked", theme.MASK[1]: "member", theme.MASK[0]: "other"}
    found = []
    for part in page.split('role="img"')[1:]:
        block = re.split("<figure|<figcaption|</figure>", part)[0]
        cells = re.findall(rf'<div style="height:{batchnorm.CELL}px;border-radius:2px;background:([^"]*)"', block)
        found.append([next(n for c, n in names.items() if c in cell) + "/" * ("gradient" in cell) for cell in cells])
    return found


def drawn(norm: str, shape: tuple[int, int, int] = (2, 3, 4), at: Cell = AT) -> str:
    words = np.resize(WORDS, shape[:2])
    tokens = [["t"] * shape[1]] * shape[0] if shape[:2] != (2, 3) else TOKENS
    cells = members(norm, shape, at, np.ones(shape[:2], bool))  # type: ignore[arg-type]
    return batchnorm.cells_html([batchnorm.Members(norm, cells, "told")], words, tokens, at)  # type: ignore[arg-type]


def test_layer_norm_fills_one_row_and_batch_norm_one_column_of_every_sentence() -> None:
    other, padding = ["other"] * 4, ["other/"] * 4
    assert looks(drawn("layer")) == [[*other, "member", "member", "picked", "member", *other], [*other, *padding, *padding]]
    row = ["other", "other", "member", "other"]
    pad_row = ["other/", "other/", "member/", "other/"]
    assert looks(drawn("batch")) == [[*row, "other", "other", "picked", "other", *row], [*row, *pad_row, *pad_row]]
    assert looks(drawn("instance")) == [[*row, "other", "other", "picked", "other", *row], [*other, *padding, *padding]]


def test_typed_tokens_are_escaped() -> None:
    page = drawn("layer")
    assert "&lt;b&gt;the&lt;/b&gt;" in page and "<b>the" not in page


def test_a_large_tensor_is_drawn_around_the_picked_cell_and_says_so() -> None:
    page = drawn("batch", (9, 40, 100), Cell(5, 39, 50))
    blocks = looks(page)
    assert len(blocks) == batchnorm.MOST_SENTENCES
    assert all(len(b) == batchnorm.MOST_TOKENS * batchnorm.MOST_FEATURES for b in blocks)
    assert sum(cell.startswith("picked") for b in blocks for cell in b) == 1
    assert "sentences 5 to 7 of 9, tokens 32 to 39 of 40, features 45 to 54 of 100" in page
    assert "40 of its 4,000 cells share the mean" in page  # of the whole sentence, not of what is drawn
    assert "Drawn:" not in drawn("layer")


def test_what_each_norm_gives_has_one_colour_range() -> None:
    parts = [("in", np.full((2, 4), 9.0)), ("a", np.full((2, 4), 1.0)), ("b", np.array([[-2.0] * 4, [1.0, np.inf, np.nan, 0.0]]))]
    before, a, b = batchnorm.result_panels(parts, ["x", "<pad>"])
    assert (before.low, before.high) == (-9, 9) and (a.low, a.high) == (b.low, b.high) == (-2, 2)
    assert b.rows == ("x", "<pad>") and b.masked is None  # padding is counted, so it is shown
    np.testing.assert_array_equal(b.values, parts[2][1])


# ---------------------------------------------------------------- distributions


def two_placements() -> Spreads:
    config = replace(PRESETS["000"].config, n_encoder_layers=3, d_model=32, d_ff=32)
    runs = {n: run(replace(config, norm=n), ["the cat sat"], ["猫"], device="cpu") for n in ("post", "pre")}
    return spreads(runs, "source", "resid_post")


def test_ridges_are_as_high_as_the_shares() -> None:
    found = two_placements()
    figure = distributions.ridges_figure(found, {"post": "#0072B2", "pre": "#E69F00"})
    highest = max(s.shares.max() for s in found.by.values())
    assert [t.name for t in figure.data] == ["post", "pre"]
    for trace, s in zip(figure.data, found.by.values(), strict=True):
        ends = np.flatnonzero(np.isnan(trace.x))
        assert len(ends) == 3  # a gap after each layer
        for layer, (start, end) in enumerate(zip([0, *ends + 1], ends, strict=False)):
            x, y = trace.x[start:end], layer - trace.y[start:end]
            assert y[0] == y[-1] == 0
            held = np.flatnonzero(s.shares[layer])
            first, last = held[0], held[-1] + 1
            np.testing.assert_allclose(x, np.repeat(found.edges[first : last + 1], 2), rtol=1e-5)
            np.testing.assert_allclose(y[1:-1:2] / distributions.OVERLAP * highest, s.shares[layer][first:last], atol=1e-5)
    assert figure.layout.title.text == "Encoder: resid_post, layer by layer"
    assert figure.layout.xaxis.title.text == "value of an activation" and figure.layout.yaxis.title.text == "layer"


def test_hover_reads_the_share_of_its_bin() -> None:
    found = two_placements()
    trace = distributions.ridges_figure(found, {"post": "#0072B2", "pre": "#E69F00"}).data[0]
    s = found.by["post"]
    peak = int(s.shares[0].argmax())
    here = [t for t in trace.text if t.startswith("layer 0") and t.endswith(f": {s.shares[0][peak]:.2%}")]
    assert here and len(trace.text) == len(trace.x)


def test_a_logarithmic_axis_has_powers_of_ten_where_they_stand() -> None:
    shares = np.zeros((1, BINS))
    shares[0, 30] = 1.0
    edges = 1e-3 * np.sinh(np.linspace(-1, 1, BINS + 1) * np.arcsinh(1e6 / 1e-3))
    spread = Spread((0,), shares, np.zeros(1), np.zeros(1), np.ones(1))
    spreads = Spreads("encoder.layers.*.resid_mid", "log", 1e-3, edges, {"a": spread}, ())
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
    found = Spreads("encoder.layers.*.resid_mid", "linear", 1.0, np.linspace(-reach, reach, BINS + 1), {}, ())
    ticks = distributions._ticks(found)["tickvals"]
    assert 5 <= len(ticks) <= 9 and 0 in ticks and max(ticks) <= reach


def test_no_layer_at_all_is_drawn_as_an_empty_picture() -> None:
    figure = distributions.ridges_figure(Spreads("encoder.layers.*.x", "linear", 1.0, np.linspace(-1, 1, BINS + 1), {}, ("a",)), {})
    assert isinstance(figure, go.Figure) and not figure.data


def test_a_layer_of_nothing_but_nan_leaves_a_gap() -> None:
    shares = np.zeros((2, BINS))
    shares[0, 5] = 1.0
    spread = Spread((0, 1), shares, np.zeros(2), np.array([0.0, 1.0]), np.array([1.0, np.nan]))
    found = Spreads("encoder.layers.*.x", "linear", 1.0, np.linspace(-1, 1, BINS + 1), {"a": spread}, ())
    (trace,) = distributions.ridges_figure(found, {"a": "#0072B2"}).data
    assert np.isnan(trace.x).sum() == 1


# ---------------------------------------------------------------- both blocks


def test_the_stages_are_in_the_order_in_which_the_model_computes_them() -> None:
    for pre, cross in ((False, False), (True, False), (False, True), (True, True)):
        config = replace(PRESETS["000"].config, norm="pre" if pre else "post")
        capture = run(config, ["a"], ["b"], device="cpu")
        start = "decoder.layers.0." if cross else "encoder.layers.0."
        recorded = [n.removeprefix(start) for n in capture if n.startswith(start)]
        order = block_drawing.block(pre, cross)[1]
        assert order == [n for n in recorded if n in order]


def test_post_ln_has_its_norms_on_the_residual_path_and_pre_ln_none() -> None:
    for pre in (False, True):
        on_path = [p.label for p in block_drawing.block(pre)[0] if p.kind == "box" and p.residual]
        assert on_path == ([] if pre else ["LayerNorm"] * 2)
        assert all(p.points[0][0] == block_drawing.SPINE for p in block_drawing.block(pre)[0] if p.residual)
        assert sum(p.kind == "box" for p in block_drawing.block(pre)[0]) == 4


def lit_pieces(pre: bool, lit: str) -> tuple[int, int]:
    """How many lines and boxes are lit."""
    colour = block_drawing.path_colours(False)[1]
    svg = block_drawing.block_svg(pre, lit)
    return len(re.findall(rf'fill="none" stroke="{colour}"', svg)), len(re.findall(rf'fill-opacity=".38" stroke="{colour}"', svg))


@pytest.mark.parametrize(
    ("lit", "post", "pre"),
    [
        ("", (0, 0), (0, 0)),
        ("elsewhere", (0, 0), (0, 0)),
        ("post", (5, 2), (0, 0)),
        ("pre", (0, 0), (3, 0)),
        ("resid_mid", (3, 1), (4, 2)),
        ("norm_self_attn.out", (4, 2), (1, 1)),
        ("self_attn.weights", (1, 1), (2, 2)),  # inside the box that it belongs to
        ("ffn.pre_act", (5, 3), (6, 4)),
        ("resid_post", (7, 3), (9, 4)),
    ],
)
def test_what_leads_to_a_stage_is_lit(lit: str, post: tuple[int, int], pre: tuple[int, int]) -> None:
    assert (lit_pieces(False, lit), lit_pieces(True, lit)) == (post, pre)


def test_the_drawings_say_what_they_show() -> None:
    page = block_drawing.blocks_html("resid_mid")
    assert page.count("<img") == 2 and page.count('alt="One layer of') == 2
    assert "path to resid_mid" in page and "LayerNorm(x + f(x))" in page and "x + f(LayerNorm(x))" in page
    assert "path to" not in block_drawing.blocks_html("<b>")
    assert block_drawing.blocks_html("", dark=True) != block_drawing.blocks_html("")


def test_nothing_is_drawn_outside_the_picture() -> None:
    for pre in (False, True):
        pieces, _, height = block_drawing.block(pre, cross=True)
        for p in pieces:
            for x, y in p.points:
                across = block_drawing.BOX / 2 if p.kind == "box" else 0
                assert across <= x <= block_drawing.WIDTH - across and 0 <= y <= height
