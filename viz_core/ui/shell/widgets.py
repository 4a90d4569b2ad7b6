"""Widgets that show a value of the setup and change it through a callback. The setup is the source of truth.

A value from the browser is compared with the value that the browser was last given. Each time the setup differs from the widget's
value, or the options change, the widget gets a new key (a new generation), so that the browser rebuilds it and an old value cannot
be mistaken for a new one. A choice made on an older generation before the newer one arrived still counts; its old value, sent
again, does not.
"""

import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st

WIDGETS, CHOSEN, TOUCHED, RETURNING, AGAIN = "lab_widgets", "lab_chosen", "lab_touched", "lab_returning", "lab_again"
RESTORING = "lab_restoring"  # whether a callback repeats a choice that the lost session may already have received
OUTDATED = "lab_outdated"  # whether a reconnected tab shows the settings of a model that this server lacks
REMEMBERED = 3  # older generations of a widget from which a late choice is still accepted


@dataclass(slots=True)
class _Shown:
    """A widget as the browser knows it: its generation (how often it was rebuilt), options, option names and values."""

    generation: int = 0
    options: tuple[Any, ...] | None = None
    named: tuple[str, ...] = ()
    values: dict[int, Any] | None = None  # generation → the value last known to the browser

    def renew(self) -> None:
        self.generation += 1
        self.values = {g: v for g, v in (self.values or {}).items() if g >= self.generation - REMEMBERED}


def widget(make: Callable[..., Any], name: str, label: str, value: Any, on_change: Callable[[str], None], **kwargs: Any) -> None:
    """Draw a widget that shows `value`; a choice calls `on_change(name)`, which reads it with `widget_value`.

    named: the labels that `format_func` gives to the options, if they can change while the options stay the same. A browser keeps
    the label of the selected option for as long as the widget keeps its key.
    """
    state, shown = st.session_state, _shown(name)
    options, named = kwargs.get("options"), kwargs.pop("named", ())
    options = None if options is None else tuple(options)
    overruled = _key(name, shown) in state and state[_key(name, shown)] != value
    if overruled or (shown.values and (options, named) != (shown.options, shown.named)):
        shown.renew()
    key, is_new = _key(name, shown), shown.generation not in (shown.values or {})
    shown.options, shown.named, shown.values = options, named, (shown.values or {}) | {shown.generation: value}
    # The first value is an argument, not set in the session state: if a response is dropped for a newer one, values that were set
    # are lost with it, and a browser that never received them would show the lowest value.
    kwargs |= _start(make, value, options)
    returned = make(label, key=key, on_change=_heard, args=(on_change, name, shown.generation), **kwargs)
    if is_new and state.get(OUTDATED) and make is not st.text_area and returned != value:
        shown.renew()
        state[AGAIN] = True
    elif is_new and state.get(RETURNING) and returned != value:
        # The tab is older than this session, and shows a choice that the lost session may not have received.
        state[RESTORING] = True
        state[AGAIN] = _heard(on_change, name, shown.generation) or state.get(AGAIN, False)
        state[RESTORING] = False


def widget_value(name: str) -> Any:
    """Return the choice in the widget of this name. For its callback."""
    return st.session_state[CHOSEN][name]


def widget_shows(name: str) -> Any:
    """Return the value that the widget of this name was last given; None before it was drawn."""
    shown = _shown(name)
    return (shown.values or {}).get(shown.generation)


def touch() -> None:
    """Record that a widget started this run. It is the callback of every widget that has no other."""
    st.session_state[TOUCHED] = True
    make_room()


def make_room() -> None:
    """Tell the trainings of this server that a visitor is active, so that they use at most one process."""
    trainings = sys.modules.get("viz_core.jobs.engine")  # not imported here, as it imports torch: without it nothing trains
    if trainings is not None and trainings.engine.cache_info().currsize:
        trainings.engine().visitor_acts()


def return_with(generations: MutableMapping[str, int]) -> None:
    """Restore the widgets of a reconnected tab with their generations, so that they keep their keys and their text."""
    state = st.session_state
    state[RETURNING] = True
    state[WIDGETS] = {name: _Shown(generation) for name, generation in generations.items()}


def chosen_meanwhile() -> bool:
    """Return whether a reconnected tab showed a choice that the setup did not have. It is called once per run."""
    return bool(st.session_state.pop(AGAIN, False))


def _shown(name: str) -> _Shown:
    widgets: dict[str, _Shown] = st.session_state.setdefault(WIDGETS, {})
    return widgets.setdefault(name, _Shown())


def _key(name: str, shown: _Shown, generation: int | None = None) -> str:
    """Return the widget's key, such as "set_seed", or "set_seed--2" after it was rebuilt twice."""
    number = shown.generation if generation is None else generation
    return f"set_{name}--{number}" if number else f"set_{name}"


def _heard(on_change: Callable[[str], None], name: str, generation: int) -> bool:
    """Handle a value from the browser for one generation of a widget. Return whether it was a choice."""
    touch()
    shown = _shown(name)
    value = st.session_state[_key(name, shown, generation)]
    if value is None:  # widgets send None while they appear and disappear; no option is None
        return False
    if not shown.values or generation not in shown.values or shown.values[generation] == value:
        return False
    shown.values[generation] = value
    st.session_state.setdefault(CHOSEN, {})[name] = value
    with suppress(ValueError):  # chosen on an older page and not available now: the present value stays
        on_change(name)
    return True


def _start(make: Callable[..., Any], value: Any, options: tuple[Any, ...] | None) -> dict[str, Any]:
    """Return the argument that sets the initial value of a widget of this type."""
    if make in (st.selectbox, st.radio):
        return {"index": (options or ()).index(value)}
    return {"default" if make in (st.pills, st.segmented_control, st.multiselect) else "value": value}
