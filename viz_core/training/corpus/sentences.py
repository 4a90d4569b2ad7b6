"""Whole sentences: the weights of the kinds of sentences, the final mark, and the result as words and positions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from random import Random

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.compound_sentences import conditional, sequence, two_clauses
from viz_core.training.corpus.constructions import (
    adjective_that,
    adjective_to,
    circumstance,
    cleft,
    no_longer,
    one_of,
    passive,
    purpose,
    so_that,
    too_to,
)
from viz_core.training.corpus.contractions import contract
from viz_core.training.corpus.coordination import either, enumeration
from viz_core.training.corpus.everyday_constructions import (
    any_of,
    as_soon_as,
    become,
    colour_contrast,
    comma_joined,
    duration_so_far,
    feel,
    feeling_to,
    where_from,
    with_time_limit,
    word_meaning,
)
from viz_core.training.corpus.imperatives import order
from viz_core.training.corpus.impersonal import it_is_to, there_is, weather
from viz_core.training.corpus.manner_and_duration import costs, how_long, how_well
from viz_core.training.corpus.pattern_table import fixed
from viz_core.training.corpus.patterns import exclamation_pattern, question_pattern, statement_pattern, two_sentences
from viz_core.training.corpus.personal_facts import age, apposition, been_to, born, introduction, possessive_predicate
from viz_core.training.corpus.phrases import Link, Phrase, Sampler, Word, english_text, join, pair
from viz_core.training.corpus.questions import question
from viz_core.training.corpus.short_answers import (
    enough_to,
    gerund_subject,
    it_takes,
    question_and_answer,
    short_answer,
    tag_question,
)
from viz_core.training.corpus.small_talk import (
    be_tag_question,
    exclamation,
    fragment,
    greeting,
    plain_statement,
    quotation,
    sentence_adverb,
    with_interjection,
)
from viz_core.training.corpus.stock_questions import stock_question
from viz_core.training.corpus.winograd_sentences import winograd_people, winograd_things
from viz_core.training.examples import Example

SENTENCE_KINDS: Mapping[Callable[[Sampler], Phrase], float] = {
    plain_statement: 30,
    question: 10,
    stock_question: 5,
    order: 11,
    two_clauses: 32,
    conditional: 27,
    sequence: 4,
    there_is: 3,
    weather: 2.5,
    passive: 3,
    it_is_to: 2,
    too_to: 1.2,
    winograd_things: 17,
    winograd_people: 12,
    fragment: 6,
    greeting: 1,
    exclamation: 0.6,
    sentence_adverb: 4,
    with_interjection: 4,
    age: 0.8,
    introduction: 0.8,
    born: 0.5,
    apposition: 0.7,
    possessive_predicate: 1,
    been_to: 0.7,
    purpose: 2.5,
    circumstance: 3,
    adjective_to: 1.2,
    adjective_that: 3,
    so_that: 0.8,
    enumeration: 2,
    either: 0.8,
    one_of: 1.2,
    how_well: 2,
    how_long: 1.5,
    costs: 0.8,
    no_longer: 1.2,
    cleft: 0.5,
    quotation: 0.6,
    be_tag_question: 0.3,
    any_of: 1.2,
    where_from: 0.6,
    colour_contrast: 0.3,
    as_soon_as: 0.8,
    with_time_limit: 0.8,
    become: 0.8,
    comma_joined: 1,
    word_meaning: 0.4,
    duration_so_far: 0.6,
    feeling_to: 0.6,
    feel: 0.5,
    short_answer: 0.5,
    question_and_answer: 1,
    tag_question: 0.7,
    it_takes: 0.6,
    enough_to: 0.6,
    gerund_subject: 0.4,
    two_sentences: 8,
    statement_pattern: 150,
    question_pattern: 50,
    exclamation_pattern: 9,
}
"""The weight of each kind of sentence."""
PATTERN_KINDS = (statement_pattern, question_pattern, exclamation_pattern)
"""The kinds that come from the pattern table."""
RARE_COUNTS = (0, 1, 1, 1, 2)
"""The number of words of a sentence that are preferably rare ones; drawn from these."""
PRONOUNS = frozenset({"it", "they", "them", "he", "him", "she", "her"})  # pronouns for which Chinese may repeat the noun
MAX_SOURCE_WORDS = 26
"""Sentences have fewer English words and marks than this."""
CLAUSE_ENDS = frozenset("。，！？”、") | {"但是", "所以", "因为", "如果", "和", "然后"}  # what ends a clause
NEGATIONS = frozenset({"不", "没有", "不要", "从来", "永远", "吗"})
SLOT = re.compile(r"<[0-9]+>")  # a name or an unknown word
SPLIT_WORDS = {
    "".join(parts): parts for line, together in lex.read_rows("cutting", 2) if not together and (parts := tuple(line.split()))
}
"""Chinese words that are always split: 这个 -> 这 个."""
MERGED_WORDS = {tuple(parts.split()): word for word, parts in lex.read_rows("cutting", 2) if parts}
"""Adjacent Chinese words that are always merged: 每 天 -> 每天."""
SOMETIMES_QUESTIONS = (where_from, word_meaning, duration_so_far)  # questions among other sentences
"""Kinds that generate questions as well as other sentences."""


def draw_sentence(rng: Random, counts: Counter[object] | None = None) -> Example:
    """Draw a sentence; most end in a mark. counts: how often each word was chosen so far, which this call updates."""
    counts = Counter() if counts is None else counts
    while True:
        s = Sampler(rng, depth=rng.choice((0, 1, 1, 1, 2, 2, 3)), counts=counts, n_rare=rng.choice(RARE_COUNTS))
        frame = s.weighted(SENTENCE_KINDS)
        whole = frame(s)
        if frame not in PATTERN_KINDS and english_text(whole).lower() in fixed():
            continue
        phrase = contract(s, whole)
        if len(phrase.source) < MAX_SOURCE_WORDS:
            break
    if not s.chance(0.4):
        phrase = join([phrase, _final_mark(s, frame, phrase)])
    return to_example(phrase, s.referent, tuple(s.combinations))


def _final_mark(s: Sampler, frame: Callable[[Sampler], Phrase], phrase: Phrase) -> Phrase:
    """Return the final mark of a sentence."""
    asks = frame is question_pattern or (
        frame in SOMETIMES_QUESTIONS and phrase.source[0].text in ("what", "where", "what's", "where's", "how")
    )
    if frame in (question, stock_question) or asks or phrase.target[-1][0] in ("吗", "多久"):
        return pair("?", "？")
    return pair("!", "！") if frame in (exclamation, exclamation_pattern) or (frame is order and s.chance(0.2)) else pair(".", "。")


def to_example(phrase: Phrase, referent: Word | None = None, combinations: tuple[tuple[str, ...], ...] = ()) -> Example:
    """Convert a phrase to strings and positions. Slots are numbered in the order of the source, as in a typed sentence."""
    position = {word: i for i, word in enumerate(phrase.source)}
    phrase = Phrase(phrase.source, tuple(_drop_article_in_questions(list(_add_le_after_tai(list(_resegment(phrase.target)))))))
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


def _add_le_after_tai(target: Sequence[Link]) -> Iterator[Link]:
    """Add 了 after 太 and an adjective at the end of a clause, aligned like 太; not where it is negated: 不 太 大."""
    too: Link | None = None
    denied = False
    for i, link in enumerate(target):
        yield link
        denied = link[0] not in CLAUSE_ENDS and (denied or link[0] in NEGATIONS)
        if link[0] == "太" and not denied:
            too = link
        following = target[i + 1][0] if i + 1 < len(target) else "。"
        if too is not None and following in CLAUSE_ENDS:
            if link is not too and _ends_in_adjective(target, too, i):
                yield "了", too[1]
            too = None


def _drop_article_in_questions(target: Sequence[Link]) -> list[Link]:
    """Drop 一 and the classifier where a question asks whether there is any: do you have a dog 你 有 狗 吗."""
    found = list(target)
    for i in range(len(found) - 3, -1, -1):
        (has, __), (one, of), (counter, __) = found[i : i + 3]
        if (
            one != "一"
            or not of
            or of[0].text not in ("a", "an")
            or counter not in noun_classifiers()
            or "of" in {w.text for w in of}
        ):
            continue
        following = [word for word, __ in found[i + 3 :]]
        end = next((j for j, word in enumerate(following) if word == "吗" or word in CLAUSE_ENDS), 0)
        if end and following[end] == "吗" and (has == "有" or following[end - 1] == "了"):
            del found[i + 1 : i + 3]
    return found


@cache
def noun_classifiers() -> frozenset[str]:
    """Return the classifiers of all nouns."""
    return frozenset(noun.classifier for noun in lex.NOUNS)


def _ends_in_adjective(target: Sequence[Link], too: Link, last: int) -> bool:
    """Whether only an adjective stands between 太 and this position."""
    first = next(i for i, link in enumerate(target) if link is too) + 1
    return " ".join(word for word, __ in target[first : last + 1]) in graded_adjectives()


@cache
def graded_adjectives() -> frozenset[str]:
    """Return the segmented Chinese of the gradable adjectives, and of much, fast, early and late."""
    found = {a.chinese for a in lex.ADJECTIVES if not {"le", "of"} & a.flags} | {"多", "少", "快", "慢", "晚", "早"}
    return frozenset(" ".join(part for word in zh.split() for part in SPLIT_WORDS.get(word, (word,))) for zh in found)


def _resegment(target: Iterable[Link]) -> Iterator[Link]:
    """Segment the same Chinese text always in the same way; a merged word is aligned to all that its parts are aligned to."""
    last: Link | None = None
    for word, words in target:
        for part in SPLIT_WORDS.get(word, (word,)):
            if last is not None and part == last[0] and part in ("很", "的", "了"):  # never doubled
                last = (part, tuple(dict.fromkeys((*last[1], *words))))
                continue
            if last is not None and (joined := MERGED_WORDS.get((last[0], part))):
                last = (joined, tuple(dict.fromkeys((*last[1], *words))))
                continue
            if last is not None:
                yield last
            last = (part, words)
    if last is not None:
        yield last
