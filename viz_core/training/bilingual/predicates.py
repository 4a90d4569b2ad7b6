"""What is said of a subject, before it has a tense: verbs with their objects and places, and what follows "to be".

A predicate keeps the pieces of both languages apart, since a clause puts the tense, the negation and the adverbs between them:

    English:  verb tail                          gave | the girl a book
    Chinese:  lead verb (了) rest                 在 学校 里 | 给 | 了 | 女孩 一 本 书
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import get_args

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import nouns
from viz_core.training.bilingual.lexicon import Adjective, Frame, Noun, Verb
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Phrase, Speaker, chinese, english, join, more, pair

BE = Verb("be", "is", "was", "been", "being", "", "link", "any", "", frozenset({"state"}))


@dataclass(slots=True)
class Predicate:
    """A verb with all that belongs to it. about: content words, for the held-out split.

    very: what stands before an adjective in Chinese where nothing else does (很): not in a question or a negation.
    le: whether its past has 了. said: the Chinese words of the verb itself.
    """

    verb: Verb
    said: str
    tail: list[Phrase] = field(default_factory=list)
    lead: list[Phrase] = field(default_factory=list)
    rest: list[Phrase] = field(default_factory=list)
    very: Phrase = NOTHING
    last: str = ""  # 了 of "is dead", which a negation drops
    le: bool = True
    about: tuple[str, ...] = ()

    @property
    def is_be(self) -> bool:
        return self.verb is BE

    @property
    def is_state(self) -> bool:
        return "state" in self.verb.flags


# --- Which verb goes with which noun ----------------------------------------------------------------------------------
FRAMES: dict[Frame, float] = {
    "i": 14, "t": 34, "place": 6, "loc": 9, "put": 4, "give": 5, "for": 3, "tell": 2, "to": 8, "ing": 2, "that": 5, "tellthat": 1.5,
    "wh": 3, "tellwh": 1, "make": 4, "link": 4,
}
SHORT: dict[Frame, float] = {"i": 20, "t": 40, "place": 8, "loc": 9, "put": 3, "give": 3, "for": 2}
"""The frames without a further verb."""
SKILLS = frozenset("游泳 跳舞 唱歌 开车 做饭 滑冰 滑雪 弹 踢 打 拉 骑 画 说 写 写字 飞 走路 下 吹 画画".split())
"""What one has learned: can is 会, not 能."""
BARE = ("let", "make", "help", "see", "hear", "watch", "feel")  # "see him come", but "want him to come"


@cache
def _said_of() -> dict[tuple[Noun, Frame], list[Verb]]:
    found: dict[tuple[Noun, Frame], list[Verb]] = {}
    for frame in get_args(Frame):
        for verb in lex.verbs(frame):
            for noun in lex.subjects_of(verb):
                found.setdefault((noun, frame), []).append(verb)
    return found


def verbs_of_subject(noun: Noun, frame: Frame) -> Sequence[Verb]:
    """What can be said of a noun."""
    return _said_of().get((noun, frame), ())


@cache
def _done_to() -> dict[Noun, list[Verb]]:
    found: dict[Noun, list[Verb]] = {}
    for verb in lex.verbs("t"):
        for noun in lex.objects_of(verb) if "~" not in verb.chinese else ():
            found.setdefault(noun, []).append(verb)
    return found


def verbs_of_object(noun: Noun) -> Sequence[Verb]:
    """What can be done to a noun."""
    return _done_to().get(noun, ())


def by_person(verb: Verb) -> bool:
    """Whether a person does it."""
    return "person" in verb.subjects or "being" in verb.subjects


def frame_of(s: Speaker, frames: dict[Frame, float] = FRAMES) -> Frame:
    if not s.deeper():
        frames = SHORT
    return s.often(frames)


# --- Building one -----------------------------------------------------------------------------------------------------
Given = NounPhrase | None


def predicate(s: Speaker, verb: Verb, subject: Given = None, thing: Given = None, where: tuple[list[Phrase], list[Phrase]] | None = None) -> Predicate:
    """A verb with an object, a place or a further clause, as its frame asks. thing, where: instead of random ones."""
    built = _BUILDERS.get(verb.frame, _plain)(s, verb, subject, thing, where)
    if verb.frame in ("i", "t", "place", "for", "give") and where is None:
        _more(s, built)
    return built


def _said(verb: Verb) -> tuple[list[str], str]:
    """The words of a template before and behind its ~: "和 ~ 说话" -> ["和"], "说话"; a plain verb has nothing before it."""
    left, __, right = verb.chinese.rpartition("~")
    return left.split(), right.strip() or left.strip()


def _plain(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    return Predicate(verb, verb.chinese, about=(verb.base,))


def objects(s: Speaker, verb: Verb) -> NounPhrase:
    """A random object: a noun phrase, sometimes a pronoun, a name or nobody in particular."""
    choices = lex.objects_of(verb) or lex.nouns("thing")
    person = any(noun.is_a("person") for noun in choices[:3])
    if person and s.chance(0.3):
        if s.chance(0.3):
            return nouns.name(s)
        word = s.word({en: zh for en, zh in nouns.OBJECTS.items() if en != "it"})
        return NounPhrase(word, word, person="third", name=word.source[0].text)
    if not person and s.chance(0.06):
        word = pair("it", "它")
        return NounPhrase(word, word, name="it")
    if not person and s.chance(0.04):
        word = s.word(nouns.SOMETHING)
        return NounPhrase(word, word, name=word.source[0].text)
    return nouns.noun_phrase(s, choices)


def _with_object(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    what = thing or objects(s, verb)
    tail: list[Phrase] = [what.phrase]
    used = verb
    if "sep" in verb.flags and (what.name in ("it", "them") or s.chance(0.4)) and not (thing and not thing.phrase.source):
        used, particle = _without_particle(verb)
        tail = [what.phrase, english(particle)]
    if "~" in verb.chinese:
        left, said = _said(verb)
        if left and not said:
            said, left = left[-1], left[:-1]
        lead = [chinese(" ".join(left)), what.phrase] if left else [what.phrase]
        return Predicate(used, said, tail, lead, about=(verb.base, what.name))
    return Predicate(used, verb.chinese, tail, rest=[what.phrase], about=(verb.base, what.name))


@cache
def _without_particle(verb: Verb) -> tuple[Verb, str]:
    """turn on -> turn, on."""
    def first(text: str) -> str:
        return text.split()[0]

    forms = map(first, (verb.base, verb.third, verb.past, verb.participle, verb.ing))
    return Verb(*forms, verb.chinese, verb.frame, verb.subjects, verb.objects, verb.flags), verb.base.partition(" ")[2]


def _to_place(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    if thing is None and verb.base.endswith(" to") and verb.base.split()[0] in ("go", "come", "walk", "get") and s.chance(0.25):
        return _homeward(s, verb)
    goal = thing or (nouns.name(s) if s.chance(0.1) else _goal(s, verb))
    built = _with_object(s, verb, subject, goal, None)
    if "~" not in verb.chinese and " " in verb.chinese:  # 开车 去
        *lead, said = verb.chinese.split()
        built.said, built.lead = said, [more(pair(""), " ".join(lead))]
    elif "~" in verb.chinese:  # 走 到 ~
        first, *then = verb.chinese.replace("~", "").split()
        built = Predicate(verb, first, [goal.phrase], rest=[chinese(" ".join(then)), goal.phrase], about=(verb.base, goal.name), le=False)
    if s.chance(0.2) and verb.base.split()[0] in ("go", "come", "travel", "get", "return"):
        by = s.word({"by bus": "坐 公交车", "by train": "坐 火车", "by plane": "坐 飞机", "by bike": "骑 自行车", "by bicycle": "骑 自行车",
                     "by car": "开车", "by taxi": "坐 出租车", "on foot": "走路", "by boat": "坐 船", "by subway": "坐 地铁"})
        built.tail.append(by)
        built.lead.append(by)
    return built


def _goal(s: Speaker, verb: Verb) -> NounPhrase:
    noun = s.one(lex.objects_of(verb))
    if noun.english in ("school", "university", "church", "prison"):
        return nouns.bare_singular(s, noun)
    return nouns.noun_phrase(s, (noun,))


_HOME = {"go": ("home", "回家"), "come": ("home", "回家"), "walk": ("home", "走 回家"), "get": ("home", "到家")}


def _homeward(s: Speaker, verb: Verb) -> Predicate:
    """go home, come here, go there, go abroad."""
    first = verb.base.split()[0]
    used, __ = _without_particle(verb)
    if first in ("go", "come", "walk") and s.chance(0.4):
        word, zh = ("here", "这里") if first == "come" else ("there", "那里")
        goal = pair(word, zh)
        return Predicate(used, {"go": "去", "come": "来", "walk": "走 到"}[first], [goal], rest=[goal], about=(first, word))
    word, zh = _HOME[first]
    return Predicate(used, zh, [english(word)], about=(first, word))


def _at_place(s: Speaker, verb: Verb, subject: Given, thing: Given, where: tuple[list[Phrase], list[Phrase]] | None) -> Predicate:
    """sit on the chair -> 坐 在 椅子 上; play in the park -> 在 公园 里 玩."""
    source, target = where or _somewhere(s)
    at = chinese("在") if not (target and target[0].target and target[0].target[0][0].startswith("在")) else NOTHING
    if "post" in verb.flags:
        return Predicate(verb, verb.chinese, source, rest=[at, *target], le=False, about=(verb.base, _name(target)))
    return Predicate(verb, verb.chinese, source, [at, *target], about=(verb.base, _name(target)))


def _somewhere(s: Speaker) -> tuple[list[Phrase], list[Phrase]]:
    """A place, or here, upstairs, at home."""
    if s.chance(0.15):
        adverb = s.one([a for a in lex.adverbs("place") if a.english not in ("home", "away", "at work")])
        word = pair(adverb.english, adverb.chinese)
        return [word], [word]
    return nouns.place(s)


def _name(pieces: Sequence[Phrase]) -> str:
    return next((word for piece in pieces for word, __ in piece.target), "")


def _put(s: Speaker, verb: Verb, subject: Given, thing: Given, where: tuple[list[Phrase], list[Phrase]] | None) -> Predicate:
    """put the ball in the box -> 把 球 放 在 盒子 里."""
    what = thing or objects(s, verb)
    source, target = where or nouns.place(s, s.one(("furniture container", "surface container room")))
    return Predicate(verb, verb.chinese, [what.phrase, *source], [chinese("把"), what.phrase], [chinese("在"), *target],
                     le=False, about=(verb.base, what.name))


def _give(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """give the girl a book -> 给 了 女孩 一 本 书; give the book to the girl -> 把 书 给 了 女孩."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    about = (verb.base, what.name, whom.name)
    left, said = _said(verb) if "~" in verb.chinese else ([], verb.chinese)
    to = s.chance(0.45) or whom.phrase.source == ()
    tail = [what.phrase, english("to"), whom.phrase] if to else [whom.phrase, what.phrase]
    definite = what.phrase.source[:1] and what.phrase.source[0].text in ("the", "this", "that", "my", "your", "his", "her", "our", "their", "it")
    if to and definite:
        lead = [chinese("把"), what.phrase, *([chinese(" ".join(left)), whom.phrase] if left else [])]
        return Predicate(verb, said, tail, lead, [] if left else [whom.phrase], about=about)
    if left:
        return Predicate(verb, said, tail, [chinese(" ".join(left)), whom.phrase], [what.phrase], about=about)
    return Predicate(verb, said, tail, rest=[whom.phrase, what.phrase], about=about)


def _for(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """buy her a hat, buy a hat for her -> 给 她 买 了 一 顶 帽子."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    word = pair("for", "给")
    if s.chance(0.4):
        return Predicate(verb, verb.chinese, [what.phrase, word, whom.phrase], [word, whom.phrase], [what.phrase], about=(verb.base, what.name))
    return Predicate(verb, verb.chinese, [whom.phrase, what.phrase], [chinese("给"), whom.phrase], [what.phrase], about=(verb.base, what.name))


def _tell(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """tell him the truth -> 告诉 他 真相."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    if "~" in verb.chinese:
        left, said = _said(verb)
        return Predicate(verb, said, [whom.phrase, what.phrase], [chinese(" ".join(left)), whom.phrase], [what.phrase], about=(verb.base, what.name))
    return Predicate(verb, verb.chinese, [whom.phrase, what.phrase], rest=[whom.phrase, what.phrase], about=(verb.base, what.name))


def someone(s: Speaker) -> NounPhrase:
    """A person, often a pronoun."""
    kind = s.often({"pronoun": 45, "name": 12, "noun": 43})
    if kind == "pronoun":
        word = s.word({en: zh for en, zh in nouns.OBJECTS.items() if en != "it"})
        return NounPhrase(word, word, name=word.source[0].text)
    return nouns.name(s) if kind == "name" else nouns.noun_phrase(s, lex.nouns("person"), {nouns.the: 4, nouns.owned: 4, nouns.a: 1, nouns.possessive: 1})


# --- Verbs with a further verb or clause ------------------------------------------------------------------------------
def inner_predicate(s: Speaker, subject: Given = None, frames: dict[Frame, float] = SHORT) -> Predicate:
    """What someone wants to do, likes doing, lets others do."""
    s.depth -= 1
    if s.chance(0.08):
        return adjective_predicate(s, s.one(lex.nouns("person")))
    frame = frame_of(s, frames)
    noun = subject.noun if subject is not None and subject.noun is not None else None
    choices = verbs_of_subject(noun, frame) if noun else lex.verbs_where(by_person, frame)
    return predicate(s, s.one(choices or lex.verbs(frame)), subject)


def infinitive(inside: Predicate, form: str = "base") -> tuple[list[Phrase], list[Phrase]]:
    """The pieces of a predicate without a tense: [eat, the apple], [吃, 苹果]."""
    main = spoken(inside, getattr(inside.verb, form))
    return [main, *inside.tail], [*inside.lead, inside.very, main, *inside.rest]


def spoken(p: Predicate, form: str) -> Phrase:
    """The verb itself in both languages."""
    return pair(form, p.said)


def _to(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """want to eat the apple -> 想 吃 苹果; not to: 不."""
    source, target = infinitive(inner_predicate(s, subject))
    to = english("to")
    return Predicate(verb, verb.chinese, [to, *source], rest=target, le=False, about=(verb.base,))


def _ing(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """like swimming -> 喜欢 游泳."""
    source, target = infinitive(inner_predicate(s, subject), "ing")
    return Predicate(verb, verb.chinese, source, rest=target, le=False, about=(verb.base,))


def _make(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """let him go -> 让 他 去; ask the boy to open the window -> 让 男孩 打开 窗户."""
    whom = objects(s, verb)
    inside = inner_predicate(s, whom)
    first = verb.base.split()[0]
    perceives = first in ("see", "hear", "watch", "feel")
    source, target = infinitive(inside, "ing" if perceives and s.chance(0.6) else "base")
    to = NOTHING if first in BARE and not (first == "help" and s.chance(0.5)) else english("to")
    no = pair("not", "不要") if not perceives and first in ("tell", "ask", "order", "warn") and s.chance(0.2) else NOTHING
    return Predicate(verb, verb.chinese, [whom.phrase, no, to, *source], rest=[whom.phrase, no, *target], le=False, about=(verb.base, whom.name))


# Built where clauses are: a predicate may hold a clause.
clause_inside: dict[str, Callable[[Speaker], Phrase]] = {}


def _that(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """think that he is right -> 觉得 他 是 对 的."""
    inside = clause_inside["that"](s)
    that = english("that") if s.chance(0.6) else NOTHING
    return Predicate(verb, verb.chinese, [that, inside], rest=[inside], le=False, about=(verb.base,))


def _tellthat(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    whom, inside = someone(s), clause_inside["that"](s)
    that = english("that") if s.chance(0.7) else NOTHING
    return Predicate(verb, verb.chinese, [whom.phrase, that, inside], rest=[whom.phrase, inside], le=False, about=(verb.base, whom.name))


def _wh(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """know where he lives -> 知道 他 住 在 哪里."""
    inside = clause_inside["wh"](s)
    return Predicate(verb, verb.chinese, [inside], rest=[inside], le=False, about=(verb.base,))


def _tellwh(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    whom, inside = someone(s), clause_inside["wh"](s)
    return Predicate(verb, verb.chinese, [whom.phrase, inside], rest=[whom.phrase, inside], le=False, about=(verb.base, whom.name))


def _link(s: Speaker, verb: Verb, subject: Given, thing: Given, where: object) -> Predicate:
    """look tired -> 看起来 很 累; become famous -> 变 得 很 有名."""
    noun = subject.noun if subject is not None and subject.noun is not None else s.one(lex.nouns("person"))
    choices = [a for a in lex.adjectives_of(noun) if a.flags.isdisjoint({"shi", "ren", "nopred", "le", "verb"})]
    adjective = s.one(choices or lex.adjectives("of nopred shi ren le verb"))
    degree, word = degree_of(s), pair(adjective.english, adjective.chinese)
    very = degree if degree else chinese("很")
    of = more(pair(""), "得") if verb.chinese == "变" else NOTHING
    return Predicate(verb, verb.chinese, [degree, word], rest=[of, very, word], le=False, about=(verb.base, adjective.english))


# --- To be ------------------------------------------------------------------------------------------------------------
DEGREES = {"very": "非常", "too": "太", "so": "这么", "really": "真", "quite": "相当", "a little": "有点", "a bit": "有点", "pretty": "相当",
           "extremely": "极其"}


def degree_of(s: Speaker) -> Phrase:
    return s.word(DEGREES) if s.chance(0.35) else NOTHING


def adjective_predicate(s: Speaker, noun: Noun | None, adjective: Adjective | None = None) -> Predicate:
    """is tired -> 很 累; is red -> 是 红色 的; is dead -> 死 了; is afraid of dogs -> 怕 狗."""
    choices = [a for a in lex.adjectives_of(noun) if "nopred" not in a.flags] if noun else []
    if noun is not None and noun.is_a("person") and s.chance(0.12) and adjective is None:
        return _adjective_of(s)
    adjective = adjective or s.one(choices or lex.adjectives("of nopred shi ren le verb"))
    about = (noun.english if noun else "", adjective.english)
    word = pair(adjective.english, adjective.chinese)
    if "shi" in adjective.flags or "ren" in adjective.flags:
        person = "ren" in adjective.flags and noun is not None and noun.is_a("person")
        return Predicate(BE, "是", [word], rest=[word, more(word, "人" if person else "的")], about=about)
    if "le" in adjective.flags:
        return Predicate(BE, "", [word], rest=[word], last="了", about=about)
    if "verb" in adjective.flags:
        return Predicate(BE, "", [word], rest=[word], about=about)
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
        more_ = nouns.compared(adjective)
        return Predicate(BE, "", [more_], rest=[more_], about=about)
    other = someone(s) if noun is None or noun.is_a("person") else nouns.noun_phrase(s, (noun,), {nouns.the: 3, nouns.owned: 3, nouns.this: 2, nouns.bare: 2})
    if s.chance(0.25):
        first, as_ = pair("as", "一样"), pair("as", "和")
        return Predicate(BE, "", [first, word, as_, other.phrase], rest=[as_, other.phrase, first, word], about=about)
    form = adjective.comparative
    compared = join([english("more"), word]) if form == "more" else pair(form, adjective.chinese)
    than = pair("than", "比")
    much = pair(*s.one((("much", "得多"), ("a little", "一点"), ("a lot", "得多")))) if s.chance(0.2) else NOTHING
    return Predicate(BE, "", [much, compared, than, other.phrase], rest=[than, other.phrase, compared, much], about=about)


@cache
def _with_preposition() -> tuple[Adjective, ...]:
    return tuple(a for a in lex.ADJECTIVES if "of" in a.flags and lex.nouns(a.objects) and {"person", "being", "any"} & set(a.nouns.split()))


def _adjective_of(s: Speaker) -> Predicate:
    """afraid of dogs -> 怕 狗; interested in music -> 对 音乐 感兴趣; good at swimming is left to the lexicon's nouns."""
    adjective = s.one(_with_preposition())
    what = nouns.noun_phrase(s, lex.nouns(adjective.objects))
    phrase = pair(adjective.english)
    left, right = (part.strip() for part in adjective.chinese.split("~"))
    words = [more(phrase, left), what.phrase, more(phrase, right)]
    return Predicate(BE, "", [phrase, what.phrase], rest=words, about=(adjective.english, what.name))


def noun_predicate(s: Speaker, subject: NounPhrase) -> Predicate:
    """is a teacher -> 是 一 位 老师; are my friends."""
    person = subject.noun is None or subject.noun.is_a("person")
    wanted = s.one(("job", "person", "family")) if person else s.one(sorted(subject.noun.classes)) if subject.noun else "thing"
    forms = ({nouns.bare: 3, nouns.owned: 2} if subject.person == "plural" else
             {nouns.a: 12, nouns.owned: 4, nouns.the: 2, nouns.superlative: 2, nouns.ordinal: 1, nouns.possessive: 2})
    choices = [n for n in lex.nouns(wanted) if n.plural and not n.only_plural] or list(lex.nouns("thing"))
    what = nouns.noun_phrase(s, choices, forms)
    return Predicate(BE, "是", [what.phrase], rest=[what.phrase], about=(subject.name, what.name))


def place_predicate(s: Speaker) -> Predicate:
    """is on the table -> 在 桌子 上; is at home -> 在 家."""
    source, target = _somewhere(s)
    starts = bool(target and target[0].target and target[0].target[0][0].startswith("在"))
    return Predicate(BE, "" if starts else "在", source, rest=target, about=("in", _name(target)))


# --- What comes with any verb -----------------------------------------------------------------------------------------
def _more(s: Speaker, p: Predicate) -> None:
    """Sometimes a place, a manner, a companion, an instrument, a time span."""
    person = "person" in p.verb.subjects or "being" in p.verb.subjects
    if not person or not s.chance(0.22):
        return
    kind = s.often({"place": 8, "manner": 6, "with": 4, "tool": 1, "duration": 3, "for": 1})
    if kind == "place" and p.verb.frame in ("i", "t"):
        source, target = _somewhere(s)
        starts = bool(target and target[0].target and target[0].target[0][0].startswith("在"))
        p.tail += source
        p.lead = [NOTHING if starts else chinese("在"), *target, *p.lead]
    elif kind == "manner":
        adverb = s.one(lex.adverbs("manner"))
        word = pair(adverb.english, adverb.chinese)
        p.tail.append(word)
        p.lead = [word, *p.lead]
    elif kind == "with" and s.deeper():
        word, whom = pair("with", "和"), someone(s)
        p.tail += [word, whom.phrase]
        p.lead = [word, whom.phrase, more(word, "一起"), *p.lead]
    elif kind == "tool" and s.deeper() and p.verb.frame == "t":
        word, tool = pair("with", "用"), nouns.inner(s, "tool", (nouns.a, nouns.the, nouns.owned))
        p.tail += [word, tool.phrase]
        p.lead = [word, tool.phrase, *p.lead]
    elif kind == "duration" and p.verb.frame == "i" and p.verb.goes_on and "vo" not in p.verb.flags:
        word, span = english("for"), duration(s)
        p.tail += [word, span]
        p.rest.append(span)
    elif kind == "for" and p.verb.frame == "t":
        word, meal = english("for"), s.word({"breakfast": "早饭", "lunch": "午饭", "dinner": "晚饭"})
        if p.verb.base in ("eat", "have", "cook", "make", "drink"):
            p.tail += [word, meal]
            p.lead = [meal, *p.lead]


SPANS = {"minute": "分钟", "hour": "个 小时", "day": "天", "week": "个 星期", "month": "个 月", "year": "年"}


def duration(s: Speaker) -> Phrase:
    """three years -> 三 年; an hour -> 一 个 小时; a long time -> 很 长 时间."""
    if s.chance(0.15):
        return s.word({"a long time": "很 长 时间", "a while": "一会儿", "half an hour": "半 个 小时", "many years": "很多 年"})
    unit, zh = s.one(list(SPANS.items()))
    if s.chance(0.3):
        return join([pair("an" if unit == "hour" else "a", "一"), pair(unit, zh)])
    return join([s.word(nouns.NUMBERS if s.chance(0.3) else nouns.FEW_NUMBERS), pair(f"{unit}s", zh)])


_BUILDERS: dict[Frame, Callable[..., Predicate]] = {
    "t": _with_object, "place": _to_place, "loc": _at_place, "put": _put, "give": _give, "for": _for, "tell": _tell, "to": _to,
    "ing": _ing, "that": _that, "tellthat": _tellthat, "wh": _wh, "tellwh": _tellwh, "make": _make, "link": _link,
}
