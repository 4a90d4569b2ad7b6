"""Attention Lab: `streamlit run app.py`."""

from viz_core.ui.frame import PageSpec, main

PAGES = (
    PageSpec("home", "Home", ":material/home:"),
    PageSpec("step_by_step", "Step by step", ":material/footprint:"),
    PageSpec("attention", "Attention", ":material/hub:"),
    PageSpec("shapes", "Shapes", ":material/straighten:"),
    PageSpec("documents", "Documents", ":material/menu_book:"),
    PageSpec("positions", "Positions", ":material/waves:"),
)

main(PAGES)
