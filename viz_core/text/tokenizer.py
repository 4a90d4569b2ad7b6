"""The protocol of all tokenizers, and the tokenizer of untrained models.

An untrained model has no learned vocabulary. The ids of its `UntrainedTokenizer` are

    specials | listed words | hash buckets

so that the id of a word depends only on the word, the vocabulary size and the pad id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import groupby
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np

from viz_core.messages.errors import UserError
from viz_core.text.splitting import split_characters, split_words
from viz_core.text.word_list import WORDS

NO_TOKEN = -1  # the id of a special token that a tokenizer lacks
SPECIALS = ("<pad>", "<bos>", "<eos>", "<unk>")
TokenizerKind = Literal["word", "character"]


# --- The protocol -----------------------------------------------------------------------------------------------------
class AnyTokenizer(Protocol):
    """A tokenizer of words, characters or subwords, for an untrained model, a shipped or a published checkpoint."""

    def __hash__(self) -> int: ...

    @property
    def vocab_size(self) -> int: ...
    @property
    def pad_id(self) -> int: ...
    @property
    def bos_id(self) -> int:
        """The id that begins a text; NO_TOKEN for a published model without one."""
        ...

    @property
    def eos_id(self) -> int:
        """The id that ends a text; NO_TOKEN for a published model without one."""
        ...

    @property
    def unk_id(self) -> int: ...
    @property
    def prefix_suffix_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids before and after those of `tokens_and_ids` in a decoder's text: <bos> and <eos>, or none
        if the tokenizer adds its own.
        """
        ...

    def tokens_and_ids(self, sentence: str) -> tuple[list[str], list[int]]:
        """Return the tokens as displayed and their ids, with [CLS] and [SEP] if the model expects them."""
        ...

    def check_ids(self, ids: Sequence[int]) -> None:
        """Raise `ValueError` for an id list that the model cannot process."""
        ...

    def decode(self, id: int) -> str:
        """Return the token of an id. Raises `ValueError` for an id outside the vocabulary."""
        ...

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the groups of different tokens that share one id, without unknown words."""
        ...

    def unknown_with_suggestions(self, sentence: str) -> list[tuple[str, list[str]]]:
        """Return the words outside the vocabulary, each with up to three known words of similar spelling."""
        ...

    def word_ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the index of the word of each token."""
        ...

    def join_word(self, tokens: Sequence[str]) -> str:
        """Return the text of one word from its tokens."""
        ...


# --- Words of several tokens ------------------------------------------------------------------------------------------
class WordGroups(NamedTuple):
    """The words of one sentence: the text of each word, and the index of the word of each token."""

    texts: tuple[str, ...]
    word_ids: tuple[int, ...]

    @property
    def has_one_token_per_word(self) -> bool:
        """Whether each word has one token."""
        return len(self.texts) == len(self.word_ids)


def group_words(tokenizer: AnyTokenizer, tokens: Sequence[str]) -> WordGroups:
    """Group the tokens of a sentence into words. Special tokens and padding are words of their own."""
    word_ids = tokenizer.word_ids(tokens)
    pieces = groupby(zip(word_ids, tokens, strict=True), key=lambda pair: pair[0])
    return WordGroups(tuple(tokenizer.join_word([token for __, token in pair]) for __, pair in pieces), tuple(word_ids))


# --- The tokenizer of untrained models --------------------------------------------------------------------------------
@lru_cache
def _listed(kind: TokenizerKind) -> tuple[str, ...]:
    """Return the tokens that can have their own id, most useful first."""
    if kind == "word":
        return WORDS
    ascii_printable = map(chr, range(0x20, 0x7F))
    return tuple(dict.fromkeys([*ascii_printable, *split_characters("".join(WORDS))]))


@lru_cache
def _rank(kind: TokenizerKind) -> Mapping[str, int]:
    return MappingProxyType({token: rank for rank, token in enumerate(_listed(kind))})


@dataclass(frozen=True, slots=True)
class UntrainedTokenizer:
    """A word or character tokenizer without a learned vocabulary: `specials | listed tokens | hash buckets`.

    `<pad>` has `pad_id`; `<bos>`, `<eos>` and `<unk>` have the smallest other ids, in this order. At most half of the remaining
    vocab_size - 4 ids are those of listed tokens; each other id is a hash bucket, which several tokens may share.
    Raises `ValueError` for an unknown kind, a vocab_size below 5 or a pad_id outside the vocabulary.
    """

    kind: TokenizerKind
    vocab_size: int
    pad_id: int = 0

    def __post_init__(self) -> None:
        if self.kind not in get_args(TokenizerKind):
            raise UserError("tokenizer_kind", kind=repr(self.kind), fits=get_args(TokenizerKind))
        if self.vocab_size < 5:
            raise UserError("tokenizer_size", vocab_size=self.vocab_size)
        if not 0 <= self.pad_id < self.vocab_size:
            raise UserError("tokenizer_pad", pad_id=self.pad_id, vocab_size=self.vocab_size, last=self.vocab_size - 1)

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
    def prefix_suffix_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.bos_id,), (self.eos_id,)

    @property
    def n_listed(self) -> int:
        """The number of listed tokens with their own id."""
        return min(len(_listed(self.kind)), (self.vocab_size - 4) // 2)

    def tokenize(self, sentence: str) -> list[str]:
        """Split a sentence, which may be any str, into tokens exactly as typed."""
        return split_words(sentence) if self.kind == "word" else split_characters(sentence)

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return one id per token. Typed text never has the id of a special token, not even the text "<pad>"."""
        rank, n_listed = _rank(self.kind), self.n_listed
        n_buckets = self.vocab_size - 4 - n_listed
        ids = []
        for token in tokens:
            place = rank.get(token, n_listed)
            if place >= n_listed:
                # blake2b, as hash() differs between processes; surrogatepass, as a str may hold a lone surrogate.
                digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                place = n_listed + int.from_bytes(digest, "big") % n_buckets
            # Ids of typed text start at 3, and skip the pad id.
            ids.append(place + 3 + (place + 3 >= self.pad_id))
        return ids

    def tokens_and_ids(self, sentence: str) -> tuple[list[str], list[int]]:
        """Return the tokens exactly as typed, and their ids."""
        tokens = self.tokenize(sentence)
        return tokens, self.encode(tokens)

    def decode(self, id: int) -> str:
        """Return the token of an id: a special token, a listed token, or "⟨#123⟩" for the bucket with id 123."""
        if not 0 <= id < self.vocab_size:
            raise UserError("token_outside", id=id, vocab_size=self.vocab_size, last=self.vocab_size - 1)
        for special, name in zip((self.pad_id, self.bos_id, self.eos_id, self.unk_id), SPECIALS, strict=True):
            if id == special:
                return name
        place = id - 3 - (id > self.pad_id)
        return _listed(self.kind)[place] if place < self.n_listed else f"⟨#{id}⟩"

    def check_ids(self, ids: Sequence[int]) -> None:
        """Do nothing: all id lists are valid."""

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the groups of different tokens that share one id, in order of first appearance."""
        distinct = list(dict.fromkeys(tokens))
        return group_by_id(distinct, self.encode(distinct))

    def unknown_with_suggestions(self, sentence: str) -> list[tuple[str, list[str]]]:
        """Return an empty list, since every word has an id."""
        return []

    def word_ids(self, tokens: Sequence[str]) -> list[int]:
        """Return the index of the word of each token. Characters are grouped at spaces; each space is a word of its own."""
        if self.kind == "word":
            return list(range(len(tokens)))
        alone = [token.isspace() or token in SPECIALS for token in tokens]
        starts = [i > 0 and (alone[i] or alone[i - 1]) for i in range(len(tokens))]
        return [int(word) for word in np.cumsum(starts)]

    def join_word(self, tokens: Sequence[str]) -> str:
        """Return the text of one word from its tokens."""
        return "".join(tokens)


def group_by_id(tokens: Sequence[str], ids: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the groups of tokens with the same id, in order of first appearance."""
    groups: dict[int, list[str]] = {}
    for id, token in zip(ids, tokens, strict=True):
        groups.setdefault(id, []).append(token)
    return [tuple(group) for group in groups.values() if len(group) > 1]


# --- Batches ----------------------------------------------------------------------------------------------------------
def pad(rows: Sequence[Sequence[int]], pad_id: int) -> np.ndarray:
    """Pad rows of ids on the right with pad_id, to int64 [B, T]. Raises `ValueError` for an empty batch."""
    if len(rows) == 0:
        raise UserError("no_batch")
    ids = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)  # [B, T]
    for row, typed in zip(ids, rows, strict=True):
        row[: len(typed)] = typed
    return ids
