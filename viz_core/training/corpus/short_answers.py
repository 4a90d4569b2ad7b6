"""Short answers and related constructions: yes, I do; you like it, don't you; it takes two hours to; old enough to."""

from functools import cache

from viz_core.training.corpus import closed_class, noun_modifiers, nouns, subjects, to_be, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import make_clause, plain_clause, statement, verb_group
from viz_core.training.corpus.closed_class import BE, DO, HAVE, WAS
from viz_core.training.corpus.contractions import NOT_APART, WITH_NOT
from viz_core.training.corpus.phrases import (
    COMMA,
    NOTHING,
    NounPhrase,
    Phrase,
    Sampler,
    aligned,
    aligned_to_all,
    english,
    english_text,
    join,
    pair,
)
from viz_core.training.corpus.predicates import (
    SHORT_FRAMES,
    Predicate,
    by_person,
    draw_frame,
    infinitive,
    object_pronoun,
    person_acts_on,
)
from viz_core.training.corpus.questions import yes_no
from viz_core.training.corpus.tenses import draw_be
from viz_core.training.corpus.time_expressions import duration

POSITIVE_ANSWERS = {
    "be": "是",
    "do": "",
    "did": "",
    "have": "",
    "can": "能",
    "could": "能",
    "will": "会",
    "would": "会",
    "should": "应该",
}
"""What a short answer repeats in Chinese after 是 的; "" where "yes, I do" is that alone."""
ENOUGH = {
    "old": "大", "tall": "高", "strong": "强壮", "rich": "有钱", "brave": "勇敢", "clever": "聪明", "smart": "聪明", "kind": "善良",
    "lucky": "幸运", "good": "好", "fast": "快", "big": "大",
}
OFTEN_ASKED = ("like", "have", "want", "need", "love", "speak", "play", "drink")
OFTEN_ABLE = ("speak", "play", "read", "cook", "swim", "dance", "sing", "drive", "come", "run", "help")
FAVOURITE_KINDS = {"hobby": "爱好", "sport": "运动", "job": "工作", "dream": "梦想"}
NEGATIVE_ANSWERS = {
    "be": "不 是", "do": "不", "did": "没有", "have": "没有", "can": "不 能", "could": "不 能", "will": "不 会", "would": "不 会",
    "should": "不 应该",
}


def short_answer(s: Sampler) -> Phrase:
    """Draw a short answer: yes, I do -> 是 的; yes, I can -> 是 的 ， 我 能; no, he isn't -> 不 ， 他 不 是."""
    who, kind, yes = subjects.pronoun(s), s.choice(("be", "be", *POSITIVE_ANSWERS)), s.chance(0.5)
    of_person = {"be": WAS if s.chance(0.15) else BE, "do": DO, "have": HAVE}
    text = of_person[kind][who.person] if kind in of_person else kind
    answer, aux = (pair("yes", "是 的") if yes else pair("no", "不")), pair(text)
    if yes and not POSITIVE_ANSWERS[kind]:
        words = join([answer, COMMA, who.phrase, aux])
        return join([words], [aligned_to_all([words], "是 的")])
    if yes:
        return join([answer, COMMA, who.phrase, pair(text, POSITIVE_ANSWERS[kind])])
    no = pair("not")
    if (text, "not") in WITH_NOT and s.chance(0.9):
        no.source[0].text = NOT_APART
    return join(
        [answer, COMMA, who.phrase, aux, no], [answer, COMMA, who.phrase, aligned_to_all([aux, no], NEGATIVE_ANSWERS[kind])]
    )


def question_and_answer(s: Sampler) -> Phrase:
    """Draw a question with its answer.

    do you like dogs ? yes , I do -> 你 喜欢 狗 吗 ？ 是 的 ， 我 喜欢; can he swim ? no , he can't -> ... 不 ， 他 不 会.
    """
    asked_of = s.choice(("you", "you", "you", "he", "she", "they"))
    who, reply = (subjects.pronoun_phrase(name) for name in (asked_of, "I" if asked_of == "you" else asked_of))
    can = s.chance(0.4)
    verb = s.entry(_often_asked("i" if can and s.chance(0.5) else "t", OFTEN_ABLE if can else OFTEN_ASKED))
    thing = [_thing_of(s, verb)] if verb.frame == "t" else []
    p = Predicate(verb, verb.chinese, thing, rest=thing, about=(verb.base, "asked"))
    c = plain_clause(s, who, p=p, tense="can" if can else "present")
    aux = pair("can" if can else DO[reply.person])
    said = verb_group(c, question=True).before.target[0][0] if can else verb.chinese
    yes = s.chance(0.6)
    answer, no = (pair("yes", "是 的"), NOTHING) if yes else (pair("no", "不"), pair(NOT_APART))
    again = said if yes else "没有" if said == "有" else f"不 {said}"
    asks = [yes_no(c), pair("?", "？"), answer, COMMA, reply.phrase]
    return join([*asks, aux, no], [*asks, aligned_to_all([aux, no], again)])


def _thing_of(s: Sampler, verb: lex.Verb) -> Phrase:
    """Draw the object of a short question: (do you like) dogs, (have) a dog, (play) the piano."""
    noun = s.entry(lex.objects_of(verb))
    form = nouns.the if noun.is_a("instrument") else nouns.bare if verb.base in ("like", "love", "drink", "sell") else nouns.a
    return nouns.in_form(s, noun, (form,)).phrase


@cache
def _often_asked(frame: lex.Frame, bases: tuple[str, ...]) -> tuple[lex.Verb, ...]:
    """Return the verbs of persons that short questions use."""
    return tuple(v for v in lex.verbs(frame) if v.base in bases and person_acts_on(v))


def tag_question(s: Sampler) -> Phrase:
    """Draw a statement with a question tag.

    you like it, don't you -> 你 喜欢 它 ， 不 是 吗; he isn't here, is he -> 他 不 在 这里 ， 是 吗.
    """
    who = subjects.pronoun(s)
    frame = draw_frame(s, SHORT_FRAMES)
    verb = s.entry(lex.verbs_where(by_person, frame))
    s.actor = who.name
    p = verb_phrases.predicate(s, verb, who)
    if s.chance(0.4):
        p = to_be.adjective_predicate(s, s.entry(lex.nouns("person")), who=who)
    c = make_clause(s, who, p=p, tense=s.choice(("present", "present", "past", "future", "can")), plain=True)
    aux = english_text(verb_group(c, question=True).aux)
    tag, again = pair(aux), english(who.name)
    no = pair(NOT_APART) if not c.negated and (aux, "not") in WITH_NOT else NOTHING
    said = join([tag, no, again])
    whole = statement(c)
    return join([whole, COMMA, said], [whole, COMMA, aligned_to_all([said], "是 吗" if c.negated else "不 是 吗")])


def it_takes(s: Sampler) -> Phrase:
    """Draw how long something takes.

    it takes me two hours to clean the room -> 打扫 房间 要 花 我 两 个 小时; it took him a year -> ... 花 了 他 一 年.
    """
    past, whom, span = s.chance(0.4), object_pronoun(s).phrase if s.chance(0.6) else NOTHING, duration(s)
    zh = "花 了" if past else "要 花" if whom else "要"
    it, take, to = english("it"), pair("took" if past else "takes", zh), english("to")
    source, target = infinitive(verb_phrases.action_predicate(s, actions_only=True))
    return join([it, take, whom, span, to, *source], [*target, take, whom, span])


def enough_to(s: Sampler) -> Phrase:
    """Draw "enough" with an infinitive.

    she is old enough to drive -> 她 够 大 可以 开车; I have enough money to buy it -> 我 有 足够 的 钱 买 它.
    """
    who = subjects.subject(s, lex.nouns("person"))
    s.actor = who.name if who.name in closed_class.REFLEXIVES else ""
    source, target = infinitive(verb_phrases.action_predicate(s, who, actions_only=True))
    no = pair("not", "不") if s.chance(0.25) else NOTHING
    enough, to = pair("enough", "够"), pair("to", "不 能" if no else "可以")
    if s.chance(0.35):
        c = plain_clause(s, who, p=verb_phrases.predicate(s, _have(), who, _enough(s)), tense=s.choice(("present", "past")))
        c.negated = bool(no)
        said = statement(c)
        return join([said, english("to"), *source], [said, *target])
    word, be = s.pair(ENOUGH), draw_be(s, who, 0.2)
    return join([who.phrase, be, no, word, enough, to, *source], [who.phrase, no, enough, word, to, *target])


def _have() -> lex.Verb:
    """Return the verb "have" in the sense of 有."""
    return next(verb for verb in lex.verbs("t") if verb.base == "have" and verb.chinese == "有")


def _enough(s: Sampler) -> NounPhrase:
    """Return "enough" with a noun: enough money -> 足够 的 钱."""
    noun = s.choice(lex.nouns("'money' 'time' 'food' 'water' 'courage' 'energy' 'experience'"))
    words = join([pair("enough", "足够 的"), pair(noun.plural if noun.english == "friend" else noun.english, noun.chinese)])
    return NounPhrase(words, words, noun, name=noun.english)


def gerund_subject(s: Sampler) -> Phrase:
    """Draw a clause whose subject is an -ing form.

    swimming is my favourite sport -> 游泳 是 我 最喜欢 的 运动; reading makes me happy -> 看书 让 我 很 高兴.
    """
    source, target = infinitive(verb_phrases.action_predicate(s), "ing")
    if s.chance(0.5):
        owner, kind = noun_modifiers.possessive_determiner(s, lex.nouns("sport")[0]), s.pair(FAVOURITE_KINDS)
        favourite = pair("favourite", "最喜欢 的") if s.chance(0.5) and kind.source[0].text in ("hobby", "sport") else NOTHING
        of = NOTHING if favourite else aligned(owner, "的")
        be = pair("is", "是")
        return join([*source, be, owner, favourite, kind], [*target, be, owner, of, favourite, kind])
    whom = object_pronoun(s)
    make_, feeling = pair("makes", "让"), s.pair({"happy": "高兴", "tired": "累", "sad": "难过", "hungry": "饿", "nervous": "紧张"})
    return join([*source, make_, whom.phrase, feeling], [*target, make_, whom.phrase, aligned(feeling, "很"), feeling])
