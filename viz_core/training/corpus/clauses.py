"""Clauses: a subject and a predicate with a tense, a negation and adverbs.

The Chinese order is: time, subject, adverbs, negation or modal, place and manner, verb, 了, objects, 吗.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from viz_core.training.corpus import builders, closed_class, subjects, tenses, to_be, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.closed_class import BE, DO, WAS
from viz_core.training.corpus.contractions import NOT_APART, WITH_NOT
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
from viz_core.training.corpus.predicates import (
    SHORT_FRAMES,
    Predicate,
    by_person,
    draw_frame,
    first_chinese_word,
    is_skill,
    main_verb,
    verbs_of_subject,
)
from viz_core.training.corpus.tenses import TENSES, Tense
from viz_core.training.corpus.time_expressions import draw_time

BEFORE_ADVERBS = ("为什么", "是否", "就", "也")
"""Words that precede 总是 and 都: 你 为什么 总是 迟到, 他们 就 都 不 来."""
LOCATED_CLASSES = "person being thing reading toy food device building place"
"""Noun classes whose location is often stated."""
AGAIN = ("past", "perfect", "past perfect", "going on", "went on")
"""Tenses in which "again" is 又."""
POTENTIAL_NEGATIONS = {"找到": "找 不 到", "看见": "看 不 见", "听见": "听 不 见", "睡觉": "睡 不 着", "抓住": "抓 不 到",
                       "懂": "听 不 懂"}
"""The Chinese of "cannot" with verbs that include a result."""
NEVER_DENIED = ("quite", "pretty", "extremely", "a little", "a bit")
CONTROLLABLE_QUALITIES = frozenset({
    "careful", "quiet", "polite", "patient", "brave", "kind", "honest", "punctual", "serious", "ready", "gentle", "nice",
    "friendly", "calm", "silent", "cautious", "responsible", "generous", "here", "there", "able",
})
"""Qualities that can be chosen: "you must be careful" is an order, "you must be tired" a guess."""
WITH_DO: Mapping[str, str] = {"have to": "have to", "had to": "have to", "used to": "use to"}
"""Modal verbs with do-support, and what follows "do"."""


@dataclass(slots=True)
class Clause:
    """The parts of a clause, from which statements, questions and relative clauses are built.

    middle: adverbs such as always, already. end: too, again, which are final in English and precede the verb in Chinese.
    """

    subject: NounPhrase
    predicate: Predicate
    tense: str
    negated: bool = False
    time: Phrase = NOTHING
    time_first: bool = False
    middle: Phrase = NOTHING
    end: Phrase = NOTHING

    @property
    def negator(self) -> Phrase:
        """The words that negate it without "not": none of them, nothing."""
        return join([self.subject.negator, self.predicate.negator])

    @property
    def is_chinese_negated(self) -> bool:
        """Whether the Chinese is negated."""
        return self.negated or bool(self.negator)


# --- The parts of a clause --------------------------------------------------------------------------------------------
def make_clause(s: Sampler, who: NounPhrase | None = None, *, p: Predicate | None = None, tense: str = "", positive: bool = False,
                plain: bool = False) -> Clause:
    """Draw the parts of a clause that are not given. plain: whether to leave out adverbs and times."""
    if p is None:
        p, who = draw_predicate(s, who)
    elif who is None:
        raise ValueError("a predicate needs its subject")
    tense = tense or tenses.draw_tense(s, p)
    if tense == "planned" and plain:
        tense = "future"
    built = Clause(who, p, tense)
    can_deny = not (
        positive
        or p.never_negated
        or who.negative
        or built.negator
        or tense == "used to"
        or _has_undeniable_degree(p)
        or _is_inherently_negative(p)
    )
    built.negated = can_deny and s.chance(0.17)
    s.combinations.append((who.name, *p.about))
    if plain:
        return built
    if tense == "planned":
        built.time = draw_time(s, "future")
    elif s.chance(0.08 if p.is_be else 0.25):
        built.time, built.time_first = draw_time(s, tense, lasting=p.is_be or p.is_state), s.chance(0.25)
    if (
        s.chance(0.12)
        and tense in tenses.MID_ADVERBS
        and not built.is_chinese_negated
        and not who.negative
        and not _is_inherently_negative(p)
    ):
        built.middle = tenses.draw_mid_adverb(s, tense, p)
    elif s.chance(0.04) and not built.negator and not who.negative and not ends_in_clause(p):
        built.end = _at_the_end(s, built)
    built.time_first = built.time_first or ends_in_clause(p)
    return built


def ends_in_clause(p: Predicate) -> bool:
    """Whether it ends in another clause, to which a final time would belong: I know that he came yesterday."""
    return p.verb.frame in ("that", "tellthat", "wh", "tellwh")


def _is_inherently_negative(p: Predicate) -> bool:
    """Whether its Chinese begins with a negation of its own: 不 健康, 不见."""
    return p.chinese.startswith(("不", "很")) or first_chinese_word(p.rest).startswith("不")


def _has_undeniable_degree(p: Predicate) -> bool:
    """Whether it has a degree that is never negated: extremely, a bit."""
    return bool(p.tail) and english_text(p.tail[0]) in NEVER_DENIED


def _at_the_end(s: Sampler, c: Clause) -> Phrase:
    """Draw a final adverb: too 也, again 又 or 再, not ... either 也."""
    if c.negated:
        return pair("either", "也")
    again = ("again", "又" if c.tense in AGAIN else "再")
    once = c.predicate.is_be or c.predicate.is_state or c.tense == "present"
    return pair(*s.choice((("too", "也"), ("as well", "也"), ("too", "也") if once else again)))


def plain_clause(s: Sampler, who: NounPhrase | None = None, *, p: Predicate | None = None, tense: str = "") -> Clause:
    """Draw a clause without a negation, adverbs and times."""
    return make_clause(s, who, p=p, tense=tense, positive=True, plain=True)


def draw_predicate(s: Sampler, who: NounPhrase | None) -> tuple[Predicate, NounPhrase]:
    """Draw a predicate, and a subject for it if none is given."""
    if s.chance(0.27):
        return _be_predicate(s, who)
    frame = draw_frame(s)
    if who is None:
        choices: Sequence[lex.Verb] = lex.verbs(frame)
    elif who.noun is None:
        choices = lex.verbs_where(by_person, frame)
    else:
        choices = verbs_of_subject(who.noun, frame)
    if not choices:
        return _be_predicate(s, who)
    verb = s.entry(choices)
    if verb.frame not in SHORT_FRAMES:
        s.depth -= 1
    who = who or _draw_subject(s, lex.subjects_of(verb))
    if verb.base == "meet" and verb.frame != "t" and who.person != "plural":
        return _be_predicate(s, who)  # "meet" without an object needs a plural
    s.actor, actor = who.name if who.name in closed_class.REFLEXIVES else "", s.actor
    p = verb_phrases.predicate(s, verb, who)
    s.actor = actor
    return p, who


def _draw_subject(s: Sampler, choices: Sequence[lex.Noun]) -> NounPhrase:
    """Draw the subject of a clause, sometimes a negative one."""
    return subjects.negated_subject(s, choices) if s.chance(0.012) else subjects.subject(s, choices)


def _be_predicate(s: Sampler, who: NounPhrase | None) -> tuple[Predicate, NounPhrase]:
    """Draw "to be" with an adjective, a noun or a place."""
    kind = s.weighted({"adjective": 60, "noun": 20, "place": 20})
    if who is None:
        if s.chance(0.1):
            return to_be.what_this_is(s)
        if kind == "adjective" and s.chance(0.6):
            adjective = s.entry(lex.adjectives("nopred of"))
            who = _draw_subject(s, lex.nouns_of(adjective))
            fits = lex.is_usual_sense(adjective) and not (who.name == "it" and adjective.english in closed_class.SAID_OF_WEATHER)
            fits = fits and "ren" not in adjective.flags  # he is american: 美国 人, of a noun
            if who.noun in lex.nouns_of(adjective) if who.noun is not None else fits:
                return to_be.adjective_predicate(s, who.noun, adjective, who), who
        else:
            who = subjects.subject(s, lex.nouns(("any" if kind != "place" else LOCATED_CLASSES) if s.chance(0.4) else "person"))
    if kind == "noun" and who.person != "plural" and (who.noun is None or who.noun.is_a("person", "animal", "thing", "place")):
        return to_be.noun_predicate(s, who), who
    if kind == "place" and (who.noun is None or who.noun.is_a(*LOCATED_CLASSES.split())):
        return to_be.place_predicate(s, who), who
    of_thing = who.name in subjects.PRONOUNS_OF_THINGS or who.name == "everything"
    return to_be.adjective_predicate(s, who.noun or s.entry(lex.nouns("thing" if of_thing else "person")), who=who), who


# --- Verb groups ------------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class VerbGroup:
    """A verb group: aux | not | extra | main in English, and before | main | after in Chinese.

    extra: the rest of the auxiliary: have | to.
    """

    aux: Phrase
    negation: Phrase
    main: Phrase
    before: Phrase
    after: Phrase
    extra: Phrase = NOTHING


def verb_group(c: Clause, *, question: bool = False) -> VerbGroup:
    """Build the verb group of a clause in its tense."""
    p, no = c.predicate, pair("not") if c.negated else NOTHING
    if p.is_be and c.tense in ("present", "past"):
        aux = pair((BE if c.tense == "present" else WAS)[c.subject.person])
        return VerbGroup(aux, no, aligned(aux, p.chinese), _negation(c, no or c.negator), NOTHING)
    if p.verb.base.startswith("would "):
        would, __, rest = p.verb.base.partition(" ")
        aux, main = pair(would), english(rest)
        return VerbGroup(
            aux, no, Phrase(main.source, aligned_to_all([aux, main], p.chinese).target), _negation(c, no or c.negator), NOTHING
        )
    aux, extra, form = _auxiliary(c, question)
    main = main_verb(p, getattr(p.verb, form))
    allowed = c.tense == "may" and not p.is_state and not p.is_be and (question or c.subject.name == "you")
    tense = TENSES["allowed" if allowed else c.tense]
    if c.is_chinese_negated:
        return _negated(c, tense, VerbGroup(aux, no, main, NOTHING, NOTHING, extra))
    before = _before_verb(c, tense.before, question=question)
    if tense.before == "在" and p.verb.base == "wear":  # is wearing: 穿 着
        main = Phrase(main.source, (*main.target, *aligned(main, "着").target))
    cause = [aux, extra] if tense.aux else [main]
    finished = p.takes_le and not p.is_state and bool(tense.after) and not c.subject.negative  # nobody came: 没有 人 来
    return VerbGroup(
        aux, no, main, aligned_to_all([aux, extra], before), aligned_to_all(cause, tense.after) if finished else NOTHING, extra
    )


def is_static(verb: lex.Verb) -> bool:
    """Whether the progressive takes no 在: he is wearing a hat, 戴 着; he is holding it, 拿着."""
    return verb.base in ("wear", "live with") or verb.chinese.endswith("着")


def _before_verb(c: Clause, before: str, *, question: bool = False) -> str:
    """Return the Chinese before the verb: "can" is 会 with a skill; "is going to" a place is 要 去; "is sitting" is 坐 在."""
    p = c.predicate
    if p.is_be and before in ("能", "必须", "要"):
        if before == "要":
            return "会"  # is going to be: 要 是 would mean "if"
        if before == "能":
            return "可能"  # it can be cold: 可能 很 冷
        return "必须" if c.tense != "must" or _is_controllable(p) else "一定"  # he must be tired; you must be careful
    if before == "能" and is_skill(p.verb.base.split()[0], p.chinese):
        asks = question and (c.subject.name in ("I", "we") or c.tense == "could")  # a request or permission: can I swim here
        return "能" if asks else "会"
    if before == "能" and p.chinese.startswith("能"):  # can fit in: 能 装 进
        return ""
    if before == "能" and c.tense == "can" and c.subject.name == "you" and not question and not p.is_state and not p.is_be:
        return "可以"
    if before == "在" and p.verb.frame == "place":
        return "要"
    return "" if before == "在" and ("post" in p.verb.flags or is_static(p.verb)) else before


def _is_controllable(p: Predicate) -> bool:
    """Whether the quality can be chosen: careful, quiet."""
    return bool(CONTROLLABLE_QUALITIES.intersection(p.about))


def _auxiliary(c: Clause, question: bool) -> tuple[Phrase, Phrase, str]:
    """Return the auxiliary, its rest and the form of the main verb: did | | see; has | been | seeing; does | have to | see."""
    person, tense = c.subject.person, TENSES[c.tense]
    with_do = question or c.negated
    do = "did" if c.tense in ("past", "had to", "used to") else DO[person]
    if with_do and c.tense in WITH_DO:
        return pair(do), english(WITH_DO[c.tense]), tense.form
    if c.tense in tenses.UNSPLIT_AUXILIARIES:
        return pair(tense.auxiliary(person)), NOTHING, tense.form
    first, __, rest = tense.auxiliary(person).partition(" ")
    if first:
        return pair(first), english(rest), tense.form
    if with_do:
        return pair(do), NOTHING, "base"
    return NOTHING, NOTHING, "third" if tense.form == "base" and person == "third" else tense.form


def _negation(c: Clause, no: Phrase) -> Phrase:
    """Return the Chinese negation of "to be": 不, or 没有 where the clause ends in 了."""
    return aligned(no, "没有" if c.predicate.last else "不") if c.is_chinese_negated else NOTHING


def _negated(c: Clause, tense: Tense, g: VerbGroup) -> VerbGroup:
    """Add the Chinese of a negation: did not go -> 没有 去; does not have -> 没有; cannot swim -> 不 会 游泳."""
    p, denier = c.predicate, g.negation or c.negator
    no = (
        tense.state_negation if p.is_state and c.tense not in ("have to", "had to") else tense.negation
    )  # does not have to be: 不用
    if p.verb.frame == "place" and no == "没有 在":
        no = "不"  # is not going there: 不 去
    if tense.before == "能" and is_skill(p.verb.base.split()[0], p.chinese) and no == "不 能":
        no = "不 会"
    if no == "不 能" and p.chinese.startswith("能"):
        no = "不"
    if no == "不" and p.chinese in ("看见", "听见"):
        no = "没"  # does not see
    if no == "不 能" and p.is_be and tense.before == "能":
        no = "不 可能"  # he can't be tired
    if no in ("不 能", "不 会") and tense.before == "能" and p.chinese in POTENTIAL_NEGATIONS:  # can't find: 找 不 到
        g.main = Phrase(g.main.source, aligned_to_all([g.aux, denier, g.main], POTENTIAL_NEGATIONS[p.chinese]).target)
    elif p.chinese == "有":  # 没有 is the negated verb itself
        have = aligned_to_all([g.aux, denier, g.main], "没有" if no in ("不", "没有") else f"{no} 有")
        g.main = Phrase(g.main.source, have.target)
    else:
        still = "post" in p.verb.flags or is_static(p.verb)
        g.before = aligned_to_all([g.aux, denier, g.extra], "没有" if still and no == "没有 在" else no)
    return g


# --- Words in order ---------------------------------------------------------------------------------------------------
def chinese_pieces(c: Clause, g: VerbGroup, *, question_word: Phrase = NOTHING, question: bool = False) -> list[Phrase]:
    """Return the Chinese pieces from the subject on. question_word: 为什么, 怎么 or 什么时候 after the subject."""
    p = c.predicate
    very = p.very if not c.is_chinese_negated and not question else NOTHING
    is_so = p.last and not c.is_chinese_negated and c.tense in ("present", "past")  # 死 了, but 会 死
    last = Phrase((), ((p.last, p.rest[-1].target[-1][1]),)) if is_so and p.rest else NOTHING
    both = chinese("都") if c.subject.takes_dou else NOTHING
    middle, after = c.middle, g.after
    if [zh for zh, __ in middle.target[:2]] == ["从来", "没有"]:
        after = NOTHING if p.chinese.endswith("过") else aligned(middle, "过")  # 从来 没有 吃 过
        if "post" in p.verb.flags:  # 从来 没有 在 农场 上 住 过
            return [c.subject.phrase, NOTHING if c.time_first else c.time, both, middle, *p.rest, g.main, after]
    time = NOTHING if c.time_first else c.time
    before = g.before
    if before.target and before.target[-1][0] == "在" and first_chinese_word([*p.lead, g.main]).startswith("在"):
        before = Phrase(before.source, before.target[:-1])  # he is playing in the park: one 在 for both
    again = c.end if first_chinese_word([c.end]) == "再" else NOTHING  # 会 再 来, but 也 会 来
    also = NOTHING if again else c.end
    adverbs = [question_word] if first_chinese_word([question_word]) in BEFORE_ADVERBS else [middle, question_word]
    if c.tense == "used to" and c.is_chinese_negated:
        time = join([aligned(g.aux or g.main, "以前"), time])  # neither of them used to go: 以前 都 不 去
    elif c.tense == "used to":
        time, before = join([before, time]), NOTHING  # 以前 总是
    front = NOTHING
    if c.subject.negative and first_chinese_word([time, before]) in ("可能", "以前"):  # nobody might come: 可能 没有 人 来
        front, time, before = join([time, before]), NOTHING, NOTHING
    start = [front, c.subject.phrase, time, both, also, *adverbs, p.before_negator, before, again]
    if c.is_chinese_negated and p.negator_after_lead:
        return [c.subject.phrase, time, both, also, *adverbs, p.before_negator, *p.lead, before, g.main, *p.rest]
    if adverbs[0] is question_word:  # 你们 为什么 都 不 来
        start = [c.subject.phrase, time, question_word, both, also, middle, p.before_negator, before, again]
    return [*start, *p.lead, very, g.main, after, *p.rest, last]


def _verb(c: Clause, g: VerbGroup) -> list[Phrase]:
    """Return the English verb with its adverb: has already eaten, is not always late, often eats."""
    if c.predicate.is_be and g.aux and not g.main.source:
        return [g.aux, g.negation, c.middle]
    return [g.aux, c.middle, g.negation, g.extra, g.main] if g.aux else [c.middle, g.main]


def statement(c: Clause) -> Phrase:
    """Build a statement: the dog has already eaten the apple today -> 狗 今天 已经 吃 了 苹果."""
    g = verb_group(c)
    first, last = (c.time, NOTHING) if c.time_first else (NOTHING, c.time)
    source = [first, c.subject.phrase, *_verb(c, g), *c.predicate.tail, last, c.end]
    return join(source, [first, *chinese_pieces(c, g)])


def inverted_english(c: Clause, g: VerbGroup, front: Phrase = NOTHING) -> list[Phrase]:
    """Return the English words of a question, its question word first: (why) did the dog chase the cat, (why) don't you come."""
    rest = [g.extra, c.middle, g.main, *c.predicate.tail, c.time, c.end]
    if g.negation and (english_text(g.aux), "not") in WITH_NOT:
        g.negation.source[0].text = NOT_APART
        return [front, g.aux, g.negation, c.subject.phrase, *rest]
    return [front, g.aux, c.subject.phrase, g.negation, *rest]


def subordinate_english(c: Clause, g: VerbGroup, front: Phrase = NOTHING) -> list[Phrase]:
    """Return the English words of an embedded clause, its first word being `front`: (who) lives here, (where) he always goes."""
    return [front, c.subject.phrase, *_verb(c, g), *c.predicate.tail, c.time, c.end]


def that_clause(s: Sampler) -> Phrase:
    """Draw the clause after "that": (he thinks that) the dog is tired."""
    s.depth -= 1
    if s.chance(0.4):
        return builders.clauses[s.choice(("everyday", "past", "present", "future"))](s)
    return statement(make_clause(s))


builders.clauses["that"] = that_clause
