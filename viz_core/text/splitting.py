"""Where words and characters begin and end, without a vocabulary: Unicode's grapheme clusters, and words made of them."""

from functools import lru_cache

import regex

# One extended grapheme cluster (Unicode Annex 29): what a reader calls one character. A pair of regional indicators
# (a flag) is spelled out because \X counts them from the start of the run again each time: minutes for a long run.
_GRAPHEME = regex.compile(r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X")

# --- Words ------------------------------------------------------------------------------------------------------------
# A chunk's clusters are first written as one letter each, then words are found in that string. So no token can cut
# a cluster in two.
_KINDS = (
    ("X", regex.compile(r".*[\uFE0F\u20E3]", regex.DOTALL)),  # emoji, also one that starts with a digit, as 1️⃣
    ("H", regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ーｰ]")),
    ("D", regex.compile(r"\p{Nd}")),
    ("L", regex.compile(r"\p{L}")),
    ("W", regex.compile(r"[\p{N}\p{M}_]")),  # in words, but joined by neither ' nor .
    ("Q", regex.compile(r"['’]\Z")),
    ("P", regex.compile(r"[.,]\Z")),
)
_WORD = r"[LDW](?:[LDW]|(?<=L)Q(?=L)|(?<=D)P(?=D))*+"
_PIECE_SPACED = regex.compile(_WORD + r"|H++|.")
_PIECE_UNSPACED = regex.compile(_WORD + r"|.")


@lru_cache(maxsize=4096)
def kind(cluster: str) -> str:
    """The kind of a cluster by its first letters: X emoji and the like, H Chinese or Japanese, D digit, L letter, W, Q or P."""
    return next((kind for kind, pattern in _KINDS if pattern.match(cluster)), "X")


def split_words(sentence: str) -> list[str]:
    """Split at spaces, then split punctuation off; the tokens joined are the sentence without its whitespace.

    A word is a run of letters, digits, marks and "_", with apostrophes between letters (didn't) and "." or ","
    between digits (3.14). Chinese and Japanese: with spaces in the sentence the typed words stay (坐在), without any
    each character is a token. Every other grapheme cluster (punctuation, emoji, control character) is one token.
    """
    chunks = sentence.split()
    piece = _PIECE_SPACED if len(chunks) > 1 else _PIECE_UNSPACED
    tokens = []
    for chunk in chunks:
        clusters = split_characters(chunk)
        kinds = "".join(kind(cluster[:3]) for cluster in clusters)  # the base and what makes it an emoji
        tokens += ["".join(clusters[match.start() : match.end()]) for match in piece.finditer(kinds)]
    return tokens


def split_runs(text: str) -> list[str]:
    """`split_words` of a text without whitespace, but a run of Chinese stays whole."""
    return split_words(f"{text} .")[:-1]  # a second chunk, so that runs are words


def split_characters(sentence: str) -> list[str]:
    """Split into extended grapheme clusters, spaces included; the tokens joined are the sentence."""
    clusters: list[str] = _GRAPHEME.findall(sentence)
    return clusters
