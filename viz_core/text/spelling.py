"""Spelling suggestions: known words that an unknown word may stand for. No suggestion is better than a wrong one.

Four of five misspelt words have one letter too many, too few or wrong, or two letters swapped (Damerau 1964, "A technique for
computer detection and correction of spelling errors"). A single edit turns a short word into a different word, so fewer edits are
allowed in shorter words. The first letter has to be the same. Each row also allows the edits of the rows above it:

    letters     allowed edits
    3           two adjacent letters swapped                                      teh → the
    4           a letter doubled, or a double letter single; a letter missing     aple → apple, wich → which
                from a function word
    5           a letter missing                                                  peple → people
    6, 7        a letter wrong                                                    animel → animal
    8 or more   any two edits                                                     vegtabels → vegetables

The words with the fewest edits are suggested. If there are none, a word may be an inflection of a known one: cats → cat. In
Chinese, the last character of a noun is usually its head: 小猫 → 猫.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from viz_core.text.function_words import FUNCTION_WORDS
from viz_core.text.splitting import cluster_kind

MAX_SUGGESTIONS = 3  # for one word
LETTER_MISSING, LETTER_WRONG, TWO_EDITS = 5, 6, 8  # the number of letters from which each edit is allowed
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly")


@lru_cache(maxsize=4096)
def suggest_words(word: str, words: tuple[str, ...], *, may_be_name: bool = False) -> tuple[str, ...]:
    """Return up to three known words that a word, in lower case, may stand for, in the order of `words`.

    may_be_name: whether the word may also be a name, such as a capitalized word at the beginning of a sentence. Then a short word
    is corrected to a function word only (Teh, Waht), and no word is taken for an inflection (Woods).
    """
    if cluster_kind(word[:1] or " ") == "H":
        return _suggest_chinese(word, words)
    if not word.replace("'", "").replace("-", "").isalpha():
        return ()
    slips: dict[tuple[int, bool], list[str]] = {}
    for known in _candidates(word, words, 2 if len(word) >= TWO_EDITS else 1):
        short = may_be_name and len(word) < LETTER_WRONG and known not in FUNCTION_WORDS
        if not short and is_misspelling(word, known):
            slips.setdefault((edit_distance(word, known), not _same_letters(word, known)), []).append(known)
    if slips:
        return tuple(slips[min(slips)][:MAX_SUGGESTIONS])
    return () if may_be_name else tuple(base for base in dict.fromkeys(_bases(word)) if base in _word_set(words))[:MAX_SUGGESTIONS]


def is_misspelling(word: str, known: str) -> bool:
    """Return whether a word may be a misspelling of a known one; see the table in the module docstring."""
    edits = edit_distance(word, known)
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


def edit_distance(a: str, b: str) -> int:
    """Return the Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, replacements and swaps."""
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
    """Return whether the words differ only in the order of letters or in one doubled letter."""
    return Counter(word) == Counter(known) or _has_doubled_letter(word, known) or _has_doubled_letter(known, word)


def _has_doubled_letter(longer: str, shorter: str) -> bool:
    """Return whether the longer word is the shorter one with one letter doubled."""
    return any(longer[:i] + longer[i + 1 :] == shorter for i in range(1, len(longer)) if longer[i - 1] == longer[i])


def _bases(word: str) -> Iterator[str]:
    """Yield words that an English word may be an inflection of: stopped → stop, dancing → dance, cities → city."""
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


def _suggest_chinese(word: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return known words: the word without its first character, and those that add one character at its end."""
    ends = tuple(known for known in (word[1:],) if known in _word_set(words))
    begins = (known for known in words if len(known) == len(word) + 1 and known.startswith(word))
    return (*ends, *begins)[:MAX_SUGGESTIONS]


# --- A fast filter for thousands of words -------------------------------------------------------------------------------
def _candidates(word: str, words: tuple[str, ...], max_edits: int) -> list[str]:
    """Return the words that share enough letters to be at most `max_edits` edits away."""
    lengths, holders = _letter_index(words)
    shared = np.zeros(len(words), dtype=np.int64)  # [V]
    for letter, n in Counter(word).items():
        if letter in holders:
            places, counts = holders[letter]
            shared[places] += np.minimum(n, counts)
    return [words[i] for i in np.flatnonzero(shared >= np.maximum(len(word), lengths) - max_edits)]


@lru_cache(maxsize=64)
def _word_set(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(words)


@lru_cache(maxsize=64)
def _letter_index(words: tuple[str, ...]) -> tuple[np.ndarray, Mapping[str, tuple[np.ndarray, np.ndarray]]]:
    """Return the length of each word [V], and for each letter the indices of the words that contain it and its count in each."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, word in enumerate(words):
        for letter, n in Counter(word).items():
            found.setdefault(letter, []).append((place, n))
    holders = {letter: tuple(np.array(pairs).T) for letter, pairs in found.items()}
    return np.array(list(map(len, words))), holders
