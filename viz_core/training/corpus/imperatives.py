"""Imperatives, requests and suggestions: open the window; please wait for me; don't be late; let's go home."""

from collections.abc import Callable, Mapping

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus import verb_phrases
from viz_core.training.corpus.nouns import Sides
from viz_core.training.corpus.phrases import NOTHING, Phrase, Sampler, aligned, aligned_to_all, english, english_text, join, pair
from viz_core.training.corpus.predicates import (
    BE,
    SHORT_FRAMES,
    Predicate,
    by_person,
    draw_frame,
    first_chinese_word,
    infinitive,
    is_skill,
)
from viz_core.training.corpus.time_expressions import draw_time

NOT_TO_BE = ("afraid", "angry", "sad", "stupid", "shy", "lazy", "rude", "noisy", "nervous", "selfish", "silly")
"""Qualities in negative imperatives."""
ORDERED = {
    "patient": "耐心 一点", "happy": "开心 一点", "nice": "友好 一点", "kind": "友善 一点", "strong": "坚强", "polite": "有礼貌",
}
"""Adjectives with another Chinese in an imperative: be patient."""
NEVER_ORDERED = ("manage", "pretend", "refuse", "guess", "hear about", "see", "hear", "turn into", "find out", "dream", "return to",
          "agree", "beat", "destroy", "steal", "lie", "get married", "graduate", "force", "persuade", "give up", "start", "begin",
          "expect", "arrive at", "arrive in", "get wet", "cheat", "injure", "kill", "punch", "shoot", "rob", "crash", "suffer from",
          "get home", "show up", "exist", "come across", "run into", "survive", "deserve", "reach", "discover", "invent",
          "recognise", "surprise", "frighten", "scare", "bother", "attack", "arrest", "bite", "hire", "impress", "confuse",
          "disappoint", "contain", "get to", "own", "receive", "earn", "overlook", "prove", "succeed", "appear", "disappear",
          "escape", "get better", "get divorced", "pass away", "run out of", "throw up", "snore", "sigh", "sweat", "yawn",
          "steal from", "drown", "delay", "doubt", "regret", "avoid")
"""Verbs that hardly ever occur in an imperative."""
WHOM = {"me": "我", "him": "他", "her": "她", "them": "他们"}


def order(s: Sampler) -> Phrase:
    """Draw an imperative of any kind, sometimes a polite question."""
    return _polite(s, *_what_to_do(s, _polite)) if s.chance(0.08) else plain_order(s)


def plain_order(s: Sampler) -> Phrase:
    """Draw an imperative that is not a question."""
    say = s.weighted(_KINDS)
    first = say(s, *_what_to_do(s, say))
    if say in (_do, _please) and s.can_nest() and s.chance(0.06):  # sit down and listen
        return join([first, pair("and", "然后"), _do(s, *_what_to_do(s, _do))])
    return first


def _what_to_do(s: Sampler, build: Callable[[Sampler, Sides, Phrase], Phrase]) -> tuple[Sides, Phrase]:
    """Draw the action of an imperative of this kind, and its time."""
    s.actor = "we" if build is _lets else "" if build is _let_me else "you"
    p = _not_to_be(s) if build is _do_not and s.chance(0.1) else draw_action(s)
    if p.is_be and build in (_do_not, _never):
        p = _not_to_be(s)
    s.combinations.append(("order", *p.about))
    source, target = infinitive(p)
    time = draw_time(s, "future") if s.chance(0.1) else NOTHING
    s.actor = ""
    return (source, target), time


def _not_to_be(s: Sampler) -> Predicate:
    """Draw a quality of a negative imperative: (don't be) afraid 害怕, late 迟到."""
    if s.chance(0.3):
        return Predicate(BE, "", [late := pair("late", "迟到")], rest=[late], about=("be", "late"))
    adjective = s.choice([a for a in lex.ADJECTIVES if a.english in NOT_TO_BE and lex.describes_people(a)])
    word = pair(adjective.english, adjective.chinese)
    return Predicate(BE, "", [word], rest=[word], about=("be", adjective.english))


def _do(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build a plain imperative: open the window tomorrow -> 明天 打开 窗户."""
    source, target = action
    return join([*source, time], [time, *target])


def _please(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build an imperative with "please": please wait for me, wait for me please -> 请 等 我."""
    source, target = action
    please = pair("please", "请")
    return join([*source, time, please] if s.chance(0.3) else [please, *source, time], [please, time, *target])


def _do_not(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build a negative imperative: don't be late -> 不要 迟到."""
    source, target = action
    no = pair(s.choice(("do not", "don't", "don't")), "不要")
    please = pair("please", "请") if s.chance(0.15) else NOTHING
    return join([please, no, *source, time], [please, time, no, *target])


def _never(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build an imperative with "never": never touch it -> 永远 不要 碰 它."""
    source, target = action
    no = pair("never", "永远 不要")
    return join([no, *source], [no, *target])


def _lets(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build a suggestion: let's go home -> 我们 回家 吧."""
    source, target = action
    if s.chance(0.1):  # let's not go: 我们 不要 走
        lets, no = pair("let's", "我们"), pair("not", "不要")
        return join([lets, no, *source, time], [lets, time, no, *target])
    lets = pair(s.choice(("let's", "let's", "let us")), "我们")
    return join([lets, *source, time], [lets, time, *target, aligned(lets, "吧")])


def _let_me(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build an imperative with "let": let me help you -> 让 我 帮助 你."""
    source, target = action
    let, whom = pair("let", "让"), s.pair(WHOM)
    no = pair("don't", "不要") if s.chance(0.1) else NOTHING
    return join([no, let, whom, *source], [no, let, whom, *target])


def _polite(s: Sampler, action: Sides, time: Phrase) -> Phrase:
    """Build a polite question: can you (please) open the window -> 你 能 打开 窗户 吗; "will you" always has "please"."""
    source, target = action
    word = s.choice(("can", "could", "would", "will"))
    if word == "can" and action[1] and is_skill(english_text(action[0][0]).split()[0], first_chinese_word(action[1])):
        word = "could"  # "can you swim" asks for a skill
    please = english("please") if word in ("would", "will") or s.chance(0.4) else NOTHING
    can, you = pair(word), pair("you", "你")
    able = aligned_to_all([can, please], "能")
    asks = [can, you, *source, time, please] if s.chance(0.25) else [can, you, please, *source, time]
    return join(asks, [you, time, able, *target, aligned(can, "吗")])


_KINDS: Mapping[Callable[[Sampler, Sides, Phrase], Phrase], float] = {
    _do: 30, _please: 18, _do_not: 18, _lets: 12, _let_me: 8, _never: 3,
}


def draw_action(s: Sampler) -> Predicate:
    """Draw a predicate that a person can be told to do."""
    if s.chance(0.06):
        adjective = s.choice(
            [a for a in lex.ADJECTIVES if a.english in verb_phrases.DESIRED_QUALITIES[:8] and lex.describes_people(a)]
        )
        word = pair(adjective.english, ORDERED.get(adjective.english, adjective.chinese))
        return Predicate(BE, "", [word], rest=[word], about=("be", adjective.english))
    frame = draw_frame(s, {**SHORT_FRAMES, "to": 4, "make": 4, "tell": 3, "tellthat": 2, "wh": 1})
    verb = s.entry(lex.verbs_where(_on_purpose, frame) or lex.verbs_where(_on_purpose, "i"))
    return verb_phrases.predicate(s, verb)


def _on_purpose(verb: lex.Verb) -> bool:
    """Whether a person does it on purpose."""
    return (
        by_person(verb)
        and "state" not in verb.flags
        and verb.base not in verb_phrases.INVOLUNTARY_VERBS
        and verb.base not in NEVER_ORDERED
    )
