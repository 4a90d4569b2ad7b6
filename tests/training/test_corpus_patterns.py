"""The table of patterns: every line can be said, and lines of fixed words give the exact English, Chinese and alignment."""

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

import pytest

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus import pattern_table, patterns, winograd_sentences
from viz_core.training.corpus.phrases import Sampler
from viz_core.training.corpus.sentences import to_example
from viz_core.training.examples import Example

T = TypeVar("T")
LISTS, SECTIONS = pattern_table.read_table()
PARTS = pattern_table.parts()
WHOLE = [pattern for section in SECTIONS.values() for pattern in section.patterns]
ALL = [*WHOLE, *(pattern for several in PARTS.values() for pattern in several)]
ORIGIN = re.compile(r"[^/{}]+/(.+)")


class First(Sampler):
    """Takes the first of all choices and the likeliest of weighted ones, and says nothing that may be left out."""

    def __init__(self) -> None:
        super().__init__(Random(0))

    def chance(self, probability: float) -> bool:
        return probability > 0.9

    def choice(self, choices: Sequence[T]) -> T:
        return choices[0]

    def weighted(self, choices: Mapping[T, float]) -> T:
        return max(choices, key=lambda choice: choices[choice])


def said(line: str, speaker: Sampler | None = None) -> Example:
    return to_example(patterns.fill_pattern(speaker or First(), pattern_table.parse_pattern(line, False)))


def linked(example: Example) -> str:
    places = ("+".join(map(str, of)) for of in example.alignment)
    return f"{' '.join(example.source)} | {', '.join(f'{zh} {of}'.strip() for zh, of in zip(example.target, places, strict=True))}"


@pytest.mark.parametrize(("line", "expected"), [
    ("nice to meet you ; 很 高兴 认识 你", "nice to meet you | 很 0+1+2+3, 高兴 0+1+2+3, 认识 0+1+2+3, 你 0+1+2+3"),
    ("how about {ing} ? ; {ing} 怎么样", "how about playing football | 踢 2+3, 足球 2+3, 怎么样 0+1"),
    ("{who} {done} ; {who} {done}", "I played football | 我 0, 踢 1+2, 了 1+2, 足球 1+2"),
    ("{who} ~have never {been} ; {who} 从来/1 没有/1 {been}",
     "I have never played football | 我 0, 从来 1+2, 没有 1+2, 踢 3+4, 过 3+4, 足球 3+4"),
    ("{he} ~need {own} {kin} ; {he} 需要/1 {own} {kin}", "he needs his mother | 他 0, 需要 1, 他 2, 的 2, 妈妈 3"),
    ("I get up at {hour} o'clock ; 我/1 {hour} 点/2 起床/1", "I get up at one o'clock | 我 0+1+2+3, 一 4, 点 5, 起床 0+1+2+3"),
    ("thanks , {name} ; 谢谢 ， {name}", "thanks , <1> | 谢谢 0, ， 1, <1> 2"),
    ("{he} ~need {own} {kin} because {again} ~be ill ; {he} 需要/1 {own} {kin} 因为/2 {again} 病/3",
     "he needs his mother because he is ill | 他 0, 需要 1, 他 2, 的 2, 妈妈 3, 因为 4, 他 5, 病 6+7"),
    ("{named1} helped {named2} because {it2} lost {whose2} key ; {named1} 帮助/1 {named2} 因为/2 {it2} 丢/3 {whose2} 钥匙/4",
     "<1> helped <2> because he lost his key | <1> 0, 帮助 1, <2> 2, 因为 3, <2> 2+4, 丢 5, 他 6, 的 6, 钥匙 7"),
    ("{named1} told {the2:person} that {same1} lost {this3:toy} ; {named1} 告诉/1 {the2} {same1} 丢/3 {this3}",
     "<1> told the person that he lost this robot | <1> 0, 告诉 1, 人 3, 他 5, 丢 6, 这 7, 个 8, 机器人 8"),
    ("the book that {I} read ; {I} 看/-1 的/-1 书/1", "the book that I read | 我 3, 看 4, 的 4, 书 0+1+2"),
    ("{I1} and {he2} ~be2 here ; {I1} 和/1 {he2} 在/2", "I and he is here | 我 0, 和 1, 他 2, 在 3+4"),
    ("turn the {tool} | off ; 关掉/1+2 {tool}", "turn the phone off | 关掉 0+1+3, 手机 2"),
    ("{the1:'toy'} is broken because {it1} fell ; {the1} 坏/1 了/1 因为/1 {it1} 掉/2",
     "the toy is broken because it fell | 玩具 1, 坏 2+3+4, 了 2+3+4, 因为 2+3+4, 玩具 1+5, 掉 6"),
    ("{the1:'boy'} sleeps because {it1} is ill ; {the1} 睡/1 因为/1 {it1} 病/2",
     "the boy sleeps because he is ill | 男孩 1, 睡 2+3, 因为 2+3, 他 4, 病 5+6"),
])
def test_a_line_of_fixed_words_is_the_hand_written_one(line: str, expected: str) -> None:
    assert linked(said(line)) == expected


def test_a_phrase_of_the_table_speaks_of_the_one_that_the_line_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    phrase = pattern_table.parse_pattern("because {again} ~be at {own} school ; 因为/1 {again} 在/2 {own} 学校/3", False)
    monkeypatch.setattr(pattern_table, "parts", lambda: {"excuse": (phrase,)})
    assert linked(said("{he} sleeps {excuse} ; {he} 睡/1 {excuse}")) == (
        "he sleeps because he is at his school | 他 0, 睡 1, 因为 2, 他 3, 在 4+5, 他 6, 的 6, 学校 7"
    )


def test_an_action_of_a_list_may_have_places_of_its_own() -> None:
    lists = pattern_table.read_table()[0]
    with pytest.MonkeyPatch.context() as patch:
        rows = (("buy {a:'book'} for {own} {kin}", "给/2 {own} {kin} 买/1 * {a}"),)
        patch.setattr(pattern_table, "read_table", lambda: ({**lists, "bought": rows}, SECTIONS))
        example = said("{he} {done:bought} ; {he} {done}")
    assert linked(example) == "he bought a book for his mother | 他 0, 给 4, 他 5, 的 5, 妈妈 6, 买 1, 了 1, 一 2, 本 3, 书 3"


def test_of_two_persons_the_pronoun_becomes_the_noun_that_it_stands_for() -> None:
    speaker = First()
    example = said("{the1:'boy'} thanked {the2:'teacher'} because {it2} helped {him1} ; {the1} 谢 {the2} {it2} 帮 {him1}", speaker)
    assert " ".join(example.source) == "the boy thanked the teacher because he helped him"
    assert example.target == ["男孩", "谢", "老师", "老师", "帮", "男孩"]


def test_a_clause_in_front_is_sometimes_said_without_its_comma() -> None:
    line = "if it rains , {who} will stay at home ; 如果/1 下雨/1 ， {who} 会/2 待/2 在 家/2"
    both = {linked(said(line, Sampler(Random(seed)))).partition(" will")[0].count(",") for seed in range(40)}
    assert both == {0, 1}
    for seed in range(40):
        example = said(line, Sampler(Random(seed)))
        assert ("," in example.source) == ("，" in example.target)
        assert example.alignment[example.target.index("会")] == tuple(
            i for i, word in enumerate(example.source) if word in ("will", "stay", "at", "home")
        )


def test_a_choice_of_words_is_said_in_all_its_wordings() -> None:
    pattern = pattern_table.parse_pattern("wait a (minute/moment)(, please/) ; 等 一下", False)
    assert {"".join(pieces) for pieces in pattern.english} == {
        "wait a minute, please", "wait a minute", "wait a moment, please", "wait a moment",
    }


def test_the_mark_is_that_of_the_english_line() -> None:
    assert [pattern_table.parse_pattern(f"hello {mark} ; 你好", False).mark for mark in "?!"] == ["?", "!"]
    assert pattern_table.parse_pattern("hello ; 你好", False).mark == "."


def test_every_line_can_be_said() -> None:
    """Its Chinese is Chinese, and each Chinese word has its origin in the sentence."""
    for seed, pattern in enumerate(ALL):
        example = to_example(patterns.fill_pattern(Sampler(Random(seed)), pattern))
        assert example.source and example.target, pattern
        assert all(re.fullmatch(r"<\d+>|[\u4e00-\u9fffA-Z，、：“”？！。]+", word) for word in example.target), example
        assert not [word for word in example.source if "~" in word or "{" in word or "|" in word], example


def test_what_the_chinese_names_is_there() -> None:
    for pattern in ALL:
        for pieces in pattern.english:
            names = {place.partition(":")[0] for place in pieces[1::2]}
            for word in pattern.chinese:
                if word.startswith("{"):
                    assert word.strip("{}") in names, pattern
                origin = ORIGIN.fullmatch(word)
                causes = origin[1].split("+") if origin else []
                assert all(name.lstrip("-").isdigit() or name in names for name in causes), pattern


def test_no_english_line_has_two_translations() -> None:
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for pattern in WHOLE:
        words = tuple(word.partition("/")[0] for word in pattern.chinese)
        for pieces in pattern.english:
            key = (*pieces, pattern.mark)
            assert found.setdefault(key, words) == words, key


def test_every_list_is_used_and_has_no_word_twice() -> None:
    listed = " ".join(f"{english} {zh}" for rows in LISTS.values() for english, zh in rows)
    places = {place for pattern in ALL for pieces in pattern.english for place in pieces[1::2]}
    places |= {*pattern_table.PLACEHOLDER.findall(listed)}
    used = {part.rstrip("0123456789") for place in places for part in place.split(":")} | {"action"}
    assert not {*LISTS, *PARTS} - used
    assert not LISTS.keys() & PARTS.keys()
    for name, rows in LISTS.items():
        assert len({english for english, __ in rows}) == len(rows), name


def test_a_verb_of_several_translations_is_that_of_its_object() -> None:
    """visit a teacher 看望, a museum 参观."""
    for noun, zh in (("teacher", "看望"), ("museum", "参观")):
        thing = next(n for n in lex.NOUNS if n.english == noun)
        assert winograd_sentences._verb("visit", patterns.nouns.the(First(), thing)).chinese == zh
