"""The two blocks side by side: their stages in order, where the norms stand, and what leads to a stage."""

import re
from dataclasses import replace

import pytest

from viz_core.figures import block_drawing
from viz_core.presets import PRESETS
from viz_core.run import run


def test_the_stages_are_in_the_order_in_which_the_model_computes_them() -> None:
    for pre, cross in ((False, False), (True, False), (False, True), (True, True)):
        config = replace(PRESETS["000"].config, norm="pre" if pre else "post")
        capture = run(config, ["a"], ["b"], device="cpu")
        start = "decoder.layers.0." if cross else "encoder.layers.0."
        recorded = [n.removeprefix(start) for n in capture if n.startswith(start)]
        order = block_drawing.block_pieces(pre, cross)[1]
        assert order == [n for n in recorded if n in order]


def test_post_ln_has_its_norms_on_the_residual_path_and_pre_ln_none() -> None:
    for pre in (False, True):
        on_path = [p.label for p in block_drawing.block_pieces(pre)[0] if p.kind == "box" and p.on_residual_stream]
        assert on_path == ([] if pre else ["LayerNorm"] * 2)
        assert all(p.points[0][0] == block_drawing.STREAM_X for p in block_drawing.block_pieces(pre)[0] if p.on_residual_stream)
        assert sum(p.kind == "box" for p in block_drawing.block_pieces(pre)[0]) == 4


def lit_pieces(pre: bool, lit: str) -> tuple[int, int]:
    """How many lines and boxes are lit."""
    colour = block_drawing.stream_and_path_colours(False)[1]
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
        pieces, _, height = block_drawing.block_pieces(pre, has_cross_attention=True)
        for p in pieces:
            for x, y in p.points:
                across = block_drawing.BOX_WIDTH / 2 if p.kind == "box" else 0
                assert across <= x <= block_drawing.WIDTH - across and 0 <= y <= height
