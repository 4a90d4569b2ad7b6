"""Aligned pieces of a sentence (English words, and Chinese words with their English origins), and the random sampler."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Literal, TypeVar

from viz_core.training.corpus.lexicon import Adjective, Noun, Verb

T = TypeVar("T")
C = TypeVar("C", Noun, Verb, Adjective)
N_CANDIDATES = 160  # random candidates for a rare word
Person = Literal["I", "third", "plural"]  # decides am, is, are and the -s of a verb


class Word:
    """An English word at one position: two words with the same spelling are different objects."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


Link = tuple[str, tuple[Word, ...]]


@dataclass(frozen=True, slots=True)
class Phrase:
    """English words in order, and Chinese words in order, each with the English words that it is aligned to."""

    source: tuple[Word, ...] = ()
    target: tuple[Link, ...] = ()

    def __bool__(self) -> bool:
        """Whether it has any words."""
        return bool(self.source or self.target)


NOTHING = Phrase()


def pair(english: str, chinese: str = "") -> Phrase:
    """Return words that translate each other as a whole: each Chinese word is aligned to all the English words."""
    source = tuple(map(Word, english.split()))
    return Phrase(source, tuple((word, source) for word in chinese.split()))


def aligned(phrase: Phrase, chinese: str) -> Phrase:
    """Return further Chinese words, aligned to all the English words of `phrase` (to none if it has none)."""
    return Phrase((), tuple((word, phrase.source) for word in chinese.split()))


def chinese(text: str) -> Phrase:
    """Return Chinese words that are aligned to no English word: 的, 把."""
    return aligned(NOTHING, text)


def english(text: str) -> Phrase:
    """Return English words that have no Chinese counterpart: the."""
    return pair(text)


def aligned_to_all(phrases: Iterable[Phrase], chinese: str) -> Phrase:
    """Return Chinese words that are aligned to all the English words of several phrases: did not -> 没有."""
    return aligned(Phrase(tuple(word for phrase in phrases for word in phrase.source)), chinese)


def english_text(phrase: Phrase) -> str:
    """Return the English words as one string."""
    return " ".join(word.text for word in phrase.source)


def join(source: Iterable[Phrase], target: Iterable[Phrase] | None = None) -> Phrase:
    """Concatenate phrases, in the order of each language; without `target` in the same order in both."""
    source = tuple(source)
    target = source if target is None else target
    words = tuple(word for phrase in source for word in phrase.source)
    return Phrase(words, tuple(link for phrase in target for link in phrase.target))


def with_de(pieces: Sequence[Phrase]) -> list[Phrase]:
    """Return the pieces with a final 的, unless they already end in one: 二手 的 衣柜."""
    last = next((word for phrase in reversed(pieces) for word, __ in reversed(phrase.target)), "")
    return [*pieces] if last == "的" else [*pieces, chinese("的")]


COMMA = pair(",", "，")


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A phrase together with its noun.

    head: the noun alone, which a pronoun of the same sentence refers to and which the target repeats. pronoun: he, she, it or they.
    takes_dou: whether the Chinese verb takes 都. negator: the words that negate the Chinese verb, as in "none of them". negative:
    whether it is a subject such as nobody, 没有 人. name: its name in the combinations that decide the held-out split.
    """

    phrase: Phrase
    head: Phrase
    noun: Noun | None = None
    person: Person = "third"
    pronoun: str = "it"
    takes_dou: bool = False
    negator: Phrase = NOTHING
    negative: bool = False
    name: str = ""

    def with_phrase(self, phrase: Phrase) -> "NounPhrase":
        """Return the same noun phrase with other words."""
        return replace(self, phrase=phrase)


@dataclass(slots=True)
class Sampler:
    """Draws random choices and keeps the state of the sentence being generated.

    depth: how many levels of nested phrases are still allowed. combinations: content words that occur together, which decide the
    held-out split. referent: the noun that a pronoun refers to and the target repeats. n_slots: number of `<n>` slots used so far.
    actor: the subject of the current clause if it is a pronoun, so that "I" does not meet "me". is_question: whether the sentence
    is a question. counts: how often each lexicon entry was chosen in all sentences so far. n_rare: how many further words of the
    sentence are preferably rare ones, so that every word is learned; the others are common, so that the context is informative.
    """

    rng: Random
    depth: int = 2
    combinations: list[tuple[str, ...]] = field(default_factory=list)
    referent: Word | None = None
    n_slots: int = 0
    actor: str = ""
    is_question: bool = False
    counts: Counter[object] = field(default_factory=Counter)
    n_rare: int = 0

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.rng.random() < probability

    def choice(self, choices: Sequence[T]) -> T:
        """Return a uniformly drawn choice."""
        return choices[int(self.rng.random() * len(choices))]

    def entry(self, choices: Sequence[C]) -> C:
        """Draw a lexicon entry: common ones are preferred, or the least used one while rare words are wanted."""
        seldom = self.n_rare > 0 and self.chance(0.85)
        self.n_rare -= seldom
        choice = self._least_used(choices) if seldom else self._common_entry(choices)
        self.counts[choice] += 1
        return choice

    def _least_used(self, choices: Sequence[C]) -> C:
        """Return the least used of `N_CANDIDATES` random choices."""
        return min((self.choice(choices) for __ in range(N_CANDIDATES)), key=self.counts.__getitem__)

    def _common_entry(self, choices: Sequence[C]) -> C:
        """Return a common entry if one is found within a few draws."""
        for __ in range(12 if self.chance(0.9) else 0):
            choice = self.choice(choices)
            if choice.is_common:
                return choice
        return self.choice(choices)

    def weighted(self, choices: Mapping[T, float]) -> T:
        """Return a random key; the values are weights."""
        return self.rng.choices(list(choices), list(choices.values()))[0]

    def pair(self, table: Mapping[str, str]) -> Phrase:
        """Return a random row of an English -> Chinese table as a phrase."""
        return pair(*self.choice(list(table.items())))

    def can_nest(self) -> bool:
        """Whether another nested phrase is allowed."""
        return self.depth > 0

    def new_slot(self) -> str:
        """Return the next numbered slot, which stands for a name or an unknown word."""
        self.n_slots += 1
        return f"<{self.n_slots}>"
