"""What a Save menu asks for is made in the next run, and sent at its end."""

import io
import json
import struct
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import ONE_LAYER, TINY, open_page
from viz_core.tidy import csv_of
from viz_core.ui.components import saving
from viz_core.ui.components.saving import ASKED, Asked, What, snippet

LINK = "http://x/positions?pos_length=50"


def asked(at: AppTest, key: str, what: What) -> tuple[dict[str, Any], bytes]:
    """The reply to a click on an entry of the menu of this picture, and its file."""
    at.session_state[ASKED] = Asked(key, what, 7, LINK)
    return reply(at.run())


def reply(at: AppTest) -> tuple[dict[str, Any], bytes]:
    """What the last run sent to the Save menus, and the file."""
    (menu,) = (e for e in at.get("bidi_component") if e.proto.component_name == "attention_lab_save")
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
    (menu,) = (e for e in at.get("bidi_component") if e.proto.component_name == "attention_lab_save")
    assert b'"reply": null' in menu.proto.bytes and len(menu.proto.bytes) < 200


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
    monkeypatch.setattr(saving, "MAX_EXPORT_BYTES", 1000)
    at = open_page("positions", pos_section="matrix", pos_length="50", **TINY | ONE_LAYER)
    reply, data = asked(at, "pos_table", "csv")
    assert "and the limit is 0 MB" in reply["problem"] and not data


def test_a_long_file_is_written_in_parts_that_are_one_file() -> None:
    frame = pd.DataFrame({"a": range(45_000), "b": ["=x"] * 45_000})
    shares: list[float] = []
    read = pd.read_csv(io.BytesIO(csv_of(frame, shares.append)))
    assert read["a"].tolist() == frame["a"].tolist() and set(read["b"]) == {"'=x"} and shares[-1] == 1 and len(shares) == 3
    assert csv_of(frame[:0]).decode("utf-8-sig") == "a,b\r\n"


def test_imports_stand_in_front_once() -> None:
    text = snippet("x = 1\nfrom a import c\nfrom a import b, c\nimport z\n\n\ny = 2\n")
    assert text == "import z\nfrom a import b, c\n\nx = 1\n\ny = 2\n"
