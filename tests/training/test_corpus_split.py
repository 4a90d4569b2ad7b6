"""What is trained on, what is held out, and sentences with words that nobody taught."""

from collections import Counter
from itertools import islice
from random import Random

import pytest

from viz_core.training.corpus import dataset, eval_set
from viz_core.training.corpus.dataset import MAX_WORDS, examples, is_held_out
from viz_core.training.corpus.unknown_words import SLOTS, with_unknown_words
from viz_core.training.examples import Example


def test_no_combination_is_on_both_sides() -> None:
    learnt, held_out = (list(islice(examples(0, held_out=side), 400)) for side in (False, True))
    combinations = [{c for e in found for c in e.combinations if is_held_out(e)} for found in (learnt, held_out)]
    assert not combinations[0] and combinations[1]
    assert all(len(e.source) <= MAX_WORDS["source"] and len(e.target) <= MAX_WORDS["target"] for e in learnt + held_out)


def test_the_same_seed_says_the_same() -> None:
    first, again, other = (list(islice(examples(seed), 50)) for seed in (3, 3, 4))
    assert first == again != other


def test_listed_sentences_and_those_left_out_are_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with other capitals, without the mark and with the words as the grammar splits them; another sentence is said."""
    texts = ["my father is a doctor", "My father is a doctor .", "grandma 's soup smells good", "I love you", "the cat sleeps"]
    assert eval_set.normalized_words("Grandma's soup smells good.") in eval_set.eval_sentences_as_words()
    told = iter([Example(text.split(), ["好"], [()]) for text in texts])
    monkeypatch.setattr(dataset, "draw_sentence", lambda rng, said: next(told))
    monkeypatch.setattr(dataset, "with_unknown_words", lambda example, rng: example)
    assert next(examples(0, exclude=["I love you."])).typed_text == "the cat sleeps"


def test_slots_are_numbered_as_they_come_and_stand_on_both_sides() -> None:
    counted: Counter[int] = Counter()
    for example in islice(examples(1), 3000):
        slots = list(dict.fromkeys(word for word in example.source if word.startswith("<")))
        assert slots == list(SLOTS[: len(slots)])
        assert {word for word in example.target if word.startswith("<")} <= set(slots)
        counted[len(slots)] += 1
    assert counted[0] > 2000 and counted[1] > 200 and counted[2] > 30


class Unlucky(Random):
    """Every sentence has an unknown word, and verbs may be one."""

    def random(self) -> float:
        return 0.0


def example(source: str, target: str, alignment: list[tuple[int, ...]]) -> Example:
    return Example(source.split(), target.split(), alignment)


@pytest.mark.parametrize(("source", "target", "alignment", "expected"), [
    ("a dog", "一 只 狗", [(0,), (1,), (1,)], ("a <1>", "一 个 <1>")),  # nobody knows how it is counted
    ("the teachers smile", "老师 们 微笑", [(1,), (1,), ()], ("the <1> smile", "<1> 微笑")),
    ("<1> bought it", "<1> 买 了 它", [(0,), (1,), (1,), (2,)], ("<1> <2> it", "<1> <2> 了 它")),
])
def test_a_word_is_unknown_in_both_languages(
    source: str, target: str, alignment: list[tuple[int, ...]], expected: tuple[str, str]
) -> None:
    found = with_unknown_words(example(source, target, alignment), Unlucky(0))
    assert found is not None and (" ".join(found.source), " ".join(found.target)) == expected


def test_a_word_that_shares_its_translation_stays() -> None:
    """get up -> 起床: neither of them can be carried over alone."""
    found = with_unknown_words(example("I get up", "我 起床", [(0,), (1, 2)]), Unlucky(0))
    assert found is not None and found.source == ["I", "get", "up"]


def test_more_names_than_slots_are_too_many() -> None:
    names = [f"<{n}>" for n in range(1, len(SLOTS) + 2)]
    assert with_unknown_words(Example(names, names, [(i,) for i in range(len(names))]), Random(0)) is None


def test_the_everyday_list_names_its_names_and_compares_without_spaces() -> None:
    (one,) = (s for s in eval_set.eval_sentences() if s.english == "This is my friend Anna.")
    assert one.names == {"Anna"} and one.accepts("这 是 我 的 朋友 Anna") and not one.accepts("这是我的朋友anna")
