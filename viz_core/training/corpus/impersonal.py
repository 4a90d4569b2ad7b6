"""Sentences with an empty subject: there is a cat, it is raining, it is seven o'clock, it is important to sleep."""

from collections.abc import Callable, Mapping

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus import nouns, to_be, verb_phrases
from viz_core.training.corpus.clauses import Clause, make_clause, statement
from viz_core.training.corpus.closed_class import BE, WAS
from viz_core.training.corpus.phrases import (
    NOTHING,
    NounPhrase,
    Phrase,
    Sampler,
    aligned,
    aligned_to_all,
    chinese,
    english,
    english_text,
    join,
    pair,
)
from viz_core.training.corpus.predicates import Predicate, degree_or_hen, draw_degree, infinitive, someone
from viz_core.training.corpus.time_expressions import MONTHS, WEEKDAYS, clock, draw_time

RAIN = {"rain": "下雨", "snow": "下雪"}
RAINING = {f"{word}ing": zh for word, zh in RAIN.items()}
WEATHER = ("cold", "hot", "warm", "cool", "cloudy", "dark", "wet", "dry", "foggy", "late", "early")
THERE = "person animal thing food building furniture container device toy plant drink reading vehicle clothes fruit group"
"""Noun classes that often follow "there is"."""
GETTING = {"dark": "黑", "cold": "冷", "warm": "暖和", "hot": "热"}
JUDGED = {
    "important": "重要", "easy": "容易", "difficult": "难", "hard": "难", "dangerous": "危险", "nice": "不错", "good": "好",
    "fun": "有趣", "expensive": "贵", "necessary": "必要", "interesting": "有趣", "boring": "无聊",
    "wrong": "不 对", "healthy": "健康",
}


# --- There is ---------------------------------------------------------------------------------------------------------
def there_is(s: Sampler) -> Phrase:
    """Draw a clause with "there is".

    there is a cat on the mat -> 垫子 上 有 一 只 猫; there were not any children in the garden -> 花园 里 没有 孩子.
    """
    if s.chance(0.1):
        return _there_will_be(s)
    choices = lex.usual_sense_nouns(THERE)
    what = nouns.noun_phrase(s, choices, {nouns.a: 5, nouns.counted: 3, nouns.some: 4, nouns.bare: 1})
    while english_text(what.phrase).startswith("most "):
        what = nouns.noun_phrase(s, choices, {nouns.a: 5, nouns.counted: 3})
    source, target = nouns.place(s) if s.chance(0.85) else ([], [])
    negated, past = s.chance(0.15), s.chance(0.3)
    time = draw_time(s, "past" if past else "present") if s.chance(0.12) else NOTHING
    if negated:
        what = nouns.noun_phrase(s, lex.nouns("thing food drink person"), {nouns.bare: 1})
    no = s.choice(("no", "not any")) if negated else ""
    return build_there_is(what, (source, target), past=past, no=no, time=time)


def _there_will_be(s: Sampler) -> Phrase:
    """Draw a clause with "there will be": there will be a party tomorrow -> 明天 会 有 一 个 聚会; there will not be any rain."""
    no = s.chance(0.12)
    forms: nouns.Forms = {nouns.bare: 1} if no else {nouns.a: 5, nouns.some: 2, nouns.counted: 1}
    what = nouns.noun_phrase(s, lex.nouns("event meal person food 'problem' 'snow' 'rain'"), forms)
    there = pair("there will not be any" if no else "there will be", "不 会 有" if no else "会 有")
    source, target = nouns.place(s) if s.chance(0.35) else ([], [])
    time = draw_time(s, "future") if s.chance(0.6) else NOTHING
    return join([there, what.phrase, *source, time], [time, *target, there, what.phrase])


def build_there_is(what: NounPhrase, where: nouns.Sides, *, past: bool, no: str = "", time: Phrase = NOTHING) -> Phrase:
    """Build there | is | not any | cats | on the table; 桌子 上 | 没有 | 猫. no: the English negation."""
    source, target = where
    there = pair(f"there {(WAS if past else BE)[what.person]}")
    negation = pair(no)
    few = [zh for zh, __ in what.phrase.target[:2]] == ["很少", "的"]  # there are few shops: 没有 多少 商店
    if few:
        links = what.phrase.target
        what = what.with_phrase(Phrase(what.phrase.source, (("多少", links[0][1]), *links[2:])))
    has = aligned_to_all([there, negation], "没有" if no or few else "有")
    return join([there, negation, what.phrase, *source, time], [time, *target, has, what.phrase])


# --- Weather, time and day --------------------------------------------------------------------------------------------
def weather(s: Sampler) -> Phrase:
    """Draw a sentence about the weather, the hour or the day."""
    return s.weighted(_WEATHER)(s)


def _raining(s: Sampler) -> Phrase:
    """Draw what the weather is doing: it is raining -> 在 下雨. The pattern table has the adverbs (it is raining hard)."""
    word = s.choice(list(RAINING))
    past = s.chance(0.3)
    be, verb = pair("was" if past else "is", "在"), pair(word, RAINING[word])
    time = draw_time(s, "past" if past else "going on") if s.chance(0.5) else NOTHING
    return join([english("it"), be, verb, time], [time, be, verb])


def _rains(s: Sampler) -> Phrase:
    """Draw a clause with "rain" or "snow": it often rains in summer -> 夏天 经常 下雨; it will rain tomorrow -> 明天 会 下雨."""
    word = s.choice(list(RAIN))
    tense = s.choice(("past", "future", "going to", "present", "might"))
    verb = lex.Verb(word, f"{word}s", f"{word}ed", f"{word}ed", f"{word}ing", RAIN[word], "i", "", "", frozenset())
    c = _it(s, Predicate(verb, RAIN[word], about=("it", word)), tense)
    if s.chance(0.2) and not c.negated and tense == "present":
        c.middle = s.pair({"often": "经常", "sometimes": "有时", "always": "总是"})
    return statement(c)


def _it(s: Sampler, p: Predicate, tense: str) -> Clause:
    """Draw a clause about the weather, often with a time."""
    it = english("it")
    c = make_clause(s, NounPhrase(it, it, name="it"), p=p, tense=tense, plain=True)
    c.time = draw_time(s, tense) if s.chance(0.6) else NOTHING
    return c


def _cold(s: Sampler) -> Phrase:
    """Draw an adjective of the weather: it was cold yesterday -> 昨天 很 冷; it is warm in the house -> 房子 里 很 暖和."""
    said = {a.english: a for a in reversed(lex.ADJECTIVES) if a.english in WEATHER and not {"of", "le", "nopred"} & a.flags}
    adjective = said[s.choice(WEATHER)]
    p = to_be.adjective_predicate(s, None, adjective)
    c = _it(s, p, s.choice(("present", "present", "past", "future")))
    hour = adjective.english in ("late", "early")
    if hour:  # no "it is late in the afternoon"
        c.time = NOTHING
    source, target = nouns.place(s) if s.chance(0.2) and not hour else ([], [])
    p.tail += source
    c.subject = c.subject.with_phrase(Phrase(c.subject.phrase.source, join([], target).target))
    return statement(c)


def _hour(s: Sampler) -> Phrase:
    """Draw the hour: it is seven o'clock -> 现在 是 七 点."""
    return join([english("it"), pair("is", "现在 是"), clock(s)])


def _day(s: Sampler) -> Phrase:
    """Draw the day: it is monday today, today is monday -> 今天 是 星期一."""
    today = s.pair({"today": "今天", "tomorrow": "明天"})
    be, day = pair("is", "是"), s.pair(WEEKDAYS | MONTHS)
    if s.chance(0.5):
        return join([today, be, day])
    return join([english("it"), be, day, today], [today, be, day])


def _getting(s: Sampler) -> Phrase:
    """Draw a change of the weather: it is getting dark -> 天 变 黑 了."""
    verb, adjective = pair(s.choice(("is getting", "gets", "is becoming")), "变"), s.pair(GETTING)
    return join([english("it"), verb, adjective], [chinese("天"), verb, adjective, chinese("了")])


_WEATHER: Mapping[Callable[[Sampler], Phrase], float] = {_raining: 4, _rains: 3, _cold: 6, _hour: 3, _day: 2, _getting: 1}


# --- Judgements -------------------------------------------------------------------------------------------------------
def it_is_to(s: Sampler) -> Phrase:
    """Draw a judgement with an infinitive.

    it is important to sleep -> 睡觉 很 重要; it is easy for me to swim -> 对 我 来说 游泳 很 容易; swimming is fun.
    """
    word = s.pair(JUDGED)
    action = verb_phrases.action_predicate(s)
    negated = s.chance(0.15) and word.source[0].text not in ("wrong", "better")
    degree = NOTHING if negated or len(word.target) > 1 else draw_degree(s)
    alone = negated or len(word.target) > 1  # 更 好, 不 对
    before = degree if alone else degree_or_hen(degree)
    be, no = pair(s.choice(("is", "is", "was"))), (pair("not", "不") if negated else NOTHING)
    judgement = [no, before, word]
    if s.chance(0.25):
        source, target = infinitive(action, "ing")
        return join([*source, be, no, degree, word], [*target, *judgement])
    source, target = infinitive(action)
    it, to = english("it"), english("to")
    if s.chance(0.2):
        for_, whom = pair("for", "对"), someone(s)
        pieces = [it, be, no, degree, word, for_, whom.phrase, to, *source]
        return join(pieces, [for_, whom.phrase, aligned(for_, "来说"), *target, *judgement])
    return join([it, be, no, degree, word, to, *source], [*target, *judgement])
