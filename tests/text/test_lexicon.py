"""The word forms that the app knows, with their readings and the words of the same kind and form."""

import pytest

from viz_core.text.lexicon import (
    Adjective,
    Group,
    Noun,
    Verb,
    alternatives,
    indefinite_article,
    lexicon,
    match_score,
    parse_selector,
    senses,
)

CAT = next(noun for noun in lexicon().nouns if noun.singular == "cat")


def groups(word: str) -> set[Group]:
    return {sense.group for sense in senses(word)}


def test_a_word_has_its_readings_and_each_is_in_its_group() -> None:
    assert groups("cat") == {Group("noun", "one")} and groups("cats") == {Group("noun", "several")}
    assert {sense.kind for sense in senses("light")} >= {"noun", "adjective"}
    assert Group("noun", "one") in groups("sheep") and Group("noun", "several") in groups("sheep")
    assert groups("trousers") == {Group("noun", "several")} and Group("noun", "mass") in groups("water")
    assert groups("taller") == {Group("adjective", "comparative")} and groups("often") == {Group("adverb", "frequency")}
    assert groups("three") == groups("seven") and groups("my") == groups("our") and groups("he") == groups("she")
    assert not senses("blorp") and not senses("is") and not senses("")
    for word in ("cat", "light", "sheep", "taller", "looked", "three"):
        for sense in senses(word):
            assert word in {peer.word for peer in alternatives(sense.group) if peer.entry is sense.entry}, sense


def test_a_verb_form_with_two_roles_is_apart_from_a_form_with_one() -> None:
    def of_verb(word: str, frame: str) -> set[Group]:
        return {s.group for s in senses(word) if isinstance(s.entry, Verb) and s.entry.frame == frame and not s.rest}

    assert of_verb("came", "i") == of_verb("went", "i") and of_verb("run", "i") != of_verb("go", "i")
    assert {sense.rest for sense in senses("looked")} >= {"for"}


def test_a_common_word_of_one_kind_comes_before_rare_and_ambiguous_ones() -> None:
    rarity = {peer.word: peer.rarity for peer in alternatives(Group("noun", "one"))}
    assert rarity["cat"] == 0 and rarity["light"] >= 2 and {0, 1, 2, 3} == set(rarity.values())


def test_a_name_counts_more_than_a_class_and_a_class_more_than_any() -> None:
    assert [match_score(CAT, parse_selector(text)) for text in ("'cat' thing", "person animal any", "any", "person 'dog'", "")] == [
        3, 2, 1, 0, 0
    ]
    month = next(noun for noun in lexicon().nouns if "month" in noun.classes)
    assert match_score(month, parse_selector("any")) == 0


@pytest.mark.parametrize(("text", "article"), [
    ("apple", "an"), ("pear", "a"), ("hour", "an"), ("university", "a"), ("one", "a"), ("Old man", "an"), ("", "a"), (" egg", "an"),
])
def test_the_article_follows_the_sound(text: str, article: str) -> None:
    assert indefinite_article(text) == article


def test_the_entries_are_whole() -> None:
    found = lexicon()
    assert len(found.nouns) > 2000 and len(found.adjectives) > 600 and len(found.verbs) > 900
    assert all(isinstance(noun, Noun) and noun.classes for noun in found.nouns)
    assert all(isinstance(a, Adjective) and len(a.degrees) == 3 for a in found.adjectives)
    assert all((verb.frame == "loc") >= bool(verb.prepositions) and len(verb.forms) == 5 for verb in found.verbs)
