"""Pieces of sentences in English and Chinese at once: aligned words, noun phrases and verb phrases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, TypeVar

from viz_core.training import lexicon as lex
from viz_core.training.lexicon import Noun, Verb

T = TypeVar("T")
Combination = tuple[str, ...]
Person = Literal["I", "third", "plural"]  # decides am, is, are and the -s of a verb
Tense = Literal["past", "present", "going on", "went on", "future", "ability", "wish", "past not", "present not", "future not"]
TENSES: dict[Tense, float] = {
    "past": 8, "present": 3, "going on": 2, "went on": 1, "future": 2, "ability": 2, "wish": 2, "past not": 3, "present not": 2,
    "future not": 1,
}
"""The weight of each."""


# --- Aligned words ----------------------------------------------------------------------------------------------------
class Word:
    """An English word at one position: two words with the same spelling are different objects."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


@dataclass(frozen=True, slots=True)
class Phrase:
    """English words, and Chinese words with the English words that each comes from."""

    source: tuple[Word, ...] = ()
    target: tuple[tuple[str, tuple[Word, ...]], ...] = ()


NOTHING = Phrase()


def pair(english: str, chinese: str = "") -> Phrase:
    """Words that translate each other as a whole: each Chinese word comes from all the English words."""
    source = tuple(map(Word, english.split()))
    return Phrase(source, tuple((word, source) for word in chinese.split()))


def more(phrase: Phrase, chinese: str) -> Phrase:
    """More Chinese words that come from the English words of a phrase, or from none if it has none."""
    return Phrase((), tuple((word, phrase.source) for word in chinese.split()))


def join(english: Iterable[Phrase], chinese: Iterable[Phrase]) -> Phrase:
    """The pieces in the order of each language."""
    source = tuple(word for phrase in english for word in phrase.source)
    return Phrase(source, tuple(link for phrase in chinese for link in phrase.target))


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A phrase and its noun: `head` is the noun alone, `name` its English singular."""

    phrase: Phrase
    head: Phrase
    name: str
    person: Person = "third"

    @property
    def living(self) -> bool:
        return lex.NOUNS.get(self.name) in lex.SOMEONE


@dataclass(frozen=True, slots=True)
class VerbPhrase:
    """did not | chase, or chased: in Chinese 没有 | 追, or 追 | 了; and a time: yesterday."""

    before: Phrase
    verb: Phrase
    after: Phrase
    time: Phrase = NOTHING
    time_first: bool = False  # in English


# --- Choosing them ----------------------------------------------------------------------------------------------------
class Speaker:
    """Chooses random words, and remembers their combinations and what a pronoun stands for."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.combinations: list[Combination] = []
        self.referent: Word | None = None

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def one(self, choices: Sequence[T]) -> T:
        return self.rng.choice(choices)

    def often(self, choices: Mapping[T, float]) -> T:
        """A random key; the values are weights."""
        return self.rng.choices(list(choices), list(choices.values()))[0]

    def word(self, table: Mapping[str, str]) -> Phrase:
        """A row of a table English -> Chinese."""
        return pair(*self.one(list(table.items())))

    # -- nouns --

    def noun(self, choices: Sequence[Noun], plain: bool = False, inside: float = 0.0) -> NounPhrase:
        """the cat; a big red ball -> 一 个 大 红 球; two dogs -> 两 只 狗; the ball in the box -> 盒子 里 的 球.

        plain: with "the" and nothing else. inside: how often a place follows where nothing else does.
        """
        noun = self.one(choices)
        if plain:
            return self.with_the(noun, [])
        adjectives = self.adjectives(noun)
        if noun.plural and self.chance(0.1):
            return self.counted(noun, adjectives, self.word(lex.NUMBERS), noun.plural)
        kind = self.often({"the": 58, "a": 18, "this": 8, "owner": 12, "none": 4})
        if kind == "the":
            return self.with_the(noun, adjectives, self.chance(inside))
        if kind == "a":
            first = adjectives[0].source[0].text if adjectives else noun.english
            return self.counted(noun, adjectives, pair("an" if first[0] in "aeiou" else "a", "一"), noun.english)
        if kind == "this":
            return self.counted(noun, adjectives, self.word(lex.POINTERS), noun.english)
        head = pair(noun.english, noun.chinese)
        pieces = [self.word(lex.OWNERS) if kind == "owner" else NOTHING, *adjectives, head]
        return NounPhrase(join(pieces, pieces), head, noun.english)

    def adjectives(self, noun: Noun) -> list[Phrase]:
        """None, or a size, a colour, or both in this order."""
        sizes = {**lex.SIZES, **lex.CHARACTERS} if noun in lex.SOMEONE else lex.SIZES
        chosen = [self.word(sizes)] if self.chance(0.14) else []
        return [*chosen, self.word(lex.COLOURS)] if noun not in lex.PEOPLE and self.chance(0.14) else chosen

    def with_the(self, noun: Noun, adjectives: list[Phrase], inside: bool = False) -> NounPhrase:
        """the red ball -> 红 球; the red ball in the box -> 盒子 里 的 红 球."""
        head = pair(noun.english, noun.chinese)
        described = join([pair("the"), *adjectives, head], [*adjectives, head])
        if not inside:
            return NounPhrase(described, head, noun.english)
        preposition, place = self.place(plain=True)
        self.combinations.append((noun.english, place.name))
        chinese = [place.phrase, preposition, more(preposition, "的"), described]
        return NounPhrase(join([described, preposition, place.phrase], chinese), head, noun.english)

    def counted(self, noun: Noun, adjectives: list[Phrase], number: Phrase, english: str) -> NounPhrase:
        """a cat -> 一 只 猫: the noun decides the classifier."""
        head = pair(english, noun.chinese)
        chinese = [number, more(head, noun.classifier), *adjectives, head]
        person: Person = "plural" if english == noun.plural else "third"
        return NounPhrase(join([number, *adjectives, head], chinese), head, noun.english, person)

    def subject(self, choices: Sequence[Noun]) -> NounPhrase:
        """A noun, sometimes two or a pronoun."""
        if self.chance(0.15):
            word = self.word(lex.SUBJECTS)
            name = word.source[0].text
            person: Person = "I" if name == "I" else "third" if name in ("he", "she", "it") else "plural"
            return NounPhrase(word, word, name, person)
        first = self.noun(choices, inside=0.1)
        if not self.chance(0.05):
            return first
        second = self.noun(choices)
        pieces = [first.phrase, pair("and", "和"), second.phrase]
        self.combinations.append((first.name, "and", second.name))
        return NounPhrase(join(pieces, pieces), first.head, first.name, "plural")

    def object(self, choices: Sequence[Noun]) -> NounPhrase:
        """A noun; where it can be a person, sometimes a pronoun."""
        if choices[-1] in lex.PEOPLE and self.chance(0.1):
            word = self.word(lex.OBJECTS)
            return NounPhrase(word, word, word.source[0].text)
        return self.noun(choices, inside=0.1)

    def place(self, choices: Sequence[Noun] = (), plain: bool = False) -> tuple[Phrase, NounPhrase]:
        """The preposition and the place: on the mat, in the box, in front of the house. Chinese turns them round."""
        place = self.noun(choices or lex.SOMEWHERE, plain)
        usual = pair("on", "上") if lex.NOUNS[place.name] in lex.ON else pair("in", "里")
        return (usual if self.chance(0.65) else self.word(lex.PREPOSITIONS)), place

    # -- verbs --

    def verb(self, verb: Verb, subject: NounPhrase, chinese: str = "", *, le: bool = True, going_on: str = "正在") -> VerbPhrase:
        """The verb in some tense, perhaps negated, perhaps with a time.

        chinese: instead of the verb's own. le: whether its past has 了. going_on: what "is" becomes before -ing.
        """
        third = subject.person == "third"
        tense = self.often({name: often for name, often in TENSES.items() if not (verb.is_state and name.endswith("on"))})
        present = verb.third if third else verb.base
        form = {"past": verb.past, "present": present, "going on": verb.ing, "went on": verb.ing}.get(tense, verb.base)
        main = pair(form, chinese or verb.chinese)
        after = more(main, "了") if tense == "past" and le and not verb.is_state else NOTHING
        time = self.word(lex.TIMES[tense]) if tense in lex.TIMES and self.chance(0.2) else NOTHING
        return VerbPhrase(self.auxiliary(tense, subject.person, going_on), main, after, time, self.chance(0.5))

    def auxiliary(self, tense: Tense, person: Person, going_on: str = "正在") -> Phrase:
        """did not -> 没有; will not -> 不 会; nothing in the plain past and present."""
        third = person == "third"
        if tense in ("past", "present"):
            return NOTHING
        if tense in ("going on", "went on"):
            return pair(be(person) if tense == "going on" else was(person), going_on)
        if tense == "past not":
            return pair(self.one(("did not", "didn't")), "没有")
        if tense == "present not":
            return pair(self.one(("does not", "doesn't") if third else ("do not", "don't")), "不")
        if tense == "wish":
            return pair(self.one(("wants to" if third else "want to", "wanted to")), "想")
        if tense == "ability":
            return pair("can", "能")
        will, no = pair("will", "会"), pair("not", "不") if tense == "future not" else NOTHING
        return join([will, no], [no, will])

    def is_or_was(self, person: Person) -> str:
        return be(person) if self.chance(0.5) else was(person)


def be(person: Person) -> str:
    return {"I": "am", "third": "is", "plural": "are"}[person]


def was(person: Person) -> str:
    return "were" if person == "plural" else "was"
