"""Manner, duration and price: she runs fast; I have lived here for six years; the ticket costs ten dollars."""

from collections.abc import Mapping, Sequence

from viz_core.training.corpus import closed_class, nouns, subjects, to_be
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import chinese_pieces, inverted_english, make_clause, plain_clause, statement, verb_group
from viz_core.training.corpus.phrases import NOTHING, Phrase, Sampler, aligned, english, join, pair
from viz_core.training.corpus.predicates import Predicate, by_person, degree_or_hen, draw_degree, someone
from viz_core.training.corpus.tenses import draw_be
from viz_core.training.corpus.time_expressions import duration

SKILLED = ("sing", "dance", "swim", "cook", "drive", "paint", "draw", "write", "study", "work", "sleep", "skate", "ski", "run")
MOVING = ("run", "walk", "drive", "swim", "talk", "eat", "write", "work", "read", "study")
LASTING = ("sleep", "wait", "work", "study", "talk", "run", "walk", "swim", "rest", "read", "cry", "travel", "cook", "dance",
           "sing", "play", "fight", "drive", "eat", "listen", "think", "relax")
TIMED = ("get up", "come", "leave", "arrive", "come back")
LOUD = ("talk", "laugh", "sing", "shout", "cry")
MANNERS: Mapping[tuple[str, str], Sequence[str]] = {
    ("well", "好"): SKILLED, ("badly", "差"): SKILLED, ("fast", "快"): MOVING, ("quickly", "快"): MOVING, ("slowly", "慢"): MOVING,
    ("early", "早"): TIMED, ("late", "晚"): TIMED, ("loudly", "大声"): LOUD, ("beautifully", "好听"): ("sing",),
    ("far", "远"): ("run", "walk", "swim", "fly"), ("high", "高"): ("jump", "fly"), ("a lot", "多"): ("eat", "sleep", "drink"),
}
"""Adverbs of manner with the verbs that they go with."""
BETTER: Mapping[tuple[str, str], Sequence[str]] = {
    ("faster", "快"): MOVING, ("better", "好"): SKILLED, ("worse", "差"): SKILLED, ("more slowly", "慢"): MOVING,
    ("earlier", "早"): TIMED, ("later", "晚"): TIMED, ("longer", "久"): ("sleep", "wait", "work", "rest"),
    ("harder", "努力"): ("work", "study"), ("higher", "高"): ("jump", "fly"),
}


def _not_so(s: Sampler) -> Phrase:
    """Draw a negated comparison or degree.

    the box is not bigger than the bag, not as big as, less big than -> 盒子 没有 包 大; he is not very tall -> 他 不 太 高.
    """
    adjective = s.entry([a for a in lex.adjectives(nouns.UNGRADED_FLAGS) if a.comparative and not a.chinese.startswith("不")])
    who = subjects.subject(s, lex.nouns_of(adjective))
    if who.noun is None and not lex.is_usual_sense(adjective):
        return _not_so(s)
    be = draw_be(s, who, 0.25)
    if who.negative or who.negator or who.takes_dou:
        return _not_so(s)
    word = pair(adjective.english, adjective.chinese)
    s.combinations.append((who.name, adjective.english))
    kind = s.weighted({"very": 4, "than": 4, "as": 2, "less": 2 if adjective.comparative == "more" else 0})
    if kind == "very":
        no, degree = pair("not", "不"), pair(s.choice(("very", "very", "really")), "太")
        return join([who.phrase, be, no, degree, word])
    of_person = who.noun is None or who.noun.is_a("person")
    zh = to_be.AGES.get(adjective.english, "") if of_person else ""
    word = pair(adjective.english, zh or nouns.compared_chinese(adjective))
    other = to_be.compared_with(s, adjective, who.noun, who)
    if kind == "less":
        less, than = pair("less", "没有"), english("than")
        return join([who.phrase, be, less, word, than, other.phrase], [who.phrase, less, other.phrase, word])
    no = pair("not", "没有")
    if kind == "as":
        source = [no, english("as"), word, english("as"), other.phrase]
    else:
        form = adjective.comparative
        if form != "more":
            word = pair(form, " ".join(zh for zh, __ in word.target))
        source = [no, english("more") if form == "more" else NOTHING, word, english("than"), other.phrase]
    return join([who.phrase, be, *source], [who.phrase, no, other.phrase, word])


def how_well(s: Sampler) -> Phrase:
    """Draw a clause with an adverb of manner.

    she runs fast -> 她 跑 得 很 快; he runs faster than his brother -> 他 比 他 哥哥 跑 得 快.
    """
    if s.chance(0.35):
        return _not_so(s)
    better = s.chance(0.4)
    (english_word, zh), bases = s.choice(list((BETTER if better else MANNERS).items()))
    word = pair(english_word, zh)
    verbs = [v for v in lex.verbs_where(by_person, "i") if v.base in bases and len(v.chinese) <= 4]
    verb = s.choice(verbs)
    said = verb.chinese[:1] if "vo" in verb.flags else verb.chinese  # 游泳 -> 游 得 快
    who = subjects.subject(s, lex.nouns("person"))
    p = Predicate(verb, said, takes_le=False, about=(verb.base, "how"), never_negated=True)
    if better:
        _better(s, p, word, who.name)
    else:
        degree = draw_degree(s)
        p.tail, p.rest = [degree, word], [aligned(word, "得"), degree_or_hen(degree), word]
    return statement(make_clause(s, who, p=p, tense=s.choice(("present", "present", "past", "can", "should"))))


def _better(s: Sampler, p: Predicate, word: Phrase, who: str) -> None:
    """Add a comparative adverb: faster than his brother -> 比 他 哥哥 (跑) 得 快; faster -> (跑) 得 更 快."""
    p.tail, p.rest = [word], [aligned(word, "得"), word]
    if s.chance(0.75):
        s.actor, actor = who, s.actor  # not "I am faster than me"
        p.lead = [pair("than", "比"), someone(s).phrase]
        s.actor = actor
        p.tail += p.lead
    else:
        p.rest = [aligned(word, "得"), aligned(word, "更"), word]


def how_long(s: Sampler) -> Phrase:
    """Draw a clause with a duration, or ask for one.

    how long have you waited -> 你 等 了 多久; I have studied english for six years -> 我 学 了 六 年 英语.
    """
    verb = s.entry([v for v in lex.verbs_where(by_person, "i") if v.has_progressive and v.base in LASTING])
    said = verb.chinese[:1] if "vo" in verb.flags and len(verb.chinese) == 2 else verb.chinese
    who = subjects.pronoun(s) if s.chance(0.6) else subjects.subject(s, lex.nouns("person"))
    if s.chance(0.4):
        how = pair("how long", "多久")
        tense = s.choice(("perfect", "past", "future"))
        p = Predicate(verb, said, rest=[Phrase((), how.target)], about=(verb.base, "how long"))
        c = plain_clause(s, who, p=p, tense=tense)
        g = verb_group(c, question=True)
        return join(inverted_english(c, g, Phrase(how.source)), chinese_pieces(c, g, question=True))
    for_, span = english("for"), duration(s)
    waited = Predicate(verb, said, [for_, span], rest=[span], about=(verb.base, "for"))
    p = _studied(s, for_, span) if s.chance(0.35) else waited
    return statement(make_clause(s, who, p=p, tense=s.choice(("perfect", "past", "future", "perfect")), plain=True, positive=True))


def _studied(s: Sampler, for_: Phrase, span: Phrase) -> Predicate:
    """Build the predicate of studying a subject for a time: study english for six years -> 学 六 年 英语."""
    subject, base = s.choice(lex.nouns("language subject")), s.choice(("study", "learn"))
    thing = pair(subject.english, subject.chinese)
    verb = next(v for v in lex.VERBS if v.base == base and v.frame == "t")
    return Predicate(verb, "学", [thing, for_, span], rest=[span, thing], about=(base, subject.english))


def costs(s: Sampler) -> Phrase:
    """Draw a price.

    the ticket costs ten dollars -> 票 要 十 美元; I bought a hat for ten dollars -> 我 花 十 美元 买 了 一 顶 帽子.
    """
    money = s.choice(lex.nouns("'dollar' 'pound' 'euro' 'yuan'"))
    amount = join([s.pair(closed_class.NUMBERS), pair(money.plural or money.english, money.chinese)])
    if s.chance(0.5):
        forms: nouns.Forms = {nouns.the: 3, nouns.this: 3, nouns.owned: 1}
        what = nouns.noun_phrase(s, lex.nouns("thing food clothes 'ticket' 'room' vehicle"), forms)
        present = s.chance(0.7)
        return join([what.phrase, pair("costs" if present and what.person != "plural" else "cost", "要"), amount])
    who = subjects.pronoun(s)
    what = nouns.noun_phrase(s, lex.nouns("thing food clothes"), {nouns.a: 3, nouns.this: 2, nouns.counted: 2})
    bought, for_ = pair("bought", "买"), pair("for", "花")
    source = [who.phrase, bought, what.phrase, for_, amount]
    return join(source, [who.phrase, for_, amount, bought, aligned(bought, "了"), what.phrase])
