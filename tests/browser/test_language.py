"""The scripts' own texts in another language: fields, nodes within a sentence, and plurals, as a browser draws them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from babel.messages.catalog import Catalog

from tests.figures.test_assets import ROOT
from viz_core.messages import LANGUAGE_ENV
from viz_core.messages.__main__ import po_text

if TYPE_CHECKING:
    from playwright.sync_api import Page

LINES = """
import numpy as np
from viz_core.figures.assets import component_page
from viz_core.figures.attention import pack_lines
weights = np.full((6, 2, 2), 0.5, np.float32)
sent = pack_lines(weights, ["I", "you"], ["a", "b"], range(6), ("query", 1), "Lines", "id", (0, 0))
print(component_page("lines", sent, "Lines"))
"""
ATTENDS, MORE = "head {head}: {token} attends to {tokens}", ("and {n} more head", "and {n} more heads")
GERMAN = [
    (ATTENDS, "{token} schaut auf {tokens} (Kopf {head})"), ("queries", "Anfragen"),
    (MORE, ("und ein weiterer", "und {n} weitere Köpfe")),
]


@pytest.mark.parametrize(("entries", "said", "more", "names"), [
    ([], "head 0: “you” attends to “a” 0.500, “b” 0.500", "and 2 more heads", ["queries", "keys"]),
    (GERMAN, "“you” schaut auf “a” 0.500, “b” 0.500 (Kopf 0)", "und 2 weitere Köpfe", ["Anfragen", "keys"]),
])
def test_lines_speak_the_language(
    new_page: Callable[..., Page], tmp_path: Path, entries: list[tuple[Any, Any]], said: str, more: str, names: list[str]
) -> None:
    catalogue, file, page = tmp_path / "de.po", tmp_path / "lines.html", new_page()
    catalog = Catalog("de")
    for message, forms in entries:
        catalog.add(message, forms)
    catalogue.write_bytes(po_text(catalog))
    made = subprocess.run([sys.executable, "-c", LINES], cwd=ROOT, capture_output=True, text=True, check=True,
                          env=os.environ | {LANGUAGE_ENV: str(catalogue)})
    file.write_text(made.stdout, encoding="utf-8")
    page.goto(file.as_uri())
    readout = page.locator(".readout > div")
    assert readout.first.inner_text().strip() == said
    assert readout.last.inner_text() == more
    assert page.locator(".names span").all_inner_texts() == names
    assert page.locator("html").get_attribute("lang") == "de"
