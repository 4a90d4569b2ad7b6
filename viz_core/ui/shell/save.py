"""The Save menu that every picture has: PNG and SVG are made in the browser from what is drawn, the rest on the server.

The component stands once on each page, last in a whole run. Its script finds the pictures and gives each a menu. For a CSV, a
JSON or Python it says of which picture (`ask`), the run after that makes it (`viz_core.ui.components.saving`), and at its end
the script gets it to save.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from viz_core.figures.assets import script
from viz_core.figures.panels import with_header
from viz_core.language import translate as _
from viz_core.limits import MAX_LINK_BYTES
from viz_core.ui.components.saving import ASKED, MADE, WHATS, Asked, Made

FOLDER = Path(__file__).parent
SCRIPTS = ("save_pen", "save_svg", "save_png", "save_place", "save_menu", "save")
_COMPONENT = st.components.v2.component(
    "attention_lab_save", html='<div class="save">\n</div>', js=script(*SCRIPTS, folder=FOLDER),
)  # its buttons stand at the pictures, so save.css is a style of the whole page (frame.py)


def save_menus(page: str) -> None:
    """Draw it, with the file that was asked for; last in each whole run. page: its name, with which the files' names begin."""
    asked: Asked | None = st.session_state.pop(ASKED, None)
    made: Made | None = st.session_state.pop(MADE, None)
    reply: dict[str, Any] | None = None
    if asked is not None:
        made = made or Made(problem=_("This picture is no longer on the page."))
        # A name says that a button of the page asked for a file, which the script saves at once; its number is the server's.
        reply = {"number": asked.number, "what": asked.what, "name": made.name, "mime": made.mime, "problem": made.problem}
    data = with_header({"page": page, "reply": reply}, made.data if asked is not None and made else b"")
    _COMPONENT(key="lab_save", data=data, on_ask_change=_asked)


def _asked() -> None:
    """The reader has chosen an entry of a menu that the server makes."""
    state: Any = st.session_state.get("lab_save")
    sent = state.get("ask") if isinstance(state, Mapping) else None
    if not isinstance(sent, Mapping):
        return
    key, what, number, link = (sent.get(name) for name in ("key", "what", "number", "link"))
    if not (isinstance(key, str) and what in WHATS and type(number) is int):
        return
    link = link if isinstance(link, str) and len(link) <= 2 * MAX_LINK_BYTES else ""
    st.session_state[ASKED] = Asked(key, what, number, link)
    st.session_state.pop(MADE, None)
