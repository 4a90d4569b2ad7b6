"""Subjects of clauses: nouns, pronouns, names, everybody, coordinations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from viz_core.training.corpus import builders, closed_class, nouns
from viz_core.training.corpus.lexicon import Noun
from viz_core.training.corpus.phrases import NOTHING, Link, NounPhrase, Person, Phrase, Sampler, aligned, join, pair

PRONOUNS: Mapping[str, float] = {"I": 9, "you": 5, "he": 6, "she": 6, "we": 5, "they": 4}
SUBJECT_FORMS: nouns.Forms = {**nouns.DEFAULT_FORMS, nouns.the: 36, nouns.a: 8, nouns.owned: 24}
"""The forms of a subject: more often definite than those of an object."""
QUESTION_PRONOUNS: Mapping[str, float] = {"I": 1.5, "you": 14, "he": 5, "she": 5, "we": 2, "they": 4}
"""Subject pronouns of questions."""
PRONOUNS_OF_THINGS: Mapping[str, float] = {"it": 4, "this": 1, "that": 1}


def people(choices: Sequence[Noun]) -> list[Noun]:
    """Return the nouns that are persons."""
    return [noun for noun in choices if noun.is_a("person")]


def subject(s: Sampler, choices: Sequence[Noun]) -> NounPhrase:
    """Draw a subject: a noun, a pronoun, a name, everybody; sometimes two coordinated ones."""
    being = bool(people(choices[:40]))
    kind = s.weighted({
        "noun": 38, "pronoun": 54 if being else 8, "name": 8 if being else 0, "everybody": 2.5 if being else 0.5,
        "and": 2 if s.can_nest() else 0, "relative": 3 if s.can_nest() else 0,
    })
    if kind == "pronoun":
        return pronoun_phrase("it") if being and s.chance(0.02) and choices[0].is_a("animal") else pronoun(s, being)
    if kind == "name":
        return nouns.proper_name(s)
    if kind == "everybody":
        return everybody(s) if being else everything()
    if kind == "and":
        s.depth -= 1
        one, two = subject_noun(s, choices, being), subject_noun(s, choices, being)
        if being and s.chance(0.3):
            two = _me()
        both = join([one.phrase, pair("and", "和"), two.phrase])
        return NounPhrase(both, one.head, one.noun, "plural", "they", name=one.name)
    if kind == "relative":
        s.depth -= 1
        return builders.noun_phrases["relative"](s, s.entry(choices))
    return _few(nouns.noun_phrase(s, choices, SUBJECT_FORMS))


def _few(who: NounPhrase) -> NounPhrase:
    """Add the 有 that "few" needs in a subject: few students (came) -> 很少 有 学生 来."""
    if not who.phrase.source or who.phrase.source[0].text != "few" or who.phrase.target[0][0] != "很少":
        return who
    (__, of), *rest = who.phrase.target
    few: tuple[Link, ...] = (("很少", of), ("有", of))
    return replace(who, phrase=Phrase(who.phrase.source, (*few, *rest[1:])), negative=True)


def subject_noun(s: Sampler, choices: Sequence[Noun], being: bool) -> NounPhrase:
    """Draw a short noun phrase, or a name if there are persons among the nouns."""
    return (
        nouns.proper_name(s)
        if being and s.chance(0.25)
        else nouns.noun_phrase(s, choices, {nouns.the: 3, nouns.owned: 3, nouns.a: 1})
    )


def pronoun(s: Sampler, being: bool = True) -> NounPhrase:
    """Draw I, you, he, ...; for things it, this or that."""
    return pronoun_phrase(s.weighted((QUESTION_PRONOUNS if s.is_question else PRONOUNS) if being else PRONOUNS_OF_THINGS))


def pronoun_phrase(name: str) -> NounPhrase:
    """Return a pronoun or a demonstrative as a noun phrase."""
    word = pair(name, (closed_class.SUBJECTS | closed_class.DEMONSTRATIVES)[name])
    if name in closed_class.DEMONSTRATIVES:
        return NounPhrase(word, word, name=name)
    person: Person = "I" if name == "I" else "third" if name in ("he", "she", "it") else "plural"
    return NounPhrase(word, word, person=person, pronoun=name, name=name)


def _me() -> NounPhrase:
    """Return "I" for (my brother and) I."""
    word = pair("I", "我")
    return NounPhrase(word, word, name="I")


def everything() -> NounPhrase:
    """Return "everything" as a subject: everything (is fine) -> 一切 都 ..."""
    word = pair("everything", "一切")
    return NounPhrase(word, word, name="everything", takes_dou=True)


def something(s: Sampler) -> NounPhrase:
    """Draw an indefinite pronoun.

    something -> 一些 东西; something new -> 一些 新 的 东西; something to eat -> 一些 吃 的 东西; everything -> 一切.
    """
    if s.chance(0.3):
        word = pair("everything", "一切")
        return NounPhrase(word, word, name="everything")
    word, rest = pair("something", "一些"), NOTHING
    if s.chance(0.6):
        rest = s.pair(closed_class.OF_SOMETHING)
    target = [word, rest, aligned(rest, "的") if rest else NOTHING, aligned(word, "东西")]
    return NounPhrase(join([word, rest], target), word, name="something")


def negated_subject(s: Sampler, choices: Sequence[Noun]) -> NounPhrase:
    """Return a subject that negates its verb: nothing 什么 都 不, neither of us 我们 两个 都 不. `Clause` adds the 不."""
    noun = s.entry(choices)
    if noun.plural and not noun.only_plural and s.chance(0.5):
        return nouns.none_of(s, noun)
    word = s.pair(closed_class.NONE_OF_US) if people(choices[:40]) else pair("nothing", "什么")
    return NounPhrase(word, word, name="none", takes_dou=True, negator=Phrase(word.source))


def everybody(s: Sampler) -> NounPhrase:
    """Draw an indefinite person: everybody 大家, some people 有些 人, nobody 没有 人."""
    negative = s.chance(0.3)
    text, zh = s.choice(list((closed_class.NOBODY if negative else closed_class.SOMEBODY).items()))
    word = pair(text, zh)
    many = text.split()[-1] in ("people", "us", "them") and not text.startswith("one")
    return NounPhrase(
        word, word, person="plural" if many else "third", name=text, negative=negative, takes_dou=text in closed_class.ALL
    )
