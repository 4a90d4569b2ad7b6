"""The suggestions for an unknown word are those that difflib finds among all words."""

from difflib import get_close_matches
from random import Random

import pytest

from viz_core.text import Vocabulary
from viz_core.text.nearest import nearest
from viz_core.weights.catalogue import catalogue


def misspelt(rng: Random, words: tuple[str, ...]) -> str:
    """A word with some letters lost, doubled, changed or moved."""
    letters = list(rng.choice(words))
    for _ in range(rng.randint(0, 3)):
        place = rng.randrange(len(letters))
        letters[place : place + 1] = rng.choice(([], [letters[place]] * 2, [rng.choice("aeimnst人大")], letters[place::-1]))
        if not letters:
            break
    return "".join(letters) or "?"


@pytest.mark.parametrize("side", ["source", "target"])
def test_suggestions_are_those_of_difflib_among_all_words(side: str) -> None:
    tokenizer = catalogue()["translator"].tokenizers()[side]
    assert isinstance(tokenizer, Vocabulary)
    words = tokenizer.words
    rng, some = Random(0), 0
    for typed in [*(misspelt(rng, words) for _ in range(60)), "", "zzz", "x" * 500, "😀", "don't", "th-e", words[-1]]:
        expected = tuple(get_close_matches(typed, words, n=3))
        assert nearest(typed, words) == expected, typed
        some += bool(expected)
    assert some > 30


def test_words_at_the_limit_of_likeness_are_found() -> None:
    assert nearest("abcxy", ("abczw", "abzwv", "a")) == ("abczw",) == tuple(get_close_matches("abcxy", ["abczw", "abzwv", "a"]))
