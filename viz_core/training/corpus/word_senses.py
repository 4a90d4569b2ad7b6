"""The possible readings of an English word form (plural noun, past of a verb, ...), and the other words with the same form."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.closed_class import FEW_NUMBERS, OWNERS
from viz_core.training.corpus.lexicon import Adjective, Adverb, Noun, Verb

Kind = Literal["adjective", "noun", "verb", "number", "pronoun", "adverb"]
Entry = Noun | Verb | Adjective | Adverb | None
BE = frozenset({"am", "is", "are", "was", "were", "be", "been", "being"})
AUXILIARIES = BE | {"have", "has", "had", "having", "do", "does", "did", "done", "doing", "will", "can", "may", "must"}
SUBJECTS = frozenset({"i", "you", "he", "she", "it", "we", "they"})
REPLACEABLE_FRAMES = ("t", "i", "loc")  # the frames in which a verb can be replaced by itself
REPLACEABLE_ADVERBS = ("frequency", "manner", "degree")
AMBIGUOUS_OWNERS = ("her", "his")  # also object pronouns or names of owned things: I saw her


class Sense(NamedTuple):
    """One reading of a word. group: the key of words of the same kind and form. rest: further words of a verb that follow it."""

    kind: Kind
    group: Hashable
    entry: Entry
    rest: str = ""


class Alternative(NamedTuple):
    """A word of a group. rarity: 0 for a common word of one kind, 1 for a rare one, 2 and 3 for words of several kinds."""

    word: str
    entry: Entry
    rarity: int


class _Form(NamedTuple):
    """A word form and one of its readings."""
    word: str
    sense: Sense


def senses(word: str) -> tuple[Sense, ...]:
    """Return the possible readings of a lowercase word, the usual one of each kind first; () for an unknown word."""
    return _index()[0].get(word, ())


def alternatives(group: Hashable) -> tuple[Alternative, ...]:
    """Return the words of one group, in the order of the tables."""
    return _index()[1].get(group, ())


@cache
def _index() -> tuple[Mapping[str, tuple[Sense, ...]], Mapping[Hashable, tuple[Alternative, ...]]]:
    """Return the readings by word and the words by group."""
    by_word: dict[str, list[Sense]] = defaultdict(list)
    for word, sense in _forms():
        if word and " " not in word and word not in AUXILIARIES:
            by_word[word].append(sense)
    by_group: dict[Hashable, list[Alternative]] = defaultdict(list)
    for word, found in by_word.items():
        several = len({sense.kind for sense in found}) > 1
        for sense in found:
            common = sense.entry is None or isinstance(sense.entry, Adverb) or sense.entry.is_common
            by_group[sense.group].append(Alternative(word, sense.entry, 2 * several + (not common)))
    return {w: tuple(found) for w, found in by_word.items()}, {g: tuple(found) for g, found in by_group.items()}


def _forms() -> Iterator[_Form]:
    """Iterate over all word forms of the lexicon with their readings."""
    for noun in lex.NOUNS:
        yield from _noun_forms(noun)
    for adjective in lex.ADJECTIVES:
        degrees = {"plain": adjective.english, "comparative": adjective.comparative, "superlative": adjective.superlative}
        for degree, word in degrees.items():
            if word not in ("more", "most") and "of" not in adjective.flags:
                yield _Form(word, Sense("adjective", ("adjective", degree), adjective))
    for verb in lex.VERBS:
        yield from _verb_forms(verb)
    for adverb in lex.ADVERBS:
        if adverb.kind in REPLACEABLE_ADVERBS:
            yield _Form(adverb.english, Sense("adverb", ("adverb", adverb.kind), adverb))
    for number in FEW_NUMBERS:
        yield _Form(number, Sense("number", "number", None))
    for owner in OWNERS:
        if owner not in AMBIGUOUS_OWNERS:
            yield _Form(owner, Sense("pronoun", "owner", None))
    for pronoun in ("he", "she"):
        yield _Form(pronoun, Sense("pronoun", "subject", None))


def _noun_forms(noun: Noun) -> Iterator[_Form]:
    """Iterate over the singular and the plural of a noun."""
    number = "several" if noun.only_plural else "one" if noun.plural else "mass"
    yield _Form(noun.english, Sense("noun", ("noun", number), noun))
    if noun.plural and not noun.only_plural:
        yield _Form(noun.plural, Sense("noun", ("noun", "several"), noun))


def _verb_forms(verb: Verb) -> Iterator[_Form]:
    """Iterate over the forms of a verb, each once with all its roles: "read" is also a past, and only such verbs may replace it."""
    if verb.frame not in REPLACEABLE_FRAMES:
        return
    roles: dict[tuple[str, str], list[str]] = defaultdict(list)
    for role in ("base", "third", "past", "participle", *(("ing",) if verb.has_progressive else ())):
        word, __, rest = str(getattr(verb, role)).partition(" ")
        roles[word, rest].append(role)
    for (word, rest), those in roles.items():
        yield _Form(word, Sense("verb", ("verb", verb.frame, rest, tuple(those)), verb, rest))
