"""What pages share: a chart is sent with its text alternative."""

import pytest

from tests.ui.helpers import TINY, charts, open_page
from viz_core.figures.alternatives import alternative


@pytest.mark.parametrize(("page", "state", "says"), [
    ("shapes", {"open": "shapes_cost"}, "FLOPs by block. Horizontal: FLOPs, "),
    ("norms", {"norm_section": "depth"}, "Power of the residual stream, ‖x‖²/d. Horizontal: layers passed"),
    ("positions", {"pos_section": "waves"}, "One curve per dimension"),
])
def test_every_chart_says_its_numbers(page: str, state: dict[str, str], says: str) -> None:
    at = open_page(page, **TINY | state)
    told = [chart.proto.alt for chart in at.get("plotly_chart")]
    assert told == [alternative(figure) for figure in charts(at)] and any(alt.startswith(says) for alt in told)
