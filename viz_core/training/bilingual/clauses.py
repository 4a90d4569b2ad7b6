"""Clauses: a subject and a predicate with a tense, a negation and adverbs, as statement, question, order or part of another.

Chinese puts them in the order: time, subject, adverbs, negation or modal, place and manner, verb, 了, objects, 吗.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import nouns, predicates
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Person, Phrase, Speaker, chinese, english, join, more, pair
from viz_core.training.bilingual.predicates import Predicate

# --- Tenses -----------------------------------------------------------------------------------------------------------
BE = {"I": "am", "third": "is", "plural": "are"}
WAS = {"I": "was", "third": "was", "plural": "were"}
HAVE = {"I": "have", "third": "has", "plural": "have"}
DO = {"I": "do", "third": "does", "plural": "do"}


@dataclass(frozen=True, slots=True)
class Tense:
    """How a tense is said.

    aux: the auxiliary of each person, "" where only questions and negations have one. form: of the main verb behind it.
    before, after: Chinese around an action; no: its negation, which takes the place of `before`; no_state: that of a state.
    """

    aux: Mapping[Person, str] | str
    form: str
    before: str = ""
    after: str = ""
    no: str = "不"
    no_state: str = "不"


def modal(word: str, before: str, no: str) -> Tense:
    return Tense(word, "base", before, no=no, no_state=no)


TENSES: Mapping[str, Tense] = MappingProxyType({
    "present": Tense("", "base"),
    "past": Tense("", "past", after="了", no="没有"),
    "going on": Tense(BE, "ing", "在", no="没有 在"),
    "went on": Tense(WAS, "ing", "在", no="没有 在"),
    "future": modal("will", "会", "不 会"),
    "going to": Tense({p: f"{be} going to" for p, be in BE.items()}, "base", "要", no="不 会", no_state="不 会"),
    "perfect": Tense(HAVE, "participle", after="了", no="没有"),
    "perfect going on": Tense({p: f"{have} been" for p, have in HAVE.items()}, "ing", "一直 在", no="没有 在"),
    "past perfect": Tense("had", "participle", after="了", no="没有"),
    "can": modal("can", "能", "不 能"), "could": modal("could", "能", "不 能"), "should": modal("should", "应该", "不 应该"),
    "must": modal("must", "必须", "不 能"), "may": modal("may", "可以", "不 可以"), "might": modal("might", "可能", "可能 不"),
    "would": modal("would", "会", "不 会"), "have to": Tense({p: f"{have} to" for p, have in HAVE.items()}, "base", "必须", no="不用"),
    "had to": Tense("had to", "base", "不得不", no="不用"), "used to": Tense("used to", "base", "以前"),
})
WEIGHTS = {
    "past": 26, "present": 18, "going on": 9, "went on": 3, "future": 9, "going to": 4, "perfect": 6, "perfect going on": 1, "past perfect": 2,
    "can": 7, "could": 2, "should": 3, "must": 2, "may": 1, "might": 1.5, "would": 1.5, "have to": 2, "had to": 1, "used to": 0.8,
}
OF_STATES = {
    "present": 45, "past": 25, "future": 8, "can": 3, "could": 1, "should": 2, "must": 1.5, "may": 0.7, "might": 1.5, "would": 1, "have to": 0.5,
    "used to": 0.5, "going to": 1,
}
TIMES: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "past": ("yesterday", "the day before yesterday", "last night", "last week", "last month", "last year", "this morning", "a long time ago",
             "yesterday morning", "yesterday afternoon", "yesterday evening", "last summer", "last winter", "two days ago", "two years ago", "today",
             "last weekend", "one day"),
    "present": ("every day", "every morning", "every week", "every year", "these days", "in the morning", "in the evening", "at night",
                "in summer", "in winter", "in spring", "in autumn", "every evening", "at the weekend", "every night", "now", "in the afternoon"),
    "going on": ("now", "right now", "at the moment", "today"),
    "future": ("tomorrow", "tonight", "soon", "next week", "next month", "next year", "the day after tomorrow", "this evening", "today",
               "tomorrow morning", "tomorrow evening", "this weekend", "in the future", "one day", "later", "this afternoon", "next summer"),
    "perfect": ("recently", "today", "so far"),
})
TIME_OF = {"went on": "past", "past perfect": "past", "going to": "future", "can": "future", "should": "future", "must": "future",
           "have to": "present", "had to": "past", "might": "future", "may": "future", "could": "past"}
_ADVERB = {adverb.english: adverb.chinese for adverb in lex.ADVERBS if adverb.kind in ("time", "frequency")}
CLOCK = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), "一 两 三 四 五 六 七 八 九 十 十一 十二".split(), strict=True))
WEEKDAYS = {n.english: n.chinese for n in lex.NOUNS if n.is_a("weekday")}
MONTHS = {n.english: n.chinese for n in lex.NOUNS if n.is_a("month")}


def when(s: Speaker, tense: str) -> Phrase:
    """A time that fits the tense: yesterday 昨天, at seven o'clock 七 点, on monday 星期一."""
    kind = s.often({"word": 70, "clock": 12, "weekday": 9, "month": 3, "ago": 6})
    if kind == "clock" and tense != "going on":
        return clock(s, "at")
    if kind == "weekday" and tense != "going on":
        day = s.word(WEEKDAYS)
        which = s.often({"on": 6, "next": 2, "last": 2, "every": 1, "this": 1})
        if which == "on":
            return join([english("on"), day])
        if (which == "last") == (TIME_OF.get(tense, tense) == "past"):
            return join([pair(which, {"next": "下个", "last": "上个", "every": "每个", "this": "这个"}[which]), day])
    if kind == "month":
        return join([english("in"), s.word(MONTHS)])
    if kind == "ago" and TIME_OF.get(tense, tense) == "past":
        span, ago = predicates.duration(s), pair("ago", "前")
        return join([span, ago])
    words = [w for w in TIMES.get(TIME_OF.get(tense, tense), TIMES["present"]) if w in _ADVERB]
    word = s.one(words or ["today"])
    return pair(word, _ADVERB[word])


def clock(s: Speaker, word: str = "") -> Phrase:
    """seven o'clock -> 七 点; half past seven -> 七 点 半; a quarter to is left out."""
    hour = s.word(CLOCK)
    at = english(word) if word else NOTHING
    if s.chance(0.25):
        half = pair("half past", "半")
        return join([at, half, hour], [hour, more(hour, "点"), half])
    o_clock = pair("o'clock", "点") if s.chance(0.6) else NOTHING
    return join([at, hour, o_clock], [hour, o_clock or more(hour, "点")])


# --- Subjects ---------------------------------------------------------------------------------------------------------
def subject(s: Speaker, choices: Sequence[lex.Noun]) -> NounPhrase:
    """A noun, a pronoun, a name, everybody; sometimes two."""
    being = [n for n in choices[:40] if n.is_a("person")]
    kind = s.often({"noun": 50, "pronoun": 38 if being else 6, "name": 7 if being else 0, "everybody": 3 if being else 0,
                    "and": 3 if s.deeper() else 0, "relative": 4 if s.deeper() else 0})
    if kind == "pronoun":
        return pronoun(s, bool(being))
    if kind == "name":
        return nouns.name(s)
    if kind == "everybody":
        return everybody(s)
    if kind == "and":
        s.depth -= 1
        one, two = subject_noun(s, choices, being), subject_noun(s, choices, being)
        pieces = [one.phrase, pair("and", "和"), two.phrase]
        return NounPhrase(join(pieces), one.head, one.noun, "plural", "they", name=one.name)
    if kind == "relative":
        s.depth -= 1
        return relative(s, s.one(choices))
    return nouns.noun_phrase(s, choices)


def subject_noun(s: Speaker, choices: Sequence[lex.Noun], being: Sequence[lex.Noun]) -> NounPhrase:
    return nouns.name(s) if being and s.chance(0.25) else nouns.noun_phrase(s, choices, {nouns.the: 3, nouns.owned: 3, nouns.a: 1})


def pronoun(s: Speaker, being: bool) -> NounPhrase:
    names = {"I": 9, "you": 5, "he": 6, "she": 6, "we": 5, "they": 4, "it": 0.6} if being else {"it": 4, "they": 1, "this": 1, "that": 1}
    name = s.often(names)
    if name in ("this", "that"):
        word = pair(name, {"this": "这", "that": "那"}[name])
        return NounPhrase(word, word, name=name)
    word = pair(name, nouns.SUBJECTS[name])
    person: Person = "I" if name == "I" else "third" if name in ("he", "she", "it") else "plural"
    return NounPhrase(word, word, person=person, pronoun=name, name=name)


def everybody(s: Speaker) -> NounPhrase:
    negative = s.chance(0.3)
    text, zh = s.one(list((nouns.NOBODY if negative else nouns.SOMEBODY).items()))
    word = pair(text, zh)
    many = text.split()[-1] in ("people", "us", "them") and not text.startswith("one")
    return NounPhrase(word, word, person="plural" if many else "third", name=text, negative=negative,
                      all=text in ("everybody", "everyone", "all of us", "both of them", "both of us"))


# --- A clause ---------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Clause:
    """One clause before it is said: what a statement, a question and a relative clause are made of."""

    subject: NounPhrase
    predicate: Predicate
    tense: str
    negated: bool = False
    time: Phrase = NOTHING
    time_first: bool = False
    middle: Phrase = NOTHING  # always, already, also
    end: Phrase = NOTHING  # too, again: English at the end, Chinese in the middle


def tense_of(s: Speaker, p: Predicate) -> str:
    weights = dict(OF_STATES if p.is_be or p.is_state else WEIGHTS)
    if not p.is_be and not p.verb.goes_on:
        for name in ("going on", "went on", "perfect going on"):
            weights.pop(name, None)
    if p.verb.base.startswith("would "):
        return "present"
    return s.often(weights)


MIDDLES = {
    "present": {"always": 3, "usually": 3, "often": 3, "sometimes": 2, "never": 3, "rarely": 0.5, "still": 2, "also": 2, "really": 1, "only": 1},
    "past": {"never": 1, "also": 1, "just": 1, "finally": 1, "suddenly": 1, "only": 0.5}, "going on": {"still": 3, "also": 1, "just": 0.5},
    "future": {"never": 2, "always": 1, "also": 1, "soon": 0.5}, "perfect": {"already": 5, "just": 3, "never": 3, "always": 0.5, "finally": 1},
    "past perfect": {"already": 4, "never": 1}, "can": {"also": 1, "still": 1, "always": 0.5, "only": 0.5, "never": 0.5},
}
_MIDDLE_ZH = {**_ADVERB, **{a.english: a.chinese for a in lex.ADVERBS if a.kind in ("focus", "sentence", "degree")}, "also": "也", "really": "真的",
              "only": "只", "still": "还", "never": "从不", "just": "刚"}


def make(s: Speaker, who: NounPhrase | None = None, *, verb: lex.Verb | None = None, p: Predicate | None = None, tense: str = "",
         positive: bool = False, plain: bool = False) -> Clause:
    """A clause with a random tense. plain: without adverbs and times."""
    if p is None:
        p, who = said_of(s, who, verb)
    assert who is not None
    tense = tense or tense_of(s, p)
    built = Clause(who, p, tense, negated=not positive and not who.negative and tense not in ("used to",) and s.chance(0.17))
    s.combinations.append((who.name, *p.about))
    if plain:
        return built
    if s.chance(0.25):
        built.time, built.time_first = when(s, tense), s.chance(0.25)
    if s.chance(0.12) and tense in MIDDLES and not built.negated and not who.negative:
        word = s.often(MIDDLES[tense])
        if not (p.is_be and word in ("finally", "suddenly", "just")):
            built.middle = pair(word, "从来 没有" if word == "never" and tense in ("perfect", "past perfect", "past") else
                                "永远 不" if word == "never" and tense == "future" else _MIDDLE_ZH.get(word, "也"))
    elif s.chance(0.04) and not built.negated:
        built.end = pair(*s.one((("too", "也"), ("again", "又" if tense in ("past", "perfect") else "再"), ("as well", "也"))))
    return built


def said_of(s: Speaker, who: NounPhrase | None, verb: lex.Verb | None = None) -> tuple[Predicate, NounPhrase]:
    """A predicate, and a subject that it can be said of, if there is none yet."""
    if verb is None and s.chance(0.27):
        return _be_of(s, who)
    if verb is None:
        frame = predicates.frame_of(s)
        noun = who.noun if who is not None else None
        person = lex.verbs_where(predicates.by_person, frame)
        choices = lex.verbs(frame) if who is None else predicates.verbs_of_subject(noun, frame) if noun is not None else person
        if not choices:
            return _be_of(s, who)
        verb = s.one(choices)
    if verb.frame not in predicates.SHORT:
        s.depth -= 1
    who = who or subject(s, lex.subjects_of(verb))
    return predicates.predicate(s, verb, who), who


def _be_of(s: Speaker, who: NounPhrase | None) -> tuple[Predicate, NounPhrase]:
    """To be: with an adjective, a noun or a place."""
    kind = s.often({"adjective": 60, "noun": 20, "place": 20})
    if who is None:
        wanted = "any" if kind != "place" else "being thing reading toy food device"
        if kind == "adjective" and s.chance(0.6):
            adjective = s.one(lex.adjectives("nopred of"))
            who = subject(s, lex.nouns_of(adjective) or lex.nouns("person"))
            if who.noun is None or who.noun in lex.nouns_of(adjective):
                return predicates.adjective_predicate(s, who.noun, adjective), who
        else:
            who = subject(s, lex.nouns(wanted) if s.chance(0.5) else lex.nouns("person"))
    if kind == "noun" and who.person != "plural":
        return predicates.noun_predicate(s, who), who
    if kind == "place":
        return predicates.place_predicate(s), who
    noun = who.noun or s.one(lex.nouns("person"))
    return predicates.adjective_predicate(s, noun), who


# --- Verb groups ------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Group:
    """aux | not | main in English, and around the verb in Chinese: before | main | after."""

    aux: Phrase
    no: Phrase
    main: Phrase
    before: Phrase
    after: Phrase
    extra: Phrase = NOTHING  # the rest of the auxiliary: have | to


def group(c: Clause, *, question: bool = False) -> Group:
    """The verb of a clause with its tense."""
    p, person, tense = c.predicate, c.subject.person, TENSES[c.tense]
    verb, no = p.verb, pair("not") if c.negated else NOTHING
    if p.is_be and c.tense in ("present", "past"):
        aux = pair((BE if c.tense == "present" else WAS)[person])
        return Group(aux, no, more(aux, p.said), _negation(c, aux, no), NOTHING)
    if verb.base.startswith("would "):
        would, __, rest = verb.base.partition(" ")
        aux, main = pair(would), english(rest)
        said = join([aux, main], [])
        return Group(aux, no, Phrase(main.source, more(said, p.said).target), _negation(c, aux, no), NOTHING)
    aux_word = tense.aux if isinstance(tense.aux, str) else tense.aux[person]
    form = tense.form
    helped = bool(aux_word)
    if not aux_word and (question or c.negated):
        aux_word, form = ("did" if c.tense == "past" else DO[person]), "base"
    elif not aux_word and form == "base" and person == "third":
        form = "third"
    if c.tense in ("have to", "had to", "used to") and (question or c.negated):
        aux_word = {"have to": DO[person], "had to": "did", "used to": "did"}[c.tense]
        extra = english("have to" if c.tense != "used to" else "use to")
    else:
        words = aux_word.split()
        aux_word, extra = (words[0] if words else ""), english(" ".join(words[1:]))
    aux = pair(aux_word) if aux_word else NOTHING
    main = predicates.spoken(p, getattr(verb, form))
    state = p.is_state or p.is_be
    before = tense.before
    if before == "能" and p.said in predicates.SKILLS:
        before = "会"
    if c.negated:
        no_zh = tense.no_state if state else tense.no
        if before == "会" and no_zh == "不 能":
            no_zh = "不 会"
        if p.said == "有":  # 没有 is the negated verb itself
            links = tuple((w, (*aux.source, *no.source, *main.source)) for w in (["没有"] if no_zh in ("不", "没有") else [*no_zh.split(), "有"]))
            return Group(aux, no, Phrase(main.source, links), NOTHING, NOTHING, extra)
        return Group(aux, no, main, _from((aux, no, extra), no_zh), NOTHING, extra)
    cause = (aux, extra) if helped else (main,)
    after = _from(cause, tense.after) if tense.after and p.le and not state and (p.said or not p.is_be) else NOTHING
    return Group(aux, no, main, _from((aux, extra), before) if before else NOTHING, after, extra)


def _from(phrases: Sequence[Phrase], zh: str) -> Phrase:
    """Chinese words that come from all the English words of some phrases."""
    words = tuple(word for phrase in phrases for word in phrase.source)
    return Phrase((), tuple((part, words) for part in zh.split()))


def _negation(c: Clause, aux: Phrase, no: Phrase) -> Phrase:
    if not c.negated:
        return NOTHING
    zh = "没有" if c.predicate.last else "不"
    return _from((no,), zh)


def _chinese(c: Clause, g: Group, *, asked: Phrase = NOTHING, question: bool = False) -> list[Phrase]:
    """The clause in Chinese from the subject on. asked: 为什么, 怎么, 什么时候 behind the subject."""
    p = c.predicate
    very = p.very if not c.negated and not question else NOTHING
    last = more(p.rest[-1], p.last) if p.last and not c.negated and p.rest else NOTHING
    both = chinese("都") if c.subject.all else NOTHING
    middle, after = c.middle, g.after
    if middle and [zh for zh, __ in middle.target][:2] == ["从来", "没有"]:
        after = more(middle, "过")  # 从来 没有 吃 过
    time = NOTHING if c.time_first else c.time
    return [c.subject.phrase, time, both, c.end, middle, asked, g.before, *p.lead, very, g.main, after, *p.rest, last]


def statement(c: Clause) -> Phrase:
    g = group(c)
    first, last = (c.time, NOTHING) if c.time_first else (NOTHING, c.time)
    verb = [g.aux, c.middle, g.no, g.extra, g.main] if g.aux else [c.middle, g.main]
    if c.predicate.is_be and g.aux and not g.main.source:
        verb = [g.aux, g.no, c.middle]
    source = [first, c.subject.phrase, *verb, *c.predicate.tail, last, c.end]
    return join(source, [first, *_chinese(c, g)])


def yes_no(c: Clause) -> Phrase:
    """did the dog chase the cat -> 狗 追 了 猫 吗."""
    g = group(c, question=True)
    source = [g.aux, c.subject.phrase, g.no, g.extra, c.middle, g.main, *c.predicate.tail, c.time, c.end]
    target = _chinese(replace(c, time_first=False), g, question=True)
    return join(source, [*target, more(g.aux, "吗")])


ADVERBIAL_QUESTIONS = {"why": "为什么", "how": "怎么", "when": "什么 时候", "what time": "几点", "how often": "多久", "where": "在 哪里"}


def adverbial_question(c: Clause, word: str, *, embedded: bool = False) -> Phrase:
    """why are you laughing -> 你 为什么 在 笑; embedded: (I know) why you are laughing."""
    g = group(c, question=not embedded)
    wh = pair(word, ADVERBIAL_QUESTIONS[word])
    target = _chinese(replace(c, time_first=False), g, asked=wh, question=True)
    if embedded:
        return join([wh, c.subject.phrase, g.aux, g.no, g.extra, g.main, *c.predicate.tail, c.time], target)
    return join([wh, g.aux, c.subject.phrase, g.no, g.extra, c.middle, g.main, *c.predicate.tail, c.time, c.end], target)


def asked_noun(s: Speaker, choices: Sequence[lex.Noun]) -> tuple[Phrase, Phrase]:
    """What is asked for: (the English words in front, the Chinese ones in their place)."""
    noun = s.one(choices)
    person = noun.is_a("person")
    kind = s.often({"what": 60, "which": 15, "how many": 12, "whose": 4, "what kind": 4})
    if kind == "what" or not noun.plural:
        wh = pair(s.one(("who", "whom", "who")) if person else "what", "谁" if person else "什么")
        return Phrase(wh.source), Phrase((), wh.target)
    head = pair(noun.plural if kind == "how many" else noun.english, noun.chinese)
    if kind == "which":
        wh = pair(s.one(("which", "what")), "哪")
        pieces = [wh, nouns.classifier(noun, head), head]
    elif kind == "how many":
        wh = pair("how many", "多少")
        pieces = [wh, head]
    elif kind == "whose":
        wh = pair("whose", "谁 的")
        pieces = [wh, head]
    else:
        wh = pair("what kind of", "什么样 的")
        pieces = [wh, head]
    return join([wh, head], []), join([], pieces)


def _plain_object(verb: lex.Verb) -> bool:
    return "~" not in verb.chinese and "sep" not in verb.flags


def object_question(s: Speaker, *, embedded: bool = False) -> Phrase:
    """what did you eat yesterday -> 你 昨天 吃 了 什么; embedded: (I know) what you ate."""
    verb = s.one(lex.verbs_where(_plain_object, "t"))
    front, inside = asked_noun(s, lex.objects_of(verb))
    gap = NounPhrase(inside, inside, name="what")
    who = subject(s, lex.subjects_of(verb))
    p = predicates.Predicate(verb, verb.chinese, rest=[gap.phrase], about=(verb.base, "what"))
    c = make(s, who, p=p, positive=s.chance(0.9))
    c.time_first = False
    g = group(c, question=not embedded)
    target = _chinese(c, g, question=True)
    if embedded:
        return join([front, who.phrase, g.aux, g.no, g.extra, g.main, c.time], target)
    return join([front, g.aux, who.phrase, g.no, g.extra, c.middle, g.main, c.time, c.end], target)


def subject_question(s: Speaker) -> Phrase:
    """who broke the glass -> 谁 打破 了 玻璃杯; how many people work here."""
    verb = s.one((*lex.verbs("i"), *lex.verbs("t"), *lex.verbs("loc"), *lex.verbs("give")))
    front, zh = asked_noun(s, lex.subjects_of(verb))
    many = bool(front.source) and " ".join(w.text for w in front.source).startswith("how many")
    who = NounPhrase(Phrase(front.source, zh.target), zh, person="plural" if many else "third", name="who")
    c = make(s, who, p=predicates.predicate(s, verb, None), positive=True)
    c.time_first = False
    return statement(c)


def place_question(s: Speaker, *, embedded: bool = False) -> Phrase:
    """where do you live -> 你 住 在 哪里; where is my key -> 我 的 钥匙 在 哪里."""
    where = pair("where", "哪里")
    front, inside = Phrase(where.source), Phrase((), where.target)
    if s.chance(0.35):
        who = subject(s, lex.nouns("any"))
        p = predicates.Predicate(predicates.BE, "在", rest=[inside], about=("where",))
        c = make(s, who, p=p, tense=s.one(("present", "present", "past")), positive=True, plain=True)
    elif s.chance(0.25):
        p = predicates.Predicate(next(v for v in lex.verbs("place") if v.base == "go to"), "去", rest=[inside], about=("go", "where"))
        p.verb = predicates._without_particle(p.verb)[0]
        c = make(s, subject(s, lex.nouns("person")), p=p, positive=True)
    else:
        verb = s.one(lex.verbs("loc"))
        c = make(s, subject(s, lex.subjects_of(verb)), p=predicates.predicate(s, verb, None, None, ([], [inside])), positive=True)
    c.time_first = False
    g = group(c, question=not embedded)
    target = _chinese(c, g, question=True)
    if embedded:
        return join([front, c.subject.phrase, g.aux, g.no, g.extra, g.main, *c.predicate.tail, c.time], target)
    return join([front, g.aux, c.subject.phrase, g.no, g.extra, c.middle, g.main, *c.predicate.tail, c.time, c.end], target)


def whether(s: Speaker) -> Phrase:
    """whether he comes -> 他 是否 来."""
    c = make(s, positive=True, plain=True)
    g = group(c)
    word = pair(s.one(("if", "whether")), "是否")
    verb = [g.aux, g.no, g.extra, g.main]
    return join([word, c.subject.phrase, *verb, *c.predicate.tail, c.time], _chinese(c, g, asked=word, question=True))


def indirect_question(s: Speaker) -> Phrase:
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
        source, target = predicates.infinitive(predicates.inner_predicate(s))
        how = pair("how to", "怎么")
        return join([how, *source], [how, *target])
    c = make(s, positive=True, plain=True)
    return adverbial_question(c, kind, embedded=True)


def that_clause(s: Speaker) -> Phrase:
    s.depth -= 1
    return statement(make(s))


predicates.clause_inside.update(that=that_clause, wh=indirect_question)


# --- Relative clauses -------------------------------------------------------------------------------------------------
def relative(s: Speaker, noun: lex.Noun) -> NounPhrase:
    """the man who lives here -> 住 在 这里 的 男人; the book (that) I bought -> 我 买 的 书; the house where he lives."""
    forms = {nouns.the: 5, nouns.the_plural: 2, nouns.a: 1.5, nouns.this: 0.5} if not noun.is_mass and not noun.only_plural else {nouns.the: 1}
    head = s.often(forms)(s, noun)
    person = noun.is_a("person")
    kind = s.often({"subject": 45, "object": 40 if predicates.verbs_of_object(noun) else 0, "where": 10 if noun.is_a("place", "building", "room", "city", "country") else 0,
                    "whose": 4 if person else 0})
    of = chinese("的")
    if kind == "object":
        verb = s.one(predicates.verbs_of_object(noun))
        who = subject_noun(s, lex.subjects_of(verb), [n for n in lex.subjects_of(verb)[:5] if n.is_a("person")]) if s.chance(0.4) else pronoun(s, predicates.by_person(verb))
        p = predicates.Predicate(verb, verb.chinese, le=False, about=(verb.base, noun.english))
        c = make(s, who, p=p, tense=s.one(("past", "past", "past", "present", "perfect")), positive=True, plain=True)
        if s.chance(0.15):
            c.time = when(s, c.tense)
        word = s.one((english("that"), NOTHING, NOTHING, english("who" if person else "which")))
        g = group(c)
        source = [word, who.phrase, g.aux, g.extra, g.main, c.time]
        return nouns.before(head, source, [*_chinese(c, g), of])
    if kind == "where":
        verb = s.one(lex.verbs_where(predicates.by_person, "loc"))
        who = pronoun(s, True)
        p = predicates.Predicate(verb, verb.chinese, le=False, about=(verb.base, noun.english))
        c = make(s, who, p=p, tense=s.one(("past", "present")), positive=True, plain=True)
        g = group(c)
        return nouns.before(head, [english("where"), who.phrase, g.aux, g.main], [*_chinese(c, g), of])
    word = english("that" if s.chance(0.4) else "who" if person else "which")
    who = NounPhrase(NOTHING, NOTHING, noun, head.person, head.pronoun, name=noun.english)
    if kind == "whose":
        word = english("whose")
        thing = s.one(lex.nouns("family thing pet"))
        owned = pair(thing.english, thing.chinese)
        who = NounPhrase(owned, owned, thing, name=thing.english)
    c = make(s, who, plain=True)
    c.predicate.le = False
    if s.chance(0.15):
        c.time = when(s, c.tense)
    g = group(c)
    verb_words = [g.aux, g.no, g.extra, g.main]
    return nouns.before(head, [word, who.phrase, *verb_words, *c.predicate.tail, c.time], [*_chinese(c, g), of])
