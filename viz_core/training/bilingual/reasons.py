"""Sentences in which the reason decides what a pronoun means (Winograd sentences).

"the animal did not cross the street because it was too tired" speaks of a tired animal, "... too wide" of a wide street.
"""

from dataclasses import dataclass

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import nouns, verb_phrases
from viz_core.training.bilingual.clauses import Clause, statement
from viz_core.training.bilingual.compound import repeated, stands_for
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, chinese, join, pair
from viz_core.training.bilingual.predicates import is_whole
from viz_core.training.bilingual.small_words import BE, TOO, WAS


@dataclass(frozen=True, slots=True)
class Reasons:
    """Who does it to what, and the adjectives that can only describe the one or the other."""

    verb: str
    firsts: str
    seconds: str
    of_first: str
    of_second: str


THINGS = (
    Reasons(
        "cross", "animal person", "'street' 'road' 'river' 'bridge' 'field'", "tired weak scared old slow sleepy sick lazy",
        "wide busy dangerous long deep",
    ),
    Reasons("fit in", "thing toy reading", "container", "big large long wide thick heavy", "small narrow short tiny"),
    Reasons("eat", "animal pet bird", "food fruit", "hungry greedy", "delicious sweet tasty fresh"),
    Reasons(
        "climb", "animal person", "'tree' 'mountain' 'wall' 'hill'", "tired weak scared old sick lazy", "high dangerous",
    ),
    Reasons("carry", "person", "thing 'box'", "weak tired small old", "heavy big large"),
    Reasons("lift", "person", "furniture", "weak tired old", "heavy big large"),
    Reasons("buy", "person", "clothes thing device", "poor", "expensive cheap ugly"),
    Reasons("drink", "animal person", "drink", "thirsty", "cold hot sweet"),
    Reasons("catch", "animal pet", "animal bird", "slow tired weak", "fast quick"),
    Reasons("push", "person", "furniture vehicle", "weak tired strong", "heavy big"),
    Reasons("chase", "animal pet", "animal pet", "hungry angry fast", "small slow scared"),
    Reasons("read", "person", "reading", "bored curious", "interesting short famous popular useful"),
    Reasons("wear", "person", "clothes", "cold", "warm beautiful new comfortable"),
    Reasons("sell", "person", "vehicle device furniture", "poor", "old useless slow expensive"),
    Reasons("drive", "person", "vehicle", "tired late", "fast new old expensive"),
    Reasons("open", "person", "'window' 'door' 'box'", "curious hot", "small dirty"),
    Reasons("follow", "animal person", "animal person", "curious lonely scared", "fast big kind"),
)
OFTEN_NEGATED = ("cross", "fit in", "climb", "carry", "lift", "catch", "buy")
PEOPLE = tuple(
    Reasons(verb, "person", "person", of_first, of_second)
    for verb, of_first, of_second in (
        ("fear", "weak scared small", "strong angry cruel"),
        ("help", "kind nice", "lost weak sick tired old"),
        ("love", "kind", "beautiful kind funny"),
        ("punish", "angry strict", "rude naughty lazy"),
        ("thank", "grateful happy polite", "kind helpful generous"),
        ("believe", "foolish kind", "honest serious reliable"), ("trust", "kind foolish", "honest reliable responsible"),
        ("hate", "jealous angry", "cruel rude selfish mean greedy"), ("admire", "young polite", "brave famous successful clever"),
        ("invite", "kind friendly lonely", "famous funny lonely"), ("forgive", "kind generous", "sorry honest"),
        ("blame", "angry unfair", "careless lazy late"), ("praise", "kind happy", "brave honest polite hard-working"),
        ("protect", "strong brave", "weak small young"), ("attack", "angry cruel", "weak rude"),
        ("bother", "bored rude", "busy tired"), ("hug", "happy", "sad cute"),
        ("visit", "lonely worried", "sick ill famous"),
    )
)


def about_things(s: Speaker) -> Phrase:
    """the animal did not cross the street because it was too tired: "it" becomes its noun again."""
    row = s.one(THINGS)
    one = nouns.noun_phrase(s, lex.nouns(row.firsts), {nouns.the: 8, nouns.owned: 2, nouns.a: 1})
    two = nouns.noun_phrase(s, lex.nouns(row.seconds), {nouns.the: 8, nouns.owned: 1.5, nouns.a: 1, nouns.this: 0.5})
    verb = _verb(row.verb, two)
    culprit, reasons = s.one(((one, row.of_first), (two, row.of_second)))
    adjective = _adjective(s, reasons, culprit)
    negated = row.verb in OFTEN_NEGATED and s.chance(0.85)
    tense = s.one(("past", "past", "past", "could", "present") if negated else ("past", "past", "present"))
    if tense == "could" and "能" in verb.chinese:  # 能装进
        tense = "past"
    c = Clause(one, verb_phrases.predicate(s, verb, one, two), tense, negated)
    s.combinations.append((one.name, row.verb, two.name, adjective.english))
    it = _again(s, culprit) if two.noun and two.noun.is_a("person") else repeated(s, culprit)
    be = pair((BE if tense == "present" else WAS)[it.person])
    degree = s.word(TOO) if s.chance(0.9) else NOTHING
    return because(statement(c), it, be, degree, pair(adjective.english, adjective.chinese))


def _verb(base: str, thing: NounPhrase) -> lex.Verb:
    """The use of a verb that takes this object: visit a person 看望, a museum 参观."""
    same = [v for v in lex.verbs("t") if v.base == base and is_whole(v)]
    return next((v for v in same if thing.noun in lex.objects_of(v)), same[0])


def _adjective(s: Speaker, reasons: str, culprit: NounPhrase) -> lex.Adjective:
    """One of the reasons, as it is said of the noun."""
    known = {a.english: a for a in lex.ADJECTIVES if a.flags.isdisjoint({"of", "nopred"})}
    described = lex.adjectives_of(culprit.noun) if culprit.noun else ()
    fitting = {a.english: a for a in described if "nopred" not in a.flags}
    word = s.one([reason for reason in reasons.split() if reason in known])
    return fitting.get(word, known[word])


def about_people(s: Speaker) -> Phrase:
    """the women visited the men because they were lonely: two persons, and a reason about one of them."""
    row = s.one(PEOPLE)
    form = nouns.the_plural if s.chance(0.5) else nouns.the
    persons = [n for n in lex.nouns("person") if n.plural and not n.only_plural]
    one, two = form(s, s.usual(persons)), form(s, s.usual(persons))
    known = {a.english: a for a in lex.ADJECTIVES if lex.of_people(a) and "nopred" not in a.flags}
    culprit, reasons = s.one(((one, row.of_first), (two, row.of_second)))
    adjective = known[s.one(reasons.split())]
    c = Clause(one, verb_phrases.predicate(s, _verb(row.verb, two), one, two), "past", s.chance(0.15))
    it = _again(s, culprit)
    degree = s.word(TOO) if s.chance(0.7) and "le" not in adjective.flags else NOTHING
    word = pair(adjective.english, adjective.chinese)
    very = "很" if adjective.flags.isdisjoint({"le", "verb"}) else ""
    said = because(statement(c), it, pair(WAS[it.person]), degree, word, very)
    return join([said, chinese("了") if "le" in adjective.flags else NOTHING])


def because(said: Phrase, it: NounPhrase, be: Phrase, degree: Phrase, adjective: Phrase, very: str = "很") -> Phrase:
    """... because it was too tired. very: what Chinese says where there is no degree."""
    word = pair("because", "因为")
    target = [said, word, it.phrase, degree or chinese(very), adjective]
    return join([said, word, it.phrase, be, degree, adjective], target)


def _again(s: Speaker, culprit: NounPhrase) -> NounPhrase:
    """The noun again, for it, he, she or they alike: the reason has decided whom the pronoun means."""
    return culprit.with_phrase(stands_for(s, culprit.head, culprit.pronoun))
