"""Many patched runs: measured once for all visitors, with a bar where that takes longer, and after a click where it takes long."""

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
WAITS = 2.0  # seconds: a longer measurement shows how far it is
MOST_UNREQUESTED = 6.0  # seconds that a visitor waits without having asked
PATCHED = 0.25  # of the time of a recorded run: a patched one begins in its layer, with many others, and records nothing
REQUESTED = "cause_asked"  # the session's key for what was asked for


def measured(kind: str, key: Hashable, runs: int, seconds: float, make: Callable[[Callable[[float], None]], T]) -> T | None:
    """The result of so many patched runs; None after the reason, or until somebody asks for a long one.

    make: measures it, and tells the function that it is given the share that is done.
    """
    from viz_core.ui.shell.cache import Shelf, cached_result

    shelf: Shelf[T] = Shelf(f"result {kind}")
    stored = key in shelf
    if not stored and seconds > MOST_UNREQUESTED and st.session_state.get(REQUESTED) != (kind, key):
        st.button(_("Measure {n:,} patched runs: about {seconds:,.0f} s", n=runs, seconds=seconds), key=f"cause_ask_{kind}",
                  on_click=_request, args=((kind, key),))
        return None
    place = st.empty() if seconds > WAITS and not stored else None

    def said(share: float) -> None:
        if place is not None:
            place.progress(min(1.0, share), _("{n:,} patched runs", n=runs))

    try:
        found = cached_result(kind, key, lambda: make(said), seconds, 16 * runs)
    except ValueError as problem:
        st.info(escaped(problem_words(problem)))
        return None
    if place is not None:
        place.empty()
    return found


def _request(what: Hashable) -> None:
    """Remember the request in this session until the next one."""
    touch()
    st.session_state[REQUESTED] = what


def seconds_of(pair: Pair, runs: int) -> float:
    """The approximate seconds of so many runs of the selected sentence."""
    assert pair.clean.capture is not None
    return PATCHED * pair.clean.cost()[0] / pair.clean.capture.n_sentences * runs


def key_of(pair: Pair, question: Question) -> Hashable:
    """Equal keys mean the same two runs and the same question."""
    return pair.clean.key(), pair.changed.key(), pair.item, question


def contrast_of(pair: Pair, question: Question) -> patching.Contrast:
    """Both runs again, by themselves and without padding. `Problem` where there is nothing to compare."""
    clean, changed = pair.clean.capture, pair.changed.capture
    assert clean is not None and changed is not None
    return patching.contrast_of(pair.clean.model(), clean, changed, question, pair.item)
