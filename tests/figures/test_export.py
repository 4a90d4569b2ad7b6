"""Files to take away: read again by an XML parser, they hold what was shown."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from viz_core.figures import theme
from viz_core.figures.export import MOST_CELLS, MOST_LINES, lines_svg, panel_svg
from viz_core.figures.panels import panel

TOKENS = ("<s>", "$x$", "<b>", "the", "the", "a,b", '"', "&amp;", "=1+1", "猫")
SVG = "{http://www.w3.org/2000/svg}"


def weights(heads: int, n: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(n), size=(heads, n)).astype(np.float32)


def texts(svg: str) -> list[str]:
    return [x.text or "" for x in ET.fromstring(svg).iter(f"{SVG}text")]


def test_a_matrix_reads_as_typed_and_is_coloured_by_value() -> None:
    x, hidden = weights(1, 10)[0], np.triu(np.ones((10, 10), bool), 5)
    most = float(x[~hidden].max())
    shown = panel("w", x, TOKENS, TOKENS, row_axis="T · <query>", col_axis="S", kind="probability", low=0, high=most, masked=hidden)
    svg = panel_svg(shown, "Head <0>")
    found = texts(svg)
    assert found[0] == "Head <0>" and "T · <query>" in found
    assert [t for t in found if t in TOKENS] == [*TOKENS, *TOKENS]
    cells = [r for r in ET.fromstring(svg).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    fills = np.array([r.get("fill") for r in cells]).reshape(10, 10)
    assert ((fills == "url(#masked)") == hidden).all()
    assert fills[x == most] == theme.SEQUENTIAL[-1]
    dark = [sum(int(f[i : i + 2], 16) for i in (1, 3, 5)) for f in fills[~hidden]]
    order = np.argsort(x[~hidden], kind="stable")
    assert all(b <= a + 1 for a, b in zip(np.array(dark)[order], np.array(dark)[order][1:], strict=False))  # more is darker
    said = cells[13].find(f"{SVG}title")
    assert said is not None and said.text == f"$x$ → the: {float(x[1, 3]):.6g}"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_has_its_own_colour(bad: float) -> None:
    shown = panel("w", [[bad, 1.0]], row_axis="T", col_axis="S")
    name = "NaN" if np.isnan(bad) else "+∞" if bad > 0 else "−∞"
    assert f'fill="{theme.SPECIAL[name]}"' in panel_svg(shown, "x")


def test_a_large_matrix_is_pooled_and_says_so() -> None:
    n = MOST_CELLS * 2
    svg = panel_svg(panel("w", weights(1, n)[0], row_axis="T", col_axis="S", kind="probability"), "x")
    assert sum(r.find(f"{SVG}title") is not None for r in ET.fromstring(svg).iter(f"{SVG}rect")) == MOST_CELLS**2
    assert any(t.startswith("pooled 2×2, 0 to") for t in texts(svg))


def test_lines_are_as_strong_as_the_weights() -> None:
    w = weights(3, 10)
    svg = lines_svg(w, TOKENS, TOKENS, (0, 2), "Cross, layer 1")
    assert [t for t in texts(svg) if t in TOKENS] == [*TOKENS, *TOKENS] and {"head 0", "head 2"} <= set(texts(svg))
    paths = [p for p in ET.fromstring(svg).iter(f"{SVG}path") if p.get("stroke-opacity")]
    shown = w[[0, 2]]
    kept = shown > 0.004 * shown.max()
    assert len(paths) == kept.sum()
    np.testing.assert_allclose([float(p.get("stroke-opacity", "")) for p in paths], (shown / shown.max())[kept], atol=6e-4)
    assert {p.get("stroke") for p in paths} == {theme.head_colour(0), theme.head_colour(2)}


def test_what_stands_over_the_lines_has_room_beside_short_tokens() -> None:
    root = ET.fromstring(lines_svg(weights(1, 2), ("a", "b"), ("c", "d"), (0,), "x"))
    found = {t.text: float(t.get("x", "")) for t in root.iter(f"{SVG}text")}
    assert found["queries"] > 7 * len("queries")  # it ends there
    assert found["keys"] + 7 * len("keys") < float(root.get("width", ""))


def test_of_too_many_lines_the_strongest_are_drawn() -> None:
    w = weights(1, 100)
    svg = lines_svg(w, ["a"] * 100, ["b"] * 100, (0,), "x")
    drawn = [float(p.get("stroke-opacity", "")) for p in ET.fromstring(svg).iter(f"{SVG}path") if p.get("stroke-opacity")]
    assert len(drawn) == MOST_LINES and f"the {MOST_LINES:,} strongest lines" in texts(svg)
    np.testing.assert_allclose(sorted(drawn), np.sort(w.ravel())[-MOST_LINES:] / w.max(), atol=6e-4)
