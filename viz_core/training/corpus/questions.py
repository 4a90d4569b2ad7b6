"""Questions (yes or no, what, who, where, why) and indirect questions (I know where he lives)."""

from collections.abc import Sequence
from dataclasses import replace

from viz_core.training.corpus import builders, nouns, subjects, tenses, verb_phrases
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.clauses import (
    Clause,
    chinese_pieces,
    ends_in_clause,
    inverted_english,
    make_clause,
    plain_clause,
    statement,
    subordinate_english,
    verb_group,
)
from viz_core.training.corpus.closed_class import BE as BE_FORMS
from viz_core.training.corpus.closed_class import NUMBERS
from viz_core.training.corpus.phrases import (
    NOTHING,
    NounPhrase,
    Phrase,
    Sampler,
    aligned,
    chinese,
    english,
    english_text,
    join,
    pair,
)
from viz_core.training.corpus.predicates import BE, Predicate, first_chinese_word, infinitive, person_acts_on, without_particle

ADVERBIAL = {"why": "为什么", "how": "怎么", "when": "什么 时候", "what time": "几点"}
NOUN_QUESTION_WORDS = {
    "how many": ("how many", "多少"), "how much": ("how much", "多少"), "whose": ("whose", "谁 的"),
    "what kind": ("what kind of", "什么样 的"),
}
ASKED_ABOUT = (
    "wait for", "look for", "look at", "talk about", "think about", "listen to", "talk to", "laugh at", "play with", "argue with",
    "live with", "chat with", "write to", "wave to", "smile at", "shout at", "worry about", "dream about", "complain about",
    "look after", "take care of", "fight with", "apologise to", "search for", "point at", "stare at",
)
"""Verbs whose prepositional object is asked for: who are you waiting for; what is he talking about."""
WANTING = ("want", "would like", "like", "need", "plan", "try", "decide", "hope", "learn")
KNOWN = {
    "what time it is": "现在 几点", "what day it is": "今天 星期 几", "what his name is": "他 的 名字 是 什么",
    "what her name is": "她 的 名字 是 什么", "what happened": "发生 了 什么", "what it means": "它 是 什么 意思",
    "what your name is": "你 的 名字 是 什么", "what to do": "做 什么",
}
HOW_MUCH = (
    ("how old", "多 大", "person"), ("how much", "多少 钱", "thing"), ("how big", "多 大", "room"),
    ("how far", "多 远", "building"),
)
COUNTED = frozenset({*NUMBERS.values(), "几", "一些", "很多", "一点", "太多 的", "每", "所有 的"})
"""Words before which 了 is kept in a question too."""
DONE_SOMEWHERE = (
    "buy", "eat", "see", "meet", "find", "learn", "study", "have", "lose", "play", "watch", "get", "read", "park", "drink",
    "wait for",
)


ASKED_OTHERWISE = {"真": "真的", "或者": "还是"}
"""Words with another Chinese in a question: is it really warm 真的 暖和 吗; tea or coffee 茶 还是 咖啡."""
MODALS = ("会", "应该", "必须", "要")
"""Modals that precede 怎么; after it, they would ask how something is possible: 会 怎么 去."""


# --- Yes-no and adverbial questions -----------------------------------------------------------------------------------
def yes_no(c: Clause) -> Phrase:
    """Build a yes-no question: did the dog chase the cat -> 狗 追 猫 了 吗; have you bought three books -> 你 买 了 三 本 书 吗."""
    g, done = verb_group(c, question=True), NOTHING
    if [zh for zh, __ in g.after.target] == ["了"] and first_chinese_word(c.predicate.rest) not in COUNTED:
        g.after, done = NOTHING, g.after
    target = join([], [*chinese_pieces(replace(c, time_first=False), g, question=True), done])
    links = tuple((ASKED_OTHERWISE.get(zh, zh), of) for zh, of in target.target)
    alternative = any(zh == "还是" and "or" in {word.text for word in of} for zh, of in links)
    return join(inverted_english(c, g), [Phrase((), links), NOTHING if alternative else aligned(g.aux, "吗")])


def adverbial_question(c: Clause, word: str, *, embedded: bool = False) -> Phrase:
    """Build a question with an adverbial question word; `embedded` gives (I know) why you are laughing.

    why are you laughing -> 你 为什么 在 笑; when did you come -> 你 什么 时候 来 的
    """
    happened = c.tense == "past" and not c.is_chinese_negated and not c.predicate.is_state
    c.predicate.takes_le = c.predicate.takes_le and not happened  # why did you cry: 你 为什么 哭
    if word != "why":
        c.middle = _without_never(c.middle)
    g = verb_group(c, question=not embedded)
    wh = asked = pair(word, ADVERBIAL[word])
    if word == "how" and [zh for zh, __ in g.before.target] in [[modal] for modal in MODALS]:
        g.before, asked = Phrase(g.before.source, (*g.before.target, *wh.target)), NOTHING
    target = chinese_pieces(replace(c, time_first=False), g, question_word=asked, question=True)
    at_the_end = aligned(g.aux or g.main, "的") if happened and word != "why" else NOTHING
    return join((subordinate_english if embedded else inverted_english)(c, g, wh), [*target, at_the_end])


def _without_never(middle: Phrase) -> Phrase:
    """Drop a negative adverb, which does not occur in a question."""
    return NOTHING if english_text(middle) in ("never", "rarely") else middle


def question_clause(
    s: Sampler, who: NounPhrase | None = None, p: Predicate | None = None, *, tense: str = "", positive: bool = False
) -> Clause:
    """Draw a clause for a question: in a tense that questions have, with "anybody" for "nobody"."""
    c = make_clause(s, who, p=p, tense=tense, positive=positive or bool(tense), plain=bool(tense))
    c.tense, c.time_first = tenses.askable_tense(s, c.tense), False
    c.time = NOTHING if ends_in_clause(c.predicate) else c.time
    if c.tense in tenses.NEVER_DENIED_IN_A_QUESTION:
        c.negated = False
    if s.chance(0.08) and c.tense in ("present", "past", "can") and not (positive or c.subject.negative or c.is_chinese_negated):
        c.negated = not (c.predicate.never_negated or c.middle or c.end)  # don't you like it
    if first_chinese_word([c.end]) == "也" and c.negated:
        c.end = NOTHING
    if c.subject.negative:
        word = pair(s.choice(("anybody", "anyone")), "有人")
        c.subject = replace(c.subject, phrase=word, negative=False)
    return c


# --- Questions for nouns ----------------------------------------------------------------------------------------------
def question_noun(s: Sampler, choices: Sequence[lex.Noun], *, whom: bool = False, named: bool = False) -> tuple[Phrase, Phrase]:
    """Draw what is asked for: the English words in front, and the Chinese words in their place.

    whom: whether it is an object. named: whether the noun is given, as the verb alone does not determine its translation.
    """
    noun = s.entry([n for n in choices if not n.is_a("country", "city", "month", "weekday")] or choices)
    kind = "which" if named else s.weighted({"what": 55, "which": 15, "how many": 14, "whose": 4, "what kind": 5})
    if not noun.plural:
        kind = {"which": "what", "whose": "what", "how many": "how much"}.get(kind, kind)
    if kind == "what":
        wh = pair(s.choice(("who", "whom", "who", "who")) if whom else "who", "谁") if noun.is_a("person") else pair("what", "什么")
        return Phrase(wh.source), Phrase((), wh.target)
    head = pair(noun.plural if kind == "how many" else noun.english, noun.chinese)
    between = NOTHING
    if kind == "which":
        wh, between = pair(s.choice(("which", "which", "what")), "哪"), nouns.classifier(noun, head)
    else:
        wh = pair(*NOUN_QUESTION_WORDS[kind])
    return join([wh, head], []), join([], [wh, between, head])


def object_question(s: Sampler, *, embedded: bool = False, tense: str = "") -> Phrase:
    """Draw a question for the object; `embedded` gives (I know) what you ate.

    what did you eat yesterday -> 你 昨天 吃 了 什么; who are you waiting for
    """
    if s.chance(0.25):
        return desire_question(s, embedded=embedded, tense=tense)
    verb = s.entry(lex.verbs_where(_askable, "t"))
    if s.chance(0.15) and not tense:
        verb = s.entry([v for v in lex.verbs("t") if v.base in ASKED_ABOUT])
        tense = s.choice(("going on", "going on", "went on", "past"))
    front, gap = question_noun(s, lex.objects_of(verb), whom=True, named=not lex.is_usual_translation(verb))
    who = subjects.subject(s, lex.subjects_of(verb))
    p = verb_phrases.predicate(s, verb, who, NounPhrase(gap, gap, name="what"))
    return front_question_word(question_clause(s, who, p, tense=tense, positive=s.chance(0.92)), front, embedded)


def _askable(verb: lex.Verb) -> bool:
    """Whether its object can be asked for: "play" alone is 玩, but "which flute" shows that it is 吹; 为 什么 would mean why."""
    return not verb.chinese.startswith("为") and _is_clear(verb)


def _is_clear(verb: lex.Verb) -> bool:
    """Whether the translation is clear without the object, or all its objects can be counted."""
    return lex.is_usual_translation(verb) or all(noun.plural for noun in lex.objects_of(verb))


def _askable_of_people(verb: lex.Verb) -> bool:
    """Whether a person can be asked for the object of this verb."""
    return _askable(verb) and person_acts_on(verb) and not verb.base.startswith("would ")


def desire_question(s: Sampler, *, embedded: bool = False, tense: str = "") -> Phrase:
    """Draw a question for what is wanted: what do you want to eat -> 你 想 吃 什么; where would you like to go -> 你 想 去 哪里."""
    wants = s.entry([v for v in lex.verbs("to") if v.base in WANTING])
    if s.chance(0.3):
        wh, main = pair("where", "哪里"), s.pair({"go": "去", "live": "住 在", "stay": "待 在"})
        front, gap = Phrase(wh.source), Phrase((), wh.target)
    else:
        verb = s.entry(lex.verbs_where(_askable_of_people, "t"))
        front, gap = question_noun(s, lex.objects_of(verb), whom=True, named=not lex.is_usual_translation(verb))
        main = pair(verb.base, verb.chinese)
    p = Predicate(
        wants, wants.chinese, [english("to"), main], rest=[main, gap], takes_le=False, about=(wants.base, english_text(main))
    )
    return front_question_word(
        question_clause(s, subjects.subject(s, lex.nouns("person")), p, tense=tense, positive=True), front, embedded
    )


def front_question_word(c: Clause, front: Phrase, embedded: bool) -> Phrase:
    """Build a question whose question word comes first in English and stays in its place in Chinese."""
    c.time_first, c.middle = False, _without_never(c.middle)
    g = verb_group(c, question=not embedded)
    return join((subordinate_english if embedded else inverted_english)(c, g, front), chinese_pieces(c, g, question=True))


def subject_question(s: Sampler) -> Phrase:
    """Draw a question for the subject: who broke the glass -> 谁 打破 了 玻璃杯; how many people work here."""
    verb = s.entry((*lex.verbs("i"), *lex.verbs("t"), *lex.verbs("loc"), *lex.verbs("give"), *lex.verbs("to")))
    front, zh = question_noun(s, lex.subjects_of(verb))
    many = english_text(front).startswith("how many")
    who = NounPhrase(Phrase(front.source, zh.target), zh, person="plural" if many else "third", name="who")
    c = make_clause(s, who, p=verb_phrases.predicate(s, verb), positive=True)
    c.time_first = False
    return statement(c)


def place_question(s: Sampler, *, embedded: bool = False) -> Phrase:
    """Draw a question for a place: where do you live -> 你 住 在 哪里; where is my key -> 我 的 钥匙 在 哪里."""
    where = pair("where", "哪里")
    front, gap = Phrase(where.source), Phrase((), where.target)
    if s.chance(0.35):
        who = subjects.subject(s, lex.nouns("any"))
        p = Predicate(BE, "在", rest=[gap], about=("where",))
        c = plain_clause(s, who, p=p, tense=s.choice(("present", "present", "past")))
    elif s.chance(0.3):
        go, __ = without_particle(next(verb for verb in lex.verbs("place") if verb.base == "go to"))
        p = Predicate(go, "去", rest=[gap], about=("go", "where"))
        c = question_clause(s, subjects.subject(s, lex.nouns("person")), p, positive=True)
    else:
        return _doing_where(s, where, embedded)
    return front_question_word(c, front, embedded)


def _doing_where(s: Sampler, where: Phrase, embedded: bool) -> Phrase:
    """Draw a question for where something is done.

    where does he work -> 他 在 哪里 工作; where did you buy it -> 你 在 哪里 买 它 的.
    """
    front, gap = Phrase(where.source), Phrase((), where.target)
    if s.chance(0.5):
        verb = s.entry(lex.verbs("loc"))
        who = subjects.subject(s, lex.subjects_of(verb))
        p = verb_phrases.predicate(s, verb, who, where=([], [gap]))
    else:
        verb = s.entry([v for v in lex.verbs("t") if v.base in DONE_SOMEWHERE])
        who = subjects.subject(s, lex.nouns("person"))
        p = verb_phrases.predicate(s, verb, who, where=([], []))
        p.lead = [chinese("在"), gap, *p.lead]
    c = question_clause(s, who, p, positive=True)
    happened = c.tense == "past" and "post" not in verb.flags and not p.is_state
    p.takes_le = p.takes_le and not happened
    asked = front_question_word(c, front, embedded)
    return join([asked], [asked, chinese("的")]) if happened else asked


# --- Indirect questions -----------------------------------------------------------------------------------------------
def whether(s: Sampler) -> Phrase:
    """Draw an indirect yes-no question: (ask) whether he comes -> 他 是否 来."""
    c = plain_clause(s)
    g = verb_group(c)
    c.predicate.very = NOTHING
    word = pair(s.choice(("if", "whether")), "是否")
    return join(subordinate_english(c, g, word), chinese_pieces(c, g, question_word=word, question=True))


def indirect_question(s: Sampler) -> Phrase:
    """Draw an indirect question: (I know) what you ate, where he lives, why she is laughing, how to drive a car."""
    kind = s.weighted({"what": 30, "where": 20, "why": 15, "how": 8, "when": 12, "whether": 15, "who": 10})
    if kind == "what":
        return object_question(s, embedded=True)
    if kind == "where":
        return place_question(s, embedded=True)
    if kind == "whether":
        return whether(s)
    if kind == "who":
        return subject_question(s)
    if s.chance(0.15):
        return what_it_is(s)
    if s.chance(0.25) or (kind == "how" and s.chance(0.5)):
        return what_to_do(s)
    return adverbial_question(plain_clause(s), kind, embedded=True)


def what_it_is(s: Sampler) -> Phrase:
    """Draw an indirect question with "to be".

    (I know) who he is 他 是 谁, what this is 这 是 什么, how old she is 她 多 大, what time it is 现在 几点.
    """
    kind = s.weighted({"alone": 2, "who": 3, "what": 2, "how": 3})
    if kind == "alone":
        return s.pair(KNOWN)
    forms: nouns.Forms = {nouns.the: 2, nouns.this: 2, nouns.owned: 3}
    if kind == "how":
        words, zh, wanted = s.choice(HOW_MUCH)
        who = nouns.noun_phrase(s, lex.nouns(wanted), forms)
        wh = pair(words, zh)
    else:
        who = nouns.noun_phrase(s, lex.nouns("person" if kind == "who" else "thing"), forms)
        wh = pair(kind, "谁" if kind == "who" else "什么")
    if s.chance(0.5):
        who = subjects.pronoun(s, kind == "who" or (kind == "how" and wanted == "person"))
    be = pair(BE_FORMS[who.person], "是" if kind != "how" else "")
    return join([wh, who.phrase, be], [who.phrase, be, wh])


def what_to_do(s: Sampler) -> Phrase:
    """Draw a question word with an infinitive.

    (I know) how to drive a car 怎么 开 车, what to do 做 什么, where to go 去 哪里, when to leave 什么 时候 离开.
    """
    kind = s.weighted({"how": 5, "what": 4, "where": 2, "when": 2})
    if kind in ("how", "when"):
        source, target = infinitive(verb_phrases.action_predicate(s))
        wh = pair(f"{kind} to", ADVERBIAL[kind])
        return join([wh, *source], [wh, *target])
    wh, to = (pair("what", "什么") if kind == "what" else pair("where", "哪里")), english("to")
    if kind == "what":
        verb = s.entry(lex.verbs_where(_askable_of_people, "t"))
        main = pair(verb.base, verb.chinese)
    else:
        main = s.pair({"go": "去", "stay": "待 在", "live": "住 在", "put it": "把 它 放 在", "sit": "坐 在", "find it": "在"})
        if main.source[0].text == "find":
            return join([wh, to, main], [chinese("在"), wh, aligned(main, "找到 它")])
    return join([wh, to, main], [main, wh])


builders.clauses["question"] = indirect_question


# --- Questions of any kind ---------------------------------------------------------------------------------------------
def question(s: Sampler) -> Phrase:
    """Draw a question of any kind."""
    s.is_question = True
    kind = s.weighted({"yes": 38, "what": 20, "who": 7, "where": 12, "why": 8, "how": 4, "when": 6, "what time": 2, "set": 6})
    if kind == "yes":
        return yes_no(question_clause(s))
    if kind == "what":
        return object_question(s)
    if kind == "who":
        return subject_question(s)
    if kind == "where":
        return place_question(s)
    if kind == "set":
        return builders.sentences["set question"](s)
    c = question_clause(s, positive=kind != "why")
    if kind != "why" and (c.predicate.is_be or (kind == "how" and c.predicate.is_state)):
        return yes_no(c)
    if (
        kind == "why"
        and not c.subject.negative
        and not c.is_chinese_negated
        and c.tense in ("present", "past", "going on")
        and s.chance(0.25)
    ):
        c.negated = not (c.predicate.never_negated or c.middle or c.end)
    c.time = NOTHING if kind in ("when", "what time") else c.time
    return adverbial_question(c, kind)
