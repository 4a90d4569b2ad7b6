"""Sentences of about a hundred words, five tenses and one clause. A small model learns them in a minute.

    the cat is tired -> 猫 很 累        she will give the boy a book -> 她 会 给 男孩 一 本 书
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import nouns, subjects, to_be, verb_phrases
from viz_core.training.bilingual.clauses import make, statement
from viz_core.training.bilingual.lexicon import Adjective, Frame, Noun, Verb
from viz_core.training.bilingual.phrases import NounPhrase, Phrase, Speaker, join, pair
from viz_core.training.bilingual.predicates import object_pronoun
from viz_core.training.bilingual.sentences import Example, spell, typed
from viz_core.training.shipped import eval_set

C = TypeVar("C", Noun, Verb, Adjective)
WORDS = lex.word_lists("first_lesson")
VERBS: Mapping[Frame, frozenset[str]] = {"i": WORDS["acts"], "t": WORDS["takes"], "give": WORDS["gives"]}
FORMS: nouns.Forms = {nouns.the: 6, nouns.owned: 3, nouns.a: 2}
OF_SUBJECTS: nouns.Forms = {nouns.the: 8, nouns.owned: 4, nouns.this: 1}
KINDS: Mapping[Frame | str, float] = {"t": 9, "adjective": 6, "i": 4, "give": 2, "noun": 1}
OF_ACTIONS: Mapping[str, float] = {"present": 6, "past": 4, "future": 3, "can": 2, "going on": 1}
OF_STATES: Mapping[str, float] = {"present": 8, "past": 2, "future": 1}


class _Beginner(Speaker):
    """A sampler whose lexicon is restricted to the small vocabulary."""

    __slots__ = ()

    def usual(self, choices: Sequence[C]) -> C:
        """Draw an entry of the small vocabulary; raises `_OutOfVocabularyError` if there is none."""
        known = [choice for choice in choices if choice in _taught()]
        if not known:
            raise _NotTaughtError
        return self.one(known)


class _NotTaughtError(Exception):
    """A phrase needs a word outside the small vocabulary."""


@cache
def _taught() -> frozenset[Noun | Verb | Adjective]:
    """Return the lexicon entries of the small vocabulary."""
    things = (noun for noun in lex.NOUNS if noun.english in WORDS["nouns"] and noun.is_first)
    actions = (verb for frame, taught in VERBS.items() for verb in lex.verbs(frame) if verb.base in taught)
    qualities = {a.english: a for a in reversed(lex.ADJECTIVES) if a.english in WORDS["adjectives"]}  # the sense of the first line
    return frozenset((*things, *actions, *qualities.values()))


@cache
def _known(choices: tuple[Noun, ...]) -> tuple[Noun, ...]:
    """Keep the nouns of the small vocabulary."""
    return tuple(noun for noun in choices if noun in _taught())


def sentences(seed: int) -> Iterator[Example]:
    """Generate random sentences endlessly, the same for the same seed, without those of the evaluation set, which only measure."""
    rng = Random(seed)
    while True:
        s = _Beginner(rng, depth=0)
        try:
            phrase = _said(s)
        except _NotTaughtError:
            continue
        if s.chance(0.25):
            phrase = join([phrase, pair(".", "。")])
        example = spell(phrase, None, tuple(s.combinations))
        if eval_set.normalized_words(typed(example)) not in eval_set.eval_sentences_as_words():
            yield example


def _said(s: Speaker) -> Phrase:
    """Draw the phrase of one sentence."""
    kind = s.often(KINDS)
    if kind in ("adjective", "noun"):
        noun = s.one(_known(lex.nouns("any")))
        who = _who(s, noun)
        p = to_be.noun_predicate(s, who) if kind == "noun" else to_be.adjective_predicate(s, noun, s.usual(lex.adjectives_of(noun)))
        return statement(make(s, who, p=p, tense=s.often(OF_STATES), plain=True))
    verb = s.usual(lex.verbs(kind))
    doers, things = _known(lex.subjects_of(verb)), _known(lex.objects_of(verb))
    if not doers or (kind != "i" and not things):
        raise _NotTaughtError
    who = _who(s, s.one(doers))
    s.actor = who.name
    thing = _what(s, s.one(things)) if things else None
    p = verb_phrases.predicate(s, verb, who, thing, ([], []))
    tenses = OF_STATES if p.is_state else OF_ACTIONS if verb.goes_on else {**OF_ACTIONS, "going on": 0}
    return statement(make(s, who, p=p, tense=s.often(tenses), plain=True))


def _who(s: Speaker, noun: Noun) -> NounPhrase:
    """Draw the subject; of a person often a pronoun or a name."""
    if noun.is_a("person") and s.chance(0.6):
        return nouns.name(s) if s.chance(0.2) else subjects.pronoun(s)
    return nouns.noun_phrase(s, (noun,), OF_SUBJECTS)


def _what(s: Speaker, noun: Noun) -> NounPhrase:
    """Draw the object; of a person often a pronoun or a name."""
    if noun.is_a("person") and s.chance(0.6):
        return nouns.name(s) if s.chance(0.3) else object_pronoun(s)
    return nouns.noun_phrase(s, (noun,), FORMS)
