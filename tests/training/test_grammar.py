"""The grammar's sentences, their true alignment, and the split into seen and held-out combinations."""

from collections import defaultdict
from dataclasses import fields
from itertools import islice
from random import Random
from typing import Any

import pytest

from viz_core.text import Vocabulary
from viz_core.training import lexicon as lex
from viz_core.training.grammar import FRAMES, SHOWN, Example, examples, is_held_out, say, spell, with_unknown_words
from viz_core.training.lexicon import CHINESE, ENGLISH, Noun, Verb
from viz_core.training.phrases import Speaker, join, more, pair

SAID = list(islice(examples(0), 12_000))
HELD_OUT = list(islice(examples(0, held_out=True), 1000))

# Frame; English; then Chinese, each word with the places of the English ones that it comes from, counted from 0.
TRUE = """
posture | the cat sat on the mat | 猫 1, 坐在 2, 垫子 5, 上 3
posture | the cat is sitting | 猫 1, 正在 2, 坐 3
fragment | the big red ball in the box | 盒子 6, 里 4, 的 4, 大 1, 红 2, 球 3
because | the cow did not cross the road because it was too tired | 牛 1, 没有 2+3, 穿过 4, 路 6, 因为 7, 牛 1+8, 太 10, 累 11
because | the animal didn't cross the street because it was too wide | 动物 1, 没有 2, 穿过 3, 街道 5, 因为 6, 街道 5+7, 太 9, 宽 10
because | the queen will not climb the tower because she is too old | 王后 1, 不 3, 会 2, 爬 4, 塔 6, 因为 7, 她 8, 太 10, 老 11
fit | the hat will not fit in the bag because it is too big | 帽子 1, 不 3, 会 2, 装进 4+5, 袋子 7, 因为 8, 帽子 1+9, 太 11, 大 12
fit | the hat didn't fit in the box because it was very small | 帽子 1, 没有 2, 装进 3+4, 盒子 6, 因为 7, 盒子 6+8, 非常 10, 小 11
transitive | the dog chased two cats | 狗 1, 追 2, 了 2, 两 3, 只 4, 猫 4
fragment | two small cats | 两 0, 只 2, 小 1, 猫 2
activity | yesterday she laughed | 她 1, 昨天 0, 笑 2, 了 2
transitive | I love you | 我 0, 爱 1, 你 2
transitive | the fox jumps over the dog | 狐狸 1, 跳过 2+3, 狗 5
activity | a boy does not play in front of my house | 一 0, 个 1, 男孩 1, 不 2+3, 在 5+6+7, 我 8, 的 8, 房子 9, 前面 5+6+7, 玩 4
give | the man gave an egg to her | 男人 1, 把, 一 3, 个 4, 鸡蛋 4, 给 2, 了 2, 她 6
posture | that lion will lie on the sofa | 那 0, 头 1, 狮子 1, 会 2, 躺在 3, 沙发 6, 上 4
put | the girl put the key under the bed | 女孩 1, 把, 钥匙 4, 放在 2, 床 7, 下 5
posture | the cat wants to sleep | 猫 1, 想 2+3, 睡 4
existence | there was a fish on the table | 桌子 6, 上 4, 有 0+1, 一 2, 条 3, 鱼 3
activity | the cat and the dog played | 猫 1, 和 2, 狗 4, 玩 5, 了 5
located | the cat is not behind the house | 猫 1, 不 3, 在 2, 房子 6, 后面 4
where | where is his horse | 他 2, 的 2, 马 3, 在 1, 哪里 0
is_it | is the key in the box | 钥匙 2, 在 0, 盒子 5, 里 3, 吗 0
did_it | did the dog bite a man | 狗 2, 咬 3, 了 0, 一 4, 个 5, 男人 5, 吗 0
colour | the flower is not yellow | 花 1, 不 3, 是 2, 黄 4, 的
quality | the street is dangerous | 街道 1, 很, 危险 3
"""


def read(chinese: str) -> tuple[list[str], list[tuple[int, ...]]]:
    cells = [cell.split() for cell in chinese.split(", ")]
    return [cell[0] for cell in cells], [tuple(map(int, cell[1].split("+"))) if cell[1:] else () for cell in cells]


def wanted(row: Any, words: set[str]) -> bool:
    """Whether a row of the lexicon has an English form of which the words hold all."""
    if isinstance(row, Noun | Verb):
        english = [getattr(row, f.name) for f in fields(row) if f.name not in ("chinese", "classifier")]
    else:
        english = [row]
    return any(form and set(form.split()) <= words for form in english)


def narrowed(table: Any, words: set[str]) -> Any:
    """The rows of a table that the words need, all rows where they need none, so that chance says them soon."""
    if isinstance(table, dict):
        return {k: narrowed(v, words) if isinstance(v, dict) else v for k, v in table.items() if wanted(k, words)} or table
    if isinstance(table, tuple) and isinstance(table[0], tuple):  # who does what to whom; who can be how
        rows = [row for row in table if wanted(row[0], words)] if isinstance(table[0][0], Verb) else table
        return tuple(tuple(cell if isinstance(cell, Verb) else narrowed(cell, words) for cell in row) for row in rows) or table
    if isinstance(table, tuple):
        return tuple(row for row in table if wanted(row, words)) or table
    return table


KEPT = ("NOUNS", "ADJECTIVES", "TIMES", "ENGLISH", "CHINESE")  # looked up by name, or no tables to choose from


@pytest.mark.parametrize("line", TRUE.strip().splitlines(), ids=lambda line: line.split(" | ")[1])
def test_alignment_is_the_hand_written_one(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, english, chinese = line.split(" | ")
    for table in vars(lex).copy():
        if table.isupper() and not table.startswith("_") and table not in KEPT:
            monkeypatch.setattr(lex, table, narrowed(getattr(lex, table), set(english.split())))
    frame = next(frame for frame in FRAMES if frame.__name__ == name)
    speaker = Speaker(Random(0))
    found = next(e for e in (spell(frame(speaker)) for _ in range(40_000)) if " ".join(e.source) == english)
    assert (found.target, found.alignment) == read(chinese)


def test_pieces_know_where_their_words_went() -> None:
    big, ball, place = pair("big", "大"), pair("ball", "球"), pair("in front of", "前面")
    phrase = join([pair("the"), big, ball, place], [place, more(place, "的"), more(pair(""), "把"), big, ball])
    example = spell(phrase)
    assert example.source == ["the", "big", "ball", "in", "front", "of"]
    assert example.target == ["前面", "的", "把", "大", "球"]
    assert example.alignment == [(3, 4, 5), (3, 4, 5), (), (1,), (2,)]


# --- Every sentence ---------------------------------------------------------------------------------------------------


def test_the_same_seed_says_the_same() -> None:
    assert list(islice(examples(0), 50)) == SAID[:50]
    assert list(islice(examples(1), 50)) != SAID[:50]
    assert len({" ".join(e.source) for e in SAID}) > 0.95 * len(SAID)


def test_each_word_is_aligned_within_its_sentence() -> None:
    for e in SAID:
        assert len(e.alignment) == len(e.target)
        assert all(0 <= i < len(e.source) for places in e.alignment for i in places)
        assert all(places == tuple(sorted(set(places))) for places in e.alignment)


def test_aligned_words_mean_each_other() -> None:
    """Counted over all sentences, a noun's translation comes from that noun, never from another."""
    nouns = {form: noun.chinese for noun in lex.ALL for form in (noun.english, noun.plural) if form}
    chinese = set(nouns.values())
    for e in SAID:
        for word, places in zip(e.target, e.alignment, strict=True):
            if word in chinese:
                assert [nouns[e.source[i]] for i in places if e.source[i] in nouns] == [word], e


def test_one_english_sentence_has_one_translation() -> None:
    said = defaultdict(set)
    for e in SAID + HELD_OUT:
        said[" ".join(e.source)].add(" ".join(e.target))
    assert not {english: chinese for english, chinese in said.items() if len(chinese) > 1}


def test_the_vocabulary_is_closed_and_used() -> None:
    assert {word for e in SAID for word in e.source} == set(ENGLISH)
    assert {word for e in SAID for word in e.target} == set(CHINESE)
    assert {word for e in HELD_OUT for word in e.source} <= set(ENGLISH)
    assert 250 <= len(ENGLISH) <= 350 and 200 <= len(CHINESE) <= 350


def test_sentences_are_read_as_they_were_said() -> None:
    """Joined and typed again, also with a capital and without the spaces of Chinese, they give the same words."""
    english, chinese = Vocabulary(ENGLISH), Vocabulary(CHINESE)
    for e in SAID[:3000]:
        assert english.read(" ".join(e.source))[0] == e.source
        assert english.encode(english.tokenize(" ".join(e.source).capitalize())) == english.encode(e.source) or "I" in e.source
        assert chinese.read(" ".join(e.target))[0] == e.target
        assert "".join(chinese.tokenize("".join(e.target))) == "".join(e.target)


def test_the_mark_at_the_end_is_optional_on_both_sides() -> None:
    marks = {".": "。", "?": "？"}
    marked = [e for e in SAID if e.source[-1] in marks]
    assert 0.45 < len(marked) / len(SAID) < 0.55
    for e in marked:
        assert e.target[-1] == marks[e.source[-1]] and e.alignment[-1] == (len(e.source) - 1,)
    assert sum(e.target[-1] in marks.values() for e in SAID) == len(marked)


def test_a_pronoun_becomes_the_noun_that_the_adjective_decides() -> None:
    resolved = [e for e in SAID if e.referent]
    assert len(resolved) > 1500
    for e in resolved:
        assert e.referent is not None
        target, source = e.referent
        it = e.source.index("it", e.source.index("because"))
        assert e.alignment[target] == (source, it) and source < it
        assert e.target.count(e.target[target]) >= 2  # it stands there a second time
    animals = {animal.english for animal in lex.ANIMALS}
    of_animals = sum(e.source[e.referent[1]] in animals for e in resolved if e.referent)
    assert 0.3 < of_animals / len(resolved) < 0.7  # always looking at the same noun would not do


def test_adjectives_leave_no_doubt_about_the_pronoun() -> None:
    deciding = {adjective for places in lex.HINDRANCES.values() for words in places.values() for adjective in words.split()}
    assert not set(lex.OF_LIVING) & deciding
    assert not set(lex.TOO_BIG) & set(lex.TOO_SMALL)


# --- Words that nobody knows ------------------------------------------------------------------------------------------


def test_unknown_words_are_unknown_on_both_sides() -> None:
    changed = list(with_unknown_words(SAID, 0))
    pairs = [(old, new) for old, new in zip(SAID, changed, strict=True) if old != new]
    assert 0.03 < len(pairs) / len(SAID) < 0.06
    assert changed == list(with_unknown_words(SAID, 0))
    nouns = {form: noun for noun in lex.ALL for form in (noun.english, noun.plural) if form}
    for old, new in pairs:
        assert (new.alignment, new.referent, len(new.source)) == (old.alignment, old.referent, len(old.source))
        hidden = {i for i, word in enumerate(new.source) if word == "<unk>"}
        assert all(new.source[i] == old.source[i] for i in range(len(old.source)) if i not in hidden)
        for j, places in enumerate(old.alignment):
            names = [nouns[old.source[i]] for i in hidden & set(places) if old.source[i] in nouns]
            if any(old.target[j] == noun.chinese for noun in names):
                assert new.target[j] == "<unk>"
            elif any(old.target[j] == noun.classifier for noun in names):
                assert new.target[j] == "个"
            elif not hidden & set(places):
                assert new.target[j] == old.target[j]
        assert hidden <= {i for j, places in enumerate(new.alignment) if new.target[j] == "<unk>" for i in places}


# --- The split --------------------------------------------------------------------------------------------------------


def test_a_held_out_combination_never_occurs_in_training() -> None:
    seen = {c for e in SAID for c in e.combinations}
    missing = [e for e in HELD_OUT if not set(e.combinations) <= seen]
    assert all(is_held_out(e) for e in HELD_OUT) and not any(is_held_out(e) for e in SAID)
    assert len(missing) == len(HELD_OUT)
    assert not {" ".join(e.source) for e in SAID} & {" ".join(e.source) for e in HELD_OUT}


def test_a_tenth_is_held_out_and_all_its_words_are_known() -> None:
    rng = Random(5)
    share = sum(is_held_out(say(rng)) for _ in range(5000)) / 5000
    assert 0.07 < share < 0.15
    assert {c for e in SAID for w in e.combinations for c in w} > {c for w in SHOWN for c in w}


def test_what_the_app_shows_is_held_out() -> None:
    for combination in SHOWN:
        assert is_held_out(Example([], [], [], None, (("never", "met"), combination)))
        assert not any(combination in e.combinations for e in SAID)
