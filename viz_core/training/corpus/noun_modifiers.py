"""Modifiers before a noun: adjectives, possessive determiners and genitives (my, the boys')."""

from viz_core.training.corpus import closed_class
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.lexicon import Adjective, Noun
from viz_core.training.corpus.phrases import NounPhrase, Phrase, Sampler, aligned, english_text, join, pair

BEFORE_COLOURS = ("big", "small", "little", "long", "short", "new", "old", "beautiful", "nice", "large", "tall")
COLOURS = ("red", "white", "black", "blue", "green", "yellow", "brown", "grey", "pink", "orange", "purple")
FAVOURITE = ("favourite", "favorite")
"""Spellings of the adjective that only stands after a possessive: my favourite song."""
MULTIWORD_NOUNS = frozenset(noun.english for noun in lex.NOUNS if " " in noun.english)
"""Nouns that look like an adjective and a noun: old man, little brother, hot dog."""
ITS_CLASSES = "body part quality"
"""Classes of nouns that "its" may precede."""


def draw_adjectives(s: Sampler, noun: Noun, share: float = 0.13) -> list[Phrase]:
    """Draw no, one or two adjectives for a noun, each with 的 where it needs one."""
    if not s.chance(share) or noun.is_a("country", "city", "language", "subject", "month", "weekday", "time", "meal"):
        return []
    if not (noun.classifier or noun.is_mass):  # 一 英镑
        return []
    choices = [a for a in lex.adjectives_of(noun) if "noattr" not in a.flags and a.english not in FAVOURITE]
    choices = [a for a in choices if a.chinese not in noun.chinese]  # no sad sadness, no Russian Russian
    choices = [a for a in choices if f"{a.english} {noun.english}" not in MULTIWORD_NOUNS]  # old man: 老人, not 老 男人
    if not choices:
        return []
    first = s.entry(choices)
    colours = [a for a in choices if a.english in COLOURS] if first.english in BEFORE_COLOURS and s.chance(0.2) else []
    return [_and_colour(first, s.entry(colours))] if colours else [attribute(s, first)]


def _and_colour(first: Adjective, colour: Adjective) -> Phrase:
    """Return an adjective and a colour: big red -> 大 红; big blue -> 蓝色 的 大; beautiful blue -> 漂亮 的 蓝色."""
    one, two = pair(first.english, first.chinese), pair(colour.english, colour.chinese)
    if "tight" not in first.flags:
        return join([one, aligned(one, "的"), two])
    return join([one, two]) if "tight" in colour.flags else join([one, two], [two, aligned(two, "的"), one])


def attribute(s: Sampler, adjective: Adjective) -> Phrase:
    """Return an attributive adjective: big -> 大; careful -> 小心 的; very big -> 非常 大 的."""
    base = pair(adjective.english, adjective.chinese)
    if adjective.flags.isdisjoint({"shi", "le", "verb", "nopred"}) and s.chance(0.06):
        very = pair("very", "非常")
        return join([very, base, aligned(base, "的")])
    return base if "tight" in adjective.flags else join([base, aligned(base, "的")])


def possessive_determiner(s: Sampler, noun: Noun) -> Phrase:
    """Draw my, your, ..., often that of the subject; "its" only before parts."""
    own = closed_class.OWNER_OF.get(s.actor, "") if s.chance(0.4) else ""
    word = own or s.weighted(closed_class.OWNERS_SAID)
    if word == "its" and not noun.is_a(*ITS_CLASSES.split()):
        word = "my"
    return pair(word, closed_class.OWNERS[word])


def genitive(owner: NounPhrase) -> Phrase:
    """Return 's, or ' after a plural in -s: the boys' room."""
    return pair("'" if owner.person == "plural" and english_text(owner.phrase).endswith("s") else "'s", "的")
