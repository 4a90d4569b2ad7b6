"""Winograd sentences: a clause decides what a pronoun refers to.

"the animal did not cross the street because it was too tired" speaks of a tired animal, "... too wide" of a wide street. The table
tables/reasons.txt lists the actions between two nouns, and what can only be true of the one or the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from viz_core.training.corpus import closed_class, nouns, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import Clause, statement
from viz_core.training.corpus.closed_class import BE, HAVE, TOO, WAS
from viz_core.training.corpus.compound_sentences import pronoun_as_noun
from viz_core.training.corpus.phrases import COMMA, NOTHING, NounPhrase, Phrase, Sampler, aligned, chinese, english, join, pair
from viz_core.training.corpus.predicates import is_contiguous

COULD_NOT_VERBS = (
    "cross",
    "fit in",
    "climb",
    "carry",
    "lift",
    "catch",
    "buy",
    "push",
    "open",
    "see",
    "finish",
    "answer",
    "understand",
)
"""Verbs whose negation often is "could not"."""
CLAUSE_FIRST_IN_CHINESE = ("although", "if", "when", "after")
"""Conjunctions whose clause comes first in Chinese."""
CLAUSE_FIRST_IN_BOTH = {"because": ("因为", ""), "although": ("虽然", ""), "if": ("如果", ""), "when": ("", "的 时候")}
"""Conjunctions whose clause may come first in both languages, and their Chinese before and after it."""
NEVER_TOO = frozenset({
    "kind", "friendly", "polite", "helpful", "generous", "grateful", "pleased", "satisfied", "brave", "honest", "clever",
    "talented", "successful", "famous", "reliable", "rich", "responsible", "safe", "quiet", "delicious", "sweet", "fresh",
    "tasty", "warm", "beautiful", "comfortable", "pretty", "cute", "gentle", "funny", "interesting", "exciting", "useful",
    "popular", "hard-working", "innocent", "patient", "soft", "new", "cheap", "curious", "thoughtful", "strong",
})
"""Qualities that one is never "too" much of as a reason."""
_ADVERBS = ("never", "often", "always")


@dataclass(frozen=True, slots=True)
class WinogradSchema:
    """A line of the table: an action between two nouns, and what can only be true of the first or the second.

    actions: "+ eat", "- eat", "hid ~=把 ~ 藏起来". of_first, of_second: an adjective, or "~need help=需要 帮助".
    """

    first_nouns: str
    actions: tuple[str, ...]
    second_nouns: str
    conjunction: str
    of_first: tuple[str, ...]
    of_second: tuple[str, ...]

    @property
    def is_about_people(self) -> bool:
        """Whether both are persons."""
        return all(noun.is_a("person") for names in (self.first_nouns, self.second_nouns) for noun in lex.nouns(names))


@cache
def schemas(of_people: bool) -> tuple[WinogradSchema, ...]:
    """Return the lines of the table about two persons, or the other lines."""
    found: list[WinogradSchema] = []
    for firsts, deeds, seconds, word, *of_each in lex.read_rows("reasons", 6):
        deeds_, first, second = (tuple(part.strip() for part in cell.split(",")) for cell in (deeds, *of_each))
        found.append(WinogradSchema(firsts, deeds_, seconds, word, first, second))
    return tuple(scene for scene in found if scene.is_about_people == of_people)


# --- Sentences --------------------------------------------------------------------------------------------------------
def winograd_things(s: Sampler) -> Phrase:
    """Draw a Winograd sentence about things, in which Chinese repeats the noun for "it".

    the animal did not cross the street because it was too tired
    """
    return _draw_winograd(s, False)


def winograd_people(s: Sampler) -> Phrase:
    """Draw a Winograd sentence about two persons: the women visited the men because they were lonely."""
    return _draw_winograd(s, True)


def _draw_winograd(s: Sampler, of_people: bool) -> Phrase:
    """Draw a Winograd sentence."""
    scene = s.choice(
        [found for word in (_is_reason(s),) for found in schemas(of_people) if (found.conjunction == "because") == word]
    )
    one, two = _draw_noun(s, scene.first_nouns, scene), _draw_noun(s, scene.second_nouns, scene)
    for __ in range(8):
        if one.noun is None or two.noun is None or one.noun.chinese != two.noun.chinese:
            break
        two = _draw_noun(s, scene.second_nouns, scene)
    antecedent, other, reasons = s.choice(((one, two, scene.of_first), (two, one, scene.of_second)))
    reason, action = _fitting_reason(s, reasons, antecedent), s.choice(scene.actions)
    verbal = reason.startswith("~")
    leads = not of_people and scene.conjunction in CLAUSE_FIRST_IN_BOTH and "@" not in reason and s.chance(0.15)
    it = _again(s, antecedent, other, as_object=leads and antecedent is two)
    if leads:  # because the street was too wide, the animal did not cross it
        it, again = antecedent.phrase, antecedent.with_phrase(it)
        one, two = (again, two) if antecedent is one else (one, again)
    elif scene.conjunction in CLAUSE_FIRST_IN_CHINESE and antecedent is one and _is_person(one) and not _is_person(two):
        # although he was weak, the boy climbed the tree: Chinese puts the noun in the first clause
        he = pair(one.pronoun, closed_class.SUBJECTS[one.pronoun])
        it = Phrase(he.source, one.phrase.target)
        one = one.with_phrase(Phrase(one.phrase.source, he.target))
    said, now = _by_verb(s, action, one, two, verbal) if action[0] in "+-" else _in_words(action, one, two)
    s.combinations.append((one.name, action.partition("=")[0].strip("+- "), two.name, reason.partition("=")[0].strip("~")))
    clause = _of_verb(s, reason, it, antecedent, other, now) if verbal else _of_adjective(s, reason, it, antecedent, now)
    return _clause_first(s, scene.conjunction, said, clause) if leads else _joined(s, scene.conjunction, said, clause)


def _is_reason(s: Sampler) -> bool:
    """Whether the clause is a reason."""
    return s.chance(0.72)


def _joined(s: Sampler, word: str, said: Phrase, clause: Phrase) -> Phrase:
    """Join both clauses in the order of each language."""
    conjunction = pair(word, {"because": "因为", "so": "所以", "but": "但是", "until": "直到"}.get(word, ""))
    comma = COMMA if s.chance({"but": 0.4, "so": 0.4, "and": 0.4, "because": 0.06}.get(word, 0)) else NOTHING
    source = [said, comma, conjunction, clause]
    if word == "and":
        return join(source, [said, comma or chinese("，"), clause])
    if word == "although":
        return join(source, [aligned(conjunction, "虽然"), clause, chinese("，"), aligned(conjunction, "但是"), said])
    if word == "if":
        return join(source, [aligned(conjunction, "如果"), clause, said])
    behind = {"when": "的 时候", "after": "以后"}.get(word)
    return join(source, [clause, aligned(conjunction, behind), said]) if behind else join(source)


def _clause_first(s: Sampler, word: str, said: Phrase, clause: Phrase) -> Phrase:
    """Join both clauses, the subordinate one first: because the street was too wide, the animal did not cross it."""
    conjunction = pair(word)
    lead, tail = (aligned(conjunction, text) for text in CLAUSE_FIRST_IN_BOTH[word])
    comma = COMMA if s.chance(0.75) or word in ("because", "although") else NOTHING
    but = chinese("但是") if word == "although" else NOTHING
    return join([conjunction, clause, comma, said], [lead, clause, tail, comma, but, said])


def because(said: Phrase, it: NounPhrase, be: Phrase, degree: Phrase, adjective: Phrase, very: str = "很") -> Phrase:
    """Append a reason: ... because it was too tired. very: the Chinese where there is no degree."""
    word = pair("because", "因为")
    target = [said, word, it.phrase, degree or chinese(very), adjective]
    return join([said, word, it.phrase, be, degree, adjective], target)


# --- Nouns and pronouns -----------------------------------------------------------------------------------------------
def _draw_noun(s: Sampler, names: str, scene: WinogradSchema) -> NounPhrase:
    """Draw one of the nouns: the dog, the dogs, my dog, a dog. It has no further modifiers, which could contradict the reason."""
    depth, s.depth = s.depth, 0
    choices = [n for n in lex.nouns(names) if n.plural and not n.only_plural] if scene.is_about_people else lex.nouns(names)
    noun = s.entry(choices)
    many = bool(noun.plural) and not noun.only_plural and s.chance(0.3 if scene.is_about_people else 0.12)
    one = (nouns.the,) * 8 + (nouns.owned, nouns.the if scene.conjunction in CLAUSE_FIRST_IN_CHINESE else nouns.a)
    forms = (nouns.the_plural,) if many else one
    found = nouns.in_form(s, noun, forms)
    s.depth = depth
    return found


def _again(s: Sampler, antecedent: NounPhrase, other: NounPhrase, *, as_object: bool = False) -> Phrase:
    """Return it, he, she or they with the noun in Chinese, but with 他 for the only person of the sentence."""
    pronoun = closed_class.OBJECT_OF[antecedent.pronoun] if as_object else antecedent.pronoun
    if _is_person(antecedent) and not _is_person(other):
        return pair(pronoun, closed_class.SUBJECTS[antecedent.pronoun])
    return pronoun_as_noun(s, antecedent.head, pronoun)


def _is_person(who: NounPhrase) -> bool:
    """Whether the noun is a person."""
    return who.noun is not None and who.noun.is_a("person")


# --- Actions ----------------------------------------------------------------------------------------------------------
def _by_verb(s: Sampler, action: str, one: NounPhrase, two: NounPhrase, verbal: bool) -> tuple[Phrase, bool]:
    """Build the action with a verb of the lexicon, and return whether it is in the present.

    verbal: whether the reason has a verb.
    """
    sign, base = action.split(" ", 1)
    verb = _verb(base, two)
    tense = "present" if s.chance(0.2) and not verbal else "past"
    if sign == "-" and base in COULD_NOT_VERBS and tense == "past" and "能" not in verb.chinese and s.chance(0.5):
        tense = "could"
    for __ in range(12):  # no adjuncts: the pronoun could refer to a third noun
        p = verb_phrases.predicate(s, verb, one, two)
        if len(p.tail) == 1:
            break
    c = Clause(one, p, tense, sign == "-")
    return statement(c), tense == "present"


def _verb(base: str, thing: NounPhrase) -> lex.Verb:
    """Return the sense of a verb that takes this object: visit a person 看望, a museum 参观."""
    same = [v for v in lex.verbs("t") if v.base == base and is_contiguous(v)]
    return next((v for v in same if thing.noun in lex.objects_of(v)), same[0])


def _in_words(action: str, one: NounPhrase, two: NounPhrase) -> tuple[Phrase, bool]:
    """Build the action from words with a place for the second noun, and return whether it is in the present or future."""
    text, __, zh = action.partition("=")
    text, zh = (words if "~" in words else f"{words} ~" for words in (text, zh))
    if text.startswith("was ") and one.person == "plural":
        text = f"were{text[3:]}"
    front, back = (pair(part) for part in text.split("~"))
    verb = Phrase((*front.source, *back.source))
    left, right = (aligned(verb, part) for part in zh.split("~"))
    said = join([one.phrase, front, two.phrase, back], [one.phrase, left, two.phrase, right])
    return said, text.startswith(("will ", "cannot "))


# --- Reasons ----------------------------------------------------------------------------------------------------------
def _fitting_reason(s: Sampler, reasons: tuple[str, ...], antecedent: NounPhrase) -> str:
    """Draw a reason that can be true of the noun."""
    described = {a.english for a in lex.adjectives_of(antecedent.noun)} if antecedent.noun else set()
    fitting = [reason for reason in reasons if reason.startswith("~") or reason in described]
    return s.choice(fitting or reasons)


def _adjective(reason: str, antecedent: NounPhrase) -> lex.Adjective:
    """Return the sense of the adjective that describes the noun: an old man 老, an old car 旧."""
    described = lex.adjectives_of(antecedent.noun) if antecedent.noun else ()
    people = antecedent.noun is not None and antecedent.noun.is_a("person")
    known = [a for a in lex.ADJECTIVES if a.english == reason and a.flags.isdisjoint({"of", "nopred"})]
    best = [a for a in known if a in described] or [a for a in known if lex.describes_people(a) == people] or known
    return best[0]


def _of_adjective(s: Sampler, reason: str, it: Phrase, antecedent: NounPhrase, now: bool) -> Phrase:
    """Build a reason with an adjective: it was too tired -> 动物 太 累."""
    adjective = _adjective(reason, antecedent)
    be, word = pair((BE if now else WAS)[antecedent.person]), pair(adjective.english, adjective.chinese)
    if "shi" in adjective.flags:
        return join([it, be, word], [it, aligned(be, "是"), word, chinese("的")])
    if "le" in adjective.flags:
        return join([it, be, word], [it, word, chinese("了")])
    degrees = {word: zh for word, zh in TOO.items() if word != "too" or reason not in NEVER_TOO}
    degree = s.pair(degrees) if s.chance(0.7) and "verb" not in adjective.flags else NOTHING
    very = degree or (chinese("很") if "verb" not in adjective.flags else NOTHING)
    return join([it, be, degree, word], [it, very, word])


def _of_verb(s: Sampler, reason: str, it: Phrase, antecedent: NounPhrase, other: NounPhrase, now: bool) -> Phrase:
    """Build a reason with a verb: it needed help -> 女孩 需要 帮助; she had helped him -> 女孩 帮助 了 男孩."""
    text, __, zh = reason[1:].partition("=")
    first, __, rest = text.partition(" ")
    adverb = NOTHING
    if first in _ADVERBS:
        adverb, (first, __, rest) = english(first), rest.partition(" ")
    words = f"{_form(first, antecedent, now)} {rest}"
    if "@" not in text:
        verb = pair(words)
        return join([it, adverb, verb], [it, aligned(Phrase((*adverb.source, *verb.source)), zh)])
    referent = s.referent
    him = _again(s, other, antecedent, as_object=True)
    s.referent = referent or s.referent
    front, back = (pair(part) for part in words.split("@"))
    verb = Phrase((*adverb.source, *front.source, *back.source))
    left, right = (aligned(verb, part) for part in zh.split("@"))
    return join([it, adverb, front, him, back], [it, left, him, right])


def _form(base: str, who: NounPhrase, now: bool) -> str:
    """Return the form of a verb that agrees: be -> is, was; can -> could; need -> needs, needed."""
    if base in ("be", "have"):
        forms = {"be": (BE, WAS), "have": (HAVE, dict.fromkeys(HAVE, "had"))}[base]
        return forms[not now][who.person]
    if base in ("can", "do"):
        return base if now and (base == "can" or who.person == "plural") else {"can": "could", "do": "does" if now else "did"}[base]
    verb = _by_first_word()[base]
    form = verb.past if not now else verb.third if who.person == "third" else verb.base
    return form.split()[0]


@cache
def _by_first_word() -> Mapping[str, lex.Verb]:
    """Return the verbs by their first word."""
    return {verb.base.split()[0]: verb for verb in reversed(lex.VERBS)}
