"""The list of everyday sentences, and that the grammar says none of them."""

from itertools import islice

import pytest

from viz_core.training.corpus import eval_set
from viz_core.training.corpus.dataset import examples


def test_the_list_is_long_and_its_sentences_too() -> None:
    assert len(eval_set.eval_sentences()) >= 300
    assert sum(len(eval_set.normalized_words(sentence.english)) >= 9 for sentence in eval_set.eval_sentences()) >= 100


def test_each_sentence_is_there_once_with_one_to_three_translations() -> None:
    assert len(eval_set.eval_sentences_as_words()) == len(eval_set.eval_sentences())
    for sentence in eval_set.eval_sentences():
        assert sentence.english.strip() == sentence.english and sentence.english.isascii()
        assert 1 <= len(set(sentence.chinese)) == len(sentence.chinese) <= 3, sentence
        assert all(text.strip() == text and not text.isascii() for text in sentence.chinese), sentence


def test_what_is_accepted_later_counts_apart() -> None:
    listed = {sentence.english: sentence for sentence in eval_set.eval_sentences()}
    rows = eval_set._read_rows(eval_set.ACCEPTED_LATER_FILE)
    assert len(dict(rows)) == len(rows) and dict(rows).keys() <= listed.keys()
    for english, chinese in rows:
        sentence = listed[english]
        assert sentence.accepted_later == chinese and len({*map(eval_set._normalized, chinese)}) == len(chinese) > 0, english
        for text in chinese:
            assert sentence.accepts(text, include_later=True) and not sentence.accepts(text), text
    one = eval_set.EvalSentence("hi", ("你好",), ("嗨",))
    assert one.accepts("你 好 。") and one.accepts("嗨", include_later=True) and not one.accepts("嗨")


def test_the_final_mark_and_capitals_make_no_other_sentence() -> None:
    assert eval_set.normalized_words("Are you OK?") == eval_set.normalized_words("are you ok") == ("are", "you", "ok")
    assert eval_set.normalized_words("Yes, I am") == ("yes", ",", "i", "am")


@pytest.mark.slow
def test_the_grammar_says_none_of_them() -> None:
    """Of 10,000 sentences it would say some eight."""
    said = (eval_set.normalized_words(example.typed_text) for example in islice(examples(0), 10_000))
    assert not eval_set.eval_sentences_as_words() & set(said)
