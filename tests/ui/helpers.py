"""What the tests of several pages read."""

import json
import struct
from typing import Any

from streamlit.testing.v1 import AppTest


def canvas_headers(at: AppTest) -> list[dict[str, Any]]:
    """What the canvases, grids and lines of a page were given, without their numbers."""
    found = [element.proto.bytes for element in components(at)]
    return [json.loads(data[4 : 4 + struct.unpack("<I", data[:4])[0]]) for data in found if data[4:5] == b"{"]


def components(at: AppTest) -> list[Any]:
    """Canvases and drawings on the page; what the tab holds is not to be seen."""
    return [e for e in at.get("bidi_component") if e.proto.component_name != "attention_lab_tab"]


def by_name(widgets: Any, name: str) -> Any:
    """The widget that shows a setting, whichever of its identities is on the page: "set_seed", "set_seed--1", ..."""
    (found,) = (w for w in widgets if w.key == f"set_{name}" or str(w.key).startswith(f"set_{name}--"))
    return found
