"""The frame of every page in the browser: its style sheet, and presenter's mode, which shows only the main picture.

Presenter's mode hides the sidebar, the header and all text around the picture, and enlarges the type for a projector. The key F
or the Present button opens it, and Esc leaves it; the link holds the state.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from viz_core.figures.assets import script
from viz_core.language import translate as _
from viz_core.ui.shell.page_list import PAGES
from viz_core.ui.shell.setup import BY_FIELD, offered
from viz_core.ui.shell.sidebar import set_field
from viz_core.ui.shell.state import change, current, set_view, view
from viz_core.ui.shell.widgets import touch

SIDEBAR = 236  # pixels
FOLDER = Path(__file__).parent
ECHO = "lab_frame_echo"  # the number of the browser's last change of presenter's mode that this session has received
STYLE = "\n".join((FOLDER / f"{name}.css").read_text("utf-8") for name in ("frame", "contrast", "save"))
SLIDERS = {"first": "n_heads", "second": "d_model"}  # the sliders that keys move: [ and ], - and +

BUTTONS = (("previous", "‹", _("Previous (←)")), ("next", "›", _("Next (→)")), ("leave", "✕", _("Leave presenter's mode (Esc)")))
_COMPONENT = st.components.v2.component(
    "attention_lab_frame",
    html='<div class="bar" hidden>\n'
    + "".join(f'<button type="button" name="{name}" title="{title}" aria-label="{title}">{sign}</button>\n'
              for name, sign, title in BUTTONS) + "</div>",
    css=(FOLDER / "frame_bar.css").read_text("utf-8"), js=script("frame", "zoom", folder=FOLDER),
)


def frame(page: str) -> None:
    """Draw the frame, once in each full run. page: the name of the page."""
    paper = ", ".join(str(st.get_option(f"theme.{theme}.backgroundColor")) for theme in ("light", "dark"))
    # Unlike the style of a component, this one arrives before the page is built.
    st.html(f"<style>:root {{ --lab-paper: light-dark({paper}); }}\n{STYLE}</style>")
    data = {"present": view("present"), "echo": st.session_state.get(ECHO, 0)}

    def on_press() -> None:
        _press(page)

    _COMPONENT(key="lab_frame", data=data, on_present_change=_presented, on_press_change=on_press)


def _sent(what: str) -> Mapping[str, Any]:
    """Return the last message of this kind that the browser sent."""
    state: Any = st.session_state.get("lab_frame")
    sent = state.get(what) if isinstance(state, Mapping) else None
    return sent if isinstance(sent, Mapping) else {}


def _presented() -> None:
    """Store that the browser has entered or left presenter's mode."""
    touch()
    number, on = _sent("present").get("number"), _sent("present").get("on")
    if type(number) is int and isinstance(on, bool):
        st.session_state[ECHO] = number
        set_view(present=on)


def _press(page: str) -> None:
    """Handle a key of presenter's mode: change the section, the head, or a slider of the sidebar."""
    touch()
    name = _sent("press").get("name")
    if name in ("next", "previous"):
        _turn(page, 1 if name == "next" else -1)
    elif name in ("head", "head_back"):
        change(attn_head=(current().attn_head + (1 if name == "head" else -1)) % current().config.n_heads)
    elif isinstance(name, str) and name.partition("_")[0] in SLIDERS:
        slider, __, direction = name.partition("_")
        _slide(SLIDERS[slider], 1 if direction == "more" else -1)


def _turn(page: str, by: int) -> None:
    """Go to the next or previous section of the page; at the ends nothing happens."""
    spec = PAGES[page]
    names = [section.name for section in spec.sections]
    if names:
        index = names.index(view(spec.section_view)) + by
        set_view(**{spec.section_view: names[max(0, min(index, len(names) - 1))]})


def _slide(field: str, by: int) -> None:
    """Move a slider to its next or previous value."""
    setup, control = current(), BY_FIELD[field]
    values = sorted({*offered(setup, control), control.value(setup.config)})
    index = values.index(control.value(setup.config)) + by
    set_field(field, values[max(0, min(index, len(values) - 1))])


