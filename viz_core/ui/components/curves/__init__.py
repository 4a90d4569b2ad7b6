"""The component that draws a chart of `viz_core.figures.curves`; pointer and arrow keys read its points without a rerun.

Why not Plotly: a chart of this component redraws in 52 to 64 ms, one of Plotly in 140 ms. An empty component takes 56 ms.
"""

from viz_core.figures import assets
from viz_core.figures.curves import CurveChart, pack_curves
from viz_core.ui.components.calls import Call, Recorded, as_expression, evaluated
from viz_core.ui.components.export import register_picture
from viz_core.ui.streamlit_internals import Component

_COMPONENT = Component("curves", **assets.component("curves"))


def curves(chart: Recorded[CurveChart], key: str, fill: bool = False, subject: str = "") -> None:
    """Draw the chart at the width of its column.

    fill: whether it takes the height of the container, too. subject: what the chart shows apart from its titles, such as the
    sentence; a zoom is reset when it changes.
    """
    record, chart = as_expression(chart), evaluated(chart)
    _COMPONENT(key=key, data=pack_curves(chart, fill, subject))
    register_picture(key, {
        "chart": record, "frame": Call("viz_core.figures.plot_data.curves", record),
        "picture": Call("viz_core.notebook.curves", record),
    }, sum(len(s.x) for s in chart.series))
