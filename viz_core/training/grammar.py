"""A small grammar that builds each sentence in English and in Chinese at once, so it knows the word alignment.

Every frame below builds both sides from the same pieces, in different orders:

    the cat sat on the mat            ->  猫 坐在 垫子 上
    the big red ball in the box       ->  盒子 里 的 大 红 球
    the animal did not cross the street because it was too tired  ->  动物 没有 穿过 街道 因为 动物 太 累

The last one repeats the noun that "it" stands for, so a translator must find out which noun it is.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random

from viz_core.training import lexicon as lex
from viz_core.training.phrases import NOTHING, Combination, NounPhrase, Phrase, Speaker, VerbPhrase, Word, be, join, more, pair, was


@dataclass(frozen=True, slots=True)
class Example:
    """One sentence in both languages.

    alignment: for each target word the source positions that it comes from, none for a word that only Chinese needs.
    referent: (target position of a noun that a pronoun became, source position of that noun) or None.
    combinations: its combinations of content words, such as (cat, sit, mat), which decide the held-out split.
    """

    source: list[str]
    target: list[str]
    alignment: list[tuple[int, ...]]
    referent: tuple[int, int] | None = None
    combinations: tuple[Combination, ...] = ()


# --- Frames: one kind of sentence each --------------------------------------------------------------------------------
def clause(subject: NounPhrase, verb: VerbPhrase, english: Iterable[Phrase], chinese: Iterable[Phrase]) -> Phrase:
    """yesterday | she | did not see | the cat, or the time last; in Chinese 她 | 昨天 | 没有 | ..."""
    first, last = (verb.time, NOTHING) if verb.time_first else (NOTHING, verb.time)
    source = [first, subject.phrase, verb.before, verb.verb, *english, last]
    return join(source, [subject.phrase, verb.time, verb.before, *chinese])


def posture(s: Speaker) -> Phrase:
    """the cat sat on the mat -> 猫 坐在 垫子 上; the cat sat -> 猫 坐 了."""
    subject, verb = s.subject(lex.SOMEONE), s.one(lex.POSTURES)
    if s.chance(0.2):
        s.combinations.append((subject.name, verb.base))
        said = s.verb(verb, subject)
        return clause(subject, said, [], [said.verb, said.after])
    preposition, place = s.place(lex.FURNITURE + lex.CONTAINERS + lex.WAYS if s.chance(0.8) else lex.PLACES)
    s.combinations.append((subject.name, verb.base, place.name))
    said = s.verb(verb, subject, f"{verb.chinese}在", le=False, going_on="")
    return clause(subject, said, [preposition, place.phrase], [said.verb, place.phrase, preposition])


def activity(s: Speaker) -> Phrase:
    """the boy did not play in the park -> 男孩 没有 在 公园 里 玩; the boy laughed -> 男孩 笑 了."""
    subject, verb = s.subject(lex.SOMEONE), s.one(lex.ACTIVITIES)
    if s.chance(0.3):
        s.combinations.append((subject.name, verb.base))
        said = s.verb(verb, subject)
        return clause(subject, said, [], [said.verb, said.after])
    preposition, place = s.place(lex.PLACES if s.chance(0.7) else lex.WAYS)
    s.combinations.append((subject.name, verb.base, place.name))
    said = s.verb(verb, subject, le=False, going_on="正")
    chinese = [more(preposition, "在"), place.phrase, preposition, said.verb]
    return clause(subject, said, [preposition, place.phrase], chinese)


def transitive(s: Speaker) -> Phrase:
    """the dog chased a cat -> 狗 追 了 一 只 猫."""
    verb, agents, patients = s.one(lex.TRANSITIVES)
    subject, thing = s.subject(agents), s.object(patients)
    s.combinations.append((subject.name, verb.base, thing.name))
    said = s.verb(verb, subject)
    return clause(subject, said, [thing.phrase], [said.verb, said.after, thing.phrase])


def give(s: Speaker) -> Phrase:
    """the man gave the ball to the girl -> 男人 把 球 给 了 女孩."""
    subject, thing, other = s.subject(lex.PEOPLE), s.noun(lex.SOMETHING), s.object(lex.PEOPLE)
    s.combinations.append(("give", thing.name, other.name))
    said = s.verb(lex.GIVE, subject)
    chinese = [more(NOTHING, "把"), thing.phrase, said.verb, said.after, other.phrase]
    return clause(subject, said, [thing.phrase, pair("to"), other.phrase], chinese)


def put(s: Speaker) -> Phrase:
    """the girl put the ball in the box -> 女孩 把 球 放在 盒子 里."""
    subject, thing = s.subject(lex.PEOPLE), s.noun(lex.SOMETHING)
    preposition, place = s.place(lex.FURNITURE + lex.CONTAINERS)
    s.combinations.append(("put", thing.name, place.name))
    said = s.verb(lex.PUT, subject, le=False)
    chinese = [more(NOTHING, "把"), thing.phrase, said.verb, place.phrase, preposition]
    return clause(subject, said, [thing.phrase, preposition, place.phrase], chinese)


def quality(s: Speaker) -> Phrase:
    """the street is too wide -> 街道 太 宽; the cat is big -> 猫 很 大."""
    nouns, adjectives = s.one(lex.QUALITIES)
    subject, adjective = s.subject(nouns), s.word(adjectives)
    s.combinations.append((subject.name, adjective.source[0].text))
    degree = s.one((more(NOTHING, "很"), pair("very", "非常"), pair("too", "太"), pair("not", "不")))
    english = [subject.phrase, pair(s.is_or_was(subject.person)), degree, adjective]
    return join(english, [subject.phrase, degree, adjective])


def colour(s: Speaker) -> Phrase:
    """the ball is red -> 球 是 红 的; the ball is not red -> 球 不 是 红 的."""
    subject, hue = s.noun(lex.ANIMALS + lex.SOMETHING + lex.FURNITURE + lex.CONTAINERS, inside=0.1), s.word(lex.COLOURS)
    s.combinations.append((subject.name, hue.source[0].text))
    being, no = pair(s.is_or_was(subject.person), "是"), pair("not", "不") if s.chance(0.25) else NOTHING
    return join([subject.phrase, being, no, hue], [subject.phrase, no, being, hue, more(NOTHING, "的")])


def located(s: Speaker) -> Phrase:
    """the cat is in the box -> 猫 在 盒子 里."""
    subject, (preposition, place) = s.subject(lex.SOMEONE + lex.SOMETHING), s.place()
    s.combinations.append((subject.name, place.name))
    being, no = pair(s.is_or_was(subject.person), "在"), pair("not", "不") if s.chance(0.2) else NOTHING
    english = [subject.phrase, being, no, preposition, place.phrase]
    return join(english, [subject.phrase, no, being, place.phrase, preposition])


def existence(s: Speaker) -> Phrase:
    """there is a cat on the mat -> 垫子 上 有 一 只 猫."""
    thing, (preposition, place) = s.noun(lex.SOMEONE + lex.SOMETHING), s.place()
    s.combinations.append((thing.name, place.name))
    there = pair(f"there {s.is_or_was(thing.person)}", "有")
    return join([there, thing.phrase, preposition, place.phrase], [place.phrase, preposition, there, thing.phrase])


def fragment(s: Speaker) -> Phrase:
    """the big red ball in the box -> 盒子 里 的 大 红 球."""
    return s.noun(lex.ALL, inside=0.8).phrase


def where(s: Speaker) -> Phrase:
    """where is the cat -> 猫 在 哪里."""
    subject = s.subject(lex.ALL)
    s.combinations.append(("where", subject.name))
    place, being = pair("where", "哪里"), pair(s.is_or_was(subject.person), "在")
    return join([place, being, subject.phrase], [subject.phrase, being, place])


def is_it(s: Speaker) -> Phrase:
    """is the cat in the box -> 猫 在 盒子 里 吗."""
    subject, (preposition, place) = s.subject(lex.SOMEONE + lex.SOMETHING), s.place()
    s.combinations.append((subject.name, place.name))
    being = pair(s.is_or_was(subject.person), "在")
    chinese = [subject.phrase, being, place.phrase, preposition, more(being, "吗")]
    return join([being, subject.phrase, preposition, place.phrase], chinese)


def did_it(s: Speaker) -> Phrase:
    """did the dog chase the cat -> 狗 追 了 猫 吗; does the dog like the cat -> 狗 喜欢 猫 吗."""
    verb, agents, patients = s.one(lex.TRANSITIVES)
    subject, thing, past = s.subject(agents), s.object(patients), s.chance(0.5)
    s.combinations.append((subject.name, verb.base, thing.name))
    do, main = pair("did" if past else "does" if subject.person == "third" else "do"), pair(verb.base, verb.chinese)
    le = more(do, "了") if past and not verb.is_state else NOTHING
    return join([do, subject.phrase, main, thing.phrase], [subject.phrase, main, le, thing.phrase, more(do, "吗")])


def because(s: Speaker) -> Phrase:
    """the animal did not cross the street because it was too tired -> 动物 没有 穿过 街道 因为 动物 太 累."""
    verb, places = s.one(list(lex.HINDRANCES.items()))
    someone = s.noun(lex.ANIMALS if s.chance(0.85) else lex.PEOPLE, plain=s.chance(0.7))
    place = s.noun(tuple(lex.NOUNS[name] for name in places), plain=s.chance(0.7))
    culprit = s.one((someone, place))
    why = s.one(list(lex.OF_LIVING) if culprit is someone else places[place.name].split())
    s.combinations.append((someone.name, verb.base, place.name, why))
    return hindered(s, someone, pair(verb.base, verb.chinese), place, culprit, why)


def fit(s: Speaker) -> Phrase:
    """the trophy did not fit in the suitcase because it was too big -> 奖杯 没有 装进 箱子 因为 奖杯 太 大."""
    thing, container = s.noun(lex.SOMETHING, plain=s.chance(0.7)), s.noun(lex.CONTAINERS, plain=s.chance(0.7))
    culprit = s.one((thing, container))
    why = s.one(lex.TOO_BIG if culprit is thing else lex.TOO_SMALL)
    s.combinations.append((thing.name, "fit", container.name, why))
    return hindered(s, thing, pair("fit in", "装进"), container, culprit, why)


def hindered(s: Speaker, first: NounPhrase, verb: Phrase, second: NounPhrase, culprit: NounPhrase, why: str) -> Phrase:
    """... did not ... because it was too ...: "it" becomes the noun that it stands for; he, she and they stay pronouns."""
    past = s.chance(0.8)
    no = s.auxiliary("past not" if past else "future not", "third")
    if culprit.person == "plural":
        pronoun = pair("they", "他们")
    elif lex.NOUNS[culprit.name] in lex.PEOPLE:
        pronoun = s.word({"he": "他", "she": "她"})
    else:
        it = Word("it")
        ((chinese, nouns),) = culprit.head.target
        pronoun, s.referent = Phrase((it,), ((chinese, (*nouns, it)),)), nouns[0]
    being = pair(was(culprit.person) if past else be(culprit.person))
    degree = pair("too", "太") if s.chance(0.85) else pair("very", "非常")
    conjunction, adjective = pair("because", "因为"), pair(why, lex.ADJECTIVES[why])
    english = [first.phrase, no, verb, second.phrase, conjunction, pronoun, being, degree, adjective]
    return join(english, [first.phrase, no, verb, second.phrase, conjunction, pronoun, degree, adjective])


FRAMES: dict[Callable[[Speaker], Phrase], float] = {
    because: 20, fit: 6, posture: 12, activity: 9, transitive: 20, give: 4, put: 4, quality: 7, colour: 3, located: 3, existence: 4,
    fragment: 5, where: 2, is_it: 2, did_it: 3,
}
"""The weight of each frame."""
QUESTIONS = (where, is_it, did_it)


# --- Sentences --------------------------------------------------------------------------------------------------------
def say(rng: Random) -> Example:
    """A random sentence; half of them end in a mark."""
    s = Speaker(rng)
    frame = s.often(FRAMES)
    phrase = frame(s)
    end = NOTHING if s.chance(0.5) else pair("?", "？") if frame in QUESTIONS else pair(".", "。")
    return spell(join([phrase, end], [phrase, end]), s.referent, tuple(s.combinations))


def spell(phrase: Phrase, referent: Word | None = None, combinations: tuple[Combination, ...] = ()) -> Example:
    """A phrase as strings and positions."""
    position = {word: i for i, word in enumerate(phrase.source)}
    alignment = [tuple(sorted(position[word] for word in words)) for _, words in phrase.target]
    found = None
    if referent is not None:
        repeated = max(i for i, (_, words) in enumerate(phrase.target) if referent in words)
        found = (repeated, position[referent])
    source, target = [word.text for word in phrase.source], [word for word, _ in phrase.target]
    return Example(source, target, alignment, found, combinations)


# --- Unknown words ----------------------------------------------------------------------------------------------------
UNKNOWN = "<unk>"
_MEANING = {form: noun.chinese for noun in lex.ALL for form in (noun.english, noun.plural) if form} | lex.ADJECTIVES
_CLASSIFIERS = {noun.classifier for noun in lex.ALL}


def with_unknown_words(sentences: Iterable[Example], seed: int, often: float = 0.05) -> Iterator[Example]:
    """The same sentences, but in some of them about half of the nouns and adjectives are <unk> in both languages.

    So a translator learns to copy <unk> for a word outside its vocabulary. Its classifier is 个.
    """
    rng = Random(seed)
    for e in sentences:
        if rng.random() >= often:
            yield e
            continue
        unknown = {i for i, word in enumerate(e.source) if word in _MEANING and rng.random() < 0.5}
        source = [UNKNOWN if i in unknown else word for i, word in enumerate(e.source)]
        target = list(e.target)
        for j, places in enumerate(e.alignment):
            for i in unknown & set(places):
                if e.target[j] == _MEANING[e.source[i]]:
                    target[j] = UNKNOWN
                elif e.target[j] in _CLASSIFIERS:
                    target[j] = "个"
        yield replace(e, source=source, target=target)


# --- The held-out split -----------------------------------------------------------------------------------------------
SHOWN: frozenset[Combination] = frozenset({
    ("cat", "sit", "mat"), ("animal", "cross", "street", "tired"), ("animal", "cross", "street", "wide"),
    ("trophy", "fit", "suitcase", "big"), ("trophy", "fit", "suitcase", "small"), ("ball", "box"), ("give", "book", "her"),
    ("where", "dog"), ("I", "love", "you"),
})
"""The app's first examples are always held out: the translator never saw these words together in training."""


def is_held_out(example: Example) -> bool:
    """Whether it has a combination of content words that training never has: one in ten, chosen by its hash."""
    return any(c in SHOWN or _bucket(c) == 0 for c in example.combinations)


def _bucket(combination: Combination) -> int:
    return int.from_bytes(blake2b(" ".join(combination).encode(), digest_size=8).digest(), "big") % 10


def examples(seed: int, *, held_out: bool = False) -> Iterator[Example]:
    """An endless sequence of sentences, held out or not. The same seed gives the same sentences."""
    rng = Random(seed)
    while True:
        example = say(rng)
        if is_held_out(example) == held_out:
            yield example
