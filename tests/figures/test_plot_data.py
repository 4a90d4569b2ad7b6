"""The numbers of pictures as tables: read back from CSV by pandas, they are the numbers that are drawn."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from tests.model.small import SMALL
from viz_core.analysis.attention import weight_arithmetic
from viz_core.analysis.cell_explanation import explain_cell
from viz_core.analysis.labelled_weights import AllHeads
from viz_core.capture.tidy import csv_bytes
from viz_core.figures import plot_data
from viz_core.figures.batchnorm import NormGroup
from viz_core.figures.clock import sinusoidal_clocks
from viz_core.figures.curves import ChartSeries, CurveChart, ReferenceLine
from viz_core.figures.panels import AbsenceReason, panel
from viz_core.run import build, parameter_reader, prepare, trace

ODD = ("<s>", "$x$", "=1+1", "שלום", "🎉", "the", "the")


def reread(frame: pd.DataFrame) -> pd.DataFrame:
    """Through a CSV file, as pandas reads it."""
    return pd.read_csv(io.BytesIO(csv_bytes(frame)), keep_default_na=False, na_values={"value": [""], "x": [""]})


def unquoted(words: "pd.Series[str]") -> list[str]:
    """Without the apostrophe that keeps a spreadsheet from computing a text."""
    return [word[1:] if word.startswith("'") else word for word in words]


def test_a_matrix_is_a_row_a_cell_with_its_labels_and_reasons() -> None:
    values = np.random.default_rng(0).normal(size=(7, 7)).astype(np.float32)
    masked, absent = np.zeros((7, 7), bool), np.zeros((7, 7), np.uint8)
    masked[1, 2], absent[3, 4] = True, 1
    shown = panel("w", values, ODD, ODD, row_axis="T", col_axis="S", masked=masked, absent=absent,
                  absence_reasons=[AbsenceReason("gone", "A has no such token")])
    read = reread(plot_data.panels([shown, shown]))
    assert len(read) == 98
    first = read[:49]
    np.testing.assert_array_equal(first["value"].to_numpy(np.float32).reshape(7, 7), values)
    assert unquoted(first["row_label"])[::7] == list(ODD) and unquoted(first["column_label"])[:7] == list(ODD)
    assert list(first["row_label"])[14] == "'=1+1"  # no formula
    assert first.index[first["masked"]].tolist() == [9]
    assert first.loc[first["missing"] != "", "missing"].to_dict() == {25: "A has no such token"}


def test_classes_are_named() -> None:
    shown = panel("m", np.array([[0, 1]]), row_axis="T", col_axis="S", kind="classes", class_names=("seen", "future"))
    assert list(plot_data.panels([shown])["means"]) == ["seen", "future"]


def test_the_points_of_a_plotly_figure() -> None:
    figure = go.Figure([
        go.Scatter(x=[1.5, 2.5], y=[3, 4], name="=a"), go.Bar(y=[7.25], text=["<b>"]),
        go.Heatmap(z=[[1, 2], [3, 4]], x=["p", "q"], y=["r", "s"]),
    ])
    read = reread(plot_data.figure(figure))
    assert list(read["trace"]) == ["'=a", "'=a", "1", *["2"] * 4]
    assert list(read["y"]) == ["3", "4", "7.25", "r", "r", "s", "s"] and list(read["z"][3:]) == ["1.0", "2.0", "3.0", "4.0"]
    assert list(plot_data.figure(go.Figure()).columns) == []


def test_the_points_of_a_light_chart_and_its_levels() -> None:
    x = np.array([0.1, 1 / 3])
    chart = CurveChart(
        "t", "x", "y", (ChartSeries("a", x, x**2, "#000", "line"),), (0, 1), levels=(ReferenceLine(0.5, "half", "#111"),)
    )
    read = reread(plot_data.curves(chart))
    np.testing.assert_array_equal(read["x"][:2].astype(float), x)
    np.testing.assert_array_equal(read["y"], [*(x**2), 0.5])
    assert list(read["series"]) == ["a", "a", "half"]


def test_lines_have_every_head_query_and_key() -> None:
    weights = np.random.default_rng(1).random((2, 3, 4), dtype=np.float32)
    read = reread(plot_data.lines(weights, ODD[:3], ODD[3:]))
    np.testing.assert_array_equal(read["weight"].to_numpy(np.float32).reshape(2, 3, 4), weights)
    assert unquoted(read["key_label"])[:4] == list(ODD[3:]) and list(read["head"][::12]) == [0, 1]


def test_all_heads_are_a_row_a_weight() -> None:
    weights = np.random.default_rng(2).random((2, 3, 2, 4), dtype=np.float32)
    blocked, gaps = np.array([[False] * 4, [True, False, False, True]]), np.array([[True] + [False] * 3, [True] + [False] * 3])
    one = AllHeads("encoder", weights, blocked, ODD[:2], ODD[2:6])
    apart = replace(one, kind="cross", weights=np.where(gaps, np.nan, weights), run_label="A − B", gaps=gaps, is_relative=True)
    read = reread(plot_data.head_weights([one, one]))
    assert len(read) == 96 and list(read.columns)[:3] == ["attention", "layer", "head"]
    np.testing.assert_array_equal(read["weight"][:48].to_numpy(np.float32).reshape(2, 3, 2, 4), weights)
    assert unquoted(read["key_label"])[:4] == list(ODD[2:6]) and unquoted(read["query_label"])[:8:4] == list(ODD[:2])
    assert list(read["layer"][:48:24]) == [0, 1] and list(read["head"][:24:8]) == [0, 1, 2]
    assert read.index[read["masked"]].tolist()[:4] == [4, 7, 12, 15]
    found = plot_data.head_weights([apart])
    assert set(found["run"]) == {"A − B"} and found["relative"].isna().tolist() == found["missing"].tolist()


@pytest.mark.parametrize("k", [0, 3])
def test_hands_point_at_the_waves(k: int) -> None:
    from viz_core.analysis.positions import sinusoidal_table

    found = plot_data.clocks(sinusoidal_clocks(20, 8, 10000.0, k), 5)
    now = found[found["position"] == 5]
    np.testing.assert_allclose(np.ravel(now[["sin", "cos"]]), sinusoidal_table(6, 8, 10000.0)[5], atol=1e-12)
    assert len(found) == 4 * (1 + (k > 0))


# ---------------------------------------------------------------- pictures that are HTML


def test_the_numbers_of_one_weight_lead_to_it() -> None:
    model = build(SMALL, 0)
    capture = trace(model, prepare(SMALL, ["the cat sat"], ["猫 坐 了"]))
    steps = weight_arithmetic(capture, "cross", 0, 1, 0, 1, 2)
    products, way = plot_data.features(steps.products), plot_data.attention_steps(steps).set_index("step")["value"]
    assert products["value"].sum() == pytest.approx(way["raw"]) and products["feature"].tolist() == list(range(len(products)))
    assert way["scaled"] == pytest.approx(way["raw"] / way["root"]) and np.isnan(way["bias"])
    assert way["recorded"] == capture["decoder.layers.0.cross_attn.weights"][0, 1, 1, 2]
    keys = ["=1", "the", "the"]
    found = plot_data.contributions(keys, np.array([0.5, 0.25, 0.25]), np.array([1.0, 3.0, 2.0]))
    assert found["key_token"].tolist() == keys and found.loc[found["length"].idxmax(), "key"] == 1


def test_the_arithmetic_of_a_cell_ends_at_the_cell() -> None:
    model = build(SMALL, 0)
    capture = trace(model, prepare(SMALL, ["the cat sat"], ["猫 坐 了"]))
    cell = explain_cell(capture, "decoder.layers.0.cross_attn.raw_scores", (0, 1, 1, 2), parameter_reader(model))
    found = plot_data.arithmetic(cell)
    assert found.iloc[-1]["role"] == "result" and found.iloc[-1]["value"] == pytest.approx(cell.value, abs=1e-5)
    named = found[found["stage"] != ""]
    assert len(named) >= 2 * SMALL.d_k
    for stage, index, value in zip(named["stage"], named["index"], named["value"], strict=True):
        assert capture[stage][tuple(map(int, index.split()))] == np.float32(value)


def test_the_cells_that_share_a_mean_are_counted() -> None:
    cells, words = np.zeros((2, 2, 3), bool), np.array([[True, True], [True, False]])
    cells[0, 1] = True
    found = plot_data.norm_members(
        [NormGroup("layer", cells, ""), NormGroup("batch", ~cells, "")], words, [["a", "=b"], ["the", "<pad>"]]
    )
    own = found[(found["norm"] == "layer") & found["shares_mean"]]
    assert len(found) == 24 and own["token"].tolist() == ["=b"] * 3 and own["feature"].tolist() == [0, 1, 2]
    assert set(found[found["padding"]]["token"]) == {"<pad>"}


def test_the_blocks_are_in_the_order_of_computation() -> None:
    found = plot_data.blocks("resid_mid")
    order = {name: part["stage"].tolist() for name, part in found.groupby("block")}
    assert order["Post-LN"] == ["self_attn.out", "resid_mid", "norm_self_attn.out", "ffn.out", "resid_post", "norm_ffn.out"]
    assert order["Pre-LN"] == ["norm_self_attn.out", "self_attn.out", "resid_mid", "norm_ffn.out", "ffn.out", "resid_post"]
    norms = found[found["box"] == "LayerNorm"]
    assert norms[norms["on_stream"]]["block"].unique().tolist() == ["Post-LN"]  # in Pre-LN they are beside it
    assert found[found["lit"]].groupby("block").size().tolist() == [2, 3]
