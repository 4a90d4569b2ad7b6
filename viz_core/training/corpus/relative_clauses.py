"""Relative clauses: after the noun in English, before it with 的 in Chinese (the book that I bought, 我 买 的 书)."""

from collections.abc import Mapping, Sequence
from functools import cache

from viz_core.training.corpus import builders, nouns, subjects, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import (
    Clause,
    chinese_pieces,
    is_static,
    make_clause,
    plain_clause,
    subordinate_english,
    verb_group,
)
from viz_core.training.corpus.phrases import (
    NOTHING,
    NounPhrase,
    Phrase,
    Sampler,
    aligned,
    chinese,
    english,
    english_text,
    pair,
    with_de,
)
from viz_core.training.corpus.predicates import Predicate, by_person, first_chinese_word, verbs_of_object, verbs_of_subject
from viz_core.training.corpus.time_expressions import draw_time

IN_WHICH: Mapping[str, Sequence[tuple[str, str]]] = {
    **dict.fromkeys(("house", "flat", "apartment", "town", "village", "city", "country"), (("live", "in"),)),
    **dict.fromkeys(("chair", "sofa", "bench"), (("sit", "on"),)), "bed": (("sleep", "in"), ("sit", "on")),
    **dict.fromkeys(("office", "hospital", "bank", "factory", "shop", "restaurant"), (("work", "in"),)),
    "room": (("sleep", "in"), ("work", "in")), "hotel": (("stay", "in"), ("stay", "at")), "school": (("study", "at"),),
}
"""Noun -> (verb, preposition) of relative clauses with a stranded preposition."""
HEADS: nouns.Forms = {
    nouns.the: 5, nouns.the_plural: 2, nouns.a: 1.5, nouns.this: 0.5, nouns.counted: 0.7, nouns.some: 0.7, nouns.every: 0.7,
}


def relative(s: Sampler, noun: lex.Noun) -> NounPhrase:
    """Draw a noun with a relative clause.

    the man who lives here -> 住 在 这里 的 男人; the book (that) I bought -> 我 买 的 书; the house where he lives.
    """
    forms: nouns.Forms = {nouns.the: 1} if noun.is_mass or noun.only_plural else HEADS
    head = s.weighted(forms)(s, noun)
    kind = s.weighted({
        "subject": 45, "object": 40 if verbs_of_object(noun) else 0,
        "where": 10 if noun.is_a("place", "building", "room", "city", "country") else 0, "whose": 4 if noun.is_a("person") else 0,
        "with": 14 if _done_together(noun) else 0, "in": 12 if noun.english in IN_WHICH else 0,
        "doing": 12 if noun.is_a("being") else 0, "done": 6 if verbs_of_object(noun) else 0,
    })
    if kind == "doing":
        return _doing(s, noun, head)
    if kind == "done":
        return _done_by(s, noun, head)
    if kind == "with":
        return _with_whom(s, noun, head)
    if kind == "in":
        return _in_which(s, noun, head)
    if kind == "object":
        return _of_object(s, noun, head)
    if kind == "where":
        return _where(s, noun, head)
    return _of_subject(s, noun, head, whose=kind == "whose")


def attach_clause(head: NounPhrase, word: Phrase, c: Clause, *, own_subject: bool = False) -> NounPhrase:
    """Attach a clause whose gap the noun fills. word: that, who, which, where, whose or nothing.

    own_subject: whether the clause has another subject, and so precedes the number: these books that I bought 我 买 的 这些 书.
    """
    g = verb_group(c)
    put = nouns.modify_before_number if own_subject else nouns.modify_after_number
    return put(head, subordinate_english(c, g, word), with_de(chinese_pieces(c, g)))


def _doing(s: Sampler, noun: lex.Noun, head: NounPhrase) -> NounPhrase:
    """Attach a present participle: the boy playing in the park -> 在 公园 里 玩 的 男孩."""
    frame: lex.Frame = s.choice(("i", "t", "loc", "loc"))
    verb = s.entry([v for v in verbs_of_subject(noun, frame) if v.has_progressive] or lex.verbs_where(by_person, "loc"))
    p = verb_phrases.predicate(s, verb)
    here = "" if "post" in verb.flags or is_static(verb) or first_chinese_word(p.lead).startswith("在") else "在"
    main = pair(verb.ing, verb.chinese if p.chinese == verb.chinese else p.chinese)
    said = [main, aligned(main, "着")] if verb.base == "wear" else [main]
    return nouns.modify_after_number(head, [main, *p.tail], with_de([aligned(main, here), *p.lead, *said, *p.rest]))


def _done_by(s: Sampler, noun: lex.Noun, head: NounPhrase) -> NounPhrase:
    """Attach a past participle: the book written by my friend -> 我 的 朋友 写 的 书."""
    verb = s.entry([v for v in verbs_of_object(noun) if by_person(v)] or verbs_of_object(noun))
    who, main = subjects.subject_noun(s, lex.subjects_of(verb), being=by_person(verb)), pair(verb.participle, verb.chinese)
    return nouns.modify_before_number(head, [main, pair("by"), who.phrase], with_de([who.phrase, main]))


def _of_object(s: Sampler, noun: lex.Noun, head: NounPhrase) -> NounPhrase:
    """Attach a clause whose object is the noun: the book (that) I bought, the man whom she loves."""
    verb = s.entry(verbs_of_object(noun))
    if s.chance(0.4):
        choices = lex.subjects_of(verb)
        who = subjects.subject_noun(s, choices, bool(subjects.people(choices[:5])))
    else:
        who = subjects.pronoun(s, by_person(verb))
    p = Predicate(verb, verb.chinese, takes_le=False, about=(verb.base, noun.english))
    c = plain_clause(s, who, p=p, tense=s.choice(("past", "past", "past", "present", "perfect")))
    if s.chance(0.15):
        c.time = draw_time(s, c.tense)
    again = who.name == "that" or english_text(who.phrase).startswith("that ")
    word = s.choice(("", "") if again else ("that", "", "", "who" if noun.is_a("person") else "which"))
    return attach_clause(head, english(word), c, own_subject=True)


def _where(s: Sampler, noun: lex.Noun, head: NounPhrase) -> NounPhrase:
    """Attach a clause with "where": the house where he lives -> 他 住 的 房子."""
    verb = s.entry(lex.verbs_where(by_person, "loc"))
    who = subjects.pronoun(s)
    p = Predicate(verb, verb.chinese, takes_le=False, about=(verb.base, noun.english))
    return attach_clause(head, english("where"), plain_clause(s, who, p=p, tense=s.choice(("past", "present"))), own_subject=True)


@cache
def _done_together(noun: lex.Noun) -> tuple[lex.Verb, ...]:
    """Return the verbs that a person does with this noun: talk to 和 ~ 说话."""
    return tuple(v for v in lex.verbs("t") if v.chinese.startswith("和 ~ ") and by_person(v) and noun in lex.objects_of(v))


def _with_whom(s: Sampler, noun: lex.Noun, head: NounPhrase) -> NounPhrase:
    """Attach a clause with a companion as its gap: the girl I talked to -> 和 我 说话 的 女孩."""
    verb, who = s.entry(_done_together(noun)), subjects.pronoun(s)
    p = Predicate(verb, verb.chinese.partition("~")[2].strip(), takes_le=False, about=(verb.base, noun.english))
    c = plain_clause(s, who, p=p, tense=s.choice(("past", "past", "present")))
    g = verb_group(c)
    word = english(s.choice(("", "", "that", "who" if noun.is_a("person") else "that")))
    return nouns.modify_after_number(head, subordinate_english(c, g, word), [chinese("和"), who.phrase, g.main, chinese("的")])


def _in_which(s: Sampler, noun: lex.Noun, head: NounPhrase) -> NounPhrase:
    """Attach a clause with a stranded preposition.

    the chair I sat on -> 我 坐 的 椅子; the house that she lives in -> 她 住 的 房子.
    """
    base, preposition = s.choice(IN_WHICH[noun.english])
    verb = next(v for v in lex.verbs("loc") if v.base == base and by_person(v))
    p = Predicate(verb, verb.chinese, [english(preposition)], takes_le=False, about=(verb.base, noun.english))
    c = plain_clause(s, subjects.pronoun(s), p=p, tense=s.choice(("past", "present")))
    return attach_clause(head, english(s.choice(("", "", "that", "which"))), c, own_subject=True)


def _of_subject(s: Sampler, noun: lex.Noun, head: NounPhrase, *, whose: bool) -> NounPhrase:
    """Attach a clause whose subject is the noun or what it owns.

    the man who lives here -> 住 在 这里 的 男人; the man whose dog is big -> 狗 很 大 的 男人.
    """
    word = "that" if s.chance(0.4) else "who" if noun.is_a("person") else "which"
    who = NounPhrase(NOTHING, NOTHING, noun, head.person, head.pronoun, name=noun.english)
    if whose:
        word, thing = "whose", s.entry(lex.nouns("family thing pet"))
        owned = pair(thing.english, thing.chinese)
        who = NounPhrase(owned, owned, thing, name=thing.english)
    c = make_clause(s, who, plain=True)
    c.predicate.takes_le = False
    if s.chance(0.15):
        c.time = draw_time(s, c.tense)
    return attach_clause(head, english(word), c)


builders.noun_phrases["relative"] = relative
