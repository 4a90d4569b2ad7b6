"""Predicates before they have a tense, and what their builders share.

A predicate keeps the pieces of both languages apart, since a clause puts the tense, the negation and the adverbs between them:

    English:  verb tail                          gave | the girl a book
    Chinese:  lead verb (了) rest                 在 学校 里 | 给 | 了 | 女孩 一 本 书
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import get_args

from viz_core.training.corpus import closed_class, nouns
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.lexicon import Frame, Noun, Verb
from viz_core.training.corpus.nouns import Sides
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Phrase, Sampler, aligned, aligned_to_all, chinese, english, pair

BE = Verb("be", "is", "was", "been", "being", "", "link", "any", "", frozenset({"state"}))
CHINESE_SKILL_VERBS = frozenset({
    "游泳", "跳舞", "唱歌", "开车", "做饭", "滑冰", "滑雪", "弹", "踢", "打", "拉", "骑", "画", "说", "写", "写字", "飞", "走路",
    "下", "吹", "画画", "做", "煮", "烤",
})
"""Chinese verbs of skills: "can" is 会, not 能."""
SKILL_VERBS = frozenset({
    "swim", "dance", "sing", "drive", "cook", "skate", "ski", "play", "ride", "draw", "paint", "speak", "write", "fly", "walk",
    "bake",
})
"""First words of the English verbs of skills: speak 会 说, but say 能 说."""


def is_skill(english: str, chinese: str) -> bool:
    """Whether a verb denotes a skill, by its first words in both languages."""
    return english in SKILL_VERBS and chinese in CHINESE_SKILL_VERBS
FRAME_WEIGHTS: Mapping[Frame, float] = {
    "i": 14, "t": 34, "place": 9, "loc": 9, "put": 4, "give": 5, "for": 3, "tell": 2, "to": 10,
    "ing": 3, "that": 5, "tellthat": 1.5, "wh": 3, "tellwh": 1, "make": 4, "link": 4,
}
SHORT_FRAMES: Mapping[Frame, float] = {"i": 20, "t": 40, "place": 8, "loc": 9, "put": 3, "give": 3, "for": 2}
"""The frames without another verb."""
_NOT_SAID_ALONE = ("home", "away", "at work", "online", "abroad", "everywhere", "somewhere", "far away")
"""Place adverbs that only some verbs take."""


@dataclass(slots=True)
class Predicate:
    """A verb with its complements.

    chinese: the Chinese of the verb itself. tail: the English after the verb. lead, rest: the Chinese before and after it. very:
    the default degree (很) before a Chinese adjective, dropped in a question or a negation. last: the 了 of "is dead", which a
    negation drops. takes_le: whether its past has 了. about: content words, for the held-out split. particle: the English particle
    where it is separated: pick it up. never_negated: whether "not" is excluded: he runs fast. negator: words that negate the
    Chinese verb (nothing); before_negator: what precedes that negation: 什么 都. negator_after_lead: whether a negation follows
    `lead`: 对 我 不 友好.
    """

    verb: Verb
    chinese: str
    tail: list[Phrase] = field(default_factory=list)
    lead: list[Phrase] = field(default_factory=list)
    rest: list[Phrase] = field(default_factory=list)
    very: Phrase = NOTHING
    last: str = ""
    takes_le: bool = True
    about: tuple[str, ...] = ()
    particle: Phrase = NOTHING
    never_negated: bool = False
    negator: Phrase = NOTHING
    before_negator: Phrase = NOTHING
    negator_after_lead: bool = False

    @property
    def is_be(self) -> bool:
        """Whether the verb is "to be"."""
        return self.verb is BE

    @property
    def is_state(self) -> bool:
        """Whether the verb denotes a state."""
        return "state" in self.verb.flags


# --- Verbs by noun ----------------------------------------------------------------------------------------------------
@cache
def _verbs_by_subject() -> Mapping[tuple[Noun, Frame], list[Verb]]:
    """Return the verbs by (subject, frame)."""
    found: dict[tuple[Noun, Frame], list[Verb]] = {}
    for frame in get_args(Frame):
        for verb in lex.verbs(frame):
            for noun in lex.subjects_of(verb):
                found.setdefault((noun, frame), []).append(verb)
    return found


def verbs_of_subject(noun: Noun, frame: Frame) -> Sequence[Verb]:
    """Return the verbs that can take this subject."""
    return _verbs_by_subject().get((noun, frame), ())


@cache
def _verbs_by_object() -> Mapping[Noun, list[Verb]]:
    """Return the transitive verbs by object."""
    found: dict[Noun, list[Verb]] = {}
    for verb in lex.verbs("t"):
        for noun in lex.objects_of(verb) if is_contiguous(verb) else ():
            found.setdefault(noun, []).append(verb)
    return found


def verbs_of_object(noun: Noun) -> Sequence[Verb]:
    """Return the verbs that can take this object."""
    return _verbs_by_object().get(noun, ())


def by_person(verb: Verb) -> bool:
    """Whether its subject can be a person."""
    return "person" in verb.subjects or "being" in verb.subjects


def is_contiguous(verb: Verb) -> bool:
    """Whether its Chinese is contiguous, unlike 和 ~ 说话."""
    return "~" not in verb.chinese


def takes_plain_object(verb: Verb) -> bool:
    """Whether its object directly follows it in both languages."""
    return is_contiguous(verb) and "sep" not in verb.flags


def person_acts_on(verb: Verb) -> bool:
    """Whether its subject can be a person and its object directly follows it."""
    return takes_plain_object(verb) and by_person(verb)


def draw_frame(s: Sampler, frames: Mapping[Frame, float] = FRAME_WEIGHTS) -> Frame:
    """Draw a frame; one without another verb where no further nesting is allowed."""
    return s.weighted(frames if s.can_nest() else SHORT_FRAMES)


@cache
def without_particle(verb: Verb) -> tuple[Verb, str]:
    """Split off the particle: turn on -> turn, on."""
    base, third, past, participle, ing = (
        form.partition(" ")[0] for form in (verb.base, verb.third, verb.past, verb.participle, verb.ing)
    )
    first = replace(verb, base=base, third=third, past=past, participle=participle, ing=ing)
    return first, verb.base.partition(" ")[2]


# --- Helpers of the builders ------------------------------------------------------------------------------------------
def main_verb(p: Predicate, form: str) -> Phrase:
    """Return the main verb in both languages; its Chinese is also aligned to a separated particle."""
    main = pair(form, p.chinese)
    return Phrase(main.source, aligned_to_all([main, p.particle], p.chinese).target) if p.particle else main


def infinitive(predicate: Predicate, form: str = "base") -> Sides:
    """Return the pieces of a predicate without a tense: [eat, the apple], [吃, 苹果]; [be, happy], [快乐] without 很."""
    main = main_verb(predicate, getattr(predicate.verb, form))
    no = aligned(predicate.negator, "不") if predicate.negator else NOTHING  # (decide) to say nothing: 什么 都 不 说
    return [main, *predicate.tail], [predicate.before_negator, no, *predicate.lead, main, *predicate.rest]


def object_pronoun(s: Sampler) -> NounPhrase:
    """Draw me, him, them, ..., but not the actor."""
    text = s.choice([word for word in closed_class.PERSONS if word not in closed_class.NOT_MET.get(s.actor, ())])
    word = pair(text, closed_class.PERSONS[text])
    return NounPhrase(word, word, name=text)


def someone(s: Sampler) -> NounPhrase:
    """Draw a person, often a pronoun."""
    kind = s.weighted({"pronoun": 50, "name": 12, "noun": 38})
    if kind == "pronoun":
        return object_pronoun(s)
    if kind == "name":
        return nouns.proper_name(s)
    return nouns.noun_phrase(s, lex.nouns("person"), {nouns.the: 4, nouns.owned: 4, nouns.a: 1, nouns.possessive: 1})


def somewhere(s: Sampler, of: str = "person") -> Sides:
    """Draw a place of a verb, of persons or of things, or an adverb such as here, upstairs, at home."""
    if s.chance(0.15):
        adverb = s.choice([a for a in lex.adverbs("place") if a.english not in _NOT_SAID_ALONE])
        word = pair(adverb.english, adverb.chinese)
        return [word], [word]
    return nouns.place(s, of)


def zai_unless_present(target: Sequence[Phrase]) -> Phrase:
    """Return the 在 before a Chinese place, unless the place begins with it."""
    return NOTHING if first_chinese_word(target).startswith("在") else chinese("在")


def first_chinese_word(pieces: Sequence[Phrase]) -> str:
    """Return the first Chinese word, "" if there is none."""
    return next((word for piece in pieces for word, __ in piece.target), "")


def draw_degree(s: Sampler) -> Phrase:
    """Draw a degree (very 非常, too 太, a little 有点) in a third of the cases; "so" is 这么 in a question."""
    if not s.chance(0.35):
        return NOTHING
    return s.pair({**closed_class.DEGREES, "so": "这么"} if s.is_question else closed_class.DEGREES)


def degree_or_hen(degree: Phrase) -> Phrase:
    """Return the degree before a Chinese adjective, or else 很."""
    return degree or chinese("很")


def optional_that(s: Sampler, clause: Phrase = NOTHING, share: float = 0.6) -> Phrase:
    """Draw "that" or nothing: (I know) that he is right. Nothing before another "that"."""
    again = bool(clause.source) and clause.source[0].text == "that"
    return english("that") if s.chance(share) and not again else NOTHING
