"""The Masks page in a version of Streamlit that calls all its elements otherwise; a progress bar below it."""

import runpy
from pathlib import Path

import streamlit as st

from viz_core.ui import streamlit_internals

streamlit_internals.SELECTORS.update(dict.fromkeys(streamlit_internals.SELECTORS, "[data-testid='renamed']"))  # before its use

from viz_core.ui.shell import PAGES, main  # noqa: E402

ROOT = Path(__file__).parents[2]


def page() -> None:
    runpy.run_path(str(ROOT / PAGES["masks"].path))
    st.progress(0.5)


main([PAGES["masks"]], {"masks": page})
