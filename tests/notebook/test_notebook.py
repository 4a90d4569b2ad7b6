"""Pictures and tables in a notebook: the notebook runs, its pictures are the app's, and the package works where it is installed."""

import ast
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest

from tests.architecture.test_imports import ROOT
from tests.model.small import small
from viz_core.capture import Capture
from viz_core.figures.assets import component_page
from viz_core.figures.attention import head_panel
from viz_core.figures.panels import pack_panels
from viz_core.notebook import Picture, show
from viz_core.run import run

NOTEBOOK = Path(__file__).with_name("attention.ipynb")


@pytest.fixture(scope="module")
def capture() -> Capture:
    return run(small(source_vocab_size=60), ["<s> $x$ שלום", "b"], ["x y", "z"])


def shown(notebook: Path) -> list[Any]:
    """Run every code cell in order; what each of them shows, None for one that shows nothing."""
    names: dict[str, Any] = {}
    found = []
    for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, notebook.name, "exec"), names)
        found.append(None if last is None else eval(compile(ast.Expression(last.value), notebook.name, "eval"), names))
    return found


def test_the_notebook_runs_and_shows_pictures_tables_and_curves() -> None:
    found = shown(NOTEBOOK)
    kinds = [Capture, Picture, Picture, Picture, pd.DataFrame, pd.DataFrame, pd.DataFrame, go.Figure]
    assert len(found) == len(kinds) and all(map(isinstance, found, kinds))
    assert found[4]["value"].between(0, 1).all() and len(found[4]) == found[0]["ids.target"].shape[1]


def test_one_head_is_the_page_s_picture(capture: Capture) -> None:
    picture = show(capture, "cross", layer=1, head=1, item=1)
    panel = head_panel(capture, "cross", 1, 1, 1)
    assert picture.page == component_page("canvas", pack_panels([panel]), "Cross-attention, layer 1, head 1")


def test_a_picture_is_shown_in_a_frame_and_saved_as_a_file(capture: Capture, tmp_path: Path) -> None:
    picture = show(capture, "encoder.layers.0.resid_post", item=1)
    frame = picture._repr_html_()
    assert frame.startswith('<iframe srcdoc="') and "<script" not in frame and 'sandbox="allow-scripts"' in frame
    picture.save(tmp_path / "picture.html")
    assert (tmp_path / "picture.html").read_text("utf-8") == picture.page


@pytest.mark.parametrize(("what", "how", "said"), [
    ("crossed", {}, "list\\(capture\\)"), ("cross", {"layer": 9}, "layer=9"), ("cross", {"head": -1}, "head=-1"),
    ("", {"item": 2}, "item=2"),
])
def test_what_the_run_lacks_is_named(capture: Capture, what: str, how: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        show(capture, what, **how)


def test_a_kind_that_the_model_lacks_is_named() -> None:
    with pytest.raises(ValueError, match="it has encoder"):
        show(run(small(architecture="encoder-only"), ["a b"]), "cross")


def test_it_is_importable_where_it_is_installed(tmp_path: Path) -> None:
    """`pip install -e .` in an environment of its own, which only borrows the dependencies' files."""
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    there = next((tmp_path / "fresh").glob("lib/*/site-packages"))
    (there / "borrowed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    source = tmp_path / "checkout"
    source.mkdir()
    for name in ("viz_core", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).symlink_to(ROOT / name)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "-e", source]
    subprocess.run(install, check=True, cwd=tmp_path, capture_output=True, timeout=300)
    code = (
        "from viz_core.run import run; from viz_core.config import TransformerConfig; from viz_core.notebook import show\n"
        "capture = run(TransformerConfig(), ['a b'], ['c'], device='cpu')\n"
        "print(len(capture.summary()), show(capture)._repr_html_()[:7])"
    )
    said = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert said.stdout.split()[1:] == ["<iframe"], said.stderr
