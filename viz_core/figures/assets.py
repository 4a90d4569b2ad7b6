"""The components' markup, scripts and styles, as files of the package: read without `viz_core.ui`, and so without Streamlit.

    Path("waves.html").write_text(document("canvas", pack([values_panel(waves, "Waves")]), "Waves"))
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
from viz_core.language import language, translations
from viz_core.language.collect import from_script
from viz_core.stages import AXES

FOLDER = files("viz_core") / "ui" / "components"
# Each component that draws a picture: the class of the element in which it lives, and the scripts that it is written in. One
# that shows its numbers as a table on request has `values_table`, and the table's style with it.
PICTURES = {
    "canvas": (
        "lab", ("canvas", "canvas_labels", "canvas_sign", "canvas_figure", "canvas_legend", "canvas_lookup", "hatching",
                "panel_table", "values_table")),
    "clock": ("clocks", ("clock",)),
    "curves": ("curves", ("curves", "curves_zoom", "curves_table", "values_table")), "diagram": ("drawing", ("diagram",)),
    "heads": ("heads", ("heads", "heads_table", "hatching", "values_table")),
    "lines": ("view", ("lines", "lines_table", "values_table")),
}


class Component(TypedDict):
    """What a browser needs of a component."""

    html: str
    css: str
    js: str


def style(name: str) -> str:
    """A component's style sheet."""
    return (FOLDER / f"{name}.css").read_text("utf-8")


@lru_cache(maxsize=16)
def script(*names: str, folder: Traversable = FOLDER) -> str:
    """A component's JavaScript module, of one or several files in a folder; the theme's colours, the axis letters in words,
    the translations of its messages and what all components share are in front.
    """
    parts = [(FOLDER / "common.js").read_text("utf-8"), *((folder / f"{name}.js").read_text("utf-8") for name in names)]
    messages = [entry.message for part in parts for entry in from_script(part, "").entries]
    forms, rule = translations(messages)
    words = json.dumps(forms, ensure_ascii=False).replace("<", "\\u003c")  # a file's text may hold "</script>"
    letters = json.dumps(AXES, ensure_ascii=False)
    front = [
        f"const THEME = {json.dumps(theme.palette())};", f"const LETTERS = {letters};",
        f"const WORDS = {{ forms: {words}, form: (n) => Number({rule}) }};",
    ]
    return "\n".join([*front, *parts])


def component(name: str) -> Component:
    """The `html`, `css` and `js` of one of `PICTURES`."""
    root, scripts = PICTURES[name]
    looks = [style(part) for part in (name, "canvas_lookup", "values_table") if part in scripts]
    return {"html": f'<div class="{root}">\n</div>', "css": "\n".join(looks), "js": script(*scripts)}


def plain(name: str) -> str:
    """A component's script where there are no modules: it defines `component`."""
    return component(name)["js"].replace("export default function", "const component = function", 1)


def source(name: str) -> str:
    """A script of this folder as it was written."""
    return (FOLDER / f"{name}.js").read_text("utf-8")


def colours() -> str:
    """The style of a page of its own: the app's colours, light or dark as its reader's system is."""
    light, dark = (
        "".join(f"--st-{name.replace('_', '-')}:{colour};" for name, colour in theme.page(dark).items()) for dark in (False, True)
    )
    return f""":root {{ {light} --st-font: {theme.FONT}; color-scheme: light dark }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ color: var(--st-text-color); background: var(--st-background-color) }}"""


def html_page(shown: str, title: str) -> str:
    """A whole HTML page with a picture that is HTML, on light paper."""
    look = theme.page(False)
    return f"""<!doctype html>
<html lang="{language()}"><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>
body {{ margin: 1rem; font: {theme.FONT_SIZE}px {theme.FONT}; color: {look["text_color"]}; background: {look["background_color"]};
  color-scheme: light }}
</style>
<main>{shown}</main>
</html>
"""


def document(name: str, data: bytes | Mapping[str, Any], title: str) -> str:
    """A whole HTML page with one picture, which needs no server: for a notebook, or a file to open in a browser.

    name: one of `PICTURES`. data: what that component draws, as `pack`, `pack_grids`, `pack_lines` or `pack_curves` wrote
    it, or a plain mapping. The page is light or dark as its reader's system is.
    """
    parts, packed = component(name), isinstance(data, bytes)
    sent = base64.b64encode(data).decode() if isinstance(data, bytes) else data
    said = json.dumps(sent, ensure_ascii=False).replace("<", "\\u003c")  # typed words may hold "</script>"
    read = f"Uint8Array.from(atob({said}), (c) => c.charCodeAt(0))" if packed else said
    draw = plain(name)
    return f"""<!doctype html>
<html lang="{language()}"><meta charset="utf-8"><title>{html.escape(title)}</title>
<style>
{colours()}
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
