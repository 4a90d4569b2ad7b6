"""Sentences that differ from a typed one in a single word, so that two runs can be compared: too tired -> too wide.

First come the card's examples that differ in one word; then the lexicon's words of the same kind and form that go with what
stands around: an adjective that describes a noun of the sentence, a noun of the same classes, a verb with the same subject and
object. Everything else stays as it was typed. A word that the tokenizer does not know is never offered, nor one that is cut
into another number of tokens, so that each token of one sentence has its partner in the other.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice, zip_longest
from typing import NamedTuple
from zlib import crc32

from viz_core.config.limits import MAX_REPLACED_CHARS
from viz_core.text import NO_TOKEN, AnyTokenizer, Vocabulary, split_words
from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.lexicon import Adjective, Noun, Verb
from viz_core.training.bilingual.nouns import an
from viz_core.training.bilingual.phrases import english
from viz_core.training.bilingual.senses import BE, SUBJECTS, Sense, peers, senses

MOST = 4
ORDER = ("adjective", "noun", "verb", "number", "pronoun", "adverb")  # what is offered first
TRIED = 8  # replacements of one word that are read in their sentence before the word is given up
MOST_READ = 64  # texts with another word that are read before the sentence is given up; fewer of a long one
DEGREE = ("adverb", "degree")  # too tired, but not "me too"
ALIKE = 0.5  # the share of the classes of two nouns that both have, at least
JOINED = "-‐‑/@&+_"  # a piece of a longer word stands beside one of these
DETERMINERS = frozenset({
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "no", "every", "each", "another", "many", "few", "several",
    "my", "your", "his", "her", "its", "our", "their", "'s",
})
BEFORE_VERBS = SUBJECTS | frozenset({
    "to", "not", "didn't", "doesn't", "don't", "won't", "can't", "cannot", "couldn't", "will", "would", "can", "could", "may",
    "must", "should", "do", "does", "did", "who", "please", "let's", "always", "often", "never", "usually", "sometimes",
})
DEGREES = BE | frozenset({"too", "very", "so", "quite", "really", "more", "most", "pretty", "look", "looks", "feel", "became"})
OBJECTS = frozenset({"me", "you", "him", "her", "it", "us", "them"})


class Replacement(NamedTuple):
    """place: the token that changes, by its position as the tokenizer reads the sentence. sentence: with `new` in its place."""

    place: int
    old: str
    new: str
    sentence: str


class _Word(NamedTuple):
    """A word of the typed text, from start to end; plain: as the lexicon looks it up, "" where it is part of a longer one."""

    text: str
    start: int
    end: int
    plain: str


def suggestions(
    sentence: str, tokenizer: AnyTokenizer, examples: Sequence[str] = (), most: int = MOST
) -> tuple[Replacement, ...]:
    """At most `most` sentences that differ in one word, the same ones each time. Any text will do; for many there are none.

    tokenizer, examples: of the side that is typed.
    """
    if len(sentence) > MAX_REPLACED_CHARS:
        return ()
    try:
        ids = tokenizer.tokens_and_ids(sentence)[1]
    except ValueError:  # the name of a special token, which a published tokenizer does not read
        return ()
    words = list(_words(sentence))
    found: dict[str, Replacement] = {}
    for choices in (_from_examples(words, examples), _from_lexicon(sentence, words, tokenizer)):
        for word, new in choices:
            if len(found) >= most:
                break
            if (one := _replaced(sentence, word, new, tokenizer, ids)) is not None:
                found.setdefault(one.sentence, one)
    return tuple(found.values())


def other_word(
    sentence: str, read: Callable[[str], tuple[Sequence[str], Sequence[int]]], known: Iterable[str] = (), unk_id: int = NO_TOKEN,
    split: Callable[[str], Sequence[str]] = split_words,
) -> Replacement | None:
    """The sentence with one of its words replaced by another one of its own, or of `known`, for any tokenizer and any language.

    The last word first, and a punctuation mark only where no word can be replaced. read: the tokens and the ids of a text.
    split: a text -> what is replaced, in reading order. None where none of the first few replacements changes one token, which
    is not the one with the id unk_id, and leaves every other as it is.
    """
    try:
        before = read(sentence)
    except ValueError:  # the name of a special token, which a published tokenizer does not read
        return None
    spans, at = [], 0
    for text in split(sentence):
        start = sentence.index(text, at)
        at = start + len(text)
        if not text.isspace():
            spans.append((text, start, at))
    spans.sort(key=lambda span: (not _is_a_word(span[0]), -span[1]))
    own = dict.fromkeys(sorted((text for text, *__ in reversed(spans)), key=lambda text: not _is_a_word(text)))
    most = MOST_READ * MAX_REPLACED_CHARS // max(MAX_REPLACED_CHARS, len(sentence)) + 1
    tries = chain(((span, new) for span in spans for new in own), ((span, new) for new in known for span in spans))
    for (old, start, end), new in islice((one for one in tries if one[0][0] != one[1]), most):
        changed = f"{sentence[:start]}{new}{sentence[end:]}"
        try:
            after = read(changed)
        except ValueError:
            continue
        place = _only_difference(before, after)
        if place is not None and after[1][place] != unk_id:
            return Replacement(place, old, new, changed)
    return None


def _is_a_word(text: str) -> bool:
    return any(c.isalnum() for c in text)


def _only_difference(
    before: tuple[Sequence[str], Sequence[int]], after: tuple[Sequence[str], Sequence[int]],
) -> int | None:
    """The one place at which two texts have other tokens and other ids; None where they differ elsewhere or nowhere."""
    if len(before[1]) != len(after[1]):
        return None
    places = [[i for i, (a, b) in enumerate(zip(*pair, strict=True)) if a != b] for pair in zip(before, after, strict=True)]
    return places[1][0] if len(places[1]) == 1 and places[0] == places[1] else None


# --- Words, and what is put in their place ----------------------------------------------------------------------------
def _words(sentence: str) -> Iterator[_Word]:
    """The words and marks of a text, 's by itself."""
    at = 0
    for token in split_words(sentence):
        start = sentence.index(token, at)
        at = start + len(token)
        plain = _plain(token)
        ends = [at - 2, at] if plain.endswith("'s") and len(token) == len(plain) > 2 else [at]
        beside = sentence[start - 1 : start] + sentence[at : at + 1]
        for end in ends:
            text = sentence[start:end]
            yield _Word(text, start, end, "" if any(mark in beside for mark in JOINED) else _plain(text))
            start = end


def _plain(text: str) -> str:
    return text.lower().replace("’", "'")


def _replaced(sentence: str, word: _Word, new: str, tokenizer: AnyTokenizer, ids: Sequence[int]) -> Replacement | None:
    """The sentence with this word, if it then differs in one token, which the tokenizer knows."""
    new = _in_the_case_of(word.text, new)
    changed = f"{sentence[: word.start]}{new}{sentence[word.end :]}"
    try:
        other = tokenizer.tokens_and_ids(changed)[1]
    except ValueError:
        return None
    places = [i for i, (a, b) in enumerate(zip_longest(ids, other)) if a != b]
    if len(places) != 1 or len(ids) != len(other) or not _is_known(tokenizer, other[places[0]]):
        return None
    return Replacement(places[0], word.text, new, changed)


def _is_known(tokenizer: AnyTokenizer, id: int) -> bool:
    return id != tokenizer.unk_id and not (isinstance(tokenizer, Vocabulary) and tokenizer.slot(id))


def _knows(tokenizer: AnyTokenizer, word: str) -> bool:
    """Whether a word can be one known token: checked where a look-up tells, before a whole sentence is read."""
    if not isinstance(tokenizer, Vocabulary):
        return True
    ids = tokenizer.tokens_and_ids(word)[1]
    return len(ids) == 1 and _is_known(tokenizer, ids[0])


def _in_the_case_of(old: str, new: str) -> str:
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


# --- The card's examples ----------------------------------------------------------------------------------------------
def _from_examples(words: Sequence[_Word], examples: Sequence[str]) -> Iterator[tuple[_Word, str]]:
    """Words of examples that say the same but for one word, whatever their capitals and marks."""
    own = _said(words)
    for example in examples:
        others = _said(list(_words(example)))
        differ = [(a, b) for a, b in zip(own, others, strict=False) if _plain(a.text) != _plain(b.text)]
        if len(own) == len(others) and len(differ) == 1:
            yield differ[0][0], differ[0][1].text


def _said(words: Sequence[_Word]) -> list[_Word]:
    return [word for word in words if any(c.isalnum() for c in word.text)]


# --- The lexicon ------------------------------------------------------------------------------------------------------
def _from_lexicon(sentence: str, words: Sequence[_Word], tokenizer: AnyTokenizer) -> Iterator[tuple[_Word, str]]:
    """Replacements by the lexicon: one of each word that has any, adjectives first, then further ones of each word."""
    context = _Context(words)
    first = {word.plain: i for i, word in reversed(list(enumerate(words)))}
    places = [(i, sense) for i in sorted(first.values()) if (sense := context.sense(i)) is not None]
    places.sort(key=lambda place: ORDER.index(place[1].kind))  # stable: in reading order
    choices = [(words[i], _choices(sentence, context, i, sense, tokenizer)) for i, sense in places]
    for __ in range(TRIED):
        yield from ((word, new) for word, each in choices if (new := next(each, None)) is not None)


def _choices(sentence: str, context: "_Context", i: int, sense: Sense, tokenizer: AnyTokenizer) -> Iterator[str]:
    """Known words that may stand in place of word i: the most plausible first, then those common ones."""
    old, article = context.words[i].plain, context.before(i)
    mixed = crc32(f"{old} {sentence}".encode("utf-8", "replace"))
    ranked = [
        (-likely, peer.seldom, crc32(peer.word.encode(), mixed), peer.word) for peer in peers(sense.group)
        if peer.word != old and (likely := context.plausible(i, sense.entry, peer.entry))
    ]
    for new in dict.fromkeys(new for *__, new in sorted(ranked)):
        if (article not in ("a", "an") or an([english(new)]) == article) and _knows(tokenizer, new):
            yield new


class _Context:
    """The words around each word, which decide what it is here and what may stand in its place."""

    def __init__(self, words: Sequence[_Word]) -> None:
        self.words = words
        self.senses = [senses(word.plain) for word in words]
        nouns = (next((s.entry for s in found if isinstance(s.entry, Noun)), None) for found in self.senses)
        self.nouns = list(nouns)  # of each word, None where it is none

    def before(self, i: int) -> str:
        return self.words[i - 1].plain if i else ""

    def after(self, i: int) -> str:
        return self.words[i + 1].plain if i + 1 < len(self.words) else ""

    def sense(self, i: int) -> Sense | None:
        """What word i is here; None where the words around leave it open."""
        here = [s for s in self.senses[i] if not s.rest or self._follows(i, s.rest)]
        if any(s.rest for s in here):  # "looks for" is not "looks"
            here = [s for s in here if s.rest]
        here = [s for s in here if s.kind != "verb" or self._fits(i, s)]
        here = [s for s in here if s.group != DEGREE or any(x.kind == "adjective" for x in self.senses_at(i + 1))]
        kinds = {s.kind for s in here}
        kind: str | None = next(iter(kinds)) if len(kinds) == 1 else self._kind(i, kinds)
        if (kind == "noun" and self.before(i) in BEFORE_VERBS) or (kind == "adjective" and not self._is_said_of_a_noun(i)):
            return None
        return next((s for s in here if s.kind == kind), None)

    def senses_at(self, i: int) -> tuple[Sense, ...]:
        return self.senses[i] if 0 <= i < len(self.words) else ()

    def _follows(self, i: int, rest: str) -> bool:
        further = rest.split()
        return [word.plain for word in self.words[i + 1 : i + 1 + len(further)]] == further

    def _kind(self, i: int, kinds: Collection[str]) -> str | None:
        """Of several kinds the one that the word before speaks for."""
        before = self.before(i)
        wanted: tuple[str, ...] = ()
        if before in DETERMINERS:
            wanted = ("adjective", "noun") if self._is_noun(i + 1) else ("noun", "adjective")
        elif before in DEGREES:
            wanted = ("adjective", "verb")
        elif before in BEFORE_VERBS or self._is_noun(i - 1):
            wanted = ("verb",)
        elif any(s.kind == "adjective" for s in self.senses_at(i - 1)):
            wanted = ("noun",)
        return next((kind for kind in wanted if kind in kinds), None)

    def _is_said_of_a_noun(self, i: int) -> bool:
        """Whether an adjective stands where adjectives do: "the light is on", but not "the cat sat on the mat"."""
        return self.after(i) not in DETERMINERS and (self._is_noun(i + 1) or self.before(i) in DETERMINERS | DEGREES)

    def _is_noun(self, i: int) -> bool:
        return 0 <= i < len(self.words) and self.nouns[i] is not None

    # --- What goes with what ---
    def plausible(self, i: int, old: object, new: object) -> float:
        """0 where a word does not belong, more the better it fits."""
        if isinstance(old, Noun) and isinstance(new, Noun):
            alike = len(old.classes & new.classes) / max(1, len(old.classes | new.classes))
            return alike if new.is_first and alike >= ALIKE else 0
        if isinstance(old, Adjective) and isinstance(new, Adjective):
            return self._describes(i, old, new)
        return self._goes_with(i, new) if isinstance(new, Verb) else 1

    def _describes(self, i: int, old: Adjective, new: Adjective) -> int:
        """How well it describes a noun; better still one that the old adjective does not: what "it" is then changes."""
        if self._is_noun(i + 1):  # it stands before its noun
            noun = self.nouns[i + 1]
            return min(2, lex.fits(noun, new.nouns)) if noun is not None and "noattr" not in new.flags else 0
        if "nopred" in new.flags:
            return 0
        earlier = [noun for noun in self.nouns[:i] if noun is not None] or [_somebody()]
        best = max(earlier, key=lambda noun: lex.fits(noun, new.nouns))
        fit = min(2, lex.fits(best, new.nouns))
        refers = any(word.plain in ("it", "they") for word in self.words[:i])
        return fit + 2 * (fit > 1 and refers and not lex.fits(best, old.nouns))

    def _goes_with(self, i: int, verb: Verb) -> int:
        """How well a verb fits its subject and its object, the less good of both; where it is done counts as an object."""
        nearest = next((noun for noun in reversed(self.nouns[:i]) if noun is not None), None)
        subject = nearest if nearest is not None and self.before(i) not in SUBJECTS else _somebody()
        fit = lex.fits(subject, verb.subjects)
        if verb.frame == "loc":
            return fit * any(preposition == self.after(i) for preposition, __ in lex.PLACES.get(verb.base, ()))
        if verb.frame == "i":
            return fit
        thing = next((noun for noun in self.nouns[i + 1 :] if noun is not None), None) or _somebody()
        return min(fit, lex.fits(thing, verb.objects))

    def _fits(self, i: int, sense: Sense) -> bool:
        """Whether a verb of this frame can be followed by what follows: an object, a place, or neither."""
        verb = sense.entry
        assert isinstance(verb, Verb)
        behind = i + 1 + len(sense.rest.split())
        word = self.words[behind] if behind < len(self.words) else None
        if verb.frame == "loc":
            return word is not None and any(p == word.plain for p, __ in lex.PLACES.get(verb.base, ()))
        thing = word is not None and (word.plain in DETERMINERS or word.plain in OBJECTS or self._is_noun(behind))
        return thing if verb.frame == "t" else verb.frame == "i" and not thing


def _somebody() -> Noun:
    """Whom a pronoun stands for, or a name."""
    return next(noun for noun in lex.NOUNS if noun.is_a("person"))


# ---------------------------------------------------------------- words that change places


def exchangeable(words: Sequence[str]) -> tuple[int, int] | None:
    """The places of two words of a sentence that can change places so that it stays a sentence: the dog bites the man.

    The first noun that has another one of the same number behind it, with the next of these; else two adjectives of the same
    degree. "a" and "an" have to fit afterwards. None where the lexicon finds no such pair.
    """
    plain = [word.lower() for word in words]
    for kind in ("noun", "adjective"):
        groups = {i: group for i in range(len(plain)) if (group := _group(plain, i, kind)) is not None}
        for i, j in combinations(groups, 2):
            if groups[i] == groups[j] and plain[i] != plain[j] and _articles_fit(plain, i, j) and _articles_fit(plain, j, i):
                return i, j
    return None


def _group(words: Sequence[str], i: int, kind: str) -> Hashable | None:
    """What the words of its kind and form share, if this one is of the kind: by the lexicon, or where it can be of several kinds
    by the word before it."""
    found = senses(words[i])
    group = next((sense.group for sense in found if sense.kind == kind), None)
    before = words[i - 1] if i else ""
    alone = len({sense.kind for sense in found}) == 1
    return group if alone or (before in DETERMINERS if kind == "noun" else before in DEGREES) else None


def _articles_fit(words: Sequence[str], place: int, other: int) -> bool:
    """Whether the word at `other` may stand behind what is before `place`."""
    before = words[place - 1] if place else ""
    return before not in ("a", "an") or an([english(words[other])]) == before
