"""The components' HTML, scripts and styles, read as package files and so without importing Streamlit.

    Path("mask.html").write_text(component_page("canvas", pack_panels([mask_panel]), "Mask"))
"""

import base64
import html
import json
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, TypedDict

from viz_core.figures import theme
from viz_core.messages import browser_translations, language
from viz_core.messages.collect import messages_in_script
from viz_core.stages import AXES

FOLDER = files("viz_core") / "ui" / "components"
# Each component that draws a picture: the CSS class of its root element, and its scripts. The folder of a component has its name;
# `common` has what several of them use. A component that can show its numbers as a table has the script `common/values_table`, and
# that table's style.
PICTURES = {
    "canvas": (
        "lab", ("canvas/canvas", "canvas/labels", "canvas/sign", "canvas/figure", "canvas/legend", "canvas/lookup",
                "common/hatching", "canvas/table", "common/values_table")),
    "clock": ("clocks", ("clock/clock",)),
    "curves": ("curves", ("curves/curves", "curves/zoom", "curves/table", "common/values_table")),
    "diagram": ("drawing", ("diagram/diagram",)),
    "heads": ("heads", ("heads/heads", "heads/table", "common/hatching", "common/values_table")),
    "lines": ("view", ("lines/lines", "lines/table", "common/values_table")),
}


class ComponentAssets(TypedDict):
    """The HTML, style and script of a component."""

    html: str
    css: str
    js: str


def stylesheet(name: str) -> str:
    """Return a style sheet. name: its path below the folder of the components, without the ending."""
    return (FOLDER / f"{name}.css").read_text("utf-8")


@lru_cache(maxsize=16)
def script(*names: str, folder: Traversable = FOLDER) -> str:
    """Return the JavaScript module of a component, joined from files of a folder. names: their paths below it, without the ending.

    It starts with the colours of the theme, the meanings of the axis letters, the translations of the messages, and the code
    that all components share.
    """
    parts = [(FOLDER / "common" / "common.js").read_text("utf-8"), *((folder / f"{name}.js").read_text("utf-8") for name in names)]
    messages = [entry.message for part in parts for entry in messages_in_script(part, "").entries]
    forms, rule = browser_translations(messages)
    words = json.dumps(forms, ensure_ascii=False).replace("<", "\\u003c")  # a file's text may hold "</script>"
    letters = json.dumps(AXES, ensure_ascii=False)
    front = [
        f"const THEME = {json.dumps(theme.palette())};", f"const LETTERS = {letters};",
        f"const WORDS = {{ forms: {words}, form: (n) => Number({rule}) }};",
    ]
    return "\n".join([*front, *parts])


def component(name: str) -> ComponentAssets:
    """Return the `html`, `css` and `js` of one of `PICTURES`."""
    root, scripts = PICTURES[name]
    looks = [stylesheet(part) for part in (f"{name}/{name}", "canvas/lookup", "common/values_table") if part in scripts]
    return {"html": f'<div class="{root}">\n</div>', "css": "\n".join(looks), "js": script(*scripts)}


def classic_script(name: str) -> str:
    """Return a component's script without its export: it defines the function `component`."""
    return component(name)["js"].replace("export default function", "const component = function", 1)


def script_source(name: str) -> str:
    """Return the source of one script file. name: as for `stylesheet`."""
    return (FOLDER / f"{name}.js").read_text("utf-8")


def page_css() -> str:
    """Return the style of a standalone page: the app's colours, light or dark by the reader's system setting."""
    light, dark = (
        "".join(f"--st-{name.replace('_', '-')}:{colour};" for name, colour in theme.page_colours(dark).items())
        for dark in (False, True)
    )
    return f""":root {{ {light} --st-font: {theme.FONT}; color-scheme: light dark }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ color: var(--st-text-color); background: var(--st-background-color) }}"""


def html_page(body: str, title: str) -> str:
    """Return a standalone light HTML page with a picture that is HTML."""
    look = theme.page_colours(False)
    return f"""<!doctype html>
<html lang="{language()}"><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>
body {{ margin: 1rem; font: {theme.FONT_SIZE}px {theme.FONT}; color: {look["text_color"]}; background: {look["background_color"]};
  color-scheme: light }}
</style>
<main>{body}</main>
</html>
"""


def component_page(name: str, data: bytes | Mapping[str, Any], title: str) -> str:
    """Return a standalone HTML page with one picture, for a notebook or a file.

    name: one of `PICTURES`. data: the data of that component, from `pack_panels`, `pack_grids`, `pack_lines` or `pack_curves`,
    or a plain mapping. The page is light or dark by the reader's system setting.
    """
    parts, packed = component(name), isinstance(data, bytes)
    sent = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    said = json.dumps(sent, ensure_ascii=False).replace("<", "\\u003c")  # typed words may hold "</script>"
    read = f"Uint8Array.from(atob({said}), (c) => c.charCodeAt(0))" if packed else said
    draw = classic_script(name)
    return f"""<!doctype html>
<html lang="{language()}"><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>
{page_css()}
body {{ margin: 1rem; font: {theme.FONT_SIZE}px var(--st-font) }}
{parts["css"]}
</style>
<main>
<h1>{html.escape(title)}</h1>
{parts["html"]}
</main>
<script type="module">
{draw}
component({{ data: {read}, parentElement: document, setStateValue() {{}}, setTriggerValue() {{}} }});
</script>
</html>
"""
