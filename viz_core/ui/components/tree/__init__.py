"""A prefix tree of continuations: each token is a button, and shared tokens are drawn once.

    continuation_tree(nodes, current, key="write_tree", on_open=continue_from)

Columns are steps and rows are paths; lines connect each token with the next ones. The tree scrolls if it is larger than its
container.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import streamlit as st

from viz_core.figures.assets import component_script, stylesheets
from viz_core.figures.glosses import glosses_of
from viz_core.figures.tree import TreeNode
from viz_core.ui.components.calls import Expression
from viz_core.ui.components.export import register_picture
from viz_core.ui.components.glosses import current_glosses
from viz_core.ui.streamlit_internals import Component

if TYPE_CHECKING:
    import pandas as pd

_COMPONENT = Component(
    "tree", html='<div class="tree lab-drawn">\n</div>', css=stylesheets("tree"), js=component_script("tree"),
)


def continuation_tree(
    nodes: Sequence[TreeNode], current: int, *, key: str, on_open: Callable[[int], None],
    frame: "Expression[pd.DataFrame]",
) -> None:
    """Draw the nodes; `on_open(node)` is called before the rerun after a click on one. current: the marked node.

    frame: the tree as a tidy DataFrame for the export.
    """
    n_nodes = len(nodes)

    def opened() -> None:
        state: Any = st.session_state.get(key)
        node = state.get("open") if isinstance(state, Mapping) else None
        if type(node) is int and 0 <= node < n_nodes:
            on_open(node)

    # Sent as text, because Streamlit imports pandas to check whether a list is a table.
    meanings = glosses_of((node.label for node in nodes), current_glosses())
    data = json.dumps({"nodes": [asdict(node) for node in nodes], "current": current, "glosses": meanings}, ensure_ascii=False)
    _COMPONENT(key=key, data={"tree": data}, on_open_change=opened)
    register_picture(key, {"frame": frame, "picture": frame}, n_nodes)
