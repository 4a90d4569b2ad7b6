"""Slow imports, made once and by one thread, whoever comes first and however many come at once.

Python locks each module by itself while it is imported. That is not enough for packages whose modules import one
another or look into `sys.modules`: threads that begin at different ends see each other's half of them. So nothing but
`viz_core.ui.shell` is imported by a page before these functions have returned. Most visitors see Home first, and it needs less.
"""

import gc
import sys
from importlib import import_module
from pkgutil import walk_packages

import streamlit as st

from viz_core.memory import keep_freed_pages
from viz_core.weights.catalogue import catalogue

FOR_HOME = (
    "torch", "safetensors.torch", "viz_core.run", "viz_core.generate", "viz_core.weights.checkpoint", "viz_core.weights.subword",
    "viz_core.ui.shell.cache", "viz_core.ui.pages.home.details", "viz_core.ui.pages.home.offered", "viz_core.ui.pages.home.welcome",
)
# The modules that Streamlit imports when it shows a table or a chart, and the packages that the other pages need.
FOR_ALL = (
    "pandas", "pyarrow.pandas_compat", "pyarrow.vendored.version", "streamlit.dataframe.lazy_df_adapters", "numpy.ma",
    "plotly.tools", "viz_core.tables", "viz_core.drawn",
)
PACKAGES = ("viz_core.experiments", "viz_core.ui.pages")


# Seconds that a thread may go on while another waits for the interpreter. A page gives it up at each message that it sends;
# with Python's 5 ms, 12 visitors on two busy cores waited 500 ms at the median for a new sentence, with this 375 ms, and the
# processor had no more to do.
SWITCH = 0.0005


# Streamlit's cache holds a lock while it computes: the first thread imports, the others wait for it, and whoever comes
# later passes in microseconds. `tests/ui/test_cold.py` finds a module that is missing in a list.
@st.cache_resource(show_spinner=False)
def cards_read() -> None:
    """Return once the catalogue of weights, which the sidebar needs, has been read."""
    catalogue()


@st.cache_resource(show_spinner=False)
def home_imported() -> None:
    """Return once everything that Home needs is imported."""
    keep_freed_pages()
    sys.setswitchinterval(SWITCH)
    for name in FOR_HOME:
        import_module(name)


@st.cache_resource(show_spinner=False)
def all_imported() -> None:
    """Return once everything that any page, section or change needs is imported."""
    home_imported()
    for name in FOR_ALL:
        import_module(name)
    for package in map(import_module, PACKAGES):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    from viz_core.figures.theme import every_part

    every_part().to_json()
    gc.collect()
    gc.freeze()  # imported objects stay: no later collection visits them
