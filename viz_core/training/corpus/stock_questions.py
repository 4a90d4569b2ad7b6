"""Stock questions: how old are you; how much is it; what colour is the car; how often do you swim; what is the matter."""

from collections.abc import Callable, Mapping

from viz_core.training.corpus import builders, closed_class, nouns, subjects, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import chinese_pieces, inverted_english, plain_clause, statement, verb_group
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, chinese, english, join, pair
from viz_core.training.corpus.predicates import Predicate, by_person, infinitive, is_contiguous, object_pronoun
from viz_core.training.corpus.questions import front_question_word, object_question, question_clause, yes_no
from viz_core.training.corpus.tenses import draw_be
from viz_core.training.corpus.time_expressions import draw_time

HOW = {
    "old": "大", "tall": "高", "long": "长", "far": "远", "big": "大", "heavy": "重", "expensive": "贵", "wide": "宽", "high": "高",
    "deep": "深",
}
MEASURED = {
    "old": "person pet building", "tall": "person building", "far": "place building city", "long": "'river' 'road' 'bridge' 'film'",
    "big": "room animal 'house' 'city' 'garden'", "heavy": "'box' 'bag' 'suitcase' 'stone'", "wide": "'river' 'road' 'street'",
    "high": "'mountain' 'wall' 'building'", "deep": "'lake' 'river' 'sea'", "expensive": "clothes device vehicle",
}
"""The noun classes whose size, age, ... is asked for."""
PERSONAL = {
    "name": "名字", "job": "工作", "phone number": "电话号码", "problem": "问题", "address": "地址", "plan": "计划",
    "hobby": "爱好", "dream": "梦想", "email": "电子邮件",
}
"""The things asked of a person: what is your name."""
TOGETHER = ("go to", "come to", "play", "talk", "go", "come", "dance", "eat", "work", "travel", "study", "argue", "fight", "go out")
ASKED_ALONE = {
    "what time is it": "现在 几点", "what time is it now": "现在 几点", "what day is it today": "今天 星期 几",
    "what day is today": "今天 星期 几", "what is the date today": "今天 几 号", "what is the matter": "怎么 了",
    "what is wrong": "怎么 了", "what happened": "发生 了 什么", "what happened yesterday": "昨天 发生 了 什么",
    "what is happening": "在 发生 什么", "how is the weather today": "今天 天气 怎么样",
    "what is the weather like today": "今天 天气 怎么样", "how is the weather": "天气 怎么样",
    "what was the weather like yesterday": "昨天 天气 怎么样", "who is there": "谁 在 那里", "how are you": "你 好 吗",
    "how are you today": "你 今天 好 吗", "who are you": "你 是 谁", "is it raining": "在 下雨 吗", "why not": "为什么 不",
    "how was your day": "你 今天 过 得 怎么样", "how was your weekend": "你 周末 过 得 怎么样", "are you sure": "你 确定 吗",
    "are you ready": "你 准备好 了 吗", "are you ok": "你 没事 吗", "is everything ok": "一切 都 好 吗",
    "can I help you": "我 能 帮 你 吗", "may I come in": "我 可以 进来 吗", "how much": "多少 钱", "how many": "多少",
}
WRONG = {"what is wrong with": "怎么 了", "what is the matter with": "怎么 了"}
OFTEN_DONE = (
    "go swimming", "go shopping", "go for a walk", "swim", "run", "cook", "travel", "play", "watch", "read", "eat", "drink",
    "visit", "call", "wash", "clean", "see", "meet", "go to", "listen to", "write", "use", "talk to", "exercise",
)
"""Habitual activities."""


def _person_or_thing(s: Sampler, wanted: str) -> NounPhrase:
    """Draw a pronoun or a definite noun phrase of these classes."""
    if s.chance(0.3):
        return subjects.pronoun(s, wanted.startswith("person"))
    return nouns.noun_phrase(
        s, lex.nouns(wanted), {nouns.the: 3, nouns.this: 4, nouns.owned: 3, nouns.possessive: 1}
    )


def who_is(s: Sampler) -> Phrase:
    """Ask who somebody is: who is she -> 她 是 谁."""
    return _equal(s, pair("who", "谁"), _person_or_thing(s, "person"), "是")


def what_is(s: Sampler) -> Phrase:
    """Ask what something is: what is this -> 这 是 什么."""
    what = subjects.pronoun(s, being=False) if s.chance(0.7) else nouns.noun_phrase(s, lex.nouns("thing"), {nouns.this: 1})
    return _equal(s, pair("what", "什么"), what, "是")


def how_is(s: Sampler) -> Phrase:
    """Ask how somebody or something is: how is your mother -> 你 妈妈 怎么样."""
    who = _person_or_thing(s, "person weather event")
    while who.name in ("you", "I", "we"):  # "how are you" is a fixed question: 你 好 吗
        who = _person_or_thing(s, "person")
    return _equal(s, pair("how", "怎么样"), who)


def _equal(s: Sampler, wh: Phrase, who: NounPhrase, is_: str = "") -> Phrase:
    """Build a question with "to be" and a question word."""
    be = draw_be(s, who, chinese=is_)
    return join([wh, be, who.phrase], [who.phrase, be, wh])


def how_old(s: Sampler) -> Phrase:
    """Ask for an age or a measure: how old are you -> 你 多 大; how far is the station -> 车站 多 远."""
    word = s.choice(("old", "old", "tall", *HOW))
    how, adjective = pair("how", "多"), pair(word, HOW[word])
    if word in ("old", "tall") and s.chance(0.5):
        who = subjects.pronoun(s)
    else:
        who = nouns.noun_phrase(s, lex.nouns(MEASURED[word]), {nouns.the: 3, nouns.owned: 3, nouns.this: 1})
    be = draw_be(s, who, 0.05)
    s.combinations.append(("how", word, who.name))
    return join([how, adjective, be, who.phrase], [who.phrase, be, how, adjective])


def how_much(s: Sampler) -> Phrase:
    """Ask for a price: how much is the hat, how much does it cost -> 帽子 多少 钱."""
    what = nouns.noun_phrase(s, lex.nouns("thing food clothes fruit drink device vehicle toy"), {nouns.the: 3, nouns.this: 4})
    if s.chance(0.3):
        what = s.choice((subjects.pronoun_phrase("this"), subjects.pronoun(s, being=False)))
    many = what.person == "plural"
    s.combinations.append(("how much", what.name))
    how = pair("how much", "多少 钱")
    if s.chance(0.6):
        return join([how, pair("are" if many else "is"), what.phrase], [what.phrase, how])
    return join([how, pair("do" if many else "does"), what.phrase, english("cost")], [what.phrase, how])


def how_often(s: Sampler) -> Phrase:
    """Ask for a frequency: how often do you play football -> 你 多久 踢 一 次 足球; how often do you swim -> 你 多久 游泳 一 次."""
    verb = s.entry([v for v in (*lex.verbs("i"), *lex.verbs("t"), *lex.verbs("place")) if v.base in OFTEN_DONE and by_person(v)])
    often, who = pair("how often", "多久"), subjects.subject(s, lex.nouns("person"))
    p = verb_phrases.predicate(s, verb, who)
    p.rest = [aligned(often, "一 次"), *p.rest]
    c = plain_clause(s, who, p=p, tense="present")
    g = verb_group(c, question=True)
    return join(inverted_english(c, g, often), chinese_pieces(c, g, question_word=often, question=True))


def what_colour(s: Sampler) -> Phrase:
    """Ask for a colour: what colour is your car -> 你 的 车 是 什么 颜色."""
    forms: nouns.Forms = {nouns.the: 3, nouns.owned: 5, nouns.this: 1}
    what = nouns.noun_phrase(s, lex.nouns("clothes vehicle thing animal 'flower' 'hair' 'eye'"), forms)
    wh, be = pair(s.choice(("what colour", "what color")), "什么 颜色"), draw_be(s, what, 0.05, "是")
    return join([wh, be, what.phrase], [what.phrase, be, wh])


def whose(s: Sampler) -> Phrase:
    """Ask for an owner: whose book is this -> 这 是 谁 的 书; whose is this umbrella -> 这 把 雨伞 是 谁 的."""
    noun = s.entry([n for n in lex.nouns("thing pet clothes") if n.plural and not n.only_plural])
    wh = pair("whose", "谁 的")
    if s.chance(0.7):
        what, be, head = subjects.pronoun_phrase("this"), pair("is", "是"), pair(noun.english, noun.chinese)
        return join([wh, head, be, what.phrase], [what.phrase, be, wh, head])
    thing = nouns.noun_phrase(s, (noun,), {nouns.this: 3, nouns.the: 1})
    be = draw_be(s, thing, 0, "是")
    return join([wh, be, thing.phrase], [thing.phrase, be, wh])


def wrong_with(s: Sampler) -> Phrase:
    """Ask for a problem: what's wrong with your leg -> 你 的 腿 怎么 了."""
    forms: nouns.Forms = {nouns.owned: 4, nouns.the: 1}
    what = object_pronoun(s) if s.chance(0.5) else nouns.noun_phrase(s, lex.nouns("person body device pet"), forms)
    wh = s.pair(WRONG)
    return join([wh, what.phrase], [what.phrase, wh])


def what_job(s: Sampler) -> Phrase:
    """Ask for a job or an activity.

    what does your father do -> 你 的 爸爸 做 什么 工作; what do you do on sunday -> 你 星期天 做 什么.
    """
    who = subjects.subject(s, lex.nouns("family"))
    what, do, main = pair("what", "什么"), pair(closed_class.DO[who.person]), pair("do", "做")
    if s.chance(0.5):
        time = draw_time(s, "present")
        return join([what, do, who.phrase, main, time], [who.phrase, time, main, what])
    living = pair("for a living", "工作") if s.chance(0.4) else NOTHING
    return join([what, do, who.phrase, main, living], [who.phrase, main, what, living or aligned(main, "工作")])


def think_of(s: Sampler) -> Phrase:
    """Ask for an opinion: what do you think of the film -> 你 觉得 电影 怎么样."""
    who = subjects.pronoun(s)
    forms: nouns.Forms = {nouns.the: 3, nouns.owned: 3, nouns.this: 3}
    what = nouns.noun_phrase(s, lex.nouns("show food city idea clothes person"), forms)
    wh, do = pair("what", "怎么样"), english(closed_class.DO[who.person])
    s.combinations.append(("think of", what.name))
    think = pair(s.choice(("think of", "think about")), "觉得")
    return join([wh, do, who.phrase, think, what.phrase], [who.phrase, think, what.phrase, wh])


def would_you_like(s: Sampler) -> Phrase:
    """Draw an offer: would you like some tea -> 你 想要 一些 茶 吗; would you like to dance -> 你 想 跳舞 吗."""
    would, you = pair("would"), pair("you", "你")
    if s.chance(0.5):
        forms: nouns.Forms = {nouns.a: 3, nouns.some: 3, nouns.measured: 3}
        what = subjects.something(s) if s.chance(0.25) else nouns.noun_phrase(s, lex.nouns("food drink fruit"), forms)
        like = pair("like", "想要")
        return join([would, you, like, what.phrase], [you, like, what.phrase, aligned(would, "吗")])
    s.actor = "you"
    source, target = infinitive(verb_phrases.action_predicate(s))
    like = pair("like to", "想")
    return join([would, you, like, *source], [you, like, *target, aligned(would, "吗")])


def how_long_does_it_take(s: Sampler) -> Phrase:
    """Ask how long something takes: how long does it take (you) to get home -> (你) 到家 要 多久."""
    how, take = pair("how long", "多久"), pair("does it take", "要")
    whom = object_pronoun(s).phrase if s.chance(0.4) else NOTHING
    source, target = infinitive(verb_phrases.action_predicate(s))
    return join([how, take, whom, english("to"), *source], [whom, *target, take, how])


def how_many_are_there(s: Sampler) -> Phrase:
    """Ask for a number: how many chairs are there in the room -> 房间 里 有 多少 椅子."""
    noun = s.entry([n for n in lex.nouns("person thing animal food building furniture") if n.plural and not n.only_plural])
    how, head = pair("how many", "多少"), pair(noun.plural, noun.chinese)
    there = pair(s.choice(("are there", "are there", "were there")), "有")
    s.combinations.append(("how many", noun.english))
    source, target = nouns.place(s, nouns.located_kind(noun))
    return join([how, head, there, *source], [*target, there, how, head])


def with_whom(s: Sampler) -> Phrase:
    """Ask for a companion.

    who do you live with -> 你 和 谁 一起 住; who did you go to the party with -> 你 和 谁 一起 去 聚会 的.
    """
    verb = s.entry([v for v in (*lex.verbs("i"), *lex.verbs("place")) if v.base in TOGETHER and by_person(v)])
    who = subjects.subject(s, lex.nouns("person"))
    wh, with_ = pair("who", "谁"), pair("with", "和")
    s.depth = 0
    p = verb_phrases.predicate(s, verb, who)
    p.tail, p.lead = [*p.tail, with_], [with_, Phrase((), wh.target), aligned(with_, "一起"), *p.lead]
    c = question_clause(s, who, p, tense=s.choice(("present", "past", "future", "going on")))
    happened, c.predicate.takes_le = c.tense == "past", False
    asked = front_question_word(c, Phrase(wh.source), False)
    return join([asked], [asked, chinese("的")]) if happened else asked


def interested_in_what(s: Sampler) -> Phrase:
    """Ask for the object of an adjective: what are you interested in -> 你 对 什么 感兴趣; what is he afraid of -> 他 怕 什么."""
    adjective = s.entry([a for a in lex.ADJECTIVES if "of" in a.flags and {"person", "being"} & set(a.nouns.split())])
    who, wh = subjects.subject(s, lex.nouns("person")), pair("what", "什么")
    be, phrase = draw_be(s, who), pair(adjective.english)
    left, right = (part.strip() for part in adjective.chinese.split("~"))
    return join([wh, be, who.phrase, phrase], [who.phrase, aligned(phrase, left), wh, aligned(phrase, right)])


def what_is_there(s: Sampler) -> Phrase:
    """Ask what or who is at a place: what is in the box -> 盒子 里 有 什么; who is in the kitchen -> 谁 在 厨房 里."""
    if s.chance(0.5):
        source, target = nouns.place(s, "thing")
        what = pair("what is", "有 什么")
        return join([what, *source], [*target, what])
    source, target = nouns.place(s, "person")
    who, be = pair("who", "谁"), pair("is", "在")
    return join([who, be, *source], [who, be, *target])


def can_i_have(s: Sampler) -> Phrase:
    """Draw a request: can I have a glass of water (please) -> 我 能 要 一 杯 水 吗."""
    can, me, have = s.pair({"can": "能", "could": "能", "may": "可以"}), pair("I", "我"), pair("have", "要")
    what = nouns.noun_phrase(s, lex.nouns("food drink fruit"), {nouns.a: 3, nouns.some: 2, nouns.measured: 4, nouns.counted: 1})
    please = english("please") if s.chance(0.3) else NOTHING
    return join([can, me, have, what.phrase, please], [me, can, have, what.phrase, aligned(can, "吗")])


def whole_question(s: Sampler) -> Phrase:
    """Draw a question of fixed words: what time is it -> 现在 几点."""
    return s.pair(ASKED_ALONE)


def _go(s: Sampler, tense: str) -> Phrase:
    """Ask for a deed or a goal: what will you do -> 你 会 做 什么; where did he go -> 他 去 了 哪里."""
    word, zh, base, said = s.choice((("what", "什么", "do", "做"), ("where", "哪里", "go", "去")))
    verb = next(v for v in lex.VERBS if v.base == base)
    wh = pair(word, zh)
    p = Predicate(verb, said, rest=[Phrase((), wh.target)], about=(base, word))
    return front_question_word(plain_clause(s, subjects.pronoun(s), p=p, tense=tense), Phrase(wh.source), False)


def under_a_condition(s: Sampler) -> Phrase:
    """Draw a question with a subordinate clause.

    where will you go after you finish school -> 你 完成 学校 以后 你 会 去 哪里; what will you do if it rains.
    """
    word, lead, tail = s.choice((("if", "如果", ""), ("when", "", "的 时候"), ("before", "", "之前"), ("after", "", "以后")))
    s.depth, past = 0, s.chance(0.4) and word != "if"
    side = plain_clause(s, tense="past" if past else "present")
    side.predicate.takes_le = False
    tense = "past" if past else "future"
    asks = (
        yes_no(question_clause(s, tense=tense))
        if s.chance(0.4)
        else object_question(s, tense=tense)
        if s.chance(0.6)
        else _go(s, tense)
    )
    conjunction, clause = pair(word), statement(side)
    return join([asks, conjunction, clause], [aligned(conjunction, lead), clause, aligned(conjunction, tail), asks])


def what_noun(s: Sampler) -> Phrase:
    """Ask for a name, a job, ...: what is your name -> 你 的 名字 是 什么."""
    text, zh = s.choice(list(PERSONAL.items()))
    wh, be, noun = pair("what", "多少" if text == "phone number" else "什么"), pair("is", "是"), pair(text, zh)
    owner = pair(*s.choice((("your", "你"), ("your", "你"), ("his", "他"), ("her", "她"), ("my", "我"))))
    return join([wh, be, owner, noun], [owner, aligned(owner, "的"), noun, be, wh])


def ever(s: Sampler) -> Phrase:
    """Ask for an experience: have you ever eaten it -> 你 吃 过 它 吗."""
    verb = s.entry([v for v in lex.verbs_where(by_person, "t") if is_contiguous(v)])
    c = plain_clause(s, subjects.pronoun(s), p=verb_phrases.predicate(s, verb), tense="perfect")
    g = verb_group(c, question=True)
    g.after = NOTHING if verb.chinese.endswith("过") else aligned(g.aux, "过")
    source = [g.aux, c.subject.phrase, english("ever"), g.main, *c.predicate.tail]
    return join(source, [*chinese_pieces(c, g, question=True), aligned(g.aux, "吗")])


def which_of_two(s: Sampler) -> Phrase:
    """Draw an alternative question: do you like tea or coffee -> 你 喜欢 茶 还是 咖啡."""
    who = subjects.subject(s, lex.nouns("person"))
    choices = lex.nouns("food drink animal colour music sport")
    one, two = (nouns.noun_phrase(s, choices, {nouns.bare: 3, nouns.the: 2}) for __ in range(2))
    rest = [who.phrase, pair("like", "喜欢"), one.phrase, pair("or", "还是"), two.phrase]
    return join([english(closed_class.DO[who.person]), *rest], rest)


def is_there(s: Sampler) -> Phrase:
    """Ask whether there is something: is there a shop near the station -> 车站 附近 有 一 家 商店 吗."""
    what = nouns.noun_phrase(s, lex.nouns("thing person animal building food furniture"), {nouns.a: 5, nouns.some: 1})
    source, target = nouns.place(s, nouns.located_kind(what.noun))
    be, there = pair("are" if what.person == "plural" else "is"), pair("there", "有")
    return join([be, there, what.phrase, *source], [*target, there, what.phrase, aligned(be, "吗")])


def doing_what(s: Sampler) -> Phrase:
    """Ask for a current activity: what are you doing -> 你 在 做 什么."""
    who = subjects.pronoun(s)
    past = s.choice((False, True))
    wh, doing = pair("what", "什么"), pair("doing", "做")
    be = pair((closed_class.WAS if past else closed_class.BE)[who.person], "在")
    time = draw_time(s, "past") if past and s.chance(0.5) else NOTHING
    return join([wh, be, who.phrase, doing, time], [who.phrase, time, be, doing, wh])


_SET: Mapping[Callable[[Sampler], Phrase], float] = {
    who_is: 3, what_is: 3, how_old: 4, how_much: 2.5, how_is: 2, what_noun: 4, ever: 3, which_of_two: 2, is_there: 3, doing_what: 3,
    how_often: 2.5, what_colour: 2, whose: 1.5, wrong_with: 1, what_job: 2, think_of: 1.5, would_you_like: 2.5,
    how_long_does_it_take: 1.5, how_many_are_there: 2, whole_question: 2, with_whom: 1.5,
    interested_in_what: 1, what_is_there: 1.5, can_i_have: 1.2, under_a_condition: 2.5,
}


def stock_question(s: Sampler) -> Phrase:
    """Draw a stock question."""
    s.is_question = True
    return s.weighted(_SET)(s)


builders.sentences["set question"] = stock_question
