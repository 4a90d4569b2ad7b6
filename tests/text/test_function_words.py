"""Which words of an English sentence are content words."""

import pytest

from viz_core.text import SPECIALS, is_content_word
from viz_core.text.function_words import FUNCTION_WORDS


@pytest.mark.parametrize("sentence", [
    "the DOG CHASED a CAT because it was TIRED .", "She 's not GOING to the MARKET , isn't she ?",
    "I don't KNOW where they're LIVING", "Don’t SLEEP under the BRIDGE !", "the OLD <1> had to ARRIVE at 7:30",
])
def test_content_words_are_those_that_say_something(sentence: str) -> None:
    """In capitals, and a slot and a number."""
    for word in sentence.split():
        content = (word.isupper() and word != "I") or word in ("<1>", "7:30")
        assert is_content_word(word) == is_content_word(word.lower()) == content, word


def test_marks_and_special_tokens_are_none() -> None:
    assert not any(map(is_content_word, [*SPECIALS, "", ".", "“", "(", "'", "'s", "’s"]))
    assert is_content_word("John") and is_content_word("John's"), "a name is one"


def test_the_list_is_in_small_letters_and_without_contractions() -> None:
    assert all(word == word.lower() and word.isalpha() for word in FUNCTION_WORDS)
