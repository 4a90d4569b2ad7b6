"""Whole sentences: the weights of the kinds of sentences, the final mark, and the result as words and positions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.about_people import age, apposition, been_to, born, called, owns
from viz_core.training.bilingual.answers import asked_and_answered, doing_is, enough_to, it_takes, short_answer, with_a_tag
from viz_core.training.bilingual.compound import conditional, sequence, two_clauses
from viz_core.training.bilingual.constructions import (
    able,
    circumstance,
    cleft,
    no_longer,
    one_of,
    passive,
    purpose,
    so_that,
    sure,
    too_to,
)
from viz_core.training.bilingual.contractions import contract
from viz_core.training.bilingual.degrees import costs, how_long, how_well
from viz_core.training.bilingual.everyday_patterns import (
    any_of,
    as_soon_as,
    become,
    bounded,
    feel,
    feeling_to,
    meaning,
    not_that,
    side_by_side,
    waited_for,
    where_from,
)
from viz_core.training.bilingual.impersonal import it_is_to, there_is, weather
from viz_core.training.bilingual.lists import either, listed
from viz_core.training.bilingual.orders import order
from viz_core.training.bilingual.pattern_table import fixed
from viz_core.training.bilingual.patterns import asked, called_out, told, two_sentences
from viz_core.training.bilingual.phrases import Link, Phrase, Speaker, Word, join, pair, texts
from viz_core.training.bilingual.questions import question
from viz_core.training.bilingual.reasons import about_people, about_things
from viz_core.training.bilingual.set_questions import set_question
from viz_core.training.bilingual.small_talk import exclamation, fragment, greeting, plain, says, sentence_adverb, spoken, tagged


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence in both languages.

    alignment: for each target word the source positions that it is aligned to, () for a word that only Chinese needs.
    referent: (target position of a noun that translates a pronoun, source position of that noun) or None.
    combinations: content words that occur together, such as (dog, bite, man), which decide the held-out split.
    """

    source: list[str]
    target: list[str]
    alignment: list[tuple[int, ...]]
    referent: tuple[int, int] | None = None
    combinations: tuple[tuple[str, ...], ...] = ()


FRAMES: Mapping[Callable[[Speaker], Phrase], float] = {
    plain: 30, question: 10, set_question: 5, order: 11, two_clauses: 32, conditional: 27, sequence: 4, there_is: 3, weather: 2.5,
    passive: 3, it_is_to: 2, too_to: 1.2, about_things: 17, about_people: 12, fragment: 6, greeting: 1, exclamation: 0.6,
    sentence_adverb: 4, spoken: 4, age: 0.8, called: 0.8, born: 0.5, apposition: 0.7, owns: 1, been_to: 0.7, purpose: 2.5,
    circumstance: 3, able: 1.2, sure: 3, so_that: 0.8, listed: 2, either: 0.8, one_of: 1.2, how_well: 2, how_long: 1.5, costs: 0.8,
    no_longer: 1.2, cleft: 0.5, says: 0.6, tagged: 0.3, any_of: 1.2, where_from: 0.6, not_that: 0.3, as_soon_as: 0.8, bounded: 0.8,
    become: 0.8, side_by_side: 1, meaning: 0.4, waited_for: 0.6, feeling_to: 0.6, feel: 0.5, short_answer: 0.5,
    asked_and_answered: 1, with_a_tag: 0.7, it_takes: 0.6, enough_to: 0.6, doing_is: 0.4,
    two_sentences: 8, told: 150, asked: 50, called_out: 9,
}
"""The weight of each kind of sentence."""
OF_THE_TABLE = (told, asked, called_out)
"""The kinds that come from the pattern table."""
SELDOM = (0, 1, 1, 1, 2)
"""The number of words of a sentence that are preferably rare ones; drawn from these."""
PRONOUNS = frozenset({"it", "they", "them", "he", "him", "she", "her"})  # pronouns for which Chinese may repeat the noun
LONGEST = 26
"""Sentences have fewer English words and marks than this."""
ENDS = frozenset("。，！？”、") | {"但是", "所以", "因为", "如果", "和", "然后"}  # what ends a clause
DENIES = frozenset({"不", "没有", "不要", "从来", "永远", "吗"})
SLOT = re.compile(r"<[0-9]+>")  # a name or an unknown word
APART = {"".join(parts): parts for line, together in lex.rows("cutting", 2) if not together and (parts := tuple(line.split()))}
"""Chinese words that are always split: 这个 -> 这 个."""
TOGETHER = {tuple(parts.split()): word for word, parts in lex.rows("cutting", 2) if parts}
"""Adjacent Chinese words that are always merged: 每 天 -> 每天."""
ASKING = (where_from, meaning, waited_for)  # questions among other sentences
"""Kinds that generate questions as well as other sentences."""


def say(rng: Random, said: Counter[object] | None = None) -> Example:
    """Draw a sentence; most end in a mark. counts: how often each word was chosen so far, which this call updates."""
    said = Counter() if said is None else said
    while True:
        s = Speaker(rng, depth=rng.choice((0, 1, 1, 1, 2, 2, 3)), said=said, seldom=rng.choice(SELDOM))
        frame = s.often(FRAMES)
        whole = frame(s)
        if frame not in OF_THE_TABLE and texts(whole).lower() in fixed():
            continue
        phrase = contract(s, whole)
        if len(phrase.source) < LONGEST:
            break
    if not s.chance(0.4):
        phrase = join([phrase, _mark(s, frame, phrase)])
    return spell(phrase, s.referent, tuple(s.combinations))


def _mark(s: Speaker, frame: Callable[[Speaker], Phrase], phrase: Phrase) -> Phrase:
    """Return the final mark of a sentence."""
    asks = frame is asked or (frame in ASKING and phrase.source[0].text in ("what", "where", "what's", "where's", "how"))
    if frame in (question, set_question) or asks or phrase.target[-1][0] in ("吗", "多久"):
        return pair("?", "？")
    return pair("!", "！") if frame in (exclamation, called_out) or (frame is order and s.chance(0.2)) else pair(".", "。")


def spell(phrase: Phrase, referent: Word | None = None, combinations: tuple[tuple[str, ...], ...] = ()) -> Example:
    """Convert a phrase to strings and positions. Slots are numbered in the order of the source, as in a typed sentence."""
    position = {word: i for i, word in enumerate(phrase.source)}
    phrase = Phrase(phrase.source, tuple(_any_such(list(_too_much(list(_cut(phrase.target)))))))
    alignment = [tuple(sorted(position[word] for word in words if word in position)) for __, words in phrase.target]
    found = None
    if referent is not None and referent in position:
        places = [i for i, (__, words) in enumerate(phrase.target) if referent in words]
        again = [i for i in places if any(word.text.split("'")[0] in PRONOUNS for word in phrase.target[i][1])]
        found = (again[-1], position[referent]) if len(places) > 1 and again else None
    source, target = [word.text for word in phrase.source], [word for word, __ in phrase.target]
    slots = dict.fromkeys(word for word in source if SLOT.fullmatch(word))
    number = {slot: f"<{i}>" for i, slot in enumerate(slots, start=1)}
    source, target, *named = ([number.get(word, word) for word in words] for words in (source, target, *combinations))
    return Example(source, target, alignment, found, tuple(map(tuple, named)))


def _too_much(target: Sequence[Link]) -> Iterator[Link]:
    """Add 了 after 太 and an adjective at the end of a clause, aligned like 太; not where it is negated: 不 太 大."""
    too: Link | None = None
    denied = False
    for i, link in enumerate(target):
        yield link
        denied = link[0] not in ENDS and (denied or link[0] in DENIES)
        if link[0] == "太" and not denied:
            too = link
        following = target[i + 1][0] if i + 1 < len(target) else "。"
        if too is not None and following in ENDS:
            if link is not too and _is_described(target, too, i):
                yield "了", too[1]
            too = None


def _any_such(target: Sequence[Link]) -> list[Link]:
    """Drop 一 and the classifier where a question asks whether there is any: do you have a dog 你 有 狗 吗."""
    found = list(target)
    for i in range(len(found) - 3, -1, -1):
        (has, __), (one, of), (counter, __) = found[i : i + 3]
        if one != "一" or not of or of[0].text not in ("a", "an") or counter not in counters() or "of" in {w.text for w in of}:
            continue
        following = [word for word, __ in found[i + 3 :]]
        end = next((j for j, word in enumerate(following) if word == "吗" or word in ENDS), 0)
        if end and following[end] == "吗" and (has == "有" or following[end - 1] == "了"):
            del found[i + 1 : i + 3]
    return found


@cache
def counters() -> frozenset[str]:
    """Return the classifiers of all nouns."""
    return frozenset(noun.classifier for noun in lex.NOUNS)


def _is_described(target: Sequence[Link], too: Link, last: int) -> bool:
    """Whether only an adjective stands between 太 and this position."""
    first = next(i for i, link in enumerate(target) if link is too) + 1
    return " ".join(word for word, __ in target[first : last + 1]) in described()


@cache
def described() -> frozenset[str]:
    """Return the segmented Chinese of the gradable adjectives, and of much, fast, early and late."""
    found = {a.chinese for a in lex.ADJECTIVES if not {"le", "of"} & a.flags} | {"多", "少", "快", "慢", "晚", "早"}
    return frozenset(" ".join(part for word in zh.split() for part in APART.get(word, (word,))) for zh in found)


def _cut(target: Iterable[Link]) -> Iterator[Link]:
    """Segment the same Chinese text always in the same way; a merged word is aligned to all that its parts are aligned to."""
    last: Link | None = None
    for word, words in target:
        for part in APART.get(word, (word,)):
            if last is not None and part == last[0] and part in ("很", "的", "了"):  # never doubled
                last = (part, tuple(dict.fromkeys((*last[1], *words))))
                continue
            if last is not None and (joined := TOGETHER.get((last[0], part))):
                last = (joined, tuple(dict.fromkeys((*last[1], *words))))
                continue
            if last is not None:
                yield last
            last = (part, words)
    if last is not None:
        yield last


def typed(example: Example) -> str:
    """Return the English sentence as people type it: the boy's ball, not the boy 's ball."""
    return " ".join(example.source).replace(" 's", "'s").replace(" ' ", "' ")
