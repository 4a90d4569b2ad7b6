"""The app's frame, sidebar and run around a page without a figure: a button to the next stage, and its name."""

import streamlit as st

from viz_core.messages import lazy
from viz_core.ui.pages.step_by_step.page import ALL_STAGES, stage_order
from viz_core.ui.shell import PageSpec, main, open_page, update_setup

SPEC = PageSpec(name="shell", title=lazy("Shell"), icon=":material/home:", question=lazy("Shell"),
                introduction=lazy("How does one token become a prediction?"))


def shell() -> None:
    lab = open_page(SPEC)
    assert lab.capture is not None
    stops = stage_order(lab.capture, ALL_STAGES, norms=False)
    name = lab.setup.stage or stops[0]
    following = stops[min(stops.index(name) + 1, len(stops) - 1)]
    st.button("Next", shortcut="Right", on_click=lambda: update_setup(stage=following))
    st.text(name)


main((SPEC,), page_functions={"shell": shell})
