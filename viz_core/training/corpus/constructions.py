"""Constructions with their own pattern: passive, purpose, too ... to, so ... that, what I want is, no longer."""

from collections.abc import Callable, Mapping, Sequence

from viz_core.training.corpus import closed_class, nouns, subjects, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import (
    Clause,
    chinese_pieces,
    make_clause,
    plain_clause,
    statement,
    subordinate_english,
    that_clause,
    verb_group,
)
from viz_core.training.corpus.closed_class import BE, HAVE, WAS
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, aligned_to_all, english, join, pair
from viz_core.training.corpus.predicates import (
    Predicate,
    by_person,
    infinitive,
    is_contiguous,
    optional_that,
    person_acts_on,
    someone,
    verbs_of_object,
)
from viz_core.training.corpus.questions import yes_no
from viz_core.training.corpus.tenses import PROGRESSIVE_TENSES, draw_be
from viz_core.training.corpus.time_expressions import WEEKDAYS, clock, draw_time

PURPOSES = frozenset({
    "buy", "see", "meet", "visit", "get", "help", "eat", "drink", "study", "work", "learn", "play", "watch", "read", "swim", "rest",
    "cook", "borrow", "find", "pick up", "look for", "talk to", "wait for", "listen to", "relax", "exercise", "run", "sleep",
    "dance", "thank", "ask", "teach", "take", "clean", "sell", "return", "have", "make", "write", "order", "sing", "walk", "sit",
    "speak to", "say goodbye to", "repair", "collect", "pay for", "take care of", "practise", "celebrate", "attend", "look after",
    "look at", "invite", "call", "open", "book",
})
"""The purposes of going somewhere."""
NEVER_PASSIVE = ("have", "get", "do", "want", "be", "hurt", "would", "take", "make", "like", "say", "know")
PASSIVE_VERBS = frozenset({
    "break", "steal", "eat", "kill", "destroy", "find", "build", "write", "clean", "wash", "repair", "fix", "cut", "open", "close",
    "sell", "paint", "invite", "punish", "praise", "blame", "arrest", "attack", "bite", "catch", "chase", "hit", "scold", "cheat",
    "save", "love", "forget", "cancel", "accept", "refuse", "reject", "solve", "discover", "invent", "design", "publish",
    "translate", "use", "throw away", "move", "deliver", "take away", "burn", "cover", "lock", "hide", "see", "hear", "beat",
    "push", "kick", "choose", "elect", "rescue", "protect", "attract", "eat up", "drink", "cook", "delete", "replace", "remove",
    "record", "park", "buy", "borrow", "cut down", "tear", "injure", "drop", "lift", "carry", "change", "interrupt", "bother",
    "wake", "wake up", "fire", "hire", "drown", "rob", "shoot", "bury", "divide", "produce", "develop", "improve", "collect",
    "celebrate", "delay", "put off", "announce", "prove", "treat", "examine", "recommend", "report", "mention", "discuss",
    "explain", "describe", "understand", "hug", "kiss", "laugh at", "swallow", "lick", "scare",
})
"""Verbs that are common in the passive."""
TIMED = ("past", "future", "present", "must")  # tenses of the passive that may have a time
PASSIVES = {  # tense: (weight, negation, Chinese where it is not negated)
    "past": (10, "没有", ""), "perfect": (3, "没有", ""), "future": (2, "不 会", "会"), "present": (2, "不", ""),
    "must": (1, "不 能", "必须"), "going on": (1, "没有", "正在"), "can": (1, "不 能", "能"), "should": (0.7, "不 应该", "应该"),
    "might": (0.5, "可能 不 会", "可能 会"), "past perfect": (0.7, "没有", ""),
}
ABLE = {
    "able to": "能", "ready to": "准备好", "happy to": "很 高兴", "afraid to": "不 敢", "about to": "马上 要", "glad to": "很 高兴",
    "sorry to": "很 抱歉", "sure to": "一定 会", "allowed to": "可以", "supposed to": "应该",
}
NOT_ABLE = {"able to": "不", "ready to": "没有", "allowed to": "不", "supposed to": "不"}
IT_IS = {
    "it is true": "确实", "it seems": "似乎", "it is possible": "可能", "it is clear": "很 清楚", "it is good": "很 好",
    "it is a pity": "很 遗憾", "it's strange": "很 奇怪",
}
SURE = {
    "sure": "确定", "afraid": "恐怕", "glad": "很 高兴", "happy": "很 高兴", "sorry": "很 抱歉", "surprised": "很 惊讶",
    "proud": "很 骄傲", "worried": "担心", "certain": "肯定",
}
WHAT = {"what": "的", "all": "的 一切", "everything": "的 一切", "the only thing": "的 唯一 的 东西"}
ABOUT = {"talk about": "谈论", "think about": "考虑", "dream about": "梦见", "complain about": "抱怨", "worry about": "担心"}
EVER_VERBS = (
    "see",
    "read",
    "eat",
    "drink",
    "buy",
    "visit",
    "meet",
    "hear",
    "watch",
    "have",
    "taste",
    "make",
    "write",
    "use",
    "wear",
    "know",
    "listen to",
    "play",
    "find",
    "drive",
    "ride",
    "cook",
    "get",
    "take",
    "tell",
    "love",
)
"""Verbs after a superlative with "ever"."""
UNTIL = {"sleep": "睡", "wait": "等", "work": "工作", "study": "学习", "stay up": "熬夜", "read": "看书", "talk": "聊"}
BOUNDS = {"midnight": "午夜", "noon": "中午", "the end": "最后", "tomorrow": "明天", "the evening": "晚上"}
PATHS = {"along": "沿着", "through": "穿过"}


# --- Passive ----------------------------------------------------------------------------------------------------------
def passive(s: Sampler) -> Phrase:
    """Draw a passive clause: the window was broken by the boy -> 窗户 被 男孩 打破 了; the bridge will be built -> 桥 会 被 建."""
    verb = s.entry(lex.verbs_where(_is_usual_passive if s.chance(0.85) else _can_be_passive, "t"))
    forms: nouns.Forms = {
        nouns.the: 6, nouns.owned: 4, nouns.this: 3, nouns.the_plural: 2, nouns.counted: 1, nouns.possessive: 1,
    }
    what = nouns.noun_phrase(s, lex.objects_of(verb), forms)
    if lex.is_usual_translation(verb) and s.chance(0.2):
        what = subjects.pronoun(s, being=lex.objects_of(verb)[0].is_a("person"))
    agent = _agent(s, verb) if s.chance(0.5) else None
    s.combinations.append((verb.base, what.name))
    tense = s.weighted({name: weight for name, (weight, _no, _modal) in PASSIVES.items()})
    negated = s.chance(0.12)
    time = draw_time(s, tense if tense in ("past", "future") else "present") if s.chance(0.25) and tense in TIMED else NOTHING
    return build_passive(what, verb, agent, tense, negated=negated, time=time)


def _can_be_passive(verb: lex.Verb) -> bool:
    """Whether a verb has a passive."""
    return is_contiguous(verb) and "state" not in verb.flags and verb.base.split()[0] not in NEVER_PASSIVE


def _is_usual_passive(verb: lex.Verb) -> bool:
    """Whether a verb is common in the passive."""
    return _can_be_passive(verb) and verb.base in PASSIVE_VERBS


def _agent(s: Sampler, verb: lex.Verb) -> NounPhrase:
    """Draw the agent of a passive."""
    choices = lex.subjects_of(verb)
    return subjects.subject_noun(s, choices, bool(subjects.people(choices[:5])))


def build_passive(what: NounPhrase, verb: lex.Verb, agent: NounPhrase | None, tense: str, *, negated: bool, time: Phrase) -> Phrase:
    """Build a passive: was | not | been | broken in English; 没有 | 被 男孩 | 打破 | 了 in Chinese."""
    person = what.person
    aux = {
        "past": WAS[person], "perfect": f"{HAVE[person]} been", "future": "will be", "present": BE[person], "must": "must be",
        "going on": f"{BE[person]} being", "can": "can be", "should": "should be", "might": "might be", "past perfect": "had been",
    }[tense]
    first, __, rest = aux.partition(" ")
    be, no, been = pair(first), (pair("not") if negated else NOTHING), english(rest)
    _weight, denied, modal = PASSIVES[tense]
    before = aligned_to_all([be, no, been], denied if negated else modal)
    le = aligned(be, "了") if tense in ("past", "perfect", "past perfect") and not negated else NOTHING
    main = pair(verb.participle, verb.chinese)
    by, doer = (pair("by", "被"), agent.phrase) if agent else (NOTHING, NOTHING)
    source = [what.phrase, be, no, been, main, by, doer, time]
    return join(source, [what.phrase, time, before, by or aligned(be, "被"), doer, main, le])


# --- Purposes and adverbials ------------------------------------------------------------------------------------------
def purpose(s: Sampler) -> Phrase:
    """Draw a clause with a purpose: he went to the shop to buy milk -> 他 去 商店 买 牛奶; I came here to help you."""
    base = s.choice(("go to", "go to", "come to"))
    p = verb_phrases.predicate(s, next(verb for verb in lex.verbs("place") if verb.base == base))
    verb = s.entry(lex.verbs_where(_is_a_purpose, "t", "i", "for", "loc"))
    source, target = infinitive(verb_phrases.predicate(s, verb))
    p.tail += [english("to"), *source]
    p.rest += target
    p.takes_le = False
    return statement(make_clause(s, subjects.subject(s, lex.nouns("person")), p=p))


def _is_a_purpose(verb: lex.Verb) -> bool:
    """Whether one goes somewhere to do this."""
    return by_person(verb) and verb.base in PURPOSES


def circumstance(s: Sampler) -> Phrase:
    """Draw a clause with an adverbial.

    he ran like a dog -> 他 像 狗 一样 跑; because of the rain; from monday to friday; through the forest; without his coat.
    """
    add = s.weighted(_CIRCUMSTANCES)
    who = subjects.subject(s, lex.nouns("person"))
    bases = _DONE_SO.get(add, ())
    verbs = [v for frame in ("i", "t", "place") for v in lex.verbs(frame) if v.base in bases and by_person(v)]
    p = verb_phrases.predicate(s, s.entry(verbs), who) if verbs else None
    c = make_clause(s, who, p=p, plain=True, positive=bool(verbs))
    if c.predicate.verb.frame in ("i", "t", "place", "loc"):
        add(s, c)
    return statement(c)


def _because_of(s: Sampler, c: Clause) -> None:
    """Add a cause: because of the rain."""
    word, what = (
        pair("because of", "因为"),
        nouns.short_phrase(s, "weather illness event idea", (nouns.the, nouns.owned, nouns.this)),
    )
    c.predicate.tail += [word, what.phrase]
    c.middle = join([], [word, what.phrase])


def _like(s: Sampler, c: Clause) -> None:
    """Add a comparison: like a dog."""
    word, what = pair("like", "像"), nouns.short_phrase(s, "animal person 'mother' 'father' 'brother'", (nouns.a, nouns.owned))
    _before_what_goes_on(c, [word, what.phrase], [word, what.phrase, aligned(word, "一样")])


def _before_what_goes_on(c: Clause, source: list[Phrase], target: list[Phrase]) -> None:
    """Put an adverbial before the verb, and before its 在: 他 会 像 狗 一样 跑, but 他 像 狗 一样 在 跑."""
    c.predicate.tail += source
    if c.tense in PROGRESSIVE_TENSES:
        c.middle = join([], target)
    else:
        c.predicate.lead = [*target, *c.predicate.lead]


def _without(s: Sampler, c: Clause) -> None:
    """Add something missing: without his coat."""
    word, what = pair("without", "没有"), nouns.short_phrase(s, _LEFT_BEHIND, (nouns.owned, nouns.a))
    _before_what_goes_on(c, [word, what.phrase], [word, what.phrase])


def _along(s: Sampler, c: Clause) -> None:
    """Add a path with "along"."""
    _path(s, c, "along")


def _through(s: Sampler, c: Clause) -> None:
    """Add a path with "through"."""
    _path(s, c, "through")


def _path(s: Sampler, c: Clause, word: str) -> None:
    """Add a path with this preposition."""
    _leading(c, pair(word, PATHS[word]), nouns.short_phrase(s, "way 'river' 'forest' 'park'", (nouns.the, nouns.this)))


def _leading(c: Clause, word: Phrase, what: NounPhrase) -> None:
    """Put an adverbial after the verb in English and before it in Chinese."""
    c.predicate.tail += [word, what.phrase]
    c.predicate.lead = [word, what.phrase, *c.predicate.lead]


def _from_to(s: Sampler, c: Clause) -> None:
    """Add the beginning and the end: from monday to friday."""
    start, end = clock(s), clock(s)
    if s.chance(0.5):
        start, end = s.pair(WEEKDAYS), s.pair(WEEKDAYS)
    c.time = join([pair("from", "从"), start, pair("to", "到"), end])


def _about(s: Sampler, c: Clause) -> None:
    """Replace the predicate by a verb with "about", which Chinese says as one verb: we talked about the film -> 我们 谈论 了 电影.
    """
    p = s.choice([(verb, zh) for verb, zh in ABOUT.items()])
    verb = next(v for v in lex.verbs("t") if v.base == p[0])
    what = nouns.short_phrase(s, "idea event show reading person subject animal", (nouns.the, nouns.owned, nouns.bare))
    c.subject = subjects.subject(s, lex.nouns("person"))
    c.predicate = Predicate(verb, p[1], [what.phrase], rest=[what.phrase], about=(verb.base, what.name))


def _until(s: Sampler, c: Clause) -> None:
    """Replace the predicate by one with "until": he slept until seven o'clock -> 他 一直 睡 到 七 点."""
    verb, said = s.choice([(v, UNTIL[v.base]) for v in lex.verbs("i") if v.base in UNTIL])
    until = pair("until", "到")
    bound = clock(s) if s.chance(0.5) else s.pair(WEEKDAYS | BOUNDS)
    c.subject = subjects.subject(s, lex.nouns("person"))
    c.negated = False
    c.predicate = Predicate(
        verb, said, [until, bound], [aligned(until, "一直")], [until, bound], takes_le=False, about=(verb.base, "until")
    )


_LEFT_BEHIND = (
    "'coat' 'umbrella' 'hat' 'key' 'phone' 'bag' 'money' 'friend' 'brother' 'breakfast' 'ticket' 'passport' 'dog' 'jacket' "
    "'wallet'"
)
_MOVING = ("run", "drive", "ride", "go", "walk to", "run to", "drive to", "swim")
_DONE_SO: Mapping[Callable[[Sampler, Clause], None], Sequence[str]] = {
    _like: ("run", "walk", "sing", "dance", "cry", "laugh", "sleep", "eat", "swim", "work", "talk", "fight", "jump", "fly", "shout",
            "drive"),
    _from_to: ("work", "study", "sleep", "rest", "read", "travel", "play", "learn", "talk", "dance", "exercise", "practise",
               "train", "cook"),
    _along: _MOVING, _through: _MOVING,
    _without: ("leave", "come", "go out", "go to", "come to", "walk to", "travel to", "arrive", "go", "go home", "come back",
               "go to school", "go to work", "travel"),
}
"""The verbs that go with each adverbial."""
_CIRCUMSTANCES: Mapping[Callable[[Sampler, Clause], None], float] = {
    _because_of: 4, _like: 3, _about: 2, _from_to: 3, _along: 2, _through: 2, _until: 1, _without: 2,
}


# --- Adjectives with complements --------------------------------------------------------------------------------------
def too_to(s: Sampler) -> Phrase:
    """Draw "too" with an infinitive.

    he is too young to drive -> 他 太 小 了 不 能 开车; the box is too heavy for me -> 盒子 对 我 来说 太 重.
    """
    adjective, who = _graded(s)
    be, too, word = draw_be(s, who, 0.3), pair("too", "太"), pair(adjective.english, adjective.chinese)
    start = [who.phrase, be, too, word]
    if s.chance(0.4):
        for_, whom = pair("for", "对"), someone(s)
        return join([*start, for_, whom.phrase], [who.phrase, for_, whom.phrase, aligned(for_, "来说"), too, word])
    to = pair("to", "不 能")
    if who.noun is None and who.name in subjects.PRONOUNS_OF_THINGS:
        return join(start)
    if who.noun is not None and not who.noun.is_a("being"):  # too heavy to carry: 太 重 不 能 提
        done = [verb for verb in verbs_of_object(who.noun) if by_person(verb) and not verb.is_state]
        if not done:
            return join(start)
        verb = s.entry(done)
        done_to = pair(verb.base, verb.chinese)
        return join([*start, to, done_to], [*start, aligned(too, "了"), to, done_to])
    source, target = infinitive(verb_phrases.action_predicate(s, actions_only=True))
    return join([*start, to, *source], [*start, aligned(too, "了"), to, *target])


def so_that(s: Sampler) -> Phrase:
    """Draw "so" with a that-clause: the bus was so full that we could not get on -> 公交车 太 满 了 我们 不 能 上 去."""
    adjective, who = _graded(s)
    be, so = draw_be(s, who, 0.5), pair("so", "太")
    word, that = pair(adjective.english, adjective.chinese), pair("that", "了")
    c = make_clause(s, tense=s.choice(("could", "past", "can", "present")), plain=True)
    return join([who.phrase, be, so, word, that, statement(c)])


def _graded(s: Sampler) -> tuple[lex.Adjective, NounPhrase]:
    """Draw a gradable adjective and a subject for it."""
    adjective = s.entry([a for a in lex.adjectives(nouns.UNGRADED_FLAGS) if a.comparative])
    who = subjects.subject(s, lex.nouns_of(adjective))
    if who.noun is None and not lex.is_usual_sense(adjective):
        adjective = next(a for a in lex.ADJECTIVES if a.english == adjective.english and lex.is_usual_sense(a))
        who = subjects.subject(s, lex.nouns_of(adjective))
    return adjective, who


def adjective_to(s: Sampler) -> Phrase:
    """Draw "to be" with an adjective and an infinitive.

    she is able to swim -> 她 能 游泳; he is about to leave; I am ready to go; I am afraid to ask.
    """
    text, zh = s.choice(list(ABLE.items()))
    who = subjects.subject(s, lex.nouns("person"))
    be, word = draw_be(s, who, 0.25), pair(text, zh)
    no = pair("not", NOT_ABLE[text]) if text in NOT_ABLE and s.chance(0.25) else NOTHING
    source, target = infinitive(verb_phrases.action_predicate(s, who))
    return join([who.phrase, be, no, word, *source], [who.phrase, no, word, *target])


def adjective_that(s: Sampler) -> Phrase:
    """Draw "to be" with an adjective and a that-clause.

    I am sure that he will come -> 我 肯定 他 会 来; I am afraid that; it is true that; it seems that.
    """
    clause = that_clause(s)
    that = optional_that(s, clause)
    if s.chance(0.35):
        return join([s.pair(IT_IS), that, clause])
    who = subjects.pronoun(s)
    word = s.pair(SURE)
    no = pair("not", "不") if word.source[0].text in ("sure", "certain") and s.chance(0.3) else NOTHING
    be = english(BE[who.person])
    if word.source[0].text == "afraid":  # I am afraid that it is so 恐怕, but he is afraid that 害怕
        word = pair("afraid", "恐怕" if who.name == "I" else "害怕")
        return join([who.phrase, be, word, that, clause], [NOTHING if who.name == "I" else who.phrase, word, clause])
    return join([who.phrase, be, no, word, that, clause])


# --- Superlatives, negations and emphasis -----------------------------------------------------------------------------
def one_of(s: Sampler) -> Phrase:
    """Draw a superlative with "one of" or "ever".

    London is one of the biggest cities -> ... 是 最 大 的 城市 之一; this is the best cake that I have ever eaten.
    """
    adjective = s.entry([a for a in lex.adjectives("shi nopred noattr le of") if a.superlative])
    choices = [n for n in lex.nouns_of(adjective) if n.plural and not n.only_plural]
    if not choices:  # only mass nouns, as in "the lightest rain"
        return one_of(s)
    noun = s.entry(choices)
    best = nouns.superlative_phrase(adjective)
    who = _one(s, noun)
    be = draw_be(s, who, 0.2, "是")
    where, whole = _within(s) if s.chance(0.4) else (NOTHING, NOTHING)
    start, end = [who.phrase, be], [best, aligned(best, "的")]
    if s.chance(0.5):
        one, head = pair("one of", "之一"), pair(noun.plural, noun.chinese)
        return join([*start, one, english("the"), best, head, where, whole], [*start, whole, *end, head, one])
    head = pair(noun.english, noun.chinese)
    verbs = [verb for verb in verbs_of_object(noun) if by_person(verb) and verb.base in EVER_VERBS]
    if s.chance(0.6) and verbs:
        source, target = _ever_done(s, s.entry(verbs))
        return join([*start, english("the"), best, head, source], [*start, target, *end, head])
    return join([*start, english("the"), best, head, where, whole], [*start, whole, *end, head])


def _one(s: Sampler, noun: lex.Noun) -> NounPhrase:
    """Draw a name, a pronoun or a noun phrase for one of these."""
    if s.chance(0.4):
        return nouns.proper_name(s)
    if s.chance(0.4):
        who = subjects.pronoun(s, noun.is_a("person"))
        return who if who.person != "plural" or who.name == "you" else _one(s, noun)
    while True:
        who = nouns.noun_phrase(s, (noun,), {nouns.this: 3, nouns.owned: 2})
        if who.person == "third":  # not "these cars are one of"
            return who


def _within(s: Sampler) -> tuple[Phrase, Phrase]:
    """Draw the group of a superlative: in the world 世界 上, in my class 班 里, in China."""
    if s.chance(0.5):
        return english("in"), nouns.short_phrase(s, "country city", (nouns.the,)).phrase
    word, in_ = s.choice((("world", "上"), ("class", "里")))
    whole = nouns.short_phrase(s, f"'{word}'", (nouns.the,) if word == "world" else (nouns.the, nouns.owned))
    preposition = pair("in", in_)
    return Phrase(preposition.source), join([whole.phrase, Phrase((), preposition.target)])


def _ever_done(s: Sampler, verb: lex.Verb) -> tuple[Phrase, Phrase]:
    """Draw a relative clause with "ever": (that) I have ever eaten -> 我 吃 过 的."""
    who = subjects.pronoun(s)
    that, have, ever = optional_that(s, share=0.5), english(HAVE[who.person]), pair("ever", "过")
    main = pair(verb.participle, verb.chinese)
    return join([that, who.phrase, have, ever, main]), join([], [who.phrase, main, ever, aligned(NOTHING, "的")])


def no_longer(s: Sampler) -> Phrase:
    """Draw a negation with "no longer", "at all" or "any".

    he no longer works here -> 他 不再 在 这里 工作; he does not smoke at all; I do not know anyone; I have not seen anything.
    """
    c = plain_clause(s, tense=s.choice(("present", "present", "past", "can")))
    if s.chance(0.4):
        c.middle = pair("no longer", "再 也 不" if c.tense == "can" else "不再")
        c.predicate.very = NOTHING
        c.predicate.takes_le = False
        return statement(c)
    if s.chance(0.5):
        c.negated = True
        if s.chance(0.5) and (c.predicate.is_state or c.predicate.is_be) and not (
            c.predicate.negator_after_lead or c.subject.negative or c.predicate.chinese == "是"
        ):
            at_all = english("at all")
            c.middle = aligned(at_all, "一点 也")
            c.predicate.tail = [*c.predicate.tail, at_all]
        return statement(c)
    return _not_any(s)


def _not_any(s: Sampler) -> Phrase:
    """Draw a negation or question with "any": I do not know anyone -> 我 不 认识 任何 人."""
    verb = s.entry(lex.verbs_where(person_acts_on, "t"))
    person = bool(subjects.people(lex.objects_of(verb)[:3]))
    what = s.pair(closed_class.ANYBODY if person else closed_class.ANYTHING)
    p = Predicate(verb, verb.chinese, [what], rest=[what], about=(verb.base, "any"))
    who = subjects.subject(s, lex.subjects_of(verb))
    c = plain_clause(s, who, p=p, tense=s.choice(("present", "past") if verb.is_state else ("present", "past", "perfect", "can")))
    c.negated = not who.negative
    if c.negated and not person:  # 什么 都 没有 买
        p.rest, p.before_negator = [], aligned(what, "什么 都")
    return yes_no(c) if s.chance(0.25) and not c.negated else statement(c)


def cleft(s: Sampler) -> Phrase:
    """Draw a pseudo-cleft: what I want is to sleep -> 我 想要 的 是 睡觉; all you need is love -> 你 需要 的 一切 是 爱."""
    verb = s.entry(lex.verbs_where(person_acts_on, "t"))
    p = Predicate(verb, verb.chinese, takes_le=False, about=(verb.base, "what"))
    c = plain_clause(s, subjects.pronoun(s), p=p, tense=s.choice(("present", "past")))
    g = verb_group(c)
    what = s.pair(WHAT)
    that = english("that") if what.source[0].text != "what" and s.chance(0.4) else NOTHING
    forms: nouns.Forms = {nouns.a: 2, nouns.bare: 3, nouns.owned: 2, nouns.the: 1}
    be, thing = pair("is", "是"), nouns.noun_phrase(s, lex.objects_of(verb), forms)
    return join([what, *subordinate_english(c, g, that), be, thing.phrase], [*chinese_pieces(c, g), what, be, thing.phrase])
