"""Text to token ids and back. What people type is data: any Unicode, any length, nothing is lost or refused.

An untrained model has no learned vocabulary. Its ids are laid out as

    specials | listed words | hash buckets

so that a word's id depends on the word, the vocabulary size and the pad id, never on what else is typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
import regex

from viz_core.limits import MAX_LABEL
from viz_core.words import WORDS

SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
TokenizerKind = Literal["word", "character"]

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
def _kind(cluster: str) -> str:
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
        kinds = "".join(_kind(cluster[:3]) for cluster in clusters)  # the base and what makes it an emoji
        tokens += ["".join(clusters[match.start() : match.end()]) for match in piece.finditer(kinds)]
    return tokens


def split_characters(sentence: str) -> list[str]:
    """Split into extended grapheme clusters, spaces included; the tokens joined are the sentence."""
    clusters: list[str] = _GRAPHEME.findall(sentence)
    return clusters


# --- Ids --------------------------------------------------------------------------------------------------------------
@lru_cache
def _listed(kind: TokenizerKind) -> tuple[str, ...]:
    """The tokens that can have an id of their own, most useful first."""
    if kind == "word":
        return WORDS
    ascii_printable = map(chr, range(0x20, 0x7F))
    return tuple(dict.fromkeys([*ascii_printable, *split_characters("".join(WORDS))]))


@lru_cache
def _rank(kind: TokenizerKind) -> Mapping[str, int]:
    return MappingProxyType({token: rank for rank, token in enumerate(_listed(kind))})


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Words or characters to ids without training: `specials | listed | hash buckets`.

    `<pad>` has `pad_id`; `<bos>`, `<eos>`, `<unk>` take the smallest free ids in this order. Of the other
    vocab_size - 4 ids at most half name listed tokens; each remaining one is a bucket shared by whatever hashes to it.
    Raises ValueError for an unknown kind, a vocab_size below 5 or a pad_id outside the vocabulary.
    """

    kind: TokenizerKind
    vocab_size: int
    pad_id: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(TokenizerKind):
            raise ValueError(f"kind is {self.kind!r}; choose one of {', '.join(get_args(TokenizerKind))}.")
        if self.vocab_size < 5:
            raise ValueError(
                f"vocab_size is {self.vocab_size}; choose at least 5: four special tokens and one for what is typed."
            )
        if not 0 <= self.pad_id < self.vocab_size:
            raise ValueError(
                f"pad_id is {self.pad_id}, outside the vocabulary; choose 0 to {self.vocab_size - 1}, "
                f"or a vocab_size of more than {self.vocab_size}."
            )

    @property
    def bos_id(self) -> int:
        return 0 if self.pad_id > 0 else 1

    @property
    def eos_id(self) -> int:
        return 1 if self.pad_id > 1 else 2

    @property
    def unk_id(self) -> int:
        return 2 if self.pad_id > 2 else 3

    @property
    def n_listed(self) -> int:
        """How many listed tokens have an id of their own."""
        return min(len(_listed(self.kind)), (self.vocab_size - 4) // 2)

    def tokenize(self, sentence: str) -> list[str]:
        """The sentence's tokens in reading order, exactly as typed. Any str will do."""
        return split_words(sentence) if self.kind == "word" else split_characters(sentence)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """One id per token. Typed text never gets a special's id, not even the text "<pad>"."""
        rank, n_listed = _rank(self.kind), self.n_listed
        n_buckets = self.vocab_size - 4 - n_listed
        ids = []
        for token in tokens:
            place = rank.get(token, n_listed)
            if place >= n_listed:
                # blake2b, as hash() differs between processes; surrogatepass, as a str may hold a lone surrogate.
                digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                place = n_listed + int.from_bytes(digest, "big") % n_buckets
            # Typed text counts from 3, or from 4 once the pad id is passed.
            ids.append(place + 3 + (place + 3 >= self.pad_id))
        return ids

    def decode(self, id: int) -> str:
        """The token with this id: a special, a listed token, or "⟨#123⟩" for the bucket with id 123."""
        if not 0 <= id < self.vocab_size:
            raise ValueError(
                f"token id {id} is outside the vocabulary of {self.vocab_size}; use 0 to {self.vocab_size - 1}."
            )
        for special, name in zip((self.pad_id, self.bos_id, self.eos_id, self.unk_id), SPECIALS, strict=True):
            if id == special:
                return name
        place = id - 3 - (id > self.pad_id)
        return _listed(self.kind)[place] if place < self.n_listed else f"⟨#{id}⟩"

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups of different tokens that share one id, in order of first appearance."""
        distinct = list(dict.fromkeys(tokens))
        groups: dict[int, list[str]] = {}
        for id, token in zip(self.encode(distinct), distinct, strict=True):
            groups.setdefault(id, []).append(token)
        return [tuple(group) for group in groups.values() if len(group) > 1]


# --- Showing tokens ---------------------------------------------------------------------------------------------------
# Joiners and selectors do visible work inside an emoji, a flag, or a joining script, and stay there; anywhere else
# they, like all that leaves no mark or turns the reading direction, would make two different tokens look alike.
_UNSEEN = regex.compile(
    r"""
      (?P<working>
        (?<=[\p{ExtPict}\p{Emoji_Modifier}\uFE0F]) \u200D (?=\p{ExtPict})       # emoji sequence
      | (?<=[\p{ExtPict}\p{S}\p{Han}\p{Mongolian}]) \p{Variation_Selector}
      | (?<=[0-9#*]) \uFE0F (?=\u20E3)                                          # keycap
      | (?<=\U0001F3F4) [\U000E0030-\U000E007A]{1,6} \U000E007F                 # flag of a region
      | (?<=\p{ccc=Virama}) [\u200C\u200D]                                      # Indic conjuncts
      | (?<=[\p{jt=D}\p{jt=L}]) [\u200C\u200D] (?=\p{L})                        # Arabic, Persian, ...
      )
    | [\p{Cc}\p{Cs}\p{GCB=Control}\p{Default_Ignorable_Code_Point}\p{Z}\p{Noncharacter_Code_Point}\u2800]
    """,
    regex.VERBOSE,
)


def _picture(match: regex.Match[str]) -> str:
    unseen: str = match[0]
    if match["working"]:
        return unseen
    code = ord(unseen)
    if code <= 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"U+{code:04X}"


def visible(token: str) -> str:
    """How a token is shown: ␠ for a space, ␀ ... ␡ for control characters, U+200B for what else leaves no mark.

    All other characters stay as they are. Never empty, never a lone surrogate, never turns the reading direction.
    """
    shown: str = _UNSEEN.sub(_picture, token)
    return shown or "∅"


def shorten(label: str) -> str:
    """At most MAX_LABEL characters (grapheme clusters), the last one "…" where something was left out."""
    # One cluster can hold any number of combining marks, so code points are bounded too; the longest emoji has 10.
    bound = 10 * MAX_LABEL
    clusters = split_characters(label[:bound])
    if len(label) <= bound and len(clusters) <= MAX_LABEL:
        return label
    return "".join(clusters[: MAX_LABEL - 1]) + "…"


# --- Batches ----------------------------------------------------------------------------------------------------------
def pad(rows: Sequence[Sequence[int]], pad_id: int) -> np.ndarray:
    """[B, T] int64: rows of ids, the shorter ones filled on the right with pad_id. ValueError for an empty batch."""
    if len(rows) == 0:
        raise ValueError("the batch has 0 sentences; type at least one.")
    ids = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)  # [B, T]
    for row, typed in zip(ids, rows, strict=True):
        row[: len(typed)] = typed
    return ids
