"""Sentences with unknown words: such a word is a numbered slot, `<1>`, in both languages.

    the zebra chased a dog  ->  the <1> chased a dog  ->  <1> 追 了 一 只 狗

A translator learns from them to copy a word that it does not know to its place in the Chinese sentence.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random

from viz_core.training.corpus import lexicon as lex
from viz_core.training.examples import Example

SLOTS = tuple(f"<{n}>" for n in range(1, 6))
"""The slots: a sentence has at most this many different unknown words."""
UNKNOWN_SHARE, UNKNOWN_COUNTS = 0.1, (1, 1, 1, 1, 2, 2, 3, 4, 5)  # share of sentences with unknown words; their number
UNKNOWN_VERB_SHARE = 0.25  # share of the verbs that may be unknown: people mostly type unknown nouns
AUXILIARIES = frozenset({
    *("be", "am", "is", "are", "was", "were", "been", "being", "have", "has", "had", "having"),
    *("do", "does", "did", "done", "doing", "will", "can", "may", "must"),
})
EXCLUDED_FLAGS = frozenset({"tight", "shi", "ren", "le", "verb"})  # adjectives with a syntax of their own in Chinese
PARTICLES = frozenset({"的", "了", "过", "在", "着", "得", "很", "个"})  # kept beside an unknown word


def with_unknown_words(example: Example, rng: Random) -> Example | None:
    """Return the sentence, sometimes with content words replaced by slots; None if it would need more slots than there are."""
    taken = [word for word in example.source if word.startswith("<")]
    if rng.random() < UNKNOWN_SHARE and not _depends_on_context(example):
        places = [
            place
            for place in _replaceable_positions(example)
            if example.source[place] not in verb_forms() or rng.random() < UNKNOWN_VERB_SHARE
        ]
        example = _replace_with_slots(example, rng.sample(places, min(rng.choice(UNKNOWN_COUNTS), len(places))))
    example = _renumber_slots(example)
    return None if len(set(taken)) > len(SLOTS) or any(w[0] == "<" and w not in SLOTS for w in example.source) else example


def _replaceable_positions(example: Example) -> list[int]:
    """Return the positions of content words that are translated by one Chinese word of their own.

    The participle of a passive is excluded: "the door was <1>" could also say how the door was.
    """
    may_go = content_words() - (verb_forms() if "被" in example.target else set())
    return [i for i, word in enumerate(example.source) if word in may_go and _has_own_word(_meanings(example, i), example.target)]


def _has_own_word(meanings: Sequence[str], target: Sequence[str]) -> bool:
    """Whether the word has one Chinese translation that no other word shares."""
    return len(set(meanings)) == 1 and target.count(meanings[0]) == len(meanings)


def _depends_on_context(example: Example) -> bool:
    """Whether a word has an unusual sense here, which only its context shows: play chess 下."""
    said = set(example.target)
    return any(
        word in context_words() and not said & context_words()[word][0] and said & context_words()[word][1]
        for word in example.source
    )


def _meanings(example: Example, place: int) -> list[str]:
    """Return the Chinese words that translate one English word, without particles and classifiers; "" first for a shared one."""
    found = [(word, links) for word, links in zip(example.target, example.alignment, strict=True) if place in links]
    meanings = [(word, links) for word, links in found if word not in PARTICLES and word not in classifiers() and word != "们"]
    shared = len(meanings) == 1 and len(meanings[0][1]) > 1
    return ["", *(word for word, __ in meanings)] if shared else [word for word, __ in meanings]


def _replace_with_slots(example: Example, places: Sequence[int]) -> Example:
    """Replace the words at these positions by slots. Their classifier becomes 个 and 们 is dropped, as the noun is unknown."""
    source = list(example.source)
    target: list[str] = []
    alignment: list[tuple[int, ...]] = []
    moved: dict[int, int] = {}  # old -> new target position
    slots = {place: f"<new {place}>" for place in places}
    for place, slot in slots.items():
        source[place] = slot
    for j, (word, links) in enumerate(zip(example.target, example.alignment, strict=True)):
        unknown = next((place for place in places if place in links), None)
        if unknown is not None and word == "们":
            continue
        if unknown is not None and word in classifiers():
            word = "个"
        elif unknown is not None and word in _meanings(example, unknown):
            word = slots[unknown]
        moved[j] = len(target)
        target.append(word)
        alignment.append(links)
    referent = example.referent
    if referent is not None:  # if 们 was dropped, the noun before it
        referent = (moved.get(referent[0], moved.get(referent[0] - 1, 0)), referent[1])
    return replace(example, source=source, target=target, alignment=alignment, referent=referent)


def _renumber_slots(example: Example) -> Example:
    """Number the slots in the order of the source; equal words share a slot."""
    found = dict.fromkeys(word for word in example.source if word.startswith("<"))
    names = {slot: f"<{n}>" for n, slot in enumerate(found, 1)}
    return replace(
        example, source=[names.get(w, w) for w in example.source], target=[names.get(w, w) for w in example.target]
    )


@cache
def classifiers() -> frozenset[str]:
    """Return all classifiers."""
    return frozenset(noun.classifier for noun in lex.NOUNS) | {"名", "群"}


@cache
def context_words() -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
    """Return the context words of each ambiguous verb or adjective form: the Chinese of its usual and of its other senses."""
    usual: dict[str, set[str]] = defaultdict(set)
    others: dict[str, set[str]] = defaultdict(set)
    first = {(verb.base, verb.frame): verb.chinese for verb in reversed(lex.VERBS)}
    for verb in lex.VERBS:
        is_usual = verb.chinese == lex.USUAL_TRANSLATIONS.get(verb.base, first[verb.base, verb.frame])
        for form in forms(verb):
            (usual if is_usual else others)[form].update(verb.chinese.replace("~", " ").split())
    for adjective in lex.ADJECTIVES:
        known = usual.get(adjective.english)
        (others if known else usual)[adjective.english].add(adjective.chinese)
    return {form: (frozenset(usual[form]), frozenset(found)) for form, found in others.items()}


@cache
def content_words() -> frozenset[str]:
    """Return every one-word form of a noun, a verb or a plain adjective, without the auxiliary verbs."""
    nouns = {form for noun in lex.NOUNS for form in (noun.english, noun.plural)}
    odd = {adjective.english for adjective in lex.ADJECTIVES if adjective.flags & EXCLUDED_FLAGS}
    return (_single(nouns | {adjective.english for adjective in lex.ADJECTIVES} - odd) | verb_forms()) - AUXILIARIES


@cache
def verb_forms() -> frozenset[str]:
    """Return every one-word form of a verb."""
    return _single({form for verb in lex.VERBS for form in forms(verb)})


def forms(verb: lex.Verb) -> tuple[str, ...]:
    """Return the five forms of a verb."""
    return verb.base, verb.third, verb.past, verb.participle, verb.ing


def _single(words: set[str]) -> frozenset[str]:
    """Keep the strings of one word."""
    return frozenset(word for word in words if word and " " not in word)
