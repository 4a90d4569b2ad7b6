"""Regular inflection of English words. The tables give the irregular forms."""

import re
from collections.abc import Callable

# Verbs stressed on their last syllable, whose consonant is doubled.
_STRESSED_LAST = ("admit", "begin", "control", "forget", "occur", "permit", "prefer", "refer", "regret", "upset")


def plural(noun: str) -> str:
    """Return the plural: cat -> cats, box -> boxes, lady -> ladies, bus stop -> bus stops."""
    return _with_s(noun)


def third(verb: str) -> str:
    """Return the third person singular: walk -> walks, watch -> watches; of "look for" the first word is inflected."""
    return _first(verb, _with_s)


def past(verb: str) -> str:
    """Return the regular past: walk -> walked, like -> liked, stop -> stopped, try -> tried."""
    return _first(verb, lambda word: _with_vowel(word, "ed"))


def ing(verb: str) -> str:
    """Return the -ing form: walk -> walking, like -> liking, stop -> stopping, lie -> lying."""
    return _first(verb, lambda word: f"{word[:-2]}ying" if word.endswith("ie") else _with_vowel(word, "ing"))


def comparative(adjective: str) -> str:
    """Return the comparative: tall -> taller, nice -> nicer, big -> bigger, happy -> happier."""
    return _with_vowel(adjective, "er")


def superlative(adjective: str) -> str:
    """Return the superlative: tall -> tallest, nice -> nicest, big -> biggest, happy -> happiest."""
    return _with_vowel(adjective, "est")


def _first(verb: str, inflect: Callable[[str], str]) -> str:
    """Inflect the first word and leave the others as they are."""
    word, space, rest = verb.partition(" ")
    return f"{inflect(word)}{space}{rest}"


def _with_s(word: str) -> str:
    """Add -s, or -es after a sibilant; a final y after a consonant becomes -ies."""
    if re.search(r"(s|x|z|ch|sh)$", word):
        return f"{word}es"
    return f"{word[:-1]}ies" if re.search(r"[^aeiou]y$", word) else f"{word}s"


def _with_vowel(word: str, ending: str) -> str:
    """Add -ed, -ing, -er or -est: a silent e is dropped, a consonant after a short stressed vowel is doubled, y becomes i."""
    if word.endswith("e") and not (ending == "ing" and re.search(r"[eoy]e$", word)):
        return word[:-1] + ending
    if re.search(r"[^aeiou]y$", word) and ending != "ing":
        return f"{word[:-1]}i{ending}"
    return word + word[-1] * _doubles(word) + ending


def _doubles(word: str) -> bool:
    """Whether the last consonant is doubled: stop and begin, but not open, rain or play."""
    syllables = len(re.findall(r"[aeiouy]+", word.replace("qu", "k")))
    short = bool(re.search(r"[^aeiou][aeiou][^aeiouwxy]$", word.replace("qu", "k")))
    return short and (syllables == 1 or word in _STRESSED_LAST)
