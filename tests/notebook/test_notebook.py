"""Pictures and tables in a notebook: the notebook runs, and its pictures are the app's."""

import ast
import json
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest

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
