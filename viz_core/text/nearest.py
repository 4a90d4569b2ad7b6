"""The known words that are spelt most like a typed one, as `difflib` finds them, out of thousands."""

from collections import Counter
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache

import numpy as np

LEAST = 0.6  # of 1: how alike two words have to be; the default of difflib


@lru_cache(maxsize=4096)
def nearest(word: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Up to three words like this one, the most alike first.

    `difflib` compares letter by letter, so it reads only words that have enough letters in common: two words are alike by twice
    the letters that match, divided by the letters of both, and no more letters match than both have.
    """
    lengths, holders = _letters(words)
    shared = np.zeros(len(words), dtype=np.int64)  # [V]
    for letter, n in Counter(word).items():
        if letter in holders:
            places, counts = holders[letter]
            shared[places] += np.minimum(n, counts)
    possible = 2 * shared >= LEAST * (len(word) + lengths) - 1e-9  # no word is lost to rounding
    return tuple(get_close_matches(word, [words[i] for i in np.flatnonzero(possible)], n=3, cutoff=LEAST))


@lru_cache(maxsize=64)
def _letters(words: tuple[str, ...]) -> tuple[np.ndarray, Mapping[str, tuple[np.ndarray, np.ndarray]]]:
    """The length of each word [V], and for each letter the words that have it and how often."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, word in enumerate(words):
        for letter, n in Counter(word).items():
            found.setdefault(letter, []).append((place, n))
    holders = {letter: tuple(np.array(pairs).T) for letter, pairs in found.items()}
    return np.array(list(map(len, words))), holders
