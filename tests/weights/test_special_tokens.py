"""What a tokenizer.json says of special tokens: what it adds around a text, what pads, and which of its parts are read."""

import json
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from tests.weights.tiny_checkpoints import (
    Made,
    byte_level,
    charsmap,
    llama_3,
    precompiled,
    roberta_like,
    unigram,
    word_level,
    wordpiece,
)
from viz_core.weights.special_tokens import (
    MAX_PREPENDED,
    MAX_REPLACEMENT,
    SpecialTokens,
    added_ids,
    find_special_tokens,
    is_special_name,
    parse_tokenizer,
    token_name,
)


def parsed(tokenizer: Tokenizer) -> dict[str, Any]:
    return parse_tokenizer(tokenizer.to_str())


def found(tokenizer: Tokenizer, *named: dict[str, Any]) -> SpecialTokens:
    return find_special_tokens(parsed(tokenizer), *named)


@pytest.mark.parametrize(("made", "front", "back"), [
    *((wordpiece(template=template), front, back) for template, front, back in [
        ("", (), ()), ("[CLS] $A", (2,), ()), ("$A [SEP]", (), (3,)), ("[CLS] $A [SEP]", (2,), (3,)),
        ("[CLS] [MASK] $A [SEP] [SEP]", (2, 4), (3, 3)), ("[SEP] $A [SEP]", (3,), (3,)),
    ]),
    (byte_level(), (), ()), (roberta_like(), (0,), (2,)), (llama_3(), (0,), ()),
])
def test_what_is_added_around_a_text(made: Made, front: tuple[int, ...], back: tuple[int, ...]) -> None:
    """Against what the library adds."""
    told = found(made.tokenizer)
    assert (told.prefix_ids, told.suffix_ids) == (front, back)
    added = made.tokenizer.encode("the cat").ids
    plain = made.tokenizer.encode("the cat", add_special_tokens=False).ids
    assert plain and added == [*front, *plain, *back]


@pytest.mark.parametrize("processor", [
    {"type": "TemplateProcessing", "single": [], "special_tokens": {}}, {"type": "TemplateProcessing"},
    {"type": "TemplateProcessing", "single": [{"Sequence": {}}, {"Sequence": {}}], "special_tokens": {}},
    {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}, {"Sequence": {}}], "special_tokens": {}},
    {"type": "BertProcessing", "cls": "x"}, {"type": "Sequence", "processors": [{"type": "RobertaProcessing", "cls": 1}]},
])
def test_a_post_processor_that_cannot_be_used(processor: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^tokenizer\.json has a post_processor '\w+Processing' that cannot be used; save"):
        added_ids(processor)


def test_the_unknown_token_by_its_text_or_by_its_id() -> None:
    assert found(wordpiece("[PAD] [CLS] [SEP] [UNK]").tokenizer).unk_id == 3
    assert found(unigram("<s> </s> <unk>", unk_id=2).tokenizer).unk_id == 2
    assert found(unigram(unk_id=None).tokenizer).unk_id is None is found(byte_level().tokenizer).unk_id
    assert found(word_level("", "[UNK]").tokenizer).unk_id is None  # named, but not in the vocabulary


def test_the_padding_token() -> None:
    """What the other files call so, then what tokenizer.json pads with, then a special token with such a name."""
    made = wordpiece("[UNK] [CLS] [SEP] [FILL] [PAD] <pad>").tokenizer
    assert found(made).pad_id == 4 and found(made).is_pad_unambiguous
    assert found(made, {"pad_token": None}, {"pad_token": {"content": "<pad>"}}).pad_id == 5
    assert found(made, {"pad_token": "[LOST]"}).pad_id == 4
    assert found(made, {"pad_token": ["x"]}).pad_id == 4
    made.enable_padding(pad_id=3, pad_token="[FILL]")
    assert found(made).pad_id == 3 and found(made, {"pad_token": "[PAD]"}).pad_id == 4
    assert found(wordpiece("[UNK] [CLS] [SEP]").tokenizer).pad_id is None
    assert not found(wordpiece("[UNK] [CLS] [SEP]").tokenizer).is_pad_unambiguous


@pytest.mark.parametrize("name", ["[PAD]", "<pad>", "<|pad|>", "<PAD>", "<|padding|>", "{{pad}}"])
def test_names_of_padding_tokens(name: str) -> None:
    assert found(word_level(f"[UNK] {name}").tokenizer).pad_id == 1


@pytest.mark.parametrize("name", ["pad", "[NOPAD]", "<pad", "[MASK]"])
def test_no_names_of_padding_tokens(name: str) -> None:
    assert found(word_level(f"[UNK] {name}").tokenizer).pad_id is None


def test_a_token_that_is_also_read_cannot_tell_padding() -> None:
    assert not found(wordpiece("[UNK] [CLS] [SEP]").tokenizer, {"pad_token": "[UNK]"}).is_pad_unambiguous
    assert not found(wordpiece("[UNK] [CLS] [SEP]").tokenizer, {"pad_token": "[SEP]"}).is_pad_unambiguous  # closes every text
    assert not found(word_level("[UNK]").tokenizer, {"pad_token": "the"}).is_pad_unambiguous
    assert not found(word_level(declared=False).tokenizer, {"pad_token": "[PAD]"}).is_pad_unambiguous  # a word like any other
    assert found(word_level().tokenizer, {"pad_token": "[PAD]"}).is_pad_unambiguous


def test_the_ends_that_other_files_name() -> None:
    made = byte_level("<s> <pad> </s>").tokenizer
    assert (found(made).bos_id, found(made).eos_id) == (None, None)
    told = found(made, {"bos_token": "<s>", "eos_token": {"content": "</s>"}})
    assert (told.bos_id, told.eos_id) == (0, 2) and told.reserved_ids == {0, 1, 2}


@pytest.mark.parametrize("added", [
    [("[SEP]", 2)], [("new", 1)], [("new", 900)], [("b", 1), ("a", 1), ("cat", 7)], [("x", 5), ("x", 6), ("[SEP]", 5), ("y", 5)],
    [("", 1), ("x", 0)],
])
@pytest.mark.parametrize("made", [
    word_level("[UNK] [SEP]"), wordpiece(), unigram(), byte_level(),
])
def test_ids_of_added_tokens_are_those_of_the_library(made: Made, added: list[tuple[str, int]]) -> None:
    """Whatever the file says."""
    file = json.loads(made.tokenizer.to_str())
    plain = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=True)
    file["added_tokens"] += [dict(id=id, content=content, **plain) for content, id in added]
    told = {x["content"]: x["id"] for x in parse_tokenizer(json.dumps(file))["added_tokens"] if x["content"]}
    library = Tokenizer.from_str(json.dumps(file))
    assert told and told == {content: library.token_to_id(content) for content in told}


@pytest.mark.parametrize(("token", "special"), [
    ("[SEP]", True), ("<s>", True), ("<|endoftext|>", True), ("<｜user｜>", True), (" <mask>", True), ("{{pad}}", True),
    ("A", False), ("\n", False), (" ", False), ("", False), ("🐈", False), ("the", False), ("<", False), ("[]", False),
    ("<3", False), ("[CLS", False),
])
def test_what_looks_special(token: str, special: bool) -> None:
    assert is_special_name(token) == special


def test_the_unknown_token_of_a_unigram_without_a_type() -> None:
    file = parsed(unigram("<s> </s> <unk>", unk_id=2).tokenizer)
    del file["model"]["type"]
    assert find_special_tokens(file).unk_id == 2


def test_names() -> None:
    read = parsed(wordpiece().tokenizer)
    assert token_name(0, read) == "[PAD]" and token_name(5, read) == "the" and token_name(10**6, read) is None
    assert token_name(2, parsed(unigram().tokenizer)) == "▁the" and token_name(-1, parsed(unigram().tokenizer)) is None


# --- which parts are read ---------------------------------------------------------------------------------------------


def with_parts(normalizer: Any = None, pre_tokenizer: Any = None) -> str:
    made = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    if normalizer is not None:
        made.normalizer = normalizer
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    return made.to_str()


GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def splitting(pattern: str | Regex) -> str:
    return with_parts(pre_tokenizer=pre_tokenizers.Split(pattern, "isolated"))


@pytest.mark.parametrize("text", [
    *map(with_parts, [
        normalizers.Replace(" ", "▁"), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Nmt(), normalizers.Prepend("▁"),
        normalizers.Replace("``", '"'), normalizers.Replace(Regex(r"\s+"), " "),
    ]),
    *map(splitting, [
        "", " ", Regex("."), Regex("[.,!?]"), Regex(r"\w+|[^\w\s]"), Regex(r"\s|\S"), Regex("(.)"), Regex("(?m:.)"),
        Regex(r" ?\w+|\s+"), Regex(r"\X"), Regex(r"\s{2,}|[\n\r\t]"), Regex(GPT4),
    ]),
    with_parts(pre_tokenizer=pre_tokenizers.CharDelimiterSplit("-")), with_parts(pre_tokenizer=pre_tokenizers.UnicodeScripts()),
])
def test_parts_that_are_read(text: str) -> None:
    assert parse_tokenizer(text)["model"]["vocab"] == {"a": 0}


@pytest.mark.parametrize(("text", "part"), [
    (with_parts(normalizers.Replace("a", "aa")), "normalizer 'Replace'"),
    (with_parts(normalizers.Replace(Regex("a+"), "aa")), "normalizer 'Replace'"),
    (with_parts(normalizers.Replace("", "a")), "normalizer 'Replace'"),
    (with_parts(normalizers.Prepend("a" * (MAX_PREPENDED + 1))), "normalizer 'Prepend'"),
    *((splitting(Regex(pattern)), "pre_tokenizer 'Split'")
      for pattern in ("(a+)+$", "a*a*b", "(a|a)+", ".*", r"\w+\s+x", "a{9,}{9,}", "[a-z]+[a-z]+", r"(\w|\s)+", r"((\w+))", "a+a")),
])
def test_parts_that_could_take_for_ever(text: str, part: str) -> None:
    with pytest.raises(ValueError, match=f"tokenizer.json has a {part}, which is not supported"):
        parse_tokenizer(text)


def test_a_table_of_replacements_is_read_where_they_are_short() -> None:
    """As SentencePiece has it: one that makes a text much longer is refused."""
    def text(charsmap: Any) -> str:
        return json.dumps(json.loads(with_parts()) | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap}})

    assert parse_tokenizer(text(charsmap(b"h" * MAX_REPLACEMENT))) and precompiled().tokenizer.encode("Hi").tokens[1] == "▁hi"
    for bad in (charsmap(b"h" * (MAX_REPLACEMENT + 1)), "/////w==", "?", None, 3):
        with pytest.raises(ValueError, match="a normalizer 'Precompiled', which is not supported"):
            parse_tokenizer(text(bad))


@pytest.mark.parametrize("named", [{"pad_token": 3}, {"pad_token": {"content": None}}, {}])
def test_other_files_that_say_nothing_of_use(named: dict[str, Any]) -> None:
    assert found(wordpiece("[UNK] [CLS] [SEP]").tokenizer, named).pad_id is None


@pytest.mark.parametrize("change", [
    {"added_tokens": None}, {"added_tokens": [1, {"id": "x"}, {"id": True, "content": "a", "special": True}]}, {"padding": 1},
    {"model": {"type": "WordLevel", "vocab": None}}, {"model": {"type": "Unigram", "vocab": [[], 1], "unk_id": "x"}},
    {"model": {"type": "WordPiece", "vocab": {"a": "b"}, "unk_token": "a"}},
])
def test_a_strange_file_is_left_to_the_library(change: dict[str, Any]) -> None:
    strange = json.loads(with_parts()) | change
    told = find_special_tokens(strange, {"pad_token": "a"})
    assert told.prefix_ids == told.suffix_ids == () and told.unk_id in (0, None) and token_name(0, strange) in ("a", None)
