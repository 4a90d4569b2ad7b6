"""The data files that the app reads instead of this package: the lexicon, the held-out sentences and those of the first lesson."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType

from viz_core.text import lexicon as app
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.closed_class import FEW_NUMBERS, OWNERS
from viz_core.training.corpus.dataset import examples
from viz_core.training.corpus.simple_sentences import simple_sentences
from viz_core.training.examples import DATA_SEED, FIRST_LESSON_FILE, HELD_OUT_FILE, HELD_OUT_SEED

N_HELD_OUT = 1_000
N_LESSON = 8_000  # sentences of each length in LESSON_LENGTHS: as many as a task may ask for
LESSON_LENGTHS = range(4, 21)  # words of the longest sentence that a task may ask for
ADVERB_KINDS = ("frequency", "manner", "degree")  # of the adverbs that can be replaced by others of their kind
AMBIGUOUS_OWNERS = ("her", "his")  # also object pronouns, or names of owned things: I saw her
Row = Sequence[str | Sequence[str]]


# --- The lexicon ------------------------------------------------------------------------------------------------------
def lexicon_text() -> str:
    """Return lexicon.json: the word forms that `viz_core.text.lexicon` reads, without their translations."""
    tables = {"nouns": _nouns(), "adjectives": _adjectives(), "verbs": _verbs(), "words": _words()}
    return "{\n" + ",\n".join(f'"{name}": [\n{_json_lines(rows)}\n]' for name, rows in tables.items()) + "\n}\n"


def _json_lines(rows: Iterable[Row]) -> str:
    return ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)


def _nouns() -> Iterator[Row]:
    """Iterate over the nouns of one word: singular, plural, the names by which a selector quotes them, classes, flags."""
    selectors = chain.from_iterable((*((v.subjects, v.objects) for v in lex.VERBS), *((a.nouns,) for a in lex.ADJECTIVES)))
    quoted = frozenset(chain.from_iterable(app.parse_selector(text).names for text in selectors))
    for noun in lex.NOUNS:
        if " " in noun.english and " " in (noun.plural or " "):
            continue
        names = {noun.chinese, *([noun.english] if noun.is_usual_sense else [])} & quoted
        flags = {
            "common": noun.is_common, "usual": noun.is_usual_sense, "plural": noun.only_plural,
            "any": lex.match_score(noun, "any") > 0,
        }
        yield [noun.english, noun.plural, sorted(names), " ".join(sorted(noun.classes)), _flags(flags)]


def _adjectives() -> Iterator[Row]:
    """Iterate over the adjectives without an object: their degrees of one word, the nouns that they describe, flags."""
    for adjective in lex.ADJECTIVES:
        if "of" not in adjective.flags:
            degrees = (adjective.english, adjective.comparative, adjective.superlative)
            own = {"common": adjective.is_common, **{name: name in adjective.flags for name in ("noattr", "nopred")}}
            yield [["" if degree in ("more", "most") else degree for degree in degrees], adjective.nouns, _flags(own)]


def _verbs() -> Iterator[Row]:
    """Iterate over the verbs that can be replaced by themselves: forms, frame, subjects, objects, prepositions, flags."""
    for verb in lex.VERBS:
        if verb.frame in ("t", "i", "loc"):
            forms = [verb.base, verb.third, verb.past, verb.participle, verb.ing if verb.has_progressive else ""]
            places = lex.PLACES.get(verb.base, ()) if verb.frame == "loc" else ()
            prepositions = dict.fromkeys(preposition for preposition, __ in places if " " not in preposition)
            yield [forms, verb.frame, verb.subjects, verb.objects, " ".join(prepositions), _flags({"common": verb.is_common})]


def _words() -> Iterator[Row]:
    """Iterate over adverbs and function words: word, kind, and the form that the words of one group share."""
    yield from ([adverb.english, "adverb", adverb.kind] for adverb in lex.ADVERBS if adverb.kind in ADVERB_KINDS)
    yield from ([number, "number", "several"] for number in FEW_NUMBERS)
    yield from ([owner, "pronoun", "owner"] for owner in OWNERS if owner not in AMBIGUOUS_OWNERS)
    yield from ([pronoun, "pronoun", "subject"] for pronoun in ("he", "she"))


def _flags(given: Mapping[str, bool]) -> str:
    return " ".join(name for name, holds in given.items() if holds)


# --- Sentences --------------------------------------------------------------------------------------------------------
def held_out_text(n: int = N_HELD_OUT) -> str:
    """Return held_out.txt: the first n held-out sentences, a line each."""
    return "".join(f"{example.to_line()}\n" for example in islice(examples(HELD_OUT_SEED, held_out=True), n))


def first_lesson_text(n: int = N_LESSON) -> str:
    """Return first_lesson.txt: simple sentence pairs, n for each length, in the order in which they are drawn.

    A pair is left out where there are n earlier pairs for every length that includes it.
    """
    counts: Counter[int] = Counter()
    lines = []
    for example in simple_sentences(DATA_SEED):
        longest = max(len(example.source), len(example.target))
        lacking = [length for length in LESSON_LENGTHS if counts[length] < n]
        if not lacking:
            break
        counts.update(wanted := [length for length in lacking if length >= longest])
        if wanted:
            lines.append(f"{' '.join(example.source)}\t{' '.join(example.target)}\n")
    return "".join(lines)


DATA_FILES: Mapping[Path, Callable[[], str]] = MappingProxyType({
    app.LEXICON_FILE: lexicon_text, HELD_OUT_FILE: held_out_text, FIRST_LESSON_FILE: first_lesson_text,
})
"""Each data file and the function that makes its text."""
