"""The small pictures of the home page hold the numbers of the run: read back from the image that the browser gets."""

import base64
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from viz_core.figures import theme
from viz_core.figures.thumbnails import HEIGHT, MAX_CELLS, bars, class_matrix, head_mosaic, line, matrix


def data(html: str) -> bytes:
    """The file behind the picture."""
    (src,) = re.findall(r'src="data:image/[^;]+;base64,([^"]+)"', html)
    return base64.b64decode(src)


def pixels(html: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data(html))).convert("RGB"))


def colour(pixel: np.ndarray) -> str:
    return "#" + "".join(f"{channel:02X}" for channel in pixel)


@pytest.mark.parametrize("dark", [False, True])
def test_a_signed_matrix_is_centred_on_zero(dark: bool) -> None:
    palette = [c.upper() for c in theme.diverging(dark)]
    found = pixels(matrix(np.array([[-2.0, 0.0, 2.0], [1.0, np.nan, -1.0]]), "x", signed=True, dark=dark))
    assert found.shape == (2, 3, 3)
    assert [colour(p) for p in found[0]] == [palette[0], palette[len(palette) // 2], palette[-1]]
    assert colour(found[1, 1]) == theme.NON_FINITE_COLOURS["NaN"]


def test_amounts_begin_at_zero() -> None:
    palette = [c.upper() for c in theme.sequential()]
    found = pixels(matrix(np.array([[0.0, 0.5]]), "x"))
    assert [colour(p) for p in found[0]] == [palette[0], palette[-1]]


def test_a_large_matrix_keeps_its_corners() -> None:
    values = np.zeros((3, 10 * MAX_CELLS))
    values[0, 0] = values[-1, -1] = 1
    found = pixels(matrix(values, "x"))
    assert found.shape == (3, MAX_CELLS, 3)
    assert colour(found[0, 0]) == colour(found[-1, -1]) == theme.sequential()[-1].upper() != colour(found[0, -1])


def test_a_mosaic_has_a_row_for_each_layer() -> None:
    tiles = np.zeros((2, 3, 4, 5))
    tiles[1, 2, 3, 4] = 1
    found = pixels(head_mosaic(tiles, "x"))
    assert found.shape == (2 * 5, 3 * 6, 3)
    assert [tuple(i) for i in np.argwhere((found == found[8, 16]).all(axis=2))] == [(8, 16)]


def test_classes_have_the_colours_of_the_masks() -> None:
    found = pixels(class_matrix(np.array([[0, 1], [2, 0]]), "x"))
    assert [colour(found[0, 1]), colour(found[1, 0])] == [theme.CLASS_STYLES[i]["fill"].upper() for i in (1, 2)]


def test_a_line_and_bars_have_the_values_as_heights() -> None:
    (drawn,) = ElementTree.fromstring(data(line([1.0, np.nan, 4.0], "x")))
    ys = [float(point.split(",")[1]) for point in drawn.attrib["points"].split()]
    assert [(HEIGHT - 6 - y) / (HEIGHT - 12) for y in ys] == pytest.approx([0.25, 1.0])
    heights = [float(bar.attrib["height"]) for bar in ElementTree.fromstring(data(bars([2, 1, 0], "x")))]
    assert heights == pytest.approx([HEIGHT - 12, (HEIGHT - 12) / 2, 0], abs=0.1)


def test_the_alternative_is_text() -> None:
    assert 'alt="&lt;b&gt; &quot;x&quot;"' in matrix(np.ones((1, 1)), '<b> "x"')
