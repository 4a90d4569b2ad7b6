"""Who or what a clause is about: a noun, a pronoun, a name, everybody, two at once."""

from collections.abc import Mapping, Sequence

from viz_core.training.bilingual import inside, nouns, small_words
from viz_core.training.bilingual.lexicon import Noun
from viz_core.training.bilingual.phrases import NounPhrase, Person, Speaker, join, pair

PRONOUNS: Mapping[str, float] = {"I": 9, "you": 5, "he": 6, "she": 6, "we": 5, "they": 4, "it": 0.6}
PRONOUNS_OF_THINGS: Mapping[str, float] = {"it": 4, "they": 1, "this": 1, "that": 1}


def people(choices: Sequence[Noun]) -> list[Noun]:
    """Those of them that are persons."""
    return [noun for noun in choices if noun.is_a("person")]


def subject(s: Speaker, choices: Sequence[Noun]) -> NounPhrase:
    """A noun, a pronoun, a name, everybody; sometimes two."""
    being = bool(people(choices[:40]))
    kind = s.often({
        "noun": 50, "pronoun": 38 if being else 6, "name": 7 if being else 0, "everybody": 3 if being else 0,
        "and": 3 if s.deeper() else 0, "relative": 4 if s.deeper() else 0,
    })
    if kind == "pronoun":
        return pronoun(s, being)
    if kind == "name":
        return nouns.name(s)
    if kind == "everybody":
        return everybody(s)
    if kind == "and":
        s.depth -= 1
        one, two = subject_noun(s, choices, being), subject_noun(s, choices, being)
        both = join([one.phrase, pair("and", "和"), two.phrase])
        return NounPhrase(both, one.head, one.noun, "plural", "they", name=one.name)
    if kind == "relative":
        s.depth -= 1
        return inside.noun_phrases["relative"](s, s.one(choices))
    return nouns.noun_phrase(s, choices)


def subject_noun(s: Speaker, choices: Sequence[Noun], being: bool) -> NounPhrase:
    """A short noun phrase, or a name if there are persons among them."""
    return nouns.name(s) if being and s.chance(0.25) else nouns.noun_phrase(s, choices, {nouns.the: 3, nouns.owned: 3, nouns.a: 1})


def pronoun(s: Speaker, being: bool = True) -> NounPhrase:
    """I, you, he ...; of things it, they, this and that."""
    return pronoun_of(s.often(PRONOUNS if being else PRONOUNS_OF_THINGS))


def pronoun_of(name: str) -> NounPhrase:
    """A pronoun or a demonstrative by its name."""
    word = pair(name, (small_words.SUBJECTS | small_words.DEMONSTRATIVES)[name])
    if name in small_words.DEMONSTRATIVES:
        return NounPhrase(word, word, name=name)
    person: Person = "I" if name == "I" else "third" if name in ("he", "she", "it") else "plural"
    return NounPhrase(word, word, person=person, pronoun=name, name=name)


def everybody(s: Speaker) -> NounPhrase:
    """everybody 大家, some people 有些 人, nobody 没有 人."""
    negative = s.chance(0.3)
    text, zh = s.one(list((small_words.NOBODY if negative else small_words.SOMEBODY).items()))
    word = pair(text, zh)
    many = text.split()[-1] in ("people", "us", "them") and not text.startswith("one")
    return NounPhrase(
        word, word, person="plural" if many else "third", name=text, negative=negative, all=text in small_words.ALL
    )
