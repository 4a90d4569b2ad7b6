"""The table of patterns as objects: its lines, lists, phrases and sections.

A line of tables/patterns/*.txt is English ; Chinese. Its parts:

    {who}, {a:food}, {place}      a place to fill, named before the colon and asked for behind it; Chinese names it again
    {ing}, {do}, {third}, {done}  an everyday action: playing football, play football, plays football, played football (踢 了 足球);
                                  {did} is the last one without 了, {been} has 过, {once} 一 次; {gone} is {been} with 了, {seen} bare
                                  {does} is play or plays, as the one that the sentence is about asks
    {the1:animal} ... {it1}       a noun, and the pronoun that stands for it ({him1} as an object, {whose1} for its owner): Chinese says
                                  the noun again; {named1}, {group1:animal} are called on by the same pronouns; {same1} is a pronoun
                                  in Chinese, too: told him that he should go
    {pron}                        I, you, he, she, we or they: no name, no noun
    {again}, {me}                 the one that the sentence is about once more: I, he, they; me, him, them
    {meal}                        one of the words of a list that the table defines: @meal breakfast=早饭, lunch=午饭
    {excuse}                      one of the lines "%excuse English ; Chinese" of the table: they have places like a line of their
                                  own, and speak of the one that the line around them is about, unless they name another; of {the2}
                                  in {excuse:the2}, of others in {excuse:he} and {excuse:they}
    ~be, ~was, ~have, ~do, ~need  a verb as the first {who} of the line asks: am, was, has, does, needs; ~be2 as {who2} asks
    |                             parts the fixed English words further; places to fill part them too
    (a/b)                         one of these words, or none: (a/)
    要/1, 岁/number               Chinese from the first part of fixed English words; from the place to fill called "number"
    要/-1                         from the last part, where (that/) may leave out an earlier one

A Chinese word without a number comes from the fixed English words if they are one part or the whole line, else from none; a comma
comes from a comma. An English line ends in "?" or "!" where a statement would end in ".".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain, product

from viz_core.training.bilingual import lexicon as lex

_CHOICE = re.compile(r"\(([^()]*)\)")
PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line. english: its wordings; each is text and, at the odd places, what is to be filled in. clause: it may be one."""

    english: tuple[tuple[str, ...], ...]
    chinese: tuple[str, ...]
    mark: str
    clause: bool


@dataclass(frozen=True, slots=True)
class Section:
    """Patterns that are said about equally often, and how often one of them is said."""

    weight: float
    patterns: tuple[Pattern, ...] = ()


@cache
def _lines() -> tuple[str, ...]:
    """The lines of all files of the table."""
    paths = sorted((lex.TABLES / "patterns").glob("*.txt"))
    return tuple(chain.from_iterable(path.read_text("utf-8").splitlines() for path in paths))


@cache
def parts() -> Mapping[str, tuple[Pattern, ...]]:
    """The phrases of the table by their name: the lines "%excuse I missed the bus ; 我 错过 了 公交车" are those of {excuse}."""
    found: dict[str, list[Pattern]] = {}
    for line in _lines():
        if line.startswith("%"):
            name, __, rest = line[1:].partition(" ")
            found.setdefault(name, []).append(pattern(rest, clause=False))
    return {name: tuple(patterns) for name, patterns in found.items()}


@cache
def read() -> tuple[Mapping[str, tuple[tuple[str, str], ...]], Mapping[str, Section]]:
    """The word lists and the sections of the table."""
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
            sections[section].append(pattern(line, clause))
    return lists, {name: Section(weights[name], tuple(patterns)) for name, patterns in sections.items()}


def pattern(line: str, clause: bool) -> Pattern:
    english, __, zh = line.partition(";")
    english = english.strip()
    mark = english[-1] if english[-1] in "?!" else "."
    wordings = _wordings(english.rstrip("?! "))
    pieces = tuple(tuple(PLACE.split(wording)) for wording in wordings)
    return Pattern(pieces, tuple(zh.split()), mark, clause)


def _wordings(text: str) -> list[str]:
    """A text with (one of / these) as all its wordings."""
    parts = _CHOICE.split(text)
    choices = [part.split("/") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(chosen) for chosen in product(*choices)]


@cache
def with_mark(mark: str) -> Mapping[str, Section]:
    """The sections with only the patterns that end in this mark."""
    chosen = {name: [p for p in section.patterns if p.mark == mark] for name, section in read()[1].items()}
    return {name: Section(read()[1][name].weight, tuple(ps)) for name, ps in chosen.items() if ps}


@cache
def fixed() -> frozenset[str]:
    """The English of all patterns without places, in small letters: the grammar leaves them to the table."""
    whole = (pieces[0] for section in read()[1].values() for p in section.patterns for pieces in p.english if len(pieces) == 1)
    return frozenset(" ".join(text.replace("|", " ").lower().split()) for text in whole)


@cache
def clauses() -> tuple[Pattern, ...]:
    """The patterns that can be a clause of a longer sentence."""
    return tuple(p for section in read()[1].values() for p in section.patterns if p.clause and p.mark == ".")


@cache
def weights(mark: str) -> Mapping[str, float]:
    """How often each section is said: its weight times its share of patterns with this mark."""
    return {
        name: section.weight * len(section.patterns) / len(read()[1][name].patterns)
        for name, section in with_mark(mark).items()
    }
