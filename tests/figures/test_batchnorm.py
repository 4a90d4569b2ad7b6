"""What LayerNorm and BatchNorm normalise together, drawn: which cells, which colours, and what is cut."""

import re

import numpy as np

from viz_core.analysis.layernorm import CellIndex, group_members
from viz_core.figures import batchnorm, theme
from viz_core.figures import layernorm as F

WORDS = np.array([[True, True, True], [True, False, False]])
TOKENS = [["<b>the</b>", "cat", "sat"], ["dog", "<pad>", "<pad>"]]
AT = CellIndex(0, 1, 2)


def looks(page: str) -> list[list[str]]:
    """The look of each cell, block by block: "picked", "member" or "other", and "/" where it is hatched."""
    names = {F.POSITIVE_COLOUR: "picked", theme.MASK_COLOURS[1]: "member", theme.MASK_COLOURS[0]: "other"}
    found = []
    for part in page.split('role="img"')[1:]:
        block = re.split("</figure>", part)[0]
        cells = re.findall('<div style="background:([^"]*)"', block)
        found.append([next(n for c, n in names.items() if c in cell) + "/" * ("gradient" in cell) for cell in cells])
    return found


def drawn(norm: str, shape: tuple[int, int, int] = (2, 3, 4), at: CellIndex = AT) -> str:
    words = np.resize(WORDS, shape[:2])
    tokens = [["t"] * shape[1]] * shape[0] if shape[:2] != (2, 3) else TOKENS
    cells = group_members(norm, shape, at, np.ones(shape[:2], bool))  # type: ignore[arg-type]
    return batchnorm.norm_cells_html([batchnorm.NormGroup(norm, cells, "told")], words, tokens, at)  # type: ignore[arg-type]


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
    page = drawn("batch", (9, 40, 100), CellIndex(5, 39, 50))
    blocks = looks(page)
    assert len(blocks) == batchnorm.MAX_SENTENCES
    assert all(len(b) == batchnorm.MAX_TOKENS * batchnorm.MAX_FEATURES for b in blocks)
    assert sum(cell.startswith("picked") for b in blocks for cell in b) == 1
    assert "sentences 5 to 7 of 9, tokens 32 to 39 of 40, features 45 to 54 of 100" in page
    assert "40 of its 4,000 cells share the mean" in page  # of the whole sentence, not of what is drawn
    assert "Drawn:" not in drawn("layer")


def test_what_each_norm_gives_has_one_colour_range() -> None:
    last = np.array([[-2.0] * 4, [1.0, np.inf, np.nan, 0.0]])
    results = {"layer": np.full((2, 4), 1.0), "batch": last}
    before, a, b = batchnorm.norm_result_panels("in", np.full((2, 4), 9.0), results, ["x", "<pad>"])
    assert [p.title for p in (before, a, b)] == ["Input: in", "After LayerNorm", "After BatchNorm"]
    assert (before.low, before.high) == (-9, 9) and (a.low, a.high) == (b.low, b.high) == (-2, 2)
    assert b.rows == ("x", "<pad>") and b.masked is None  # padding is counted, so it is shown
    np.testing.assert_array_equal(b.values, last)
