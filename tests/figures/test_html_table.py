"""A table as HTML: every cell is where it was given, as typed, with the look that was asked for."""

import xml.etree.ElementTree as ET

import pytest

from viz_core.figures.html_table import TableCell, table_html


def cells(html: str, kind: str = "td") -> list[ET.Element]:
    return list(ET.fromstring(html).iter(kind))


def text(cell: ET.Element) -> str:
    return "".join(cell.itertext())


def test_headings_and_rows_stand_in_their_order() -> None:
    html = table_html(("a", "b"), [("1", "2"), ("3", "4")], caption="What it is")
    assert [text(c) for c in cells(html, "th")] == ["a", "b"] and [text(c) for c in cells(html, "caption")] == ["What it is"]
    assert [[text(c) for c in row.iter("td")] for row in cells(html, "tr")] == [[], ["1", "2"], ["3", "4"]]


def test_what_was_typed_is_no_markup() -> None:
    html = table_html(["<i>"], [["<b>&\n$x$"]], caption="<u>")
    assert "&lt;i&gt;" in html and "&lt;u&gt;" in html
    (cell,) = cells(html)
    assert cell.text == "<b>&" and [child.tag for child in cell] == ["br"] and cell[0].tail == "$x$"


def test_a_cell_has_its_look_and_no_other_has_it() -> None:
    looks = ["x", TableCell("x", strong=True), TableCell("a.b", code=True), TableCell("1", bar=0.25)]
    plain, strong, code, bar = cells(table_html(list("abcd"), [looks]))
    assert "font-weight:700" in str(strong.get("style")) and "font-weight:700" not in str(plain.get("style"))
    assert [text(c) for c in code.iter("code")] == ["a.b"] and len(list(code.iter("wbr"))) == 1
    assert ["width:25%;" in str(d.get("style")) for d in bar.iter("div")] == [True] and not list(plain)


@pytest.mark.parametrize(("share", "width"), [(-1.0, "0%"), (0.5, "50%"), (7.0, "100%")])
def test_a_bar_stays_within_its_cell(share: float, width: str) -> None:
    assert f"width:{width};" in table_html(["a"], [[TableCell("1", bar=share)]])


def test_numbers_are_on_the_right_and_a_long_table_scrolls_under_its_headings() -> None:
    html = table_html(("a", "b"), [("x", "1")], right_aligned=[1], height=300)
    assert ["text-align:right" in str(c.get("style")) for c in cells(html)] == [False, True]
    assert "max-height:300px" in html and all("position:sticky" in str(c.get("style")) for c in cells(html, "th"))
    assert "position:sticky" not in table_html(("a", "b"), [("x", "1")])


def test_a_row_has_a_cell_for_each_heading() -> None:
    with pytest.raises(ValueError, match="argument 2 is"):
        table_html(("a", "b"), [("only one",)])


def test_every_heading_heads_a_column_and_none_is_empty() -> None:
    html = table_html(["", "a"], [["x", "1"]])
    assert [(text(c), c.get("scope")) for c in cells(html, "th")] == [("a", "col")]
    assert [len(list(row)) for row in cells(html, "tr")] == [2, 2]


def test_a_table_that_scrolls_down_is_reached_by_keys() -> None:
    for height, stop in ((0, None), (400, "0")):
        assert ET.fromstring(table_html(["a"], [["1"]], height=height)).get("tabindex") == stop
