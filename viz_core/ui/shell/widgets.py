"""A widget that shows the setup and changes it: the setup is the one truth, the browser proposes.

What a browser sends is judged by what it had been shown. Each time the setup overrules a widget, or its choices change,
the widget gets a new identity, so that the browser builds it anew and cannot take the old answer for one to the new
question. A choice that was made on the older widget, before the newer one arrived, is still a choice; the older value
sent once more is not.
"""

from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

WIDGETS, CHOSEN, TOUCHED, RETURNING, AGAIN = "lab_widgets", "lab_chosen", "lab_touched", "lab_returning", "lab_again"
RESTORING = "lab_restoring"  # whether a callback takes up what the lost session may have had already
REMEMBERED = 3  # earlier identities of a widget from which a late choice is still taken


@dataclass(slots=True)
class _Shown:
    """What the browser was shown of one widget: how often it was built anew, its choices, its value under each identity."""

    generation: int = 0
    options: tuple[Any, ...] | None = None
    values: dict[int, Any] | None = None  # generation → the value last known to the browser

    def renew(self) -> None:
        self.generation += 1
        self.values = {g: v for g, v in (self.values or {}).items() if g >= self.generation - REMEMBERED}


def widget(make: Callable[..., Any], name: str, label: str, value: Any, on_change: Callable[[str], None], **kwargs: Any) -> None:
    """A widget that shows `value` and changes it only through `on_change(name)`, which finds the choice by `widget_value`."""
    state, shown = st.session_state, _shown(name)
    options = kwargs.get("options")
    options = None if options is None else tuple(options)
    overruled = _key(name, shown) in state and state[_key(name, shown)] != value
    if overruled or (shown.values and options != shown.options):
        shown.renew()
    key, is_new = _key(name, shown), shown.generation not in (shown.values or {})
    shown.options, shown.values = options, (shown.values or {}) | {shown.generation: value}
    # What it shows at first travels with it, not as a value that is set: an answer that is dropped for a newer one takes
    # with it what was set, and a browser that never heard of it would show the least value there is.
    kwargs |= _start(make, value, options)
    returned = make(label, key=key, on_change=_heard, args=(on_change, name, shown.generation), **kwargs)
    if is_new and state.get(RETURNING) and returned != value:
        # The tab is older than this session: what it shows is a choice that the lost session may not have heard of.
        state[RESTORING] = True
        state[AGAIN] = _heard(on_change, name, shown.generation) or state.get(AGAIN, False)
        state[RESTORING] = False


def widget_value(name: str) -> Any:
    """What was chosen in the widget of this name; for its callback."""
    return st.session_state[CHOSEN][name]


def widget_shows(name: str) -> Any:
    """What the widget of this name was last told to show; None before it was drawn."""
    shown = _shown(name)
    return (shown.values or {}).get(shown.generation)


def touch() -> None:
    """Say that this run was asked for by a widget; the callback of every widget that has none of its own."""
    st.session_state[TOUCHED] = True


def return_with(generations: MutableMapping[str, int]) -> None:
    """A tab of a lost session is here again; its widgets keep their identities, and what was typed in them."""
    state = st.session_state
    state[RETURNING] = True
    state[WIDGETS] = {name: _Shown(generation) for name, generation in generations.items()}


def chosen_meanwhile() -> bool:
    """Whether a returning tab showed a choice that the setup did not have; asked once a run."""
    return bool(st.session_state.pop(AGAIN, False))


def _shown(name: str) -> _Shown:
    widgets: dict[str, _Shown] = st.session_state.setdefault(WIDGETS, {})
    return widgets.setdefault(name, _Shown())


def _key(name: str, shown: _Shown, generation: int | None = None) -> str:
    """ "set_seed", and "set_seed--2" once it was built anew for the second time."""
    number = shown.generation if generation is None else generation
    return f"set_{name}--{number}" if number else f"set_{name}"


def _heard(on_change: Callable[[str], None], name: str, generation: int) -> bool:
    """A browser's value for one identity of a widget; whether it was a choice."""
    touch()
    shown = _shown(name)
    value = st.session_state[_key(name, shown, generation)]
    if value is None:  # what a widget says while it comes and goes; none of ours offers it
        return False
    if not shown.values or generation not in shown.values or shown.values[generation] == value:
        return False
    shown.values[generation] = value
    st.session_state.setdefault(CHOSEN, {})[name] = value
    with suppress(ValueError):  # chosen on an older page, and no longer to be had: what holds stays
        on_change(name)
    return True


def _start(make: Callable[..., Any], value: Any, options: tuple[Any, ...] | None) -> dict[str, Any]:
    """The argument by which a kind of widget takes its first value."""
    if make in (st.selectbox, st.radio):
        return {"index": (options or ()).index(value)}
    return {"default" if make in (st.pills, st.segmented_control, st.multiselect) else "value": value}
