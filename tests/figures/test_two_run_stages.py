"""Matrices of two runs hold the runs' own numbers on the places of both; what one run lacks is hatched, never shifted."""

from functools import cache

import numpy as np
import pytest

from tests.model.small import small, unlike_identity
from viz_core.analysis.run_alignment import AlignedRuns, align_runs, divergences, stream_divergences
from viz_core.figures.panels import Panel
from viz_core.figures.two_run_stages import (
    ABSENCE_REASONS,
    aligned_cell,
    divergence_panels,
    log_range,
    row_label,
    run_cell,
    run_stage_panels,
    stage_difference_panels,
)
from viz_core.run import build, run, untrained_tokenizers

WORDS = {"source_vocab_size": 50, "target_vocab_size": 50}
PAIRS = {
    "replaced": ("it was tired", "it was wide", "x y", "x z"),
    "inserted": ("it was tired", "it was very tired", "x y", "x z y"),
    "rtl and emoji": ("שלום 👩‍👩‍👧 <b>عالم</b>", "שלום $x$ 👩‍👩‍👧 <b>عالم</b> !", "\u202e a", "a \u202e a"),
}
each = pytest.mark.parametrize("pair", PAIRS)


@cache
def both(pair: str, **switches: object) -> AlignedRuns:
    one, other, *targets = PAIRS[pair]
    config = small(**WORDS, **switches)
    model = unlike_identity(build(config))
    return align_runs(*(run(config, [s], [t], weights=model) for s, t in zip((one, other), targets, strict=True)))


def matrix(x: np.ndarray, head: int) -> np.ndarray:
    """The last two axes of one sentence, a row for a vector."""
    while x.ndim > 2:
        x = x[head if len(x) > head else 0]
    return np.atleast_2d(x)


def named(pair: AlignedRuns) -> tuple[dict, dict]:
    return untrained_tokenizers(pair.a.config), untrained_tokenizers(pair.b.config)


@each
def test_every_stage_of_each_run_stands_on_the_places_of_both(pair: str) -> None:
    found = both(pair)
    for name in found.comparable_stages:
        if name == "loss":
            continue
        for which in (0, 1):
            shown = run_stage_panels(found, name, which, 1, named(found))[-1]
            expected = matrix(found.values(name)[which], 1)
            there = np.zeros(expected.shape, bool) if shown.absent is None else shown.absent > 0
            np.testing.assert_array_equal(shown.values, expected.astype(np.float32), err_msg=name)
            assert (there == np.isnan(expected)).all(), name
            assert shown.absent is None or set(np.unique(shown.absent)) <= {0, which + 1}
            assert (len(shown.rows), len(shown.cols)) == shown.values.shape


@each
def test_a_difference_is_that_of_numpy_and_zero_centred(pair: str) -> None:
    found = both(pair)
    for name in found.comparable_stages:
        first, second, last = stage_difference_panels(found, name, 1, named(found))
        assert (first.low, first.high) == (second.low, second.high), "A and B have one scale"
        assert [p.role for p in (first, second, last)] == ["input", "input", "output"]
        there = np.ones(last.values.shape, bool) if last.absent is None else last.absent == 0
        a, b = first.values[there], second.values[there]
        if found.b.stage(name).kind in ("ids", "mask"):
            assert last.kind == "mask" and (last.values[there] == (a != b)).all()
        else:
            assert last.kind == "signed" and last.low == -last.high
            np.testing.assert_allclose(last.values[there], a.astype(float) - b, atol=2e-6 * max(1.0, float(np.abs(a).max())))


def test_labels_say_both_tokens_and_what_is_missing() -> None:
    shown = run_stage_panels(both("inserted"), "encoder.embed", 0, 0, named(both("inserted")))[-1]
    assert shown.rows == ("it", "was", "– | very", "tired") and shown.absent is not None
    assert shown.absence_reasons[shown.absent[2, 0] - 1] == ABSENCE_REASONS[0]
    assert str(ABSENCE_REASONS[0].cell) == "A has no such token"
    replaced = run_stage_panels(both("replaced"), "encoder.embed", 0, 0, named(both("replaced")))[-1]
    assert replaced.rows == ("it", "was", "tired | wide") and replaced.absent is None


def test_a_score_that_one_mask_overwrote_has_no_difference_and_a_weight_has() -> None:
    texts = (["it was"], ["x y"])
    free, causal = (run(small(**WORDS, causal=on), *texts, weights=None) for on in (False, True))
    found = align_runs(free, causal)
    scores, weights = (stage_difference_panels(found, f"decoder.layers.0.self_attn.{leaf}", 0, named(found))[-1]
                       for leaf in ("masked_scores", "weights"))
    assert scores.absent is not None and str(scores.absence_reasons[scores.absent[0, 2] - 1].cell) == "masked in B"
    assert np.isfinite(scores.values[scores.absent == 0]).all() and scores.high < 1e3
    assert weights.absent is None
    np.testing.assert_allclose(weights.values[0, 2], free["decoder.layers.0.self_attn.weights"][0, 0, 0, 2], rtol=1e-6)


@each
def test_a_cell_leads_to_its_place_and_back(pair: str) -> None:
    found, name = both(pair), "decoder.layers.0.cross_attn.weights"
    for which in (0, 1):
        shown = run_stage_panels(found, name, which, 0, named(found))[-1]
        for row, col in np.ndindex(*shown.values.shape):
            cell = run_cell(found, name, shown, row, col, which)
            assert (cell is None) == bool(shown.absent is not None and shown.absent[row, col])
            if cell is not None:
                own = (found.a, found.b)[which][name][0, 0][cell]
                assert shown.values[row, col] == own and aligned_cell(found, name, shown, *cell, which) == (row, col)


def test_a_run_of_another_width_is_drawn_without_the_other() -> None:
    one, other = (run(small(**WORDS, **s), ["a b"], ["x"]) for s in ({}, {"n_heads": 4}))
    found = align_runs(one, other)
    panels = run_stage_panels(found, "encoder.layers.0.self_attn.concat", 0, 3, named(found))  # its input, z, has other widths
    assert panels[0].values.shape[1] != panels[1].values.shape[1] and all(np.isfinite(p.values).all() for p in panels)


# ---------------------------------------------------------------- where do they part?


def drawn(pair: str) -> tuple[list[Panel], list[list[str]], AlignedRuns]:
    found = both(pair)
    return *divergence_panels(found, stream_divergences(divergences(found))), found


@each
def test_distances_are_the_ratio_of_norms(pair: str) -> None:
    panels, names, found = drawn(pair)
    assert [p.title for p in panels] == ["‖A − B‖ / ‖A‖, source", "‖A − B‖ / ‖A‖, target"]
    for shown, rows in zip(panels, names, strict=True):
        assert shown.is_log and list(shown.rows) == [row_label(found.b.stage(name), "") for name in rows]
        for at, name in enumerate(rows):
            a, b = found.values(name)
            expected = np.linalg.norm(a - b, axis=1) / np.linalg.norm(a, axis=1)
            np.testing.assert_allclose(shown.values[at], expected, rtol=1e-5, atol=1e-7, equal_nan=True)
    assert panels[0].low == panels[1].low and panels[0].high == panels[1].high
    assert "logits" in names[1] and not any(name.endswith("resid_pre") for row in names for name in row)


def test_a_gap_is_hatched_at_every_stage() -> None:
    source = drawn("inserted")[0][0]
    assert source.absent is not None and source.absent.tolist() == [[0, 0, 1, 0]] * len(source.rows)


@pytest.mark.parametrize(("shares", "expected"), [
    ([0, 0, np.nan], (0.1, 1.0)), ([0.3, 0.03], (0.01, 0.3)), ([1, 1e-5, np.inf], (1e-3, 1.0)), ([0.5, 0.5], (0.05, 0.5)),
])
def test_colours_reach_from_below_the_smallest_distance(shares: list[float], expected: tuple[float, float]) -> None:
    assert log_range(np.array(shares)) == pytest.approx(expected)


def test_sentences_that_hardly_align_have_no_difference() -> None:
    model = build(small(**WORDS))
    texts = ("it was tired", "the old dog of my neighbour barks")
    found = align_runs(*(run(model.config, [text], ["x y"], weights=model) for text in texts))
    assert found.is_mostly_unpaired("encoder.embed") and not found.is_mostly_unpaired("decoder.embed")
    one, other = stage_difference_panels(found, "encoder.embed", 0)
    assert len(one.values) == 3 and len(other.values) == 7 and (one.low, one.high) == (other.low, other.high)
    assert one.absent is None and len(stage_difference_panels(found, "decoder.embed", 0)) == 3
