"""Regular English forms, against a hand-written list."""

import pytest

from viz_core.training.corpus import inflection

NOUNS = """
cat cats | dog dogs | box boxes | bus buses | dish dishes | watch watches | lady ladies | city cities | boy boys
key keys | tree trees | bus stop bus stops | quiz quizes | orange oranges | day days | baby babies
"""
# base, he ..., past, -ing
VERBS = """
walk walks walked walking | like likes liked liking | stop stops stopped stopping | try tries tried trying
play plays played playing | watch watches watched watching | wash washes washed washing | fix fixes fixed fixing
lie lies lied lying | agree agrees agreed agreeing | admit admits admitted admitting
prefer prefers preferred preferring | open opens opened opening | visit visits visited visiting
rain rains rained raining | jog jogs jogged jogging | show shows showed showing | dye dyes dyed dyeing
use uses used using | hurry hurries hurried hurrying | enjoy enjoys enjoyed enjoying | quit quits quitted quitting
cook cooks cooked cooking
"""
ADJECTIVES = """
tall taller tallest | nice nicer nicest | big bigger biggest | happy happier happiest | new newer newest
clever cleverer cleverest | wet wetter wettest | dry drier driest | cheap cheaper cheapest | grey greyer greyest
"""


def rows(table: str) -> list[list[str]]:
    return [row.split() for line in table.strip().splitlines() for row in line.split(" | ")]


@pytest.mark.parametrize("words", rows(NOUNS), ids=" ".join)
def test_plurals(words: list[str]) -> None:
    half = len(words) // 2
    assert inflection.plural(" ".join(words[:half])) == " ".join(words[half:])


@pytest.mark.parametrize(("base", "third", "past", "ing"), rows(VERBS), ids=lambda word: word)
def test_forms_of_verbs(base: str, third: str, past: str, ing: str) -> None:
    assert (inflection.third(base), inflection.past(base), inflection.ing(base)) == (third, past, ing)


@pytest.mark.parametrize(("base", "comparative", "superlative"), rows(ADJECTIVES), ids=lambda word: word)
def test_degrees(base: str, comparative: str, superlative: str) -> None:
    assert (inflection.comparative(base), inflection.superlative(base)) == (comparative, superlative)


def test_the_first_word_of_a_verb_is_inflected() -> None:
    assert [inflect("look for") for inflect in (inflection.third, inflection.past, inflection.ing)] == [
        "looks for", "looked for", "looking for",
    ]
