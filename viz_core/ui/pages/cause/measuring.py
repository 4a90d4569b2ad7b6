"""Measurements of many patched runs: cached for all sessions, with a progress bar, and only after a click if they take long."""

from collections.abc import Callable, Hashable
from typing import TypeVar

import streamlit as st

from viz_core.experiments import patching
from viz_core.experiments.question import Question
from viz_core.language import translate as _
from viz_core.ui.escape import escaped
from viz_core.ui.pages.cause.pair import Pair
from viz_core.ui.shell import touch
from viz_core.ui.shell.setup import problem_words

T = TypeVar("T")
WAITS = 2.0  # seconds; a longer measurement shows a progress bar
MOST_UNREQUESTED = 6.0  # seconds; a longer measurement starts only after a click
PATCHED = 0.25  # of the time of a recorded run: a patched run starts at its layer, is batched, and records nothing
REQUESTED = "cause_asked"  # key in the session state: the measurement that was requested


def measured(kind: str, key: Hashable, runs: int, seconds: float, make: Callable[[Callable[[float], None]], T]) -> T | None:
    """Return the cached result of a measurement; None if it fails, after the reason, or if it is long and not yet requested.

    runs: the number of patched runs. seconds: their estimated time. make: measures; it calls its argument with the share that
    is done, 0 to 1.
    """
    from viz_core.ui.shell.cache import Shelf, cached_result

    shelf: Shelf[T] = Shelf(f"result {kind}")
    stored = key in shelf
    if not stored and seconds > MOST_UNREQUESTED and st.session_state.get(REQUESTED) != (kind, key):
        st.button(_("Measure {n:,} patched runs: about {seconds:,.0f} s", n=runs, seconds=seconds), key=f"cause_ask_{kind}",
                  on_click=_request, args=((kind, key),))
        return None
    place = st.empty() if seconds > WAITS and not stored else None

    def report(share: float) -> None:
        if place is not None:
            place.progress(min(1.0, share), _("{n:,} patched runs", n=runs))

    try:
        found = cached_result(kind, key, lambda: make(report), seconds, 16 * runs)
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        return None
    if place is not None:
        place.empty()
    return found


def _request(what: Hashable) -> None:
    """Store the request in the session state, in place of an earlier one. A callback."""
    touch()
    st.session_state[REQUESTED] = what


def seconds_of(pair: Pair, runs: int) -> float:
    """Return the approximate seconds of this many patched runs of the selected sentence."""
    assert pair.clean.capture is not None
    return PATCHED * pair.clean.cost()[0] / pair.clean.capture.n_sentences * runs


def key_of(pair: Pair, question: Question) -> Hashable:
    """Return the cache key of both runs and the question."""
    return pair.clean.key(), pair.changed.key(), pair.item, question


def contrast_of(pair: Pair, question: Question) -> patching.Contrast:
    """Return both runs again, one sentence each and without padding. Raises `UserError` if they cannot be compared."""
    clean, corrupted = pair.clean.capture, pair.changed.capture
    assert clean is not None and corrupted is not None
    return patching.contrast_of(pair.clean.model(), clean, corrupted, question, pair.item)
