"""Tenses and modal verbs: their forms, their weights, and the adverbs that go with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.closed_class import BE, HAVE, WAS
from viz_core.training.corpus.phrases import NounPhrase, Person, Phrase, Sampler, pair
from viz_core.training.corpus.predicates import Predicate
from viz_core.training.corpus.time_expressions import ADVERBS


@dataclass(frozen=True, slots=True)
class Tense:
    """The forms of a tense in both languages.

    aux: the auxiliary by person, "" where only questions and negations have one. form: the form of the main verb after it.
    before, after: the Chinese around an action. negation: the negation, which replaces `before`; state_negation: that of a state.
    """

    aux: Mapping[Person, str] | str
    form: str
    before: str = ""
    after: str = ""
    negation: str = "不"
    state_negation: str = "不"

    def auxiliary(self, person: Person) -> str:
        """Return the auxiliary for a person."""
        return self.aux if isinstance(self.aux, str) else self.aux[person]


def _modal(word: str, before: str, no: str) -> Tense:
    """Return the tense of a modal verb."""
    return Tense(word, "base", before, negation=no, state_negation=no)


def _with_rest(forms: Mapping[Person, str], rest: str) -> Mapping[Person, str]:
    """Append `rest` to the form of each person: am going to, is going to, are going to."""
    return {person: f"{word} {rest}" for person, word in forms.items()}


TENSES: Mapping[str, Tense] = MappingProxyType({
    "present": Tense("", "base"),
    "past": Tense("", "past", after="了", negation="没有"),
    "going on": Tense(BE, "ing", "在", negation="没有 在"),
    "went on": Tense(WAS, "ing", "在", negation="没有 在"),
    "future": _modal("will", "会", "不 会"),
    "going to": Tense(_with_rest(BE, "going to"), "base", "要", negation="不 会", state_negation="不 会"),
    "perfect": Tense(HAVE, "participle", after="了", negation="没有"),
    "perfect going on": Tense(_with_rest(HAVE, "been"), "ing", "一直 在", negation="一直 没有"),
    "past perfect": Tense("had", "participle", after="了", negation="没有"),
    "can": _modal("can", "能", "不 能"),
    "could": _modal("could", "能", "不 能"),
    "should": _modal("should", "应该", "不 应该"),
    "must": _modal("must", "必须", "不 能"),
    "may": _modal("may", "可能", "可能 不"),
    "allowed": _modal("may", "可以", "不 可以"),  # may I, you may
    "might": _modal("might", "可能", "可能 不"),
    "would": _modal("would", "会", "不 会"),
    "have to": Tense(_with_rest(HAVE, "to"), "base", "必须", negation="不用"),
    "had to": Tense("had to", "base", "不得不", negation="不用"),
    "used to": Tense("used to", "base", "以前"),
    "planned": Tense(BE, "ing", "要"),
    "might have": Tense("might have", "participle", "可能", "了", negation="可能 没有"),
    "must have": Tense("must have", "participle", "一定", "了", negation="一定 没有"),
    "should have": Tense("should have", "participle", "本来 应该", negation="本来 不 应该"),
    "could have": Tense("could have", "participle", "本来 能"),
    "had better": _modal("had better", "最好", "最好 不要"),
    "would rather": _modal("would rather", "宁愿", "宁愿 不"),
})
ACTION_TENSES: Mapping[str, float] = {
    "past": 26, "present": 18, "going on": 9, "went on": 3, "future": 9, "going to": 4, "perfect": 6, "perfect going on": 1,
    "past perfect": 2, "can": 7, "could": 2, "should": 3, "must": 2, "may": 1, "might": 1.5, "would": 1.5, "have to": 2,
    "had to": 1, "used to": 0.8, "had better": 0.4, "would rather": 0.2, "planned": 1,
    "might have": 0.5, "must have": 0.4, "should have": 0.7, "could have": 0.5,
}
STATE_TENSES: Mapping[str, float] = {
    "present": 48, "past": 26, "future": 8, "can": 0.5, "could": 0.3, "should": 2, "must": 1.5, "may": 0.7, "might": 1.5,
    "would": 1, "have to": 0.5, "used to": 0.5, "going to": 1, "might have": 0.3, "must have": 0.5, "should have": 0.3,
}
PERFECT_MODALS = ("might have", "must have", "should have", "could have")
NEVER_ASKED = ("had better", "would rather", "might", "used to", "planned", *PERFECT_MODALS)
NEVER_DENIED_IN_A_QUESTION = ("may", "must", "have to", "had to", "could", "perfect going on", "past perfect", *NEVER_ASKED)
UNSPLIT_AUXILIARIES = ("had better", "would rather")
"""Auxiliaries of two words that "not" never separates: had better not."""
PROGRESSIVE_TENSES = ("going on", "went on", "perfect going on")
PERFECT_TENSES = ("perfect", "past perfect")
DURATIVE_VERBS = ("try", "learn", "practise", "prepare", "consider", "help", "teach", "encourage", "persuade")
"""Verbs with a complement verb that take 在 in Chinese: not 在 开始, 在 决定, 在 让."""
MID_ADVERBS: Mapping[str, Mapping[str, float]] = {
    "present": {
        "always": 3, "usually": 3, "often": 3, "sometimes": 2, "never": 3, "rarely": 0.5, "still": 2, "also": 2, "really": 1,
        "only": 1, "probably": 1.5, "actually": 1, "just": 1.5, "definitely": 0.5,
    },
    "past": {
        "never": 1, "also": 1, "just": 1, "finally": 1, "suddenly": 1, "only": 0.5, "probably": 1, "actually": 0.7, "really": 0.7,
    },
    "going on": {"still": 3, "also": 1, "just": 0.5, "probably": 1, "really": 0.3},
    "went on": {"still": 1, "just": 0.5, "probably": 0.5},
    "future": {"never": 2, "always": 1, "also": 1, "soon": 0.5, "probably": 2, "definitely": 1, "still": 0.5, "really": 0.3},
    "perfect": {"already": 5, "just": 3, "never": 3, "finally": 1, "probably": 0.7, "really": 0.3},
    "past perfect": {"already": 4, "never": 1},
    "can": {"also": 1, "still": 1, "always": 0.5, "only": 0.5, "never": 0.5},
}
"""Mid-sentence adverbs of each tense that has some."""
ADVERBS_WITH_NOUNS = ("still", "also", "already")
"""Adverbs that go with "to be" and a noun: he is still a student."""
_MIDDLE = {
    **ADVERBS, **{a.english: a.chinese for a in lex.ADVERBS if a.kind in ("focus", "sentence", "degree")}, "also": "也",
    "really": "真的", "only": "只", "still": "还", "never": "从不", "just": "刚",
}
_NEVER = {"perfect": "从来 没有", "past perfect": "从来 没有", "past": "从来 没有", "future": "永远 不", "can": "永远 不"}
_JUST = {"going on": "只是", "went on": "只是", "present": "只是"}


def askable_tense(s: Sampler, tense: str) -> str:
    """Return the tense, or one that occurs in questions instead of one that does not."""
    return "present" if tense in NEVER_ASKED and s.chance(0.5) else "past" if tense in NEVER_ASKED else tense


def draw_tense(s: Sampler, p: Predicate) -> str:
    """Draw a tense that the verb can have."""
    if p.verb.base.startswith("would "):
        return "present"
    if p.is_be or p.is_state:
        tense = s.weighted(STATE_TENSES)
        return "present" if tense == "would" and p.verb.base in ("like", "love") else tense  # would like is 想
    without: tuple[str, ...] = () if p.verb.has_progressive else PROGRESSIVE_TENSES
    if p.verb.frame == "loc" and "pre" in p.verb.flags and not p.takes_le:
        without = PERFECT_TENSES  # not "has eaten here": 过 or 了
    elif p.verb.frame == "place":  # not "is walking to": 走 到 includes the arrival
        without = PROGRESSIVE_TENSES if "到 ~" in p.verb.chinese else ("perfect going on", *without)
    elif p.verb.frame in ("to", "ing", "make") and p.verb.base not in DURATIVE_VERBS:
        without = PROGRESSIVE_TENSES
    return s.weighted({name: weight for name, weight in ACTION_TENSES.items() if name not in without})


def draw_mid_adverb(s: Sampler, tense: str, p: Predicate) -> Phrase:
    """Draw a mid-sentence adverb of the tense: always 总是, never 从不, already 已经. None where it does not go with "to be"."""
    word = s.weighted(MID_ADVERBS[tense])
    if p.is_be and (
        word in ("finally", "suddenly", "just", "only", "rarely") or (p.chinese == "是" and word not in ADVERBS_WITH_NOUNS)
    ):
        return Phrase()
    if word == "never" and tense == "past" and (p.is_be or p.is_state) and p.chinese != "有":
        return pair(word, "从来 不")  # was never late, never knew it: no 过
    special = _NEVER if word == "never" else _JUST if word == "just" else {}
    return pair(word, special.get(tense, _MIDDLE[word]))


def draw_be(s: Sampler, who: NounPhrase, past: float = 0.15, chinese: str = "") -> Phrase:
    """Return am, is or are, or with probability `past` was or were."""
    return pair((WAS if s.chance(past) else BE)[who.person], chinese)
