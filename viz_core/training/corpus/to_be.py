"""Complements of "to be": adjectives, comparisons, nouns and places."""

from dataclasses import replace
from functools import cache

from viz_core.training.corpus import closed_class, nouns
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.lexicon import Adjective, Noun
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, chinese, english_text, join, pair
from viz_core.training.corpus.predicates import (
    BE,
    Predicate,
    draw_degree,
    first_chinese_word,
    someone,
    somewhere,
    zai_unless_present,
)


def adjective_predicate(
    s: Sampler, noun: Noun | None, adjective: Adjective | None = None, who: NounPhrase | None = None
) -> Predicate:
    """Draw "to be" with an adjective: is tired -> 很 累; is red -> 是 红色 的; is dead -> 死 了; is afraid of dogs -> 怕 狗."""
    choices = [a for a in lex.adjectives_of(noun) if "nopred" not in a.flags] if noun else []
    if who is not None and who.noun is None:  # no noun selects a sense
        choices = [
            a for a in choices if lex.is_usual_sense(a) and not (who.name == "it" and a.english in closed_class.SAID_OF_WEATHER)
        ]
    person = noun is not None and noun.is_a("person")
    if person and s.chance(0.12) and adjective is None:
        return _adjective_of(s)
    adjective = adjective or s.entry(choices or lex.adjectives(nouns.UNGRADED_FLAGS))
    if "ren" in adjective.flags and s.chance(0.7) and choices:  # nationalities are rarer
        adjective = s.entry(choices)
    about = (noun.english if noun else "", adjective.english)
    word = pair(adjective.english, adjective.chinese)
    if adjective.flags & {"shi", "ren"}:
        end = aligned(word, "人" if person and "ren" in adjective.flags else "的")
        if adjective.chinese in COLOURS:
            word = pair(adjective.english, f"{adjective.chinese}色")
            end = aligned(word, "的")
        if adjective.chinese.endswith(LANGUAGES):  # the letter is french: 信 是 法语
            end = NOTHING
        return Predicate(BE, "是", [word], rest=[word, end], about=about)
    if adjective.flags & {"le", "verb"}:
        return Predicate(BE, "", [word], rest=[word], last="了" if "le" in adjective.flags else "", about=about)
    if adjective.comparative and s.chance(0.12) and s.can_nest():
        return comparison(s, adjective, noun, about, who)
    degree = draw_degree(s)
    if degree:
        strong = english_text(degree) in ("very", "really", "so")  # never 不 非常: `manner_and_duration` builds "not very"
        return Predicate(BE, "", [degree, word], rest=[degree, word], about=about, never_negated=strong)
    return Predicate(BE, "", [word], rest=[word], very=chinese("很"), about=about)


def comparison(
    s: Sampler, adjective: Adjective, noun: Noun | None, about: tuple[str, ...], who: NounPhrase | None = None
) -> Predicate:
    """Draw a comparison.

    taller than me -> 比 我 高; as tall as me -> 和 我 一样 高; much better -> 好 得多; more expensive -> 更 贵.
    """
    s.depth -= 1
    if (noun is None or noun.is_a("person")) and adjective.english in AGES:
        adjective = replace(adjective, chinese=AGES[adjective.english])
    word = pair(adjective.english, nouns.compared_chinese(adjective))
    if s.chance(0.25):
        alone = nouns.comparative_phrase(adjective)
        return Predicate(BE, "", [alone], rest=[alone], about=about, never_negated=True)
    other = compared_with(s, adjective, noun, who)
    if s.chance(0.25):
        first, as_ = pair("as", "一样"), pair("as", "和")
        rest = [as_, other.phrase, first, word]
        return Predicate(BE, "", [first, word, as_, other.phrase], rest=rest, about=about, never_negated=True)
    form, zh = adjective.comparative, nouns.compared_chinese(adjective)
    if zh.startswith("不"):  # 比 我 更 不 健康
        zh = f"更 {zh}"
    compared = join([pair("more"), pair(adjective.english, zh)]) if form == "more" else pair(form, zh)
    than = pair("than", "比")
    much = s.pair(closed_class.MUCH_MORE) if s.chance(0.2) else NOTHING
    rest = [than, other.phrase, compared, much]  # never 不 比: `manner_and_duration` builds "not taller than"
    return Predicate(BE, "", [much, compared, than, other.phrase], rest=rest, about=about, never_negated=True)


def compared_with(s: Sampler, adjective: Adjective, noun: Noun | None, who: NounPhrase | None) -> NounPhrase:
    """Draw what a subject is compared with: another person, or another thing of its class."""
    if noun is None and who is not None and who.name in THINGS:
        same = [n for n in lex.nouns_of(adjective) if not n.is_a("person") and n.is_common]
        return nouns.noun_phrase(s, same or lex.nouns("thing"), {nouns.the: 3, nouns.owned: 3, nouns.this: 2})
    if noun is None or noun.is_a("person"):
        s.actor, actor = (who.name if who is not None else ""), s.actor
        other = someone(s)
        s.actor = actor
        return other
    others = [n for n in lex.nouns_of(adjective) if n is not noun and not noun.classes.isdisjoint(n.classes) and n.is_common]
    forms: nouns.Forms = {nouns.the: 3, nouns.owned: 3, nouns.this: 2}
    return nouns.noun_phrase(s, others or lex.nouns("person"), forms)


COLOURS = ("红", "白", "黑")
"""Colours that are 红 before a noun and 红色 的 as a predicate."""
LANGUAGES = ("语", "中文")
"""The endings of the names of languages."""
THINGS = ("it", "this", "that", "these", "those", "this one", "that one", "something", "everything")
"""Pronouns for things, where no noun is given."""
AGES = {"old": "大", "young": "小"}
"""The Chinese of adjectives that compare persons: older than me 比 我 大."""


@cache
def _with_preposition() -> tuple[Adjective, ...]:
    """Return the adjectives with a preposition that describe people: afraid of, interested in."""
    people = {"person", "being", "any"}
    return tuple(a for a in lex.ADJECTIVES if "of" in a.flags and lex.nouns(a.objects) and people & set(a.nouns.split()))


def _adjective_of(s: Sampler) -> Predicate:
    """Draw an adjective with an object: afraid of dogs -> 怕 狗; interested in music -> 对 音乐 感兴趣."""
    adjective = s.choice(_with_preposition())
    forms: nouns.Forms = {nouns.bare: 3, nouns.the: 2, nouns.owned: 2, nouns.this: 1}
    return with_object(adjective, nouns.noun_phrase(s, lex.nouns(adjective.objects), forms))


def with_object(adjective: Adjective, what: NounPhrase) -> Predicate:
    """Build an adjective with its object.

    late for the party -> 聚会 迟到 了; kind to the cat -> 对 猫 很 友善; afraid of the cat -> 怕 猫.
    """
    phrase = pair(adjective.english)
    left, right = (part.strip() for part in adjective.chinese.split("~"))
    tail, about = [phrase, what.phrase], (adjective.english, what.name)
    if right.startswith("很 "):  # 对 我 很 友好, 对 我 不 友好
        lead, rest = [aligned(phrase, left), what.phrase], [aligned(phrase, right.removeprefix("很 "))]
        return Predicate(BE, "", tail, lead, rest, very=aligned(phrase, "很"), about=about, negator_after_lead=True)
    if right.endswith(" 了"):  # 聚会 迟到 了, 聚会 没有 迟到
        lead, rest = [aligned(phrase, left), what.phrase], [aligned(phrase, right.removesuffix(" 了"))]
        return Predicate(BE, "", tail, lead, rest, last="了", about=about, negator_after_lead=True)
    words = [aligned(phrase, left), what.phrase, aligned(phrase, right)]
    return Predicate(BE, "", tail, rest=words, about=about)


def noun_predicate(s: Sampler, subject: NounPhrase) -> Predicate:
    """Draw "to be" with a noun: is a teacher -> 是 一 位 老师; are my friends."""
    if subject.noun is None or subject.noun.is_a("person"):
        wanted = s.choice(("job", "job", "'student' 'friend' 'man' 'woman' 'child' 'boy' 'girl' 'hero' 'genius' 'tourist'"))
    else:
        wanted = s.choice(sorted(subject.noun.classes - {"part", "surface", "container"}) or ["thing"])
    forms: nouns.Forms = {nouns.a: 12, nouns.owned: 4, nouns.the: 2, nouns.superlative: 2, nouns.ordinal: 1, nouns.possessive: 2}
    if subject.person == "plural":
        forms = {nouns.bare: 3, nouns.owned: 2}
    choices = [n for n in lex.nouns(wanted) if n.plural and not n.only_plural] or list(lex.nouns("thing"))
    others = [n for n in choices if n is not subject.noun]
    what = nouns.noun_phrase(s, others or choices, forms)
    is_profession = what.noun is not None and (what.noun.is_a("job") or what.noun.english == "student")
    said = _as_profession(what) if is_profession else what.phrase
    return Predicate(BE, "是", [said], rest=[said], about=(subject.name, what.name))


def what_this_is(s: Sampler) -> tuple[Predicate, NounPhrase]:
    """Draw an identification.

    this is my house -> 这 是 我 的 房子; these are apples -> 这些 是 苹果; it is a cat -> 它 是 一 只 猫.
    """
    many = s.chance(0.2)
    table = closed_class.SEVERAL_DEMONSTRATIVES if many else {**closed_class.DEMONSTRATIVES, "it": "它"}
    word = s.pair(table)
    mine = s.pair(closed_class.OWN)
    who = NounPhrase(word, word, person="plural" if many else "third", name=word.source[0].text)
    if s.chance(0.08):  # it is mine
        return Predicate(BE, "是", [mine], rest=[mine, aligned(mine, "的")], about=(who.name, "own")), who
    forms: nouns.Forms = {nouns.bare: 3, nouns.owned: 3} if many else {
        nouns.a: 8, nouns.owned: 6, nouns.possessive: 2, nouns.superlative: 1, nouns.the: 1, nouns.of_phrase: 1,
    }
    choices = lex.usual_sense_nouns("thing animal building food family fruit furniture vehicle country" if s.chance(0.8) else "any")
    what = nouns.noun_phrase(s, [n for n in choices if n.plural] if many else choices, forms)
    return Predicate(BE, "是", [what.phrase], rest=[what.phrase], about=(who.name, what.name)), who


def _as_profession(what: NounPhrase) -> Phrase:
    """Replace the classifier by that of professions: a doctor -> 一 名 医生."""
    assert what.noun is not None
    links = what.phrase.target
    counted = len(links) > 2 and links[0][0] == "一" and links[1][0] == what.noun.classifier
    return Phrase(what.phrase.source, (links[0], ("名", links[1][1]), *links[2:])) if counted else what.phrase


def place_predicate(s: Sampler, who: NounPhrase | None = None) -> Predicate:
    """Draw "to be" with a place that suits the subject: is on the table -> 在 桌子 上; is at home -> 在 家."""
    of = nouns.located_kind(who.noun if who is not None else None)
    source, target = nouns.place(s, of) if of != "person" else somewhere(s)
    return Predicate(
        BE, "在" if zai_unless_present(target) else "", [*source], rest=[*target], about=("in", first_chinese_word(target))
    )
