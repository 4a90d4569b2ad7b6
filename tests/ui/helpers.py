"""What the tests of several pages share: how a page is opened, found sound, and read; and how a widget is found."""

import base64
import json
import re
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree

from viz_core.config import CHOICES
from viz_core.presets import PRESETS
from viz_core.ui.shell import PAGES
from viz_core.ui.shell.layout.explained_terms import TERM_LINK
from viz_core.ui.shell.session.state import ALL_PARTS

APP = Path(__file__).parents[2] / "app.py"
Open = Callable[..., AppTest]

# ---------------------------------------------------------------- small models, as links say them

SIZES = {"n_heads": "2", "d_model": "16", "d_ff": "8", "n_encoder_layers": "2", "n_decoder_layers": "2"}
TINY = {"preset": "000", "qk_dim": "16"} | SIZES
ONE_LAYER = {"n_encoder_layers": "1", "n_decoder_layers": "1"}
FEW_WORDS = {"max_len": "100", "source_vocab_size": "50", "target_vocab_size": "50"}
POSITIONS = TINY | {"n_decoder_layers": "1", "max_len": "20", "source_vocab_size": "200", "target_vocab_size": "200"}


def tiny(preset: str = "000", **more: str) -> dict[str, str]:
    """A link to a small model of a preset."""
    narrow = {"qk_dim": "16"} if PRESETS[preset].config.qk_dim else {}
    return {"preset": preset} | SIZES | ONE_LAYER | FEW_WORDS | narrow | more


# ---------------------------------------------------------------- opening a page


def start(**params: str) -> AppTest:
    """A new session of the app at a link, not run yet. `sound` then knows that it is at Home."""
    at = AppTest.from_file(APP, default_timeout=120)
    at.query_params.update(params)
    at.session_state[ALL_PARTS] = True  # without a browser nobody scrolls
    at.page = "home"
    return at


def go(at: AppTest, page: str) -> AppTest:
    """The session at another page, run."""
    at.page = page
    return at.switch_page(f"pages/{page}.py").run()


def open_page(page: str, **params: str) -> AppTest:
    """A page as its link opens it, run and sound: `open_page("masks", mask_section="leak")`."""
    return sound(go(start(**params), page))


def sound(at: AppTest) -> AppTest:
    """The run reached its end without an error, and the session is still at the page that was opened."""
    assert not at.exception, [e.message for e in at.exception]
    assert not at.error, [e.value for e in at.error]
    assert [title.value for title in at.title] == [str(PAGES[at.page].question)]
    return at


def run_fragment(at: AppTest, key: str) -> ElementTree:
    """What a run of one fragment alone draws, as after a click in it; the rest of the page stays. key: of the fragment."""
    (fragment,) = at._fragment_storage.resolve_target(key)
    page = at._tree
    with patch("streamlit.testing.v1.local_script_runner.RerunData", partial(RerunData, fragment_id_queue=[fragment])):
        drawn = at.run()._tree
    at._tree = page
    return drawn


# ---------------------------------------------------------------- finding a widget


def widget(at: Any, name: str) -> Any:
    """The one widget of this key, or of this setting or view, whichever of its identities is on the page: "set_seed--1".

    at: a session, or a part of its page.
    """
    found = widgets(at, name)
    assert len(found) == 1, f"{len(found)} widgets are called {name}"
    return found[0]


def widgets(at: Any, name: str) -> list[Any]:
    """As `widget`: all of them, which is none where the page has none."""
    nodes = [*at.sidebar, *at.main] if isinstance(at, AppTest) else list(at)
    pattern = re.compile(rf"{re.escape(name)}|set_{re.escape(name)}(--\d+)?")
    return [node for node in nodes if hasattr(node, "proto") and pattern.fullmatch(str(getattr(node, "key", "")))]


# ---------------------------------------------------------------- reading a page


def words(at: AppTest) -> str:
    """Everything that is written on the page, its tables and other HTML included; explained terms as plain words."""
    kinds = (at.markdown, at.caption, at.info, at.warning, at.success, at.text, at.code)
    cells = [str(cell) for table in at.dataframe for cell in table.value.to_numpy().ravel()]
    return without_term_links("\n".join([*(e.value for kind in kinds for e in kind), *bodies(at), *cells]))


def without_term_links(markdown: str) -> str:
    """Markdown without the links of `with_explained_terms`."""
    return re.sub(rf'\[([^\[\]]*)\]\({TERM_LINK}\w+ "[^"]*"\)', r"\1", markdown)


def bodies(at: AppTest) -> list[str]:
    """Each piece of HTML on the page."""
    return [h.proto.body for h in at.get("html") if not h.proto.body.startswith("<style>:root")]


def table(at: AppTest) -> list[list[str]]:
    """The rows of the page's one table, as HTML."""
    (body,) = [body for body in bodies(at) if "<table" in body]
    rows = re.findall(r"<tr>(.*?)</tr>", body.partition("<tbody>")[2])
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]


def frame(at: AppTest) -> pd.DataFrame:
    """The page's one table of data, as its DataFrame."""
    (found,) = at.dataframe
    return found.value


def charts(at: AppTest) -> list[dict[str, Any]]:
    """The Plotly figures of the page."""
    return [json.loads(c.proto.spec) for c in at.get("plotly_chart")]


def numbers(values: Any) -> np.ndarray:
    """A Plotly array, sent as base64 or as a list."""
    if isinstance(values, list):
        return np.array(values)
    return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])


def components(at: AppTest) -> list[Any]:
    """Canvases and drawings on the page, without what stands around every page."""
    around = ("attention_lab.tab", "attention_lab.frame", "attention_lab.save", "attention_lab.visibility")
    return [e for e in at.get("bidi_component") if e.proto.component_name not in around]


def canvas_headers(at: AppTest) -> list[dict[str, Any]]:
    """What the canvases, grids and lines of a page were given, without their numbers."""
    found = [element.proto.bytes for element in components(at)]
    return [json.loads(data[4 : 4 + struct.unpack("<I", data[:4])[0]]) for data in found if data[4:5] == b"{"]


def panels(at: AppTest) -> dict[str, np.ndarray]:
    """Title → the values that were sent, of every canvas on the page."""
    found = {}
    for data in filter(None, (component.proto.bytes for component in components(at))):
        size = int.from_bytes(data[:4], "little")
        for p in json.loads(data[4 : 4 + size]).get("panels", ()):
            rows, cols = p["shape"]
            found[p["title"]] = np.frombuffer(data, "<f4", rows * cols, 4 + size + p["values"]).reshape(rows, cols)
    return found


def link(at: AppTest, *without: str) -> dict[str, str]:
    """What the address says, some parameters left out."""
    found = {name: value if isinstance(value, str) else value[-1] for name, value in at.query_params.items()}
    return {name: value for name, value in found.items() if name not in without}


def status(at: AppTest) -> str:
    """The status line of the run: architecture, parameters, tokens, milliseconds."""
    (found,) = [c.value for c in at.caption if " parameters" in c.value and " ms on " in c.value]
    return found


def said(at: AppTest) -> str:
    """Every note and warning."""
    return "\n".join(e.value for e in (*at.warning, *at.info))


def own_link(at: AppTest) -> dict[str, str]:
    """What the address says, the untrained default left out."""
    return {k: v for k, v in link(at).items() if (k, v) != ("preset", "000")}


def here(at: AppTest) -> str:
    """The stage that the walk is at."""
    return at.session_state["lab_setup"].stage


def typed(at: AppTest, side: str) -> str:
    """The text in the box of a side."""
    return widget(at, side).value


def formula(at: AppTest) -> str:
    """What stands between $$ on the page."""
    (found,) = [m.value.split("$$")[1].strip() for m in at.markdown if "$$" in m.value]
    return found

def positions_at(section: str = "waves", **params: str) -> AppTest:
    """A section of the Positions page on a small model with a short position table, run."""
    return open_page("positions", **POSITIONS | {"pos_section": section} | params)


def real(text: str) -> float:
    """A number as the page sets it."""
    return float(text.replace("−", "-"))


def clock_data(at: AppTest) -> dict[str, Any]:
    (found,) = [d for c in components(at) if (d := json.loads(c.proto.json or "{}")) and "faces" in d]
    return found


def models() -> list[tuple[str, str, str]]:
    """Architecture, norm and position: every pair of values of two of them meets, in far fewer models than all combinations."""
    architectures, norms, positions = CHOICES["architecture"], CHOICES["norm"], CHOICES["position"]
    return [(architecture, norms[(i + p) % len(norms)], position)
            for p, position in enumerate(positions) for i, architecture in enumerate(architectures)]
