"""Pictures as pages of their own: drawn by a browser from one file, made where Streamlit cannot be imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.figures.test_assets import ROOT, WITHOUT_STREAMLIT

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_matrix_is_drawn_from_a_file(new_page: Callable[..., Page], tmp_path: Path, theme: str) -> None:
    written = subprocess.run([sys.executable, "-c", WITHOUT_STREAMLIT], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    file, page = tmp_path / "picture.html", new_page(theme=theme)
    file.write_text(written, encoding="utf-8")
    page.goto(file.as_uri())
    canvas = page.locator("canvas[data-drawn]")
    assert canvas.get_attribute("data-theme") == theme and canvas.get_attribute("data-rows") == "3"
    assert page.locator("figcaption").inner_text() == "Who </script> attends" and page.title() == "An <b>identity</b>"
    canvas.hover(position={"x": canvas.bounding_box()["width"] - 20, "y": canvas.bounding_box()["height"] - 10})
    assert "猫" in page.locator(".readout").inner_text()
    assert page.locator("i").count() == 0, "what was typed became markup"
