"""Attention Lab: `streamlit run app.py`."""

from viz_core.ui.shell import PAGES, main

main(list(PAGES.values()))
