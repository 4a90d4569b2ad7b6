"""What the browser is sent of a chart is the chart."""

import json

import numpy as np
import pytest

from viz_core.figures.curves import ChartSeries, CurveChart, ReferenceLine, pack_curves, padded_range


def chart(y: float = 1.0, name: str = "a") -> CurveChart:
    one = ChartSeries(name, np.array([0, 1, 2]), np.array([y, 0.1, -1e-7]), "#000000", "disc", "{x} and {y}")
    two = ChartSeries("⟨b⟩ 😀", np.array([5]), np.array([1e300]), "#ffffff", "line")
    return CurveChart("Title", "across", "up", (one, two), (-1.0, 2.0), (ReferenceLine(0.5, "half", "#888888"),))


def unpacked(bytes_: bytes) -> tuple[dict[str, object], np.ndarray]:
    start = 4 + int.from_bytes(bytes_[:4], "little")
    assert start % 8 == 0  # a Float64Array must begin so
    return json.loads(bytes_[4:start]), np.frombuffer(bytes_[start:], "<f8")


def test_header_and_points_come_back() -> None:
    header, numbers = unpacked(pack_curves(chart()))
    series = [(s["name"], s["n"], s["mark"], s["said"]) for s in header["series"]]
    assert series == [("a", 3, "disc", "{x} and {y}"), ("⟨b⟩ 😀", 1, "line", "")]
    assert numbers.tolist() == [0, 1, 2, 1.0, 0.1, -1e-7, 5, 1e300]
    assert header["levels"] == [{"y": 0.5, "label": "half", "colour": "#888888", "end": "right", "above": True, "dotted": True}]
    assert [header[x] for x in ("title", "xTitle", "yTitle", "reach", "log")] == ["Title", "across", "up", [-1, 2], False]


def test_another_chart_has_another_mark() -> None:
    marks = {unpacked(pack_curves(c))[0]["drawn"] for c in (chart(), chart(), chart(y=np.nextafter(1, 2)), chart(name="b"))}
    assert len(marks) == 3


@pytest.mark.parametrize("values", [[1.0, 3.0], [2.0], [0.0, 0.0]])
def test_an_axis_has_room_for_its_values(values: list[float]) -> None:
    low, high = padded_range([np.array(values), np.array([values[0]])])
    assert low < min(values) and high > max(values)


def about(title: str = "9 of 16", name: str = "a", of: str = "", marked: int = 2) -> object:
    """What a chart is about, in its header."""
    line, now = (ChartSeries(said, np.arange(n), np.arange(n), "#000000", "line") for said, n in ((name, 3), ("now", 1)))
    return unpacked(pack_curves(CurveChart(title, "x", "y", (line, now)[:marked], (0, 1)), subject=of))[0]["about"]


def test_a_zoom_does_not_outlast_another_title_series_or_sentence() -> None:
    assert about() == about(title="7.5 of 16") == about(marked=1)  # a slider moved
    assert len({about(), about(title="All of 16"), about(name="b"), about(of="a sentence")}) == 4
