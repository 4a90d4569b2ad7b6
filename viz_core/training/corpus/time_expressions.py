"""Time expressions: yesterday, at seven o'clock, next monday, in july, two years ago, for an hour."""

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

from viz_core.training.corpus import closed_class
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.phrases import NOTHING, Phrase, Sampler, aligned, english, join, pair

TIMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "past": (
        "yesterday", "the day before yesterday", "last night", "last week", "last month", "last year", "this morning",
        "a long time ago", "yesterday morning", "yesterday afternoon", "yesterday evening", "last summer", "last winter",
        "two days ago", "two years ago", "today", "last weekend", "one day",
        "the next day", "that day", "the other day", "that night",
    ),
    "present": (
        "every day", "every morning", "every week", "every year", "these days", "in the morning", "in the evening", "at night",
        "in summer", "in winter", "in spring", "in autumn", "every evening", "at the weekend", "every night", "now",
        "in the afternoon", "late at night", "early in the morning",
    ),
    "going on": ("now", "right now", "at the moment", "today"),
    "future": (
        "tomorrow", "tonight", "soon", "next week", "next month", "next year", "the day after tomorrow", "this evening", "today",
        "tomorrow morning", "tomorrow evening", "this weekend", "in the future", "one day", "later", "this afternoon",
        "next summer",
    ),
    "perfect": ("recently", "today", "so far"),
})
"""The time words of each tense."""
STATE_TIMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "past": ("yesterday", "last week", "last year", "this morning", "today", "last night"),
    "present": ("today", "now", "these days", "today", "now"),
    "future": ("tomorrow", "soon", "next year", "tonight", "one day", "next week"),
})
"""The time words of states: no hours, no seasons."""
TIMES_OF_TENSE = {
    "went on": "past", "past perfect": "past", "going to": "future", "can": "future", "should": "future", "must": "future",
    "have to": "present", "had to": "past", "might": "future", "may": "future", "could": "past",
}
ADVERBS = {adverb.english: adverb.chinese for adverb in lex.ADVERBS if adverb.kind in ("time", "frequency")}
WEEKDAYS = {noun.english: noun.chinese for noun in lex.NOUNS if noun.is_a("weekday")}
MONTHS = {noun.english: noun.chinese for noun in lex.NOUNS if noun.is_a("month")}
WHICH_WEEKDAY = {"next": "下个", "last": "上个", "every": "每个", "this": "这个"}
SPANS = {"minute": "分钟", "hour": "个 小时", "day": "天", "week": "个 星期", "month": "个 月", "year": "年"}
LONG_SPANS = {"a long time": "很 长 时间", "a while": "一会儿", "half an hour": "半 个 小时", "many years": "很多 年"}


def draw_time(s: Sampler, tense: str, *, lasting: bool = False) -> Phrase:
    """Draw a time that fits the tense: yesterday 昨天, at seven o'clock 七 点, on monday 星期一. lasting: whether it is a state."""
    time = TIMES_OF_TENSE.get(tense, tense)
    if lasting and time in STATE_TIMES:
        word = s.choice(STATE_TIMES[time])
        return pair(word, ADVERBS[word])
    kind = s.weighted({"word": 70, "clock": 12, "weekday": 9, "month": 3, "ago": 6})
    if kind == "clock" and tense != "going on":
        return clock(s, "at")
    if kind == "weekday" and tense != "going on":
        day = s.pair(WEEKDAYS)
        which = s.weighted({"on": 6, "next": 2, "last": 2, "every": 1, "this": 1})
        if which == "on":  # "on mondays" for a habit
            often = time == "present" and s.chance(0.5)
            return join([english("on"), pair(f"{day.source[0].text}s", day.target[0][0]) if often else day])
        if (which == "last") == (time == "past"):
            return join([pair(which, WHICH_WEEKDAY[which]), day])
    if kind == "month":
        return join([english("in"), s.pair(MONTHS)])
    if kind == "ago" and time == "past":
        span = duration(s, roughly=False)
        while span.source[0].text == "a" and span.source[-1].text in ("time", "while"):  # a long time ago is 很久以前
            span = duration(s, roughly=False)
        return join([span, pair("ago", "前")])
    known = [word for word in TIMES.get(time, TIMES["present"]) if word in ADVERBS]
    word = s.choice(known)
    return pair(word, ADVERBS[word])


def clock(s: Sampler, word: str = "") -> Phrase:
    """Draw a time of day: seven o'clock -> 七 点; half past seven -> 七 点 半."""
    hour = s.pair(closed_class.CLOCK)
    at = english(word)
    if s.chance(0.25):
        half = pair("half past", "半")
        return join([at, half, hour], [hour, aligned(hour, "点"), half])
    if s.chance(0.1):
        quarter = pair("quarter past", "一刻")
        return join([at, quarter, hour], [hour, aligned(hour, "点"), quarter])
    o_clock = pair("o'clock", "点") if s.chance(0.6) else NOTHING
    return join([at, hour, o_clock], [hour, o_clock or aligned(hour, "点")])


def duration(s: Sampler, *, roughly: bool = True) -> Phrase:
    """Draw a duration.

    three years -> 三 年; an hour -> 一 个 小时; a long time -> 很 长 时间; roughly: more than three years -> 超过 三 年.
    """
    if s.chance(0.15):
        return s.pair(LONG_SPANS)
    unit, zh = s.choice(list(SPANS.items()))
    if s.chance(0.06):
        return join([pair(s.choice(("a few", "several")), "几"), pair(f"{unit}s", zh)])
    if s.chance(0.05):
        first, second = s.choice(list(pairwise(closed_class.FEW_NUMBERS.items())))
        return join([pair(*first), english("or"), pair(*second), pair(f"{unit}s", zh)])
    about = approximately(s) if roughly and s.chance(0.15) else NOTHING
    if s.chance(0.3):
        return join([about, pair("an" if unit == "hour" else "a", "一"), pair(unit, zh)])
    number = s.pair(closed_class.AGES if s.chance(0.15) else closed_class.FEW_NUMBERS)
    return join([about, number, pair(f"{unit}s", zh)])


def approximately(s: Sampler, *, counted: bool = False) -> Phrase:
    """Draw an approximation: more than -> 超过; `counted` gives "fewer than" and not "less than"."""
    words, zh = s.weighted(closed_class.ROUGHLY)
    return pair(closed_class.FEWER.get(words, words) if counted else words, zh)
