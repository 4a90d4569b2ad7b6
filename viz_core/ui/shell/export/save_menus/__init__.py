"""The Save menu of each picture: PNG and SVG are made in the browser, CSV, JSON and Python on the server.

The component is drawn once on each page, at the end of a full run. Its script finds the pictures and adds a menu to each. For a
CSV, JSON or Python file it sends the key of the picture (`ask`), and likewise for the file of an `export_button`. The component is
a fragment: only it runs then. It makes the file from what the picture or the button registered while it was drawn
(`viz_core.ui.components.export`), and sends it to the script, which saves it.
"""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from viz_core.config.limits import MAX_LINK_BYTES
from viz_core.figures.assets import script
from viz_core.figures.panels import with_header
from viz_core.messages import translate as _
from viz_core.ui.components.export import (
    EXPORT_FORMATS,
    FILE,
    FILE_KEY_PREFIX,
    REQUEST_KEY,
    ExportRequest,
    ExportResult,
    make_file,
    registered_export,
)
from viz_core.ui.escape import escaped
from viz_core.ui.streamlit_internals import Component

_COMPONENT = Component(
    "save", html='<div class="save">\n</div>', js=script("shell/export/save_menus/save_menus.js"),
)  # its buttons are outside the component, so save_menus.css is a style of the whole page (layout/frame)


@st.fragment(key="save_menus")
def save_menus(page: str) -> None:
    """Draw the component with the requested file. page: its name, the first part of file names."""
    asked: ExportRequest | None = st.session_state.pop(REQUEST_KEY, None)
    made, reply = ExportResult(), None
    if asked is not None:
        export = registered_export(asked.key)
        made = ExportResult(error=_("This picture is no longer on the page.")) if export is None else make_file(asked, export)
        if made.error and asked.file_format == FILE:
            st.toast(escaped(made.error))  # no menu is open that could show it
        # The script saves the reply to a button of the page at once, and only once for each number.
        reply = {"number": asked.number, "what": asked.file_format, "name": made.name, "mime": made.mime, "problem": made.error}
    data = with_header({"page": page, "file_key": FILE_KEY_PREFIX, "reply": reply}, made.data)
    _COMPONENT(key="lab_save", data=data, on_ask_change=_on_ask)


def _on_ask() -> None:
    """Store the request for a file that the server makes."""
    state: Any = st.session_state.get("lab_save")
    sent = state.get("ask") if isinstance(state, Mapping) else None
    if not isinstance(sent, Mapping):
        return
    key, what, number, link = (sent.get(name) for name in ("key", "what", "number", "link"))
    if not (isinstance(key, str) and what in (*EXPORT_FORMATS, FILE) and type(number) is int):
        return
    link = link if isinstance(link, str) and len(link) <= 2 * MAX_LINK_BYTES else ""
    st.session_state[REQUEST_KEY] = ExportRequest(key, what, number, link)
