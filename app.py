"""Attention Lab: `streamlit run app.py`."""

from viz_core.ui.shell import PageSpec, main

PAGES = (
    PageSpec("home", "Home", ":material/home:"),
    PageSpec("step_by_step", "Step by step", ":material/footprint:"),
    PageSpec("attention", "Attention", ":material/hub:"),
    PageSpec("masks", "Masks", ":material/grid_on:"),
    PageSpec("positions", "Positions", ":material/waves:"),
    PageSpec("norms", "Pre- and Post-LN", ":material/balance:"),
    PageSpec("shapes", "Shapes", ":material/straighten:"),
    PageSpec("documents", "Documents", ":material/menu_book:"),
)

main(PAGES)
