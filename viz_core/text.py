"""Text to token ids and back. What people type is data: any Unicode, any length, nothing is lost or refused.

An untrained model has no learned vocabulary. Its `Tokenizer` lays ids out as

    specials | listed words | hash buckets

so that a word's id depends on the word, the vocabulary size and the pad id, never on what else is typed. A trained
model knows the words that it was trained on: its `Vocabulary` is `specials | those words`, and all else is <unk>.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
import regex

from viz_core.language import translate as _
from viz_core.limits import MAX_LABEL
from viz_core.word_list import WORDS

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


# --- What every tokenizer does ----------------------------------------------------------------------------------------
class AnyTokenizer(Protocol):
    """Words, characters or subwords; of an untrained model, a shipped checkpoint or a published one."""

    def __hash__(self) -> int: ...

    @property
    def vocab_size(self) -> int: ...
    @property
    def pad_id(self) -> int: ...
    @property
    def bos_id(self) -> int: ...
    @property
    def eos_id(self) -> int: ...
    @property
    def unk_id(self) -> int: ...

    def read(self, sentence: str) -> tuple[list[str], list[int]]:
        """The tokens as they are shown, and one id each; with [CLS] and [SEP] where the model expects them."""
        ...

    def decode(self, id: int) -> str:
        """The token with this id. `ValueError` for an id outside the vocabulary."""
        ...

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups of different typed tokens that share one id, unknown words left out."""
        ...

    def unknown(self, sentence: str) -> list[tuple[str, list[str]]]:
        """The words outside the vocabulary, each with up to three known words that are spelt most like it."""
        ...

    def groups(self, tokens: Sequence[str]) -> list[int]:
        """For each token the number of the word that it belongs to, counted from 0."""
        ...

    def word(self, tokens: Sequence[str]) -> str:
        """The tokens of one word as the text that they are together."""
        ...


# --- Words of several tokens ------------------------------------------------------------------------------------------
class Words(NamedTuple):
    """The words of one sentence: their texts, and for each token the number of its word, counted from 0."""

    texts: tuple[str, ...]
    of: tuple[int, ...]

    @property
    def whole(self) -> bool:
        """Whether each word is one token."""
        return len(self.texts) == len(self.of)


def words_of(tokenizer: AnyTokenizer, tokens: Sequence[str]) -> Words:
    """The words of a sentence, as its tokenizer cuts words; specials and padding are words by themselves."""
    of = tokenizer.groups(tokens)
    pieces = groupby(zip(of, tokens, strict=True), key=lambda pair: pair[0])
    return Words(tuple(tokenizer.word([token for __, token in pair]) for __, pair in pieces), tuple(of))


# --- Ids of an untrained model ----------------------------------------------------------------------------------------
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
            raise ValueError(_("kind is {kind!r}; choose one of {get_args}.",
                               kind=self.kind, get_args=", ".join(get_args(TokenizerKind))))
        if self.vocab_size < 5:
            raise ValueError(_("vocab_size is {vocab_size}; choose at least 5: four special tokens and one for what is typed.",
                               vocab_size=self.vocab_size))
        if not 0 <= self.pad_id < self.vocab_size:
            raise ValueError(
                _("pad_id is {pad_id}, outside the vocabulary; choose 0 to {vocab_size}, or a vocab_size of more than "
                  "{vocab_size_2}.", pad_id=self.pad_id, vocab_size=self.vocab_size - 1, vocab_size_2=self.vocab_size)
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

    def read(self, sentence: str) -> tuple[list[str], list[int]]:
        """The tokens exactly as typed, and one id each."""
        tokens = self.tokenize(sentence)
        return tokens, self.encode(tokens)

    def decode(self, id: int) -> str:
        """The token with this id: a special, a listed token, or "⟨#123⟩" for the bucket with id 123."""
        if not 0 <= id < self.vocab_size:
            raise ValueError(_("token id {id} is outside the vocabulary of {vocab_size}; use 0 to {vocab_size_2}.",
                               id=id, vocab_size=self.vocab_size, vocab_size_2=self.vocab_size - 1))
        for special, name in zip((self.pad_id, self.bos_id, self.eos_id, self.unk_id), SPECIALS, strict=True):
            if id == special:
                return name
        place = id - 3 - (id > self.pad_id)
        return _listed(self.kind)[place] if place < self.n_listed else f"⟨#{id}⟩"

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups of different tokens that share one id, in order of first appearance."""
        distinct = list(dict.fromkeys(tokens))
        return _sharing(distinct, self.encode(distinct))

    def unknown(self, sentence: str) -> list[tuple[str, list[str]]]:
        """None: a bucket takes whatever is typed."""
        return []

    def groups(self, tokens: Sequence[str]) -> list[int]:
        """Words count 0, 1, 2, ...; characters count by the spaces between them, each space by itself."""
        if self.kind == "word":
            return list(range(len(tokens)))
        alone = [token.isspace() or token in SPECIALS for token in tokens]
        starts = [i > 0 and (alone[i] or alone[i - 1]) for i in range(len(tokens))]
        return [int(word) for word in np.cumsum(starts)]

    def word(self, tokens: Sequence[str]) -> str:
        """The characters of one word together."""
        return "".join(tokens)


def _sharing(tokens: Sequence[str], ids: Sequence[int]) -> list[tuple[str, ...]]:
    groups: dict[int, list[str]] = {}
    for id, token in zip(ids, tokens, strict=True):
        groups.setdefault(id, []).append(token)
    return [tuple(group) for group in groups.values() if len(group) > 1]


# --- Ids of a checkpoint ----------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a trained model: ids 0 to 3 are <pad> <bos> <eos> <unk>, then `words` in their order.

    A typed word is looked up as it is, then in lower case with a straight apostrophe (The, didn’t); all else is <unk>.
    Raises ValueError for no words, a word twice or empty, or one with a special's name.
    """

    words: tuple[str, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set(SPECIALS)
        for word in self.words:
            if not isinstance(word, str) or not word or word in seen:
                raise ValueError(_("words holds {word!r} where a new word belongs; list each word once, and no special.",
                                   word=word))
            seen.add(word)
        if not self.words:
            raise ValueError(_("words is empty; a vocabulary needs at least one word."))

    @property
    def vocab_size(self) -> int:
        return len(SPECIALS) + len(self.words)

    @property
    def pad_id(self) -> int:
        return 0

    @property
    def bos_id(self) -> int:
        return 1

    @property
    def eos_id(self) -> int:
        return 2

    @property
    def unk_id(self) -> int:
        return 3

    def tokenize(self, sentence: str) -> list[str]:
        """The tokens of `split_words`, exactly as typed; a run of Chinese is split into known words.

        In such a run the longest known word is taken from the left; what lies between known words is one unknown word.
        Where the sentence has spaces, a run that is not made of known words alone stays the word that was typed.
        """
        spaced = len(sentence.split()) > 1
        pieces = split_words(f"{sentence} .")[:-1]  # spaced, so that runs of Chinese stay whole
        return [token for piece in pieces for token in self._split_run(piece, spaced)]

    def _split_run(self, piece: str, spaced: bool) -> list[str]:
        clusters = split_characters(piece)
        if _kind(clusters[0][:3]) != "H" or piece in self._ids:
            return [piece]
        known, longest = self._ids, max(map(len, self.words))
        cuts: list[int] = []  # where tokens start
        start, stranger = 0, False
        while start < len(clusters):
            ends = range(min(start + longest, len(clusters)), start, -1)
            end = next((end for end in ends if "".join(clusters[start:end]) in known), None)
            if end is None and spaced:
                return [piece]
            if end is not None or not stranger:  # strangers side by side are one word
                cuts.append(start)
            start, stranger = end or start + 1, end is None
        return ["".join(clusters[cut:next_cut]) for cut, next_cut in pairwise([*cuts, len(clusters)])]

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """One id per token. Typed text gets no special's id but <unk>, not even the text "<pad>"."""
        known = self._ids
        return [known.get(token, known.get(_plain(token), self.unk_id)) for token in tokens]

    def read(self, sentence: str) -> tuple[list[str], list[int]]:
        """The tokens exactly as typed, and one id each."""
        tokens = self.tokenize(sentence)
        return tokens, self.encode(tokens)

    def decode(self, id: int) -> str:
        """The token with this id: a special or a word."""
        if not 0 <= id < self.vocab_size:
            raise ValueError(_("token id {id} is outside the vocabulary of {vocab_size}; use 0 to {vocab_size_2}.",
                               id=id, vocab_size=self.vocab_size, vocab_size_2=self.vocab_size - 1))
        return (SPECIALS + self.words)[id]

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups of different known tokens that share one id (The, the), in order of first appearance."""
        distinct = list(dict.fromkeys(tokens))
        pairs = [(token, id) for token, id in zip(distinct, self.encode(distinct), strict=True) if id != self.unk_id]
        return _sharing(*zip(*pairs, strict=True)) if pairs else []

    def unknown(self, sentence: str) -> list[tuple[str, list[str]]]:
        """The words outside the vocabulary, once each as typed, with up to three known words spelt most like it."""
        tokens, ids = self.read(sentence)
        strangers = dict.fromkeys(token for token, id in zip(tokens, ids, strict=True) if id == self.unk_id)
        return [(token, list(_nearest(_plain(token), self.words))) for token in strangers]

    def groups(self, tokens: Sequence[str]) -> list[int]:
        """Each token is a word: 0, 1, 2, ..."""
        return list(range(len(tokens)))

    def word(self, tokens: Sequence[str]) -> str:
        """The one token of a word."""
        return "".join(tokens)

    @property
    def _ids(self) -> Mapping[str, int]:
        return _places(self.words)


@lru_cache(maxsize=64)
def _places(words: tuple[str, ...]) -> Mapping[str, int]:
    return MappingProxyType({word: id for id, word in enumerate(words, start=len(SPECIALS))})


@lru_cache(maxsize=4096)
def _nearest(word: str, words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(get_close_matches(word, words, n=3))


def _plain(token: str) -> str:
    return token.lower().replace("’", "'")


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


MOST_MARKS = 8  # on one character; scripts need fewer, and a tower of them would be drawn across what stands around it
_TOWER = regex.compile(rf"(\p{{M}}{{{MOST_MARKS}}})\p{{M}}+")


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

    Of more than MOST_MARKS combining marks on one character the first are shown, and "…". All other characters stay as
    they are. Never empty, never a lone surrogate, never turns the reading direction.
    """
    shown: str = _UNSEEN.sub(_picture, _TOWER.sub(r"\1…", token))
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
        raise ValueError(_("the batch has 0 sentences; type at least one."))
    ids = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)  # [B, T]
    for row, typed in zip(ids, rows, strict=True):
        row[: len(typed)] = typed
    return ids
