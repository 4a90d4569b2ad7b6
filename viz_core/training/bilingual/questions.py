"""Questions: yes or no, what, who, where, why; and the same inside another clause (I know where he lives)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from viz_core.training.bilingual import inside, nouns, small_words, subjects, verb_phrases
from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.clauses import Clause, group, in_chinese, inverted, make, plain_clause, statement, subordinate
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, english, join, more, pair, texts
from viz_core.training.bilingual.predicates import (
    BE,
    Predicate,
    by_person,
    infinitive,
    is_whole,
    takes_plain_object,
    without_particle,
)
from viz_core.training.bilingual.tenses import is_or_was
from viz_core.training.bilingual.times import when

ADVERBIAL = {"why": "为什么", "how": "怎么", "when": "什么 时候", "what time": "几点"}
ASKED = {"how many": ("how many", "多少"), "whose": ("whose", "谁 的"), "what kind": ("what kind of", "什么样 的")}
HOW = {
    "old": "大", "tall": "高", "long": "长", "far": "远", "big": "大", "heavy": "重", "expensive": "贵", "wide": "宽",
}
MEASURED = {"old": "person animal", "tall": "person", "far": "place building city"}
"""Of what one asks how old it is; of the others, things."""
PERSONAL = {
    "name": "名字", "job": "工作", "phone number": "电话号码", "problem": "问题", "address": "地址", "plan": "计划",
}
"""What one asks of a person: what is your name."""


# --- Yes or no, and adverbs -------------------------------------------------------------------------------------------
def yes_no(c: Clause) -> Phrase:
    """did the dog chase the cat -> 狗 追 了 猫 吗."""
    g = group(c, question=True)
    target = in_chinese(replace(c, time_first=False), g, question=True)
    return join(inverted(c, g), [*target, more(g.aux, "吗")])


def adverbial_question(c: Clause, word: str, *, embedded: bool = False) -> Phrase:
    """why are you laughing -> 你 为什么 在 笑; embedded: (I know) why you are laughing."""
    g = group(c, question=not embedded)
    wh = pair(word, ADVERBIAL[word])
    target = in_chinese(replace(c, time_first=False), g, asked=wh, question=True)
    return join((subordinate if embedded else inverted)(c, g, wh), target)


# --- Who and what -----------------------------------------------------------------------------------------------------
def asked_noun(s: Speaker, choices: Sequence[lex.Noun], *, whom: bool = False) -> tuple[Phrase, Phrase]:
    """What is asked for: the English words in front, and the Chinese ones in their place. whom: it is an object."""
    noun = s.one(choices)
    kind = s.often({"what": 60, "which": 15, "how many": 12, "whose": 4, "what kind": 4})
    if kind == "what" or not noun.plural:
        wh = pair(s.one(("who", "whom", "who")) if whom else "who", "谁") if noun.is_a("person") else pair("what", "什么")
        return Phrase(wh.source), Phrase((), wh.target)
    head = pair(noun.plural if kind == "how many" else noun.english, noun.chinese)
    between = NOTHING
    if kind == "which":
        wh, between = pair(s.one(("which", "what")), "哪"), nouns.classifier(noun, head)
    else:
        wh = pair(*ASKED[kind])
    return join([wh, head], []), join([], [wh, between, head])


def object_question(s: Speaker, *, embedded: bool = False) -> Phrase:
    """what did you eat yesterday -> 你 昨天 吃 了 什么; embedded: (I know) what you ate."""
    verb = s.one(lex.verbs_where(takes_plain_object, "t"))
    front, gap = asked_noun(s, lex.objects_of(verb), whom=True)
    who = subjects.subject(s, lex.subjects_of(verb))
    p = Predicate(verb, verb.chinese, rest=[gap], about=(verb.base, "what"))
    return fronted(make(s, who, p=p, positive=s.chance(0.9)), front, embedded)


def fronted(c: Clause, front: Phrase, embedded: bool) -> Phrase:
    """A clause whose question word leads it in English and stays in its place in Chinese."""
    c.time_first = False
    g = group(c, question=not embedded)
    return join((subordinate if embedded else inverted)(c, g, front), in_chinese(c, g, question=True))


def subject_question(s: Speaker) -> Phrase:
    """who broke the glass -> 谁 打破 了 玻璃杯; how many people work here."""
    verb = s.one((*lex.verbs("i"), *lex.verbs("t"), *lex.verbs("loc"), *lex.verbs("give")))
    front, zh = asked_noun(s, lex.subjects_of(verb))
    many = texts(front).startswith("how many")
    who = NounPhrase(Phrase(front.source, zh.target), zh, person="plural" if many else "third", name="who")
    c = make(s, who, p=verb_phrases.predicate(s, verb), positive=True)
    c.time_first = False
    return statement(c)


def place_question(s: Speaker, *, embedded: bool = False) -> Phrase:
    """where do you live -> 你 住 在 哪里; where is my key -> 我 的 钥匙 在 哪里."""
    where = pair("where", "哪里")
    front, gap = Phrase(where.source), Phrase((), where.target)
    if s.chance(0.35):
        who = subjects.subject(s, lex.nouns("any"))
        p = Predicate(BE, "在", rest=[gap], about=("where",))
        c = plain_clause(s, who, p=p, tense=s.one(("present", "present", "past")))
    elif s.chance(0.25):
        go, __ = without_particle(next(verb for verb in lex.verbs("place") if verb.base == "go to"))
        p = Predicate(go, "去", rest=[gap], about=("go", "where"))
        c = make(s, subjects.subject(s, lex.nouns("person")), p=p, positive=True)
    else:
        verb = s.one(lex.verbs("loc"))
        who = subjects.subject(s, lex.subjects_of(verb))
        c = make(s, who, p=verb_phrases.predicate(s, verb, where=([], [gap])), positive=True)
    return fronted(c, front, embedded)


# --- Inside another clause --------------------------------------------------------------------------------------------
def whether(s: Speaker) -> Phrase:
    """(ask) whether he comes -> 他 是否 来."""
    c = plain_clause(s)
    g = group(c)
    word = pair(s.one(("if", "whether")), "是否")
    return join(subordinate(c, g, word), in_chinese(c, g, asked=word, question=True))


def indirect_question(s: Speaker) -> Phrase:
    """(I know) what you ate, where he lives, why she is laughing, how to drive a car."""
    kind = s.often({"what": 30, "where": 20, "why": 15, "how": 8, "when": 12, "whether": 15, "who": 10})
    if kind == "what":
        return object_question(s, embedded=True)
    if kind == "where":
        return place_question(s, embedded=True)
    if kind == "whether":
        return whether(s)
    if kind == "who":
        return subject_question(s)
    if kind == "how" and s.chance(0.6):  # how to drive a car
        source, target = infinitive(verb_phrases.inner_predicate(s))
        how = pair("how to", "怎么")
        return join([how, *source], [how, *target])
    return adverbial_question(plain_clause(s), kind, embedded=True)


inside.clauses["question"] = indirect_question


# --- Set questions ----------------------------------------------------------------------------------------------------
def question(s: Speaker) -> Phrase:
    """A question of any kind."""
    kind = s.often({"yes": 40, "what": 22, "who": 8, "where": 12, "why": 8, "how": 4, "when": 6, "what time": 2, "special": 12})
    if kind == "yes":
        return yes_no(make(s))
    if kind == "what":
        return object_question(s)
    if kind == "who":
        return subject_question(s)
    if kind == "where":
        return place_question(s)
    if kind == "special":
        return s.often(SPECIAL)(s)
    c = make(s, positive=kind != "why")
    c.time, c.time_first = (NOTHING if kind in ("when", "what time") else c.time), False
    return adverbial_question(c, kind)


def _person_or_thing(s: Speaker, wanted: str) -> NounPhrase:
    if s.chance(0.3):
        return subjects.pronoun(s, wanted.startswith("person"))
    return nouns.noun_phrase(
        s, lex.nouns(wanted), {nouns.the: 3, nouns.this: 4, nouns.owned: 3, nouns.possessive: 1, nouns.located: 1}
    )


def who_is(s: Speaker) -> Phrase:
    """who is she -> 她 是 谁."""
    return _equal(s, pair("who", "谁"), _person_or_thing(s, "person"), "是")


def what_is(s: Speaker) -> Phrase:
    """what is this -> 这 是 什么."""
    return _equal(s, pair("what", "什么"), _person_or_thing(s, "thing"), "是")


def how_is(s: Speaker) -> Phrase:
    """how is your mother -> 你 妈妈 怎么样."""
    return _equal(s, pair("how", "怎么样"), _person_or_thing(s, "person weather event"))


def _equal(s: Speaker, wh: Phrase, who: NounPhrase, is_: str = "") -> Phrase:
    be = is_or_was(s, who, chinese=is_)
    return join([wh, be, who.phrase], [who.phrase, be, wh])


def how_old(s: Speaker) -> Phrase:
    """how old are you -> 你 多 大; how far is the station -> 车站 多 远."""
    word, zh = s.one(list(HOW.items()))
    how, adjective = pair("how", "多"), pair(word, zh)
    noun = s.one(lex.nouns(MEASURED.get(word, "thing way building furniture")))
    if word in ("old", "tall") and s.chance(0.4):
        who = subjects.pronoun(s)
    else:
        who = nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.owned: 3, nouns.this: 1})
    be = is_or_was(s, who)
    return join([how, adjective, be, who.phrase], [who.phrase, be, how, adjective])


def how_much(s: Speaker) -> Phrase:
    """how much is the hat, how much does it cost -> 帽子 多少 钱."""
    what = nouns.noun_phrase(s, lex.nouns("thing food clothes fruit drink device vehicle toy"), {nouns.the: 3, nouns.this: 4})
    many = what.person == "plural"
    how = pair("how much", "多少 钱")
    if s.chance(0.5):
        return join([how, pair("are" if many else "is"), what.phrase], [what.phrase, how])
    return join([how, pair("do" if many else "does"), what.phrase, english("cost")], [what.phrase, how])


def what_noun(s: Speaker) -> Phrase:
    """what is your name -> 你 的 名字 是 什么."""
    text, zh = s.one(list(PERSONAL.items()))
    wh, be, owner, noun = pair("what", "什么"), pair("is", "是"), s.word(small_words.OWNERS), pair(text, zh)
    return join([wh, be, owner, noun], [owner, more(owner, "的"), noun, be, wh])


def ever(s: Speaker) -> Phrase:
    """have you ever eaten it -> 你 吃 过 它 吗."""
    verb = s.one([v for v in lex.verbs_where(by_person, "t") if is_whole(v)])
    c = plain_clause(s, subjects.pronoun(s), p=verb_phrases.predicate(s, verb), tense="perfect")
    g = group(c, question=True)
    g.after = more(g.aux, "过")
    source = [g.aux, c.subject.phrase, english("ever"), g.main, *c.predicate.tail]
    return join(source, [*in_chinese(c, g, question=True), more(g.aux, "吗")])


def which_of_two(s: Speaker) -> Phrase:
    """do you like tea or coffee -> 你 喜欢 茶 还是 咖啡."""
    who = subjects.subject(s, lex.nouns("person"))
    choices = lex.nouns("food drink animal colour music sport")
    one, two = (nouns.noun_phrase(s, choices, {nouns.bare: 3, nouns.the: 2}) for __ in range(2))
    rest = [who.phrase, pair("like", "喜欢"), one.phrase, pair("or", "还是"), two.phrase]
    return join([english(small_words.DO[who.person]), *rest], rest)


def is_there(s: Speaker) -> Phrase:
    """is there a shop near the station -> 车站 附近 有 一 家 商店 吗."""
    what = nouns.noun_phrase(s, lex.nouns("thing person animal building food furniture"), {nouns.a: 5, nouns.some: 1})
    source, target = nouns.place(s)
    be, there = pair("are" if what.person == "plural" else "is"), pair("there", "有")
    return join([be, there, what.phrase, *source], [*target, there, what.phrase, more(be, "吗")])


def doing_what(s: Speaker) -> Phrase:
    """what are you doing -> 你 在 做 什么."""
    who = subjects.pronoun(s)
    past = s.one((False, True))
    wh, doing = pair("what", "什么"), pair("doing", "做")
    be = pair((small_words.WAS if past else small_words.BE)[who.person], "在")
    time = when(s, "past") if past and s.chance(0.5) else NOTHING
    return join([wh, be, who.phrase, doing, time], [who.phrase, time, be, doing, wh])


SPECIAL: Mapping[Callable[[Speaker], Phrase], float] = {
    who_is: 3, what_is: 3, how_old: 4, how_much: 2, how_is: 2, what_noun: 3, ever: 3, which_of_two: 2, is_there: 3, doing_what: 2,
}
