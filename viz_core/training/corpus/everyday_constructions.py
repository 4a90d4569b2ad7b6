"""Constructions of everyday language: I do not have any money; where are you from; green, not yellow; as soon as you arrive."""

from viz_core.training.corpus import closed_class, nouns, subjects, to_be, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import (
    Clause,
    chinese_pieces,
    make_clause,
    plain_clause,
    statement,
    subordinate_english,
    verb_group,
)
from viz_core.training.corpus.closed_class import BE, DO
from viz_core.training.corpus.imperatives import order
from viz_core.training.corpus.phrases import COMMA, NOTHING, Phrase, Sampler, aligned, aligned_to_all, english, join, pair
from viz_core.training.corpus.predicates import Predicate, infinitive, takes_plain_object
from viz_core.training.corpus.questions import yes_no
from viz_core.training.corpus.tenses import draw_be
from viz_core.training.corpus.time_expressions import WEEKDAYS, clock, duration

HAVE_OR_NEED = ("have", "need", "want", "see", "buy", "like", "know", "eat", "drink", "sell")
BOUNDS = {"before": "之前", "after": "以后"}
MEALS = {"breakfast": "早饭", "lunch": "午饭", "dinner": "晚饭"}
ASKING_FOR_MEANING = {
    "I do not know": "我 不 知道", "can you tell me": "你 能 告诉 我", "do you know": "你 知道", "tell me": "告诉 我",
}
FELT = {"happy": "高兴", "glad": "高兴", "sorry": "抱歉", "proud": "骄傲", "surprised": "惊讶", "sad": "难过", "lucky": "幸运"}
LASTING = ("wait for", "look for", "study", "learn", "teach", "help")
WISHES = ("want", "hope", "would like", "decide", "plan")

FELT_AS = frozenset({
    "tired", "happy", "sad", "cold", "hot", "warm", "hungry", "thirsty", "sleepy", "nervous", "scared", "afraid", "lonely",
    "bored", "excited", "weak", "strong", "proud", "guilty", "ashamed", "worried", "angry", "comfortable", "uncomfortable",
    "dizzy", "homesick", "safe", "calm", "relaxed", "embarrassed", "disappointed", "depressed", "jealous", "young", "lucky",
    "confident", "grateful", "confused", "surprised", "healthy", "anxious", "stressed", "frustrated", "helpless", "free",
    "unhappy", "sick", "ill",
})
"""Adjectives that follow "feel"."""


def any_of(s: Sampler) -> Phrase:
    """Draw a negation or a question with "any".

    I do not have any money -> 我 没有 钱; do you have any questions -> 你 有 问题 吗.
    """
    verb = s.entry([v for v in lex.verbs("t") if v.base in HAVE_OR_NEED and takes_plain_object(v) and lex.is_usual_translation(v)])
    what = nouns.in_form(s, s.entry(lex.objects_of(verb)), (nouns.bare,))
    thing = join([english("any"), what.phrase])
    p = Predicate(verb, verb.chinese, [thing], rest=[thing], about=(verb.base, what.name))
    c = plain_clause(s, subjects.pronoun(s), p=p, tense=s.choice(("present", "present", "past")))
    if s.chance(0.35):
        return yes_no(c)
    c.negated = True
    return statement(c)


def where_from(s: Sampler) -> Phrase:
    """Draw or ask for an origin: where are you from -> 你 来自 哪里; I am from a small town -> 我 来自 一 个 小 镇."""
    who = subjects.pronoun(s) if s.chance(0.6) else subjects.subject(s, lex.nouns("person"))
    if s.chance(0.4):
        where, be, from_ = pair("where", "哪里"), pair(BE[who.person]), pair("from", "来自")
        return join([where, be, who.phrase, from_], [who.phrase, from_, where])
    place = (
        nouns.proper_name(s)
        if s.chance(0.3)
        else nouns.short_phrase(s, "country city 'village' 'town'", (nouns.a, nouns.bare, nouns.this))
    )
    no = pair("not", "不 是") if s.chance(0.15) else NOTHING
    from_ = pair("from", "来自")
    return join([who.phrase, draw_be(s, who), no, from_, place.phrase], [who.phrase, no, from_, place.phrase])


def colour_contrast(s: Sampler) -> Phrase:
    """Draw a contrast of two colours.

    her coat is green, not yellow -> 她 的 外套 是 绿色 的 ， 不 是 黄色 的; he is tired, not sick -> 他 很 累 ， 不 ...
    """
    noun = s.entry(lex.nouns("clothes vehicle thing animal building furniture"))
    colours = [a for a in lex.adjectives_of(noun) if "shi" in a.flags]
    who = nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.owned: 3, nouns.this: 2})
    if len(colours) < 2:
        return statement(make_clause(s, who))
    first, second = (pair(a.english, a.chinese) for a in s.rng.sample(colours, 2))
    be, no = pair(BE[who.person], "是"), pair("not", "不 是")
    return join([who.phrase, be, first, COMMA, no, second],
                [who.phrase, be, first, aligned(first, "的"), COMMA, no, second, aligned(second, "的")])


def as_soon_as(s: Sampler) -> Phrase:
    """Draw a clause with "as soon as".

    call me as soon as you arrive -> 你 一 到 就 给 我 打电话; as soon as he came in, he sat down.
    """
    past = s.chance(0.4)
    side, word = _happening(s, "past" if past else "present"), pair("as soon as")
    side.predicate.takes_le = False
    g = verb_group(side)
    soon = chinese_pieces(side, g, question_word=aligned(word, "一"))
    clause, then = subordinate_english(side, g), aligned(word, "就")
    if s.chance(0.35) and not past:
        command = order(s)
        return join([command, word, *clause], [*soon, then, command])
    main = _happening(s, "past" if past else "future")
    h = verb_group(main)
    said, target = subordinate_english(main, h), chinese_pieces(main, h, question_word=then)
    if s.chance(0.5):
        return join([*said, word, *clause], [*soon, *target])
    comma = COMMA if s.chance(0.6) else NOTHING
    return join([word, *clause, comma, *said], [*soon, comma, *target])


def _happening(s: Sampler, tense: str) -> Clause:
    """Draw a clause of an event, not of a state."""
    for __ in range(6):
        c = plain_clause(s, tense=tense)
        if not (c.predicate.is_be or c.predicate.is_state):
            break
    return c


def with_time_limit(s: Sampler) -> Phrase:
    """Draw a clause with a time limit.

    you must finish the work before friday -> 你 必须 在 星期五 之前 完成 工作; I will wait until seven.
    """
    c = make_clause(s, positive=True, plain=True)
    if c.predicate.is_be:
        return statement(c)
    word = s.choice(("before", "after"))
    bound = s.weighted({"day": 5, "clock": 3, "meal": 2})
    time = clock(s) if bound == "clock" else s.pair(WEEKDAYS if bound == "day" else MEALS)
    at = pair(word, BOUNDS[word])
    c.time, c.time_first = join([at, time], [aligned(at, "在"), time, at]), False
    return statement(c)


def become(s: Sampler) -> Phrase:
    """Draw a wish to have a profession.

    I want to be a pilot -> 我 想 当 一 名 飞行员; she wants to become a doctor; she will be a teacher.
    """
    job = s.entry([noun for noun in lex.nouns("job") if noun.english != "police"])
    who = subjects.subject(s, lex.nouns("person"))
    one = nouns.bare(s, job) if who.person == "plural" and who.name != "you" else nouns.a(s, job)
    links = one.phrase.target
    counted = job.classifier and one.person == "third"
    said = Phrase(one.phrase.source, (links[0], ("名", links[1][1]), *links[2:])) if counted else one.phrase
    verb = s.entry([v for v in lex.verbs("to") if v.base in WISHES and not v.objects])
    be = pair(s.choice(("be", "be", "become")), "当")
    p = Predicate(verb, verb.chinese, [english("to"), be, said], rest=[be, said], takes_le=False, about=(verb.base, job.english))
    return statement(make_clause(s, who, p=p, tense=s.choice(("present", "present", "past")), plain=True))


def comma_joined(s: Sampler) -> Phrase:
    """Draw two sentences with a comma between them: don't touch it, it is very hot -> 不要 碰 它 ， 它 非常 热."""
    first = order(s) if s.chance(0.5) else statement(make_clause(s, plain=True))
    return join([first, COMMA, statement(make_clause(s, plain=True))])


def word_meaning(s: Sampler) -> Phrase:
    """Ask for a meaning: what does this word mean -> 这 个 词 是 什么 意思; what is the meaning of this sentence."""
    what = nouns.short_phrase(s, "'word' 'sentence' 'sign' 'name' 'letter'", (nouns.this, nouns.the))
    wh, do, mean = pair("what", "什么"), pair(DO[what.person]), pair("mean", "意思")
    if s.chance(0.4):  # indirect: I do not know what this word means
        lead = s.pair(ASKING_FOR_MEANING)
        means = pair("means" if what.person == "third" else "mean", "意思")
        asks = aligned(lead, "吗") if lead.source[0].text in ("can", "do") else NOTHING
        return join([lead, wh, what.phrase, means], [lead, what.phrase, aligned(means, "是"), wh, means, asks])
    return join([wh, do, what.phrase, mean], [what.phrase, aligned(mean, "是"), wh, mean])


def duration_so_far(s: Sampler) -> Phrase:
    """Draw or ask for a duration up to now: how long have you been waiting for me -> 你 等 了 我 多久."""
    verb = s.entry([v for v in lex.verbs("t") if v.base in LASTING and takes_plain_object(v)])
    who = subjects.pronoun(s)
    subject = verb.base in ("study", "learn")  # 学 了 六 年 英语, but 等 了 我 一 年
    what = nouns.short_phrase(s, "language subject", (nouns.bare,)) if subject else verb_phrases.draw_object(s, verb)
    have = pair(closed_class.HAVE[who.person])
    been = pair("been", "了")
    main = pair(verb.ing, verb.chinese)
    if s.chance(0.5):
        how = pair("how long", "多久")
        source = [how, have, who.phrase, been, main, what.phrase]
        return join(source, [who.phrase, main, what.phrase, how, been])  # 你 学 英语 多久 了
    for_, span = english("for"), duration(s)
    after = [span, what.phrase] if subject else [what.phrase, span]
    return join([who.phrase, have, been, main, what.phrase, for_, span], [who.phrase, main, been, *after])


def feeling_to(s: Sampler) -> Phrase:
    """Draw a feeling with an infinitive: I am so happy to see you again -> 我 很 高兴 再次 看见 你; nice to meet you."""
    who = subjects.pronoun(s)
    adjective = s.pair(FELT)
    degree = s.pair({"so": "很", "very": "非常", "really": "真的 很"}) if s.chance(0.5) else NOTHING
    source, target = infinitive(verb_phrases.action_predicate(s))
    again = pair("again", "再次") if s.chance(0.25) else NOTHING
    be = draw_be(s, who)
    very = degree or aligned(adjective, "很")
    return join([who.phrase, be, degree, adjective, english("to"), *source, again], [who.phrase, very, adjective, again, *target])


def feel(s: Sampler) -> Phrase:
    """Draw "feel" with an adjective: I feel much better than yesterday -> 我 感觉 比 昨天 好 得多."""
    who = subjects.pronoun(s)
    verb = pair("feels" if who.person == "third" else "feel", "感觉")
    noun = s.entry(lex.nouns("person"))
    choices = [a for a in lex.adjectives_of(noun) if a.english in FELT_AS and a.flags.isdisjoint({"shi", "le", "verb", "of"})]
    p = to_be.adjective_predicate(s, noun, s.entry(choices) if choices else None)
    if p.chinese or p.last:  # 是 … 的, 迷路 了
        return statement(make_clause(s, who, p=p))
    lead = aligned_to_all([verb], "感觉")
    return join([who.phrase, verb, *p.tail], [who.phrase, lead, *p.lead, p.very, *p.rest])
