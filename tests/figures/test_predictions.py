"""The bars of the next words as data: lengths, order, names and the line of a blind guess."""

import html
from typing import Any

import plotly.graph_objects as go
import pytest

from viz_core.analysis.summary import Prediction
from viz_core.figures import theme
from viz_core.figures.predictions import next_words

FOUND = Prediction(2, (7, 3, 11, 12), (0.5, 0.2, 0.1, 0.1), 3, 0.2)
WORDS = ["cat", "the", "the", "<s>"]


def figure(words: list[str] = WORDS, heading: str = "after x", **how: Any) -> go.Figure:
    return next_words(FOUND, words, 1000, heading, **how)


def test_bars_are_the_probabilities_best_on_top() -> None:
    (bars,) = figure().data
    assert bars.orientation == "h"
    assert list(bars.x) == [0.5, 0.2, 0.1, 0.1]
    assert list(bars.y) == [0, 1, 2, 3]
    low, high = figure().layout.yaxis.range
    assert low > 3 and high < 0  # turned over: 0 is on top
    assert list(bars.text) == ["50.00%", "20.00%", "10.00%", "10.00%"]
    assert bars.marker.color == theme.HEAD_COLOURS[0]


def test_equal_words_are_not_merged() -> None:
    axis = figure().layout.yaxis
    assert list(axis.tickvals) == [0, 1, 2, 3]
    assert list(axis.ticktext) == ["cat", "the", "the", "&lt;s&gt;"]


@pytest.mark.parametrize("text", ["<b>x</b>", "$x$", "<a_href='x:y'>z</a>", "&lt;", '"', "<br>"])
def test_typed_words_are_data(text: str) -> None:
    made = figure([text, *WORDS[1:]], f"after “{text}”")
    (bars,) = made.data
    for drawn in (made.layout.yaxis.ticktext[0], bars.customdata[0][0], made.layout.title.text):
        assert "<" not in drawn and ">" not in drawn
    assert html.unescape(made.layout.yaxis.ticktext[0]) == text
    assert html.unescape(made.layout.title.text) == f"after “{text}”"


@pytest.mark.parametrize(("word", "drawn"), [("\x00", "␀"), ("", "∅"), ("\u202e", "U+202E"), ("x" * 50, "x" * 23 + "…")])
def test_unseen_and_long_words_are_shown(word: str, drawn: str) -> None:
    assert figure([word, *WORDS[1:]]).layout.yaxis.ticktext[0] == drawn


def test_hover_names_word_id_and_exact_value() -> None:
    (bars,) = figure().data
    assert [list(row) for row in bars.customdata] == [["cat", 7], ["the", 3], ["the", 11], ["&lt;s&gt;", 12]]
    assert "%{x:.6f}" in bars.hovertemplate


def test_a_blind_guess_is_drawn_and_named() -> None:
    made = figure()
    (line,) = made.layout.shapes
    assert line.x0 == line.x1 == 1 / 1000
    assert "1/1,000" in made.layout.xaxis.title.text


def test_the_axis_starts_at_zero() -> None:
    assert figure().layout.xaxis.rangemode == "tozero"


@pytest.mark.parametrize("dark", [False, True])
def test_the_theme_is_the_pages(dark: bool) -> None:
    assert figure(dark=dark).layout.template == go.layout.Template(theme.template(dark))


def test_the_input_is_left_as_it_was() -> None:
    words = list(WORDS)
    figure(words)
    assert words == WORDS and Prediction(2, (7, 3, 11, 12), (0.5, 0.2, 0.1, 0.1), 3, 0.2) == FOUND
