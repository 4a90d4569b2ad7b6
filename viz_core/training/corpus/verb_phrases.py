"""Verbs with the complements of their frame: an object, a place, a receiver, another verb or a clause."""

from collections.abc import Callable, Mapping
from functools import cache

from viz_core.training.corpus import builders, closed_class, nouns, subjects
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.lexicon import Frame, Noun, Verb
from viz_core.training.corpus.nouns import Sides
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, chinese, english, english_text, pair
from viz_core.training.corpus.predicates import (
    BE,
    SHORT_FRAMES,
    Predicate,
    by_person,
    degree_or_hen,
    draw_degree,
    draw_frame,
    first_chinese_word,
    infinitive,
    is_contiguous,
    object_pronoun,
    optional_that,
    someone,
    somewhere,
    verbs_of_subject,
    without_particle,
    zai_unless_present,
)
from viz_core.training.corpus.time_expressions import duration

MaybePhrase = NounPhrase | None
EXTENDABLE_FRAMES = ("i", "t", "place", "for", "give")  # frames that allow a place, a manner or a companion
BARE_INFINITIVE_VERBS = ("let", "make", "help", "see", "hear", "watch", "feel")  # "see him come", but "want him to come"
USUAL_MANNERS = ("slowly", "quickly", "quietly", "carefully", "happily", "together", "alone", "easily")
MANNERS = (
    *USUAL_MANNERS, "loudly", "gently", "sadly", "angrily", "bravely", "politely", "patiently", "safely", "secretly", "in a hurry",
)
INVOLUNTARY_VERBS = (
    "lose", "fall", "fall down", "forget", "die", "get lost", "get sick", "bleed", "sweat", "sneeze", "cough", "fail", "break",
    "burn", "drop", "spill", "miss", "catch", "get", "receive", "notice", "cost", "owe", "yawn", "grow up", "hit",
    "look like", "exist", "grow", "appear", "disappear", "happen", "hurt", "freeze", "get divorced",
    "fall asleep", "fall in love with", "arrive at", "arrive in", "drown", "faint", "pass out", "trip", "slip", "oversleep",
    "suffer from", "survive", "recover", "recover from", "bump into", "run into", "come across", "run out of", "break down",
    "crash", "throw up", "snore", "blush", "fall off", "get wet",
)
"""Involuntary actions: neither ordered nor wanted."""
DESIRED_QUALITIES = (
    "careful", "quiet", "happy", "kind", "nice", "patient", "brave", "honest", "polite", "rich", "famous", "healthy",
    "strong", "free", "alone", "friendly", "clever", "beautiful",
)
"""Qualities that people want, try or help others to have."""
RECIPROCAL_VERBS = ("help", "teach", "remind", "encourage")
"""Verbs that take "each other"."""
PERCEPTION_VERBS = ("see", "hear", "watch", "feel")
EMOTION_VERBS = ("like", "love", "miss", "enjoy", "hate")
VERY_MUCH = {"very much": "非常", "so much": "非常", "a lot": "很"}
IT_OBJECTS = {("this one", "这个"): 0.5, ("that one", "那个"): 0.5, ("it", "它"): 6.0, ("them", "它们"): 1.0,
              ("this", "这个"): 1.0, ("that", "那个"): 1.0}
GROOMING = ("wash", "brush", "comb")
"""Verbs of caring for one's own body."""
BECOMING = ("become", "turn into", "look like")
IMPLICIT_NEGATIVES = ("forget", "fail")
"""Verbs whose Chinese is already negative, 忘了 and 没能, so that "not" does not precede them."""
POSITIVE_OBJECTS = ("something", "everything", *closed_class.ANYONE_MET)  # replaced by "anything" in a negation
"""Objects that a negation turns into "anything", "anyone"."""
REFLEXIVE_VERBS = ("help", "teach", "look at", "wash", "believe", "hurt", "love", "like", "introduce", "ask", "look after", "know")
DEFINITE = ("the", "this", "that", "my", "your", "his", "her", "our", "their", "it")
SUBJECT_OF = {english: subject for subject, english in closed_class.OBJECT_OF.items()}
MOTION_VERBS = (
    "come",
    "go",
    "leave",
    "arrive",
    "return",
    "get",
    "fail",
    "grow",
    "escape",
    "graduate",
    "retire",
    "die",
    "pass",
    "set",
    "take",
    "bring",
)
"""First words of verbs that take a goal or no place at all."""
HOME = {"go": ("home", "回家"), "come": ("home", "回家"), "walk": ("home", "走 回家"), "get": ("home", "到家")}
HERE = {"go": ("去", "there", "那里"), "come": ("来", "here", "这里"), "walk": ("走 到", "there", "那里")}
MEALS = {"breakfast": "早饭", "lunch": "午饭", "dinner": "晚饭"}


def predicate(
    s: Sampler, verb: Verb, subject: MaybePhrase = None, thing: MaybePhrase = None, where: Sides | None = None
) -> Predicate:
    """Build a verb with the complements of its frame. thing, where: used instead of random ones."""
    built = BUILDERS[verb.frame](s, verb, subject, thing, where)
    if verb.frame in EXTENDABLE_FRAMES and where is None:
        _add_adjuncts(s, built, together=subject is not None and subject.person == "plural")
    return built


def _plain(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build an intransitive verb."""
    return Predicate(verb, verb.chinese, about=(verb.base,))


# --- Objects ----------------------------------------------------------------------------------------------------------
def draw_object(s: Sampler, verb: Verb) -> NounPhrase:
    """Draw an object: a noun phrase, sometimes a pronoun, a name, an indefinite or a relative clause."""
    choices = lex.objects_of(verb) or lex.nouns("thing")
    person = s.choice(choices[:3]).is_a("person") and verb.base not in BECOMING and not ("any" in verb.objects and s.chance(0.6))
    if person and lex.is_usual_translation(verb) and s.chance(0.3):
        if s.chance(0.3):
            return nouns.proper_name(s)
        if s.actor and verb.base in REFLEXIVE_VERBS and s.chance(0.3):
            word = pair(closed_class.REFLEXIVES[s.actor], "自己")
            return NounPhrase(word, word, name=word.source[0].text)
        if s.actor in ("we", "they") and is_contiguous(verb) and s.chance(0.15):
            word = pair("each other", "互相")
            return NounPhrase(word, word, name="each other")
        if s.chance(0.08):
            word = s.pair(closed_class.ANYONE_MET)
            return NounPhrase(word, word, name=english_text(word))
        return object_pronoun(s)
    if verb.base in BECOMING:
        return nouns.noun_phrase(s, choices)
    if not person and lex.is_usual_translation(verb) and s.chance(0.12):
        text, zh = s.weighted(IT_OBJECTS)
        it = pair(text, zh)
        return NounPhrase(it, it, name=text)
    if not person and lex.is_usual_translation(verb) and s.chance(0.08):
        return subjects.something(s)
    return nouns.noun_phrase(s, choices)


def _split_template(verb: Verb) -> tuple[list[Phrase], str]:
    """Split a verb's template at its ~: 和 ~ 说话 -> [和], 说话. A plain verb has nothing before it."""
    left, __, right = verb.chinese.rpartition("~")
    return ([chinese(left)] if left.strip() else []), right.strip() or left.strip()


def _with_object(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a transitive verb: eat the apple -> 吃 苹果; turn the light on -> 打开 灯; talk to him -> 和 他 说话."""
    if thing is None and s.can_nest() and verb.base not in BECOMING and s.chance(0.04):  # I know the man who lives here
        s.depth -= 1
        thing = builders.noun_phrases["relative"](s, s.entry(lex.objects_of(verb) or lex.nouns("thing")))
    what = thing or draw_object(s, verb)
    if verb.base in GROOMING and what.noun is not None and what.noun.is_a("body"):
        what = _without_owner(what, closed_class.OWNER_OF.get(s.actor, ""))
    if (
        thing is None
        and is_contiguous(verb)
        and lex.is_usual_translation(verb)
        and verb.base not in BECOMING
        and not s.is_question
        and s.chance(0.01)
    ):
        return _nothing(verb, any(noun.is_a("person") for noun in lex.objects_of(verb)[:3]))
    if what.name == "each other":
        return Predicate(verb, verb.chinese, [what.phrase], [what.phrase], about=(verb.base, what.name))
    tail, used, particle = [what.phrase], verb, NOTHING
    if "sep" in verb.flags and (what.name in ("it", "them") or s.chance(0.4)) and not (thing and not thing.phrase.source):
        used, rest = without_particle(verb)
        particle = english(rest)
        tail = [what.phrase, particle]
    about, positive = (verb.base, what.name), what.name in POSITIVE_OBJECTS
    if is_contiguous(verb):
        return Predicate(used, verb.chinese, tail, rest=[what.phrase], about=about, particle=particle, never_negated=positive)
    lead, said = _split_template(verb)
    return Predicate(used, said, tail, [*lead, what.phrase], about=about, never_negated=positive)


def _without_owner(what: NounPhrase, own: str) -> NounPhrase:
    """Drop the possessive in Chinese: I brush my teeth -> 我 刷 牙."""
    words = what.phrase.source
    if not words or words[0].text != own:
        return what
    return what.with_phrase(Phrase(words, tuple(link for link in what.phrase.target if link[1] != words[:1])))


def _nothing(verb: Verb, person: bool) -> Predicate:
    """Build a verb with a negative object: (he) said nothing -> 什么 都 没有 说; know nobody -> 谁 都 不 认识."""
    word = pair("nobody", "谁 都") if person else pair("nothing", "什么 都")
    denies, early = Phrase(word.source), Phrase((), word.target)
    return Predicate(
        verb, verb.chinese, [denies], about=(verb.base, "nothing"), never_negated=True, negator=denies, before_negator=early
    )


def _give(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an object and a receiver.

    give the girl a book -> 给 了 女孩 一 本 书; give her the book -> 把 书 给 了 她; bring him tea -> 给 他 带 茶.
    """
    to = s.chance(0.45)
    if thing is None and to and s.chance(0.3):
        it = pair("it", "它")
        thing = NounPhrase(it, it, name="it")
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    about = (verb.base, what.name, whom.name)
    left, said = _split_template(verb)
    tail = [what.phrase, english("to"), whom.phrase] if to else [whom.phrase, what.phrase]
    receiver = [*left, whom.phrase]
    known = bool(what.phrase.source) and what.phrase.source[0].text in DEFINITE
    if verb.base == "bring" and not known and what.phrase.source:
        return Predicate(verb, "带", tail, [chinese("给"), whom.phrase], [what.phrase], about=about)
    if known and (to or not left):
        ba = [chinese("把"), what.phrase]
        return Predicate(verb, said, tail, [*ba, *receiver] if left else ba, [] if left else receiver, about=about)
    return Predicate(verb, said, tail, receiver if left else [], [what.phrase] if left else [*receiver, what.phrase], about=about)


def _for(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an object and a beneficiary: buy her a hat, buy a hat for her -> 给 她 买 了 一 顶 帽子."""
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    for_ = pair("for", "给")
    tail, gei = ([what.phrase, for_, whom.phrase], for_) if s.chance(0.4) else ([whom.phrase, what.phrase], chinese("给"))
    return Predicate(verb, verb.chinese, tail, [gei, whom.phrase], [what.phrase], about=(verb.base, what.name))


def _tell(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with a listener and an object.

    tell him the truth -> 告诉 他 真相; teach him -> 教 他; ask him a question -> 向 他 问 一 个 问题.
    """
    what, whom = thing or nouns.noun_phrase(s, lex.objects_of(verb)), someone(s)
    left, said = _split_template(verb)
    receiver = [*left, whom.phrase]
    lead, rest = (receiver, [what.phrase]) if left else ([], [*receiver, what.phrase])
    return Predicate(verb, said, [whom.phrase, what.phrase], lead, rest, about=(verb.base, what.name))


# --- Places -----------------------------------------------------------------------------------------------------------
def _to_place(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with a goal.

    go to school by bus -> 坐 公交车 去 学校; drive to the city -> 开车 去 城市; walk to the shop -> 走 到 商店.
    """
    first = verb.base.split()[0]
    if thing is None and verb.base.endswith(" to") and first in HOME and s.chance(0.25):
        return _homeward(s, verb)
    goal = thing or (nouns.proper_name(s) if s.chance(0.1) else _goal(s, verb))
    built = _with_object(s, verb, subject, goal, None)
    if not is_contiguous(verb):  # 走 到 ~, 去 ~ 旅行
        left, __, then = verb.chinese.partition("~")
        said, *to = left.split()
        rest = [chinese(" ".join(to)), goal.phrase, chinese(then)]
        built = Predicate(verb, said, [goal.phrase], rest=rest, takes_le=False, about=(verb.base, goal.name))
    elif " " in verb.chinese:  # 开车 去
        *lead, built.chinese = verb.chinese.split()
        built.lead = [chinese(" ".join(lead))]
    if s.chance(0.2) and first in ("go", "come", "travel", "get") and goal.noun is not None and not goal.noun.is_a("room"):
        by = s.pair(closed_class.VEHICLES)
        built.tail.append(by)
        built.lead.append(by)
    return built


def _goal(s: Sampler, verb: Verb) -> NounPhrase:
    """Draw the goal of a verb of motion."""
    noun = s.entry(lex.objects_of(verb))
    return nouns.bare_singular(noun) if noun.english in closed_class.WITHOUT_ARTICLE else nouns.noun_phrase(s, (noun,))


def _homeward(s: Sampler, verb: Verb) -> Predicate:
    """Build a verb of motion with an adverb: go home -> 回家, come here -> 来 这里, go there -> 去 那里."""
    used, __ = without_particle(verb)
    if used.base in HERE and s.chance(0.4):
        said, word, zh = HERE[used.base]
        goal = pair(word, zh)
        return Predicate(used, said, [goal], rest=[goal], about=(used.base, word))
    word, zh = HOME[used.base]
    by = s.pair(closed_class.VEHICLES) if used.base in ("go", "come") and s.chance(0.15) else NOTHING
    home = english(word)
    return Predicate(used, zh, [home, by], [by], about=(used.base, word), particle=home)


def _at_place(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with a location: sit on the chair -> 坐 在 椅子 上; play in the park -> 在 公园 里 玩."""
    source, target = where or somewhere(s, verb.base if verb.base in lex.PLACES else "person" if by_person(verb) else "thing")
    there, about = [zai_unless_present(target), *target], (verb.base, first_chinese_word(target))
    if "post" in verb.flags:
        return Predicate(verb, verb.chinese, [*source], rest=there, takes_le=False, about=about)
    return Predicate(verb, verb.chinese, [*source], there, takes_le=s.is_question or verb.base == "meet", about=about)


def _put(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an object and a location: put the ball in the box -> 把 球 放 在 盒子 里."""
    what = thing or draw_object(s, verb)
    source, target = where or nouns.place(s, verb.base if verb.base in lex.PLACES else "put")
    about = (verb.base, what.name)
    ba, there = [chinese("把"), what.phrase], [chinese("在"), *target]
    return Predicate(verb, verb.chinese, [what.phrase, *source], ba, there, takes_le=False, about=about)


@cache
def _voluntary_verbs(noun: Noun | None, frame: Frame) -> tuple[Verb, ...]:
    """Return the voluntary actions of this noun, or of any person."""
    choices = verbs_of_subject(noun, frame) if noun else lex.verbs_where(by_person, frame)
    return tuple(
        verb for verb in choices
        if verb.base not in INVOLUNTARY_VERBS and (verb.base != "meet" or frame == "t") and not verb.base.startswith("would ")
    )


# --- Verbs with a verb or a clause ------------------------------------------------------------------------------------
def action_predicate(s: Sampler, subject: MaybePhrase = None, *, actions_only: bool = False) -> Predicate:
    """Draw a predicate to stand inside another: what someone wants to do, likes doing, lets others do.

    actions_only: whether to exclude what one only is, has or knows.
    """
    s.depth -= 1
    if not actions_only and s.chance(0.06):
        adjective = s.choice([a for a in lex.ADJECTIVES if a.english in DESIRED_QUALITIES and lex.describes_people(a)])
        word = pair(adjective.english, "快乐" if adjective.english == "happy" else adjective.chinese)
        return Predicate(BE, "", [word], rest=[word], about=("be", adjective.english))
    frame = draw_frame(s, SHORT_FRAMES)
    noun = subject.noun if subject is not None else None
    choices = [verb for verb in _voluntary_verbs(noun, frame) if not (actions_only and verb.is_state)]
    return predicate(s, s.entry(choices or lex.verbs_where(by_person, "i")), subject)


def _different_action(s: Sampler, verb: Verb, subject: MaybePhrase, *, actions_only: bool) -> Predicate:
    """Draw an inner predicate whose verb differs from the outer one: nobody loves loving."""
    for __ in range(4):
        found = action_predicate(s, subject, actions_only=actions_only)
        if found.chinese not in verb.chinese.split():
            break
    return found


def _to(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an infinitive: want to eat the apple -> 想 吃 苹果."""
    source, target = infinitive(
        _different_action(s, verb, subject, actions_only=verb.base in ("love", "like", "begin", "start", "need"))
    )
    positive = verb.base in IMPLICIT_NEGATIVES
    return Predicate(
        verb, verb.chinese, [english("to"), *source], rest=[*target], takes_le=False, about=(verb.base,), never_negated=positive
    )


def _ing(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an -ing form: like swimming -> 喜欢 游泳."""
    source, target = infinitive(_different_action(s, verb, subject, actions_only=True), "ing")
    positive = verb.base == "keep"  # 一直 cannot be negated
    return Predicate(verb, verb.chinese, [*source], rest=[*target], takes_le=False, about=(verb.base,), never_negated=positive)


def _make(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an object and an infinitive.

    let him go -> 让 他 去; ask the boy to open the window -> 让 男孩 打开 窗户.
    """
    whom = draw_object(s, verb)
    while whom.name == "each other" and verb.base not in RECIPROCAL_VERBS:
        whom = draw_object(s, verb)
    s.actor, actor = SUBJECT_OF.get(whom.name, ""), s.actor
    action = action_predicate(s, whom, actions_only=verb.base.split()[0] in PERCEPTION_VERBS)
    s.actor = actor
    first = verb.base.split()[0]
    source, target = infinitive(action, "ing" if first in PERCEPTION_VERBS and s.chance(0.6) else "base")
    to = NOTHING if first in BARE_INFINITIVE_VERBS and not (first == "help" and s.chance(0.5)) else english("to")
    no = pair("not", "不要") if first in ("tell", "ask", "order", "warn") and s.chance(0.2) else NOTHING
    tail, about = [whom.phrase, no, to, *source], (verb.base, whom.name)
    if whom.name == "each other":  # they help each other to learn: 互相 帮 ...
        return Predicate(verb, verb.chinese, tail, [whom.phrase], [no, *target], takes_le=False, about=about)
    return Predicate(verb, verb.chinese, tail, rest=[whom.phrase, no, *target], takes_le=False, about=about)


def _that(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with a that-clause: think that he is right -> 觉得 他 是 对 的."""
    clause = builders.clauses["that"](s)
    tail, positive = [optional_that(s, clause), clause], verb.base in IMPLICIT_NEGATIVES
    return Predicate(verb, verb.chinese, tail, rest=[clause], takes_le=False, about=(verb.base,), never_negated=positive)


def _tellthat(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with a listener and a that-clause: tell me that he is right -> 告诉 我 他 是 对 的."""
    whom, clause = someone(s), builders.clauses["that"](s)
    tail = [whom.phrase, optional_that(s, clause, 0.7), clause]
    return _reported(verb, whom, tail, clause)


def _wh(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with an indirect question: know where he lives -> 知道 他 住 在 哪里."""
    question = builders.clauses["question"](s)
    positive = verb.base in IMPLICIT_NEGATIVES
    return Predicate(verb, verb.chinese, [question], rest=[question], takes_le=False, about=(verb.base,), never_negated=positive)


def _tellwh(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a verb with a listener and an indirect question: tell me where he lives -> 告诉 我 他 住 在 哪里."""
    whom, question = someone(s), builders.clauses["question"](s)
    return _reported(verb, whom, [whom.phrase, question], question)


def _reported(verb: Verb, whom: NounPhrase, tail: list[Phrase], clause: Phrase) -> Predicate:
    """Build a verb with a listener and a clause: 告诉 他 ...; 给 他 看 ..."""
    left, said = _split_template(verb)
    lead, rest = ([*left, whom.phrase], [clause]) if left else ([], [whom.phrase, clause])
    return Predicate(verb, said, tail, lead, rest, takes_le=False, about=(verb.base, whom.name))


def _link(s: Sampler, verb: Verb, subject: MaybePhrase, thing: MaybePhrase, where: Sides | None) -> Predicate:
    """Build a linking verb: look tired -> 看起来 很 累; become famous -> 变 得 很 有名."""
    noun: Noun = subject.noun if subject is not None and subject.noun is not None else s.entry(lex.nouns("person"))
    choices = [a for a in lex.adjectives_of(noun) if a.flags.isdisjoint({"shi", "ren", "nopred", "le", "verb"})]
    adjective = s.entry(choices or lex.adjectives(nouns.UNGRADED_FLAGS))
    degree, word = draw_degree(s), pair(adjective.english, adjective.chinese)
    of = chinese("得") if verb.chinese == "变" else NOTHING
    about = (verb.base, adjective.english)
    return Predicate(verb, verb.chinese, [degree, word], rest=[of, degree_or_hen(degree), word], takes_le=False, about=about)


# --- Adjuncts ---------------------------------------------------------------------------------------------------------
def _add_adjuncts(s: Sampler, p: Predicate, *, together: bool) -> None:
    """Sometimes add a place, a manner, a companion, an instrument, a duration or a meal. together: whether several do it."""
    if p.verb.base in EMOTION_VERBS and p.verb.frame == "t" and s.chance(0.12):
        p.never_negated = True
        _add_adjunct(p, [s.pair(VERY_MUCH)])
    if not by_person(p.verb) or not s.chance(0.22):
        return
    if p.is_state:
        return
    kind = s.weighted({"place": 8, "manner": 5, "with": 4, "tool": 3, "duration": 3, "for": 1, "self": 1})
    frame = p.verb.frame
    if kind == "place" and frame == "i" and _said_with_places(p.verb):
        return  # sleep in the room: 睡 在 房间 里, not 在 房间 里 睡觉
    if kind == "place" and frame in ("i", "t") and "res" not in p.verb.flags and p.verb.base.split()[0] not in MOTION_VERBS:
        source, target = somewhere(s, p.verb.base if p.verb.base in lex.PLACES else "person")
        _add_adjunct(p, [*source], [zai_unless_present(target), *target])
    elif kind == "manner":
        known = [word for word in (USUAL_MANNERS if s.chance(0.75) else MANNERS) if together or word != "together"]
        adverb = s.choice([a for a in lex.adverbs("manner") if a.english in known])
        p.never_negated = True  # she does not sing well: 唱 得 不 好
        _add_adjunct(p, [pair(adverb.english, adverb.chinese)])
    elif kind == "self" and s.actor:
        words = closed_class.REFLEXIVES[s.actor]
        _add_adjunct(p, [pair(f"by {words}", "独自")] if s.chance(0.4) else [pair(words, "自己")])  # he cooked it himself
    elif kind == "with" and s.can_nest():
        word, whom = pair("with", "和"), someone(s)
        _add_adjunct(p, [word, whom.phrase], [word, whom.phrase, aligned(word, "一起")])
    elif kind == "tool" and frame == "t" and p.verb.base in closed_class.TOOL_OF:
        word, tool = pair("with", "用"), nouns.short_phrase(s, closed_class.TOOL_OF[p.verb.base], (nouns.a, nouns.the, nouns.owned))
        _add_adjunct(p, [word, tool.phrase])
    elif kind == "duration" and frame == "i" and p.verb.has_progressive and "vo" not in p.verb.flags:
        span = duration(s)
        p.never_negated = True  # "not for two hours" would negate the duration only
        p.tail += [english("for"), span]
        p.rest.append(span)
    elif kind == "for" and frame == "t":
        meal = s.pair(MEALS)
        if p.verb.base in ("eat", "have", "cook", "make", "drink"):
            _add_adjunct(p, [english("for"), meal])


@cache
def _said_with_places(verb: Verb) -> bool:
    """Whether the verb has another translation when its location is given."""
    return any(v.base == verb.base and v.chinese != verb.chinese for v in lex.verbs("loc"))


def _add_adjunct(p: Predicate, source: list[Phrase], target: list[Phrase] | None = None) -> None:
    """Add words at the end in English and before the verb in Chinese."""
    p.tail += source
    p.lead = [*(source if target is None else target), *p.lead]


BUILDERS: Mapping[Frame, Callable[[Sampler, Verb, MaybePhrase, MaybePhrase, Sides | None], Predicate]] = {
    "i": _plain, "t": _with_object, "place": _to_place, "loc": _at_place, "put": _put, "give": _give, "for": _for, "tell": _tell,
    "to": _to, "ing": _ing, "that": _that, "tellthat": _tellthat, "wh": _wh, "tellwh": _tellwh, "make": _make, "link": _link,
}
