"""What holds for every sentence that the bilingual grammar says."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import islice, pairwise
from random import Random

import pytest

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus import nouns
from viz_core.training.corpus.contractions import WITH_NOT
from viz_core.training.corpus.phrases import Phrase, Sampler, Word, pair
from viz_core.training.corpus.sentences import SENTENCE_KINDS, draw_sentence, to_example
from viz_core.training.examples import Example


def examples(seed: int) -> Iterator[Example]:
    """What the grammar says, before some of its words are unknown."""
    rng = Random(seed)
    while True:
        yield draw_sentence(rng)


LONGEST = 40
ARTICLES = {"a", "an", "the"}
ASKING = {
    *("what", "where", "how", "why", "who", "when", "whom", "which", "whose", "what's", "where's", "who's"),
    *("am", "is", "are", "was", "were", "do", "does", "did", "have", "has", "had", "can", "could", "will", "would", "should"),
    *("must", "may", "might", "shall"), *WITH_NOT.values(),
    "and",  # and you?
}
MARKS = {".": "。", "?": "？", "!": "！", ",": "，、："}
PRONOUN = re.compile(r"(it|they|he|she|him|her|them)('\w+)?")
SLOT = re.compile(r"<\d+>")


@cache
def said() -> list[Example]:
    return list(islice(examples(0), 2000))


def text(example: Example) -> str:
    return " ".join(example.source)


def test_each_word_is_aligned_within_its_sentence() -> None:
    for e in said():
        assert len(e.alignment) == len(e.target)
        assert all(0 <= i < len(e.source) for places in e.alignment for i in places), e
        assert all(places == tuple(sorted(set(places))) for places in e.alignment), e


def test_words_are_words() -> None:
    """None is empty or holds a space; the Chinese has no English words."""
    for e in said():
        assert e.source and e.target
        assert all(word and not re.search(r"\s", word) for word in (*e.source, *e.target)), e
        assert all(word.isascii() for word in e.source), e
        assert all(SLOT.fullmatch(word) or not re.search(r"[a-z<>]", word) for word in e.target), e


def test_sentences_are_no_longer_than_a_person_types() -> None:
    assert max(len(words) for e in said() for words in (e.source, e.target)) <= LONGEST


def test_a_name_is_carried_over() -> None:
    for e in said():
        assert {word for word in e.target if SLOT.fullmatch(word)} == {word for word in e.source if SLOT.fullmatch(word)}, e
        for word, places in zip(e.target, e.alignment, strict=True):
            assert not SLOT.fullmatch(word) or word in {e.source[i] for i in places}, e
    assert sum(any(map(SLOT.fullmatch, e.target)) for e in said()) > 200


def test_no_two_articles_in_a_row() -> None:
    for e in said():
        assert not [two for two in pairwise(e.source) if set(two) <= ARTICLES], e


def test_a_question_mark_stands_behind_questions_only() -> None:
    asked = [e for e in said() if "?" in e.source]
    assert len(asked) > 100
    odd = []  # now or later? since when?
    for e in asked:
        starts = [e.source[0], *(after for before, after in pairwise(e.source) if before in (",", ".", "?", "!"))]
        if not ASKING & set(starts):
            odd.append(e)
    assert len(odd) < 0.03 * len(asked), odd


def test_marks_are_the_same_in_both_languages() -> None:
    for e in said():
        ends = [sentence[-1] for sentence in (e.source, e.target)]
        assert (ends[1] in ".。？！") == (ends[0] in MARKS), e
        for mark, places in zip(e.target, e.alignment, strict=True):
            assert mark not in "。？！，" or not places or mark in MARKS[e.source[places[0]]], e
    marked = sum(e.source[-1] in MARKS for e in said()) / len(said())
    assert 0.55 < marked < 0.65


def test_a_pronoun_that_became_a_noun_comes_from_both() -> None:
    resolved = [e for e in said() if e.referent]
    assert len(resolved) > 60
    for e in resolved:
        assert e.referent is not None
        target, source = e.referent
        pronouns = [i for i in e.alignment[target] if PRONOUN.fullmatch(e.source[i])]
        assert source in e.alignment[target] and len(pronouns) == 1, e
        assert sum(e.target[target] in word for word in e.target) >= 2, e


def test_a_noun_is_translated_as_one_of_its_nouns() -> None:
    """Counted over all phrases of one noun in any form: its Chinese is there, and comes from its English."""
    rng = Random(1)
    for noun in lex.NOUNS:
        phrase = nouns.noun_phrase(Sampler(rng, depth=0), (noun,)).phrase
        example = to_example(phrase)
        place = example.target.index(to_example(pair(noun.english, noun.chinese)).target[0])
        assert {example.source[i] for i in example.alignment[place]} <= {*noun.english.split(), *noun.plural.split()}, example


def test_a_or_an_as_the_next_word_sounds() -> None:
    words = {"apple": "an", "dog": "a", "hour": "an", "university": "a", "useful": "a", "one": "a", "old": "an", "european": "a"}
    assert {word: nouns.a_or_an([pair(word)]) for word in words} == words


def test_a_sentence_has_what_it_is_about() -> None:
    """All but fixed phrases and names: nice to meet you; where are you from."""
    about = [e for e in said() if e.combinations]
    assert len(about) > 0.65 * len(said())
    assert all(isinstance(word, str) for e in about for words in e.combinations for word in words)


def test_sentences_are_different() -> None:
    assert len(set(map(text, said()))) > 0.97 * len(said())


def test_the_same_seed_says_the_same() -> None:
    assert list(islice(examples(0), 50)) == said()[:50]
    assert list(islice(examples(1), 50)) != said()[:50]


@pytest.mark.parametrize("frame", SENTENCE_KINDS, ids=lambda frame: frame.__name__)
def test_every_kind_of_sentence_can_be_said(frame: object) -> None:
    build = next(kind for kind in SENTENCE_KINDS if kind is frame)
    for seed in range(20):
        example = to_example(build(Sampler(Random(seed))))
        assert example.source and example.target


def test_what_is_said_once_is_not_kept_for_the_next() -> None:
    """The speaker of a sentence forgets: the same state of chance says the same sentence."""
    first, second = Random(3), Random(3)
    said = [draw_sentence(first) for __ in range(20)]
    assert [draw_sentence(second) for __ in range(20)] == said


@pytest.mark.parametrize(("said", "spelt"), [
    ("树 太 大", "树 太 大 了"),
    ("树 太 大 ， 人 太 小", "树 太 大 了 ， 人 太 小 了"),
    ("树 不 太 大", "树 不 太 大"),
    ("树 太 大 吗", "树 太 大 吗"),
    ("他 太 累 不 能 走路", "他 太 累 不 能 走路"),
    ("太 大 的 树", "太 大 的 树"),
])
def test_what_is_too_much_ends_in_le(said: str, spelt: str) -> None:
    words = [Word(word) for word in said.split()]
    example = to_example(Phrase(tuple(words), tuple((word.text, (word,)) for word in words)))
    assert " ".join(example.target) == spelt
    assert all(example.alignment[j] == example.alignment[j - 2] for j, word in enumerate(example.target) if word == "了")


def test_every_word_is_said_often_enough_to_be_learned() -> None:
    """Hardly a word is in none of 40,000 sentences, although some are said much more often than others."""
    said: Counter[object] = Counter()
    rng = Random(8)
    for __ in range(40_000):
        draw_sentence(rng, said)
    for words in (lex.nouns("any"), lex.VERBS):
        assert sum(word not in said for word in words) < 0.005 * len(words)
