"""Facts about persons: ages, names, birthplaces, possessions, where they have been."""

from viz_core.training.corpus import closed_class, nouns, subjects
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import make_clause, statement
from viz_core.training.corpus.closed_class import HAVE, WAS
from viz_core.training.corpus.noun_modifiers import genitive
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, english, join, pair
from viz_core.training.corpus.tenses import draw_be
from viz_core.training.corpus.time_expressions import approximately, draw_time

BIRTHPLACES = "country city 'village' 'town' 'hospital' 'farm'"
NEVER = {"never": "从来 没有", "already": "已经", "also": "也"}


def age(s: Sampler) -> Phrase:
    """Draw an age: I am twenty-two years old -> 我 二十二 岁; she is five."""
    forms: nouns.Forms = {nouns.the: 2, nouns.owned: 4}
    who = subjects.pronoun(s) if s.chance(0.6) else nouns.noun_phrase(s, lex.nouns("person pet"), forms)
    number = join([approximately(s) if s.chance(0.12) else NOTHING, s.pair(closed_class.AGES)])
    be = draw_be(s, who, 0.2)
    if s.chance(0.3):
        return join([who.phrase, be, number], [who.phrase, number, aligned(number, "岁")])
    return join([who.phrase, be, number, pair("years old", "岁")])


def introduction(s: Sampler) -> Phrase:
    """Draw an introduction: my name is John -> 我 的 名字 是 John; this is my friend Anna; I am John."""
    kind = s.weighted({"name": 4, "this": 4, "am": 2})
    who = nouns.proper_name(s)
    if kind == "name":
        owner, rest = s.pair(closed_class.OWNERS), [pair("name", "名字"), pair("is", "是"), who.phrase]
        return join([owner, *rest], [owner, aligned(owner, "的"), *rest])
    if kind == "am":
        return join([pair("I", "我"), pair("am", "是"), who.phrase])
    friend = _one_of_mine(s, "person")
    return join([pair("this", "这"), pair("is", "是"), friend.phrase, who.phrase if s.chance(0.5) else NOTHING])


def born(s: Sampler) -> Phrase:
    """Draw a place or time of birth: I was born in a small village -> 我 出生 在 一 个 小 村庄."""
    who = subjects.subject(s, lex.nouns("person"))
    be, verb = pair(WAS[who.person]), pair("born", "出生")
    if s.chance(0.35):
        time = draw_time(s, "past")
        return join([who.phrase, be, verb, time], [who.phrase, time, verb])
    forms = (nouns.a, nouns.the, nouns.bare, nouns.this)
    where = nouns.proper_name(s) if s.chance(0.2) else nouns.short_phrase(s, BIRTHPLACES, forms)
    return join([who.phrase, be, verb, pair("in", "在"), where.phrase])


def apposition(s: Sampler) -> Phrase:
    """Draw a subject with a name in apposition: my friend Tom lives here -> 我 的 朋友 Tom 住 在 这里."""
    who, name = _one_of_mine(s, "family job 'friend'"), nouns.proper_name(s)
    return statement(make_clause(s, who.with_phrase(join([who.phrase, name.phrase]))))


def _one_of_mine(s: Sampler, wanted: str) -> NounPhrase:
    """Draw a possessive in the singular, as one name follows: my friend, not my friends."""
    while True:
        who = nouns.noun_phrase(s, lex.nouns(wanted), {nouns.owned: 1})
        if who.person == "third":
            return who


def possessive_predicate(s: Sampler) -> Phrase:
    """Draw a possessive predicate: the red car is mine -> 红 车 是 我 的; this dog is my sister's -> 这 只 狗 是 我 姐姐 的."""
    what = nouns.noun_phrase(s, lex.nouns("thing vehicle clothes reading pet building"), {nouns.the: 3, nouns.this: 4})
    be = pair("are" if what.person == "plural" else "is", "是")
    no = pair("not", "不") if s.chance(0.25) else NOTHING
    if s.chance(0.3):
        owner = nouns.proper_name(s) if s.chance(0.4) else nouns.short_phrase(s, "person", (nouns.the, nouns.owned))
        whose = join([owner.phrase, genitive(owner)])
    else:
        mine = s.pair(closed_class.OWN)
        whose = join([mine], [mine, aligned(mine, "的")])
    return join([what.phrase, be, no, whose], [what.phrase, no, be, whose])


def been_to(s: Sampler) -> Phrase:
    """Draw a visited place.

    I have never been to Beijing -> 我 从来 没有 去 过 北京; have you ever been to China -> 你 去 过 中国 吗.
    """
    who = subjects.pronoun(s)
    where = (
        nouns.proper_name(s) if s.chance(0.4) else nouns.short_phrase(s, s.choice(("country city", "place building")), (nouns.the,))
    )
    have, been = pair(HAVE[who.person]), pair("been to", "去 过")
    if s.chance(0.5):
        ever = english("ever") if s.chance(0.7) else NOTHING
        return join([have, who.phrase, ever, been, where.phrase], [who.phrase, been, where.phrase, aligned(have, "吗")])
    never = s.pair(NEVER) if s.chance(0.7) else NOTHING
    return join([who.phrase, have, never, been, where.phrase])
