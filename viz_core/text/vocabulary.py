"""The tokenizer of a trained model: a fixed vocabulary, with slots for words outside it.

The ids are `specials | words`. The words may include the slots <1> to <n>, placeholder tokens for unknown words: the first
unknown word of a sentence has the id of <1>, the next one that of <2>, and a repeated word the same slot, so that a model can
learn to copy it: John loves Mary → <1> 爱 <2>. Tokens are displayed as typed. An unknown token has the id of <unk> if the
vocabulary has no slots, if all slots are taken, or if it is not a word, such as "(".

A target is tokenized with the slots of its source. A word in a slot of the source has that slot in the target too, in any letter
case and even if it is a word of the target's vocabulary, so that tokenizing a generated text gives the generated ids.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

import regex

from viz_core.messages.errors import UserError
from viz_core.text.spelling import suggest_words
from viz_core.text.splitting import cluster_kind, split_characters
from viz_core.text.tokenizer import SPECIALS, AnyTokenizer, group_by_id
from viz_core.text.word_segmentation import OPENING, POSSESSIVE, TITLES, Piece, multi_piece_pattern, segment, split_possessives

_SLOT = regex.compile(r"<([1-9][0-9]*)>")
_IS_WORD = regex.compile(r"[\p{L}\p{N}\p{So}\p{ExtPict}]")  # letters, numbers and emoji, but not punctuation
MAX_COPIED_CHARS = 20  # longest copied word that is searched inside a run of Chinese; longer ones need spaces around them
_STRAIGHT = str.maketrans("’“”", "'\"\"")


class _LookupTables:
    """The lookup tables of a vocabulary, computed once per list of words."""

    def __init__(self, words: tuple[str, ...]) -> None:
        _check(words)
        self.words = words
        self.ids = {word: id for id, word in enumerate(words, start=len(SPECIALS))}
        numbered = {int(match[1]): self.ids[word] for word in words if (match := _SLOT.fullmatch(word))}
        if sorted(numbered) != list(range(1, len(numbered) + 1)):
            raise UserError("vocabulary_slots", slots=", ".join(f"<{number}>" for number in sorted(numbered)))
        self.slots = tuple(numbered[number] for number in sorted(numbered))
        self.typeable_words = tuple(word for word in words if not _SLOT.fullmatch(word))  # a typed "<1>" is not a slot
        self.known = {word: self.ids[word] for word in self.typeable_words}
        if self.slots:  # unknown words are copied as they are, so "i" has to be known as "I"
            self.known = {**{_normalized(word): id for word, id in self.known.items()}, **self.known}
        self.longest = max(map(len, words))
        self.multi_piece_pattern = multi_piece_pattern(self.typeable_words, include_unlisted=bool(self.slots))


@lru_cache(maxsize=64)
def _index(words: tuple[str, ...]) -> _LookupTables:
    return _LookupTables(words)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The vocabulary of a trained model: ids 0 to 3 are <pad> <bos> <eos> <unk>, followed by `words` in their order.

    A typed word is looked up as it is, then in lower case with straight apostrophes (The, didn’t). copied_words: the words in the
    slots <1>, <2>, … before a sentence is tokenized; see `with_copied_words`. Raises `ValueError` for an empty list, an empty or
    repeated word, the name of a special token, or slots other than <1> to <n>.
    """

    words: tuple[str, ...]
    copied_words: tuple[str, ...] = ()
    _index: _LookupTables = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self._index is None or self._index.words is not self.words:  # a copy with other copied words keeps the tables
            object.__setattr__(self, "_index", _index(self.words))

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

    @property
    def prefix_suffix_ids(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.bos_id,), (self.eos_id,)

    @property
    def n_slots(self) -> int:
        """The number of slots, the most unknown words that one sentence can copy."""
        return len(self._index.slots)

    def slot(self, id: int) -> int:
        """Return the number of the slot with this id, from 1; 0 for any other id."""
        slots = self._index.slots
        return slots.index(id) + 1 if id in slots else 0

    # --- Typed text to tokens and ids ---
    def tokenize(self, sentence: str) -> list[str]:
        """Split a sentence into the tokens of `split_words`, exactly as typed, and runs of Chinese into known words.

        In a run of Chinese, the longest known word is taken from the left; the characters between known words are one unknown
        word. If the sentence has spaces, a run that does not consist of known words is one token. Known words of several pieces
        are one token (t-shirt), and 's is a separate token if it is a word of this vocabulary; see `word_segmentation`.
        """
        return [piece.token for piece in self._pieces(sentence)]

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Return one id per token. Typed text never has the id of a special token other than <unk>, not even the text "<pad>".

        The name of a slot has the slot's id, for sentences generated by a grammar. A typed "<1>" is three tokens.
        """
        return [self._index.ids.get(token) or self._id(token) or self.unk_id for token in tokens]

    def tokens_and_ids(self, sentence: str) -> tuple[list[str], list[int]]:
        """Return the tokens exactly as typed, and their ids."""
        pieces = self._pieces(sentence)
        return [piece.token for piece in pieces], self._assign_ids(pieces)[0]

    def fill_slots(self, sentence: str) -> tuple[str, ...]:
        """Return the words in the slots after tokenizing a sentence: `self.copied_words`, then its unknown words."""
        return self._assign_ids(self._pieces(sentence))[1]

    def _assign_ids(self, pieces: Sequence[Piece]) -> tuple[list[int], tuple[str, ...]]:
        """Return the ids of a sentence, and the words in the slots afterwards."""
        copied, slots, ids = list(self.copied_words), self._index.slots, []
        numbers = {_normalized(word): number for number, word in enumerate(copied[: len(slots)])}
        titled = False
        for token, word in pieces:
            name = titled and token[:1].isupper() and bool(slots)  # a name, even if it is a known word: Mr. Brown
            number, id = numbers.get(_normalized(word)), 0 if name else self._id(word)
            titled = _normalized(word) in TITLES and self._known(word)
            if number is None and not id and len(copied) < len(slots) and _IS_WORD.search(word):
                number = numbers[_normalized(word)] = len(copied)
                copied.append(token)
            ids.append(slots[number] if number is not None else id or self.unk_id)
        return ids, tuple(copied)

    def _id(self, word: str) -> int:
        """Return the id of a typed word; 0 if it is unknown."""
        known = self._index.known
        return known.get(word) or known.get(_normalized(word), 0)

    # --- Segmentation ---
    def _pieces(self, sentence: str) -> list[Piece]:
        chunks = sentence.split()
        found: list[Piece] = []
        quoted = False
        for i, chunk in enumerate(chunks, start=1):
            parts = self._parts(chunk, last=i == len(chunks))
            pieces = [piece for part in parts for piece in self._split_run(part, spaced=len(chunks) > 1)]
            if self._id(POSSESSIVE):
                quoted = quoted or chunk.startswith(OPENING)
                pieces = list(split_possessives(pieces, self._known, is_quoted=quoted))
            found += pieces
        return found

    def _parts(self, chunk: str, *, last: bool) -> Iterable[Piece]:
        """Split a chunk into pieces. A known or copied word stays whole, so generated text keeps its tokens, and so does "Mr."."""
        whole = chunk in self._index.known or chunk in self.copied_words
        title = chunk.removesuffix(".")
        if not (whole or last) and title != chunk and _normalized(title) in TITLES and self._known(title):
            return [Piece(chunk, title)]
        return [Piece(chunk, chunk)] if whole else segment(chunk, self._index.multi_piece_pattern, self._known)

    def _known(self, word: str) -> bool:
        return bool(self._id(word))

    def _split_run(self, whole: Piece, *, spaced: bool) -> list[Piece]:
        piece, known, copied = whole.token, self._index.known, self.copied_words
        clusters = split_characters(piece)
        if cluster_kind(clusters[0][:3]) != "H" or piece in known or piece in copied:
            return [whole]
        longest = max(self._index.longest, *(len(word) for word in copied if len(word) <= MAX_COPIED_CHARS), 0)
        cuts: list[int] = []  # where tokens start
        start, unknown = 0, False
        while start < len(clusters):
            ends = range(min(start + longest, len(clusters)), start, -1)
            texts = ((end, "".join(clusters[start:end])) for end in ends)
            end = next((end for end, text in texts if text in known or text in copied), None)
            if end is None and spaced:
                return [whole]
            if end is not None or not unknown:  # adjacent unknown characters are one word
                cuts.append(start)
            start, unknown = end or start + 1, end is None
        tokens = ("".join(clusters[cut:next_cut]) for cut, next_cut in pairwise([*cuts, len(clusters)]))
        return [Piece(token, token) for token in tokens]

    # --- Ids and tokens to words ---
    def decode(self, id: int) -> str:
        """Return the token of an id: a special token, a word, or for a slot the word in it."""
        if not 0 <= id < self.vocab_size:
            raise UserError("token_outside", id=id, vocab_size=self.vocab_size, last=self.vocab_size - 1)
        if 0 < (number := self.slot(id)) <= len(self.copied_words):
            return self.copied_words[number - 1]
        return SPECIALS[id] if id < len(SPECIALS) else self.words[id - len(SPECIALS)]

    def check_ids(self, ids: Sequence[int]) -> None:
        """Do nothing: all id lists are valid."""

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """Return the groups of different known tokens that share one id (The, the), in order of first appearance."""
        distinct = list(dict.fromkeys(tokens))
        pairs = [(token, id) for token, id in zip(distinct, self.encode(distinct), strict=True) if id != self.unk_id]
        return group_by_id(*zip(*pairs, strict=True)) if pairs else []

    def unknown_with_suggestions(self, sentence: str) -> list[tuple[str, list[str]]]:
        """Return the words outside the vocabulary, each once and as typed, with up to three suggestions from the vocabulary.

        Words in slots are included. A capitalized word inside a sentence is a name and has no suggestions; one at the beginning
        may be a name.
        """
        tokens, ids = self.tokens_and_ids(sentence)
        unknown = dict.fromkeys(t for t, id in zip(tokens, ids, strict=True) if id == self.unk_id or self.slot(id))
        all_caps = not any(c.islower() for c in sentence) and len(tokens) > 1  # then capitals do not mark names
        names = set[str]() if all_caps else _names(tokens)
        return [(token, [] if token in names else list(suggest_words(_normalized(token), self._index.typeable_words,
                                                                     may_be_name=token[:1].isupper() and not all_caps)))
                for token in unknown]

    def word_ids(self, tokens: Sequence[str]) -> list[int]:
        """Return 0, 1, 2, ...: each token is a word."""
        return list(range(len(tokens)))

    def join_word(self, tokens: Sequence[str]) -> str:
        """Return the token of a word."""
        return "".join(tokens)


@lru_cache(maxsize=64)
def _check(words: tuple[str, ...]) -> None:
    seen: set[str] = set(SPECIALS)
    for word in words:
        if not isinstance(word, str) or not word or word in seen:
            raise UserError("vocabulary_word", word=word)
        seen.add(word)
    if not words:
        raise UserError("vocabulary_empty")


def _names(tokens: Sequence[str]) -> set[str]:
    """Return the capitalized tokens that are not at the beginning of a sentence or a quotation."""
    inside = {after for before, after in pairwise(tokens) if before == "," or any(map(str.isalnum, before))}
    return {token for token in inside if token[:1].isupper()}


def _normalized(token: str) -> str:
    return token.lower().translate(_STRAIGHT)


# --- Both sides of a sentence ---------------------------------------------------------------------------------------------
def find_copied_words(tokenizer: AnyTokenizer, sentence: str, source_words: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the words in the slots after tokenizing a sentence.

    source_words: the words in the slots after tokenizing its source. Returned unchanged if the tokenizer has no slots.
    """
    reader = with_copied_words(tokenizer, source_words)
    return reader.fill_slots(sentence) if isinstance(reader, Vocabulary) and reader.n_slots else tuple(source_words)


def with_copied_words(tokenizer: AnyTokenizer, copied_words: Sequence[str]) -> AnyTokenizer:
    """Return the tokenizer with these words in its slots; a tokenizer without slots is returned as it is."""
    return (
        replace(tokenizer, copied_words=tuple(copied_words))
        if isinstance(tokenizer, Vocabulary) and tokenizer.n_slots
        else tokenizer
    )


def unknown_words(tokenizer: AnyTokenizer, sentence: str) -> tuple[list[str], list[str]]:
    """Return the words outside the vocabulary, each once and as typed: those in slots, and those with the id <unk>."""
    unk_tokens = {token for token, id in zip(*tokenizer.tokens_and_ids(sentence), strict=True) if id == tokenizer.unk_id}
    unknown = [word for word, __ in tokenizer.unknown_with_suggestions(sentence)]
    return [word for word in unknown if word not in unk_tokens], [word for word in unknown if word in unk_tokens]
