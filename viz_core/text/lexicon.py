"""English word forms with their possible readings (plural noun, past of a verb, ...), for replacing a word by another of its kind.

`python -m viz_core.training.corpus` writes lexicon.json from the tables of the sentence generator.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

LEXICON_FILE = Path(__file__).with_name("lexicon.json")
Kind = Literal["adjective", "noun", "verb", "number", "pronoun", "adverb"]
BE = frozenset({"am", "is", "are", "was", "were", "be", "been", "being"})
AUXILIARIES = BE | {"have", "has", "had", "having", "do", "does", "did", "done", "doing", "will", "can", "may", "must"}
SUBJECTS = frozenset({"i", "you", "he", "she", "it", "we", "they"})
VERB_ROLES = ("base", "third", "past", "participle", "ing")
_QUOTED = re.compile(r"[\"']([^\"']+)[\"']")


class Selector(NamedTuple):
    """The nouns that a verb or an adjective goes with: nouns by name, and classes; the class "any" is every usual noun."""

    names: frozenset[str]
    classes: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """One sense of a noun. plural: "" for a mass noun.

    names: what a selector calls it. flags: common; usual (the usual sense of its word); plural (only plural: trousers); any (a
    selector's "any" includes it).
    """

    singular: str
    plural: str
    names: frozenset[str]
    classes: frozenset[str]
    flags: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """One sense of an adjective. degrees: plain, comparative and superlative, "" if it is not one word.

    nouns: those that it describes. flags: common; noattr (never attributive); nopred (only attributive).
    """

    degrees: tuple[str, str, str]
    nouns: Selector
    flags: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """One sense of a verb. forms: those of `VERB_ROLES`, "" for one that it does not have.

    frame: i (intransitive), t (with an object) or loc (with a place). prepositions: of its usual places, for the frame loc.
    """

    forms: tuple[str, str, str, str, str]
    frame: Literal["i", "t", "loc"]
    subjects: Selector
    objects: Selector
    prepositions: frozenset[str]
    flags: frozenset[str]


Entry = Noun | Adjective | Verb


class Group(NamedTuple):
    """Words of the same kind and form, which can replace one another. form: such as "several", "past", "comparative"."""

    kind: Kind
    form: str


class Sense(NamedTuple):
    """One reading of a word. entry: None for a function word or an adverb. rest: further words of a verb that follow it."""

    group: Group
    entry: Entry | None
    rest: str = ""

    @property
    def kind(self) -> Kind:
        """The kind of word."""
        return self.group.kind


class Alternative(NamedTuple):
    """A word of a group. rarity: 0 for a common word of one kind, 1 for a rare one, 2 and 3 for words of several kinds."""

    word: str
    entry: Entry | None
    rarity: int


class Lexicon(NamedTuple):
    """The entries of lexicon.json, in the order of the generator's tables. words: adverbs and function words with their group."""

    nouns: tuple[Noun, ...]
    adjectives: tuple[Adjective, ...]
    verbs: tuple[Verb, ...]
    words: tuple[tuple[str, Group], ...]


@cache
def lexicon() -> Lexicon:
    """Return the lexicon."""
    rows = json.loads(LEXICON_FILE.read_text("utf-8"))
    return Lexicon(
        nouns=tuple(
            Noun(singular, plural, frozenset(names), frozenset(classes.split()), frozenset(flags.split()))
            for singular, plural, names, classes, flags in rows["nouns"]
        ),
        adjectives=tuple(
            Adjective(tuple(degrees), parse_selector(nouns), frozenset(flags.split()))
            for degrees, nouns, flags in rows["adjectives"]
        ),
        verbs=tuple(
            Verb(tuple(forms), frame, parse_selector(subjects), parse_selector(objects), frozenset(prepositions.split()),
                 frozenset(flags.split()))
            for forms, frame, subjects, objects, prepositions, flags in rows["verbs"]
        ),
        words=tuple((word, Group(kind, form)) for word, kind, form in rows["words"]),
    )


@cache
def parse_selector(text: str) -> Selector:
    """Parse a selector: classes, and nouns in quotation marks."""
    return Selector(frozenset(_QUOTED.findall(text)), frozenset(_QUOTED.sub("", text).split()))


def match_score(noun: Noun, selector: Selector) -> int:
    """Return how specifically a selector matches a noun: 3 by name, 2 by class, 1 by "any", 0 not at all."""
    if not noun.names.isdisjoint(selector.names):
        return 3
    return 2 if not noun.classes.isdisjoint(selector.classes) else int("any" in selector.classes and "any" in noun.flags)


def indefinite_article(text: str) -> str:
    """Return "a" or "an", whichever fits before the first word of a text."""
    first = next(iter(text.split()), "x")
    starts_with_vowel = first[0] in "aeiouAEIOU" and not first.startswith(("uni", "use", "usu", "one", "eu"))
    return "an" if starts_with_vowel or first.startswith(("hour", "honest", "honor", "honour")) else "a"


def senses(word: str) -> tuple[Sense, ...]:
    """Return the possible readings of a lowercase word, the usual one of each kind first; () for an unknown word."""
    return _index()[0].get(word, ())


def alternatives(group: Group) -> tuple[Alternative, ...]:
    """Return the words of one group, in the order of the lexicon."""
    return _index()[1].get(group, ())


@cache
def _index() -> tuple[Mapping[str, tuple[Sense, ...]], Mapping[Group, tuple[Alternative, ...]]]:
    """Return the readings by word and the words by group."""
    by_word: dict[str, list[Sense]] = defaultdict(list)
    for word, sense in _forms(lexicon()):
        if word and " " not in word and word not in AUXILIARIES:
            by_word[word].append(sense)
    by_group: dict[Group, list[Alternative]] = defaultdict(list)
    for word, found in by_word.items():
        several = len({sense.kind for sense in found}) > 1
        for sense in found:
            common = sense.entry is None or "common" in sense.entry.flags
            by_group[sense.group].append(Alternative(word, sense.entry, 2 * several + (not common)))
    return {w: tuple(found) for w, found in by_word.items()}, {g: tuple(found) for g, found in by_group.items()}


def _forms(entries: Lexicon) -> Iterator[tuple[str, Sense]]:
    """Iterate over all word forms with their readings."""
    for noun in entries.nouns:
        number = "several" if "plural" in noun.flags else "one" if noun.plural else "mass"
        yield noun.singular, Sense(Group("noun", number), noun)
        if number == "one":
            yield noun.plural, Sense(Group("noun", "several"), noun)
    for adjective in entries.adjectives:
        for degree, word in zip(("plain", "comparative", "superlative"), adjective.degrees, strict=True):
            yield word, Sense(Group("adjective", degree), adjective)
    for verb in entries.verbs:
        yield from _verb_forms(verb)
    yield from ((word, Sense(group, None)) for word, group in entries.words)


def _verb_forms(verb: Verb) -> Iterator[tuple[str, Sense]]:
    """Iterate over the forms of a verb, each once with all its roles: "read" is also a past, and only such verbs may replace it."""
    roles: dict[tuple[str, str], list[str]] = defaultdict(list)
    for role, form in zip(VERB_ROLES, verb.forms, strict=True):
        word, __, rest = form.partition(" ")
        roles[word, rest].append(role)
    for (word, rest), those in roles.items():
        yield word, Sense(Group("verb", f"{verb.frame} {'+'.join(those)} {rest}"), verb, rest)
