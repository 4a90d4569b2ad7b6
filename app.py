"""Attention Lab: `streamlit run app.py`."""

from viz_core.ui.frame import PageSpec, main

PAGES = (
    PageSpec("home", "Home", ":material/home:"),
    PageSpec("step_by_step", "Step by step", ":material/footprint:"),
)

main(PAGES)
