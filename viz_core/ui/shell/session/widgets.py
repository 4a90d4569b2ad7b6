"""Widgets that show a value of the setup and change it through a callback. The setup is the source of truth.

A value from the browser is compared with the value that the browser was last given. Each time the setup differs from the widget's
value, or the options change, the widget gets a new key (a new generation), so that the browser rebuilds it and an old value cannot
be mistaken for a new one. A new choice on an older generation, made before the newer one arrived, still counts; an old value
that is only sent again does not.
"""

import sys
from collections.abc import Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from viz_core.messages import language

# Keys of the session state.
WIDGETS = "lab_widgets"  # by name: the widgets as the browser knows them
CHOSEN = "lab_chosen"  # by name: the last choice in each widget
TOUCHED = "lab_touched"  # whether a widget started this run
RETURNING = "lab_returning"  # whether the tab has reconnected after its session was lost
RERUN_NEEDED = "lab_rerun_needed"  # whether a reconnected tab showed a choice that the setup did not have
RESTORING = "lab_restoring"  # whether a callback repeats a choice that the lost session may already have received
OUTDATED = "lab_outdated"  # whether a reconnected tab shows the settings of a model that this server lacks
MAX_OLD_GENERATIONS = 3  # older generations of a widget from which a late choice is still accepted


@dataclass(slots=True)
class _WidgetState:
    """A widget as the browser knows it: its generation (how often it was rebuilt), options, option names and values."""

    generation: int = 0
    options: tuple[Any, ...] | None = None
    option_names: tuple[str, ...] = ()
    values: dict[int, Any] | None = None  # generation → the value last known to the browser

    def renew(self) -> None:
        self.generation += 1
        self.values = {g: v for g, v in (self.values or {}).items() if g >= self.generation - MAX_OLD_GENERATIONS}


def widget(
    st_widget: Callable[..., Any], name: str, label: str, value: Any, on_change: Callable[[str], None], **kwargs: Any
) -> None:
    """Draw a widget that shows `value`; a choice calls `on_change(name)`, which reads it with `widget_value`.

    format_func: may return a lazy text. option_names: the labels that it gives to the options, if they can change while options and
    language stay the same. A browser keeps the label of the selected option for as long as the widget keeps its key.
    """
    state, shown = st.session_state, _widget_state(name)
    options, names = kwargs.get("options"), (language(), *kwargs.pop("option_names", ()))
    if "format_func" in kwargs:
        kwargs["format_func"] = partial(_option_text, kwargs["format_func"])
    options = None if options is None else tuple(options)
    overruled = _key(name, shown) in state and state[_key(name, shown)] != value
    if overruled or (shown.values and (options, names) != (shown.options, shown.option_names)):
        shown.renew()
    key, is_new = _key(name, shown), shown.generation not in (shown.values or {})
    shown.options, shown.option_names, shown.values = options, names, (shown.values or {}) | {shown.generation: value}
    # The first value is an argument, not set in the session state: if a response is dropped for a newer one, values that were set
    # are lost with it, and a browser that never received them would show the lowest value.
    kwargs |= _initial_value(st_widget, value, options)
    returned = st_widget(label, key=key, on_change=_on_browser_value, args=(on_change, name, shown.generation), **kwargs)
    if is_new and state.get(OUTDATED) and st_widget is not st.text_area and returned != value:
        shown.renew()
        state[RERUN_NEEDED] = True
    elif is_new and state.get(RETURNING) and returned != value:
        # The tab is older than this session, and shows a choice that the lost session may not have received.
        state[RESTORING] = True
        state[RERUN_NEEDED] = _on_browser_value(on_change, name, shown.generation) or state.get(RERUN_NEEDED, False)
        state[RESTORING] = False


def _option_text(format_func: Callable[[Any], object], option: Any) -> str:
    return str(format_func(option))


def widget_value(name: str) -> Any:
    """Return the choice in the widget of this name. For its callback."""
    return st.session_state[CHOSEN][name]


def last_shown_value(name: str) -> Any:
    """Return the value that the widget of this name was last given; None before it was drawn."""
    shown = _widget_state(name)
    return (shown.values or {}).get(shown.generation)


def mark_activity() -> None:
    """Record that a widget started this run. It is the callback of every widget that has no other."""
    st.session_state[TOUCHED] = True
    yield_cpu()


def yield_cpu() -> None:
    """Tell the trainings of this server that a visitor is active, so that they use at most one process."""
    trainings = sys.modules.get("viz_core.training.jobs.engine")  # if it was not imported, nothing trains; it imports torch
    if trainings is not None and trainings.engine.cache_info().currsize:
        trainings.engine().note_visitor_activity()


def restore_widgets(generations: MutableMapping[str, int]) -> None:
    """Restore the widgets of a reconnected tab with their generations, so that they keep their keys and their text."""
    state = st.session_state
    state[RETURNING] = True
    state[WIDGETS] = {name: _WidgetState(generation) for name, generation in generations.items()}


def needs_rerun() -> bool:
    """Return whether a reconnected tab showed a choice that the setup did not have, and clear the flag."""
    return bool(st.session_state.pop(RERUN_NEEDED, False))


def _widget_state(name: str) -> _WidgetState:
    widgets: dict[str, _WidgetState] = st.session_state.setdefault(WIDGETS, {})
    return widgets.setdefault(name, _WidgetState())


def _key(name: str, widget_state: _WidgetState, generation: int | None = None) -> str:
    """Return the widget's key, such as "set_seed", or "set_seed--2" after it was rebuilt twice."""
    number = widget_state.generation if generation is None else generation
    return f"set_{name}--{number}" if number else f"set_{name}"


def _on_browser_value(on_change: Callable[[str], None], name: str, generation: int) -> bool:
    """Handle a value from the browser for one generation of a widget. Return whether it was a choice."""
    mark_activity()
    shown = _widget_state(name)
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


def _initial_value(st_widget: Callable[..., Any], value: Any, options: tuple[Any, ...] | None) -> dict[str, Any]:
    """Return the argument that sets the initial value of a widget of this type."""
    if st_widget in (st.selectbox, st.radio):
        return {"index": (options or ()).index(value)}
    return {"default" if st_widget in (st.pills, st.segmented_control, st.multiselect) else "value": value}
