"""What follows "to be": adjectives, comparisons, nouns and places."""

from functools import cache

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import nouns, small_words
from viz_core.training.bilingual.lexicon import Adjective, Noun
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, chinese, english, join, more, pair
from viz_core.training.bilingual.predicates import BE, Predicate, at, degree_of, first_word, someone, somewhere


def adjective_predicate(s: Speaker, noun: Noun | None, adjective: Adjective | None = None) -> Predicate:
    """is tired -> 很 累; is red -> 是 红色 的; is dead -> 死 了; is afraid of dogs -> 怕 狗."""
    choices = [a for a in lex.adjectives_of(noun) if "nopred" not in a.flags] if noun else []
    person = noun is not None and noun.is_a("person")
    if person and s.chance(0.12) and adjective is None:
        return _adjective_of(s)
    adjective = adjective or s.one(choices or lex.adjectives(nouns.UNGRADED))
    about = (noun.english if noun else "", adjective.english)
    word = pair(adjective.english, adjective.chinese)
    if adjective.flags & {"shi", "ren"}:
        end = more(word, "人" if person and "ren" in adjective.flags else "的")
        return Predicate(BE, "是", [word], rest=[word, end], about=about)
    if adjective.flags & {"le", "verb"}:
        return Predicate(BE, "", [word], rest=[word], last="了" if "le" in adjective.flags else "", about=about)
    if adjective.comparative and s.chance(0.12) and s.deeper():
        return comparison(s, adjective, noun, about)
    degree = degree_of(s)
    if degree:
        return Predicate(BE, "", [degree, word], rest=[degree, word], about=about)
    return Predicate(BE, "", [word], rest=[word], very=chinese("很"), about=about)


def comparison(s: Speaker, adjective: Adjective, noun: Noun | None, about: tuple[str, ...]) -> Predicate:
    """taller than me -> 比 我 高; as tall as me -> 和 我 一样 高; much better -> 好 得多; more expensive -> 更 贵."""
    s.depth -= 1
    word = pair(adjective.english, adjective.chinese)
    if s.chance(0.25):
        alone = nouns.compared(adjective)
        return Predicate(BE, "", [alone], rest=[alone], about=about)
    other = _compared_with(s, noun)
    if s.chance(0.25):
        first, as_ = pair("as", "一样"), pair("as", "和")
        return Predicate(BE, "", [first, word, as_, other.phrase], rest=[as_, other.phrase, first, word], about=about)
    form = adjective.comparative
    compared = join([english("more"), word]) if form == "more" else pair(form, adjective.chinese)
    than = pair("than", "比")
    much = s.word(small_words.MUCH_MORE) if s.chance(0.2) else NOTHING
    return Predicate(BE, "", [much, compared, than, other.phrase], rest=[than, other.phrase, compared, much], about=about)


def _compared_with(s: Speaker, noun: Noun | None) -> NounPhrase:
    """Someone for a person, and another of its kind for a thing."""
    if noun is None or noun.is_a("person"):
        return someone(s)
    return nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.owned: 3, nouns.this: 2, nouns.bare: 2})


@cache
def _with_preposition() -> tuple[Adjective, ...]:
    """afraid of, interested in, as people are."""
    people = {"person", "being", "any"}
    return tuple(a for a in lex.ADJECTIVES if "of" in a.flags and lex.nouns(a.objects) and people & set(a.nouns.split()))


def _adjective_of(s: Speaker) -> Predicate:
    """afraid of dogs -> 怕 狗; interested in music -> 对 音乐 感兴趣."""
    adjective = s.one(_with_preposition())
    what = nouns.noun_phrase(s, lex.nouns(adjective.objects))
    phrase = pair(adjective.english)
    left, right = (part.strip() for part in adjective.chinese.split("~"))
    words = [more(phrase, left), what.phrase, more(phrase, right)]
    return Predicate(BE, "", [phrase, what.phrase], rest=words, about=(adjective.english, what.name))


def noun_predicate(s: Speaker, subject: NounPhrase) -> Predicate:
    """is a teacher -> 是 一 位 老师; are my friends."""
    if subject.noun is None or subject.noun.is_a("person"):
        wanted = s.one(("job", "person", "family"))
    else:
        wanted = s.one(sorted(subject.noun.classes))
    forms: nouns.Forms = {nouns.a: 12, nouns.owned: 4, nouns.the: 2, nouns.superlative: 2, nouns.ordinal: 1, nouns.possessive: 2}
    if subject.person == "plural":
        forms = {nouns.bare: 3, nouns.owned: 2}
    choices = [n for n in lex.nouns(wanted) if n.plural and not n.only_plural] or list(lex.nouns("thing"))
    what = nouns.noun_phrase(s, choices, forms)
    said = _as_profession(what) if what.noun is not None and what.noun.is_a("job") else what.phrase
    return Predicate(BE, "是", [said], rest=[said], about=(subject.name, what.name))


def _as_profession(what: NounPhrase) -> Phrase:
    """a doctor -> 一 名 医生, where it says what someone is."""
    assert what.noun is not None
    links = what.phrase.target
    counted = len(links) > 2 and links[0][0] == "一" and links[1][0] == what.noun.classifier
    return Phrase(what.phrase.source, (links[0], ("名", links[1][1]), *links[2:])) if counted else what.phrase


def place_predicate(s: Speaker) -> Predicate:
    """is on the table -> 在 桌子 上; is at home -> 在 家."""
    source, target = somewhere(s)
    return Predicate(BE, "在" if at(target) else "", [*source], rest=[*target], about=("in", first_word(target)))
