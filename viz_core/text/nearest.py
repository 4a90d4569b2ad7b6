"""The known words that somebody may have meant by a word that is not known; none is better than a bad one.

A slip of the pen leaves a word recognisable (Damerau 1964, "A technique for computer detection and correction of spelling errors":
four of five misspelt words have one letter too many, too few or wrong, or two letters swapped). In a short word one letter makes
another word, so the shorter a word, the fewer slips count:

    letters     what may have happened, behind the same first letter
    3           two neighbours were swapped                                       teh → the
    4           and a letter was typed twice, or only once, or one of a           aple → apple, wich → which
                function word is missing
    5           and a letter is missing                                           peple → people
    6, 7        and a letter is wrong                                             animel → animal
    8 or more   any two edits                                                     vegtabels → vegetables

Of those, the least edits count. If there are none, a word may be an inflection of a known one: cats → cat. In Chinese the last
character says what a thing is: 小猫 → 猫.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from viz_core.text.function_words import FUNCTION_WORDS
from viz_core.text.splitting import kind

MOST = 3  # words that are found
LETTER_MISSING, LETTER_WRONG, TWO_EDITS = 5, 6, 8  # letters of the shortest word of which this may be
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly")


@lru_cache(maxsize=4096)
def nearest(word: str, words: tuple[str, ...], *, name: bool = False) -> tuple[str, ...]:
    """Up to three known words that this one may stand for, the first ones of `words`. word: in lower case.

    name: whether it may as well be a name, as with a capital at the beginning of a sentence: then a short word is a slip of a
    function word only (Teh, Waht), and none is taken for an inflection (Woods).
    """
    if kind(word[:1] or " ") == "H":
        return _chinese(word, words)
    if not word.replace("'", "").replace("-", "").isalpha():
        return ()
    slips: dict[tuple[int, bool], list[str]] = {}
    for known in _similar(word, words, 2 if len(word) >= TWO_EDITS else 1):
        short = name and len(word) < LETTER_WRONG and known not in FUNCTION_WORDS
        if not short and is_slip(word, known):
            slips.setdefault((distance(word, known), not _same_letters(word, known)), []).append(known)
    if slips:
        return tuple(slips[min(slips)][:MOST])
    return () if name else tuple(base for base in dict.fromkeys(_bases(word)) if base in _known(words))[:MOST]


def is_slip(word: str, known: str) -> bool:
    """Whether somebody who writes this word may mean the known one; see the table above."""
    edits = distance(word, known)
    if len(word) < 3 or word[:1] != known[:1] or edits > (2 if len(word) >= TWO_EDITS else 1):
        return False
    if len(word) >= TWO_EDITS or Counter(word) == Counter(known):
        return True
    if len(word) == 3:
        return False
    if _same_letters(word, known):
        return True
    if len(word) < len(known):
        return len(word) >= LETTER_MISSING or known in FUNCTION_WORDS
    return len(word) == len(known) and len(word) >= LETTER_WRONG


def distance(a: str, b: str) -> int:
    """The edits from one word to the other: a letter put in, left out or replaced, or two neighbours swapped."""
    before, row = list[int](), list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        new = [i]
        for j, other in enumerate(b, start=1):
            least = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                least = min(least, before[j - 2] + 1)
            new.append(least)
        before, row = row, new
    return row[-1]


def _same_letters(word: str, known: str) -> bool:
    """Whether no letter but one of a pair is missing, wrong or too many."""
    return Counter(word) == Counter(known) or _typed_twice(word, known) or _typed_twice(known, word)


def _typed_twice(longer: str, shorter: str) -> bool:
    """Whether the longer word is the other one with one letter doubled."""
    return any(longer[:i] + longer[i + 1 :] == shorter for i in range(1, len(longer)) if longer[i - 1] == longer[i])


def _bases(word: str) -> Iterator[str]:
    """What an English word may be an inflection of: stopped → stop, dancing → dance, cities → city."""
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem == word or len(stem) < 3:
            continue
        yield stem
        if ending in ("ed", "ing"):
            yield stem + "e"
        if stem[-1] == stem[-2]:
            yield stem[:-1]
        if stem[-1] == "i":
            yield stem[:-1] + "y"


def _chinese(word: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Known words of at most one character less or more: what this word ends in, and what begins with it."""
    ends = tuple(known for known in (word[1:],) if known in _known(words))
    begins = (known for known in words if len(known) == len(word) + 1 and known.startswith(word))
    return (*ends, *begins)[:MOST]


# --- Thousands of words at once -----------------------------------------------------------------------------------------
def _similar(word: str, words: tuple[str, ...], most: int) -> list[str]:
    """The words that may be at most so many edits away: all the others have too few letters in common."""
    lengths, holders = _letters(words)
    shared = np.zeros(len(words), dtype=np.int64)  # [V]
    for letter, n in Counter(word).items():
        if letter in holders:
            places, counts = holders[letter]
            shared[places] += np.minimum(n, counts)
    return [words[i] for i in np.flatnonzero(shared >= np.maximum(len(word), lengths) - most)]


@lru_cache(maxsize=64)
def _known(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words)


@lru_cache(maxsize=64)
def _letters(words: tuple[str, ...]) -> tuple[np.ndarray, Mapping[str, tuple[np.ndarray, np.ndarray]]]:
    """The length of each word [V], and for each letter the words that have it and how often."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, word in enumerate(words):
        for letter, n in Counter(word).items():
            found.setdefault(letter, []).append((place, n))
    holders = {letter: tuple(np.array(pairs).T) for letter, pairs in found.items()}
    return np.array(list(map(len, words))), holders
