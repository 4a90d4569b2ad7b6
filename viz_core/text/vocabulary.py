"""The ids of a checkpoint: the words that it was trained on, and slots that carry the words that it does not know.

A trained model knows its own words: ids are `specials | those words`. Among them may be the slots <1> to <n>. The first
unknown word of a sentence is read as <1>, the next one as <2>, and the same word always as the same slot, so that a model
can learn where such a word belongs: John loves Mary → <1> 爱 <2>. Tokens stay the words as typed. Without slots, and for
what is no word, such as "(", or comes when no slot is left, the id is <unk>.

A target is read with the slots of its source: there John is the word that the source's slot carries, whatever its letter case
and even if the target's vocabulary knows a word of this name, so that what a model wrote can be read again.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

import regex

from viz_core.language import translate as _
from viz_core.text.cutting import OPENING, POSSESSIVE, TITLES, Piece, cut, possessives, together
from viz_core.text.nearest import nearest
from viz_core.text.splitting import kind, split_characters
from viz_core.text.tokenizer import SPECIALS, AnyTokenizer, sharing

_SLOT = regex.compile(r"<([1-9][0-9]*)>")
_IS_WORD = regex.compile(r"[\p{L}\p{N}\p{So}\p{ExtPict}]")  # letters, numbers, emoji; marks are no words
MOST_INSIDE = 20  # letters of a carried word that is found inside a run of Chinese; a longer one is found between spaces
_STRAIGHT = str.maketrans("’“”", "'\"\"")


class _Index:
    """What a vocabulary looks up, made once for its words."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.ids = {word: id for id, word in enumerate(words, start=len(SPECIALS))}
        numbered = {int(match[1]): self.ids[word] for word in words if (match := _SLOT.fullmatch(word))}
        if sorted(numbered) != list(range(1, len(numbered) + 1)):
            raise ValueError(_("words holds the slots {slots}; number them <1>, <2> and so on, without a gap.",
                               slots=", ".join(f"<{number}>" for number in sorted(numbered))))
        self.slots = tuple(numbered[number] for number in sorted(numbered))
        self.typed = tuple(word for word in words if not _SLOT.fullmatch(word))  # "<1>" that is typed is no slot
        self.known = {word: self.ids[word] for word in self.typed}
        if self.slots:  # what is not known is carried over as it is, so "i" has to be known as I
            self.known = {**{_plain(word): id for word, id in self.known.items()}, **self.known}
        self.longest = max(map(len, words))
        self.together = together(self.typed, strangers=bool(self.slots))


@lru_cache(maxsize=64)
def _index(words: tuple[str, ...]) -> _Index:
    return _Index(words)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of a trained model: ids 0 to 3 are <pad> <bos> <eos> <unk>, then `words` in their order.

    A typed word is looked up as it is, then in lower case with a straight apostrophe (The, didn’t). carried: the words that the
    slots carry already, the first one in <1>; see `bound`.
    Raises ValueError for no words, a word twice or empty, one with a special's name, or slots that are not <1> to <n>.
    """

    words: tuple[str, ...]
    carried: tuple[str, ...] = ()
    _index: _Index = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check(self.words)
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
    def around(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.bos_id,), (self.eos_id,)

    @property
    def n_slots(self) -> int:
        """How many words this vocabulary can carry over in one sentence."""
        return len(self._index.slots)

    def slot(self, id: int) -> int:
        """The number of the slot that has this id, counted from 1; 0 for any other id."""
        slots = self._index.slots
        return slots.index(id) + 1 if id in slots else 0

    # --- Typed text to tokens and ids ---
    def tokenize(self, sentence: str) -> list[str]:
        """The tokens of `split_words`, exactly as typed; a run of Chinese is split into known words.

        In such a run the longest known word is taken from the left; what lies between known words is one unknown word.
        Where the sentence has spaces, a run that is not made of known words alone stays the word that was typed. Known words of
        several pieces stay whole (t-shirt), and 's is split off where it is a word of this vocabulary; see `cutting`.
        """
        return [piece.token for piece in self._pieces(sentence)]

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """One id per token. Typed text gets no special's id but <unk>, not even the text "<pad>".

        A slot's name has its id, for sentences that a grammar made: typing "<1>" gives three tokens, none of which is that name.
        """
        return [self._index.ids.get(token) or self._id(token) or self.unk_id for token in tokens]

    def read(self, sentence: str) -> tuple[list[str], list[int]]:
        """The tokens exactly as typed, and one id each."""
        pieces = self._pieces(sentence)
        return [piece.token for piece in pieces], self._placed(pieces)[0]

    def carries(self, sentence: str) -> tuple[str, ...]:
        """The words in the slots once this sentence has been read: those carried already, then its own unknown words."""
        return self._placed(self._pieces(sentence))[1]

    def _placed(self, pieces: Sequence[Piece]) -> tuple[list[int], tuple[str, ...]]:
        """The ids of a sentence, and the words in its slots."""
        carried, slots, ids = list(self.carried), self._index.slots, []
        numbers = {_plain(word): number for number, word in enumerate(carried[: len(slots)])}
        titled = False
        for token, word in pieces:
            name = titled and token[:1].isupper() and bool(slots)  # Mr. Brown is nobody's colour
            number, id = numbers.get(_plain(word)), 0 if name else self._id(word)
            titled = _plain(word) in TITLES and self._known(word)
            if number is None and not id and len(carried) < len(slots) and _IS_WORD.search(word):
                number = numbers[_plain(word)] = len(carried)
                carried.append(token)
            ids.append(slots[number] if number is not None else id or self.unk_id)
        return ids, tuple(carried)

    def _id(self, word: str) -> int:
        """The id of a word that can be typed; 0 if it is unknown."""
        known = self._index.known
        return known.get(word) or known.get(_plain(word), 0)

    # --- Where words begin and end ---
    def _pieces(self, sentence: str) -> list[Piece]:
        chunks = sentence.split()
        found: list[Piece] = []
        quoted = False
        for i, chunk in enumerate(chunks, start=1):
            parts = self._parts(chunk, last=i == len(chunks))
            pieces = [piece for part in parts for piece in self._split_run(part, spaced=len(chunks) > 1)]
            if self._id(POSSESSIVE):
                quoted = quoted or chunk.startswith(OPENING)
                pieces = list(possessives(pieces, self._known, quoted=quoted))
            found += pieces
        return found

    def _parts(self, chunk: str, *, last: bool) -> Iterable[Piece]:
        """A known or carried word between spaces is one token, so what a model wrote comes back as it was; so is a title's dot."""
        whole = chunk in self._index.known or chunk in self.carried
        title = chunk.removesuffix(".")
        if not (whole or last) and title != chunk and _plain(title) in TITLES and self._known(title):
            return [Piece(chunk, title)]
        return [Piece(chunk, chunk)] if whole else cut(chunk, self._index.together, self._known)

    def _known(self, word: str) -> bool:
        return bool(self._id(word))

    def _split_run(self, whole: Piece, *, spaced: bool) -> list[Piece]:
        piece, known, carried = whole.token, self._index.known, self.carried
        clusters = split_characters(piece)
        if kind(clusters[0][:3]) != "H" or piece in known or piece in carried:
            return [whole]
        longest = max(self._index.longest, *(len(word) for word in carried if len(word) <= MOST_INSIDE), 0)
        cuts: list[int] = []  # where tokens start
        start, stranger = 0, False
        while start < len(clusters):
            ends = range(min(start + longest, len(clusters)), start, -1)
            texts = ((end, "".join(clusters[start:end])) for end in ends)
            end = next((end for end, text in texts if text in known or text in carried), None)
            if end is None and spaced:
                return [whole]
            if end is not None or not stranger:  # strangers side by side are one word
                cuts.append(start)
            start, stranger = end or start + 1, end is None
        tokens = ("".join(clusters[cut:next_cut]) for cut, next_cut in pairwise([*cuts, len(clusters)]))
        return [Piece(token, token) for token in tokens]

    # --- Ids and tokens to words ---
    def decode(self, id: int) -> str:
        """The token with this id: a special or a word, or the word that this slot carries."""
        if not 0 <= id < self.vocab_size:
            raise ValueError(_("token id {id} is outside the vocabulary of {vocab_size}; use 0 to {vocab_size_2}.",
                               id=id, vocab_size=self.vocab_size, vocab_size_2=self.vocab_size - 1))
        if 0 < (number := self.slot(id)) <= len(self.carried):
            return self.carried[number - 1]
        return SPECIALS[id] if id < len(SPECIALS) else self.words[id - len(SPECIALS)]

    def check_ids(self, ids: Sequence[int]) -> None:
        """Any id list can be read."""

    def collisions(self, tokens: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups of different known tokens that share one id (The, the), in order of first appearance."""
        distinct = list(dict.fromkeys(tokens))
        pairs = [(token, id) for token, id in zip(distinct, self.encode(distinct), strict=True) if id != self.unk_id]
        return sharing(*zip(*pairs, strict=True)) if pairs else []

    def unknown(self, sentence: str) -> list[tuple[str, list[str]]]:
        """The words outside the vocabulary, once each as typed, with up to three known words that each may stand for.

        Those that a slot carries are among them. A word with a capital inside a sentence is a name, which stands for no other
        word; one with a capital at the beginning may be.
        """
        tokens, ids = self.read(sentence)
        strangers = dict.fromkeys(t for t, id in zip(tokens, ids, strict=True) if id == self.unk_id or self.slot(id))
        shouted = not any(c.islower() for c in sentence) and len(tokens) > 1  # then capitals say nothing
        names = set[str]() if shouted else _names(tokens)
        return [(token, [] if token in names else list(nearest(_plain(token), self._index.typed,
                                                               name=token[:1].isupper() and not shouted)))
                for token in strangers]

    def groups(self, tokens: Sequence[str]) -> list[int]:
        """Each token is a word: 0, 1, 2, ..."""
        return list(range(len(tokens)))

    def word(self, tokens: Sequence[str]) -> str:
        """The one token of a word."""
        return "".join(tokens)


@lru_cache(maxsize=64)
def _check(words: tuple[str, ...]) -> None:
    seen: set[str] = set(SPECIALS)
    for word in words:
        if not isinstance(word, str) or not word or word in seen:
            raise ValueError(_("words holds {word!r} where a new word belongs; list each word once, and no special.",
                               word=word))
        seen.add(word)
    if not words:
        raise ValueError(_("words is empty; a vocabulary needs at least one word."))


def _names(tokens: Sequence[str]) -> set[str]:
    """The tokens with a capital that does not come from the beginning of a sentence or of a quotation."""
    inside = {after for before, after in pairwise(tokens) if before == "," or any(map(str.isalnum, before))}
    return {token for token in inside if token[:1].isupper()}


def _plain(token: str) -> str:
    return token.lower().translate(_STRAIGHT)


# --- Both sides of a sentence ---------------------------------------------------------------------------------------------
def carried_words(tokenizer: AnyTokenizer, sentence: str, before: Sequence[str] = ()) -> tuple[str, ...]:
    """The words in the slots once this sentence has been read. before: those of its source. None without slots."""
    reader = bound(tokenizer, before)
    return reader.carries(sentence) if isinstance(reader, Vocabulary) and reader.n_slots else tuple(before)


def bound(tokenizer: AnyTokenizer, carried: Sequence[str]) -> AnyTokenizer:
    """The tokenizer as it reads and names a sentence whose slots carry these words; without slots it stays as it is."""
    return replace(tokenizer, carried=tuple(carried)) if isinstance(tokenizer, Vocabulary) and tokenizer.n_slots else tokenizer


def strangers(tokenizer: AnyTokenizer, sentence: str) -> tuple[list[str], list[str]]:
    """The words outside the vocabulary, once each as typed: those that a slot carries, and those that are read as <unk>."""
    lost = {token for token, id in zip(*tokenizer.read(sentence), strict=True) if id == tokenizer.unk_id}
    unknown = [word for word, __ in tokenizer.unknown(sentence)]
    return [word for word in unknown if word not in lost], [word for word in unknown if word in lost]
