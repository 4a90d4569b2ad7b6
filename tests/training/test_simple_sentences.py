"""The sentences from which a model learns in front of people: few words, and each of them right."""

from collections import Counter
from functools import cache
from itertools import islice

from viz_core.training.corpus import eval_set
from viz_core.training.corpus import simple_sentences as generator
from viz_core.training.corpus.simple_sentences import VOCABULARY, simple_sentences
from viz_core.training.corpus.unknown_words import SLOTS
from viz_core.training.examples import Example


@cache
def some() -> list[Example]:
    return list(islice(simple_sentences(0), 3000))


def test_the_same_seed_says_the_same() -> None:
    assert list(islice(simple_sentences(3), 30)) == list(islice(simple_sentences(3), 30)) != list(islice(simple_sentences(4), 30))


def test_every_word_of_the_lesson_is_said_often_enough_to_be_learned() -> None:
    said = Counter(word for example in some() for word in example.source)
    for word in VOCABULARY["nouns"] | VOCABULARY["adjectives"]:
        assert said[word] >= 15, word
    for verb in (verb for verb in generator._vocabulary_entries() if isinstance(verb, generator.Verb)):
        assert sum(said[form] for form in {verb.base, verb.third, verb.past, verb.ing}) >= 15, verb.base
    assert len(said) < 400 and len({word for example in some() for word in example.target}) < 250


def test_sentences_are_short_and_aligned_and_none_of_the_everyday_list() -> None:
    lengths = Counter(len(example.source) for example in some())
    assert max(lengths) <= 14 and sum(n for length, n in lengths.items() if length <= 8) > 0.9 * len(some())
    for example in some():
        assert all(0 <= i < len(example.source) for links in example.alignment for i in links)
        assert len(example.alignment) == len(example.target)
        assert eval_set.normalized_words(example.typed_text) not in eval_set.eval_sentences_as_words()
        slots = {word for word in example.source if word.startswith("<")}
        assert slots <= set(SLOTS) and slots == {word for word in example.target if word.startswith("<")}


RIGHT = {
    "the dog is hungry": "狗 很 饿", "the dog is not clean": "狗 不 干净", "the cat is tired": "猫 很 累",
    "the cat is black": "猫 是 黑色 的",
    "he can swim": "他 会 游泳", "she can dance": "她 会 跳舞", "<1> loves <2>": "<1> 爱 <2>", "I cried": "我 哭 了",
    "we will work": "我们 会 工作", "they are sleeping": "他们 在 睡觉", "I do not know <1>": "我 不 认识 <1>",
}


def test_what_it_says_is_right() -> None:
    told = {" ".join(example.source): " ".join(example.target) for example in islice(simple_sentences(0), 12000)}
    found = {english: told[english] for english in RIGHT if english in told}
    assert len(found) > 3 and found == {english: RIGHT[english] for english in found}
