"""The tables of the bilingual grammar: every line is well formed and can be said."""

import re
from collections import Counter
from typing import get_args

import pytest

from viz_core.training.corpus import closed_class, time_expressions, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.predicates import is_contiguous

WIDTHS = {"nouns": (4, 5), "verbs": (4, 7), "adjectives": (3, 6), "adverbs": (3, 3)}
VERB_FLAGS = {"state", "vo", "res", "pre", "post", "sep"}
ADJECTIVE_FLAGS = {"tight", "shi", "ren", "le", "verb", "noattr", "nopred", "of"}
KINDS = {"frequency", "time", "place", "manner", "degree", "sentence", "focus", "answer"}
CLASSES = {name for noun in lex.NOUNS for name in noun.classes} | {"any"}
ENGLISH = {noun.english for noun in lex.NOUNS}
QUOTABLE = ENGLISH | {noun.chinese for noun in lex.NOUNS}
QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
CHINESE = re.compile(r"[\u4e00-\u9fffA-Z]+")


def lines(table: str) -> list[list[str]]:
    text = (lex.TABLES / f"{table}.txt").read_text("utf-8")
    return [[cell.strip() for cell in line.split(";")] for line in text.splitlines() if line.strip() and not line.startswith("#")]


def unknown(cell: str) -> set[str]:
    """What a cell names and no noun is: classes, and nouns in quotes."""
    return (set(QUOTED.findall(cell)) - QUOTABLE) | (set(QUOTED.sub("", cell).split()) - CLASSES)


def is_template(chinese: str) -> bool:
    return "~" in chinese or " " in chinese


@pytest.mark.parametrize("table", WIDTHS)
def test_every_line_has_its_cells(table: str) -> None:
    least, most = WIDTHS[table]
    for line in lines(table):
        assert least <= len(line) <= most and all(line[:2]), line


def test_no_line_is_there_twice() -> None:
    for table in WIDTHS:
        counts = Counter(map(tuple, lines(table)))
        assert not [line for line, count in counts.items() if count > 1], table


def test_a_noun_of_two_meanings_has_them_in_two_classes() -> None:
    """match is 比赛 as an event and 火柴 as a thing: what goes with the noun says which."""
    counts = Counter((noun.english, name) for noun in lex.NOUNS for name in noun.classes)
    assert not [meaning for meaning, count in counts.items() if count > 1]
    assert len({(noun.english, noun.chinese) for noun in lex.NOUNS}) == len(lex.NOUNS)


def test_nouns() -> None:
    for noun in lex.NOUNS:
        assert CHINESE.fullmatch(noun.chinese), noun
        assert not noun.classifier or CHINESE.fullmatch(noun.classifier), noun
        assert noun.classes, noun
        assert noun.is_a("being") == noun.is_a("person", "animal", "pet", "bird")


def test_verbs() -> None:
    for line, verb in zip(lines("verbs"), lex.VERBS, strict=True):
        assert verb.frame in get_args(lex.Frame), line
        assert not unknown(verb.subjects) and not unknown(verb.objects), (line, unknown(verb.subjects), unknown(verb.objects))
        assert verb.flags <= VERB_FLAGS, line
        assert lex.subjects_of(verb), f"nobody does it: {line}"
        assert lex.objects_of(verb) or not verb.objects, f"it is done to nothing: {line}"
        assert all((verb.third, verb.past, verb.participle, verb.ing)), line
        places = verb.chinese.split("~")
        assert len(places) <= 2 and all(CHINESE.fullmatch(word) for part in places for word in part.split()), line


def test_only_the_goal_of_a_place_ends_a_template() -> None:
    """走 到 ~: elsewhere the verb stands behind the person or thing, 和 ~ 说话."""
    assert {verb.frame for verb in lex.VERBS if verb.chinese.endswith("~")} <= {"place"}
    assert all(verb.frame == "place" for verb in lex.VERBS if " " in verb.chinese and is_contiguous(verb))


def test_adjectives() -> None:
    for line, adjective in zip(lines("adjectives"), lex.ADJECTIVES, strict=True):
        assert not unknown(adjective.nouns) and not unknown(adjective.objects), line
        assert adjective.flags <= ADJECTIVE_FLAGS, line
        assert lex.nouns_of(adjective), f"nothing is so: {line}"
        assert bool(adjective.objects) == ("of" in adjective.flags) == ("~" in adjective.chinese), line
        assert all(CHINESE.fullmatch(word) for word in adjective.chinese.replace("~", " ").split()), line
        assert bool(adjective.comparative) == bool(adjective.superlative), line
        assert "of" in adjective.flags or " " not in adjective.chinese, line


def test_common_words_are_words_of_the_tables() -> None:
    assert lex.COMMON["nouns"] <= QUOTABLE
    assert lex.COMMON["verbs"] <= {verb.base for verb in lex.VERBS}
    assert lex.COMMON["adjectives"] <= {adjective.english for adjective in lex.ADJECTIVES}


def test_a_quoted_noun_is_meant_in_its_usual_sense() -> None:
    """letter is 信; the letter of an alphabet is named by its Chinese word."""
    assert [noun.chinese for noun in lex.nouns("'letter'")] == ["信"]
    assert [noun.english for noun in lex.nouns("'字母'")] == ["letter"]


def test_people_fly_otherwise_than_birds() -> None:
    flying = {verb.subjects: verb.chinese for verb in lex.verbs("place") if verb.base == "fly to"}
    assert flying["person"] == "坐飞机 去 ~" and len(flying) == 2
    assert all(lex.objects_of(verb) for verb in lex.verbs("place") if verb.base == "fly to")


def test_places() -> None:
    """Each place of a verb names nouns, and a preposition that Chinese has a word for."""
    verbs = {verb.base for frame in ("loc", "put") for verb in lex.verbs(frame)} | {"put", "person", "thing", "place"}
    for verb, rows in lex.PLACES.items():
        assert verb in verbs, verb
        for preposition, wanted in rows:
            assert not unknown(wanted) and lex.nouns(wanted), wanted
            assert preposition in ("in", "on", "at", *closed_class.PREPOSITIONS), preposition


def test_adverbs() -> None:
    assert {adverb.kind for adverb in lex.ADVERBS} == KINDS
    for adverb in lex.ADVERBS:
        assert CHINESE.fullmatch(adverb.chinese.replace("，", "")), adverb


def test_every_frame_is_built() -> None:
    assert set(get_args(lex.Frame)) == {verb.frame for verb in lex.VERBS}
    assert set(verb_phrases.BUILDERS) == set(get_args(lex.Frame))


def test_a_line_that_names_the_noun_holds_before_one_that_names_its_class() -> None:
    """play the piano 弹, play football 踢: each noun has one translation of the same use of a verb."""
    for verb in lex.VERBS:
        same = [v for v in lex.VERBS if (v.base, v.frame, v.subjects) == (verb.base, verb.frame, verb.subjects)]
        counts = Counter(noun for v in same for noun in (lex.objects_of(v) if v.objects else ()))
        assert not [noun.english for noun, count in counts.items() if count > 1], verb.base
    tea = next(noun for noun in lex.NOUNS if noun.english == "tea")
    assert [v.chinese for v in lex.verbs("t") if v.base == "have" and tea in lex.objects_of(v)] == ["喝"]


def test_the_small_tables_name_words_of_the_big_ones() -> None:
    measured = " ".join(what for __, what in closed_class.MEASURES.values())
    assert not unknown(measured)
    assert not unknown(" ".join(closed_class.TOOL_OF.values())) and set(closed_class.WITHOUT_ARTICLE) <= ENGLISH
    assert {noun.english for noun in lex.nouns("person")} >= closed_class.SHE | closed_class.HE
    assert all(set(words) & set(time_expressions.ADVERBS) for words in time_expressions.TIMES.values())
