"""Statistics of every head: entropy, distance, and the weight on chosen keys."""

from collections.abc import Sequence

import streamlit as st

from viz_core.analysis.attention import AttentionKind, profiles
from viz_core.capture import Capture
from viz_core.figures.attention import profile_columns
from viz_core.language import translate as _
from viz_core.ui.pages.attention.focus import InFocus
from viz_core.ui.shell import view


def statistics(capture: Capture, available: Sequence[AttentionKind], focus: InFocus) -> None:
    """A table with one row for each head of the kinds of attention that the page shows."""
    only = view("att_show")
    kinds = [k for k in available if only in ("all", k) or only not in available]
    heads = [p for kind in kinds for p in profiles(capture, kind, focus.item)]
    st.caption(_("Means over the queries of the sentence, without padding. Entropy is in nats: near the most possible, a head "
                 "spreads its weight evenly; near 0, it puts all of it on one key. The least possible entropy follows from the "
                 "size of the scores (Zhai et al. 2023). Distances have no meaning in cross-attention. Click a heading to sort."))
    columns = profile_columns(heads)
    exact = [name for name, column in columns.items() if any(isinstance(x, float) for x in column)]
    formats = {name: st.column_config.NumberColumn(format="%.3f") for name in exact}
    st.dataframe(columns, hide_index=True, column_config=formats, key="att_table")
