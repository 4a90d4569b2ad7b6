"""Ways of saying things that are common in everyday talk and follow no general pattern: ages, names, purposes, lists."""

from collections.abc import Callable

from viz_core.training.bilingual import clauses, nouns, predicates
from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.clauses import make, statement
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, chinese, english, join, more, pair
from viz_core.training.bilingual.predicates import Predicate

COMMA = pair(",", "，")


def clause_of(s: Speaker, who: NounPhrase, p: Predicate, tense: str = "", **more_facts: bool) -> Phrase:
    return statement(make(s, who, p=p, tense=tense, **more_facts))


# --- Oneself and others -----------------------------------------------------------------------------------------------
AGES = {**nouns.NUMBERS, "two": "两"}


def age(s: Speaker) -> Phrase:
    """I am twenty-two years old -> 我 二十二 岁; she is five."""
    who = clauses.pronoun(s, True) if s.chance(0.6) else nouns.noun_phrase(s, lex.nouns("person pet"), {nouns.the: 2, nouns.owned: 4})
    number = s.word({en: zh for en, zh in AGES.items() if "hundred" not in en and "thousand" not in en and "million" not in en})
    be = pair((clauses.WAS if s.chance(0.2) else clauses.BE)[who.person])
    if s.chance(0.3):
        return join([who.phrase, be, number], [who.phrase, number, more(number, "岁")])
    old = pair("years old", "岁")
    return join([who.phrase, be, number, old], [who.phrase, number, old])


def called(s: Speaker) -> Phrase:
    """my name is John -> 我 的 名字 是 John; this is my friend Anna; I am John."""
    kind = s.often({"name": 4, "this": 4, "am": 2})
    who = nouns.name(s)
    if kind == "name":
        owner, name, be = s.word(nouns.OWNERS), pair("name", "名字"), pair("is", "是")
        return join([owner, name, be, who.phrase], [owner, more(owner, "的"), name, be, who.phrase])
    be = pair("am" if kind == "am" else "is", "是")
    if kind == "am":
        return join([pair("I", "我"), be, who.phrase])
    this, friend = pair("this", "这"), nouns.noun_phrase(s, lex.nouns("person"), {nouns.owned: 1})
    return join([this, be, friend.phrase, *([who.phrase] if s.chance(0.5) else [])])


def born(s: Speaker) -> Phrase:
    """I was born in a small village -> 我 出生 在 一 个 小 村庄; he comes from China."""
    who = clauses.subject(s, lex.nouns("person"))
    be, verb = pair(clauses.WAS[who.person]), pair("born", "出生")
    if s.chance(0.35):
        year = clauses.when(s, "past")
        return join([who.phrase, be, verb, year], [who.phrase, year, verb])
    where = nouns.name(s) if s.chance(0.2) else nouns.inner(s, "country city 'village' 'town' 'hospital' 'farm'", (nouns.a, nouns.the, nouns.bare, nouns.this))
    in_ = pair("in", "在")
    return join([who.phrase, be, verb, in_, where.phrase])


def apposition(s: Speaker) -> Phrase:
    """my friend Tom lives here -> 我 的 朋友 Tom 住 在 这里."""
    who, name = nouns.noun_phrase(s, lex.nouns("family job 'friend'"), {nouns.owned: 1}), nouns.name(s)
    both = who.with_phrase(join([who.phrase, name.phrase]))
    return statement(make(s, both))


def owns(s: Speaker) -> Phrase:
    """the red car is mine -> 红 车 是 我 的; this is my sister's."""
    what = nouns.noun_phrase(s, lex.nouns("thing vehicle clothes reading pet building"), {nouns.the: 3, nouns.this: 4})
    many = what.person == "plural"
    be = pair("are" if many else "is", "是")
    no = pair("not", "不") if s.chance(0.25) else NOTHING
    if s.chance(0.3):
        owner = nouns.name(s) if s.chance(0.4) else nouns.inner(s, "person", (nouns.the, nouns.owned))
        of = pair("'s", "的")
        return join([what.phrase, be, no, owner.phrase, of], [what.phrase, no, be, owner.phrase, of])
    mine = s.word(nouns.OWN)
    return join([what.phrase, be, no, mine], [what.phrase, no, be, mine, more(mine, "的")])


def been_to(s: Speaker) -> Phrase:
    """I have never been to Beijing -> 我 从来 没有 去 过 北京; have you ever been to China."""
    who = clauses.pronoun(s, True)
    where = nouns.name(s) if s.chance(0.3) else nouns.inner(s, "country city place", (nouns.bare, nouns.the))
    have, been = pair(clauses.HAVE[who.person]), pair("been to", "去 过")
    if s.chance(0.5):
        ever = english("ever") if s.chance(0.7) else NOTHING
        return join([have, who.phrase, ever, been, where.phrase], [who.phrase, have, been, where.phrase, more(have, "吗")])
    never = s.word({"never": "从来 没有", "already": "已经", "also": "也"}) if s.chance(0.7) else NOTHING
    return join([who.phrase, have, never, been, where.phrase], [who.phrase, never, been, where.phrase])


# --- Purposes, means, and what is missing -----------------------------------------------------------------------------
def purpose(s: Speaker) -> Phrase:
    """he went to the shop to buy milk -> 他 去 商店 买 牛奶; I came here to help you."""
    base = s.one(("go to", "go to", "come to"))
    verb = next(v for v in lex.verbs("place") if v.base == base)
    p = predicates.predicate(s, verb)
    source, target = predicates.infinitive(predicates.inner_predicate(s))
    to = english("to")
    p.tail += [to, *source]
    p.rest += target
    p.le = False
    return clause_of(s, clauses.subject(s, lex.nouns("person")), p)


def without(s: Speaker) -> Phrase:
    """he left without his coat -> 他 没 带 他 的 外套 离开 了; because of the rain; instead of tea."""
    kind = s.often({"because of": 4, "like": 3, "about": 2, "from to": 3, "along": 2, "through": 2, "until": 1, "without": 2})
    c = make(s, plain=True)
    if c.predicate.verb.frame not in ("i", "t", "place", "loc") or c.predicate.is_be:
        return statement(c)
    if kind in ("like", "without"):
        word = pair(kind, "像" if kind == "like" else "没有")
        what = nouns.inner(s, "animal person" if kind == "like" else "thing clothes money person", (nouns.a, nouns.owned) if kind == "like" else (nouns.owned, nouns.a))
        after = [more(word, "一样")] if kind == "like" else []
        c.predicate.tail += [word, what.phrase]
        c.predicate.lead = [word, what.phrase, *after, *c.predicate.lead]
    elif kind == "because of":
        word, what = pair("because of", "因为"), nouns.inner(s, "weather illness event idea", (nouns.the, nouns.owned, nouns.this))
        c.predicate.tail += [word, what.phrase]
        c.middle = join([], [word, what.phrase])
    elif kind == "from to":
        a, b = clauses.clock(s), clauses.clock(s)
        if s.chance(0.5):
            a, b = s.word(clauses.WEEKDAYS), s.word(clauses.WEEKDAYS)
        from_, to = pair("from", "从"), pair("to", "到")
        c.time, c.time_first = join([from_, a, to, b]), False
    else:
        word = pair(kind, {"along": "沿着", "through": "穿过", "about": "", "until": "直到"}[kind])
        if kind in ("along", "through"):
            what = nouns.inner(s, "way 'river' 'forest' 'park'", (nouns.the, nouns.this))
            c.predicate.tail += [word, what.phrase]
            c.predicate.lead = [word, what.phrase, *c.predicate.lead]
    return statement(c)


def able(s: Speaker) -> Phrase:
    """she is able to swim -> 她 能 游泳; I was going to call you; he is about to leave; I am ready to go."""
    text, zh = s.one((("able to", "能"), ("ready to", "准备好"), ("happy to", "很 高兴"), ("afraid to", "不 敢"), ("about to", "马上 要"), ("glad to", "很 高兴"),
                      ("sorry to", "很 抱歉"), ("sure to", "一定 会"), ("allowed to", "可以"), ("supposed to", "应该")))
    who = clauses.subject(s, lex.nouns("person"))
    be, word = pair((clauses.WAS if s.chance(0.25) else clauses.BE)[who.person]), pair(text, zh)
    no = pair("not", "不") if text in ("able to", "ready to", "allowed to", "supposed to") and s.chance(0.25) else NOTHING
    source, target = predicates.infinitive(predicates.inner_predicate(s, who))
    if no and text == "ready to":
        no = Phrase(no.source, (("没有", no.source),))
    return join([who.phrase, be, no, word, *source], [who.phrase, no, word, *target])


def sure(s: Speaker) -> Phrase:
    """I am sure that he will come -> 我 肯定 他 会 来; I am afraid that; it is true that; it seems that."""
    inside = clauses.that_clause(s)
    that = english("that") if s.chance(0.6) else NOTHING
    if s.chance(0.35):
        text, zh = s.one((("it is true", "确实"), ("it seems", "似乎"), ("it is possible", "可能"), ("it is clear", "很 清楚"), ("it is good", "很 好"),
                          ("it is a pity", "很 遗憾"), ("it's strange", "很 奇怪"), ("it is important", "重要 的 是")))
        return join([pair(text, zh), that, inside])
    who = clauses.pronoun(s, True)
    text, zh = s.one((("sure", "肯定"), ("afraid", "恐怕"), ("glad", "很 高兴"), ("happy", "很 高兴"), ("sorry", "很 抱歉"), ("surprised", "很 惊讶"),
                      ("proud", "很 骄傲"), ("worried", "担心"), ("certain", "肯定")))
    be, word = pair(clauses.BE[who.person]), pair(text, zh)
    no = pair("not", "不") if text in ("sure", "certain") and s.chance(0.3) else NOTHING
    return join([who.phrase, be, no, word, that, inside], [who.phrase, no, word, inside])


def so_that(s: Speaker) -> Phrase:
    """the bus was so full that we could not get on -> 公交车 太 满 了 我们 不 能 上 去."""
    adjective = s.one([a for a in lex.adjectives("shi le verb of nopred ren") if a.comparative])
    who = clauses.subject(s, lex.nouns_of(adjective))
    be, so, word, that = pair((clauses.WAS if s.chance(0.5) else clauses.BE)[who.person]), pair("so", "太"), pair(adjective.english, adjective.chinese), pair("that", "了")
    inside = statement(make(s, tense=s.one(("could", "past", "can", "present"))))
    return join([who.phrase, be, so, word, that, inside], [who.phrase, so, word, that, inside])


# --- Lists and choices ------------------------------------------------------------------------------------------------
def listed(s: Speaker) -> Phrase:
    """apples, pears and bananas -> 苹果 、 梨 和 香蕉, as a subject or an object; small, dark and cold -> 又 小 又 黑 又 冷."""
    if s.chance(0.4):
        return _both(s)
    wanted = s.one(("fruit", "animal", "food", "clothes", "person", "vegetable", "thing", "country", "furniture", "drink"))
    form = s.one((nouns.bare, nouns.the, nouns.a, nouns.owned, nouns.counted))
    parts = [nouns.inner(s, wanted, (form,)).phrase for __ in range(s.one((3, 3, 4)))]
    comma = [pair(",", "、") for __ in parts[2:]]
    and_ = pair("and", "和") if s.chance(0.85) else pair("or", "或者")
    pieces = [parts[0], *(x for two in zip(comma, parts[1:-1], strict=True) for x in two), and_, parts[-1]]
    whole = join(pieces)
    if s.chance(0.2):
        return whole
    if s.chance(0.3):
        who = NounPhrase(whole, whole, person="plural", pronoun="they", name=wanted)
        return clause_of(s, who, predicates.adjective_predicate(s, s.one(lex.nouns(wanted))), plain=True)
    verb = s.one([v for v in lex.verbs_where(_takes, "t") if wanted in v.objects.split()] or lex.verbs_where(_takes, "t"))
    p = Predicate(verb, verb.chinese, [whole], rest=[whole], about=(verb.base, wanted))
    return clause_of(s, clauses.subject(s, lex.subjects_of(verb)), p)


def _takes(verb: lex.Verb) -> bool:
    return "~" not in verb.chinese and "sep" not in verb.flags and predicates.by_person(verb)


def _both(s: Speaker) -> Phrase:
    """the room was small and cold -> 房间 又 小 又 冷."""
    noun = s.one(lex.nouns("person animal room building thing weather place food"))
    choices = [a for a in lex.adjectives_of(noun) if a.flags.isdisjoint({"shi", "le", "verb", "nopred", "ren"})]
    if len(choices) < 3:
        return age(s)
    who = nouns.noun_phrase(s, (noun,), {nouns.the: 4, nouns.owned: 2, nouns.this: 1})
    be = pair((clauses.WAS if s.chance(0.4) else clauses.BE)[who.person])
    words = [pair(a.english, a.chinese) for a in s.rng.sample(choices, s.one((2, 2, 3)))]
    source: list[Phrase] = [words[0]]
    for word in words[1:-1]:
        source += [pair(","), word]
    source += [pair("and"), words[-1]]
    return join([who.phrase, be, *source], [who.phrase, *(x for word in words for x in (more(word, "又"), word))])


def either(s: Speaker) -> Phrase:
    """either tea or coffee; neither he nor she knows it -> 他 和 她 都 不 知道; both A and B; he neither smokes nor drinks."""
    kind = s.often({"neither subject": 3, "neither verb": 3, "both": 3, "either": 3})
    if kind in ("neither subject", "both"):
        one, two = (clauses.subject_noun(s, lex.nouns("person"), lex.nouns("person")[:1]) for __ in range(2))
        first, and_ = pair("neither" if kind != "both" else "both"), pair("nor" if kind != "both" else "and", "和")
        who = NounPhrase(join([first, one.phrase, and_, two.phrase]), one.head, None, "plural", "they", name=one.name, all=True)
        c = make(s, who, tense=s.one(("present", "past", "can")), positive=True, plain=True)
        if kind == "both":
            return statement(c)
        g = clauses.group(c)
        no = "不" if c.tense != "past" or c.predicate.is_state or c.predicate.is_be else "没有"
        c.predicate.very = NOTHING
        g.after = NOTHING
        g.before = join([], [more(first, no), g.before])
        return join([who.phrase, g.aux, g.extra, g.main, *c.predicate.tail], clauses._chinese(c, g, question=True))
    who = clauses.pronoun(s, True)
    one, two = (predicates.inner_predicate(s) for __ in range(2))
    if one.is_be or two.is_be:
        return age(s)
    if kind == "neither verb":
        form = "third" if who.person == "third" else "base"
        a, b = pair("neither", "不"), pair("nor", "也 不")
        (s1, t1), (s2, t2) = predicates.infinitive(one, form), predicates.infinitive(two, form)
        return join([who.phrase, a, *s1, b, *s2], [who.phrase, a, *t1, b, *t2])
    can = s.word({"can": "可以", "will": "会", "must": "必须"})
    a, b = english("either"), pair("or", "或者")
    (s1, t1), (s2, t2) = predicates.infinitive(one), predicates.infinitive(two)
    return join([who.phrase, can, a, *s1, b, *s2], [who.phrase, can, *t1, b, *t2])


def one_of(s: Speaker) -> Phrase:
    """London is one of the biggest cities -> ... 是 最 大 的 城市 之一; this is the best cake that I have ever eaten."""
    adjective = s.one([a for a in lex.adjectives("shi nopred noattr le of") if a.superlative])
    noun = s.one([n for n in lex.nouns_of(adjective) if n.plural and not n.only_plural] or lex.nouns("thing"))
    best = nouns._degree(adjective, adjective.superlative, "most", "最")
    who = nouns.name(s) if s.chance(0.4) else clauses.pronoun(s, noun.is_a("person")) if s.chance(0.4) else nouns.noun_phrase(s, (noun,), {nouns.this: 3, nouns.owned: 2})
    be = pair((clauses.WAS if s.chance(0.2) else clauses.BE)[who.person], "是")
    where, place = (english("in"), nouns.inner(s, "country city 'world' 'class' 'family'", (nouns.the, nouns.owned, nouns.bare))) if s.chance(0.4) else (NOTHING, None)
    inside = [place.phrase, chinese("")] if place else []
    if s.chance(0.5):
        one, head = pair("one of", "之一"), pair(noun.plural, noun.chinese)
        return join([who.phrase, be, one, english("the"), best, head, where, *inside], [who.phrase, be, *inside, best, more(best, "的"), head, one])
    head = pair(noun.english, noun.chinese)
    verbs = [v for v in predicates.verbs_of_object(noun) if predicates.by_person(v)]
    if s.chance(0.6) and verbs:
        verb, me = s.one(verbs), clauses.pronoun(s, True)
        that, have, ever = (english("that") if s.chance(0.5) else NOTHING), english(clauses.HAVE[me.person]), pair("ever", "过")
        main = pair(verb.participle, verb.chinese)
        return join([who.phrase, be, english("the"), best, head, that, me.phrase, have, ever, main],
                    [who.phrase, be, me.phrase, main, ever, chinese("的"), best, more(best, "的"), head])
    return join([who.phrase, be, english("the"), best, head, where, *inside], [who.phrase, be, *inside, best, more(best, "的"), head])


# --- How well, how long, how much -------------------------------------------------------------------------------------
MANNERS = {"well": "好", "fast": "快", "slowly": "慢", "early": "早", "late": "晚", "quickly": "快", "badly": "差", "loudly": "大声", "beautifully": "好听",
           "far": "远", "high": "高", "a lot": "多"}
BETTER = {"faster": "快", "better": "好", "worse": "差", "longer": "久", "earlier": "早", "later": "晚", "harder": "努力", "more slowly": "慢", "higher": "高"}


def how_well(s: Speaker) -> Phrase:
    """she runs fast -> 她 跑 得 很 快; he runs faster than his brother -> 他 比 他 哥哥 跑 得 快."""
    verb = s.one([v for v in lex.verbs_where(predicates.by_person, "i") if not v.flags & {"state", "res"} and len(v.chinese) <= 2])
    said = verb.chinese[:1] if "vo" in verb.flags else verb.chinese  # 游泳 -> 游 得 快
    who = clauses.subject(s, lex.nouns("person"))
    compared = s.chance(0.4)
    word = s.word(BETTER if compared else MANNERS)
    degree = predicates.degree_of(s) if not compared else NOTHING
    p = Predicate(verb, said, [degree, word], rest=[more(word, "得"), degree or (NOTHING if compared else chinese("很")), word], le=False, about=(verb.base, "how"))
    if compared and s.chance(0.75):
        than, other = pair("than", "比"), predicates.someone(s)
        p.tail += [than, other.phrase]
        p.lead = [than, other.phrase]
    elif compared:
        p.rest = [more(word, "得"), more(word, "更"), word]
    return clause_of(s, who, p, tense=s.one(("present", "present", "past", "can", "should")))


def how_long(s: Speaker) -> Phrase:
    """how long have you lived here -> 你 在 这里 住 了 多久; I have studied English for six years -> 我 学 了 六 年 英语."""
    verb = s.one([v for v in lex.verbs_where(predicates.by_person, "i") if v.goes_on])
    said = verb.chinese[:1] if "vo" in verb.flags and len(verb.chinese) == 2 else verb.chinese
    who = clauses.pronoun(s, True) if s.chance(0.6) else clauses.subject(s, lex.nouns("person"))
    if s.chance(0.4):
        how = pair("how long", "多久")
        tense = s.one(("perfect", "past", "future"))
        p = Predicate(verb, said, rest=[Phrase((), how.target)], about=(verb.base, "how long"))
        c = make(s, who, p=p, tense=tense, positive=True, plain=True)
        g = clauses.group(c, question=True)
        return join([Phrase(how.source), g.aux, who.phrase, g.extra, g.main], clauses._chinese(c, g, question=True))
    for_, span = english("for"), predicates.duration(s)
    languages = lex.nouns("language subject")
    if s.chance(0.35):
        what, base = s.one(languages), s.one(("study", "learn"))
        thing = pair(what.english, what.chinese)
        verb = next(v for v in lex.VERBS if v.base == base and v.frame == "t")
        p = Predicate(verb, "学", [thing, for_, span], rest=[span, thing], about=(base, what.english))
    else:
        p = Predicate(verb, said, [for_, span], rest=[span], about=(verb.base, "for"))
    return clause_of(s, who, p, tense=s.one(("perfect", "past", "future", "perfect")), plain=True)


def costs(s: Speaker) -> Phrase:
    """the ticket costs ten dollars -> 票 要 十 美元; I bought it for ten dollars -> 我 花 十 美元 买 了 ...; it takes two hours."""
    money = s.one(lex.nouns("'dollar' 'pound' 'euro' 'yuan'"))
    amount = join([s.word(nouns.NUMBERS), pair(money.plural or money.english, money.chinese)])
    if s.chance(0.5):
        what = nouns.noun_phrase(s, lex.nouns("thing food clothes 'ticket' 'room' vehicle"), {nouns.the: 3, nouns.this: 3, nouns.owned: 1})
        verb = pair(("cost" if what.person == "plural" else "costs") if s.chance(0.7) else "cost", "要")
        return join([what.phrase, verb, amount])
    who, what = clauses.pronoun(s, True), nouns.noun_phrase(s, lex.nouns("thing food clothes"), {nouns.a: 3, nouns.this: 2, nouns.counted: 2})
    bought, for_ = pair("bought", "买"), pair("for", "花")
    return join([who.phrase, bought, what.phrase, for_, amount], [who.phrase, for_, amount, bought, more(bought, "了"), what.phrase])


def no_longer(s: Speaker) -> Phrase:
    """he no longer works here -> 他 不再 在 这里 工作; he does not smoke anymore; I do not know anyone; I have not seen anything."""
    c = make(s, positive=True, plain=True, tense=s.one(("present", "present", "past", "can")))
    if s.chance(0.4):
        c.middle = pair("no longer", "不再")
        c.predicate.very = NOTHING
        if c.tense == "past" and not c.predicate.is_be:
            c.predicate.le = False
        return statement(c)
    if s.chance(0.5):
        c.negated = True
        c.predicate.tail = [*c.predicate.tail, english("at all")] if s.chance(0.3) else c.predicate.tail
        return statement(c)
    verb = s.one(lex.verbs_where(_takes, "t"))
    what = s.word(nouns.ANYTHING if not any(n.is_a("person") for n in lex.objects_of(verb)[:3]) else nouns.ANYBODY)
    p = Predicate(verb, verb.chinese, [what], rest=[what], about=(verb.base, "any"))
    who = clauses.subject(s, lex.subjects_of(verb))
    built = make(s, who, p=p, tense=s.one(("present", "past", "perfect", "can")), positive=True, plain=True)
    built.negated = not who.negative
    return clauses.yes_no(built) if s.chance(0.25) and not built.negated else statement(built)


def cleft(s: Speaker) -> Phrase:
    """what I want is to sleep -> 我 想要 的 是 睡觉; all you need is love -> 你 需要 的 一切 是 爱."""
    verb = s.one(lex.verbs_where(_takes, "t"))
    who = clauses.pronoun(s, True)
    p = Predicate(verb, verb.chinese, le=False, about=(verb.base, "what"))
    c = make(s, who, p=p, tense=s.one(("present", "past")), positive=True, plain=True)
    g = clauses.group(c)
    said = [who.phrase, g.aux, g.extra, g.main]
    what = s.one((pair("what", "的"), pair("all", "的 一切"), pair("everything", "的 一切"), pair("the only thing", "的 唯一 的 东西")))
    that = english("that") if what.source[0].text in ("all", "everything", "the") and s.chance(0.4) else NOTHING
    be, thing = pair("is", "是"), nouns.noun_phrase(s, lex.objects_of(verb) or lex.nouns("thing"), {nouns.a: 2, nouns.bare: 3, nouns.owned: 2, nouns.the: 1})
    return join([what, that, *said, be, thing.phrase], [*clauses._chinese(c, g), what, be, thing.phrase])


def says(s: Speaker) -> Phrase:
    """"I am hungry," said the boy -> “ 我 饿 ， ” 男孩 说."""
    who, inside = clauses.subject(s, lex.nouns("person")), statement(make(s, plain=True))
    verb = s.word({"said": "说", "asked": "问", "answered": "回答", "shouted": "大喊"})
    opened, closed, comma = pair('"', "“"), pair('"', "”"), pair(",", "，")
    if s.chance(0.5):
        order = [verb, who.phrase] if who.name not in nouns.SUBJECTS else [who.phrase, verb]
        return join([opened, inside, comma, closed, *order], [opened, inside, comma, closed, who.phrase, verb])
    colon = pair(",", "：")
    return join([who.phrase, verb, colon, opened, inside, closed])


def tagged(s: Speaker) -> Phrase:
    """he is tired, isn't he -> 他 很 累 ， 不 是 吗."""
    who = clauses.pronoun(s, True)
    p = predicates.adjective_predicate(s, s.one(lex.nouns("person"))) if s.chance(0.7) else predicates.place_predicate(s)
    c = make(s, who, p=p, tense="present", positive=True, plain=True)
    tag = pair(f"{clauses.BE[who.person]} not {who.name}", "不 是 吗")
    return join([statement(c), COMMA, tag])


FRAMES: dict[Callable[[Speaker], Phrase], float] = {
    age: 1, called: 1.2, born: 0.7, apposition: 0.8, owns: 1.2, been_to: 1, purpose: 3, without: 3, able: 1.5, sure: 2, so_that: 1, listed: 2.5, either: 1,
    one_of: 1.5, how_well: 2, how_long: 1.5, costs: 0.8, no_longer: 1.5, cleft: 0.7, says: 0.7, tagged: 0.3,
}
"""The weight of each."""
