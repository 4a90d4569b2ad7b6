"""Whole sentences: statements, questions, orders, sentences of several clauses, and what people say without a verb."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from viz_core.training.bilingual import clauses, constructions, nouns, predicates
from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.clauses import Clause, make, statement, yes_no
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, Word, chinese, english, join, more, pair


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence in both languages.

    alignment: for each target word the source positions that it comes from, none for a word that only Chinese needs.
    referent: (target position of a noun that a pronoun became, source position of that noun) or None.
    combinations: its content words that go together, such as (dog, bite, man), which decide the held-out split.
    """

    source: list[str]
    target: list[str]
    alignment: list[tuple[int, ...]]
    referent: tuple[int, int] | None = None
    combinations: tuple[tuple[str, ...], ...] = ()


COMMA = pair(",", "，")


def _by_person_to(verb: lex.Verb) -> bool:
    return predicates.by_person(verb) and "~" not in verb.chinese


def _on_purpose(verb: lex.Verb) -> bool:
    return predicates.by_person(verb) and "state" not in verb.flags


def _can_be_done_to(verb: lex.Verb) -> bool:
    return "~" not in verb.chinese and "state" not in verb.flags and verb.base.split()[0] not in ("have", "get", "do", "want", "be")


# --- One clause -------------------------------------------------------------------------------------------------------
def plain(s: Speaker) -> Phrase:
    return statement(make(s))


def question(s: Speaker) -> Phrase:
    kind = s.often({"yes": 40, "what": 22, "who": 8, "where": 12, "why": 8, "how": 4, "when": 6, "what time": 2, "special": 12})
    if kind == "yes":
        return yes_no(make(s))
    if kind == "what":
        return clauses.object_question(s)
    if kind == "who":
        return clauses.subject_question(s)
    if kind == "where":
        return clauses.place_question(s)
    if kind == "special":
        return special_question(s)
    c = make(s, positive=kind != "why")
    c.time, c.time_first = (NOTHING if kind in ("when", "what time") else c.time), False
    return clauses.adverbial_question(c, kind)


def special_question(s: Speaker) -> Phrase:
    """who is she, what is this, how old are you, how much is the hat, what colour is it, how are you, what is your name."""
    kind = s.often({"who": 3, "what": 3, "how adjective": 4, "how much": 2, "how is": 2, "what noun": 3, "ever": 3, "or": 2, "there": 3, "doing": 2})
    if kind == "who":
        wh, who = pair("who", "谁"), _person_or_thing(s, "person")
        be = pair(_be(s, who), "是")
        return join([wh, be, who.phrase], [who.phrase, be, wh])
    if kind == "what":
        wh, what = pair("what", "什么"), _person_or_thing(s, "thing")
        be = pair(_be(s, what), "是")
        return join([wh, be, what.phrase], [what.phrase, be, wh])
    if kind == "how adjective":
        word, zh = s.one((("old", "大"), ("tall", "高"), ("long", "长"), ("far", "远"), ("big", "大"), ("heavy", "重"), ("expensive", "贵"), ("wide", "宽")))
        how, adjective = pair("how", "多"), pair(word, zh)
        noun = s.one(lex.nouns({"old": "person animal", "tall": "person", "far": "place building city"}.get(word, "thing way building furniture")))
        who = clauses.pronoun(s, True) if word in ("old", "tall") and s.chance(0.4) else nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.owned: 3, nouns.this: 1})
        be = pair(_be(s, who))
        return join([how, adjective, be, who.phrase], [who.phrase, be, how, adjective])
    if kind == "how much":
        what = nouns.noun_phrase(s, lex.nouns("thing food clothes fruit drink device vehicle toy"), {nouns.the: 3, nouns.this: 4})
        many = what.person == "plural"
        if s.chance(0.5):
            how, be = pair("how much", "多少 钱"), pair("are" if many else "is")
            return join([how, be, what.phrase], [what.phrase, be, how])
        how, do, cost = pair("how much", "多少 钱"), pair("do" if many else "does"), english("cost")
        return join([how, do, what.phrase, cost], [what.phrase, do, how])
    if kind == "how is":
        how, who = pair("how", "怎么样"), _person_or_thing(s, "person weather event")
        be = pair(_be(s, who))
        return join([how, be, who.phrase], [who.phrase, be, how])
    if kind == "what noun":
        text, zh = s.one((("name", "名字"), ("job", "工作"), ("phone number", "电话号码"), ("favourite colour", "最喜欢 的 颜色"),
                          ("favorite food", "最喜欢 的 食物"), ("problem", "问题"), ("address", "地址"), ("plan", "计划"), ("favourite sport", "最喜欢 的 运动")))
        wh, be, owner, noun = pair("what", "什么"), pair("is", "是"), s.word(nouns.OWNERS), pair(text, zh)
        return join([wh, be, owner, noun], [owner, more(owner, "的"), noun, be, wh])
    if kind == "ever":
        verb = s.one(lex.verbs_where(_by_person_to, "t"))
        c = make(s, clauses.pronoun(s, True), p=predicates.predicate(s, verb), tense="perfect", positive=True, plain=True)
        g = clauses.group(c, question=True)
        ever = more(g.aux, "过")
        g.after = ever
        return join([g.aux, c.subject.phrase, english("ever"), g.main, *c.predicate.tail],
                    [*clauses._chinese(c, g, question=True), more(g.aux, "吗")])
    if kind == "or":
        who = clauses.subject(s, lex.nouns("person"))
        one, two = (nouns.noun_phrase(s, lex.nouns("food drink animal colour music sport"), {nouns.bare: 3, nouns.the: 2}) for __ in range(2))
        do, like, or_ = pair(clauses.DO[who.person]), pair("like", "喜欢"), pair("or", "还是")
        return join([do, who.phrase, like, one.phrase, or_, two.phrase], [who.phrase, do, like, one.phrase, or_, two.phrase])
    if kind == "there":
        what, (source, target) = nouns.noun_phrase(s, lex.nouns("thing person animal building food furniture"), {nouns.a: 5, nouns.some: 1}), nouns.place(s)
        be = pair("are" if what.person == "plural" else "is")
        there = pair("there", "有")
        return join([be, there, what.phrase, *source], [*target, there, what.phrase, more(be, "吗")])
    who = clauses.pronoun(s, True)
    tense = s.one(("going on", "went on"))
    wh, doing = pair("what", "什么"), pair("doing", "做")
    be = pair((clauses.BE if tense == "going on" else clauses.WAS)[who.person], "在")
    time = clauses.when(s, "past") if tense == "went on" and s.chance(0.5) else NOTHING
    return join([wh, be, who.phrase, doing, time], [who.phrase, time, be, doing, wh])


def _person_or_thing(s: Speaker, wanted: str) -> NounPhrase:
    if s.chance(0.3):
        return clauses.pronoun(s, wanted.startswith("person"))
    return nouns.noun_phrase(s, lex.nouns(wanted), {nouns.the: 3, nouns.this: 4, nouns.owned: 3, nouns.possessive: 1, nouns.located: 1})


def _be(s: Speaker, who: NounPhrase, past: float = 0.15) -> str:
    """is or was, as the person asks."""
    return (clauses.WAS if s.chance(past) else clauses.BE)[who.person]


def order(s: Speaker) -> Phrase:
    """open the window; please wait for me; don't be late; let's go home; let me help you; never touch it."""
    p = _doable(s)
    kind = s.often({"do": 30, "please": 18, "not": 18, "let's": 12, "let me": 8, "never": 3, "polite": 8})
    source, target = predicates.infinitive(p)
    if p.is_be:
        target = [*p.lead, *p.rest]
    time = clauses.when(s, "future") if s.chance(0.15) else NOTHING
    if kind == "polite":  # can you open the window, please
        can = pair(s.one(("can", "could", "would", "will")), "能")
        you, ma = pair("you", "你"), more(can, "吗")
        if can.source[0].text in ("would", "will"):
            can = Phrase(can.source, (("能", can.source),))
        please = pair("please", "请") if s.chance(0.4) else NOTHING
        return join([can, you, please, *source, time], [please, you, time, can, *target, ma])
    if kind == "not":
        no = pair(s.one(("do not", "don't", "don't")), "不要")
        please = pair("please", "请") if s.chance(0.15) else NOTHING
        return join([please, no, *source, time], [please, time, no, *target])
    if kind == "never":
        no = pair("never", "永远 不要")
        return join([no, *source], [no, *target])
    if kind == "let's":
        lets = pair(s.one(("let's", "let us")), "我们")
        no = pair("not", "不要") if s.chance(0.1) else NOTHING
        return join([lets, no, *source, time], [lets, time, no, *target, more(lets, "吧")])
    if kind == "let me":
        let, whom = pair("let", "让"), s.word({"me": "我", "us": "我们", "him": "他", "her": "她", "them": "他们"})
        no = pair("don't", "不要") if s.chance(0.1) else NOTHING
        return join([no, let, whom, *source], [no, let, whom, *target])
    if kind == "please":
        please = pair("please", "请")
        if s.chance(0.3):
            return join([*source, time, please], [please, time, *target])
        return join([please, *source, time], [please, time, *target])
    return join([*source, time], [time, *target])


def _doable(s: Speaker) -> predicates.Predicate:
    """What a person can be told to do."""
    if s.chance(0.08):
        names = ("careful", "quiet", "happy", "kind", "nice", "patient", "brave", "honest", "polite", "afraid", "late", "angry", "sad", "stupid")
        adjective = s.one([a for a in lex.ADJECTIVES if a.english in names and "of" not in a.flags and ("person" in a.nouns or "being" in a.nouns)])
        word = pair(adjective.english, adjective.chinese)
        return predicates.Predicate(predicates.BE, "", [word], rest=[word], about=("be", adjective.english))
    frame = predicates.frame_of(s, {**predicates.SHORT, "to": 4, "make": 4, "tell": 3, "tellthat": 2, "wh": 1})
    verb = s.one(lex.verbs_where(_on_purpose, frame) or lex.verbs_where(_on_purpose, "i"))
    return predicates.predicate(s, verb)


def there_is(s: Speaker) -> Phrase:
    """there is a cat on the mat -> 垫子 上 有 一 只 猫; there were not many people there."""
    what = nouns.noun_phrase(s, lex.nouns("any") if s.chance(0.5) else lex.nouns("person animal thing food building furniture"),
                             {nouns.a: 5, nouns.counted: 3, nouns.some: 4, nouns.bare: 1, nouns.with_thing: 0.3})
    source, target = nouns.place(s) if s.chance(0.85) else ([], [])
    negated = s.chance(0.15)
    be = (clauses.WAS if s.chance(0.3) else clauses.BE)["plural" if what.person == "plural" else "third"]
    time = clauses.when(s, "past" if be in ("was", "were") else "present") if s.chance(0.12) else NOTHING
    if negated:
        what = nouns.noun_phrase(s, lex.nouns("thing food drink person"), {nouns.bare: 1})
        is_ = "were" if be in ("was", "were") else "are"
        be = ("was" if be in ("was", "were") else "is") if what.person != "plural" else is_
        there = pair(f"there {be}")
        no = pair(s.one(("no", "not any")), "没有")
        return join([there, no, what.phrase, *source, time], [time, *target, _joined(there, no), what.phrase])
    there = pair(f"there {be}", "有")
    return join([there, what.phrase, *source, time], [time, *target, there, what.phrase])


def _joined(first: Phrase, second: Phrase) -> Phrase:
    """The Chinese of the second, from the English of both."""
    return Phrase((), tuple((zh, (*first.source, *second.source)) for zh, __ in second.target))


WEATHER = {"raining": "下雨", "snowing": "下雪", "rain": "下雨", "snow": "下雪"}


def weather(s: Speaker) -> Phrase:
    """it is raining -> 在 下雨; it was cold yesterday -> 昨天 很 冷; it is monday; it is seven o'clock -> 现在 是 七 点."""
    kind = s.often({"raining": 4, "rain": 3, "adjective": 6, "clock": 3, "day": 2, "dark": 1})
    it = english("it")
    if kind == "raining":
        word = s.one(("raining", "snowing"))
        past = s.chance(0.3)
        be, verb = pair("was" if past else "is", "在"), pair(word, WEATHER[word])
        time = clauses.when(s, "past" if past else "going on") if s.chance(0.5) else NOTHING
        hard = pair(s.one(("hard", "heavily")), "得 很 大") if s.chance(0.1) else NOTHING
        return join([it, be, verb, hard, time], [time, be, verb, hard])
    if kind == "rain":
        word = s.one(("rain", "snow"))
        tense = s.one(("past", "future", "going to", "present", "might"))
        zh, verb = WEATHER[word], lex.Verb(word, f"{word}s", f"{word}ed", f"{word}ed", f"{word}ing", WEATHER[word], "i", "", "", frozenset())
        c = make(s, NounPhrase(it, it, name="it"), p=predicates.Predicate(verb, zh, about=("it", word)), tense=tense, plain=True)
        c.time = clauses.when(s, tense) if s.chance(0.6) else NOTHING
        if s.chance(0.2) and not c.negated:
            c.middle = s.word({"often": "经常", "sometimes": "有时", "always": "总是"}) if tense == "present" else NOTHING
        return statement(c)
    if kind == "adjective":
        adjective = s.one([a for a in lex.ADJECTIVES if a.english in ("cold", "hot", "warm", "cool", "windy", "cloudy", "sunny", "dark", "wet", "dry", "foggy", "late", "early")
                           and "of" not in a.flags])
        p = predicates.adjective_predicate(s, None, adjective)
        tense = s.one(("present", "present", "past", "future"))
        c = make(s, NounPhrase(it, it, name="it"), p=p, tense=tense, plain=True)
        c.time = clauses.when(s, tense) if s.chance(0.6) else NOTHING
        place = nouns.place(s) if s.chance(0.2) else ([], [])
        p.tail += place[0]
        c.subject = c.subject.with_phrase(join([it], [*place[1]]))
        return statement(c)
    if kind == "clock":
        be = pair("is", "现在 是")
        return join([it, be, clauses.clock(s)])
    if kind == "dark":
        verb, adjective = pair(s.one(("is getting", "gets", "is becoming")), "变"), s.word({"dark": "黑", "cold": "冷", "warm": "暖和", "late": "晚", "hot": "热"})
        return join([it, verb, adjective], [chinese("天"), verb, adjective, chinese("了")])
    today = s.word({"today": "今天", "tomorrow": "明天"})
    be, day = pair("is", "是"), s.word(clauses.WEEKDAYS | clauses.MONTHS)
    if s.chance(0.5):
        return join([today, be, day])
    return join([it, be, day, today], [today, be, day])


def passive(s: Speaker) -> Phrase:
    """the window was broken by the boy -> 窗户 被 男孩 打破 了; the bridge will be built -> 桥 会 被 建."""
    verb = s.one(lex.verbs_where(_can_be_done_to, "t"))
    what = nouns.noun_phrase(s, lex.objects_of(verb) or lex.nouns("thing"), {nouns.the: 6, nouns.owned: 4, nouns.this: 3, nouns.the_plural: 2, nouns.counted: 1, nouns.possessive: 1})
    if s.chance(0.2):
        what = clauses.pronoun(s, True)
    by = pair("by", "被")
    agent = clauses.subject_noun(s, lex.subjects_of(verb), [n for n in lex.subjects_of(verb)[:5] if n.is_a("person")]) if s.chance(0.5) else None
    s.combinations.append((verb.base, what.name))
    past = s.often({"past": 10, "perfect": 3, "future": 2, "present": 2, "must": 1})
    person = what.person
    aux = {"past": clauses.WAS[person], "perfect": f"{clauses.HAVE[person]} been", "future": "will be", "present": clauses.BE[person], "must": "must be"}[past]
    done = past in ("past", "perfect")
    negated = s.chance(0.12)
    first, *rest = aux.split()
    be, no, been = pair(first), (pair("not") if negated else NOTHING), english(" ".join(rest))
    main = pair(verb.participle, verb.chinese)
    time = clauses.when(s, "past" if past == "past" else "future" if past == "future" else "present") if s.chance(0.25) and past != "perfect" else NOTHING
    before = _from_words([be, no, been], {"future": "不 会" if negated else "会", "must": "不 能" if negated else "必须"}.get(past, "没有" if negated and done else "不" if negated else ""))
    le = more(be, "了") if done and not negated else NOTHING
    words = [be, no, been, main]
    bei = by if agent else more(be, "被")
    who = [agent.phrase] if agent else []
    return join([what.phrase, *words, *([by, *who] if agent else []), time], [what.phrase, time, before, bei, *who, main, le])


def _from_words(phrases: list[Phrase], zh: str) -> Phrase:
    words = tuple(word for phrase in phrases for word in phrase.source)
    return Phrase((), tuple((part, words) for part in zh.split()))


def it_is_to(s: Speaker) -> Phrase:
    """it is important to sleep -> 睡觉 很 重要; it is easy for me to swim -> 对 我 来说 游泳 很 容易; swimming is fun."""
    word = s.word({"important": "重要", "easy": "容易", "difficult": "难", "hard": "难", "dangerous": "危险", "nice": "不错", "good": "好", "fun": "有趣",
                   "expensive": "贵", "necessary": "必要", "interesting": "有趣", "boring": "无聊", "better": "更 好", "wrong": "不 对", "healthy": "健康"})
    inside = predicates.inner_predicate(s)
    degree = predicates.degree_of(s)
    negated = s.chance(0.15)
    very = degree if degree else NOTHING if negated or word.target[0][0] in ("更", "不") else chinese("很")
    be, no = pair(s.one(("is", "is", "was"))), (pair("not", "不") if negated else NOTHING)
    if s.chance(0.25):
        source, target = predicates.infinitive(inside, "ing")
        return join([*source, be, no, degree, word], [*target, no, very, word])
    source, target = predicates.infinitive(inside)
    it, to = english("it"), english("to")
    if s.chance(0.2):
        for_, whom = pair("for", "对"), predicates.someone(s)
        return join([it, be, no, degree, word, for_, whom.phrase, to, *source], [for_, whom.phrase, more(for_, "来说"), *target, no, very, word])
    return join([it, be, no, degree, word, to, *source], [*target, no, very, word])


def too_to(s: Speaker) -> Phrase:
    """he is too young to drive -> 他 太 小 不 能 开车; the box is too heavy for me -> 盒子 对 我 来说 太 重."""
    adjective = s.one([a for a in lex.adjectives("shi le verb of nopred ren") if a.comparative])
    who = clauses.subject(s, lex.nouns_of(adjective) or lex.nouns("person"))
    be, too, word = pair(_be(s, who, 0.3)), pair("too", "太"), pair(adjective.english, adjective.chinese)
    if s.chance(0.4):
        for_, whom = pair("for", "对"), predicates.someone(s)
        return join([who.phrase, be, too, word, for_, whom.phrase], [who.phrase, for_, whom.phrase, more(for_, "来说"), too, word])
    source, target = predicates.infinitive(predicates.inner_predicate(s))
    to = pair("to", "不 能")
    return join([who.phrase, be, too, word, to, *source], [who.phrase, too, word, to, *target])


# --- Several clauses --------------------------------------------------------------------------------------------------
JOINED = {"but": "但是", "and": "", "so": "所以", "because": "因为", "or": "或者", "until": "直到"}


def two_clauses(s: Speaker) -> Phrase:
    """he was tired but he did not sleep -> 他 很 累 但是 他 没有 睡觉."""
    word = s.often({"but": 9, "and": 7, "so": 6, "because": 10, "until": 1.5, "or": 0.7})
    first, second = make(s), make(s)
    if s.chance(0.35) and first.subject.noun is not None:
        second = echo(s, first)
    second.time_first = False
    comma = COMMA if s.chance(0.9 if word in ("but", "so") and s.chance(0.5) else 0.15) else NOTHING
    conjunction = pair(word, JOINED[word])
    pieces = [statement(first), comma, conjunction, statement(second)]
    return join(pieces)


def echo(s: Speaker, first: Clause) -> Clause:
    """A second clause about the subject of the first, which a pronoun names: the target repeats the noun if it is "it"."""
    return make(s, repeated(s, first.subject), plain=True)


def repeated(s: Speaker, noun: NounPhrase) -> NounPhrase:
    """he, she and they stay pronouns; "it" becomes the noun that it stands for."""
    if noun.noun is None:
        word = noun.phrase if noun.name in nouns.SUBJECTS else pair(noun.pronoun, nouns.SUBJECTS[noun.pronoun])
        copy = pair(" ".join(w.text for w in word.source), " ".join(z for z, __ in word.target))
        return replace(noun, phrase=copy, head=copy)
    if noun.noun.is_a("person") or noun.person == "plural" and noun.noun.is_a("animal", "pet", "bird"):
        word = pair(noun.pronoun, nouns.SUBJECTS[noun.pronoun])
        return replace(noun, phrase=word, head=word, all=False)
    it = Word("they" if noun.person == "plural" else "it")
    links = tuple((zh, (*words, it)) for zh, words in noun.head.target)
    s.referent = noun.head.source[0] if noun.head.source else None
    phrase = Phrase((it,), links)
    return replace(noun, phrase=phrase, head=phrase, all=False)


CONDITIONS = {"if": ("如果", ""), "when": ("", "的 时候"), "while": ("", "的 时候"), "before": ("", "之前"), "after": ("", "以后"),
              "although": ("虽然", ""), "since": ("自从", "以后"), "as soon as": ("", "就"), "because": ("因为", ""), "unless": ("除非", "")}


def conditional(s: Speaker) -> Phrase:
    """if it rains we will stay at home -> 如果 下雨 我们 会 待 在 家; call me when you arrive -> 你 到 的 时候 给 我 打电话."""
    word = s.often({"if": 10, "when": 10, "while": 3, "before": 5, "after": 5, "although": 3, "since": 1, "because": 2, "unless": 0.5})
    lead, tail = CONDITIONS[word]
    side = make(s, tense=s.one({"if": ("present", "present", "past", "going on"), "when": ("present", "past", "past"), "while": ("going on", "went on", "went on"),
                                "before": ("present", "past"), "after": ("present", "past"), "since": ("past",)}.get(word, ("present", "past", "past"))),
                positive=word in ("when", "while", "before", "after", "since"), plain=True)
    if tail and word != "since":
        side.predicate.le = False
    main: Phrase
    if s.chance(0.15) and word in ("if", "when", "before", "after"):
        main = order(s)
    else:
        said = make(s)
        if s.chance(0.3) and side.subject.noun is not None:
            said = echo(s, side)
        said.time_first = False
        main = statement(said)
    conjunction = pair(word, lead) if lead else english(word)
    end = more(pair(""), tail)
    if tail:
        end = Phrase((), tuple((zh, conjunction.source) for zh in tail.split()))
    clause = statement(side)
    then = chinese("但是") if word == "although" else NOTHING
    if s.chance(0.5) or word == "although":  # in front in both languages
        comma = COMMA if s.chance(0.7) or word == "although" else NOTHING
        return join([conjunction, clause, comma, main], [conjunction if lead else NOTHING, clause, end, comma, then, main])
    if word == "because":
        return join([main, conjunction, clause])
    return join([main, conjunction, clause], [conjunction if lead else NOTHING, clause, end, main])


def sequence(s: Speaker) -> Phrase:
    """he opened the door and went out -> 他 打开 了 门 然后 出去 了."""
    first = make(s, positive=True, tense=s.one(("past", "past", "future", "present")), plain=True)
    inside, __ = clauses.said_of(s, NounPhrase(NOTHING, NOTHING, first.subject.noun, first.subject.person, first.subject.pronoun))
    second = Clause(NounPhrase(NOTHING, NOTHING, first.subject.noun, first.subject.person), inside, first.tense if first.tense != "future" else "future")
    then = pair(s.one(("and", "and", "and then")), "然后")
    g = clauses.group(second)
    if first.tense == "future":
        g.aux, g.before = NOTHING, NOTHING
    said = statement(first)
    pieces = [g.aux, g.extra, g.main, *inside.tail]
    return join([said, then, *pieces], [said, then, g.before, *inside.lead, inside.very, g.main, g.after, *inside.rest])


# --- Words that decide a pronoun --------------------------------------------------------------------------------------
# Which of two nouns "it" or "they" is: verb frame, reasons of the first, reasons of the second.
WINOGRAD: tuple[tuple[str, str, str, str, str], ...] = (
    # verb, first nouns, second nouns, adjectives of the first, adjectives of the second
    ("cross", "animal person", "'street' 'road' 'river' 'bridge' 'field'", "tired weak scared old slow sleepy sick lazy", "wide busy dangerous long deep"),
    ("fit in", "thing toy reading", "container", "big large long wide thick heavy", "small narrow short tiny"),
    ("eat", "animal pet bird", "food fruit", "hungry greedy", "delicious sweet tasty fresh"),
    ("climb", "animal person", "'tree' 'mountain' 'wall' 'hill'", "tired weak scared old sick lazy", "high steep dangerous"),
    ("carry", "person", "thing 'box'", "weak tired small old", "heavy big large"),
    ("lift", "person", "furniture", "weak tired old", "heavy big large"),
    ("buy", "person", "clothes thing device", "poor", "expensive cheap ugly"),
    ("drink", "animal person", "drink", "thirsty", "cold hot sweet"),
    ("catch", "animal pet", "animal bird", "slow tired weak", "fast quick"),
    ("follow", "animal person", "animal person", "curious lonely scared", "fast big kind"),
)


def winograd(s: Speaker) -> Phrase:
    """the animal did not cross the street because it was too tired / too wide: "it" becomes its noun again."""
    base, firsts, seconds, of_first, of_second = s.one(WINOGRAD)
    verb = s.one([v for v in lex.verbs("t") if v.base == base])
    one = nouns.noun_phrase(s, lex.nouns(firsts), {nouns.the: 8, nouns.owned: 2, nouns.a: 1})
    two = nouns.noun_phrase(s, lex.nouns(seconds), {nouns.the: 8, nouns.owned: 1.5, nouns.a: 1, nouns.this: 0.5})
    culprit, reasons = s.one(((one, of_first), (two, of_second)))
    known = {a.english: a for a in lex.ADJECTIVES if "of" not in a.flags and "nopred" not in a.flags}
    fitting = {a.english: a for a in lex.adjectives_of(culprit.noun)} if culprit.noun else {}
    word = s.one([w for w in reasons.split() if w in known])
    adjective = fitting.get(word, known[word])
    negated = base in ("cross", "fit in", "climb", "carry", "lift", "catch", "buy") and s.chance(0.85)
    tense = s.one(("past", "past", "past", "could", "present") if negated else ("past", "past", "present"))
    c = Clause(one, predicates.predicate(s, verb, one, two), tense, negated)
    s.combinations.append((one.name, base, two.name, word))
    it = again(s, culprit)
    past = tense != "present"
    be = pair((clauses.WAS if past else clauses.BE)[it.person])
    degree = s.word({"too": "太", "very": "非常", "so": "这么"}) if s.chance(0.9) else NOTHING
    very = degree or chinese("很")
    adj = pair(adjective.english, adjective.chinese)
    return _because(statement(c), it, be, degree, very, adj)


def _because(said: Phrase, it: NounPhrase, be: Phrase, degree: Phrase, very: Phrase, adjective: Phrase) -> Phrase:
    because = pair("because", "因为")
    return join([said, because, it.phrase, be, degree, adjective], [said, because, it.phrase, very, adjective])


def again(s: Speaker, culprit: NounPhrase) -> NounPhrase:
    """The noun again, for it, he, she or they alike: the reason has decided whom the pronoun means."""
    word = Word(culprit.pronoun)
    links = tuple((zh, (*words, word)) for zh, words in culprit.head.target)
    s.referent = culprit.head.source[0]
    return replace(culprit, phrase=Phrase((word,), links))


REASONS = {  # (verb of both, who does it to whom): a reason about the first, a reason about the second
    "help": (("kind", "nice"), ("lost", "weak", "sick", "tired", "old")), "visit": (("lonely", "worried"), ("sick", "ill", "famous")),
    "thank": (("grateful", "happy", "polite"), ("kind", "helpful", "generous")), "punish": (("angry", "strict"), ("rude", "naughty", "lazy")),
    "fear": (("weak", "scared", "small"), ("strong", "dangerous", "angry", "cruel")), "love": (("kind",), ("beautiful", "kind", "funny")),
}


def people(s: Speaker) -> Phrase:
    """the leaders refused to let the workers march because they feared violence: two people, and a reason about one of them."""
    choices = {v.base: v for v in lex.verbs("t") if v.base in REASONS and "~" not in v.chinese}
    base = s.one(sorted(choices))
    many = s.chance(0.5)
    form = nouns.the_plural if many else nouns.the
    persons = [n for n in lex.nouns("person") if n.plural and not n.only_plural]
    one, two = form(s, s.one(persons)), form(s, s.one(persons))
    first, second = REASONS[base]
    known = {a.english: a for a in lex.ADJECTIVES if "of" not in a.flags and "nopred" not in a.flags and ("person" in a.nouns or "being" in a.nouns)}
    culprit, reasons = s.one(((one, first), (two, second)))
    words = [w for w in reasons if w in known]
    if not words:
        return plain(s)
    adjective = known[s.one(words)]
    c = Clause(one, predicates.predicate(s, choices[base], one, two), "past", s.chance(0.15))
    it = again(s, culprit)
    be, degree = pair(clauses.WAS[it.person]), (s.word({"too": "太", "very": "非常", "so": "这么"}) if s.chance(0.7) else NOTHING)
    tail = more(pair(""), "了") if "le" in adjective.flags else NOTHING
    very = degree or (NOTHING if adjective.flags & {"le", "verb"} else chinese("很"))
    adj = pair(adjective.english, adjective.chinese)
    return join([_because(statement(c), it, be, degree, very, adj), tail])


# --- Without a clause -------------------------------------------------------------------------------------------------
def fragment(s: Speaker) -> Phrase:
    """the big red ball in the box; not today; very good; with my friends."""
    kind = s.often({"noun": 10, "place": 2, "time": 1, "adjective": 2, "relative": 3})
    if kind == "noun":
        return nouns.noun_phrase(s, lex.nouns("any")).phrase
    if kind == "relative":
        return clauses.relative(s, s.one(lex.nouns("any"))).phrase
    if kind == "place":
        source, target = nouns.place(s)
        return join(source, [chinese("在"), *target])
    if kind == "time":
        no = pair("not", "不 是") if s.chance(0.3) else NOTHING
        return join([no, clauses.when(s, s.one(("past", "future")))])
    adjective = s.one(lex.adjectives("of nopred shi ren le"))
    return join([s.word(predicates.DEGREES), pair(adjective.english, adjective.chinese)])


def greeting(s: Speaker) -> Phrase:
    """hello, my friend; thank you very much; happy birthday, <1>; yes, I do not know him."""
    answer = s.one(lex.adverbs("answer"))
    word = pair(answer.english, answer.chinese)
    kind = s.often({"alone": 5, "name": 4, "clause": 4, "for": 2})
    if kind == "name":
        who = nouns.name(s) if s.chance(0.6) else nouns.noun_phrase(s, lex.nouns("person"), {nouns.owned: 1})
        comma = COMMA if s.chance(0.6) else NOTHING
        return join([word, comma, who.phrase])
    if kind == "clause" and len(answer.english.split()) < 3:
        return join([word, COMMA, s.one((plain, order, question))(s)])
    if kind == "for":
        thanks = pair(s.one(("thank you for", "thanks for")), "谢谢 你")
        if s.chance(0.5):
            source, target = predicates.infinitive(predicates.inner_predicate(s), "ing")
            return join([thanks, *source], [thanks, *target])
        what = nouns.inner(s, "food drink reading thing speech idea", (nouns.owned, nouns.the))
        return join([thanks, what.phrase], [thanks, chinese("的"), what.phrase]) if what.phrase.source[0].text == "the" else join([thanks, what.phrase])
    return word


def exclamation(s: Speaker) -> Phrase:
    """what a beautiful day -> 多么 漂亮 的 一 天; how beautiful she is -> 她 多么 漂亮."""
    adjective = s.one(lex.adjectives("of nopred shi ren le noattr verb"))
    noun = s.one(lex.nouns_of(adjective) or lex.nouns("thing"))
    word = pair(adjective.english, adjective.chinese)
    if s.chance(0.5) and noun.plural and not noun.only_plural:
        what, head = pair("what", "多么"), pair(noun.english, noun.chinese)
        one = pair(nouns.an([word]), "一")
        return join([what, one, word, head], [what, word, more(word, "的"), one, nouns.classifier(noun, head), head])
    how, who = pair("how", "多么"), nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.this: 2, nouns.owned: 2})
    be = pair(clauses.BE[who.person])
    return join([how, word, who.phrase, be], [who.phrase, be, how, word])


def sentence_adverb(s: Speaker) -> Phrase:
    """perhaps he is at home -> 也许 他 在 家; finally, we won."""
    adverb = s.one(lex.adverbs("sentence"))
    comma = COMMA if s.chance(0.35) else NOTHING
    return join([pair(adverb.english, adverb.chinese), comma, plain(s)])


# --- Saying one -------------------------------------------------------------------------------------------------------
FRAMES: dict[Callable[[Speaker], Phrase], float] = {
    plain: 34, question: 15, order: 9, two_clauses: 8, conditional: 8, sequence: 3, there_is: 3, weather: 3, passive: 4, it_is_to: 2.5, too_to: 1.5,
    winograd: 5, people: 1.5, fragment: 4, greeting: 2, exclamation: 0.6, sentence_adverb: 1.5, **constructions.FRAMES,
}
"""The weight of each kind of sentence."""
CONTRACTED = {
    ("i", "am"): "I'm", ("you", "are"): "you're", ("he", "is"): "he's", ("she", "is"): "she's", ("it", "is"): "it's", ("we", "are"): "we're",
    ("they", "are"): "they're", ("that", "is"): "that's", ("there", "is"): "there's", ("what", "is"): "what's", ("where", "is"): "where's",
    ("who", "is"): "who's", ("i", "will"): "I'll", ("you", "will"): "you'll", ("he", "will"): "he'll", ("she", "will"): "she'll",
    ("it", "will"): "it'll", ("we", "will"): "we'll", ("they", "will"): "they'll", ("i", "have"): "I've", ("you", "have"): "you've",
    ("we", "have"): "we've", ("they", "have"): "they've", ("he", "has"): "he's", ("she", "has"): "she's", ("i", "would"): "I'd",
    ("you", "would"): "you'd", ("he", "would"): "he'd", ("she", "would"): "she'd", ("we", "would"): "we'd", ("they", "would"): "they'd",
    ("is", "not"): "isn't", ("are", "not"): "aren't", ("was", "not"): "wasn't", ("were", "not"): "weren't", ("do", "not"): "don't",
    ("does", "not"): "doesn't", ("did", "not"): "didn't", ("will", "not"): "won't", ("would", "not"): "wouldn't", ("can", "not"): "can't",
    ("could", "not"): "couldn't", ("should", "not"): "shouldn't", ("must", "not"): "mustn't", ("have", "not"): "haven't",
    ("has", "not"): "hasn't", ("had", "not"): "hadn't",
}


def contract(s: Speaker, phrase: Phrase) -> Phrase:
    """do not -> don't, he is -> he's, in about half of the cases; "can not" is written as one word."""
    words, merged = list(phrase.source), dict[Word, Word]()
    source: list[Word] = []
    i = 0
    whole = s.chance(0.55)
    while i < len(words):
        both = (words[i].text.lower(), words[i + 1].text) if i + 1 < len(words) else ("", "")
        short = CONTRACTED.get(both)
        if both == ("can", "not") and not (short and whole):
            short = "cannot"
        elif short and not whole:
            short = None
        last = i + 2 >= len(words) or words[i + 2].text in (",", ".", "?", "!")
        if short and not (last and not short.endswith("n't")) and not (i and words[i - 1].text in ("'s",)):
            word = Word(short)
            merged[words[i]] = merged[words[i + 1]] = word
            source.append(word)
            i += 2
        else:
            source.append(words[i])
            i += 1
    links = tuple((zh, tuple(dict.fromkeys(merged.get(w, w) for w in of))) for zh, of in phrase.target)
    return Phrase(tuple(source), links)


def say(rng: Random) -> Example:
    """A random sentence; most end in a mark."""
    s = Speaker(rng, depth=rng.choice((1, 1, 2, 2, 3)))
    frame = s.often(FRAMES)
    phrase = contract(s, frame(s))
    if not s.chance(0.4):
        mark = pair("?", "？") if frame is question else pair("!", "！") if frame is exclamation or (frame is order and s.chance(0.2)) else pair(".", "。")
        phrase = join([phrase, mark])
    return spell(phrase, s.referent, tuple(s.combinations))


def spell(phrase: Phrase, referent: Word | None = None, combinations: tuple[tuple[str, ...], ...] = ()) -> Example:
    """A phrase as strings and positions."""
    position = {word: i for i, word in enumerate(phrase.source)}
    alignment = [tuple(sorted(position[word] for word in words if word in position)) for __, words in phrase.target]
    found = None
    if referent is not None and referent in position:
        places = [i for i, (__, words) in enumerate(phrase.target) if referent in words]
        found = (max(places), position[referent]) if len(places) > 1 else None
    source, target = [word.text for word in phrase.source], [word for word, __ in phrase.target]
    return Example(source, target, alignment, found, combinations)


def examples(seed: int) -> Iterator[Example]:
    rng = Random(seed)
    while True:
        yield say(rng)
