"""Sentences of the pattern table: fixed words with placeholders, from "how about {ing}" to "time is money"."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

from viz_core.training.corpus import builders, closed_class, nouns, subjects
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus import pattern_placeholders as places
from viz_core.training.corpus import pattern_table as table
from viz_core.training.corpus.clauses import make_clause, statement
from viz_core.training.corpus.compound_sentences import mentioned_again, pronoun_as_noun
from viz_core.training.corpus.phrases import NounPhrase, Person, Phrase, Sampler, aligned, aligned_to_all, english_text, join, pair
from viz_core.training.corpus.predicates import is_skill

_ONE = re.compile(r"~(?:be|was)(?: not| also| still| always| really| such)* an? ")
"""Fixed words that classify one person; with them the subject is not we or they, as in "we are a student"."""
_PART = re.compile(r"\||(?<= )([,.?!])(?= )")
_FORMS = {"do": "base", "once": "base", "third": "third", "done": "past", "did": "past", "ing": "ing", "been": "participle",
          "gone": "participle", "seen": "participle", "does": "base"}
_AGREEING: Mapping[str, Mapping[Person, str]] = {
    "be": closed_class.BE, "was": closed_class.WAS, "have": closed_class.HAVE, "do": closed_class.DO,
}
ABLE = frozenset({"can", "can't", "cannot", "could", "couldn't"})
"""Words that become 会 before a skill, except in "could you", which asks a favour."""
INNER = {".": "。", "?": "？", "!": "！"}
"""The marks between two sentences of one pattern, and their Chinese."""
_SUBJECTS = {"my": "I", "your": "you", "his": "he", "her": "she", "our": "we", "their": "they"}
_SELVES = {
    "I": "myself", "you": "yourself", "he": "himself", "she": "herself", "it": "itself", "we": "ourselves", "they": "themselves",
}


LEADING = (
    "when ", "if ", "because ", "although ", "though ", "even if ", "even though ", "before ", "after ", "while ", "since ",
    "whenever ", "unless ", "until ", "as soon as ", "as long as ",
)
"""Words that begin a clause in front of the main clause. The comma after such a clause is often left out."""


@dataclass(slots=True)
class FilledPattern:
    """The phrases that fill the placeholders of one sentence.

    subject: whom the sentence is about. outer_subject: whom the surrounding line is about, for a phrase inside another line.
    speaker: I, you or we, if it is among the first three words of a line without a subject placeholder.
    """

    by_name: dict[str, Phrase] = field(default_factory=dict)
    subjects: dict[str, NounPhrase] = field(default_factory=dict)
    subject: NounPhrase | None = None
    outer_subject: NounPhrase | None = None
    speaker: NounPhrase | None = None


# --- Sentences from patterns ------------------------------------------------------------------------------------------
def statement_pattern(s: Sampler) -> Phrase:
    """Draw a pattern that is a statement: I have a headache -> 我 头疼."""
    return _draw_pattern(s, ".")


def question_pattern(s: Sampler) -> Phrase:
    """Draw a pattern that is a question: would you like some tea -> 你 想要 一些 茶 吗."""
    return _draw_pattern(s, "?")


def exclamation_pattern(s: Sampler) -> Phrase:
    """Draw a wish, a greeting, thanks or an order: happy birthday to you -> 祝 你 生日 快乐."""
    return _draw_pattern(s, "!")


def two_sentences(s: Sampler) -> Phrase:
    """Draw two short sentences, the first with its mark: Where is my bag? I can't find it."""
    mark = s.weighted({".": 5, "?": 3, "!": 1})
    return join([_draw_pattern(s, mark), pair(mark, INNER[mark]), statement_pattern(s)])


def clause_pattern(s: Sampler) -> Phrase:
    """Draw a pattern that can be part of a longer sentence."""
    return fill_pattern(s, s.choice(table.clauses()))


builders.clauses["everyday"] = clause_pattern


def _draw_pattern(s: Sampler, mark: str) -> Phrase:
    """Draw a pattern with this final mark, from a section drawn by its weight."""
    for __ in range(5):
        pattern = s.choice(table.with_mark(mark)[s.weighted(table.weights(mark))].patterns)
        phrase = fill_pattern(s, pattern)
        if len(pattern.english[0]) == 1 or english_text(phrase).lower() not in table.fixed():
            break  # a line without placeholders takes precedence
    return phrase


def fill_pattern(s: Sampler, pattern: table.Pattern, outer_subject: NounPhrase | None = None) -> Phrase:
    """Fill the placeholders of a pattern at random.

    outer_subject: whom the surrounding line is about, if the pattern is a phrase of another line.
    """
    pieces = s.choice(pattern.english)
    if pieces[0].startswith(LEADING) and "".join(pieces).count(",") == pattern.chinese.count("，") == 1 and s.chance(0.25):
        pieces = tuple(piece.replace(",", "|") for piece in pieces)  # when I came home he was asleep
        pattern = replace(pattern, chinese=tuple(word for word in pattern.chinese if word != "，"))
    filled = FilledPattern(outer_subject=outer_subject)
    if not any(_kind(place) in places.SUBJECT_KINDS for place in pieces[1::2]):
        filled.subject = outer_subject
        filled.speaker = next((subjects.pronoun_phrase(word) for word in pieces[0].split()[:3] if word in ("I", "you", "we")), None)
    one = bool(_ONE.search("{}".join(pieces[::2]))) or any(_kind(place) == "job" for place in pieces[1::2])
    for place in sorted(pieces[1::2], key=lambda place: _kind(place) not in places.SUBJECT_KINDS):
        _fill(s, filled, place, one=one)
    fixed: list[Phrase] = []
    commas: list[Phrase] = []
    source: list[Phrase] = []
    for i, piece in enumerate(pieces):
        if i % 2:
            source.append(filled.by_name[piece.partition(":")[0]])
            continue
        for text in filter(None, ((part or "").strip() for part in _PART.split(f" {piece} "))):
            words = pair(" ".join(_agreeing(word, filled) for word in text.split()))
            source.append(words)
            if text not in INNER:
                (commas if text == "," else fixed).append(words)
    for words, following in pairwise(source):  # a {kind} house -> an old house
        if words.source and words.source[-1].text in ("a", "an") and english_text(following)[:1].isalpha():
            words.source[-1].text = nouns.a_or_an([following])
    said = tuple(english_text(phrase) for phrase in filled.by_name.values() if not english_text(phrase).startswith("<"))
    if said:
        s.combinations.append((*(english_text(words) for words in fixed[:1]), *said))
    return _marked(join(source, _in_chinese(pattern, filled, fixed, commas, alone=len(pieces) == 1)))


def _marked(phrase: Phrase) -> Phrase:
    """Align each inner mark to the same mark in English: how are you ? I am fine."""
    marks = {zh: iter([word for word in phrase.source if word.text == mark]) for mark, zh in INNER.items()}
    if not any(zh in marks for zh, __ in phrase.target):
        return phrase
    target = tuple((zh, tuple(word for word in [next(marks[zh], None)] if word) if zh in marks else of) for zh, of in phrase.target)
    return Phrase(phrase.source, target)


def _agreeing(word: str, filled: FilledPattern) -> str:
    """Return the form that agrees with the subject: ~be -> am, ~need -> needs."""
    if not word.startswith("~"):
        return word
    base = word[1:].rstrip("0123456789")
    number = word[1 + len(base) :]
    who = next((who for name, who in filled.subjects.items() if name.endswith(number)), None) if number else filled.subject
    person: Person = who.person if who else "third"
    forms = _AGREEING.get(base)
    if forms:
        return forms[person]
    return _verb_forms()[base]["third" if person == "third" else "base"]


def _in_chinese(
    pattern: table.Pattern, filled: FilledPattern, fixed: list[Phrase], commas: list[Phrase], *, alone: bool
) -> list[Phrase]:
    """Return the Chinese words of a pattern with their alignment. alone: whether the pattern has no placeholders."""
    target: list[Phrase] = []
    marks = iter(commas)
    for word in pattern.chinese:
        if word.startswith("{"):
            said = filled.by_name[word.strip("{}")]
            asks_for_leave = pattern.mark == "?" and _subject_of(target) in ("我", "我们")
            if target and word.strip("{}0123456789") in _FORMS and not asks_for_leave:
                target[-1] = _able(target[-1], said, asks=pattern.mark == "?")
            target.append(Phrase((), said.target))
            continue
        zh, __, origin = word.partition("/")
        if zh in "，、":
            target.append(aligned_to_all([mark] if (mark := next(marks, None)) else (), zh))
            continue
        if zh in INNER.values():
            target.append(aligned_to_all((), zh))
            continue
        if not origin:
            target.append(aligned_to_all(fixed if alone or len(fixed) == 1 else (), zh))
            continue
        causes = [_part(fixed, name) if name.lstrip("-").isdigit() else filled.by_name[name] for name in origin.split("+")]
        target.append(aligned_to_all(causes, zh))
    return _with_one_at(target)


def _subject_of(target: list[Phrase]) -> str:
    """Return the Chinese word before the last one, not counting 不: the subject, if the last one is 能."""
    words = [zh for phrase in target for zh, __ in phrase.target if zh != "不"]
    return words[-2] if len(words) > 1 else ""


def _able(can: Phrase, said: Phrase, *, asks: bool) -> Phrase:
    """Return 会 instead of 能 before a skill: 会 游泳.

    能 stays in "too tired to swim" (不 能), and before a verb with 得 (能 说 得 更 慢).
    """
    skill = bool(said.source and said.target) and is_skill(said.source[0].text, said.target[0][0])
    words = {word.text for __, of in can.target for word in of}
    skill = skill and "too" not in words and bool(words & ABLE) and not (asks and "could" in words)
    if not skill or not can.target or can.target[-1][0] != "能" or [zh for zh, __ in said.target[1:2]] == ["得"]:
        return can
    return Phrase(can.source, (*can.target[:-1], ("会", can.target[-1][1])))


def _with_one_at(target: list[Phrase]) -> list[Phrase]:
    """Merge the 在 of the progressive with the 在 of a place: 在 公园 里 玩."""
    last = {i for i, (one, after) in enumerate(pairwise(target)) if [zh for zh, __ in one.target] == ["在"] and _starts_at(after)}
    return [phrase for i, phrase in enumerate(target) if i not in last]


def _starts_at(phrase: Phrase) -> bool:
    """Whether its Chinese begins with 在."""
    return bool(phrase.target) and phrase.target[0][0] == "在"


def _part(fixed: list[Phrase], number: str) -> Phrase:
    """Return a part of the fixed words by its number: 1 is the first, -1 the last."""
    return fixed[int(number) - (not number.startswith("-"))]


# --- Filling the placeholders -----------------------------------------------------------------------------------------
def _fill(s: Sampler, filled: FilledPattern, place: str, *, one: bool = False) -> None:
    """Draw what fills a placeholder such as "a:food" and store it under its name, which may end in digits: person1, person2."""
    name, __, wanted = place.partition(":")
    kind = _kind(place)
    if kind in places.SUBJECT_KINDS:
        who = places.SUBJECT_KINDS[kind](s, wanted)
        taken = {other.name for other in filled.subjects.values()} | ({"we", "they"} if one else set())
        for _ in range(8):
            if who.name not in taken:
                break
            who = places.SUBJECT_KINDS[kind](s, wanted)
        filled.subjects[name] = who
        filled.subject = filled.subject or who
        filled.by_name[name] = who.phrase
        if kind in ("group", "named"):
            filled.subjects[f"the{name[len(kind):]}"] = who
    elif kind in _FORMS:
        filled.by_name[name] = _action(s, kind, wanted or "action", filled)
    elif kind in OBJECT_PRONOUNS:
        named = filled.subjects[f"the{name[len(kind):]}"]
        filled.by_name[name] = _pronoun_as_noun(s, filled, named, OBJECT_PRONOUNS[kind])
    elif kind == "same":
        pronoun = filled.subjects[f"the{name[len(kind):]}"].pronoun
        filled.by_name[name] = pair(pronoun, closed_class.SUBJECTS[pronoun])
    elif kind == "whose":
        filled.by_name[name] = _of_it(filled.subjects[f"the{name[len(kind):]}"].pronoun)
    elif kind == "own":
        filled.by_name[name] = _own(filled)
    elif kind == "self":
        filled.by_name[name] = pair(_SELVES.get(filled.subject.pronoun if filled.subject else "it", "themselves"), "自己")
    elif kind in ("again", "me"):
        filled.by_name[name] = _once_more(s, filled.outer_subject or filled.subject, as_object=kind == "me")
    elif kind == "whom":
        filled.by_name[name] = places.whom(s, wanted, filled.subject or filled.outer_subject or filled.speaker)
    elif kind in KINDS:
        filled.by_name[name] = KINDS[kind](s, wanted)
        if english_text(filled.by_name[name]) in {
            english_text(phrase) for other, phrase in filled.by_name.items() if other != name
        }:
            filled.by_name[name] = KINDS[kind](s, wanted)  # draw once more to make a repetition rare
    elif kind in table.parts():
        filled.by_name[name] = fill_pattern(s, s.choice(table.parts()[kind]), _about(s, filled, wanted))
    else:
        filled.by_name[name] = _listed(s, kind, filled)


def _kind(place: str) -> str:
    """Return the kind of a placeholder: person2:job -> person."""
    return place.partition(":")[0].rstrip("0123456789")


def _about(s: Sampler, filled: FilledPattern, wanted: str) -> NounPhrase:
    """Return whom a phrase is about: the subject of that name, another one for "he" and "they", or else that of the line."""
    if wanted in ("he", "they"):
        return subjects.pronoun_phrase(s.choice(("he", "she")) if wanted == "he" else "they")
    return filled.subjects[wanted] if wanted else filled.subject or filled.outer_subject or subjects.pronoun_phrase("I")


def _once_more(s: Sampler, who: NounPhrase | None, *, as_object: bool) -> Phrase:
    """Refer again to the subject of the sentence: my brother ... he, him; I ... I, me."""
    who = who or subjects.pronoun_phrase("I")
    if not as_object:
        return mentioned_again(s, who).phrase
    pronoun = who.name if who.name in closed_class.SUBJECTS else who.pronoun
    return pair(closed_class.OBJECT_OF[pronoun], closed_class.SUBJECTS[pronoun])


def _pronoun_as_noun(s: Sampler, filled: FilledPattern, named: NounPhrase, as_object: Mapping[str, str]) -> Phrase:
    """Return it, they or him. Chinese repeats the noun, but uses 他, 她 or 他们 for the only person of a sentence."""
    pronoun = as_object.get(named.pronoun, named.pronoun)
    persons = {who.name for who in filled.subjects.values() if (who.noun.is_a("person") if who.noun else who.name.startswith("<"))}
    if persons == {named.name}:
        return pair(pronoun, (closed_class.SUBJECTS | closed_class.OBJECTS)[pronoun])
    return pronoun_as_noun(s, named.head, pronoun)


def _listed(s: Sampler, name: str, filled: FilledPattern) -> Phrase:
    """Draw a word of a list that the sentence does not contain yet."""
    used = {english_text(phrase) for phrase in filled.by_name.values()}
    return pair(*s.choice([row for row in table.read_table()[0][name] if row[0] not in used]))


def _own(filled: FilledPattern) -> Phrase:
    """Return the possessive that agrees with the subject of the sentence: my -> 我 的."""
    who = filled.subject
    pronoun = (who.name if who.name in closed_class.SUBJECTS else who.pronoun) if who else "I"
    if who and who.noun is not None and who.person == "plural":
        pronoun = "they"
    return _of_it(pronoun)


def _of_it(pronoun: str) -> Phrase:
    """Return the possessive of a pronoun: I -> my, 我 的."""
    word = pair(next(owner for owner, of in _SUBJECTS.items() if of == pronoun) if pronoun != "it" else "its")
    return join([word, aligned(word, f"{closed_class.SUBJECTS[pronoun]} 的")])


@cache
def _verb_forms() -> Mapping[str, Mapping[str, str]]:
    """Return the forms of the first word of every verb, by that word."""
    names = ("base", "third", "past", "participle", "ing")
    be = dict(zip(names, ("be", "is", "was", "been", "being"), strict=True))
    return {"be": be, **{v.base.split()[0]: {name: getattr(v, name).split()[0] for name in names} for v in reversed(lex.VERBS)}}


def _action(s: Sampler, kind: str, listed: str, filled: FilledPattern) -> Phrase:
    """Draw an action of a list in a form of its verb.

    In its Chinese, "*" marks the position of 了 or 过. "own" is my, your or his, as the subject requires, in both languages. An
    action may have placeholders of its own: buy {a:clothes} -> 买 * {a}.
    """
    actions = table.read_table()[0][listed]
    if filled.subject is None or filled.subject.negative:
        actions = tuple(action for action in actions if not {"own", "{own}"} & set(action[0].split()))
    if kind == "once":
        actions = tuple(action for action in actions if "*" in action[1])
    text, zh = s.choice(actions)
    first, __, rest = text.partition(" ")
    form = "third" if kind == "does" and (filled.subject is None or filled.subject.person == "third") else _FORMS[kind]
    done = {"done": "了", "gone": "了", "been": "过", "once": "一 次"}.get(kind, "")
    if "{" in text:
        words = f"{_verb_forms()[first][form]} {rest} ; {zh.replace('*', ' '.join(f'{word}/1' for word in done.split()))}"
        return fill_pattern(s, table.parse_pattern(words, clause=False), filled.subject or filled.outer_subject)
    zh = zh.replace("*", done)
    if "own" not in zh.split():
        return pair(f"{_verb_forms()[first][form]} {rest}", zh)
    before, after = (part.strip() for part in re.split(r"\bown\b", rest))
    main, owner, thing = pair(f"{_verb_forms()[first][form]} {before}"), _own(filled), pair(after)
    left, right = (part.strip() for part in zh.split("own"))
    return join([main, owner, thing], [aligned(main, left), owner, aligned_to_all([main, thing] if not left else [thing], right)])


def _clause_of(s: Sampler, tense: str) -> Phrase:
    """Draw a clause in a tense, or in any: mostly a pattern of the section with that name, otherwise a clause of the grammar."""
    simple = table.read_table()[1].get(tense or s.choice(("past", "present", "present", "future")))
    if simple is not None and s.chance(0.75):
        return fill_pattern(s, s.choice(simple.patterns))
    return statement(make_clause(s, tense=tense, plain=True))


OBJECT_PRONOUNS: Mapping[str, Mapping[str, str]] = {"it": {}, "him": {"he": "him", "she": "her", "they": "them"}}
builders.clauses["past"] = lambda s: _clause_of(s, "past")
builders.clauses["present"] = lambda s: _clause_of(s, "present")
builders.clauses["future"] = lambda s: _clause_of(s, "future")
KINDS = {**places.KINDS, "clause": _clause_of, "sentence": lambda s, wanted: clause_pattern(s)}
