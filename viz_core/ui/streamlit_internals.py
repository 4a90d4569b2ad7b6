"""Every use of Streamlit that its documentation does not cover, with the reason and the version that it was tested with.

Each function works without the internals that it uses, and then logs one warning that says what is missing.
`tests/ui/test_streamlit_internals.py` names the function that a new version of Streamlit breaks.
"""

import hashlib
import json
import logging
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

logger = logging.getLogger(__name__)
PACKAGE = "attention_lab"  # the first part of the names of our components


@cache
def _asset_folder() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of this process from which Streamlit serves scripts. It is deleted with the process."""
    return tempfile.TemporaryDirectory(prefix="attention-lab-")


class Component:
    """A component whose script the browser loads once, as a file: call it to mount it, with the arguments of Streamlit's component.

    Streamlit sends an inline script and style again with every run, up to 100 KB a component. Files are only for installed packages
    that name a folder of assets in their pyproject.toml; here the folder is registered at run time (Streamlit 1.67). The style is
    part of the script, so that nothing is drawn before it applies. Without that registration, both are sent inline.
    """

    def __init__(self, name: str, *, html: str, js: str, css: str = "") -> None:
        self.name, self.html, self.js, self.css = name, html, js, css
        self._mount: Callable[..., Any] | None = None

    def __call__(self, **arguments: Any) -> Any:
        try:
            self._register()
        except Exception:  # whatever a new version changes
            logger.warning("The scripts of components are sent with every run: this version of Streamlit registers no files.")
            self._mount = st.components.v2.component(f"{PACKAGE}_{self.name}", html=self.html, css=self.css or None, js=self.js)
            self._register = lambda: None  # type: ignore[method-assign]
        assert self._mount is not None
        return self._mount(**arguments)

    def _register(self) -> None:
        """Register the script with this server, unless it knows it already."""
        from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
        from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

        manager, key = get_bidi_component_manager(), f"{PACKAGE}.{self.name}"
        if self._mount is not None and manager.get_component_asset_root(key) is not None:
            return
        root = Path(_asset_folder().name)
        manager.register_from_manifest(ComponentManifest(PACKAGE, "0", [ComponentConfig(self.name, self.name)]), self._write(root))
        self._mount = st.components.v2.component(key, html=self.html, js=f"{self.name}-{self._digest}.js")

    @property
    def _digest(self) -> str:
        return hashlib.sha256(f"{self.js}\0{self.css}".encode()).hexdigest()[:16]

    def _write(self, root: Path) -> Path:
        """Write the script into a folder of its own below `root`, under a name that changes with its content. Return `root`."""
        folder = root / self.name
        folder.mkdir(exist_ok=True)
        (folder / f"{self.name}-{self._digest}.js").write_text(self._module(), encoding="utf-8")
        return root

    def _module(self) -> str:
        """Return the script, which first adds its style to the place where it draws."""
        if not self.css:
            return self.js
        mount = self.js.replace("export default function", "const mountComponent = function", 1)
        return f"""{mount}
const STYLE_TEXT = {json.dumps(self.css, ensure_ascii=False)};
export default function (component) {{
  const root = component.parentElement;
  if (!root.querySelector("style[data-lab]")) {{
    const style = document.createElement("style");
    style.dataset.lab = "";
    style.textContent = STYLE_TEXT;
    root.prepend(style);
  }}
  return mountComponent(component);
}}
"""
