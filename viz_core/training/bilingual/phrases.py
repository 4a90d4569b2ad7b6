"""Aligned pieces of a sentence: English words, and Chinese words with the English words that each comes from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, TypeVar

from viz_core.training.bilingual.lexicon import Adjective, Noun, Verb

T = TypeVar("T")
C = TypeVar("C", Noun, Verb, Adjective)
CANDIDATES = 160  # of which the word is taken that was said least
Person = Literal["I", "third", "plural"]  # decides am, is, are and the -s of a verb


class Word:
    """An English word at one position: two words with the same spelling are different objects."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


Link = tuple[str, tuple[Word, ...]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """English words in their order; Chinese words in theirs, each with the English words that it comes from."""

    source: tuple[Word, ...] = ()
    target: tuple[Link, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.source or self.target)


NOTHING = Phrase()


def pair(english: str, chinese: str = "") -> Phrase:
    """Words that translate each other as a whole: each Chinese word comes from all the English words."""
    source = tuple(map(Word, english.split()))
    return Phrase(source, tuple((word, source) for word in chinese.split()))


def more(phrase: Phrase, chinese: str) -> Phrase:
    """More Chinese words that come from the English words of a phrase, or from none if it has none."""
    return Phrase((), tuple((word, phrase.source) for word in chinese.split()))


def chinese(text: str) -> Phrase:
    """Chinese words that come from no English word: 的, 把."""
    return more(NOTHING, text)


def english(text: str) -> Phrase:
    """English words that become nothing: the."""
    return pair(text)


def from_all(phrases: Iterable[Phrase], chinese: str) -> Phrase:
    """Chinese words that come from all the English words of some phrases: did not -> 没有."""
    return more(Phrase(tuple(word for phrase in phrases for word in phrase.source)), chinese)


def texts(phrase: Phrase) -> str:
    """Its English words in one string."""
    return " ".join(word.text for word in phrase.source)


def join(source: Iterable[Phrase], target: Iterable[Phrase] | None = None) -> Phrase:
    """The pieces in the order of each language; without `target` the same order in both."""
    source = tuple(source)
    target = source if target is None else target
    words = tuple(word for phrase in source for word in phrase.source)
    return Phrase(words, tuple(link for phrase in target for link in phrase.target))


def with_de(pieces: Sequence[Phrase]) -> list[Phrase]:
    """The pieces and a 的, unless they end in one: 二手 的 衣柜."""
    last = next((word for phrase in reversed(pieces) for word, __ in reversed(phrase.target)), "")
    return [*pieces] if last == "的" else [*pieces, chinese("的")]


COMMA = pair(",", "，")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A phrase and its noun.

    head: the noun alone, which a pronoun of the same sentence stands for and the target repeats. pronoun: he, she, it or they.
    all: whether its Chinese verb takes 都. denies: its words that deny the Chinese verb:
    none of them. negative: nobody, 没有 人. name: what the split of combinations calls it.
    """

    phrase: Phrase
    head: Phrase
    noun: Noun | None = None
    person: Person = "third"
    pronoun: str = "it"
    all: bool = False
    denies: Phrase = NOTHING
    negative: bool = False
    name: str = ""

    def with_phrase(self, phrase: Phrase) -> "NounPhrase":
        """The same noun, said with other words."""
        return replace(self, phrase=phrase)


@dataclass(slots=True)
class Speaker:
    """Chooses at random, and remembers what a sentence is about.

    depth: how many phrases may still stand inside a phrase. combinations: its content words that go together, which decide the
    held-out split. referent: the noun that a pronoun stood for and the target repeats. names: numbered slots used so far.
    actor: who acts in the clause that is being said, where a pronoun says it: "I" do not meet "me". asks: whether it is a question.
    said: how often each word of the lexicon was chosen in all sentences so far. seldom: how many words of the sentence are
    rather some that were said seldom, so that every word is learned; the others are common ones, so that they tell what it means.
    """

    rng: Random
    depth: int = 2
    combinations: list[tuple[str, ...]] = field(default_factory=list)
    referent: Word | None = None
    names: int = 0
    actor: str = ""
    asks: bool = False
    said: Counter[object] = field(default_factory=Counter)
    seldom: int = 0

    def chance(self, probability: float) -> bool:
        """True as often as this."""
        return self.rng.random() < probability

    def one(self, choices: Sequence[T]) -> T:
        """One of them, each as likely as the others."""
        return choices[int(self.rng.random() * len(choices))]

    def usual(self, choices: Sequence[C]) -> C:
        """One of them, the common ones more often; in a sentence of seldom words rather the one that was said least."""
        seldom = self.seldom > 0 and self.chance(0.85)
        self.seldom -= seldom
        choice = self._least_said(choices) if seldom else self._common(choices)
        self.said[choice] += 1
        return choice

    def _least_said(self, choices: Sequence[C]) -> C:
        return min((self.one(choices) for __ in range(CANDIDATES)), key=self.said.__getitem__)

    def _common(self, choices: Sequence[C]) -> C:
        for __ in range(12 if self.chance(0.9) else 0):
            choice = self.one(choices)
            if choice.is_common:
                return choice
        return self.one(choices)

    def often(self, choices: Mapping[T, float]) -> T:
        """A random key; the values are weights."""
        return self.rng.choices(list(choices), list(choices.values()))[0]

    def word(self, table: Mapping[str, str]) -> Phrase:
        """A row of a table English -> Chinese."""
        return pair(*self.one(list(table.items())))

    def deeper(self) -> bool:
        """Whether a phrase may hold one more phrase."""
        return self.depth > 0

    def slot(self) -> str:
        """The next unknown word or name."""
        self.names += 1
        return f"<{self.names}>"
