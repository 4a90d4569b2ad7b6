"""What stands around every page in the browser: its measures, and presenter's mode, in which the main picture is alone.

In presenter's mode the sidebar, the header and every word around the picture are gone, and the type grows for the back row.
The key F or the button of the heading opens it, Esc leaves it, and the link says so.
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
ECHO = "lab_frame_echo"  # the number of the last change by the browser that this session knows of
STYLE = "\n".join((FOLDER / f"{name}.css").read_text("utf-8") for name in ("frame", "contrast", "save"))
SLIDERS = {"first": "n_heads", "second": "d_model"}  # the two that keys move: [ and ], - and +

BUTTONS = (("previous", "‹", _("Previous (←)")), ("next", "›", _("Next (→)")), ("leave", "✕", _("Leave presenter's mode (Esc)")))
_COMPONENT = st.components.v2.component(
    "attention_lab_frame",
    html='<div class="bar" hidden>\n'
    + "".join(f'<button type="button" name="{name}" title="{title}" aria-label="{title}">{sign}</button>\n'
              for name, sign, title in BUTTONS) + "</div>",
    css=(FOLDER / "frame_bar.css").read_text("utf-8"), js=script("frame", "zoom", folder=FOLDER),
)


def frame(page: str) -> None:
    """Draw it; once in each whole run. page: the name of the page that is shown."""
    paper = ", ".join(str(st.get_option(f"theme.{theme}.backgroundColor")) for theme in ("light", "dark"))
    # Unlike the script's, this style arrives before the page is built.
    st.html(f"<style>:root {{ --lab-paper: light-dark({paper}); }}\n{STYLE}</style>")
    data = {"present": view("present"), "echo": st.session_state.get(ECHO, 0)}

    def pressed() -> None:
        _press(page)

    _COMPONENT(key="lab_frame", data=data, on_present_change=_presented, on_press_change=pressed)


def _sent(what: str) -> Mapping[str, Any]:
    """The last thing of this kind that the browser sent."""
    state: Any = st.session_state.get("lab_frame")
    sent = state.get(what) if isinstance(state, Mapping) else None
    return sent if isinstance(sent, Mapping) else {}


def _presented() -> None:
    """The browser has entered presenter's mode, or left it."""
    touch()
    number, on = _sent("present").get("number"), _sent("present").get("on")
    if type(number) is int and isinstance(on, bool):
        st.session_state[ECHO] = number
        set_view(present=on)


def _press(page: str) -> None:
    """A key of presenter's mode: another section or head, or a slider of the sidebar."""
    touch()
    name = _sent("press").get("name")
    if name in ("next", "previous"):
        _turn(page, 1 if name == "next" else -1)
    elif name in ("head", "head_back"):
        change(attn_head=(current().attn_head + (1 if name == "head" else -1)) % current().config.n_heads)
    elif isinstance(name, str) and name.partition("_")[0] in SLIDERS:
        slider, __, way = name.partition("_")
        _slide(SLIDERS[slider], 1 if way == "more" else -1)


def _turn(page: str, by: int) -> None:
    """The next or previous section of the page, as far as there are any."""
    spec = PAGES[page]
    names = [section.name for section in spec.sections]
    if names:
        at = names.index(view(spec.section_view)) + by
        set_view(**{spec.section_view: names[max(0, min(at, len(names) - 1))]})


def _slide(field: str, by: int) -> None:
    """The next or previous stop of a slider."""
    setup, control = current(), BY_FIELD[field]
    stops = sorted({*offered(setup, control), control.value(setup.config)})
    at = stops.index(control.value(setup.config)) + by
    set_field(field, stops[max(0, min(at, len(stops) - 1))])


