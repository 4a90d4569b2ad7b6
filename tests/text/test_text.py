import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from viz_core.config import limits
from viz_core.text import (
    SPECIALS,
    UntrainedTokenizer,
    bidi_isolated,
    display_token,
    display_tokens,
    in_quotes,
    pad,
    shorten,
    split_characters,
    split_words,
)
from viz_core.text.word_list import WORDS

ROOT = Path(__file__).parents[2]

# Any str: lone surrogates, control characters, unassigned code points; and often what segmentation finds hard.
HARD = (
    "aZ9_ .,'’\t\n\r\x00\x1c\x7f\x85\u0301\ufe0f\u20e3\u200d\u200c\u200b\u202e\u0600\ud83d\ude00"
    "我们カー한กำक्षمی🇨🇳👩👍🏽🏴\U000e0067\U000e007f"
)
ANY_TEXT = st.text(
    st.one_of(st.characters(), st.characters(categories=["Cs", "Cc", "Cf", "Mn"]), st.sampled_from(HARD))
)


@pytest.mark.parametrize(
    ("sentence", "tokens"),
    [
        ("the cat sat on the mat.", "the|cat|sat|on|the|mat|."),
        ("The animal didn't cross", "The|animal|didn't|cross"),
        ("rock’n’roll 'quoted' dogs'", "rock’n’roll|'|quoted|'|dogs|'"),
        ("well-known... a.b", "well|-|known|.|.|.|a|.|b"),
        ("3.14, 1,000,000. 80's", "3.14|,|1,000,000|.|80|'|s"),
        ("snake_case __init__ ½cup v1.2", "snake_case|__init__|½cup|v1.2"),
        ("<s> <pad>", "<|s|>|<|pad|>"),
        ("我爱你。", "我|爱|你|。"),
        ("  我爱NLP2\n", "我|爱|NLP2"),
        ("猫 坐在 垫子 上。", "猫|坐在|垫子|上|。"),
        ("我爱NLP 你", "我爱|NLP|你"),
        ("猫\u3000坐在", "猫|坐在"),
        ("カーを買う", "カ|ー|を|買|う"),
        ("カーを 買う", "カーを|買う"),
        ("한국어 문장", "한국어|문장"),
        ("क्षि मीयाखा", "क्षि|मीयाखा"),
        ("می‌خواهم", "می‌خواهم"),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        ("hi👩‍💻👍🏽🇨🇳🇩🇪1️⃣2️⃣❤️ℹ️a", "hi|👩‍💻|👍🏽|🇨🇳|🇩🇪|1️⃣|2️⃣|❤️|ℹ️|a"),
        ("a\x00b\u200bc\u202e", "a|\x00|b|\u200b|c|\u202e"),
        ("\ud800x", "\ud800|x"),
        ("", ""),
        (" \t\n", ""),
    ],
)
def test_words(sentence: str, tokens: str) -> None:
    assert split_words(sentence) == [token for token in tokens.split("|") if token]


@given(ANY_TEXT)
@example("didn't 我爱\ud800\x1f👩‍💻")
def test_words_lose_nothing(sentence: str) -> None:
    tokens = split_words(sentence)
    assert "".join(tokens) == "".join(sentence.split())
    assert all(token and not any(map(str.isspace, token)) for token in tokens)


@given(ANY_TEXT)
def test_no_token_cuts_a_grapheme_cluster(sentence: str) -> None:
    for chunk in sentence.split():
        edges = {match.end() for match in regex.finditer(r"\X", chunk)}
        end = 0
        for token in split_words(f"{chunk} x")[:-1]:
            end += len(token)
            assert end in edges


@given(ANY_TEXT)
@example("🇨🇳\u0301\u0600🇨🇳🇨\u0301🇨🇳🇩")
def test_characters_are_grapheme_clusters(sentence: str) -> None:
    assert split_characters(sentence) == regex.findall(r"\X", sentence)
    assert "".join(split_characters(sentence)) == sentence


@pytest.mark.parametrize("unit", ["🇨🇳", "a", "\u0301", "'", "a'", "1,", "👩\u200d", "\u0600", "我", "\x00"])
def test_long_text_takes_time_in_proportion(unit: str) -> None:
    sentence = unit * 50_000
    start = time.perf_counter()
    assert "".join(split_words(sentence)) == sentence
    assert len(display_token(sentence)) >= 50_000 or unit == "\u0301"  # a tower of marks is cut
    assert time.perf_counter() - start < 5  # well below one second; time that grows with the square takes half a minute


def test_shipped_words() -> None:
    assert len(set(WORDS)) == len(WORDS) and 600 <= len(WORDS) <= 800
    assert not set(SPECIALS) & set(WORDS)
    for word in WORDS:
        assert split_words(f"{word} x") == [word, "x"]  # otherwise no typed text could reach it
    wanted = (
        "the cat sat on mat animal did didn't not cross street because it was too tired wide a dog bites man I love"
    )
    wanted += " you . 我 爱 你 猫 坐在 坐 在 垫子 上 狗 咬 人 动物 没有 过 街道 因为 太 累 宽 它 了 。 ，"
    assert set(wanted.split()) <= set(WORDS[:120])


@pytest.mark.parametrize("size", [12, 20, 64, 1000])
def test_a_small_vocabulary_names_both_languages(size: int) -> None:
    tokenizer = UntrainedTokenizer("word", size, 0)
    names = [tokenizer.decode(id) for id in range(4, 4 + tokenizer.n_listed)]
    chinese = [name for name in names if not name.isascii()]
    assert abs(2 * len(chinese) - len(names)) <= 0.1 * len(names) + 1


@pytest.mark.parametrize(
    ("pad_id", "others"),
    [(0, [1, 2, 3]), (1, [0, 2, 3]), (2, [0, 1, 3]), (3, [0, 1, 2]), (4, [0, 1, 2]), (50, [0, 1, 2]), (99, [0, 1, 2])],
)
@pytest.mark.parametrize("kind", ["word", "character"])
def test_special_ids(kind: str, pad_id: int, others: list[int]) -> None:
    tokenizer = UntrainedTokenizer(kind, 100, pad_id)
    ids = [tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id]
    assert ids == [pad_id, *others]
    assert [tokenizer.decode(id) for id in ids] == list(SPECIALS)


@pytest.mark.parametrize("kind", ["word", "character"])
@pytest.mark.parametrize("size", [5, 6, 7, 8, 20, 101, 1000, 5000])
@pytest.mark.parametrize("pad_id", [0, 1, 3, 4, "last"])
def test_layout(kind: str, size: int, pad_id: int | str) -> None:
    tokenizer = UntrainedTokenizer(kind, size, size - 1 if pad_id == "last" else int(pad_id))
    names = [tokenizer.decode(id) for id in range(size)]
    buckets = [name for name in names if name.startswith("⟨#")]
    listed = [name for name in names if name not in (*SPECIALS, *buckets)]
    assert len(set(names)) == size
    assert len(buckets) >= 1 and len(listed) <= (size - 4) / 2
    assert len(listed) == tokenizer.n_listed
    assert all(names[int(name[2:-1])] == name for name in buckets)
    assert tokenizer.encode(listed) == [names.index(name) for name in listed]  # listed tokens go there and back
    if kind == "word":
        assert listed == list(WORDS[: len(listed)])


@given(st.lists(ANY_TEXT), st.integers(5, 300), st.data(), st.sampled_from(["word", "character"]))
@example(list(SPECIALS), 5, None, "word")
def test_typed_text_never_gets_a_special_id(
    tokens: list[str], size: int, data: st.DataObject | None, kind: str
) -> None:
    pad_id = data.draw(st.integers(0, size - 1)) if data else 4
    tokenizer = UntrainedTokenizer(kind, size, pad_id)
    ids = tokenizer.encode(tokens)
    assert all(0 <= id < size for id in ids)
    assert not {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id} & set(ids)


@given(st.lists(ANY_TEXT), st.lists(ANY_TEXT))
def test_an_id_depends_on_nothing_else_typed(before: list[str], after: list[str]) -> None:
    tokenizer = UntrainedTokenizer("word", 200, 0)
    among_others = tokenizer.encode([*before, "zyzzyva", "cat", *after])
    assert among_others[len(before) : len(before) + 2] == tokenizer.encode(["zyzzyva", "cat"])


def test_ids_are_the_same_in_every_process() -> None:
    tokens = ["cat", "zyzzyva", "猫", "👩‍💻", "\ud800", "\x00", ""]
    program = (
        "import json, sys; from viz_core.text import UntrainedTokenizer;"
        "print(json.dumps(UntrainedTokenizer('word', 1000, 0).encode(json.loads(sys.argv[1]))))"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program, json.dumps(tokens)],
            cwd=ROOT,
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert [json.loads(line) for line in seen] == [UntrainedTokenizer("word", 1000, 0).encode(tokens)]
    assert UntrainedTokenizer("word", 1000, 0).encode(["zyzzyva"]) == [575]  # pinned, as links rely on it


def test_lone_surrogates_have_their_own_ids() -> None:
    surrogates = [chr(code) for code in range(0xD800, 0xD810)]
    assert len(set(UntrainedTokenizer("word", 5000, 0).encode(surrogates))) > 12


def test_buckets_are_used_evenly() -> None:
    tokenizer = UntrainedTokenizer("word", 104, 0)
    counts = np.bincount(tokenizer.encode([f"word{i}" for i in range(5000)]), minlength=104)
    assert (counts[54:] > 50).all() and (counts[:54] == 0).all()


def test_character_list() -> None:
    tokenizer = UntrainedTokenizer("character", 5000, 0)
    assert [tokenizer.decode(id) for id in range(4, 4 + 95)] == [chr(code) for code in range(0x20, 0x7F)]
    assert tokenizer.decode(4 + 95) == "猫"
    assert tokenizer.encode(tokenizer.tokenize("a 猫")) == [4 + 65, 4, 4 + 95]


def test_collisions() -> None:
    tokenizer = UntrainedTokenizer("word", 5, 0)  # one bucket
    assert tokenizer.collisions(["b", "a", "b"]) == [("b", "a")]
    assert tokenizer.collisions(["a", "a"]) == tokenizer.collisions([]) == []
    wide = UntrainedTokenizer("word", 40, 0)
    tokens = [f"w{i}" for i in range(60)]
    groups = wide.collisions(iter(["the", *tokens, *tokens]))
    assert groups == sorted(groups, key=lambda group: tokens.index(group[0]))
    assert all(len(set(wide.encode(group))) == 1 < len(set(group)) == len(group) for group in groups)
    alone = set(tokens) - {token for group in groups for token in group}
    assert len({*wide.encode(list(alone)), *(wide.encode(group)[0] for group in groups)}) == len(alone) + len(groups)


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("word", 4, 0), ["vocab_size", "4", "at least 5"]),
        (("word", -1, 0), ["vocab_size", "-1"]),
        (("word", 10, 10), ["pad_id", "10", "0 to 9"]),
        (("word", 10, -1), ["pad_id", "-1", "0 to 9"]),
        (("subword", 10, 0), ["kind", "subword", "choose word or character"]),
    ],
)
def test_refused_settings(arguments: tuple[str, int, int], names: list[str]) -> None:
    with pytest.raises(ValueError) as error:
        UntrainedTokenizer(*arguments)
    assert all(name in str(error.value) for name in names)


@pytest.mark.parametrize("id", [-1, 10, 10**9])
def test_refused_ids(id: int) -> None:
    with pytest.raises(ValueError, match=rf"{id:,}.* 10"):
        UntrainedTokenizer("word", 10, 0).decode(id)


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("\x00", "U+0000"),
        ("\n", "⏎"),
        ("\r\n", "U+000D⏎"),
        ("\x1b", "U+001B"),
        ("\x7f", "U+007F"),
        (" ", "␣"),
        ("\x85", "U+0085"),
        ("\u00a0", "U+00A0"),
        ("\u3000", "U+3000"),
        ("\u200b", "U+200B"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
        ("\ufeff", "U+FEFF"),
        ("\u00ad", "U+00AD"),
        ("\ud800", "U+D800"),
        ("\U000e0061", "U+E0061"),
        ("a\u200d", "aU+200D"),
        ("a\ufe0f", "aU+FE0F"),
        ("\u3164", "U+3164"),
        ("\uffff", "U+FFFF"),
        ("ی\u200c", "یU+200C"),
        ("\u2028", "U+2028"),
        ("\ufffa", "U+FFFA"),
    ],
)
def test_unseen_characters_are_shown(token: str, shown: str) -> None:
    assert display_token(token) == shown
    assert display_tokens([3, 1], [token, "a", token, " "].__getitem__) == ["␣", "a"]


@pytest.mark.parametrize(
    "token",
    [
        "didn't",
        "猫",
        "坐在",
        "👩‍💻",
        "👍🏽",
        "👩🏽‍💻",
        "🇨🇳",
        "1️⃣",
        "❤️",
        "❤️‍🔥",
        "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
        "می‌خواهم",
        "क्‍ष",
        "e\u0301",
        "<b>",
        "$x$",
        "葛󠄀",
        "؀١",
    ],
)
def test_readable_characters_stay(token: str) -> None:
    assert display_token(token) == token


def test_a_tower_of_combining_marks_is_cut_and_the_cut_is_shown() -> None:
    assert display_token("a" + "\u0301\u0323" * 100 + "b") == "a" + "\u0301\u0323" * 4 + "…b"
    assert display_token("a" + "\u0301\u0323" * 4 + "b") == "a" + "\u0301\u0323" * 4 + "b"


@given(ANY_TEXT)
def test_visible_is_safe_to_draw(token: str) -> None:
    shown = display_token(token)
    assert shown and display_token(shown) == shown
    shown.encode()
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cs", "Zs", "Zl", "Zp"}
    assert not any(
        unicodedata.bidirectional(c) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"} for c in shown
    )


def test_shorten() -> None:
    assert shorten("a" * limits.MAX_LABEL_CHARS) == "a" * limits.MAX_LABEL_CHARS
    assert shorten("a" * (limits.MAX_LABEL_CHARS + 1)) == "a" * (limits.MAX_LABEL_CHARS - 1) + "…"
    assert shorten("👩‍💻" * limits.MAX_LABEL_CHARS) == "👩‍💻" * limits.MAX_LABEL_CHARS
    assert shorten("👩‍💻" * 99) == "👩‍💻" * (limits.MAX_LABEL_CHARS - 1) + "…"
    assert len(shorten("a" + "\u0301" * 10**6)) <= 10 * limits.MAX_LABEL_CHARS + 1
    assert shorten("") == ""


@given(ANY_TEXT)
def test_shorten_bounds_any_label(label: str) -> None:
    assert len(split_characters(shorten(label * 3))) <= limits.MAX_LABEL_CHARS


def test_pad() -> None:
    batch = pad([[5, 6, 7], [8], []], 1)
    assert batch.dtype == np.int64
    assert batch.tolist() == [[5, 6, 7], [8, 1, 1], [1, 1, 1]]
    assert pad([[]], 0).shape == (1, 0)
    with pytest.raises(ValueError, match="0 sentences"):
        pad([], 0)


def test_limits_are_documented() -> None:
    source = Path(limits.__file__).read_text(encoding="utf-8")
    names = [name for name in vars(limits) if name.isupper()]
    assert len(names) >= 6
    for name in names:
        assert regex.search(rf'^{name} = .+\n"""', source, regex.MULTILINE), f"{name} has no word on why"


# ---------------------------------------------------------------- in a sentence


@pytest.mark.parametrize("word", ["שלום", "سلام", "a שלום", "٣"])
def test_a_right_to_left_word_turns_nothing_around_it(word: str) -> None:
    assert bidi_isolated(word) == f"\u2068{word}\u2069"
    assert in_quotes(word) == f"“\u2068{word}\u2069”"
    assert display_token(in_quotes(word)) != in_quotes(word)  # so a label is made visible first


@pytest.mark.parametrize("word", ["cat", "猫", ".", "7", "e\u0301", ""])
def test_any_other_word_stays_as_it_is(word: str) -> None:
    assert bidi_isolated(word) == word and in_quotes(word) == f"“{word}”"
