"""The components' scripts and styles, as files of the package: read without `viz_core.ui`, and so without Streamlit."""

import json
from functools import lru_cache
from importlib.resources import files

from viz_core.figures import theme

FOLDER = files("viz_core") / "ui" / "components"


def style(name: str) -> str:
    """A component's style sheet."""
    return (FOLDER / f"{name}.css").read_text("utf-8")


@lru_cache(maxsize=16)
def script(*names: str) -> str:
    """A component's JavaScript module, of one or several files; the theme's colours and what all share are in front."""
    parts = [(FOLDER / f"{name}.js").read_text("utf-8") for name in ("common", *names)]
    return "\n".join([f"const THEME = {json.dumps(theme.palette())};", *parts])
