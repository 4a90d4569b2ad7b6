"""Measurements that run only after a click on a button, because they take long."""

from collections.abc import Hashable
from functools import lru_cache
from typing import TypeVar

import streamlit as st

from viz_core.analysis.size_estimates import estimate_size, extrapolate_depth, flops_by_stage
from viz_core.config import TransformerConfig
from viz_core.messages import translate as _
from viz_core.stages import stages_with_shapes
from viz_core.ui.components.calls import Call
from viz_core.ui.shell import mark_activity
from viz_core.ui.shell.export.cached_call import CachedCall, cached

T = TypeVar("T")
MAX_AUTOMATIC_FLOPS = 2e10  # floating-point operations that a section may spend without a click
REQUESTS_KEY = "norm_requests"  # session state: measurement → the key that was requested last


@lru_cache(maxsize=64)
def flop_count(config: TransformerConfig, rows: int, tokens: int) -> int:
    """Return the floating-point operations of one forward pass of a stack over `rows` sentences of `tokens` tokens."""
    sides = (0, tokens) if config.has_decoder else (tokens, 0)
    return extrapolate_depth(config, lambda few: _flop_count(few, rows, *sides))


@lru_cache(maxsize=64)
def _flop_count(config: TransformerConfig, rows: int, source: int, target: int) -> int:
    return sum(flops_by_stage(stages_with_shapes(config, rows, source, target)).values())


def run_bytes(config: TransformerConfig) -> int:
    """Return the bytes of an encoder in the setting of Xiong et al. (2020) and of the capture of its run."""
    from viz_core.experiments.norm_placement import PAPER_SENTENCES, PAPER_TOKENS

    size = estimate_size(config, PAPER_SENTENCES, PAPER_TOKENS, 0)
    return 4 * size.parameters + size.capture_bytes


def when_requested(what: str, key: Hashable, flops: float, nbytes: int, call: Call[T]) -> CachedCall[T] | None:
    """Return a cheap call immediately, and an expensive one after a click on a button that states its cost; None until then.

    flops: floating-point operations. nbytes: what the computation takes. The returned call has its value, which all visitors share.
    Raises what the call raises.
    """
    from viz_core.ui.shell.caching.server_cache import FLOPS_PER_SECOND

    if flops > MAX_AUTOMATIC_FLOPS and st.session_state.get(REQUESTS_KEY, {}).get(what) != key:
        st.button(_("Measure: about {cost:,.0f} billion operations", cost=flops / 1e9), key=f"norm_ask_{what}",
                  on_click=_request,
                  args=(what, key))
        return None
    found = cached(call, f"norms {what}", key, flops / FLOPS_PER_SECOND, nbytes)
    found.value()
    return found


def _request(what: str, key: Hashable) -> None:
    """Store the request in the session state; it replaces the previous one of this measurement."""
    mark_activity()
    st.session_state[REQUESTS_KEY] = st.session_state.get(REQUESTS_KEY, {}) | {what: key}
