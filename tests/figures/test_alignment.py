"""Attention against the truth as a table: what a card measured is what is written, cell by cell."""

import xml.etree.ElementTree as ET
from itertools import chain

import pytest

from viz_core.figures.alignment import alignment_table
from viz_core.weights.card import Card
from viz_core.weights.catalogue import catalogue

TRANSLATORS = [card for card in catalogue().values() if "aer" in card.measures]


def tables(html: str) -> list[ET.Element]:
    return list(ET.fromstring(html).iter("table"))


@pytest.mark.parametrize("card", TRANSLATORS, ids=lambda card: card.name)
def test_the_numbers_are_the_cards(card: Card) -> None:
    html = alignment_table(card.measures)
    assert f"{card.measures['sentences']:,} held-out sentences" in html
    for table, name, form in zip(tables(html), ("aer", "referent"), ("{:.3f}", "{:.0%}"), strict=True):
        best = [[1 - x if name == "aer" else x for x in row] for row in card.measures[name]["predicts"]]
        rows = [[cell.text for cell in row.findall("td")[1:]] for row in table.iter("tr")][1:]
        assert rows == [[form.format(x) for x in row] for row in best]
        widths = [[str(bar.get("style")) for bar in row.iter("div")] for row in table.iter("tr")][1:]
        for style, x in zip(chain.from_iterable(widths), chain.from_iterable(best), strict=True):
            assert f"width:{x:.0%};" in style  # the fuller the better


def test_without_an_alignment_there_is_nothing_to_show() -> None:
    assert alignment_table({"loss": 1.0, "sentences": 5}) == ""


def test_the_translators_were_measured() -> None:
    assert len(TRANSLATORS) == 5  # Post-LN in two sizes, Pre-LN, learned positions, none
