"""Sentences of several clauses: he was tired but he did not sleep; if it rains we stay at home; he came in and sat down."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from viz_core.training.bilingual import inside, small_words
from viz_core.training.bilingual.clauses import Clause, group, in_chinese, make, plain_clause, said_of, statement, subordinate
from viz_core.training.bilingual.orders import command
from viz_core.training.bilingual.phrases import COMMA, NOTHING, NounPhrase, Phrase, Speaker, Word, chinese, join, more, pair
from viz_core.training.bilingual.predicates import SHORT

JOINED = {"but": "但是", "and": "", "so": "所以", "because": "因为", "or": "或者", "until": "直到"}


@dataclass(frozen=True, slots=True)
class Conjunction:
    """lead, tail: Chinese before and behind the clause that it leads. tenses: of that clause. weight: how often it is said.

    then: Chinese behind the subject of the main clause. main: the tenses of that, where the conjunction decides them.
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
SAID_AS: Mapping[str, float] = {"grammar": 3, "everyday": 5, "tense": 4}
"""How the two clauses are made: by the grammar, or as patterns, any two or plain ones in one tense."""
WITH_ORDER = ("if", "when", "before", "after")  # call me when you arrive
PLAIN = ("if", "because", "although", "even though", "even if", "unless")  # before the others Chinese drops 了
HAPPENS = ("before", "after", "since")
POSITIVE = ("when", "while", "before", "after", "since", "whenever", "once")
LASTING = ("since (it is so)", "as (it is so)")  # a reason is how it is: of what happens one says when


def two_clauses(s: Speaker) -> Phrase:
    """he was tired but he did not sleep -> 他 很 累 但是 他 没有 睡觉."""
    word = s.often({"but": 9, "and": 7, "so": 6, "because": 10, "until": 1.5, "or": 0.7, "so that": 1.2})
    if word == "so that":
        return _purpose(s)
    first = make(s)
    said = s.often(SAID_AS)
    if said != "grammar" and word != "until":
        tense = s.one(("past", "present", "future"))
        one, two = (inside.clauses["everyday" if said == "everyday" else tense](s) for __ in range(2))
        if two.source[0].text in (*JOINED, *CONJUNCTIONS):  # no "because because"
            word = "and"
        elif word in ("and", "but") and s.chance(0.15):
            reason = inside.clauses[tense](s)
            two = join([two, pair("because", "因为"), reason])
        return join([one, COMMA if s.chance(_comma(word)) else NOTHING, pair(word, JOINED[word]), two])
    echoes = s.chance(0.35) and first.subject.noun is not None
    second = echo(s, first) if echoes else make(s)
    second.time_first = False
    if first.tense in ("past", "went on") and second.tense in ("present", "future", "going on", "perfect") and s.chance(0.7):
        second.tense, second.time, second.middle = "past", NOTHING, NOTHING
    comma = COMMA if s.chance(_comma(word)) else NOTHING
    one, two = (inside.clauses["everyday"](s) if not echoes and s.chance(0.2) else statement(clause) for clause in (first, second))
    return join([one, comma, pair(word, JOINED[word]), two])


def _comma(word: str) -> float:
    """How often a comma stands before a conjunction."""
    return 0.5 if word in ("but", "so") else 0.15


def _purpose(s: Speaker) -> Phrase:
    """he saved money so that he could buy it -> 他 存 了 钱 以便 他 能 买 它."""
    first = plain_clause(s, tense=s.one(("present", "past", "past", "future", "going on")))
    tense = "could" if first.tense == "past" else "can"
    same = repeated(s, first.subject) if s.chance(0.6) and first.subject.noun is not None else None
    return join([statement(first), pair("so that", "以便"), statement(plain_clause(s, same, tense=tense))])


def echo(s: Speaker, first: Clause) -> Clause:
    """A second clause about the subject of the first, which a pronoun names: the target repeats the noun if it is "it"."""
    return make(s, repeated(s, first.subject), plain=True)


def repeated(s: Speaker, noun: NounPhrase) -> NounPhrase:
    """he, she and they stay pronouns; "it" becomes the noun that it stands for."""
    if noun.noun is None:
        pronoun = noun.name if noun.name in small_words.SUBJECTS else noun.pronoun
        word = pair(pronoun, small_words.SUBJECTS[pronoun])
        return replace(noun, phrase=word, head=word)
    if noun.noun.is_a("person") or (noun.person == "plural" and noun.noun.is_a("being")):
        word = pair(noun.pronoun, small_words.SUBJECTS[noun.pronoun])
        return replace(noun, phrase=word, head=word, all=False)
    again = stands_for(s, noun.head, "they" if noun.person == "plural" else "it")
    return replace(noun, phrase=again, head=again, all=False)


def stands_for(s: Speaker, head: Phrase, pronoun: str) -> Phrase:
    """A pronoun that Chinese says as the noun again: its words come from the noun and the pronoun."""
    word = Word(pronoun)
    s.referent = head.source[0]
    return Phrase((word,), tuple((zh, (*words, word)) for zh, words in head.target))


def conditional(s: Speaker) -> Phrase:
    """if it rains we will stay at home -> 如果 下雨 我们 会 待 在 家; call me when you arrive -> 你 到 的 时候 给 我 打电话."""
    word = s.often({word: conjunction.weight for word, conjunction in CONJUNCTIONS.items()})
    conj = CONJUNCTIONS[word]
    side = _side(s, word)
    if conj.tail:
        side.predicate.le = False
    orders = s.chance(0.15) and word in WITH_ORDER and side.tense in ("present", "going on")
    main = command(s) if orders else _main(s, side, conj)
    conjunction, clause = pair(word.partition(" (")[0]), statement(side)
    if word in PLAIN and side.tense in ("past", "present") and s.chance(0.6):
        clause = inside.clauses[side.tense](s)
    before, end = more(conjunction, conj.lead), more(conjunction, conj.tail)
    if conj.tail.startswith("的") and clause.target[-1][0] == "的":  # 是 红色 的 时候
        clause = Phrase(clause.source, clause.target[:-1])
    but = chinese("但是") if conj.lead == "虽然" else NOTHING
    if s.chance(0.5) or word == "although" or word in LASTING:  # in front in both languages
        comma = COMMA if s.chance(0.7) or but or word in LASTING else NOTHING
        return join([conjunction, clause, comma, main], [before, clause, end, comma, but, main])
    if word == "because":
        return join([main, conjunction, clause], [main, before, clause])
    return join([main, conjunction, clause], [before, clause, end, but, main])


def _side(s: Speaker, word: str) -> Clause:
    """The condition; before and after something happens, not while it is so."""
    for __ in range(6):
        side = make(s, tense=s.one(CONJUNCTIONS[word].tenses), positive=word in POSITIVE, plain=True)
        lasts = side.predicate.is_be or side.predicate.is_state or side.negated
        if (word not in HAPPENS or not lasts) and (word not in LASTING or lasts):
            break
    if side.tense in ("going on", "went on") and not side.predicate.verb.goes_on:
        side.tense = "present" if side.tense == "going on" else "past"
    return side


def _main(s: Speaker, side: Clause, conj: Conjunction) -> Phrase:
    """What holds under a condition, sometimes about its subject again."""
    if conj.main:
        again = repeated(s, side.subject) if s.chance(0.4) and side.subject.noun is not None else None
        c = plain_clause(s, again, tense=s.one(conj.main))
        g = group(c)
        return join(subordinate(c, g), in_chinese(c, g, asked=chinese(conj.then)))
    past = side.tense in ("past", "went on")
    if s.chance(0.5):
        return inside.clauses["past" if past else s.one(("everyday", "everyday", "future", "present"))](s)
    tense = s.one(MAIN_IN_THE_PAST if past else MAIN_NOW)
    if s.chance(0.3) and side.subject.noun is not None:
        return statement(make(s, repeated(s, side.subject), tense=tense, plain=True))
    said = make(s, tense=tense)
    said.time_first = False
    return statement(said)


def sequence(s: Speaker) -> Phrase:
    """he opened the door and went out -> 他 打开 了 门 然后 出去 了."""
    tense = s.one(("past", "past", "future", "present"))
    first = plain_clause(s, tense=tense)
    for _again in range(8):
        if first.predicate.verb.frame in SHORT and not first.predicate.is_state and first.subject.pronoun != "it":
            break
        first = plain_clause(s, tense=tense)
    same = NounPhrase(NOTHING, NOTHING, first.subject.noun, first.subject.person, first.subject.pronoun)
    action, __ = said_of(s, same)
    for _again in range(4):
        if action.is_be or action.is_state:
            action, __ = said_of(s, same)
    acts = not (action.is_state or first.predicate.is_state)
    word = s.one(("and", "and", "and then")) if acts else "and"
    then = pair(word, "然后" if acts else "")
    g = group(Clause(same, action, first.tense))
    if first.tense == "future":
        g.aux, g.before = NOTHING, NOTHING
    said = statement(first)
    source = [said, then, g.aux, g.extra, g.main, *action.tail]
    return join(source, [said, then, g.before, *action.lead, action.very, g.main, g.after, *action.rest])
