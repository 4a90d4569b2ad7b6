"""Parser of the pattern table: its lines, word lists, named phrases and sections.

A line of tables/patterns/*.txt is English ; Chinese. Its parts:

    {who}, {a:food}, {noun2}      a placeholder: its kind, a number if there are several of a kind, and after a colon what it is
                                  restricted to. The Chinese repeats it without the colon. The kinds are those of
                                  `pattern_placeholders` and the following.
    {ing}, {do}, {third}, {done}  an action in a form of its verb: playing football, play football, plays football,
                                  played football (踢 了 足球)
    {did}, {once}                 {done} without 了; {do} with 一 次
    {been}, {gone}, {seen}        a participle, in Chinese with 过, with 了, with neither
    {does}                        play or plays, agreeing with the subject of the sentence
    {the1:animal} ... {it1}       a noun and a pronoun for it, for which Chinese repeats the noun. {him1} is the
                                  pronoun as an object. {named1} and {group1:animal} have the same pronouns.
    {same1}, {whose1}             he and his for such a noun, with a pronoun in Chinese too: told him that he should go
    {again}, {me}                 a pronoun for the subject of the sentence: I, he, they; me, him, them
    {own}, {self}                 my, your, his; myself, yourself, himself: agreeing with the subject of the sentence
    {clause:past}, {sentence}     a clause in a tense; a line of this table that can be a clause
    {meal}                        a word of a list that the table defines: @meal breakfast=早饭, lunch=午饭
    {excuse}                      a line "%excuse English ; Chinese" of the table. It has placeholders like any line. Its subject
                                  is that of the line around it, {the2} in {excuse:the2}, and somebody else in {excuse:he} and
                                  {excuse:they}.
    ~be, ~was, ~have, ~do, ~need  a verb that agrees with the first {who} of the line: am, was, has, does, needs; ~be2 with {who2}
    |                             divides fixed English words into two parts, as a placeholder does
    (a/b)                         one of these words; (a/) is the word or none
    要/1, 要/-1, 没有/1+2         Chinese that is aligned to the first part of the fixed English words; to the last one, where a
                                  choice such as (that/) may drop an earlier one; to two parts
    岁/number                     Chinese that is aligned to the placeholder "number"

A Chinese word without a suffix is aligned to the fixed English words if they are one part or the whole line, else to none. A
comma is aligned to a comma, and a mark within a line to the same mark. An English line ends in "?" or "!" if it is not a
statement. The line "== weather ; 5 ; clause" begins a section with its weight, and allows its lines to be clauses of longer
sentences. A line that begins with "#" is a comment.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, product

from viz_core.training.corpus import lexicon as lex

_CHOICE = re.compile(r"\(([^()]*)\)")
PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of the table. english: its wordings, each of them text and, at the odd indices, placeholders.

    mark: the final mark of its sentences. clause: whether it can be a clause of a longer sentence.
    """

    english: tuple[tuple[str, ...], ...]
    chinese: tuple[str, ...]
    mark: str
    clause: bool


@dataclass(frozen=True, slots=True)
class Section:
    """Patterns that are drawn equally often. weight: how often one of them is drawn, relative to the other sections."""

    weight: float
    patterns: tuple[Pattern, ...] = ()


@cache
def _lines() -> tuple[str, ...]:
    """Return the lines of all files of the table."""
    paths = sorted((lex.TABLES / "patterns").glob("*.txt"))
    return tuple(chain.from_iterable(path.read_text("utf-8").splitlines() for path in paths))


@cache
def parts() -> Mapping[str, tuple[Pattern, ...]]:
    """Return the named phrases: a line "%excuse I missed the bus ; 我 错过 了 公交车" is one of {excuse}."""
    found: dict[str, list[Pattern]] = {}
    for line in _lines():
        if line.startswith("%"):
            name, __, rest = line[1:].partition(" ")
            found.setdefault(name, []).append(parse_pattern(rest, clause=False))
    return {name: tuple(patterns) for name, patterns in found.items()}


@cache
def read_table() -> tuple[Mapping[str, tuple[tuple[str, str], ...]], Mapping[str, Section]]:
    """Return the word lists and the sections of the table."""
    lists: dict[str, tuple[tuple[str, str], ...]] = {}
    sections: dict[str, list[Pattern]] = {}
    weights: dict[str, float] = {}
    section, clause = "", False
    for line in _lines():
        if line.startswith("== "):
            section, weight, *more_cells = (cell.strip() for cell in line[3:].split(";"))
            weights[section], clause = float(weight), "clause" in more_cells
            sections.setdefault(section, [])
        elif line.startswith("@"):
            name, __, words = line[1:].partition(" ")
            rows = [word.partition("=") for word in words.split(",")]
            lists[name] = (*lists.get(name, ()), *((english.strip(), zh.strip()) for english, __, zh in rows))
        elif line.strip() and not line.startswith(("#", "%")):
            sections[section].append(parse_pattern(line, clause))
    return lists, {name: Section(weights[name], tuple(patterns)) for name, patterns in sections.items()}


def parse_pattern(line: str, clause: bool) -> Pattern:
    """Parse a line "English ; Chinese"."""
    english, __, zh = line.partition(";")
    english = english.strip()
    mark = english[-1] if english[-1] in "?!" else "."
    wordings = _wordings(english.rstrip("?! "))
    pieces = tuple(tuple(PLACEHOLDER.split(wording)) for wording in wordings)
    return Pattern(pieces, tuple(zh.split()), mark, clause)


def _wordings(text: str) -> list[str]:
    """Return all wordings of a text with (one of / these)."""
    parts = _CHOICE.split(text)
    choices = [part.split("/") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


@cache
def with_mark(mark: str) -> Mapping[str, Section]:
    """Return the sections with only the patterns that have this final mark."""
    chosen = {name: [p for p in section.patterns if p.mark == mark] for name, section in read_table()[1].items()}
    return {name: Section(read_table()[1][name].weight, tuple(ps)) for name, ps in chosen.items() if ps}


@cache
def fixed() -> frozenset[str]:
    """Return the English of all patterns without placeholders in lowercase; the grammar does not generate these."""
    whole = (
        pieces[0] for section in read_table()[1].values() for p in section.patterns for pieces in p.english if len(pieces) == 1
    )
    return frozenset(" ".join(text.replace("|", " ").lower().split()) for text in whole)


@cache
def clauses() -> tuple[Pattern, ...]:
    """Return the patterns that can be a clause of a longer sentence."""
    return tuple(p for section in read_table()[1].values() for p in section.patterns if p.clause and p.mark == ".")


@cache
def weights(mark: str) -> Mapping[str, float]:
    """Return how often each section is drawn: its weight times its share of patterns with this mark."""
    return {
        name: section.weight * len(section.patterns) / len(read_table()[1][name].patterns)
        for name, section in with_mark(mark).items()
    }
