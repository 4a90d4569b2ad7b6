"""What Home and Writing say of a translation that lost words of its source."""

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.helpers import open_page, words
from viz_core.messages.number_format import percent
from viz_core.weights.catalogue import catalogue

LAKE = "The moon came up slowly over the quiet lake."
UNIVERSITY = "I study Chinese at a university in London."
RIGHT = (
    "the dog chased the cat", "John loves Mary", "where is my dog ?", "I love you", "my name is John",
    "My mother cooks dinner and my father washes the dishes.", "When I grow up, I want to be a pilot.",
    "The animal didn't cross the street because it was too tired.",
)
SAYS = "The alignment heads find no word of the translation for"


def captions(at: AppTest) -> list[str]:
    return [one.value for one in at.caption if SAYS in one.value]


@pytest.mark.parametrize(("source", "lost"), [
    (UNIVERSITY, "“university”, so its meaning may be missing."), (LAKE, "“quiet”, “lake”, so their meaning may be missing."),
])
def test_home_names_the_words_that_a_translation_lost(source: str, lost: str) -> None:
    """The translator writes neither in Chinese."""
    at = open_page("home", source=source)
    (said,) = captions(at)
    assert f"{SAYS} {lost} Probability: " in said
    (help_text,) = [one.help for one in at.caption if SAYS in one.value]
    told = catalogue()["translator"].lost_words
    assert told is not None and percent(told.detection_rate) in help_text and percent(told.false_alarm_rate) in help_text


def test_nothing_is_said_of_right_translations() -> None:
    for source in RIGHT:
        assert captions(open_page("home", source=source)) == [], source


def test_of_several_sentences_the_selected_one_counts() -> None:
    assert captions(open_page("home", source=f"I love you\n{LAKE}")) == []
    assert len(captions(open_page("home", source=f"I love you\n{LAKE}", item="1"))) == 1


def test_nothing_is_said_with_other_settings_than_in_training() -> None:
    assert captions(open_page("home", source=LAKE, scale_scores="off")) == []


def test_nothing_is_said_of_weights_that_tell_too_badly() -> None:
    names = [name for name, card in catalogue().items() if card.config.has_cross_attention and card.lost_words is None]
    for name in names:
        at = open_page("home", source=LAKE, weights=name)
        assert "Probability: " in words(at) and captions(at) == [], name


@pytest.mark.parametrize("strategy", ["greedy", "sampling", "beam"])
def test_writing_says_the_same_of_its_text(strategy: str) -> None:
    at = open_page("writing", source=UNIVERSITY, write_strategy=strategy, write_temperature="0.1")
    assert "The geometric mean of their probabilities is " in words(at)
    (said,) = captions(at)
    assert f"{SAYS} “university”" in said
    assert captions(open_page("writing", source="the dog chased the cat", write_strategy=strategy, write_temperature="0.1")) == []


def test_writing_of_a_language_model_loses_no_word() -> None:
    assert captions(open_page("writing", weights="english", target="the cat sat on the mat")) == []


def test_nothing_is_said_of_a_text_that_was_cut_off() -> None:
    """What is not written yet is not lost."""
    cut, whole = (captions(open_page("writing", source=LAKE, write_most=most)) for most in ("3", "64"))
    assert cut == [] and len(whole) == 1
