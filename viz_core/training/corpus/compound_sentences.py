"""Sentences of several clauses: he was tired but he did not sleep; if it rains we stay at home; he came in and sat down."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from viz_core.training.corpus import builders, closed_class
from viz_core.training.corpus.clauses import (
    Clause,
    chinese_pieces,
    draw_predicate,
    make_clause,
    plain_clause,
    statement,
    subordinate_english,
    verb_group,
)
from viz_core.training.corpus.imperatives import plain_order
from viz_core.training.corpus.phrases import COMMA, NOTHING, NounPhrase, Phrase, Sampler, Word, aligned, chinese, join, pair
from viz_core.training.corpus.predicates import SHORT_FRAMES

JOINED = {"but": "但是", "and": "", "so": "所以", "because": "因为", "or": "或者"}


@dataclass(frozen=True, slots=True)
class Conjunction:
    """A subordinating conjunction.

    lead, tail: the Chinese before and after its clause. weight: its frequency. tenses: of its clause. then: the Chinese after the
    subject of the main clause. main: the tenses of the main clause, where the conjunction restricts them.
    """

    lead: str
    tail: str
    weight: float
    tenses: tuple[str, ...] = ("present", "past", "past")
    then: str = ""
    main: tuple[str, ...] = ()


CONJUNCTIONS = {
    "if": Conjunction("如果", "", 10, ("present", "present", "past", "going on")),
    "when": Conjunction("", "的 时候", 10),
    "while": Conjunction("", "的 时候", 3, ("going on", "went on", "went on")),
    "before": Conjunction("", "之前", 5, ("present", "past")),
    "after": Conjunction("", "以后", 5, ("present", "past")),
    "although": Conjunction("虽然", "", 2), "even though": Conjunction("虽然", "", 1.2), "though": Conjunction("虽然", "", 0.5),
    "since": Conjunction("自从", "以后", 1, ("past",), main=("perfect", "perfect", "perfect going on")),
    "because": Conjunction("因为", "", 2),
    "since (it is so)": Conjunction("因为", "", 1), "as (it is so)": Conjunction("因为", "", 0.7),
    "unless": Conjunction("除非", "", 0.7),
    "even if": Conjunction("即使", "", 1.2, ("present", "present", "past"), "也", ("future", "future", "can", "would")),
    "as long as": Conjunction("只要", "", 0.8, ("present",), "就", ("future", "can")),
    "whenever": Conjunction("每当", "", 0.6, ("present",), "都", ("present",)),
    "once": Conjunction("一旦", "", 0.3, ("present", "perfect"), "就", ("future", "can")),
    "now that": Conjunction("既然", "", 0.3, ("present", "perfect")),
}
MAIN_NOW = ("present", "present", "future", "future", "can", "should", "must")
MAIN_IN_THE_PAST = ("past", "past", "past", "could", "had to")
CLAUSE_SOURCES: Mapping[str, float] = {"grammar": 3, "everyday": 5, "tense": 4}
"""How the two clauses are made: by the grammar, or as patterns of any kind or of one tense."""
WITH_ORDER = ("if", "when", "before", "after")  # call me when you arrive
PLAIN = ("if", "because", "although", "even though", "even if", "unless")  # with the other conjunctions Chinese drops 了
HAPPENS = ("before", "after", "since")
POSITIVE = ("when", "while", "before", "after", "since", "whenever", "once")
LASTS = (
    "wait", "sleep", "work", "study", "play", "talk", "rest", "read", "walk", "run", "swim", "dance", "laugh", "cry", "watch",
    "stay",
)
"""Activities that continue until something happens."""
LASTING = ("since (it is so)", "as (it is so)")  # their clauses are states: events take "when"


def two_clauses(s: Sampler) -> Phrase:
    """Draw two coordinated clauses: he was tired but he did not sleep -> 他 很 累 但是 他 没有 睡觉."""
    word = s.weighted({"but": 9, "and": 7, "so": 6, "because": 10, "until": 1.5, "or": 0.7, "so that": 1.2})
    if word == "so that":
        return _purpose(s)
    if word == "until":
        return _until(s)
    first = make_clause(s)
    said = s.weighted(CLAUSE_SOURCES)
    if said != "grammar":
        tense = s.choice(("past", "present", "future"))
        one, two = (builders.clauses["everyday" if said == "everyday" else tense](s) for __ in range(2))
        if two.source[0].text in (*JOINED, *CONJUNCTIONS):  # no "because because"
            word = "and"
        elif word in ("and", "but") and s.chance(0.15):
            reason = builders.clauses[tense](s)
            two = join([two, pair("because", "因为"), reason])
        return _joined(s, word, one, two)
    echoes = s.chance(0.35) and first.subject.noun is not None
    second = same_subject_clause(s, first) if echoes else make_clause(s)
    second.time_first = False
    if first.tense in ("past", "went on") and second.tense in ("present", "future", "going on", "perfect") and s.chance(0.7):
        second.tense, second.time, second.middle = "past", NOTHING, NOTHING
    one, two = (
        builders.clauses["everyday"](s) if not echoes and s.chance(0.2) else statement(clause) for clause in (first, second)
    )
    return _joined(s, word, one, two)


def _joined(s: Sampler, word: str, one: Phrase, two: Phrase) -> Phrase:
    """Join two clauses with but, so, because or "or"; for "and" Chinese has a comma."""
    comma = COMMA if s.chance(_comma(word)) else NOTHING
    pause = chinese("，") if word == "and" and not comma else NOTHING
    conjunction = pair(word, JOINED[word])
    return join([one, comma, conjunction, two], [one, comma, pause, conjunction, two])


def _until(s: Sampler) -> Phrase:
    """Draw a clause with "until".

    he waited until she came -> 他 等 直到 她 来; he did not sleep until she came -> 直到 她 来 他 才 睡觉.
    """
    tense = s.choice(("past", "past", "past", "future"))
    denied = s.chance(0.55)
    first = plain_clause(s, tense=tense)
    for __ in range(40):
        p = first.predicate
        lasts = denied or (p.verb.frame == "loc" and p.verb.has_progressive) or p.verb.base in LASTS
        if lasts and not (
            p.is_be or p.is_state or p.before_negator or p.negator or first.subject.negative or first.subject.negator
        ):
            break
        first = plain_clause(s, tense=tense)
    then = plain_clause(s, tense="past" if tense == "past" else "present")
    for __ in range(40):
        if (
            not (then.predicate.is_be or then.predicate.is_state or then.subject.negative)
            and then.predicate.verb.frame in SHORT_FRAMES
        ):
            break
        then = plain_clause(s, tense=then.tense)
    first.predicate.takes_le = then.predicate.takes_le = False
    word, clause = pair("until", "直到"), statement(then)
    if not denied:
        return join([statement(first), word, clause])
    first.negated = True
    g = verb_group(first)
    source = subordinate_english(first, g)
    g.before = Phrase((), tuple((zh, (*of, *word.source)) for zh, of in aligned(g.negation, "才").target))
    return join([*source, word, clause], [word, clause, *chinese_pieces(first, g)])


def _comma(word: str) -> float:
    """Return how often a comma precedes a conjunction."""
    return 0.5 if word in ("but", "so") else 0.15


def _purpose(s: Sampler) -> Phrase:
    """Draw a clause with "so that": he saved money so that he could buy it -> 他 存 了 钱 以便 他 能 买 它."""
    first = _doing(s, None, s.choice(("present", "past", "past", "future", "going on")))
    if first.tense == "going on" and not first.predicate.verb.has_progressive:
        first.tense = "present"
    tense = "could" if first.tense == "past" else "can"
    same = mentioned_again(s, first.subject) if s.chance(0.6) and first.subject.noun is not None else None
    return join([statement(first), pair("so that", "以便"), statement(_doing(s, same, tense))])


def _doing(s: Sampler, who: NounPhrase | None, tense: str) -> Clause:
    """Draw a clause of an action, not of a state."""
    c = plain_clause(s, who, tense=tense)
    for __ in range(12):
        if not (c.predicate.is_be or c.predicate.is_state or c.subject.negative or c.predicate.verb.base.startswith("would ")):
            break
        c = plain_clause(s, who, tense=tense)
    return c


def same_subject_clause(s: Sampler, first: Clause) -> Clause:
    """Draw a clause with the subject of `first` as a pronoun; where that is "it", the target repeats the noun."""
    return make_clause(s, mentioned_again(s, first.subject), plain=True)


def mentioned_again(s: Sampler, noun: NounPhrase) -> NounPhrase:
    """Return a pronoun for a noun phrase; where it is "it", its Chinese is the noun."""
    if noun.noun is None:
        pronoun = noun.name if noun.name in closed_class.SUBJECTS else noun.pronoun
        word = pair(pronoun, closed_class.SUBJECTS[pronoun])
        return replace(noun, phrase=word, head=word)
    if noun.noun.is_a("person"):
        word = pair(noun.pronoun, closed_class.SUBJECTS[noun.pronoun])
        return replace(noun, phrase=word, head=word, takes_dou=False)
    again = pronoun_as_noun(s, noun.head, "they" if noun.person == "plural" else "it")
    return replace(noun, phrase=again, head=again, takes_dou=False)


def pronoun_as_noun(s: Sampler, head: Phrase, pronoun: str) -> Phrase:
    """Return a pronoun whose Chinese is the noun, aligned to the noun and the pronoun, and remember the referent."""
    word = Word(pronoun)
    s.referent = head.source[0]
    return Phrase((word,), tuple((zh, (*words, word)) for zh, words in head.target))


def conditional(s: Sampler) -> Phrase:
    """Draw a main clause with a subordinate clause.

    if it rains we will stay at home -> 如果 下雨 我们 会 待 在 家; call me when you arrive -> 你 到 的 时候 给 我 打电话.
    """
    word = s.weighted({word: conjunction.weight for word, conjunction in CONJUNCTIONS.items()})
    conj = CONJUNCTIONS[word]
    side = _subordinate_clause(s, word)
    if conj.tail:
        side.predicate.takes_le = False
    orders = s.chance(0.15) and word in WITH_ORDER and side.tense in ("present", "going on")
    in_front = s.chance(0.5) or word == "although" or word in LASTING  # in both languages
    if orders:
        main = plain_order(s)
    elif in_front or conj.main or conj.then or not s.chance(0.2) or not _named_again(side):
        main = _main(s, side, conj, again=in_front)
    else:
        main = _first_named(s, side)
    conjunction, clause = pair(word.partition(" (")[0]), statement(side)
    if word in PLAIN and side.tense in ("past", "present") and s.chance(0.6):
        clause = builders.clauses[side.tense](s)
    before, end = aligned(conjunction, conj.lead), aligned(conjunction, conj.tail)
    if conj.tail.startswith("的") and clause.target[-1][0] == "的":  # 是 红色 的 时候
        clause = Phrase(clause.source, clause.target[:-1])
    but = chinese("但是") if conj.lead == "虽然" else NOTHING
    if in_front:
        comma = COMMA if s.chance(0.7) or but or word in LASTING else NOTHING
        return join([conjunction, clause, comma, main], [before, clause, end, comma, but, main])
    if word == "because":
        return join([main, conjunction, clause], [main, before, clause])
    return join([main, conjunction, clause], [before, clause, end, chinese("，") if but else NOTHING, but, main])


def _named_again(side: Clause) -> bool:
    """Whether a preceding main clause can name the subject of the subordinate clause."""
    return (
        side.subject.noun is not None
        and side.tense in ("present", "past")
        and not (side.subject.takes_dou or side.subject.negative)
    )


def _first_named(s: Sampler, side: Clause) -> Phrase:
    """Draw a main clause in front that names the subject, where in Chinese the subordinate clause in front names it.

    my father was tired when he came home -> 我 的 爸爸 回家 的 时候 他 很 累
    """
    named, again = side.subject, mentioned_again(s, side.subject)
    tense = s.choice(MAIN_IN_THE_PAST if side.tense == "past" else MAIN_NOW)
    c = make_clause(s, named, tense=tense, plain=True)
    if [zh for zh, __ in again.phrase.target] != [closed_class.SUBJECTS[named.pronoun]]:  # 愿望 ... 愿望
        side.subject = again
        return statement(c)
    side.subject = named.with_phrase(Phrase(again.phrase.source, named.phrase.target))
    c.subject = named.with_phrase(Phrase(named.phrase.source, again.phrase.target))
    return statement(c)


def _subordinate_clause(s: Sampler, word: str) -> Clause:
    """Draw the subordinate clause; for "before" and "after" an event, not a state."""
    for __ in range(6):
        side = make_clause(s, tense=s.choice(CONJUNCTIONS[word].tenses), positive=word in POSITIVE, plain=True)
        lasts = side.predicate.is_be or side.predicate.is_state or side.negated
        if (word not in HAPPENS or not lasts) and (word not in LASTING or lasts):
            break
    if side.tense in ("going on", "went on") and not side.predicate.verb.has_progressive:
        side.tense = "present" if side.tense == "going on" else "past"
    return side


def _main(s: Sampler, side: Clause, conj: Conjunction, *, again: bool) -> Phrase:
    """Draw the main clause. again: whether its subject may be a pronoun for the subject of the subordinate clause."""
    if conj.main:
        same = mentioned_again(s, side.subject) if again and s.chance(0.4) and side.subject.noun is not None else None
        tense = s.choice(conj.main)
        c = plain_clause(s, same, tense=tense)
        for __ in range(12):  # since then he has lived here, has been working; not "has been knowing", "has arrived"
            if not tense.startswith("perfect") or (
                c.predicate.verb.has_progressive and not c.predicate.is_state and not c.predicate.is_be
            ):
                break
            c = plain_clause(s, same, tense=tense)
        c.tense = "perfect" if c.predicate.is_state or c.predicate.is_be else c.tense
        g = verb_group(c)
        return join(subordinate_english(c, g), chinese_pieces(c, g, question_word=chinese(conj.then)))
    past = side.tense in ("past", "went on")
    if s.chance(0.5):
        return builders.clauses["past" if past else s.choice(("everyday", "everyday", "future", "present"))](s)
    tense = s.choice(MAIN_IN_THE_PAST if past else MAIN_NOW)
    if again and s.chance(0.3) and side.subject.noun is not None:
        return statement(make_clause(s, mentioned_again(s, side.subject), tense=tense, plain=True))
    said = make_clause(s, tense=tense)
    said.time_first = False
    return statement(said)


def sequence(s: Sampler) -> Phrase:
    """Draw two actions of one subject: he opened the door and went out -> 他 打开 了 门 然后 出去 了."""
    tense = s.choice(("past", "past", "future", "present"))
    first = plain_clause(s, tense=tense)
    for _again in range(8):
        if first.predicate.verb.frame in SHORT_FRAMES and not first.predicate.is_state and first.subject.pronoun != "it":
            break
        first = plain_clause(s, tense=tense)
    same = NounPhrase(NOTHING, NOTHING, first.subject.noun, first.subject.person, first.subject.pronoun)
    action, __ = draw_predicate(s, same)
    for _again in range(4):
        if action.is_be or action.is_state:
            action, __ = draw_predicate(s, same)
    acts = not (action.is_state or first.predicate.is_state)
    word = s.choice(("and", "and", "and then")) if acts else "and"
    then = pair(word, "然后" if acts else "")
    if word == "and" and tense == "present":  # a habit: 起床 ， 吃 早饭
        then = Phrase(then.source, chinese("，").target)
    g = verb_group(Clause(same, action, first.tense))
    if first.tense == "future":
        g.aux, g.before = NOTHING, NOTHING
    said = statement(first)
    source = [said, then, g.aux, g.extra, g.main, *action.tail]
    return join(source, [said, then, g.before, *action.lead, action.very, g.main, g.after, *action.rest])
