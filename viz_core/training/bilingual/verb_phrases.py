"""Verbs with what their frame asks for: an object, a place, a receiver, a further verb or a clause."""

from collections.abc import Callable, Mapping

from viz_core.training.bilingual import inside, nouns, small_words, to_be
from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.lexicon import Frame, Noun, Verb
from viz_core.training.bilingual.nouns import Place
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, chinese, english, more, pair
from viz_core.training.bilingual.predicates import (
    SHORT,
    Predicate,
    at,
    by_person,
    degree_of,
    first_word,
    frame_of,
    infinitive,
    is_whole,
    optional_that,
    someone,
    somewhere,
    verbs_of_subject,
    very,
    without_particle,
)
from viz_core.training.bilingual.times import duration

Given = NounPhrase | None
WITH_MORE = ("i", "t", "place", "for", "give")  # frames that a place, a manner or a companion may follow
BARE = ("let", "make", "help", "see", "hear", "watch", "feel")  # "see him come", but "want him to come"
PERCEIVE = ("see", "hear", "watch", "feel")
DEFINITE = ("the", "this", "that", "my", "your", "his", "her", "our", "their", "it")
HOME = {"go": ("home", "回家"), "come": ("home", "回家"), "walk": ("home", "走 回家"), "get": ("home", "到家")}
HERE = {"go": ("去", "there", "那里"), "come": ("来", "here", "这里"), "walk": ("走 到", "there", "那里")}
MEALS = {"breakfast": "早饭", "lunch": "午饭", "dinner": "晚饭"}


def predicate(s: Speaker, verb: Verb, subject: Given = None, thing: Given = None, where: Place | None = None) -> Predicate:
    """A verb with an object, a place or a further clause, as its frame asks. thing, where: instead of random ones."""
    built = BUILDERS[verb.frame](s, verb, subject, thing, where)
    if verb.frame in WITH_MORE and where is None:
        _add_more(s, built)
    return built


def _plain(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    return Predicate(verb, verb.chinese, about=(verb.base,))


# --- Objects ----------------------------------------------------------------------------------------------------------
def objects(s: Speaker, verb: Verb) -> NounPhrase:
    """A random object: a noun phrase, sometimes a pronoun, a name or nobody in particular."""
    choices = lex.objects_of(verb) or lex.nouns("thing")
    person = any(noun.is_a("person") for noun in choices[:3])
    if person and s.chance(0.3):
        if s.chance(0.3):
            return nouns.name(s)
        word = s.word(small_words.PERSONS)
        return NounPhrase(word, word, person="third", name=word.source[0].text)
    if not person and s.chance(0.06):
        word = pair("it", "它")
        return NounPhrase(word, word, name="it")
    if not person and s.chance(0.04):
        word = s.word(small_words.SOMETHING)
        return NounPhrase(word, word, name=word.source[0].text)
    return nouns.noun_phrase(s, choices)


def _around(verb: Verb) -> tuple[list[Phrase], str]:
    """What a template says before its ~, and the verb behind it: 和 ~ 说话 -> [和], 说话; a plain verb has nothing before it."""
    left, __, right = verb.chinese.rpartition("~")
    return ([chinese(left)] if left.strip() else []), right.strip() or left.strip()


def _with_object(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """eat the apple -> 吃 苹果; turn the light on -> 打开 灯; talk to him -> 和 他 说话."""
    what = thing or objects(s, verb)
    tail, used = [what.phrase], verb
    if "sep" in verb.flags and (what.name in ("it", "them") or s.chance(0.4)) and not (thing and not thing.phrase.source):
        used, particle = without_particle(verb)
        tail = [what.phrase, english(particle)]
    about = (verb.base, what.name)
    if is_whole(verb):
        return Predicate(used, verb.chinese, tail, rest=[what.phrase], about=about)
    lead, said = _around(verb)
    return Predicate(used, said, tail, [*lead, what.phrase], about=about)


def _give(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """give the girl a book -> 给 了 女孩 一 本 书; give the book to the girl -> 把 书 给 了 女孩."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    about = (verb.base, what.name, whom.name)
    left, said = _around(verb)
    to = s.chance(0.45)
    tail = [what.phrase, english("to"), whom.phrase] if to else [whom.phrase, what.phrase]
    receiver = [*left, whom.phrase]
    if to and what.phrase.source and what.phrase.source[0].text in DEFINITE:
        ba = [chinese("把"), what.phrase]
        return Predicate(verb, said, tail, [*ba, *receiver] if left else ba, [] if left else receiver, about=about)
    return Predicate(verb, said, tail, receiver if left else [], [what.phrase] if left else [*receiver, what.phrase], about=about)


def _for(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """buy her a hat, buy a hat for her -> 给 她 买 了 一 顶 帽子."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    for_ = pair("for", "给")
    tail, gei = ([what.phrase, for_, whom.phrase], for_) if s.chance(0.4) else ([whom.phrase, what.phrase], chinese("给"))
    return Predicate(verb, verb.chinese, tail, [gei, whom.phrase], [what.phrase], about=(verb.base, what.name))


def _tell(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """tell him the truth -> 告诉 他 真相; teach him -> 教 他; ask him a question -> 向 他 问 一 个 问题."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    left, said = _around(verb)
    receiver = [*left, whom.phrase]
    lead, rest = (receiver, [what.phrase]) if left else ([], [*receiver, what.phrase])
    return Predicate(verb, said, [whom.phrase, what.phrase], lead, rest, about=(verb.base, what.name))


# --- Places -----------------------------------------------------------------------------------------------------------
def _to_place(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """go to school by bus -> 坐 公交车 去 学校; drive to the city -> 开车 去 城市; walk to the shop -> 走 到 商店."""
    first = verb.base.split()[0]
    if thing is None and verb.base.endswith(" to") and first in HOME and s.chance(0.25):
        return _homeward(s, verb)
    goal = thing or (nouns.name(s) if s.chance(0.1) else _goal(s, verb))
    built = _with_object(s, verb, subject, goal, None)
    if not is_whole(verb):  # 走 到 ~, 去 ~ 旅行
        left, __, then = verb.chinese.partition("~")
        said, *to = left.split()
        rest = [chinese(" ".join(to)), goal.phrase, chinese(then)]
        built = Predicate(verb, said, [goal.phrase], rest=rest, le=False, about=(verb.base, goal.name))
    elif " " in verb.chinese:  # 开车 去
        *lead, built.said = verb.chinese.split()
        built.lead = [chinese(" ".join(lead))]
    if s.chance(0.2) and first in ("go", "come", "travel", "get", "return"):
        by = s.word(small_words.VEHICLES)
        built.tail.append(by)
        built.lead.append(by)
    return built


def _goal(s: Speaker, verb: Verb) -> NounPhrase:
    noun = s.one(lex.objects_of(verb))
    return nouns.bare_singular(noun) if noun.english in small_words.WITHOUT_ARTICLE else nouns.noun_phrase(s, (noun,))


def _homeward(s: Speaker, verb: Verb) -> Predicate:
    """go home -> 回家, come here -> 来 这里, go there -> 去 那里."""
    used, __ = without_particle(verb)
    if used.base in HERE and s.chance(0.4):
        said, word, zh = HERE[used.base]
        goal = pair(word, zh)
        return Predicate(used, said, [goal], rest=[goal], about=(used.base, word))
    word, zh = HOME[used.base]
    return Predicate(used, zh, [english(word)], about=(used.base, word))


def _at_place(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """sit on the chair -> 坐 在 椅子 上; play in the park -> 在 公园 里 玩."""
    source, target = where or somewhere(s)
    there, about = [at(target), *target], (verb.base, first_word(target))
    if "post" in verb.flags:
        return Predicate(verb, verb.chinese, [*source], rest=there, le=False, about=about)
    return Predicate(verb, verb.chinese, [*source], there, about=about)


def _put(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """put the ball in the box -> 把 球 放 在 盒子 里."""
    what = thing or objects(s, verb)
    source, target = where or nouns.place(s, s.one(("furniture container", "surface container room")))
    about = (verb.base, what.name)
    ba, there = [chinese("把"), what.phrase], [chinese("在"), *target]
    return Predicate(verb, verb.chinese, [what.phrase, *source], ba, there, le=False, about=about)


# --- Verbs with a further verb or clause ------------------------------------------------------------------------------
def inner_predicate(s: Speaker, subject: Given = None) -> Predicate:
    """What someone wants to do, likes doing, lets others do."""
    s.depth -= 1
    if s.chance(0.08):
        return to_be.adjective_predicate(s, s.one(lex.nouns("person")))
    frame = frame_of(s, SHORT)
    noun = subject.noun if subject is not None else None
    choices = verbs_of_subject(noun, frame) if noun else lex.verbs_where(by_person, frame)
    return predicate(s, s.one(choices or lex.verbs(frame)), subject)


def _to(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """want to eat the apple -> 想 吃 苹果."""
    source, target = infinitive(inner_predicate(s, subject))
    return Predicate(verb, verb.chinese, [english("to"), *source], rest=[*target], le=False, about=(verb.base,))


def _ing(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """like swimming -> 喜欢 游泳."""
    source, target = infinitive(inner_predicate(s, subject), "ing")
    return Predicate(verb, verb.chinese, [*source], rest=[*target], le=False, about=(verb.base,))


def _make(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """let him go -> 让 他 去; ask the boy to open the window -> 让 男孩 打开 窗户."""
    whom = objects(s, verb)
    action = inner_predicate(s, whom)
    first = verb.base.split()[0]
    source, target = infinitive(action, "ing" if first in PERCEIVE and s.chance(0.6) else "base")
    to = NOTHING if first in BARE and not (first == "help" and s.chance(0.5)) else english("to")
    no = pair("not", "不要") if first in ("tell", "ask", "order", "warn") and s.chance(0.2) else NOTHING
    rest = [whom.phrase, no, *target]
    return Predicate(verb, verb.chinese, [whom.phrase, no, to, *source], rest=rest, le=False, about=(verb.base, whom.name))


def _that(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """think that he is right -> 觉得 他 是 对 的."""
    clause = inside.clauses["that"](s)
    return Predicate(verb, verb.chinese, [optional_that(s), clause], rest=[clause], le=False, about=(verb.base,))


def _tellthat(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """tell me that he is right -> 告诉 我 他 是 对 的."""
    whom, clause = someone(s), inside.clauses["that"](s)
    tail = [whom.phrase, optional_that(s, 0.7), clause]
    return Predicate(verb, verb.chinese, tail, rest=[whom.phrase, clause], le=False, about=(verb.base, whom.name))


def _wh(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """know where he lives -> 知道 他 住 在 哪里."""
    question = inside.clauses["question"](s)
    return Predicate(verb, verb.chinese, [question], rest=[question], le=False, about=(verb.base,))


def _tellwh(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """tell me where he lives -> 告诉 我 他 住 在 哪里."""
    whom, question = someone(s), inside.clauses["question"](s)
    pieces = [whom.phrase, question]
    return Predicate(verb, verb.chinese, pieces, rest=[*pieces], le=False, about=(verb.base, whom.name))


def _link(s: Speaker, verb: Verb, subject: Given, thing: Given, where: Place | None) -> Predicate:
    """look tired -> 看起来 很 累; become famous -> 变 得 很 有名."""
    noun: Noun = subject.noun if subject is not None and subject.noun is not None else s.one(lex.nouns("person"))
    choices = [a for a in lex.adjectives_of(noun) if a.flags.isdisjoint({"shi", "ren", "nopred", "le", "verb"})]
    adjective = s.one(choices or lex.adjectives(nouns.UNGRADED))
    degree, word = degree_of(s), pair(adjective.english, adjective.chinese)
    of = chinese("得") if verb.chinese == "变" else NOTHING
    about = (verb.base, adjective.english)
    return Predicate(verb, verb.chinese, [degree, word], rest=[of, very(degree), word], le=False, about=about)


# --- What comes with any verb -----------------------------------------------------------------------------------------
def _add_more(s: Speaker, p: Predicate) -> None:
    """Sometimes a place, a manner, a companion, an instrument, a time span, a meal."""
    if not by_person(p.verb) or not s.chance(0.22):
        return
    kind = s.often({"place": 8, "manner": 6, "with": 4, "tool": 1, "duration": 3, "for": 1})
    frame = p.verb.frame
    if kind == "place" and frame in ("i", "t"):
        source, target = somewhere(s)
        _add(p, [*source], [at(target), *target])
    elif kind == "manner":
        adverb = s.one(lex.adverbs("manner"))
        _add(p, [pair(adverb.english, adverb.chinese)])
    elif kind == "with" and s.deeper():
        word, whom = pair("with", "和"), someone(s)
        _add(p, [word, whom.phrase], [word, whom.phrase, more(word, "一起")])
    elif kind == "tool" and s.deeper() and frame == "t":
        word, tool = pair("with", "用"), nouns.inner(s, "tool", (nouns.a, nouns.the, nouns.owned))
        _add(p, [word, tool.phrase])
    elif kind == "duration" and frame == "i" and p.verb.goes_on and "vo" not in p.verb.flags:
        span = duration(s)
        p.tail += [english("for"), span]
        p.rest.append(span)
    elif kind == "for" and frame == "t":
        meal = s.word(MEALS)
        if p.verb.base in ("eat", "have", "cook", "make", "drink"):
            _add(p, [english("for"), meal])


def _add(p: Predicate, source: list[Phrase], target: list[Phrase] | None = None) -> None:
    """More words, at the end in English and before the verb in Chinese."""
    p.tail += source
    p.lead = [*(source if target is None else target), *p.lead]


BUILDERS: Mapping[Frame, Callable[[Speaker, Verb, Given, Given, Place | None], Predicate]] = {
    "i": _plain, "t": _with_object, "place": _to_place, "loc": _at_place, "put": _put, "give": _give, "for": _for, "tell": _tell,
    "to": _to, "ing": _ing, "that": _that, "tellthat": _tellthat, "wh": _wh, "tellwh": _tellwh, "make": _make, "link": _link,
}
