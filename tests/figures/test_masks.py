"""Masks as pictures: what is drawn is what was recorded, in looks that differ by more than colour."""

import json
import struct

import numpy as np
import pytest

from viz_core.analysis.masks import blocking_reasons, compare_masks
from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.figures import theme
from viz_core.figures.masks import (
    AGREEMENT_TITLES,
    REASON_TITLES,
    agreement_panel,
    all_token_leak_panels,
    block_reason_panel,
    convention_panels,
    empty_row_norm_panels,
    future_weight_panel,
    implementation_panels,
    mask_part_panels,
    token_leak_panel,
)
from viz_core.figures.panels import pack_panels, panel
from viz_core.run import run

CONFIG = TransformerConfig(d_model=8, n_heads=2, source_vocab_size=60, target_vocab_size=60, mask_padded_queries=True)


@pytest.fixture(scope="module")
def capture() -> Capture:
    return run(CONFIG, ["<b>a</b> $x$", "the cat sat on the mat"], ["猫", "狗 坐 了"], seed=1, device="cpu")


def test_every_cell_is_drawn_with_its_reason(capture: Capture) -> None:
    drawn = block_reason_panel(capture, "decoder", 0, "Mask")
    np.testing.assert_array_equal(drawn.values, blocking_reasons(capture, "decoder", 0))
    assert drawn.rows == drawn.cols == ("<bos>", "猫", "<pad>", "<pad>")
    assert (drawn.kind, drawn.class_names, drawn.low, drawn.high) == ("classes", tuple(map(str, REASON_TITLES.values())), 0, 3)
    assert drawn.row_axis == "T · query: target token" and drawn.col_axis == "S · key: target token"
    cross = block_reason_panel(capture, "cross", 0, "Mask")
    assert cross.cols == tuple(capture.tokens("source")[0]) and cross.cols[0] == "<" and "$" in cross.cols  # as typed
    assert (cross.rows, cross.col_axis) == (drawn.rows, "S · key: source token")


def test_cells_that_two_masks_block_are_masked_and_those_that_differ_have_looks(capture: Capture) -> None:
    a, b = (block_reason_panel(capture, kind, 0, "Mask") for kind in ("decoder", "decoder"))
    free = np.ones_like(a.values, dtype=bool)
    cells = compare_masks(a.values == 0, free)
    drawn = agreement_panel(a, b, cells)
    np.testing.assert_array_equal(drawn.values, np.where(a.values == 0, 0, 2))
    assert drawn.kind == "classes" and drawn.class_names == tuple(map(str, AGREEMENT_TITLES)) and not drawn.masked.any()
    same = agreement_panel(a, b, compare_masks(a.values == 0, a.values == 0))
    np.testing.assert_array_equal(same.masked, a.values != 0)
    assert same.masked_label == "blocked in both" and same.rows == a.rows


def test_the_browser_gets_the_names_and_a_look_for_each(capture: Capture) -> None:
    data = pack_panels([block_reason_panel(capture, "encoder", 0, "Mask"), panel("x", [[1.0]], row_axis="", col_axis="")])
    (size,) = struct.unpack_from("<I", data)
    first, second = json.loads(data[4 : 4 + size])["panels"]
    assert first["names"] == list(map(str, REASON_TITLES.values())) and second["names"] == []
    for looks in (theme.CLASS_STYLES, theme.CLASS_STYLES_DARK):
        assert len(looks) == len(REASON_TITLES) and len({look["mark"] for look in looks}) == len(looks)
        assert [bool(look["line"]) for look in looks] == [False, True, True, True]


@pytest.mark.parametrize("looks", [theme.CLASS_STYLES, theme.CLASS_STYLES_DARK], ids=["light", "dark"])
def test_marks_can_be_seen_on_their_fills(looks: tuple[dict[str, str], ...]) -> None:
    def luminance(colour: str) -> float:
        x = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
        return float(np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    for look in looks[1:]:
        assert contrast(look["fill"], look["line"]) > 4
        assert contrast(look["fill"], looks[0]["fill"]) > 4  # open and closed


def test_the_parts_keep_their_shapes_and_their_and_comes_last(capture: Capture) -> None:
    keys, queries, causal, used = mask_part_panels(capture, "decoder", 0)
    assert (keys.values.shape, queries.values.shape, causal.values.shape) == ((1, 4), (4, 1), (4, 4))
    np.testing.assert_array_equal(keys.values * queries.values * causal.values, used.values)
    np.testing.assert_array_equal(used.values, capture["masks.target"][0, 0])
    assert [p.role for p in (keys, queries, causal, used)] == ["input"] * 3 + ["output"]
    keys, queries, used = mask_part_panels(capture, "cross", 0)
    assert keys.cols == tuple(capture.tokens("source")[0]) and queries.rows == tuple(capture.tokens("target")[0])
    open_config = TransformerConfig(d_model=8, n_heads=2, mask_source_padding=False)
    (everything,) = mask_part_panels(run(open_config, ["a b"], ["c"], device="cpu"), "encoder", 0)
    assert everything.values.all() and "every cell is allowed" in everything.title


def test_three_conventions_of_one_mask(capture: Capture) -> None:
    may, blocked, added = convention_panels(capture, "decoder", 1)
    mask = capture["masks.target"][1, 0]
    np.testing.assert_array_equal(may.values, mask)
    np.testing.assert_array_equal(blocked.values, ~mask)
    np.testing.assert_array_equal(added.values, np.where(mask, 0, -np.inf))


def test_experiments_are_drawn_as_they_came_out(capture: Capture) -> None:
    on, off = np.array([0, 0, 2.5], np.float32), np.array([1, 0.5, np.nan], np.float32)
    moved = token_leak_panel(on, off, ("a", "b", "c"), "“b” (1)")
    np.testing.assert_array_equal(moved.values, [on, off])
    assert moved.rows == ("causal mask on", "causal mask off") and "“b” (1)" in moved.title
    first, second = all_token_leak_panels(np.diag(on), np.diag(off), ("a", "b", "c"))
    assert first.high == second.high == 2.5 and first.title == "Causal mask on"
    np.testing.assert_array_equal(second.values, np.diag(off))
    drawn = implementation_panels(capture, "decoder", 0, [("one", np.full((2, 2), np.nan)), ("two", np.eye(2))])
    assert [(p.low, p.high, p.rows) for p in drawn] == [(0, 1, ("<bos>", "猫"))] * 2 and np.isnan(drawn[0].values).all()
    lengths = empty_row_norm_panels((None, 0), np.array([[1, 4], [np.nan, 2]]), np.ones((2, 2)), "xy")
    assert lengths[1].rows == ("embedding", "after layer 0") and "zeros" in lengths[1].title
    assert [p.high for p in lengths] == [4, 4] and np.isnan(lengths[0].values[1, 0])
    np.testing.assert_array_equal(future_weight_panel(np.array([0, 0.5]), "share").values, [[0, 0.5]])
