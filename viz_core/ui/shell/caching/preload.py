"""Imports of slow modules, done once and by one thread.

Python locks each module separately during its import. That is not enough for packages whose modules import one another or read
`sys.modules`: threads that start with different modules see each other's half-imported ones. So a page imports nothing but
`viz_core.ui.shell` before these functions have returned. Most visitors open Home first, which needs fewer modules.
"""

import gc
import sys
from importlib import import_module
from pkgutil import walk_packages

import streamlit as st

from viz_core.config.allocator import keep_freed_pages
from viz_core.ui.page_list import PAGES
from viz_core.weights.catalogue import catalogue

HOME_MODULES = (
    "torch",
    "safetensors.torch",
    "viz_core.run",
    "viz_core.generate",
    "viz_core.weights.checkpoint",
    "viz_core.weights.subword",
    "viz_core.ui.shell.caching.server_cache",
    "viz_core.ui.pages.home.details",
    "viz_core.ui.pages.home.page_cards",
    "viz_core.ui.pages.home.hero",
    *(f"viz_core.ui.pages.{page.name}.thumbnail" for page in PAGES.values() if page.home_text),
)
# The modules that Streamlit imports for a table or a chart, and the packages that the other pages need.
PAGE_MODULES = (
    "pandas", "pyarrow.pandas_compat", "pyarrow.vendored.version", "streamlit.dataframe.lazy_df_adapters", "numpy.ma",
    "plotly.tools", "viz_core.tables", "viz_core.figures.plot_data",
)
PACKAGES = ("viz_core.experiments", "viz_core.ui.pages")

# Seconds that a thread may run while another waits for the interpreter lock. A page releases the lock with each message that it
# sends. With Python's 5 ms, 12 visitors on two busy cores waited 500 ms at the median for a new sentence, with this value 375 ms,
# at the same processor load.
SWITCH_INTERVAL = 0.0005


# `st.cache_resource` holds a lock while it computes: the first thread imports, concurrent ones wait, and later calls take
# microseconds. `tests/ui/test_cold.py` finds modules that are missing in these lists.
@st.cache_resource(show_spinner=False)
def preload_catalogue() -> None:
    """Read the catalogue of weights, which the sidebar needs."""
    catalogue()


@st.cache_resource(show_spinner=False)
def preload_home() -> None:
    """Import everything that Home needs."""
    keep_freed_pages()
    sys.setswitchinterval(SWITCH_INTERVAL)
    for name in HOME_MODULES:
        import_module(name)


@st.cache_resource(show_spinner=False)
def preload_all() -> None:
    """Import everything that any page or section needs."""
    preload_home()
    for name in PAGE_MODULES:
        import_module(name)
    for package in map(import_module, PACKAGES):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    from viz_core.figures.theme import warm_up_figure

    warm_up_figure().to_json()
    gc.collect()
    gc.freeze()  # imported objects are never freed: later collections skip them
