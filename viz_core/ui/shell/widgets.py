"""Widgets that show the setup and change it: the setup decides, and the browser proposes changes.

A value from the browser is compared with the value that the browser was shown. Each time the setup overrules a widget, or
its choices change, the widget gets a new identity, so that the browser rebuilds it and cannot confuse an old answer with a
new one. A choice that was made on the older widget before the newer one arrived still counts; the older value, sent again,
does not.
"""

import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

WIDGETS, CHOSEN, TOUCHED, RETURNING, AGAIN = "lab_widgets", "lab_chosen", "lab_touched", "lab_returning", "lab_again"
RESTORING = "lab_restoring"  # whether a callback repeats a choice that the lost session may already have had
OUTDATED = "lab_outdated"  # whether the tab returned with the settings of a model that this server does not have
REMEMBERED = 3  # earlier identities of a widget from which a late choice is still taken


@dataclass(slots=True)
class _Shown:
    """One widget as the browser knows it: how often it was rebuilt, its choices and their names, and its values."""

    generation: int = 0
    options: tuple[Any, ...] | None = None
    named: tuple[str, ...] = ()
    values: dict[int, Any] | None = None  # generation → the value last known to the browser

    def renew(self) -> None:
        self.generation += 1
        self.values = {g: v for g, v in (self.values or {}).items() if g >= self.generation - REMEMBERED}


def widget(make: Callable[..., Any], name: str, label: str, value: Any, on_change: Callable[[str], None], **kwargs: Any) -> None:
    """A widget that shows `value` and changes it only through `on_change(name)`, which finds the choice by `widget_value`.

    named: what `format_func` calls its options, where that changes while the options stay. A browser keeps the name of the
    chosen option for as long as the widget keeps its identity.
    """
    state, shown = st.session_state, _shown(name)
    options, named = kwargs.get("options"), kwargs.pop("named", ())
    options = None if options is None else tuple(options)
    overruled = _key(name, shown) in state and state[_key(name, shown)] != value
    if overruled or (shown.values and (options, named) != (shown.options, shown.named)):
        shown.renew()
    key, is_new = _key(name, shown), shown.generation not in (shown.values or {})
    shown.options, shown.named, shown.values = options, named, (shown.values or {}) | {shown.generation: value}
    # Its first value is sent with it, not set in the state: if an answer is dropped for a newer one, values that were set
    # are lost with it, and a browser that never received them would show the lowest value.
    kwargs |= _start(make, value, options)
    returned = make(label, key=key, on_change=_heard, args=(on_change, name, shown.generation), **kwargs)
    if is_new and state.get(OUTDATED) and make is not st.text_area and returned != value:
        shown.renew()
        state[AGAIN] = True
    elif is_new and state.get(RETURNING) and returned != value:
        # The tab is older than this session: it shows a choice that the lost session may not have received.
        state[RESTORING] = True
        state[AGAIN] = _heard(on_change, name, shown.generation) or state.get(AGAIN, False)
        state[RESTORING] = False


def widget_value(name: str) -> Any:
    """The choice in the widget of this name; for its callback."""
    return st.session_state[CHOSEN][name]


def widget_shows(name: str) -> Any:
    """The value that the widget of this name was last given; None before it was drawn."""
    shown = _shown(name)
    return (shown.values or {}).get(shown.generation)


def touch() -> None:
    """Record that a widget started this run; the callback of every widget without one of its own."""
    st.session_state[TOUCHED] = True
    make_room()


def make_room() -> None:
    """Tell the trainings of this server that a visitor acts: they then use no more than one process."""
    trainings = sys.modules.get("viz_core.jobs.engine")  # without it nothing trains, and it imports torch
    if trainings is not None and trainings.engine.cache_info().currsize:
        trainings.engine().visitor_acts()


def return_with(generations: MutableMapping[str, int]) -> None:
    """Take over a tab of a lost session: its widgets keep their identities and their text."""
    state = st.session_state
    state[RETURNING] = True
    state[WIDGETS] = {name: _Shown(generation) for name, generation in generations.items()}


def chosen_meanwhile() -> bool:
    """Whether a returning tab showed a choice that the setup did not have; called once per run."""
    return bool(st.session_state.pop(AGAIN, False))


def _shown(name: str) -> _Shown:
    widgets: dict[str, _Shown] = st.session_state.setdefault(WIDGETS, {})
    return widgets.setdefault(name, _Shown())


def _key(name: str, shown: _Shown, generation: int | None = None) -> str:
    """ "set_seed", and "set_seed--2" once it was built anew for the second time."""
    number = shown.generation if generation is None else generation
    return f"set_{name}--{number}" if number else f"set_{name}"


def _heard(on_change: Callable[[str], None], name: str, generation: int) -> bool:
    """Handle a browser's value for one identity of a widget; returns whether it was a choice."""
    touch()
    shown = _shown(name)
    value = st.session_state[_key(name, shown, generation)]
    if value is None:  # a widget sends None while it appears and disappears; none of ours offers None
        return False
    if not shown.values or generation not in shown.values or shown.values[generation] == value:
        return False
    shown.values[generation] = value
    st.session_state.setdefault(CHOSEN, {})[name] = value
    with suppress(ValueError):  # chosen on an older page and no longer available: the present value stays
        on_change(name)
    return True


def _start(make: Callable[..., Any], value: Any, options: tuple[Any, ...] | None) -> dict[str, Any]:
    """The argument that gives a kind of widget its first value."""
    if make in (st.selectbox, st.radio):
        return {"index": (options or ()).index(value)}
    return {"default" if make in (st.pills, st.segmented_control, st.multiselect) else "value": value}
