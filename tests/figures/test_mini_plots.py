"""The small drawings: read back from the SVG, the dot is where the number is, and the hand turns by the angle."""

import math
import re
from xml.etree import ElementTree

import pytest

from viz_core.figures.mini_plots import HEIGHT, MARGIN, WIDTH, curve, rotation

SVG = "{http://www.w3.org/2000/svg}"


def dot(picture: ElementTree.Element) -> tuple[float, float]:
    found = [c for c in picture.iter(f"{SVG}circle") if c.get("fill") != "none"]
    assert len(found) == 1
    return float(found[0].get("cx") or ""), float(found[0].get("cy") or "")


def line(picture: ElementTree.Element) -> list[tuple[float, float]]:
    (found,) = picture.iter(f"{SVG}polyline")
    return [(float(x), float(y)) for x, y in (point.split(",") for point in (found.get("points") or "").split())]


@pytest.mark.parametrize("place", [0, 7, 20])
def test_the_dot_lies_on_the_curve(place: int) -> None:
    points = [(float(x), math.sin(x / 3)) for x in range(21)]
    picture = ElementTree.fromstring(curve(points, points[place]))
    assert dot(picture) == line(picture)[place]
    assert all(MARGIN <= x <= WIDTH - MARGIN and MARGIN <= y <= HEIGHT - MARGIN for x, y in line(picture))


def test_the_curve_is_to_scale() -> None:
    xs, ys = zip(*line(ElementTree.fromstring(curve([(0.0, 0.0), (1.0, 1.0), (2.0, 4.0)], (0.0, 0.0)))), strict=True)
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1]) and (ys[0] - ys[2]) == pytest.approx(4 * (ys[0] - ys[1]))


def test_zero_is_always_in_view() -> None:
    """A curve that stays above zero still has its ground line, and a flat one does not divide by nothing."""
    for points in ([(3.0, 5.0), (4.0, 6.0)], [(1.0, 0.0), (2.0, 0.0)], [(0.0, -2.0), (0.0, -2.0)]):
        picture = ElementTree.fromstring(curve(points, points[0]))
        ground = float(re.search(r"M0,([\d.]+)H", next(picture.iter(f"{SVG}path")).get("d") or "")[1])  # type: ignore[index]
        assert MARGIN <= ground <= HEIGHT - MARGIN


@pytest.mark.parametrize("angle", [0.0, 0.5, 2.0, -1.0, 7.0])
def test_the_hand_turns_counter_clockwise(angle: float) -> None:
    before = (1.5, -0.5)
    after = tuple(map(float, ((z := complex(*before) * complex(math.cos(angle), math.sin(angle))).real, z.imag)))
    picture = ElementTree.fromstring(rotation(before, (after[0], after[1]), angle))
    x, y = dot(picture)
    shown = math.atan2(HEIGHT / 2 - y, x - HEIGHT / 2)
    assert math.remainder(shown - math.atan2(before[1], before[0]) - angle, 2 * math.pi) == pytest.approx(0, abs=0.01)
    assert math.hypot(x - HEIGHT / 2, y - HEIGHT / 2) == pytest.approx(HEIGHT / 2 - MARGIN, abs=0.1)
    arc = line(picture)
    assert math.atan2(HEIGHT / 2 - arc[-1][1], arc[-1][0] - HEIGHT / 2) == pytest.approx(shown, abs=0.01)


def test_a_pair_of_zeros() -> None:
    assert dot(ElementTree.fromstring(rotation((0.0, 0.0), (0.0, 0.0), 1.0))) == (HEIGHT / 2, HEIGHT / 2)
