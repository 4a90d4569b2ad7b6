"""Files to take away: each is of what the page showed, and keeps no run alive."""

import ast
import gc
import io
import json
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd
import pytest
import streamlit as st

from tests.ui.helpers import ONE_LAYER, TINY, open_page
from tests.ui.test_save_menus import asked, downloaded
from viz_core.analysis.attention import attention_path
from viz_core.capture import Capture
from viz_core.run import run
from viz_core.run_file import open_run
from viz_core.ui.components import export
from viz_core.ui.pages.attention import downloads
from viz_core.ui.shell.setup import DEFAULT_SOURCE, DEFAULT_TARGET, from_link, to_query

ROOT = Path(__file__).parents[2]
PAGES = {"attention", "shapes", "training"}  # the pages with buttons for files; the tests below try them, and test_training.py
SMALL = TINY | ONE_LAYER
A = to_query(from_link(SMALL | {"source": "another text"})[0])


def test_the_pages_with_files_are_known() -> None:
    """A page that gets a file belongs into PAGES, and its file into a test."""
    modules = {path: ast.parse(path.read_text(encoding="utf-8"))
               for path in (*(ROOT / "viz_core/ui/pages").rglob("*.py"), *(ROOT / "pages").glob("*.py"))}
    assert {page_of(path) for path, tree in modules.items() if calls(tree, "export_button")} == PAGES
    assert not [path for path, tree in modules.items() if calls(tree, "download_button")]  # a server would keep its bytes


def page_of(module: Path) -> str:
    """A page is a module, or a package in viz_core/ui/pages."""
    package = module.parent
    return package.name if package.parent == ROOT / "viz_core/ui/pages" else module.stem


def calls(tree: ast.AST, name: str) -> bool:
    return any(name in (getattr(node, "attr", ""), getattr(node, "id", "")) for node in ast.walk(tree))


def test_the_table_of_shapes_is_that_of_the_run() -> None:
    at = open_page("shapes", **SMALL | {"n_heads": "1"})
    said, data = downloaded(at, "shapes_csv")
    assert said["name"].startswith("shapes_000_") and "_n_heads=1_" in said["name"] and said["name"].endswith(".csv")
    capture = run(from_link(SMALL | {"n_heads": "1"})[0].config, [DEFAULT_SOURCE], [DEFAULT_TARGET], device="cpu")
    read = pd.read_csv(io.BytesIO(data), keep_default_na=False)
    assert read["stage"].tolist() == list(capture) and read["shape"].tolist() == [str(x.shape) for x in capture.values()]
    assert float(read["max"].iloc[-1]) == float(capture["loss"])


def test_a_heads_numbers_reread_by_pandas_are_the_runs() -> None:
    odd = "<s> $x$ =1+1 שלום 🎉 the the"
    at = open_page("attention", **SMALL | {"source": odd, "att_kind": "encoder", "attn_head": "1"})
    reply, data = asked(at, "att_matrix", "csv")
    read = pd.read_csv(io.BytesIO(data), keep_default_na=False)
    capture = run(from_link(SMALL)[0].config, [odd], [DEFAULT_TARGET], device="cpu")
    weights, tokens = capture["encoder.layers.0.self_attn.weights"][0, 1], capture.tokens("source")[0]
    assert not reply["problem"] and list(read) == ["panel", "row", "row_label", "column", "column_label", "value", "masked"]
    said = [f"'{token}" if token in "=+" else token for token in tokens]  # no spreadsheet computes it
    assert "'=" in said and {"שלום", "🎉", "$"} <= set(said) and said.count("the") == 2
    assert read["row_label"].tolist() == np.repeat(said, len(said)).tolist() and read["column_label"].tolist() == said * len(said)
    np.testing.assert_array_equal(read["value"].astype(np.float32).to_numpy().reshape(weights.shape), weights)
    np.testing.assert_array_equal(read["masked"], np.zeros(weights.size, bool))


def test_the_numbers_of_all_heads_are_the_runs() -> None:
    reply, data = asked(open_page("attention", **SMALL), "att_heads", "csv")
    read = pd.read_csv(io.BytesIO(data), keep_default_na=False)
    capture = run(from_link(SMALL)[0].config, [DEFAULT_SOURCE], [DEFAULT_TARGET], device="cpu")
    for kind in ("encoder", "decoder", "cross"):
        own = read[read["attention"] == kind]["weight"].astype(np.float32).to_numpy()
        np.testing.assert_array_equal(own, capture[f"{attention_path(kind, 0)}.weights"][0].ravel())
    assert not reply["problem"] and set(read["query_label"]) >= {"<bos> → 猫", "cat"}


def test_a_table_of_all_heads_that_would_be_too_large_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MAX_EXPORT_BYTES", 1000)
    reply, data = asked(open_page("attention", **SMALL), "att_heads", "csv")
    assert "and the limit is 0 MB" in reply["problem"] and not data


def clicked(file: str, **params: str) -> tuple[dict[str, Any], bytes]:
    """What a click on one of Attention's files sends."""
    return downloaded(open_page("attention", **SMALL | params), f"att_save_{file}")


def test_the_whole_run_and_all_heads_are_of_what_was_shown(tmp_path: Path) -> None:
    typed = {"seed": "4", "source": "=1+1 <s> שלום"}
    for kind in ("npz", "safetensors"):
        said, data = clicked(kind, **typed)
        assert said["name"] == f"run.{kind}" and not said["problem"]
        (tmp_path / said["name"]).write_bytes(data)
        read = open_run(tmp_path / said["name"])
        expected = run(read.config, ["=1+1 <s> שלום"], [DEFAULT_TARGET], seed=4)
        assert read.seed == 4 and list(read) == list(expected) and read.tokens("source") == expected.tokens("source")
        np.testing.assert_array_equal(read["logits"], expected["logits"])
    said, data = clicked("page", **typed)
    assert said["name"] == "attention.html" and data.count(b"</script>") == 1 and b"\\u05e9" in data and b"Attention: " in data


def test_each_click_sends_one_file() -> None:
    at = open_page("attention", **SMALL)
    assert downloaded(at, "att_save_page")[0]["number"] and b'"reply": null' in next(
        e.proto.bytes for e in at.run().get("bidi_component") if e.proto.component_name == "attention_lab.save")


def test_the_files_of_a_patched_run_are_of_that_run(tmp_path: Path) -> None:
    kept = to_query(from_link(SMALL | {"source": "a b c"})[0])
    said = []
    for patch in ({}, {"patch": "encoder.residual.0.2"}):
        (tmp_path / "run.npz").write_bytes(clicked("npz", source="a b d", kept=kept, **patch)[1])
        said.append(open_run(tmp_path / "run.npz")["encoder.layers.0.norm_ffn.out"][0])
    donor = run(from_link(SMALL)[0].config, ["a b c"], [DEFAULT_TARGET])["encoder.layers.0.norm_ffn.out"][0]
    np.testing.assert_array_equal(said[1][2], donor[2])
    assert np.abs(said[0][2] - donor[2]).max() > 0.1
    np.testing.assert_array_equal(said[0][:2], said[1][:2])
    with np.load(tmp_path / "run.npz") as file:
        about = json.loads(str(file["about"]))
    assert from_link(dict(parse_qsl(about["setup"])))[0].url_param("patch") == ("encoder", "residual", 0, None, 2)


def test_a_file_that_would_be_too_large_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MAX_EXPORT_BYTES", 1000)
    at = open_page("attention", **SMALL)
    said = [c.value for c in at.caption if "and the limit is 0 MB" in c.value]
    assert len(said) == 3 and said[0].startswith("All heads")


# ---------------------------------------------------------------- what a session keeps

SHOWN = [
    ("step_by_step", {"stage": "encoder.layers.0.self_attn.weights"}), ("attention", {"att_more": "rollout"}), ("home", {}),
    ("attention", {"kept": A}), ("attention", {"att_more": "table"}), ("attention", {"att_more": "break", "att_temperature": "2"}),
    ("masks", {"mask_section": "effect"}), ("positions", {"pos_section": "sentence"}), ("norms", {"norm_section": "batchnorm"}),
    ("shapes", {"shapes_columns": "statistics"}), ("shapes", {"kept": A}), ("step_by_step", {"kept": A}),
    ("step_by_step", {"kept": A, "walk_look": "parting"}),
]


@pytest.mark.parametrize(("page", "params"), SHOWN)
def test_a_session_keeps_no_run(page: str, params: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Callbacks, files and arguments stay in a session; runs are the stores', which are bounded."""
    arrays: dict[tuple[int, str], weakref.ref[Any]] = {}
    make = Capture.__init__

    def noted(self: Capture, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        arrays.update({(len(arrays), name): weakref.ref(x.base) for name, x in self.items() if x.base is not None})

    monkeypatch.setattr(Capture, "__init__", noted)
    st.cache_resource.clear()
    at = open_page(page, **SMALL | params)
    assert len(arrays) > 50
    st.cache_resource.clear()
    gc.collect()
    assert [name for name, array in arrays.items() if array() is not None] == []
    assert at.session_state["lab_setup"]  # the session is still there
