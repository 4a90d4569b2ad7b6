"""Every file of the app as a visitor gets it: downloaded, reread by other readers and compared with the page."""

from __future__ import annotations

import io
from ast import literal_eval
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import numpy as np
import pandas as pd

from tests.browser.helpers import go, keyed, linked, open_page, slider
from tests.browser.test_save_menus import saved
from viz_core.figures.panels import MAX_ROWS

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytest_plugins = ["tests.browser.one_page"]
ODD = {"source": "=1+1 <s> $x$ שלום 👩‍👩‍👧", "target": "=SUM(A1) </text> & 猫 \"quoted\""}  # a formula first


def download(page: Page, key: str) -> bytes:
    with page.expect_download() as waiting:
        keyed(page, key).get_by_role("button").click()
    return waiting.value.path().read_bytes()


def unquoted(text: str) -> str:
    """Without the apostrophe that keeps a spreadsheet from computing it."""
    return text.removeprefix("'")


def tokens(page: Page, side: str) -> list[str]:
    """The tokens at one end of the lines, as the page shows them."""
    return page.locator(f".column.{side} button bdi").all_text_contents()


def value(drawn: Locator, row: int, col: int) -> float:
    """What the pointer reads at a cell."""
    left, top, wide, high = map(float, drawn.get_attribute("data-grid").split(","))
    drawn.hover(position={"x": left + (col + 0.5) * wide, "y": top + (row + 0.5) * high})
    at_row, at_col, read = drawn.get_attribute("data-hover").split(",")
    assert (int(at_row), int(at_col)) == (row, col)
    return float(read)


def test_the_files_are_what_this_visitors_page_shows(
    serve: Callable[..., str], turn_to: Callable[..., Page], new_page: Callable[..., Page]
) -> None:
    link = f"{serve()}/attention?" + urlencode({"preset": "000", "att_kind": "cross", "att_heads": "0,2", "attn_head": "2"} | ODD)
    page, visitor = turn_to(link), open_page(new_page(), link)
    slider(visitor, "n_heads").press("ArrowLeft")  # another visitor goes on to another model
    linked(visitor, "n_heads=3")
    a_heads_numbers(page)
    for each in (page, visitor):
        go(each, each.url.replace("/attention?", "/shapes?"))
    the_stage_table(page, 4)
    the_stage_table(visitor, 3)


def a_heads_numbers(page: Page) -> None:
    rows, cols, drawn = tokens(page, "left"), tokens(page, "right"), page.locator('canvas[data-title="weights"]')
    seen = {(r, c): value(drawn, r, c) for r, c in ((0, 0), (2, 5), (len(rows) - 1, len(cols) - 1))}

    read = pd.read_csv(io.BytesIO(saved(page, "att_matrix", "csv")[1]), keep_default_na=False, dtype={"value": np.float32})
    row_labels, col_labels = (read[name].map(unquoted) for name in ("row_label", "column_label"))
    assert list(row_labels[:: len(cols)]) == rows and list(col_labels[: len(cols)]) == cols and "'=" in set(read["column_label"])
    assert cols[0] == "=" and "שלום" in cols and "👩‍👩‍👧" in cols and len(rows) <= MAX_ROWS
    table = read.set_index(["row", "column"])["value"]
    assert {at: f"{float(table[at]):.6g}" for at in seen} == {at: f"{x:.6g}" for at, x in seen.items()}


def the_stage_table(page: Page, heads: int) -> None:
    shapes = page.locator(".body .row .cell.shape").all_text_contents()
    read = pd.read_csv(io.BytesIO(download(page, "lab_file_shapes_csv")))
    weights = read["shape"][read["stage"] == "encoder.layers.0.self_attn.weights"].iloc[0]
    assert [" × ".join(map(str, literal_eval(shape))) or "a single number" for shape in read["shape"]] == shapes
    assert f" {heads}," in weights
    assert read["max"].notna().sum() > 100
