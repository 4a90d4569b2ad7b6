"""Sentences of about a hundred words, five tenses and one clause. A small model learns them in a minute.

    the cat is tired -> 猫 很 累        she will give the boy a book -> 她 会 给 男孩 一 本 书
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import TypeVar

from viz_core.training.corpus import eval_set, nouns, subjects, to_be, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import make_clause, statement
from viz_core.training.corpus.lexicon import Adjective, Frame, Noun, Verb
from viz_core.training.corpus.phrases import NounPhrase, Phrase, Sampler, join, pair
from viz_core.training.corpus.predicates import object_pronoun
from viz_core.training.corpus.sentences import to_example
from viz_core.training.examples import Example

C = TypeVar("C", Noun, Verb, Adjective)
VOCABULARY = lex.word_lists("first_lesson")
VERBS: Mapping[Frame, frozenset[str]] = {"i": VOCABULARY["acts"], "t": VOCABULARY["takes"], "give": VOCABULARY["gives"]}
FORMS: nouns.Forms = {nouns.the: 6, nouns.owned: 3, nouns.a: 2}
OF_SUBJECTS: nouns.Forms = {nouns.the: 8, nouns.owned: 4, nouns.this: 1}
KINDS: Mapping[Frame | str, float] = {"t": 9, "adjective": 6, "i": 4, "give": 2, "noun": 1}
OF_ACTIONS: Mapping[str, float] = {"present": 6, "past": 4, "future": 3, "can": 2, "going on": 1}
OF_STATES: Mapping[str, float] = {"present": 8, "past": 2, "future": 1}


class _SimpleSampler(Sampler):
    """A sampler whose lexicon is restricted to the small vocabulary."""

    __slots__ = ()

    def entry(self, choices: Sequence[C]) -> C:
        """Draw an entry of the small vocabulary; raises `_OutOfVocabularyError` if there is none."""
        known = [choice for choice in choices if choice in _vocabulary_entries()]
        if not known:
            raise _OutOfVocabularyError
        return self.choice(known)


class _OutOfVocabularyError(Exception):
    """A phrase needs a word outside the small vocabulary."""


@cache
def _vocabulary_entries() -> frozenset[Noun | Verb | Adjective]:
    """Return the lexicon entries of the small vocabulary."""
    things = (noun for noun in lex.NOUNS if noun.english in VOCABULARY["nouns"] and noun.is_usual_sense)
    actions = (verb for frame, taught in VERBS.items() for verb in lex.verbs(frame) if verb.base in taught)
    qualities = {
        a.english: a for a in reversed(lex.ADJECTIVES) if a.english in VOCABULARY["adjectives"]
    }  # the sense of the first line
    return frozenset((*things, *actions, *qualities.values()))


@cache
def _known(choices: tuple[Noun, ...]) -> tuple[Noun, ...]:
    """Keep the nouns of the small vocabulary."""
    return tuple(noun for noun in choices if noun in _vocabulary_entries())


def simple_sentences(seed: int) -> Iterator[Example]:
    """Generate random sentences endlessly, the same for the same seed, without those of the evaluation set."""
    rng = Random(seed)
    while True:
        s = _SimpleSampler(rng, depth=0)
        try:
            phrase = _draw_phrase(s)
        except _OutOfVocabularyError:
            continue
        if s.chance(0.25):
            phrase = join([phrase, pair(".", "。")])
        example = to_example(phrase, None, tuple(s.combinations))
        if eval_set.normalized_words(example.typed_text) not in eval_set.eval_sentences_as_words():
            yield example


def _draw_phrase(s: Sampler) -> Phrase:
    """Draw the phrase of one sentence."""
    kind = s.weighted(KINDS)
    if kind in ("adjective", "noun"):
        noun = s.choice(_known(lex.nouns("any")))
        who = _draw_subject(s, noun)
        p = to_be.noun_predicate(s, who) if kind == "noun" else to_be.adjective_predicate(s, noun, s.entry(lex.adjectives_of(noun)))
        return statement(make_clause(s, who, p=p, tense=s.weighted(OF_STATES), plain=True))
    verb = s.entry(lex.verbs(kind))
    doers, things = _known(lex.subjects_of(verb)), _known(lex.objects_of(verb))
    if not doers or (kind != "i" and not things):
        raise _OutOfVocabularyError
    who = _draw_subject(s, s.choice(doers))
    s.actor = who.name
    thing = _draw_object(s, s.choice(things)) if things else None
    p = verb_phrases.predicate(s, verb, who, thing, ([], []))
    tenses = OF_STATES if p.is_state else OF_ACTIONS if verb.has_progressive else {**OF_ACTIONS, "going on": 0}
    return statement(make_clause(s, who, p=p, tense=s.weighted(tenses), plain=True))


def _draw_subject(s: Sampler, noun: Noun) -> NounPhrase:
    """Draw the subject; of a person often a pronoun or a name."""
    if noun.is_a("person") and s.chance(0.6):
        return nouns.proper_name(s) if s.chance(0.2) else subjects.pronoun(s)
    return nouns.noun_phrase(s, (noun,), OF_SUBJECTS)


def _draw_object(s: Sampler, noun: Noun) -> NounPhrase:
    """Draw the object; of a person often a pronoun or a name."""
    if noun.is_a("person") and s.chance(0.6):
        return nouns.proper_name(s) if s.chance(0.3) else object_pronoun(s)
    return nouns.noun_phrase(s, (noun,), FORMS)
