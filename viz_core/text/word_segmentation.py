"""Segment typed text into the words of a vocabulary, where spaces and punctuation do not mark the end of a word.

    t-shirt, twenty-two     known words of several pieces of `split_runs`
    John's, the boys'       a word and 's, if 's is a word of the vocabulary
    7:30, $5, Jean-Luc      unknown words of several pieces, if the vocabulary has slots for them
    Mr. Brown               a title with its full stop; the vocabulary has it without
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import regex

from viz_core.text.splitting import split_runs

POSSESSIVE = "'s"
TITLES = frozenset({"mr", "mrs", "ms", "dr", "prof", "st"})
"""Titles before a name, whose full stop does not end a sentence."""
APOSTROPHES, OPENING = ("'", "’"), ("'", "‘", "’")
_ENDING = regex.compile(r"['’][sS]\Z")

# A letter, digit or _ outside Chinese and Japanese, with its combining marks.
_LETTER = r"(?:[[\p{L}\p{N}_]--[\p{Han}\p{Hiragana}\p{Katakana}ーｰ]][\p{M}\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+)"
_UNLISTED_WORD = rf"""
    (?:(?<![\p{{L}}\p{{N}}_\p{{GCB=Prepend}}])|(?<=[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}]))
    (?:\p{{Sc}}(?=\p{{Nd}}))?                                                    # $5
    {_LETTER}++
    (?:(?:[-‐‑/@&+] | (?<=\p{{Nd}})[:.,](?=\p{{Nd}}) | (?<=[\p{{L}}\p{{M}}])['’](?=\p{{L}})) {_LETTER}++)*+
    (?:(?<=\p{{Nd}})[%‰](?![\p{{M}}\p{{GCB=Extend}}\p{{GCB=ZWJ}}]))?+             # 5%
"""
_EDGES = (
    (r"(?:(?<![\p{L}\p{N}\p{M}_]|[\p{L}\p{N}\p{M}_][-‐‑/@&+])|(?<=\p{Han}))",
     r"(?:(?![\p{L}\p{N}\p{M}\p{GCB=Extend}\p{GCB=ZWJ}_]|[-‐‑/@&+][\p{L}\p{N}])|(?=\p{Han}))"),
    ("", r"(?![\p{M}\p{GCB=Extend}\p{GCB=ZWJ}])"),  # Chinese has no word boundaries
)
_END = rf"(?:(?<!\p{{Han}}){_EDGES[0][1]}|(?<=\p{{Han}}){_EDGES[1][1]})"
_HAN = regex.compile(r"\p{Han}")
_ONE = regex.compile(r"[A-Za-z0-9_]++|\p{Han}++")  # certainly one piece: a fast test for most of a vocabulary


class Piece(NamedTuple):
    """A token as typed, and the word to look up for it: "'s" for the ’ of boys’, "Mr" for "Mr."."""

    token: str
    word: str


def multi_piece_pattern(words: Iterable[str], *, include_unlisted: bool) -> regex.Pattern[str] | None:
    """Return a pattern for the words of several pieces, or None if there are none. include_unlisted: also for unknown words."""
    several = (w for w in words if w != POSSESSIVE and not _ONE.fullmatch(w) and len(split_runs(w)) > 1)
    longest_first = sorted(several, key=len, reverse=True)
    found = []
    for is_han in (False, True):  # one pattern for each kind of boundary: boundaries in every word compile slowly
        if same := [w for w in longest_first if bool(_HAN.match(w)) is is_han]:
            either = "|".join(regex.escape(w, special_only=False, literal_spaces=False) for w in same)
            found.append(f"{_EDGES[is_han][0]}(?:{either}){_END}")
    found += [_UNLISTED_WORD] if include_unlisted else []
    return regex.compile("|".join(found), regex.VERBOSE | regex.IGNORECASE | regex.V1) if found else None


def segment(text: str, pattern: regex.Pattern[str] | None, known: Callable[[str], bool]) -> Iterator[Piece]:
    """Yield the pieces of a text without whitespace; runs of Chinese are not split. known: whether the vocabulary has a word."""
    start = 0
    for match in pattern.finditer(text) if pattern else ():
        yield from _split_into_pieces(text[start : match.start()])
        yield from _split_multi_piece(match[0], known)
        start = match.end()
    yield from _split_into_pieces(text[start:])


def _split_into_pieces(text: str) -> Iterator[Piece]:
    return (Piece(piece, piece) for piece in split_runs(text))


def _split_multi_piece(text: str, known: Callable[[str], bool]) -> Iterator[Piece]:
    """Yield a matched text as one piece, or split if it is unknown and all its parts are known. A final 's is a piece of its own.

    The parts are those of `split_runs`, or the words between hyphens.
    """
    ending = "" if known(text) or not known(POSSESSIVE) or not (match := _ENDING.search(text)) else match[0]
    whole = text.removesuffix(ending)
    pieces = split_runs(whole)
    if known(whole) or len(pieces) < 2:
        yield Piece(whole, whole)
    elif all(map(known, pieces)):
        yield from _split_into_pieces(whole)
    elif set(pieces[1::2]) <= set("-‐‑") and all(map(known, pieces[::2])):  # ice-cream, if only ice and cream are known
        for i in range(0, len(pieces), 2):
            yield Piece("".join(pieces[i : i + 2]), pieces[i])
    else:
        yield Piece(whole, whole)
    if ending:
        yield Piece(ending, POSSESSIVE)


def split_possessives(pieces: Sequence[Piece], known: Callable[[str], bool], *, is_quoted: bool) -> Iterator[Piece]:
    """Yield the pieces with 's, and the ’ of boys’, as separate pieces, except in known words.

    is_quoted: whether a quotation may be open, which ’ would close.
    """
    following = [*(piece.token for piece in pieces[1:]), ""]
    before = ""
    for piece, after in zip(pieces, following, strict=True):
        token = piece.token
        if before in APOSTROPHES and before and token in ("s", "S"):
            pass  # yielded together with its apostrophe
        elif token in APOSTROPHES and before and after in ("s", "S"):
            yield Piece(token + after, POSSESSIVE)  # 2024's: split_words joins an apostrophe to letters only
        elif token in APOSTROPHES and before.endswith(("s", "S")) and not is_quoted and not known(token):
            yield Piece(token, POSSESSIVE)
        elif (ending := _ENDING.search(token)) and len(token) > len(ending[0]) and not known(piece.word):
            yield from (Piece(token.removesuffix(ending[0]), token.removesuffix(ending[0])), Piece(ending[0], POSSESSIVE))
        else:
            yield piece
        before = token
