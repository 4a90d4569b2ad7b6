"""Widgets whose value is a link parameter of `URL_PARAMS`."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from viz_core.language import translate as _
from viz_core.limits import MAX_VIEW_CHARS
from viz_core.ui.escape import code
from viz_core.ui.shell.setup import VIEW
from viz_core.ui.shell.state import set_view, view
from viz_core.ui.shell.views import FOLDS
from viz_core.ui.shell.widgets import widget, widget_value


def view_widget(make: Callable[..., Any], name: str, label: str, **kwargs: Any) -> Any:
    """Draw a widget bound to a link parameter, and return its value. options: the allowed ones, if fewer than in `URL_PARAMS`.

    A value that is not allowed is named in a warning and replaced by the default, or by the first allowed value.
    """
    spec, value = VIEW[name], view(name)
    allowed = kwargs.get("options", spec.options)
    if allowed is not None and not spec.many and value not in allowed:
        fallback = spec.default if spec.default in allowed else next(iter(allowed))
        title = kwargs.get("format_func", spec.write)
        st.warning(_("{label} {title} is not available here; {title_2} is shown.",
                     label=label, title=code(title(value)), title_2=code(title(fallback))))
        value = fallback
    if spec.many and allowed is not None:
        value = tuple(v for v in value if v in allowed)
    if make in (st.number_input, st.slider) and isinstance(allowed, range):
        kwargs = {k: v for k, v in kwargs.items() if k != "options"}
        kwargs |= {"min_value": allowed[0], "max_value": allowed[-1], "step": allowed.step}
    elif make is st.text_input:
        kwargs.setdefault("max_chars", MAX_VIEW_CHARS)
    elif make not in (st.toggle, st.checkbox):
        kwargs.setdefault("options", allowed)
    widget(make, name, label, list(value) if spec.many else value, _set_view, **kwargs)
    return value


def fold(name: str, label: str) -> Any:
    """Return an expander whose state is in the link. Draw its content only if `.open`."""
    if st.session_state.get(name) != (name in view("open")):
        st.session_state[name] = name in view("open")
    return st.expander(label, key=name, on_change=_fold, args=(name,))


def _fold(name: str) -> None:
    set_view(open=tuple(n for n in FOLDS if (st.session_state[n] if n == name else n in view("open"))))


def _set_view(name: str) -> None:
    value = widget_value(name)
    set_view(**{name: tuple(value) if VIEW[name].many else value})
