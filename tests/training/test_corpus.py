"""Clauses of fixed words: the exact English, Chinese and alignment."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeVar

import pytest

from viz_core.training.corpus import (
    compound_sentences,
    constructions,
    contractions,
    impersonal,
    noun_modifiers,
    nouns,
    predicates,
    questions,
    relative_clauses,
    short_answers,
    stock_questions,
    time_expressions,
    to_be,
    verb_phrases,
    winograd_sentences,
)
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import Clause, make_clause, statement
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, english, english_text, join, pair
from viz_core.training.corpus.predicates import Predicate, infinitive
from viz_core.training.corpus.sentences import to_example

T = TypeVar("T")


class Usual(Sampler):
    """Says what is likeliest: the first of all choices, and nothing that is said in less than half of the cases.

    but: probabilities of which the unlikely case is wanted.
    """

    def __init__(self, *but: float, depth: int = 2) -> None:
        super().__init__(Random(0), depth)
        self.but = but

    def chance(self, probability: float) -> bool:
        return (probability > 0.5) != (probability in self.but)

    def choice(self, choices: Sequence[T]) -> T:
        return choices[0]

    def weighted(self, choices: Mapping[T, float]) -> T:
        return max(choices, key=lambda choice: choices[choice])


S = Usual()


def noun(text: str) -> lex.Noun:
    return next(n for n in lex.NOUNS if n.english == text)


def verb(base: str, frame: str, said: str = "") -> lex.Verb:
    return next(v for v in lex.VERBS if v.base == base and v.frame == frame and said in v.chinese)


def adjective(text: str) -> lex.Adjective:
    return next(a for a in lex.ADJECTIVES if a.english == text)


def word(text: str, zh: str, person: str = "third") -> NounPhrase:
    return NounPhrase(pair(text, zh), pair(text, zh), person=person, name=text)  # type: ignore[arg-type]


ME, YOU, HE, THEY = word("I", "我", "I"), word("you", "你", "plural"), word("he", "他"), word("they", "他们", "plural")
EVERYBODY = NounPhrase(pair("everybody", "大家"), NOTHING, takes_dou=True)
NEITHER = NounPhrase(pair("neither of us", "我们 两个"), NOTHING, takes_dou=True, negator=pair("neither"))
GAP = NounPhrase(NOTHING, NOTHING)
YESTERDAY, TOMORROW = pair("yesterday", "昨天"), pair("tomorrow", "明天")


def the(text: str) -> NounPhrase:
    return nouns.the(S, noun(text))


def a(text: str) -> NounPhrase:
    return nouns.a(S, noun(text))


def on(text: str) -> nouns.Sides:
    where, preposition = the(text).phrase, pair("on", "上")
    return [preposition, where], [where, preposition]


def does(base: str, frame: str, thing: NounPhrase | None = None, *, zh: str = "", where: nouns.Sides | None = None,
         but: tuple[float, ...] = ()) -> Predicate:
    return verb_phrases.predicate(Usual(*but), verb(base, frame, zh), HE, thing, where)


def wants_to(p: Predicate) -> Predicate:
    source, target = infinitive(p)
    return Predicate(verb("want", "to"), "想", [english("to"), *source], rest=[*target], takes_le=False)


def is_(text: str, of: str) -> Predicate:
    return to_be.adjective_predicate(S, noun(of), adjective(text))


def of_(text: str, what: str) -> Predicate:
    """afraid of the cat."""
    return to_be.with_object(adjective(text), the(what))


def said(who: NounPhrase, p: Predicate, tense: str = "present", *, no: bool = False, time: Phrase = NOTHING,
         first: bool = False, middle: Phrase = NOTHING) -> Clause:
    return Clause(who, p, tense, no, time, first, middle)


def that(head: str, who: NounPhrase, p: Predicate, tense: str) -> Phrase:
    """the book that I bought."""
    p.takes_le = False
    return relative_clauses.attach_clause(the(head), english("that"), said(who, p, tense)).phrase


def what(tense: str, *, embedded: bool = False) -> Phrase:
    """what did he buy."""
    wh = pair("what", "什么")
    bought = does("buy", "t", NounPhrase(Phrase((), wh.target), NOTHING))
    return questions.front_question_word(said(HE, bought, tense), Phrase(wh.source), embedded)


def where_he_goes() -> Phrase:
    where = pair("where", "哪里")
    p = Predicate(verb("go", "i"), "去", rest=[Phrase((), where.target)])
    return questions.front_question_word(said(HE, p, middle=pair("always", "总是")), Phrase(where.source), True)


def passive(tense: str, by: NounPhrase | None, *, negated: bool = False) -> Phrase:
    return constructions.build_passive(the("window"), verb("break", "t", "打破"), by, tense, negated=negated, time=NOTHING)


def because_it(culprit: NounPhrase, reason: str, zh: str) -> Phrase:
    """... because it was too tired: "it" is the culprit, who also acts or is acted on."""
    animal, street = (culprit if culprit.name == name else the(name) for name in ("animal", "street"))
    c = said(animal, does("cross", "t", street), "past", no=True)
    it = culprit.with_phrase(compound_sentences.pronoun_as_noun(Usual(), culprit.head, "it"))
    return winograd_sentences.because(statement(c), it, pair("was"), pair("too", "太"), pair(reason, zh))


# English | each Chinese word with the places of the English ones that it comes from, counted from 0.
CLAUSES: list[tuple[str, Callable[[], Phrase]]] = [
    # Tenses
    ("the dog chased a cat yesterday | 狗 1, 昨天 5, 追 2, 了 2, 一 3, 只 4, 猫 4",
     lambda: statement(said(the("dog"), does("chase", "t", a("cat")), "past", time=YESTERDAY))),
    ("yesterday the dog slept | 昨天 0, 狗 2, 睡觉 3, 了 3",
     lambda: statement(said(the("dog"), does("sleep", "i"), "past", time=YESTERDAY, first=True))),
    ("he is eating the apple | 他 0, 在 1, 吃 2, 苹果 4",
     lambda: statement(said(HE, does("eat", "t", the("apple")), "going on"))),
    ("he has already eaten the apple | 他 0, 已经 2, 吃 3, 了 1, 苹果 5",
     lambda: statement(said(HE, does("eat", "t", the("apple")), "perfect", middle=pair("already", "已经")))),
    ("he has never seen the apple | 他 0, 从来 2, 没有 2, 看见 3, 过 2, 苹果 5",
     lambda: statement(said(HE, does("see", "t", the("apple")), "perfect", middle=pair("never", "从来 没有")))),
    ("he is playing on the table | 他 0, 在, 桌子 5, 上 3, 玩 2",
     lambda: statement(said(HE, does("play", "loc", where=on("table")), "going on"))),
    ("he is sitting on the table | 他 0, 坐 2, 在, 桌子 5, 上 3",
     lambda: statement(said(HE, does("sit", "loc", where=on("table")), "going on"))),
    ("he is going to the city | 他 0, 要 1, 去 2+3, 城市 5",
     lambda: statement(said(HE, does("go to", "place", the("city")), "going on"))),
    ("he travelled to the city | 他 0, 去 1+2, 城市 4, 旅行",
     lambda: statement(said(HE, does("travel to", "place", the("city")), "past"))),
    ("they have been sleeping | 他们 0, 一直 1+2, 在 1+2, 睡觉 3",
     lambda: statement(said(THEY, does("sleep", "i"), "perfect going on"))),
    ("I am going to swim tomorrow | 我 0, 明天 5, 要 1+2+3, 游泳 4",
     lambda: statement(said(ME, does("swim", "i"), "going to", time=TOMORROW))),
    ("I can swim | 我 0, 会 1, 游泳 2",
     lambda: statement(said(ME, does("swim", "i"), "can"))),
    ("he has to eat the apple | 他 0, 必须 1+2, 吃 3, 苹果 5",
     lambda: statement(said(HE, does("eat", "t", the("apple")), "have to"))),
    ("he liked the cat | 他 0, 喜欢 1, 猫 3",
     lambda: statement(said(HE, does("like", "t", the("cat")), "past"))),
    # Negations
    ("the dog did not chase the cat | 狗 1, 没有 2+3, 追 4, 猫 6",
     lambda: statement(said(the("dog"), does("chase", "t", the("cat")), "past", no=True))),
    ("he does not eat | 他 0, 不 1+2, 吃饭 3",
     lambda: statement(said(HE, does("eat", "i"), no=True))),
    ("you can not swim | 你 0, 不 1+2, 会 1+2, 游泳 3",
     lambda: statement(said(YOU, does("swim", "i"), "can", no=True))),
    ("he does not have to sleep | 他 0, 不用 1+2+3+4, 睡觉 5",
     lambda: statement(said(HE, does("sleep", "i"), "have to", no=True))),
    ("I do not have a cat | 我 0, 没有 1+2+3, 一 4, 只 5, 猫 5",
     lambda: statement(said(ME, does("have", "t", a("cat"), zh="有"), no=True))),
    ("everybody will sleep | 大家 0, 都, 会 1, 睡觉 2",
     lambda: statement(said(EVERYBODY, does("sleep", "i"), "future"))),
    ("he is not eating the apple | 他 0, 没有 1+2, 在 1+2, 吃 3, 苹果 5",
     lambda: statement(said(HE, does("eat", "t", the("apple")), "going on", no=True))),
    ("he is not going to the city | 他 0, 不 1+2, 去 3+4, 城市 6",
     lambda: statement(said(HE, does("go to", "place", the("city")), "going on", no=True))),
    ("he said nothing | 他 0, 什么 2, 都 2, 没有 2, 说 1",
     lambda: statement(said(HE, verb_phrases._nothing(verb("say", "t"), False), "past"))),
    ("you had better not sleep | 你 0, 最 1+2+3, 好 1+2+3, 不要 1+2+3, 睡觉 4",
     lambda: statement(said(YOU, does("sleep", "i"), "had better", no=True))),
    ("you may sleep | 你 0, 可以 1, 睡觉 2", lambda: statement(said(YOU, does("sleep", "i"), "may"))),
    ("he may sleep | 他 0, 可能 1, 睡觉 2", lambda: statement(said(HE, does("sleep", "i"), "may"))),
    ("they are leaving tomorrow | 他们 0, 明天 3, 要 1, 离开 2",
     lambda: statement(said(THEY, does("leave", "i"), "planned", time=TOMORROW))),
    ("he will come again | 他 0, 会 1, 再 3, 来 2",
     lambda: statement(Clause(HE, does("come", "i"), "future", end=pair("again", "再")))),
    # To be
    ("the cat is big | 猫 1, 很, 大 3",
     lambda: statement(said(the("cat"), is_("big", "cat")))),
    ("the cat is not big | 猫 1, 不 3, 大 4",
     lambda: statement(said(the("cat"), is_("big", "cat"), no=True))),
    ("the cat was dead | 猫 1, 死 3, 了 3",
     lambda: statement(said(the("cat"), is_("dead", "cat"), "past"))),
    ("the cat will be dead | 猫 1, 会 2, 死 4",
     lambda: statement(said(the("cat"), is_("dead", "cat"), "future"))),
    ("he is a boss | 他 0, 是 1, 一 2, 名 3, 老板 3",
     lambda: statement(said(HE, to_be.noun_predicate(Usual(), HE)))),
    ("the cat was not dead | 猫 1, 没有 3, 死 4",
     lambda: statement(said(the("cat"), is_("dead", "cat"), "past", no=True))),
    ("the table is wooden | 桌子 1, 是 2, 木头 3, 的 3",
     lambda: statement(said(the("table"), is_("wooden", "table")))),
    ("the cat is bigger than the animal | 猫 1, 比 4, 动物 6, 大 3",
     lambda: statement(said(the("cat"), to_be.comparison(Usual(), adjective("big"), noun("cat"), ())))),
    ("he is not late for the party | 他 0, 聚会 6, 没有 2, 迟到 3+4",
     lambda: statement(said(HE, of_("late for", "party"), no=True))),
    ("he is late for the party | 他 0, 聚会 5, 迟到 2+3, 了 2+3", lambda: statement(said(HE, of_("late for", "party")))),
    ("he is not kind to the cat | 他 0, 对 3+4, 猫 6, 不 2, 友善 3+4", lambda: statement(said(HE, of_("kind to", "cat"), no=True))),
    # Places, receivers, further verbs
    ("the cat sat on the table | 猫 1, 坐 2, 在, 桌子 5, 上 3",
     lambda: statement(said(the("cat"), does("sit", "loc", where=on("table")), "past"))),
    ("he put the book on the table | 他 0, 把, 书 3, 放 1, 在, 桌子 6, 上 4",
     lambda: statement(said(HE, does("put", "put", the("book"), where=on("table")), "past"))),
    ("he gave me a book | 他 0, 给 1, 了 1, 我 2, 一 3, 本 4, 书 4",
     lambda: statement(said(HE, does("give", "give", a("book")), "past"))),
    ("he gave the book to me | 他 0, 把, 书 3, 给 1, 了 1, 我 5",
     lambda: statement(said(HE, does("give", "give", the("book"), but=(0.45,)), "past"))),
    ("he bought me a hat | 他 0, 给, 我 2, 买 1, 了 1, 一 3, 顶 4, 帽子 4",
     lambda: statement(said(HE, does("buy", "for", a("hat")), "past"))),
    ("he turns it on | 他 0, 打开 1+3, 它 2",
     lambda: statement(said(HE, does("turn on", "t", word("it", "它"))))),
    ("he talked to the dog | 他 0, 和, 狗 4, 说话 1+2, 了 1+2",
     lambda: statement(said(HE, does("talk to", "t", the("dog")), "past"))),
    ("he wants to put the book on the table | 他 0, 想 1, 把, 书 5, 放 3, 在, 桌子 8, 上 6",
     lambda: statement(said(HE, wants_to(does("put", "put", the("book"), where=on("table")))))),
    ("he did not put the book on the table | 他 0, 没有 1+2, 把, 书 5, 放 3, 在, 桌子 8, 上 6",
     lambda: statement(said(HE, does("put", "put", the("book"), where=on("table")), "past", no=True))),
    ("he will not give the book to me | 他 0, 不 1+2, 会 1+2, 把, 书 5, 给 3, 我 7",
     lambda: statement(said(HE, does("give", "give", the("book"), but=(0.45,)), "future", no=True))),
    ("he always talks to the dog | 他 0, 总是 1, 和, 狗 5, 说话 2+3",
     lambda: statement(said(HE, does("talk to", "t", the("dog")), middle=pair("always", "总是")))),
    ("when will he buy me a hat | 他 2, 什么 0, 时候 0, 会 1, 给, 我 4, 买 3, 一 5, 顶 6, 帽子 6",
     lambda: questions.adverbial_question(said(HE, does("buy", "for", a("hat")), "future"), "when")),
    # Questions
    ("did the dog chase the cat | 狗 2, 追 3, 猫 5, 了 3, 吗 0",
     lambda: questions.yes_no(said(the("dog"), does("chase", "t", the("cat")), "past"))),
    ("is the cat big | 猫 2, 大 3, 吗 0",
     lambda: questions.yes_no(said(the("cat"), is_("big", "cat")))),
    ("why are you sleeping | 你 2, 为什么 0, 在 1, 睡觉 3",
     lambda: questions.adverbial_question(said(YOU, does("sleep", "i"), "going on"), "why")),
    ("when you slept | 你 1, 什么 0, 时候 0, 睡觉 2, 的 2",
     lambda: questions.adverbial_question(said(YOU, does("sleep", "i"), "past"), "when", embedded=True)),
    ("what did he buy | 他 2, 买 3, 了 3, 什么 0",
     lambda: what("past")),
    ("what he bought | 他 1, 买 2, 了 2, 什么 0",
     lambda: what("past", embedded=True)),
    ("why does he always sleep | 他 2, 为什么 0, 总是 3, 睡觉 4",
     lambda: questions.adverbial_question(said(HE, does("sleep", "i"), middle=pair("always", "总是")), "why")),
    ("where he always goes | 他 1, 总是 2, 去 3, 哪里 0", where_he_goes),
    ("when did you come | 你 2, 什么 0, 时候 0, 来 3, 的 1",
     lambda: questions.adverbial_question(said(YOU, does("come", "i"), "past"), "when")),
    ("did you turn it on | 你 1, 打开 2+4, 它 3, 了 2, 吗 0",
     lambda: questions.yes_no(said(YOU, does("turn on", "t", word("it", "它")), "past"))),
    # Relative clauses
    ("the dog that chased the cat | 追 3, 猫 5, 的, 狗 1",
     lambda: that("dog", GAP, does("chase", "t", the("cat")), "past")),
    ("the book that I bought | 我 3, 买 4, 的, 书 1",
     lambda: that("book", ME, does("buy", "t", GAP), "past")),
    ("the table that is wooden | 是 3, 木头 4, 的 4, 桌子 1",
     lambda: that("table", GAP, is_("wooden", "table"), "present")),
    # Passive
    ("the window was broken by a boy | 窗户 1, 被 4, 一 5, 个 6, 男孩 6, 打破 3, 了 2",
     lambda: passive("past", a("boy"))),
    ("the window will be broken | 窗户 1, 会 2+3, 被 2, 打破 4",
     lambda: passive("future", None)),
    ("the window has not been broken | 窗户 1, 没有 2+3+4, 被 2, 打破 5",
     lambda: passive("perfect", None, negated=True)),
    # A reason that decides what a pronoun means
    ("the animal did not cross the street because it was too tired | 动物 1, 没有 2+3, 穿过 4, 街道 6, "
     "因为 7, 动物 1+8, 太 10, 累 11, 了 10",
     lambda: because_it(the("animal"), "tired", "累")),
    ("the animal did not cross the street because it was too wide | 动物 1, 没有 2+3, 穿过 4, 街道 6, "
     "因为 7, 街道 6+8, 太 10, 宽 11, 了 10",
     lambda: because_it(the("street"), "wide", "宽")),
    # There is
    ("there is a cat on the table | 桌子 6, 上 4, 有 0+1, 一 2, 只 3, 猫 3",
     lambda: impersonal.build_there_is(a("cat"), on("table"), past=False)),
    ("there were not any cats on the table | 桌子 7, 上 5, 没有 0+1+2+3, 猫 4",
     lambda: impersonal.build_there_is(nouns.bare(S, noun("cat")), on("table"), past=True, no="not any")),
]


@pytest.mark.parametrize(("expected", "build"), CLAUSES, ids=[expected.partition(" | ")[0] for expected, __ in CLAUSES])
def test_a_clause_of_fixed_words_is_the_hand_written_one(expected: str, build: Callable[[], Phrase]) -> None:
    example = to_example(build())
    linked = zip(example.target, ("+".join(map(str, places)) for places in example.alignment), strict=True)
    assert f"{' '.join(example.source)} | {', '.join(f'{zh} {places}'.strip() for zh, places in linked)}" == expected


@pytest.mark.parametrize(("build", "expected"), [
    (lambda: questions.yes_no(said(YOU, does("like", "t", the("cat")), no=True)), "don't you like the cat | 你 不 喜欢 猫 吗"),
    (lambda: questions.yes_no(said(the("cat"), is_("big", "cat"), no=True)), "isn't the cat big | 猫 不 大 吗"),
    (lambda: questions.adverbial_question(said(YOU, does("sleep", "i"), no=True), "why"),
     "why don't you sleep | 你 为什么 不 睡觉"),
    (lambda: questions.yes_no(said(ME, does("sleep", "i"), "going on", no=True)), "am I not sleeping | 我 没有 在 睡觉 吗"),
])
def test_a_negative_question_begins_with_the_short_form(build: Callable[[], Phrase], expected: str) -> None:
    """Even of a speaker who writes no other short forms; and its 不 comes from it."""
    example = to_example(contractions.contract(Usual(0.55), build()))
    assert f"{' '.join(example.source)} | {' '.join(example.target)}" == expected
    assert all(example.alignment[i] for i, zh in enumerate(example.target) if zh in ("不", "没有"))


def test_who_acts_is_not_acted_on() -> None:
    """I do not meet me, and you are not told to give something to you."""
    for actor, never in (("I", {"me", "us"}), ("you", {"you"})):
        met = {predicates.object_pronoun(Sampler(Random(i), actor=actor)).name for i in range(60)}
        assert met == {"me", "you", "him", "her", "us", "them"} - never


@pytest.mark.parametrize(("text", "person", "expected"), [
    ("the boys", "plural", "'"), ("the children", "plural", "'s"), ("the boss", "third", "'s"), ("<1>", "third", "'s"),
])
def test_the_possessive_is_written_as_it_is_typed(text: str, person: str, expected: str) -> None:
    assert to_example(noun_modifiers.genitive(word(text, "男孩", person))).source == [expected]


def test_a_number_stands_before_a_relative_clause() -> None:
    """two boys who sleep -> 两 个 睡觉 的 男孩."""
    c = said(GAP, does("sleep", "i"))
    example = to_example(relative_clauses.attach_clause(nouns.counted(Usual(), noun("boy")), english("who"), c).phrase)
    assert example.target == ["两", "个", "睡觉", "的", "男孩"]


def test_to_say_nothing_is_denied() -> None:
    """(decide) to say nothing -> 什么 都 不 说."""
    source, target = infinitive(verb_phrases._nothing(verb("say", "t"), False))
    assert to_example(join(source, target)).target == ["什么", "都", "不", "说"]


def test_none_of_them_denies_the_verb() -> None:
    example = to_example(statement(said(NEITHER, does("sleep", "i"), "past")))
    assert example.target == ["我们", "两", "个", "都", "没有", "睡觉"]


def test_set_questions_end_as_questions() -> None:
    """Each kind, said often: it asks with a question word or with 吗."""
    asks = ("什么", "谁", "多", "吗", "几", "怎么", "哪", "还是")
    for kind in stock_questions._SET:
        for seed in range(30):
            example = to_example(kind(Sampler(Random(seed))))
            assert any(mark in "".join(example.target) for mark in asks), (kind, example)


@pytest.mark.parametrize("seed", range(40))
def test_a_short_answer_agrees(seed: int) -> None:
    example = to_example(contractions.contract(Sampler(Random(seed)), short_answers.short_answer(Sampler(Random(seed)))))
    yes = example.source[0] == "yes"
    assert example.target[: 2 if yes else 1] == (["是", "的"] if yes else ["不"])
    assert yes != any(word.endswith("n't") or word == "not" for word in example.source)


@pytest.mark.parametrize(("text", "short"), [
    ("I am here", "I'm here"), ("he is not here", "he's not here"),
    ("they were not here", "they weren't here"),
    ("you can not go", "you can't go"),
    ("I have a dog", "I have a dog"), ("I have seen it", "I've seen it"),
    ("you had better go", "you'd better go"), ("I have to go", "I have to go"),
    ("I think he is", "I think he is"), ("he is .", "he is ."),
])
def test_short_forms(text: str, short: str) -> None:
    """Both words of a short form become one, and what came from them comes from it; none stands at the end."""
    words = [pair(word, word) for word in text.split()]
    example = to_example(contractions.contract(S, join(words)))
    assert " ".join(example.source) == short
    assert example.target == text.split() and max(example.alignment) == (len(example.source) - 1,)


def test_can_not_is_always_one_word() -> None:
    assert to_example(contractions.contract(Usual(0.55), join([pair("I can not do not")]))).source == ["I", "cannot", "do", "not"]


def test_a_pronoun_before_its_noun_is_the_one_that_became_a_noun() -> None:
    speaker, street = Usual(), the("street")
    example = to_example(join([compound_sentences.pronoun_as_noun(speaker, street.head, "it"), street.phrase]), speaker.referent)
    assert (example.source, example.target, example.referent) == (["it", "the", "street"], ["街道", "街道"], (0, 2))


def test_the_referent_is_the_noun_that_the_pronoun_became() -> None:
    speaker, street = Usual(), the("street")
    example = to_example(join([street.phrase, compound_sentences.pronoun_as_noun(speaker, street.head, "it")]), speaker.referent)
    assert (example.source, example.target, example.referent) == (["the", "street", "it"], ["街道", "街道"], (1, 1))


def test_an_answer_says_the_verb_of_the_question_again() -> None:
    said = [to_example(short_answers.question_and_answer(Sampler(Random(i)))) for i in range(1500)]
    drink = next(e for e in said if e.source[:3] == ["do", "you", "drink"] and "yes" in e.source)
    assert drink.source[-5:] == ["?", "yes", ",", "I", "do"] and drink.target[-6:] == ["？", "是", "的", "，", "我", "喝"]
    assert drink.alignment[-1] == (len(drink.source) - 1,)
    have = next(e for e in said if "no" in e.source and "有" in e.target)
    assert have.target[-1] == "没有"
    can = next(e for e in said if e.source[0] == "can" and "swim" in e.source and "no" in e.source)
    assert can.target[-2:] == ["不", "会"] and len(can.alignment[-1]) == 2  # can't


def test_what_one_talks_to_or_sits_on_in_a_relative_clause() -> None:
    def whole(build: Callable[[Sampler, lex.Noun, NounPhrase], NounPhrase], text: str) -> str:
        example = to_example(build(Usual(), noun(text), the(text)).phrase)
        return f"{' '.join(example.source)} | {' '.join(example.target)}"

    assert whole(relative_clauses._with_whom, "girl") == "the girl I talked to | 和 我 说话 的 女孩"
    assert whole(relative_clauses._in_which, "chair") == "the chair I sat on | 我 坐 的 椅子"


def test_one_never_lived_there() -> None:
    """The place goes before a verb with 过: 从来 没有 在 农场 上 住 过, though one says 住 在 农场 上."""
    c = said(ME, does("live", "loc", where=on("farm")), "perfect")
    c.middle = pair("never", "从来 没有")
    assert to_example(statement(c)).target == ["我", "从来", "没有", "在", "农场", "上", "住", "过"]


def test_what_one_cannot_find_is_not_to_be_found() -> None:
    for base, expected in (("find", ["我", "找", "不", "到", "猫"]), ("see", ["我", "看", "不", "见", "猫"])):
        example = to_example(statement(said(ME, does(base, "t", the("cat")), "can", no=True)))
        assert example.target == expected
        assert example.alignment[1:4] == [(1, 2, 3)] * 3  # can not find
    assert to_example(statement(said(ME, does("find", "t", the("cat")), "can"))).target == ["我", "能", "找到", "猫"]


def test_states_have_no_clock_and_no_season() -> None:
    said_when = {
        english_text(time_expressions.draw_time(Sampler(Random(i)), tense, lasting=True))
        for i in range(100)
        for tense in ("past", "present")
    }
    assert "yesterday" in said_when and not [time for time in said_when if "at " in time or "summer" in time or "clock" in time]


def test_a_degree_is_not_denied() -> None:
    """she is not extremely tired: nobody says it."""
    so, plain = is_("tired", "man"), is_("tired", "man")
    so.tail.insert(0, pair("extremely", "极其"))
    denied = [[make_clause(Sampler(Random(i)), ME, p=p, tense="present").negated for i in range(50)] for p in (so, plain)]
    assert not any(denied[0]) and any(denied[1])
