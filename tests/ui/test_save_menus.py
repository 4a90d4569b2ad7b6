"""What a Save menu asks for is made from what the picture registered, and sent; the page does not run."""

import codecs
import io
import json
import struct
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import ElementTree

from tests.ui.helpers import ONE_LAYER, TINY, open_page, run_fragment, widget
from viz_core.capture.tidy import csv_bytes
from viz_core.ui.components import export
from viz_core.ui.components.call_code import with_sorted_imports
from viz_core.ui.components.export import EXPORT_FORMATS, FILE, FILE_KEY_PREFIX, REQUEST_KEY, ExportFormat, ExportRequest
from viz_core.ui.pages.positions import page as positions_page
from viz_core.ui.shell import PageContext

LINK = "http://x/positions?pos_length=50"


def asked(at: AppTest, key: str, what: ExportFormat) -> tuple[dict[str, Any], bytes]:
    """The reply to a click on an entry of the menu of this picture, and its file. Only the Save menus run."""
    at.session_state[REQUEST_KEY] = ExportRequest(key, what, 7, LINK)
    return reply(run_fragment(at, "save_menus"))


def downloaded(at: AppTest, button: str) -> tuple[dict[str, Any], bytes]:
    """The reply to a click on a button that exports a file, and the file. button: its key. Only the Save menus run."""
    assert not widget(at, FILE_KEY_PREFIX + button).disabled
    at.session_state[REQUEST_KEY] = ExportRequest(FILE_KEY_PREFIX + button, FILE, 8, LINK)
    return reply(run_fragment(at, "save_menus"))


def reply(at: AppTest | ElementTree) -> tuple[dict[str, Any], bytes]:
    """What the last run sent to the Save menus, and the file."""
    (menu,) = (e for e in at.get("bidi_component") if e.proto.component_name == "attention_lab.save")
    data = menu.proto.bytes
    (length,) = struct.unpack("<I", data[:4])
    header = json.loads(data[4 : 4 + length])
    return header["reply"], data[4 + length :]


@pytest.fixture
def at() -> AppTest:
    return open_page("positions", pos_length="50", **TINY | ONE_LAYER)


def test_a_csv_has_the_numbers_and_the_next_run_has_no_file(at: AppTest) -> None:
    reply, data = asked(at, "pos_waves", "csv")
    assert reply == {"number": 7, "what": "csv", "name": "", "mime": "text/csv", "problem": ""}
    read = pd.read_csv(io.BytesIO(data))
    assert list(read.columns) == ["trace", "x", "y"] and read["trace"].value_counts().max() == 50
    at.run()
    (menu,) = (e for e in at.get("bidi_component") if e.proto.component_name == "attention_lab.save")
    assert b'"reply": null' in menu.proto.bytes and len(menu.proto.bytes) < 200


@pytest.mark.parametrize("what", EXPORT_FORMATS)
def test_a_click_does_not_run_the_page(monkeypatch: pytest.MonkeyPatch, what: ExportFormat) -> None:
    runs, draw = [0], positions_page.SECTIONS["waves"]

    def counted(context: PageContext) -> None:
        runs[0] += 1
        draw(context)

    monkeypatch.setitem(positions_page.SECTIONS, "waves", counted)
    at = open_page("positions", pos_length="50", **TINY | ONE_LAYER)
    drawn = runs[0]
    said, data = asked(at, "pos_waves", what)
    assert said["what"] == what and data and runs[0] == drawn > 0
    at.run()
    assert runs[0] == drawn + 1  # the count sees a run of the page


def test_the_file_of_a_button_does_not_run_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    at = open_page("shapes", **TINY | ONE_LAYER)
    runs: list[str] = []
    monkeypatch.setattr("viz_core.ui.pages.shapes.tensor_table.csv_file_name", lambda setup: runs.append("drawn") or "shapes.csv")
    said, data = downloaded(at, "shapes_csv")
    assert said["name"].startswith("shapes_000") and data.count(b"\n") > 50 and not runs
    at.run()
    assert runs == ["drawn"]


def test_a_long_table_has_a_progress_bar(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "PROGRESS_ROWS", 100)
    shown: list[tuple[str, str]] = []
    bar = export.with_progress_bar
    monkeypatch.setattr(export, "with_progress_bar", lambda text, make: shown.append((text, "bar")) or bar(text, make))
    said, data = asked(at, "pos_waves", "csv")
    assert not said["problem"] and len(shown) == 1 and shown[0][0].startswith("Writing ") and data.count(b"\n") > 100


def test_a_file_that_cannot_be_made_is_a_sentence(at: AppTest) -> None:
    at.session_state[REQUEST_KEY] = ExportRequest(FILE_KEY_PREFIX + "gone", FILE, 9, LINK)
    drawn = run_fragment(at, "save_menus")
    said, data = reply(drawn)
    assert said["problem"] == "This picture is no longer on the page." == drawn.get("toast")[0].value and not data


def test_the_json_beside_it_has_the_link(at: AppTest) -> None:
    about = json.loads(asked(at, "pos_waves", "json")[1])
    assert about["link"] == LINK and about["rows"] > 100 and list(about["columns"]) == ["trace", "x", "y"]


def test_python_is_a_text(at: AppTest) -> None:
    reply, data = asked(at, "pos_waves", "python")
    assert reply["mime"] == "text/x-python" and b"picture = waves_figure(" in data


def test_a_picture_that_is_gone_is_a_sentence(at: AppTest) -> None:
    reply, data = asked(at, "pos_clock", "csv")
    assert reply["problem"] == "This picture is no longer on the page." and not data


def test_a_file_that_would_be_too_large_is_a_sentence(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MAX_EXPORT_BYTES", 1000)
    at = open_page("positions", pos_section="matrix", pos_length="50", **TINY | ONE_LAYER)
    reply, data = asked(at, "pos_table", "csv")
    assert "and the limit is 0 MB" in reply["problem"] and not data


def test_a_csv_with_decimal_commas_has_the_same_numbers(at: AppTest) -> None:
    (reply, data), (__, usual) = asked(at, "pos_waves", "csv_comma"), asked(at, "pos_waves", "csv")
    assert reply["mime"] == "text/csv" and data.startswith(codecs.BOM_UTF8) and "−" not in data.decode()
    assert data.decode("utf-8-sig").splitlines()[0] == "trace;x;y"
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(data), sep=";", decimal=","), pd.read_csv(io.BytesIO(usual)))


def test_decimal_commas_are_those_of_numbers() -> None:
    value = np.array([-0.1, 1e-20, np.nan], np.float32)
    frame = pd.DataFrame({"word": ["a;b", "1.5", "-1"], "value": value, "some": [None, 2.5, "x"]})
    data = csv_bytes(frame, decimal_comma=True).decode("utf-8-sig")
    assert data.splitlines() == ["word;value;some", '"a;b";-0,1;', "1.5;1e-20;2,5", "'-1;;x"]


def test_a_long_file_is_written_in_parts_that_are_one_file() -> None:
    frame = pd.DataFrame({"a": range(45_000), "b": ["=x"] * 45_000})
    shares: list[float] = []
    read = pd.read_csv(io.BytesIO(csv_bytes(frame, shares.append)))
    assert read["a"].tolist() == frame["a"].tolist() and set(read["b"]) == {"'=x"} and shares[-1] == 1 and len(shares) == 3
    assert csv_bytes(frame[:0]).decode("utf-8-sig") == "a,b\r\n"


def test_imports_stand_in_front_once() -> None:
    text = with_sorted_imports("x = 1\nfrom a import c\nfrom a import b, c\nimport z\n\n\ny = 2\n")
    assert text == "import z\nfrom a import b, c\n\nx = 1\n\ny = 2\n"


# ---------------------------------------------------------------- tables of data, and pictures that are HTML

ODD = "<s> $x$ =1+1 שלום 🎉 the the"
TYPED = TINY | ONE_LAYER | {"source": ODD, "att_kind": "encoder", "architecture": "encoder-only"}


def reread(data: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(data), keep_default_na=False)


def safe(words: Iterable[str]) -> list[str]:
    """Words as a file has them, where a spreadsheet would compute some."""
    return [f"'{word}" if word.startswith(("=", "+", "-", "@")) else word for word in words]


def test_a_tables_csv_has_the_rows_of_the_page_and_no_formula() -> None:
    at = open_page("attention", **TYPED | {"att_more": "break", "att_temperature": "2"})
    said, data = asked(at, "att_changes", "csv")
    (shown,), read = [table.value for table in at.dataframe], reread(data)
    assert not said["problem"] and said["mime"] == "text/csv"
    assert read["token"].tolist() == safe(shown["token"])
    assert read["token"].tolist()[6:] == ["'=", "1", "'+", "1", "שלום", "🎉", "the", "the"]
    assert read["change"].astype(np.float32).tolist() == shown["change"].tolist() and read["change"].max() > 0


def test_the_file_of_a_table_has_the_values_for_which_the_page_has_words() -> None:
    at = open_page("norms", **TINY | ONE_LAYER | {"norm_section": "batchnorm"})
    read = reread(asked(at, "norm_contexts", "csv")[1])
    (shown,) = (table.value for table in at.dataframe)
    assert shown["context"].tolist()[0] == "the whole batch, with padding"
    assert read["context"].tolist() == ["batch", "words", "sentence", "token"]
    assert read["batch_norm"].tolist() == shown["batch_norm"].tolist()
    about = json.loads(asked(at, "norm_contexts", "json")[1])
    assert about["link"] == LINK and about["rows"] == 4 and list(about["columns"]) == list(read)


def test_the_table_of_contributions_has_every_key() -> None:
    at = open_page("attention", **TYPED)
    said, data = asked(at, "att_contributions", "csv")
    read = reread(data)
    assert not said["problem"] and read["key_token"].tolist()[6:14] == ["'=", "1", "'+", "1", "שלום", "🎉", "the", "the"]
    assert read["weight"].sum() == pytest.approx(1) and (read["length"] > 0).all()
    products, way = (reread(asked(at, key, "csv")[1]).set_index(name)["value"]
                     for key, name in (("att_products", "feature"), ("att_chain", "step")))
    raw, weight, recorded = (float(way[step]) for step in ("raw", "weight", "recorded"))
    assert products.sum() == pytest.approx(raw) and weight == pytest.approx(recorded, abs=1e-6)
