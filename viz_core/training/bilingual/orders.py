"""Orders, requests and proposals: open the window; please wait for me; don't be late; let's go home."""

from collections.abc import Callable, Mapping

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual import verb_phrases
from viz_core.training.bilingual.nouns import Place
from viz_core.training.bilingual.phrases import NOTHING, Phrase, Speaker, join, more, pair
from viz_core.training.bilingual.predicates import BE, SHORT, Predicate, by_person, frame_of, infinitive
from viz_core.training.bilingual.times import when

BEING = (
    "careful", "quiet", "happy", "kind", "nice", "patient", "brave", "honest", "polite", "afraid", "late", "angry", "sad", "stupid",
)
"""What one tells others to be, or not to be."""
WHOM = {"me": "我", "us": "我们", "him": "他", "her": "她", "them": "他们"}


def order(s: Speaker) -> Phrase:
    """An order of any kind."""
    p = doable(s)
    say = s.often(_KINDS)
    source, target = infinitive(p)
    time = when(s, "future") if s.chance(0.15) else NOTHING
    return say(s, (source, target), time)


def _do(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """open the window tomorrow -> 明天 打开 窗户."""
    source, target = action
    return join([*source, time], [time, *target])


def _please(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """please wait for me, wait for me please -> 请 等 我."""
    source, target = action
    please = pair("please", "请")
    return join([*source, time, please] if s.chance(0.3) else [please, *source, time], [please, time, *target])


def _do_not(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """don't be late -> 不要 迟到."""
    source, target = action
    no = pair(s.one(("do not", "don't", "don't")), "不要")
    please = pair("please", "请") if s.chance(0.15) else NOTHING
    return join([please, no, *source, time], [please, time, no, *target])


def _never(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """never touch it -> 永远 不要 碰 它."""
    source, target = action
    no = pair("never", "永远 不要")
    return join([no, *source], [no, *target])


def _lets(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """let's go home -> 我们 回家 吧."""
    source, target = action
    lets = pair(s.one(("let's", "let us")), "我们")
    no = pair("not", "不要") if s.chance(0.1) else NOTHING
    return join([lets, no, *source, time], [lets, time, no, *target, more(lets, "吧")])


def _let_me(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """let me help you -> 让 我 帮助 你."""
    source, target = action
    let, whom = pair("let", "让"), s.word(WHOM)
    no = pair("don't", "不要") if s.chance(0.1) else NOTHING
    return join([no, let, whom, *source], [no, let, whom, *target])


def _polite(s: Speaker, action: Place, time: Phrase) -> Phrase:
    """can you please open the window -> 请 你 能 打开 窗户 吗."""
    source, target = action
    can, you = pair(s.one(("can", "could", "would", "will")), "能"), pair("you", "你")
    please = pair("please", "请") if s.chance(0.4) else NOTHING
    return join([can, you, please, *source, time], [please, you, time, can, *target, more(can, "吗")])


_KINDS: Mapping[Callable[[Speaker, Place, Phrase], Phrase], float] = {
    _do: 30, _please: 18, _do_not: 18, _lets: 12, _let_me: 8, _never: 3, _polite: 8,
}


def doable(s: Speaker) -> Predicate:
    """What a person can be told to do."""
    if s.chance(0.08):
        adjective = s.one([a for a in lex.ADJECTIVES if a.english in BEING and lex.of_people(a)])
        word = pair(adjective.english, adjective.chinese)
        return Predicate(BE, "", [word], rest=[word], about=("be", adjective.english))
    frame = frame_of(s, {**SHORT, "to": 4, "make": 4, "tell": 3, "tellthat": 2, "wh": 1})
    verb = s.one(lex.verbs_where(_on_purpose, frame) or lex.verbs_where(_on_purpose, "i"))
    return verb_phrases.predicate(s, verb)


def _on_purpose(verb: lex.Verb) -> bool:
    return by_person(verb) and "state" not in verb.flags
