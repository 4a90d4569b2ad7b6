"""The charts of costs hold the numbers of the stage costs, under titles that say what they show."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from viz_core.analysis import stage_costs as costs
from viz_core.analysis.stage_costs import PART_OF_CLASS, TOKEN_PAIRS
from viz_core.config import TransformerConfig
from viz_core.figures import plot_data as tables
from viz_core.figures import shapes, theme
from viz_core.presets import PRESETS

CONFIG = PRESETS["000"].config
LENGTHS = [2**i for i in range(12)]
BLOCKS = {
    "encoder_embedding": {"embedding": 30},
    "encoder_layers_0_1": {"attention": 40, "layer_norm": 10},
    "output": {"output": 20},
}


def named(figure: go.Figure) -> dict[str, go.Bar | go.Scatter]:
    return {trace.name: trace for trace in figure.data}


# ---------------------------------------------------------------- by block


def test_bars_are_the_amounts_stacked_by_part() -> None:
    figure = shapes.block_cost_figure(BLOCKS, "Parameters by block", "parameters")
    bars = {name: list(trace.x) for name, trace in named(figure).items() if trace.type == "bar"}
    assert bars == {"embedding": [30, 0, 0], "attention": [0, 40, 0], "norms": [0, 10, 0], "output": [0, 0, 20]}
    assert figure.layout.barmode == "stack"
    rows = tables.figure(figure)
    assert rows[rows.trace == "attention"].text.tolist() == ["Encoder embedding", "Encoder layers 0–1", "Output"]
    assert list(figure.layout.yaxis.ticktext) == ["Encoder embedding", "Encoder layers 0–1", "Output"]
    assert list(figure.layout.yaxis.range) == [2.5, -0.5]  # the model's order from the top
    assert [trace.marker.color for trace in figure.data if trace.type == "bar"] == [
        theme.PART_COLOURS[p] for p in ("embedding", "attention", "layer_norm", "output")
    ]


def test_shares_stand_at_the_ends_of_the_bars() -> None:
    (ends,) = [trace for trace in shapes.block_cost_figure(BLOCKS, "", "").data if trace.type == "scatter"]
    assert list(ends.x) == [30, 50, 20] and list(ends.text) == [" 30.0%", " 50.0%", " 20.0%"]


def test_titles_of_the_bars() -> None:
    layout = shapes.block_cost_figure(BLOCKS, "FLOPs by block", "FLOPs").layout
    assert layout.title.text == "FLOPs by block" and layout.xaxis.title.text == "FLOPs, 100 in total"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("amount", ["parameters", "flops", "nbytes"])
def test_every_part_has_a_colour_of_its_own(preset: str, amount: costs.Amount) -> None:
    lines = costs.stage_costs(PRESETS[preset].config, 1, 6, 5)
    figure = shapes.block_cost_figure(costs.amounts_by_block(lines, amount), "", "")
    drawn = sum(sum(trace.x) for trace in figure.data if trace.type == "bar")
    assert drawn == costs.total_amount(lines, amount)


def test_the_theme_knows_every_part() -> None:
    assert set(theme.PART_COLOURS) == {*PART_OF_CLASS.values(), "input", "layer_norm", TOKEN_PAIRS} == set(shapes.PART_TITLES)
    assert len(set(theme.PART_COLOURS.values())) == len(theme.PART_COLOURS)


def test_a_model_without_cost_has_no_bars() -> None:
    assert len(shapes.block_cost_figure({}, "FLOPs by block", "FLOPs").data) == 1


# ---------------------------------------------------------------- growth


@pytest.mark.parametrize("amount", ["flops", "nbytes"])
def test_curves_are_the_growth_on_logarithmic_axes(amount: costs.Amount) -> None:
    found = costs.cost_growth(CONFIG, LENGTHS, amount)
    figure = shapes.cost_growth_figure(found, "FLOPs against tokens", "FLOPs", current_length=6)
    curves = [trace for trace in figure.data if trace.mode == "lines"]
    for trace, expected in zip(curves, (found.quadratic, found.linear, found.rnn), strict=True):
        assert np.array_equal(trace.x, LENGTHS) and np.array_equal(trace.y, expected)
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.title.text == "FLOPs against tokens" and figure.layout.yaxis.title.text == "FLOPs"
    assert figure.layout.xaxis.title.text == "N, tokens per side"


def test_the_crossing_lies_on_both_curves() -> None:
    found = costs.cost_growth(CONFIG, LENGTHS)
    drawn = named(shapes.cost_growth_figure(found, "", ""))
    mark, label = drawn["crossing"], drawn["equal"]
    (n,), (cost,) = mark.x, mark.y
    at = costs.cost_growth(CONFIG, [n])
    assert cost == pytest.approx(at.quadratic[0]) == pytest.approx(at.linear[0])
    assert label.text[1] == f" equal at N = {n:,.0f} " and list(label.x) == [n, n]
    assert label.y[0] == cost and label.y[1] <= min(found.quadratic.min(), found.linear.min(), found.rnn.min())  # below all curves


@pytest.mark.parametrize("change", [{"n_encoder_layers": 0, "n_decoder_layers": 0}, {"d_ff": 100_000}])
def test_a_crossing_out_of_sight_is_not_marked(change: dict[str, int]) -> None:
    found = costs.cost_growth(replace(TransformerConfig(), **change), LENGTHS)
    assert "crossing" not in named(shapes.cost_growth_figure(found, "", ""))


def test_the_length_of_this_run_is_marked() -> None:
    found = costs.cost_growth(CONFIG, LENGTHS)
    line = named(shapes.cost_growth_figure(found, "", "", current_length=6))["this run"]
    assert list(line.x) == [6, 6] and line.text[1].strip() == "this run: N = 6" and line.textposition == "middle right"
    far = named(shapes.cost_growth_figure(found, "", "", current_length=int(found.lengths[-1])))["this run"]
    assert far.textposition == "middle left"  # at the right end the number would be cut off
    everything = np.concatenate([found.quadratic, found.linear, found.rnn])
    assert list(line.y) == [everything.min(), everything.max()]
    assert "this run" not in named(shapes.cost_growth_figure(found, "", ""))


def test_the_input_is_left_as_it_was() -> None:
    found, blocks = costs.cost_growth(CONFIG, LENGTHS), {name: dict(parts) for name, parts in BLOCKS.items()}
    before = [x.copy() for x in (found.lengths, found.quadratic, found.linear, found.rnn)]
    shapes.cost_growth_figure(found, "", "", current_length=3)
    shapes.block_cost_figure(blocks, "", "")
    assert blocks == BLOCKS
    assert all(np.array_equal(x, y) for x, y in zip(before, (found.lengths, found.quadratic, found.linear, found.rnn), strict=True))
