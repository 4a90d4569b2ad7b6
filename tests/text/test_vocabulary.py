"""The vocabulary of a trained model, and what every tokenizer has in common."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz_core.text import (
    SPECIALS,
    AnyTokenizer,
    UntrainedTokenizer,
    Vocabulary,
    find_copied_words,
    split_words,
    unknown_words,
    with_copied_words,
)

ENGLISH = Vocabulary(("the", "cat", "sat", "on", "mat", "animal", "didn't", "did", "not", "street", ".", "I"))
CHINESE = Vocabulary(("猫", "坐在", "坐", "在", "垫子", "上", "没有", "没", "动物", "。"))
ANY_TEXT = st.text(st.one_of(st.characters(), st.sampled_from("the cat'’.,<pad>猫坐在垫子\u0301\u200d\ud83d \n")))


def tokens_of(vocabulary: Vocabulary, sentence: str) -> str:
    return "|".join(vocabulary.tokens_and_ids(sentence)[0])


def test_ids_are_the_specials_then_the_words() -> None:
    names = [CHINESE.decode(id) for id in range(CHINESE.vocab_size)]
    assert names == ["<pad>", "<bos>", "<eos>", "<unk>", *CHINESE.words]
    assert [CHINESE.pad_id, CHINESE.bos_id, CHINESE.eos_id, CHINESE.unk_id] == [0, 1, 2, 3]
    assert CHINESE.encode(CHINESE.words) == list(range(4, 14))


@pytest.mark.parametrize("id", [-1, 14])
def test_an_id_outside_has_no_token(id: int) -> None:
    with pytest.raises(ValueError, match=rf"token id {id} .* use 0 to 13\."):
        CHINESE.decode(id)


@pytest.mark.parametrize("words", [(), ("a", "a"), ("",), ("a", "<pad>"), (3,)])
def test_words_that_make_no_vocabulary(words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"^words .*\.$"):
        Vocabulary(words)


@pytest.mark.parametrize(
    ("sentence", "tokens", "ids"),
    [
        ("the cat sat.", "the|cat|sat|.", [4, 5, 6, 14]),
        ("The CAT", "The|CAT", [4, 5]),
        ("I i", "I|i", [15, 3]),  # only lower case is fallen back to
        ("The animal didn’t", "The|animal|didn’t", [4, 9, 10]),
        ("the zebra", "the|zebra", [4, 3]),
        ("<pad> <unk>", "<|pad|>|<|unk|>", [3] * 6),
        ("", "", []),
        (" \n", "", []),
    ],
)
def test_english(sentence: str, tokens: str, ids: list[int]) -> None:
    assert ENGLISH.tokens_and_ids(sentence) == ([token for token in tokens.split("|") if token], ids)


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("猫 坐在 垫子 上 。", "猫|坐在|垫子|上|。"),
        ("猫坐在垫子上。", "猫|坐在|垫子|上|。"),  # the longest word first: 坐在, not 坐
        ("猫坐在 垫子上。", "猫|坐在|垫子|上|。"),
        ("猫 坐 在", "猫|坐|在"),
        ("斑马坐在沙发上", "斑马|坐在|沙发|上"),  # what lies between known words is one unknown word
        ("斑马 坐在 上衣 上", "斑马|坐在|上衣|上"),  # a typed word stays whole
        ("上衣", "上|衣"),
        ("没有猫cat没", "没有|猫|cat|没"),
        ("斑马", "斑马"),
        ("斑", "斑"),
        ("猫\u0301坐", "猫\u0301|坐"),  # a grapheme cluster is never cut
    ],
)
def test_chinese(sentence: str, tokens: str) -> None:
    assert tokens_of(CHINESE, sentence) == tokens


def test_all_known_words_go_there_and_back() -> None:
    for vocabulary in (ENGLISH, CHINESE):
        tokens, ids = vocabulary.tokens_and_ids(" ".join(vocabulary.words))
        assert tuple(tokens) == vocabulary.words == tuple(map(vocabulary.decode, ids))


@given(ANY_TEXT)
def test_any_text_is_read_and_nothing_is_lost(sentence: str) -> None:
    for vocabulary in (ENGLISH, CHINESE):
        tokens, ids = vocabulary.tokens_and_ids(sentence)
        assert "".join(tokens) == "".join(sentence.split())
        assert len(ids) == len(tokens) and all(id >= vocabulary.unk_id for id in ids)
        assert vocabulary.word_ids(tokens) == list(range(len(tokens)))
        strangers = [token for token, id in zip(tokens, ids, strict=True) if id == vocabulary.unk_id]
        assert [word for word, _ in vocabulary.unknown_with_suggestions(sentence)] == list(dict.fromkeys(strangers))
        assert not {word for group in vocabulary.collisions(tokens) for word in group} & set(strangers)


@given(ANY_TEXT)
def test_without_chinese_it_splits_as_ever(sentence: str) -> None:
    latin = "".join(c for c in sentence if c < "\u2000")
    assert ENGLISH.tokenize(latin) == split_words(latin)


@pytest.mark.parametrize("special", SPECIALS)
def test_a_typed_special_is_unknown(special: str) -> None:
    assert ENGLISH.encode([special]) == [3]
    assert set(ENGLISH.tokens_and_ids(special)[1]) == {3}


def test_unknown_words_and_the_nearest_known_ones() -> None:
    assert ENGLISH.unknown_with_suggestions("The cats sat on the streets, cats") == [
        ("cats", ["cat"]),
        ("streets", ["street"]),
        (",", []),
    ]
    assert ENGLISH.unknown_with_suggestions("The cats sat on the Streets")[1:] == [("Streets", [])], (
        "inside a sentence, a capital is a name"
    )
    assert ENGLISH.unknown_with_suggestions("hat") == [("hat", [])], "one letter makes another word"
    assert ENGLISH.unknown_with_suggestions("The cat didn’t") == []
    assert CHINESE.unknown_with_suggestions("小猫 坐 在 垫") == [("小猫", ["猫"]), ("垫", ["垫子"])]


def test_known_words_that_share_an_id() -> None:
    assert ENGLISH.collisions(["The", "cat", "the", "zebra", "lion", "<pad>", "THE"]) == [("The", "the", "THE")]
    assert ENGLISH.collisions(iter(["zebra", "lion"])) == ENGLISH.collisions([]) == []


def test_long_text_is_read_too() -> None:
    """A second together; with time that grows with the square, minutes."""
    for sentence in ("斑" * 50_000, "猫坐" * 25_000, "斑猫" * 25_000, "a" * 50_000, "猫\u0301" * 25_000, "猫" * 50_000 + " 斑"):
        assert "".join(CHINESE.tokenize(sentence)) == "".join(sentence.split())
        assert CHINESE.unknown_with_suggestions(sentence) is not None


# --- what the untrained tokenizer has in common with it ---------------------------------------------------------------


@pytest.mark.parametrize("tokenizer", [UntrainedTokenizer("word", 60), UntrainedTokenizer("character", 60, 7), ENGLISH])
def test_each_tokenizer_reads(tokenizer: AnyTokenizer) -> None:
    tokens, ids = tokenizer.tokens_and_ids("the cat <pad> 斑")
    assert len(tokens) == len(ids) == len(tokenizer.word_ids(tokens))
    assert all(0 <= id < tokenizer.vocab_size for id in ids)
    assert not set(ids) & {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id}


def test_the_untrained_tokenizer_knows_every_word() -> None:
    assert UntrainedTokenizer("word", 60).unknown_with_suggestions("zebra \ud800") == []


@pytest.mark.parametrize(
    ("tokens", "groups"),
    [
        (list("ab  c."), [0, 0, 1, 2, 3, 3]),
        ([" ", "a", "<eos>", "<pad>", "<pad>"], [0, 1, 2, 3, 4]),
        (["<bos>", "a", "b"], [0, 1, 1]),
        ([], []),
    ],
)
def test_characters_are_grouped_by_word(tokens: list[str], groups: list[int]) -> None:
    assert UntrainedTokenizer("character", 60).word_ids(tokens) == groups
    assert UntrainedTokenizer("word", 60).word_ids(tokens) == list(range(len(tokens)))


# --- slots ------------------------------------------------------------------------------------------------------------
SLOTTED = Vocabulary(("<1>", "loves", "<2>", "the", "dog", "'s", "I", "and", "."))  # slots stand anywhere
ZH = Vocabulary(("爱", "的", "狗", "和", "。", "<1>", "<2>", "<3>"))
ONE, TWO, LOVES, THE, DOG, OF = 4, 6, 5, 7, 8, 9


@pytest.mark.parametrize(
    ("sentence", "tokens", "ids"),
    [
        ("John loves Mary", "John|loves|Mary", [ONE, LOVES, TWO]),
        ("Mary loves John", "Mary|loves|John", [ONE, LOVES, TWO]),
        ("John's dog", "John|'s|dog", [ONE, OF, DOG]),
        ("John’s dog", "John|’s|dog", [ONE, OF, DOG]),
        ("John loves John", "John|loves|John", [ONE, LOVES, ONE]),
        ("John loves JOHN'S dog", "John|loves|JOHN|'S|dog", [ONE, LOVES, ONE, OF, DOG]),  # as The and the are one word
        ("Ann and Bob and Ann and Cy", "Ann|and|Bob|and|Ann|and|Cy", [ONE, 11, TWO, 11, ONE, 11, 3]),
        ("😀 loves محمد", "😀|loves|محمد", [ONE, LOVES, TWO]),
        ("<s> $x$", "<|s|>|$|x|$", [3, ONE, 3, 3, TWO, 3]),  # marks are no words: no slot is spent on them
        ("(John) loves Mary", "(|John|)|loves|Mary", [3, ONE, 3, LOVES, TWO]),
        ("<1> loves <2>", "<|1|>|loves|<|2|>", [3, ONE, 3, LOVES, 3, TWO, 3]),
        ("<2> loves", "<|2|>|loves", [3, ONE, 3, LOVES]),  # the first unknown word, whatever it looks like
        ("i loves The DOG", "i|loves|The|DOG", [10, LOVES, THE, DOG]),
        ("<unk> <pad>", "<|unk|>|<|pad|>", [3, ONE, 3, 3, TWO, 3]),
    ],
)
def test_unknown_words_are_carried(sentence: str, tokens: str, ids: list[int]) -> None:
    assert SLOTTED.tokens_and_ids(sentence) == (tokens.split("|"), ids)


def test_a_slot_is_named_after_the_word_that_it_carries() -> None:
    assert SLOTTED.fill_slots("John loves John's Mary") == ("John", "Mary") and SLOTTED.fill_slots("the dog") == ()
    reader = with_copied_words(SLOTTED, SLOTTED.fill_slots("John loves Mary"))
    assert [reader.decode(id) for id in (ONE, TWO, LOVES)] == ["John", "Mary", "loves"]
    assert [SLOTTED.decode(id) for id in (ONE, TWO)] == ["<1>", "<2>"]
    assert with_copied_words(SLOTTED, ["John"]).decode(TWO) == "<2>", "nothing is in this slot"
    assert [SLOTTED.slot(id) for id in (ONE, TWO, LOVES, 3)] == [1, 2, 0, 0] and SLOTTED.n_slots == 2
    assert with_copied_words(ENGLISH, ["John"]) is ENGLISH and find_copied_words(ENGLISH, "zebra") == ()
    assert find_copied_words(UntrainedTokenizer("word", 60), "zebra") == ()


@pytest.mark.parametrize(
    ("source", "target", "tokens", "ids"),
    [
        ("John loves Mary", "John 爱 Mary 。", "John|爱|Mary|。", [9, 4, 10, 8]),
        ("Mary loves John", "John爱mary。", "John|爱|mary|。", [10, 4, 9, 8]),  # the source's order, in any letter case
        ("John's dog", "John 的 狗", "John|的|狗", [9, 5, 6]),
        ("John", "Peter 爱 John 和 Paul 和 Mark", "Peter|爱|John|和|Paul|和|Mark", [10, 4, 9, 7, 11, 7, 3]),
        ("爱 loves", "爱 爱", "爱|爱", [9, 9]),  # what the source carries comes before what the target knows
        ("brother-in-law $x$", "brother-in-law 爱 x", "brother-in-law|爱|x", [9, 4, 10]),
        ("北京烤鸭", "我爱北京烤鸭的狗", "我|爱|北京烤鸭|的|狗", [10, 4, 9, 5, 6]),
    ],
)
def test_a_target_is_bound_to_its_source(source: str, target: str, tokens: str, ids: list[int]) -> None:
    assert with_copied_words(ZH, SLOTTED.fill_slots(source)).tokens_and_ids(target) == (tokens.split("|"), ids)


@given(ANY_TEXT)
def test_with_slots_nothing_is_lost_either(sentence: str) -> None:
    for vocabulary in (SLOTTED, ZH):
        tokens, ids = vocabulary.tokens_and_ids(sentence)
        assert "".join(tokens) == "".join(sentence.split()) and len(ids) == len(tokens)
        again = with_copied_words(vocabulary, vocabulary.fill_slots(sentence))
        assert again.tokens_and_ids(sentence) == (tokens, ids), "the words that it carries are its own"
        carried, lost = unknown_words(vocabulary, sentence)
        assert {t for t, id in zip(tokens, ids, strict=True) if vocabulary.slot(id)} == set(carried)
        assert {t for t, id in zip(tokens, ids, strict=True) if id == 3} == set(lost)


@given(st.lists(st.text(st.one_of(st.characters(), st.sampled_from("abE'’-$%<1>爱的\u0301\u200d\ud83d")), min_size=1), max_size=4),
       st.lists(st.integers(4, 11), max_size=8))
def test_what_is_written_is_read_again(source: list[str], written: list[int]) -> None:
    """Any ids, written with the words of any source: if each slot carries a word, the text gives the same ids again."""
    carried = Vocabulary((*SLOTTED.words, "<3>")).fill_slots(" ".join(source))
    reader = with_copied_words(ZH, carried)
    ids = [id for id in written if ZH.slot(id) <= len(carried)]
    known = {word.lower() for word in carried} & set(ZH.words)
    if not known:
        assert reader.tokens_and_ids(" ".join(map(reader.decode, ids)))[1] == ids


def test_a_grammar_names_slots_and_nobody_can_type_them() -> None:
    assert SLOTTED.encode(["<2>", "loves", "<1>", "'s"]) == [TWO, LOVES, ONE, OF]
    assert SLOTTED.unknown_with_suggestions("John loves dogs (") == [("John", []), ("dogs", ["dog"]), ("(", [])]
    assert unknown_words(SLOTTED, "John loves Mary and Zoe (") == (["John", "Mary"], ["Zoe", "("])


def test_long_text_with_slots_is_read_too() -> None:
    """Seconds together; with time that grows with the square, minutes."""
    for piece in ("斑", "爱斑", "a", "a-", "a's ", "b' ", "1:", "'", "$5%", "e\u0301", "\U0001f1e9", "<1>"):
        sentence = piece * (16_000 // len(piece))
        reader = with_copied_words(ZH, ZH.fill_slots(sentence))
        assert "".join(reader.tokenize(sentence)) == "".join(SLOTTED.tokenize(sentence)) == "".join(sentence.split())


@pytest.mark.parametrize("words", [("<2>", "a"), ("<1>", "<3>"), ("<0>", "a", "<01>", "<2>")])
def test_slots_are_numbered_without_a_gap(words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="without a gap"):
        Vocabulary(words)
