"""Split text into characters (Unicode grapheme clusters) and words, without a vocabulary."""

from functools import lru_cache

import regex

# One extended grapheme cluster (Unicode Annex 29): what a reader calls one character. A pair of regional indicators (a flag)
# has its own alternative because \X takes quadratic time on a run of them: minutes for a long one.
_GRAPHEME = regex.compile(r"\p{RI}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*+|\X")

# --- Words ------------------------------------------------------------------------------------------------------------
# Each cluster of a chunk is mapped to one letter, and words are matched in the string of letters, so that no token splits a
# cluster.
_KINDS = (
    ("X", regex.compile(r".*[\uFE0F\u20E3]", regex.DOTALL)),  # emoji, including those that start with a digit, such as 1️⃣
    ("H", regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ーｰ]")),
    ("D", regex.compile(r"\p{Nd}")),
    ("L", regex.compile(r"\p{L}")),
    ("W", regex.compile(r"[\p{N}\p{M}_]")),  # parts of words that ' and . do not join
    ("Q", regex.compile(r"['’]\Z")),
    ("P", regex.compile(r"[.,]\Z")),
)
_WORD = r"[LDW](?:[LDW]|(?<=L)Q(?=L)|(?<=D)P(?=D))*+"
_PIECE_SPACED = regex.compile(_WORD + r"|H++|.")
_PIECE_UNSPACED = regex.compile(_WORD + r"|.")


@lru_cache(maxsize=4096)
def cluster_kind(cluster: str) -> str:
    """Return the kind of a cluster: X emoji and others, H Chinese or Japanese, D digit, L letter, W, Q or P (see `_KINDS`)."""
    return next((kind for kind, pattern in _KINDS if pattern.match(cluster)), "X")


def split_words(sentence: str) -> list[str]:
    """Split at whitespace, then split off punctuation. The joined tokens are the sentence without its whitespace.

    A word is a run of letters, digits, marks and "_", with apostrophes between letters (didn't) and "." or "," between digits
    (3.14). Chinese and Japanese words are kept as typed if the sentence has spaces (坐在); if it has none, each character is a
    token. Every other grapheme cluster (punctuation, emoji, control character) is one token.
    """
    chunks = sentence.split()
    piece = _PIECE_SPACED if len(chunks) > 1 else _PIECE_UNSPACED
    tokens = []
    for chunk in chunks:
        clusters = split_characters(chunk)
        kinds = "".join(cluster_kind(cluster[:3]) for cluster in clusters)  # the base and what makes it an emoji
        tokens += ["".join(clusters[match.start() : match.end()]) for match in piece.finditer(kinds)]
    return tokens


def split_runs(text: str) -> list[str]:
    """Split a text without whitespace as `split_words` does, but keep runs of Chinese whole."""
    return split_words(f"{text} .")[:-1]  # a second chunk, which keeps the runs whole


def split_characters(sentence: str) -> list[str]:
    """Split into extended grapheme clusters, including spaces. The joined tokens are the sentence."""
    clusters: list[str] = _GRAPHEME.findall(sentence)
    return clusters
