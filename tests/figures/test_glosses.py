"""Dictionary words beside labels: which labels have some, and that they are shown as text."""

import json
import struct

import numpy as np
import pytest

from viz_core.figures.attention import contribution_bars_html, pack_lines, token_html
from viz_core.figures.glosses import gloss, glossed_words_html, glosses_of, with_gloss
from viz_core.figures.panels import pack_panels, panel

GLOSSES = {"动物": "animal", "因为": "because", "没有": "not, have not", "了": "completed", "坏": "<b>bad</b>"}


def header(data: bytes) -> dict[str, object]:
    found: dict[str, object] = json.loads(data[4 : 4 + struct.unpack("<I", data[:4])[0]])
    return found


@pytest.mark.parametrize(("label", "said"), [
    ("动物", "animal"), ("因为 → 动物", "because → animal"), ("<bos> → 动物", "<bos> → animal"), ("John → Mary", ""),
    ("动物 | John → 了", "animal | John → completed"), ("animal", ""), ("", ""), ("动物动物", ""), ("constructor", ""),
])
def test_a_label_means_what_its_words_mean(label: str, said: str) -> None:
    assert gloss(label, GLOSSES) == said
    assert with_gloss(label, GLOSSES) == (f"{label} ({said})" if said else label)
    assert gloss(label, {}) == ""


def test_a_picture_is_sent_the_glosses_of_its_own_labels() -> None:
    assert glosses_of(["动物", "John", "动物"], GLOSSES) == {"动物": "animal"}
    shown = panel("x", np.zeros((2, 2)), ["<bos>", "动物"], ["the", "了"], row_axis="", col_axis="")
    (entry,) = header(pack_panels([shown], glosses=GLOSSES))["panels"]  # type: ignore[misc]
    assert entry["glosses"] == {"动物": "animal", "了": "completed"} and entry["rows"] == ["<bos>", "动物"]
    (plain,) = header(pack_panels([shown]))["panels"]  # type: ignore[misc]
    assert plain["glosses"] == {} and plain["digest"] != entry["digest"]  # drawn anew when they are switched
    drawn = pack_lines(np.ones((1, 1, 2), np.float32), ["动物 → 了"], ["the", "因为"], [0], None, "", "", (0, 0), glosses=GLOSSES)
    assert header(drawn)["glosses"] == {"动物 → 了": "animal → completed", "因为": "because"}


def test_numbers_of_an_axis_are_no_words() -> None:
    shown = panel("x", np.zeros((1, 2)), row_axis="", col_axis="")
    (entry,) = header(pack_panels([shown], glosses={"1": "one"}))["panels"]  # type: ignore[misc]
    assert entry["glosses"] == {}


def test_glosses_are_text() -> None:
    assert token_html("坏", GLOSSES) == "<bdi>坏</bdi> (&lt;b&gt;bad&lt;/b&gt;)" and token_html("坏") == "<bdi>坏</bdi>"
    line = glossed_words_html(["坏", "<i>"], GLOSSES)
    assert "&lt;b&gt;bad&lt;/b&gt;</small>" in line and "<bdi>&lt;i&gt;</bdi>" in line and "<b>" not in line and "<i>" not in line
    bars = contribution_bars_html(["动物", "John"], np.array([0.5, 0.5]), np.ones(2), 0, glosses=GLOSSES)
    assert "<bdi>动物</bdi> (animal)" in bars and "<bdi>John</bdi> <span" in bars
