"""What pages share: a chart is sent with its text alternative, its toolbar, and what it is about."""

import json
from functools import partial

import pytest

from tests.ui.helpers import TINY, charts, open_page
from viz_core.figures.alt_text import alt_text


@pytest.mark.parametrize(("page", "state", "says"), [
    ("shapes", {"open": "shapes_cost"}, "FLOPs by block. Horizontal: FLOPs, "),
    ("norms", {"norm_section": "depth"}, "Power of the residual stream, ‖x‖²/d. Horizontal: layers passed"),
    ("positions", {"pos_section": "waves"}, "One curve per dimension"),
])
def test_every_chart_says_its_numbers(page: str, state: dict[str, str], says: str) -> None:
    at = open_page(page, **TINY | state)
    told = [chart.proto.alt for chart in at.get("plotly_chart")]
    assert told == [alt_text(figure) for figure in charts(at)] and any(alt.startswith(says) for alt in told)


def revision(page: str, key: str, **state: str) -> str:
    """What the chart of this key is about, as its zoom is kept or left by."""
    found = [json.loads(c.proto.spec) for c in open_page(page, **TINY | state).get("plotly_chart") if key in c.proto.id]
    assert len(found) == 1
    about: str = found[0]["layout"]["uirevision"]
    return about


def test_a_zoom_outlasts_a_slider_but_nothing_new() -> None:
    depth = partial(revision, "norms", "norm_depth_chart", norm_section="depth")
    was = depth()
    assert depth(norm_depth="6") == depth(norm_width="32") == was
    changes = [{"source": "另一句话"}, {"norm_metric": "std"}, {"norm_placements": "post"}]
    assert len({was, *(depth(**change) for change in changes)}) == 1 + len(changes)


def test_a_chart_has_the_toolbar_and_a_name_for_its_picture() -> None:
    (shown,) = open_page("norms", **TINY | {"norm_section": "depth"}).get("plotly_chart")
    config = json.loads(shown.proto.config)
    assert [name for group in config["modeBarButtons"] for name in group] == [
        "toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]
    assert config["displayModeBar"] == "hover" and not config["displaylogo"] and not config["scrollZoom"]
    assert config["toImageButtonOptions"] == {"format": "png", "scale": 2, "filename": "norms_power-of-the-residual-stream-x-d"}
