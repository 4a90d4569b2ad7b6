"""The lexicon of both languages, read from the tables: translations, inflected forms and selectional restrictions.

Where a word has several translations, its context decides: play the piano 弹, play football 踢. A line that quotes the noun
takes precedence over one that names a class of nouns, and that over `any`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeVar

from viz_core.text.lexicon import parse_selector
from viz_core.training.corpus import inflection

TABLES = Path(__file__).with_name("tables")
CLASSES: Mapping[str, tuple[str, ...]] = MappingProxyType({"being": ("person", "animal", "pet", "bird")})
"""Names for several noun classes at once."""
Frame = Literal[
    "i", "t", "place", "loc", "put", "give", "for", "tell", "to", "ing", "that", "tellthat", "wh", "tellwh", "make", "link"
]
"""What follows a verb: nothing, an object, a goal, a location, both, an object and a receiver, another verb or a clause."""
T = TypeVar("T", "Verb", "Adjective")


def word_lists(file: str) -> Mapping[str, frozenset[str]]:
    """Read a file of comma-separated word lists: heading -> words."""
    parts = re.split(r"# --- (\w+)\n", (TABLES / f"{file}.txt").read_text("utf-8"))
    return {table: frozenset(re.split(r",\s+", text.strip())) for table, text in zip(parts[1::2], parts[2::2], strict=True)}


COMMON = word_lists("common")
"""The words of each table that are frequent in everyday language; they are drawn more often."""


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun. `classifier` stands between a number and the noun: 一 只 猫, "a cat"; "" if the noun needs none: 一 天.

    plural: "" for a mass noun (water), equal to `english` for "sheep"; `only_plural`: trousers.
    """

    english: str
    chinese: str
    classifier: str
    classes: frozenset[str]
    plural: str
    only_plural: bool = False

    @property
    def is_common(self) -> bool:
        """Whether it is frequent in everyday language."""
        return self.chinese in COMMON["nouns"] or (self.english in COMMON["nouns"] and self.is_usual_sense)

    @property
    def is_usual_sense(self) -> bool:
        """Whether this is the usual sense of its English word: letter 信, not 字母."""
        return _USUAL_SENSES[self.english] is self

    @property
    def is_mass(self) -> bool:
        """Whether it has no plural."""
        return not self.plural

    def is_a(self, *names: str) -> bool:
        """Whether it belongs to one of these classes."""
        return not self.classes.isdisjoint(names)


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """One sense of a verb: its English forms, its Chinese, and the classes of its subjects and objects.

    flags: state (no progressive, and no 了 in the past), vo (verb and object in one word: 游泳), res (a result: no progressive),
    pre (the place with 在 precedes it), post (the place with 在 follows it), sep (separable: turn the light on).
    """

    base: str
    third: str
    past: str
    participle: str
    ing: str
    chinese: str
    frame: Frame
    subjects: str
    objects: str
    flags: frozenset[str]

    @property
    def is_common(self) -> bool:
        """Whether it is frequent in everyday language."""
        return self.base in COMMON["verbs"]

    @property
    def is_state(self) -> bool:
        """Whether it denotes a state."""
        return "state" in self.flags

    @property
    def has_progressive(self) -> bool:
        """Whether it has a progressive."""
        return self.flags.isdisjoint({"state", "res"}) and self.chinese not in MOMENTARY


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """One sense of an adjective. comparative: "" where it has none, "more" for more careful.

    flags: tight (大 狗 without 的), shi (是 … 的), ren (of a person 是 … 人), le (… 了), verb (no 很), noattr (never attributive),
    nopred (only attributive), of (with a prepositional object, `objects`).
    """

    english: str
    chinese: str
    nouns: str
    comparative: str
    superlative: str
    flags: frozenset[str]
    objects: str

    @property
    def is_common(self) -> bool:
        """Whether it is frequent in everyday language."""
        return self.english in COMMON["adjectives"]


@dataclass(frozen=True, slots=True, eq=False)
class Adverb:
    """An adverb. kind: frequency, time, place, manner, degree, sentence, focus or answer."""

    english: str
    chinese: str
    kind: str


# Chinese verbs that denote a point in time and have no progressive.
MOMENTARY = frozenset({
    "死", "去世", "到", "到达", "出发", "离开", "成为", "加入", "丢", "错过", "失去", "忘记", "忘了", "忘", "坏", "碎", "停",
    "发生", "结束", "发现", "听说", "得知", "毕业", "结婚", "离婚", "出国", "决定", "获得", "引起",
})


# --- Reading the tables -----------------------------------------------------------------------------------------------
def read_rows(table: str, width: int) -> list[list[str]]:
    """Read the lines of a table as lists of cells, padded to `width`."""
    lines = (TABLES / f"{table}.txt").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split(";")] for line in lines if line.strip() and not line.startswith("#")]
    return [row + [""] * (width - len(row)) for row in rows]


def _noun(english: str, chinese: str, classifier: str, classes: str, plural: str) -> Noun:
    """Parse a row of the nouns."""
    forms = {"": inflection.plural(english), "-": "", "=": english, "+": english}
    own = frozenset(classes.split())
    own |= {name for name, parts in CLASSES.items() if not own.isdisjoint(parts)}
    return Noun(english, chinese, classifier.strip("-"), own, forms.get(plural, plural), plural == "+")


def _verb(english: str, chinese: str, frame: Frame, subjects: str, objects: str, forms: str, flags: str) -> Verb:
    """Parse a row of the verbs."""
    _, space, rest = english.partition(" ")
    given = [f"{form}{space}{rest}" for form in forms.split()]
    regular = [inflection.past(english), inflection.past(english), inflection.ing(english), inflection.third(english)]
    past, participle, ing, third = given + regular[len(given) :]
    own = frozenset(flag.partition(":")[0] for flag in flags.split())
    return Verb(english, third, past, participle, ing, chinese, frame, subjects, objects, own)


def _adjective(english: str, chinese: str, nouns: str, degree: str, flags: str, objects: str) -> Adjective:
    """Parse a row of the adjectives."""
    if degree in ("-", "more"):
        degrees = ["", ""] if degree == "-" else ["more", "most"]
    else:
        degrees = degree.split() or [inflection.comparative(english), inflection.superlative(english)]
    comparative, superlative = degrees
    return Adjective(english, chinese, nouns, comparative, superlative, frozenset(flags.split()), objects)


def _places() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Read the table of places."""
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for verb, preposition, wanted in read_rows("places", 3):
        found[verb] = (*found.get(verb, ()), (preposition, wanted))
    return found


NOUNS: tuple[Noun, ...] = tuple(_noun(*row) for row in read_rows("nouns", 5))
_USUAL_SENSES = {noun.english: noun for noun in reversed(NOUNS)}
VERBS: tuple[Verb, ...] = tuple(_verb(*row) for row in read_rows("verbs", 7))  # type: ignore[arg-type]
ADJECTIVES: tuple[Adjective, ...] = tuple(_adjective(*row) for row in read_rows("adjectives", 6))
ADVERBS: tuple[Adverb, ...] = tuple(Adverb(*row) for row in read_rows("adverbs", 3))
PLACES: Mapping[str, tuple[tuple[str, str], ...]] = _places()
"""Verb (or person, thing, place) -> the prepositions and nouns of its usual locations."""


# --- Selectional restrictions -----------------------------------------------------------------------------------------
EXCLUDED_FROM_ANY = (
    "month", "weekday", "country", "language", "number", "price", "part", "time", "season", "quality", "subject", "disaster",
)
"""Classes that `any` excludes: few verbs with an unrestricted object take these."""


@cache
def match_scores(selector: str) -> Mapping[Noun, int]:
    """Return how specifically a selector matches each noun that it matches: 3 by name, 2 by class, 1 by `any`."""
    quoted, names = parse_selector(selector)
    takes_any = "any" in names

    def score(noun: Noun) -> int:
        if noun.chinese in quoted or (noun.english in quoted and noun.is_usual_sense):
            return 3
        return 2 if noun.is_a(*names) else int(takes_any and not noun.is_a(*EXCLUDED_FROM_ANY))

    return MappingProxyType({noun: found for noun in NOUNS if (found := score(noun))})


@cache
def nouns(selector: str) -> tuple[Noun, ...]:
    """Return the nouns that a selector matches: classes, quoted nouns, or `any`."""
    return tuple(match_scores(selector))


@cache
def usual_sense_nouns(selector: str) -> tuple[Noun, ...]:
    """Return the nouns that a selector matches, in their usual senses only: a letter 信, not 字母."""
    return tuple(noun for noun in nouns(selector) if noun.is_usual_sense)


def match_score(noun: Noun, selector: str) -> int:
    """Return how specifically a selector matches a noun: 3 by name, 2 by class, 1 by `any`, 0 not at all."""
    return match_scores(selector).get(noun, 0)


@cache
def verbs(frame: Frame) -> tuple[Verb, ...]:
    """Return the verbs of a frame that have a possible subject, and an object where they need one."""
    return tuple(v for v in VERBS if v.frame == frame and subjects_of(v) and (objects_of(v) or not v.objects))


@cache
def verbs_where(test: Callable[[Verb], bool], *frames: Frame) -> tuple[Verb, ...]:
    """Return the verbs of some frames for which `test` holds."""
    return tuple(verb for frame in frames for verb in verbs(frame) if test(verb))


@cache
def adjectives(without: str = "") -> tuple[Adjective, ...]:
    """Return the adjectives that have none of these flags and describe some noun."""
    return tuple(a for a in ADJECTIVES if a.flags.isdisjoint(without.split()) and nouns_of(a))


@cache
def subjects_of(verb: Verb) -> tuple[Noun, ...]:
    """Return the possible subjects of a verb in this sense."""
    same = [v for v in VERBS if v.base == verb.base and v.frame == verb.frame and v.objects == verb.objects]
    return _best_matches(verb, same, "subjects")


@cache
def objects_of(verb: Verb) -> tuple[Noun, ...]:
    """Return the possible objects of a verb in this sense, compared with senses that share a subject (birds and people fly to)."""
    own = set(nouns(verb.subjects))
    same = [v for v in VERBS if v.base == verb.base and v.frame == verb.frame and not own.isdisjoint(nouns(v.subjects))]
    return _best_matches(verb, same, "objects")


def _acts_on_people(verb: Verb) -> bool:
    """Whether its objects are mostly people."""
    return "any" not in verb.objects and objects_of(verb)[0].is_a("person")


USUAL_TRANSLATIONS = {"have": "有", "play": "玩", "catch": "抓住", "think about": "想", "change": "改变"}
"""The usual translation of verbs whose first line is a special sense."""


@cache
def is_usual_translation(verb: Verb) -> bool:
    """Whether this is the usual translation for an unspecified object: have it 有, not 吃; know it 知道, know him 认识."""
    same = [v for v in verbs(verb.frame) if v.base == verb.base and _acts_on_people(v) == _acts_on_people(verb)]
    usual = [v for v in same if v.chinese == USUAL_TRANSLATIONS.get(verb.base)]
    return (usual or same)[0] is verb


@cache
def nouns_of(adjective: Adjective) -> tuple[Noun, ...]:
    """Return the nouns that an adjective describes in this sense."""
    side = {"noattr", "nopred"} & adjective.flags
    same = [a for a in ADJECTIVES if a.english == adjective.english and not side ^ ({"noattr", "nopred"} & a.flags)]
    return _best_matches(adjective, same, "nouns")


def _best_matches(entry: T, same: Sequence[T], cell: str) -> tuple[Noun, ...]:
    """Return the nouns of a cell that no other sense of the word matches more specifically (the first of equal ones wins)."""
    matched = nouns(getattr(entry, cell))
    if len(same) == 1:  # nearly always
        return matched
    scores = [match_scores(getattr(other, cell)) for other in same]
    return tuple(noun for noun in matched if same[max(range(len(same)), key=lambda i: scores[i].get(noun, 0))] is entry)


@cache
def _described() -> Mapping[Noun, tuple[Adjective, ...]]:
    """Return the adjectives of each noun."""
    found: dict[Noun, list[Adjective]] = {noun: [] for noun in NOUNS}
    for adjective in ADJECTIVES:
        for noun in nouns_of(adjective) if "of" not in adjective.flags else ():
            found[noun].append(adjective)
    return {noun: tuple(adjectives) for noun, adjectives in found.items()}


def adjectives_of(noun: Noun) -> tuple[Adjective, ...]:
    """Return the adjectives that describe a noun, each in its sense there."""
    return _described()[noun]


@cache
def is_usual_sense(adjective: Adjective) -> bool:
    """Whether this is the usual sense of the adjective without a noun: it is light 轻, not 清淡; he is young 年轻, not 小."""
    people = describes_people(adjective)
    same = [a for a in ADJECTIVES if a.english == adjective.english and describes_people(a) == people and "of" not in a.flags]
    return bool(same) and same[0] is adjective


def describes_people(adjective: Adjective) -> bool:
    """Whether it describes people and takes no object, unlike "afraid of"."""
    return "of" not in adjective.flags and ("person" in adjective.nouns or "being" in adjective.nouns)


@cache
def adverbs(kind: str) -> tuple[Adverb, ...]:
    """Return the adverbs of a kind."""
    return tuple(adverb for adverb in ADVERBS if adverb.kind == kind)
