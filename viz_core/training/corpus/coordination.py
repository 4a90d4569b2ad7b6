"""Coordination: apples, pears and bananas; both Tom and Anna; neither he nor she; either tea or coffee."""

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus import nouns, subjects, to_be, verb_phrases
from viz_core.training.corpus.clauses import chinese_pieces, make_clause, plain_clause, statement, verb_group
from viz_core.training.corpus.personal_facts import age
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, english, join, pair
from viz_core.training.corpus.predicates import Predicate, infinitive, person_acts_on
from viz_core.training.corpus.tenses import draw_be

LISTED = ("fruit", "animal", "food", "clothes", "person", "vegetable", "thing", "country", "furniture", "drink")
DESCRIBED = "person animal room building thing weather place food"


def enumeration(s: Sampler) -> Phrase:
    """Draw a sentence with an enumeration.

    I bought apples, pears and bananas -> 我 买 了 苹果 、 梨 和 香蕉; the room was small and cold.
    """
    if s.chance(0.4):
        return adjective_series(s)
    wanted = s.choice(LISTED)
    form = s.choice((nouns.bare, nouns.the, nouns.a, nouns.owned, nouns.counted))
    said = [nouns.short_phrase(s, wanted, (form,)) for __ in range(s.choice((3, 3, 4)))]
    parts = [part.phrase for part in {part.noun.chinese if part.noun else "": part for part in said}.values()]
    if len(parts) < 3:  # no repeated item
        return enumeration(s)
    last = [pair("and", "和") if s.chance(0.85) else pair("or", "或者"), parts[-1]]
    whole = join([parts[0], *(piece for part in parts[1:-1] for piece in (pair(",", "、"), part)), *last])
    if s.chance(0.2):
        return whole
    if s.chance(0.3):
        who = NounPhrase(whole, whole, person="plural", pronoun="they", name=wanted)
        return statement(make_clause(s, who, p=to_be.adjective_predicate(s, s.entry(lex.nouns(wanted))), plain=True))
    verbs = lex.verbs_where(person_acts_on, "t")
    verb = s.entry([v for v in verbs if wanted in v.objects.split()] or verbs)
    p = Predicate(verb, verb.chinese, [whole], rest=[whole], about=(verb.base, wanted))
    return statement(make_clause(s, subjects.subject(s, lex.subjects_of(verb)), p=p))


def adjective_series(s: Sampler) -> Phrase:
    """Draw a subject with several adjectives: the room was small and cold -> 房间 又 小 又 冷. Falls back to `age`."""
    noun = s.entry(lex.nouns(DESCRIBED))
    choices = [a for a in lex.adjectives_of(noun) if a.flags.isdisjoint({"shi", "le", "verb", "nopred", "ren"})]
    if len(choices) < 3:
        return age(s)
    who = nouns.noun_phrase(s, (noun,), {nouns.the: 4, nouns.owned: 2, nouns.this: 1})
    be = draw_be(s, who, 0.4)
    chosen = {a.chinese: a for a in s.rng.sample(choices, s.choice((2, 2, 3)))}  # no synonyms such as large and big
    if len(chosen) < 2:
        return age(s)
    words = [pair(a.english, a.chinese) for a in chosen.values()]
    between = [piece for word in words[1:-1] for piece in (pair(","), word)]
    source = [who.phrase, be, words[0], *between, pair("and"), words[-1]]
    return join(source, [who.phrase, *(piece for word in words for piece in (aligned(word, "又"), word))])


def either(s: Sampler) -> Phrase:
    """Draw a sentence with a paired conjunction.

    neither he nor she knows it; both Tom and Anna are tired; he neither smokes nor drinks; you can either stay or go.
    """
    kind = s.weighted({"neither subject": 3, "neither verb": 3, "both": 3, "either": 3})
    return _two_subjects(s, kind == "both") if kind in ("neither subject", "both") else _two_verbs(s, kind == "neither verb")


def _two_subjects(s: Sampler, both: bool) -> Phrase:
    """Draw a clause with two subjects.

    both Tom and Anna sleep -> Tom 和 Anna 都 睡觉; neither he nor she sleeps -> 他 和 她 都 不 睡觉.
    """
    one, two = (subjects.subject_noun(s, lex.nouns("person"), True) for __ in range(2))
    first, and_ = (pair("both"), pair("and", "和")) if both else (pair("neither"), pair("nor", "和"))
    whole = join([first, one.phrase, and_, two.phrase])
    who = NounPhrase(whole, one.head, None, "plural", "they", name=one.name, takes_dou=True)
    c = plain_clause(s, who, tense=s.choice(("present", "past", "can")))
    if both:
        return statement(c)
    g = verb_group(c)
    g.before = join([], [aligned(first, "没有" if c.tense == "past" and not c.predicate.is_state else "不"), g.before])
    g.after = NOTHING
    return join([who.phrase, g.aux, g.extra, g.main, *c.predicate.tail], chinese_pieces(c, g, question=True))


def _two_verbs(s: Sampler, neither: bool) -> Phrase:
    """Draw a clause with two verbs.

    he neither smokes nor drinks -> 他 不 抽烟 也 不 喝酒; you can either stay or go -> 你 可以 留下 或者 走.
    """
    who = subjects.pronoun(s)
    one, two = (verb_phrases.action_predicate(s) for __ in range(2))
    if one.is_be or two.is_be:
        return age(s)
    if neither:
        before, a, b = NOTHING, pair("neither", "不"), pair("nor", "也 不")
    else:
        before, a, b = s.pair({"can": "可以", "will": "会", "must": "必须"}), english("either"), pair("or", "或者")
    form = "third" if neither and who.person == "third" else "base"
    (source, target), (other_source, other_target) = infinitive(one, form), infinitive(two, form)
    start = [who.phrase, before, a]
    return join([*start, *source, b, *other_source], [*start, *target, b, *other_target])
