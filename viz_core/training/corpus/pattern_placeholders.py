"""The phrases that fill the placeholders of a pattern: subjects, and words of a kind, such as {a:food} and {clock}."""

from collections.abc import Callable, Mapping

from viz_core.training.corpus import closed_class, nouns, subjects
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.phrases import NounPhrase, Phrase, Sampler, aligned, join, pair
from viz_core.training.corpus.predicates import somewhere
from viz_core.training.corpus.time_expressions import clock, draw_time, duration


def _person(s: Sampler, wanted: str) -> NounPhrase:
    """Draw a subject: a pronoun, a name, or a person such as my brother or the doctor."""
    kind = s.weighted({"pronoun": 6, "name": 2, "noun": 3})
    if kind == "name":
        return nouns.proper_name(s)
    if kind == "noun":
        return _somebody(s)
    return subjects.pronoun_phrase(s.weighted(_WHO))


def _he(s: Sampler, wanted: str) -> NounPhrase:
    """Draw he, she, a name or a person, but never I, you, we or they."""
    kind = s.weighted({"pronoun": 4, "name": 2, "noun": 3})
    if kind == "name":
        return nouns.proper_name(s)
    return _somebody(s) if kind == "noun" else subjects.pronoun_phrase(s.choice(("he", "she")))


def _we(s: Sampler, wanted: str) -> NounPhrase:
    """Draw I, we, you or they, which take a verb without -s."""
    return subjects.pronoun_phrase(s.weighted(_WE))


def _somebody(s: Sampler) -> NounPhrase:
    """Draw a person without adjectives: my brother, the teacher."""
    noun = s.entry(lex.nouns(_KNOWN))
    theirs = noun.is_a("family") or noun.english in ("friend", "teacher", "boss", "neighbour")
    owner = s.pair(_OWNERS) if theirs and noun.english != "child" else pair("the")
    head = pair(noun.english, noun.chinese)
    of = aligned(owner, "的") if owner.target else owner
    said = join([owner, head], [owner, Phrase((), of.target), head])
    return NounPhrase(said, head, noun, pronoun=nouns.pronoun_for(s, noun, "third"), name=noun.english)


def whom(s: Sampler, wanted: str, who: NounPhrase | None = None) -> Phrase:
    """Draw me, her, Anna or my brother, but not the actor: nobody says "I meet me"."""
    kind = s.weighted({"pronoun": 5, "name": 3, "noun": 3})
    if kind == "pronoun":
        same = closed_class.NOT_MET.get(who.name, ()) if who else ()
        return s.pair({word: zh for word, zh in closed_class.PERSONS.items() if word not in same})
    return nouns.proper_name(s).phrase if kind == "name" else _somebody(s).phrase


def _job(s: Sampler, wanted: str) -> Phrase:
    """Draw a profession: a doctor -> 一 名 医生."""
    noun = s.entry([n for n in lex.nouns("job") if n.english != "police"])
    head = pair(noun.english, noun.chinese)
    one = pair(nouns.a_or_an([head]), "一")
    return join([one, head], [one, aligned(head, "名" if noun.classifier else ""), head])


def _noun(*forms: nouns.Form) -> Callable[[Sampler, str], NounPhrase]:
    """Return a builder of a noun in one of these forms; without a class, the noun is any thing."""
    def build(s: Sampler, wanted: str) -> NounPhrase:
        return nouns.in_form(s, s.entry(lex.nouns(wanted or "thing")), forms)

    return build


def _group(s: Sampler, wanted: str) -> NounPhrase:
    """Draw a plural with "the", to which {it1} refers as they: the students -> 学生 们."""
    return nouns.the_plural(s, s.entry([n for n in lex.nouns(wanted) if n.plural and not n.only_plural]))


def _single(s: Sampler, wanted: str) -> NounPhrase:
    """Draw a singular with "the", of the nouns that have a plural: the dog, the boy."""
    if "person" in wanted.split() and s.chance(0.5):
        wanted = _KNOWN
    return nouns.the(s, s.entry([n for n in lex.nouns(wanted) if n.plural and not n.only_plural]))


def _several(s: Sampler, wanted: str) -> NounPhrase:
    """Draw a plural of things without a number: dogs, old books."""
    return nouns.bare(s, s.entry([n for n in lex.nouns(wanted) if n.plural and not n.only_plural]))


def _only(build: Callable[[Sampler, str], NounPhrase]) -> Callable[[Sampler, str], Phrase]:
    """Return a builder of the phrase alone, where no verb agrees with it."""
    return lambda s, wanted: build(s, wanted).phrase


def _noun_alone(s: Sampler, wanted: str) -> Phrase:
    """Draw a noun without an article: dog."""
    noun = s.entry([n for n in lex.nouns(wanted) if n.english not in wanted.split()])
    return pair(noun.english, noun.chinese)


def _plural_alone(s: Sampler, wanted: str) -> Phrase:
    """Draw a plural alone: dogs."""
    noun = s.entry([n for n in lex.nouns(wanted) if n.plural and n.english not in wanted.split()])
    return pair(noun.plural, noun.chinese)


def _adjective(s: Sampler, wanted: str) -> Phrase:
    """Draw an adjective that describes one of these nouns and can follow 很."""
    noun = s.entry(lex.nouns(wanted or "person"))
    found = [a for a in lex.adjectives_of(noun) if a.flags.isdisjoint({"shi", "ren", "nopred", "le", "verb", "of"})]
    adjective = s.entry(found or [a for a in lex.ADJECTIVES if a.english in ("good", "big")])
    return pair(adjective.english, adjective.chinese)


def _place(s: Sampler, wanted: str) -> Phrase:
    """Draw a place: in the park -> 在 公园 里."""
    source, target = nouns.place(s) if wanted else somewhere(s)
    said = join(source, target)
    return said if said.target[0][0].startswith("在") else Phrase(said.source, (("在", ()), *said.target))


def _digits(s: Sampler, wanted: str) -> Phrase:
    """Return a slot for a number in digits, which is copied as typed."""
    slot = s.new_slot()
    return pair(slot, slot)


_WHO: Mapping[str, float] = {"I": 8, "you": 3, "he": 6, "she": 6, "we": 4, "they": 4}
_OWNERS = {owner: zh for owner, zh in closed_class.OWNERS.items() if owner != "its"}
_WE: Mapping[str, float] = {"I": 8, "we": 4, "they": 3, "you": 2}
_KNOWN = " ".join(f"'{noun}'" for noun in (
    "mother", "father", "brother", "sister", "mom", "mum", "dad", "son", "daughter", "uncle", "aunt", "grandmother", "grandfather",
    "wife", "husband", "friend", "teacher", "boss", "neighbour", "boy", "girl", "man", "woman", "child", "doctor", "student",
    "old man", "old woman",
))
SUBJECT_KINDS: Mapping[str, Callable[[Sampler, str], NounPhrase]] = {
    "who": _person, "pron": lambda s, wanted: subjects.pronoun_phrase(s.weighted(_WHO)), "he": _he, "I": _we,
    "you": lambda s, wanted: subjects.pronoun_phrase("you"), "thing": _noun(nouns.the, nouns.owned, nouns.this),
    "named": lambda s, wanted: nouns.proper_name(s), "the": _single, "this": _noun(nouns.this), "my": _noun(nouns.owned),
    "some": _several, "group": _group,
}
"""The kinds of subject placeholders; the verb agrees with the first of them."""
KINDS: Mapping[str, Callable[[Sampler, str], Phrase]] = {
    "whom": whom, "job": _job, "name": _only(lambda s, wanted: nouns.proper_name(s)), "a": _only(_noun(nouns.a)),
    "bare": _only(_noun(nouns.bare)), "what": _only(_noun(nouns.a, nouns.the, nouns.owned)), "noun": _noun_alone,
    "nouns": _plural_alone, "adj": _adjective, "place": _place,
    "number": lambda s, wanted: s.pair(closed_class.AGES),
    "few": lambda s, wanted: s.pair(closed_class.FEW_NUMBERS), "digits": _digits, "clock": lambda s, wanted: clock(s),
    "span": lambda s, wanted: duration(s), "when": draw_time,
    "hour": lambda s, wanted: s.pair(closed_class.CLOCK), "position": lambda s, wanted: s.pair(closed_class.ORDINALS),
}
