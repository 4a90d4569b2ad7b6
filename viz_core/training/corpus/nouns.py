"""Noun phrases and places: the big dog, three cups of tea, my sister's friend, on the table (大 狗 ...)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from viz_core.text.lexicon import indefinite_article
from viz_core.training.corpus import closed_class, inflection
from viz_core.training.corpus import lexicon as lex
from viz_core.training.corpus.lexicon import Adjective, Noun
from viz_core.training.corpus.noun_modifiers import FAVOURITE, draw_adjectives, genitive, possessive_determiner
from viz_core.training.corpus.phrases import NOTHING, NounPhrase, Person, Phrase, Sampler, aligned, chinese, english, join, pair
from viz_core.training.corpus.possession import PLURAL_KIN, POSSESSIONS, RELATIONAL_NOUNS, WHOLES, takes_possessive
from viz_core.training.corpus.time_expressions import approximately

Form = Callable[[Sampler, Noun], NounPhrase]
Forms = Mapping[Form, float]  # form -> weight
Sides = tuple[Sequence[Phrase], Sequence[Phrase]]
"""English pieces and, in their own order, Chinese pieces. A place is given without its 在."""
AMOUNTS = ("很多", "一些", "大多数", "更多", "这么", "这些", "那些")
UNGRADED_FLAGS = "of nopred shi ren le verb"
"""Flags of the adjectives that cannot follow 很 or 太, or that need an object."""

# --- Single nouns -----------------------------------------------------------------------------------------------------
def classifier(noun: Noun, from_: Phrase) -> Phrase:
    """Return the classifier of a noun, which Chinese needs after a number or 这."""
    return aligned(from_, noun.classifier)


def pronoun_for(s: Sampler, noun: Noun, person: Person) -> str:
    """Return it, they, he or she; drawn where the noun does not decide."""
    if person == "plural":
        return "they"
    if not noun.is_a("person"):
        return "it"
    if noun.english in closed_class.SHE:
        return "she"
    return "he" if noun.english in closed_class.HE else s.choice(("he", "she"))


def a_or_an(words: Sequence[Phrase]) -> str:
    """Return "a" or "an", whichever fits before these words."""
    return indefinite_article(next((phrase.source[0].text for phrase in words if phrase.source), ""))


def _phrase(s: Sampler, noun: Noun, source: Sequence[Phrase], target: Sequence[Phrase], head: Phrase, person: Person) -> NounPhrase:
    """Build the noun phrase of these pieces."""
    return NounPhrase(join(source, target), head, noun, person, pronoun_for(s, noun, person), name=noun.english)


def _singular(s: Sampler, noun: Noun) -> tuple[list[Phrase], Phrase, Person]:
    """Return the drawn adjectives, the noun and its grammatical person."""
    return draw_adjectives(s, noun), pair(noun.english, noun.chinese), "plural" if noun.only_plural else "third"


def _plural(s: Sampler, noun: Noun) -> tuple[list[Phrase], Phrase, Person]:
    """Return the drawn adjectives, the plural and its grammatical person."""
    return draw_adjectives(s, noun), pair(noun.plural, noun.chinese), "plural"


def the(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with "the": the red ball -> 红 球."""
    adjectives, head, person = _singular(s, noun)
    pieces = [english("the"), *adjectives, head]
    return _phrase(s, noun, pieces, pieces, head, person)


ALREADY_SEVERAL = frozenset({"爷爷奶奶", "父母", "人类", "双胞胎", "夫妇", "外国人", "亚洲人", "非洲人"})
"""Nouns that denote several persons without 们, or nationalities."""


def takes_men(noun: Noun) -> bool:
    """Whether its plural takes 们: 老师 们, but not 法国 人 们 or 爷爷奶奶 们."""
    return noun.is_a("person") and noun.chinese not in _nations() and noun.chinese not in ALREADY_SEVERAL


@cache
def _nations() -> frozenset[str]:
    """Return the nouns of nationality: 法国人."""
    return frozenset(f"{adjective.chinese}人" for adjective in lex.ADJECTIVES if "ren" in adjective.flags)


def the_plural(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the plural with "the": the children -> 孩子 们; the books -> 书."""
    adjectives, head, person = _plural(s, noun)
    many = aligned(head, "们") if takes_men(noun) else NOTHING
    pieces = [english("the"), *adjectives, head, many]
    return _phrase(s, noun, pieces, pieces, join([head], [head, many]), person)


def a(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with "a": a small dog -> 一 只 小 狗."""
    adjectives, head, person = _singular(s, noun)
    one = pair(a_or_an([*adjectives, head]), "一") if s.chance(0.94) else pair("one", "一")
    return _phrase(s, noun, [one, *adjectives, head], [one, classifier(noun, head), *adjectives, head], head, person)


def bare(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun without a determiner: water -> 水; dogs -> 狗."""
    meal = noun.english in ("breakfast", "lunch", "dinner")  # have lunch
    adjectives, head, person = _singular(s, noun) if noun.is_mass or meal else _plural(s, noun)
    pieces = [*adjectives, head]
    return _phrase(s, noun, pieces, pieces, head, person)


def this(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a demonstrative: this house -> 这 座 房子; those apples -> 那些 苹果."""
    many = bool(noun.plural) and (noun.only_plural or s.chance(0.3))
    adjectives, head, person = _plural(s, noun) if many else _singular(s, noun)
    pointer = s.pair(closed_class.SEVERAL_DEMONSTRATIVES if many else closed_class.DEMONSTRATIVES)
    between = NOTHING if many else classifier(noun, head)
    return _phrase(s, noun, [pointer, *adjectives, head], [pointer, between, *adjectives, head], head, person)


def owned(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a possessive.

    my book -> 我 的 书; her children -> 她 的 孩子 们; my favourite book -> 我 最喜欢 的 书.
    """
    once = noun.is_a("family", "building") and noun.english not in PLURAL_KIN  # hardly ever in the plural: no "my mothers"
    many = bool(noun.plural) and s.chance(0.02 if once else 0.2)
    adjectives, head, person = _plural(s, noun) if many else _singular(s, noun)
    owner = possessive_determiner(s, noun)
    favourite = not noun.is_a("being", "body", "part", "time", "quality") and s.chance(0.06)
    if favourite:
        word = pair(s.choice(FAVOURITE), "最喜欢")
        adjectives = [join([word, aligned(word, "的")])]
    said = "".join(word for phrase in adjectives for word, __ in phrase.target)
    twice = len(adjectives) == 1 and said.endswith("的") and len(said) > 2  # no second 的: my beautiful wife 我 漂亮 的 妻子
    of = NOTHING if twice else aligned(owner, "的")
    several = aligned(head, "们") if many and takes_men(noun) else NOTHING
    pieces = [owner, of, *adjectives, head, several]
    return _phrase(s, noun, pieces, pieces, join([head], [head, several]), person)


def counted(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a number.

    three books -> 三 本 书; two hundred years -> 两百 年; more than three books -> 超过 三 本 书.
    """
    adjectives, head, person = _plural(s, noun)
    number = s.pair(closed_class.FEW_NUMBERS if s.chance(0.88) else closed_class.NUMBERS)
    if s.chance(0.06):
        number = join([approximately(s, counted=True), number])
    return _phrase(s, noun, [number, *adjectives, head], [number, classifier(noun, head), *adjectives, head], head, person)


def some(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with an indefinite amount: many people -> 很多 人; a few books -> 几 本 书; too much water -> 太多 的 水."""
    number = _singular(s, noun) if noun.is_mass else _plural(s, noun)
    return _amount(s, noun, closed_class.MUCH if noun.is_mass else closed_class.MANY, *number)


def _amount(s: Sampler, noun: Noun, table: Mapping[str, str], adjectives: list[Phrase], head: Phrase, person: Person) -> NounPhrase:
    """Put an amount of `table` before a noun; the "*" of its translation is the classifier of the noun."""
    words, meaning = s.choice(list(table.items()))
    amount = pair(words, meaning.replace(" *", ""))
    counting = classifier(noun, head) if "*" in meaning else NOTHING
    return _phrase(s, noun, [amount, *adjectives, head], [amount, counting, *adjectives, head], head, person)


def every(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a universal quantifier: every student -> 每 个 学生 ... 都; all the students -> 所有 的 学生 ... 都."""
    if noun.plural and s.chance(0.6):
        whole = _amount(s, noun, closed_class.ALL_OF, *_plural(s, noun))
        return replace(whole, takes_dou=whole.phrase.source[0].text != "most")
    adjectives, head, __ = _singular(s, noun)
    each = s.pair({"every": "每", "each": "每"})
    pieces = [each, classifier(noun, head), *adjectives, head]
    return replace(_phrase(s, noun, [each, *adjectives, head], pieces, head, "third"), takes_dou=True)


def some_of(s: Sampler, noun: Noun) -> NounPhrase:
    """Return a part of a group.

    one of my friends -> 我 的 一 个 朋友; some of the books -> 一些 书; all of my friends -> 我 的 所有 的 朋友 都.
    """
    words = s.weighted(closed_class.PARTS)
    if words == "one of" and s.chance(0.2):  # a friend of mine
        (own, zh), head = s.choice(list(closed_class.OWN.items())), pair(noun.english, noun.chinese)
        one, of = pair(a_or_an([head]), "一"), pair(f"of {own}", zh)
        return _phrase(s, noun, [one, head, of], [of, aligned(of, "的"), one, classifier(noun, head), head], head, "third")
    return replace(_part_of(s, noun, words, closed_class.PART_OF[words]), takes_dou=words in ("all of", "both of"))


def none_of(s: Sampler, noun: Noun) -> NounPhrase:
    """Return none of a group: none of my friends (knows it) -> 我 的 朋友 都 不 ...

    It is a subject only, since it negates the verb.
    """
    words = s.choice(("none of", "none of", "neither of"))
    whole = _part_of(s, noun, words, "两 *" if words == "neither of" else "")
    return replace(whole, takes_dou=True, negator=Phrase(whole.phrase.source[:2]))


def _part_of(s: Sampler, noun: Noun, words: str, zh: str) -> NounPhrase:
    """Build "`words` the nouns" or "`words` my nouns"."""
    adjectives, head, __ = _plural(s, noun)
    mine = possessive_determiner(s, noun) if s.chance(0.6) else NOTHING
    if mine and words in ("all of", "both of") and s.chance(0.5):
        words = words.removesuffix(" of")  # all my friends
    part = pair(words, zh.replace(" *", ""))
    between = classifier(noun, head) if "*" in zh else NOTHING
    source = [part, mine or english("the"), *adjectives, head]
    target = [
        mine,
        aligned(mine, "的") if mine and not zh.startswith(("所有", "一半")) else NOTHING,
        part,
        between,
        *adjectives,
        head,
    ]
    return _phrase(s, noun, source, target, head, "third" if words in ("one of", "neither of") else "plural")


def measured(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a measure: a cup of tea -> 一 杯 茶; two pairs of shoes -> 两 双 鞋."""
    choices = [(word, zh) for word, (zh, what) in closed_class.MEASURES.items() if noun in lex.nouns(what)]
    word, zh = s.choice(choices)
    many = s.chance(0.35)
    adjectives, head, __ = _singular(s, noun) if noun.is_mass else _plural(s, noun)
    number = s.pair(closed_class.FEW_NUMBERS) if many else pair("a", "一")
    unit = pair(inflection.plural(word) if many else word, zh)
    of = english("of")
    person: Person = "plural" if many else "third"
    return _phrase(s, noun, [number, unit, of, *adjectives, head], [number, unit, *adjectives, head], head, person)


def superlative(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a superlative: the biggest city -> 最 大 的 城市; my best friend -> 我 最 好 的 朋友."""
    most = superlative_phrase(s.entry(_superlatives(noun)))
    head = pair(noun.english, noun.chinese)
    if s.chance(0.3):
        mine = possessive_determiner(s, noun)
        return _phrase(s, noun, [mine, most, head], [mine, most, aligned(most, "的"), head], head, "third")
    return _phrase(s, noun, [english("the"), most, head], [most, aligned(most, "的"), head], head, "third")


def _superlatives(noun: Noun) -> list[Adjective]:
    """Return the adjectives that can precede a noun in the superlative."""
    return [a for a in lex.adjectives_of(noun) if a.superlative and a.flags.isdisjoint({"shi", "nopred", "noattr", "le"})]


def ordinal(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with an ordinal or a position.

    the second book -> 第二 本 书; the last day -> 最后 一 天; another cup -> 另一 个 杯子; the other hand -> 另一 只 手.
    """
    adjectives, head, person = _singular(s, noun)
    words, meaning = s.choice(list(closed_class.ORDINALS.items())) if s.chance(0.25) else s.weighted(closed_class.POSITIONS)
    number = pair(words, meaning)
    between = NOTHING if meaning.endswith("的") else classifier(noun, head)
    return _phrase(s, noun, [number, *adjectives, head], [number, between, *adjectives, head], head, person)


def comparative_phrase(adjective: Adjective) -> Phrase:
    """Return the comparative of an adjective: bigger -> 更 大; more careful -> 更 小心."""
    return _degree(adjective, adjective.comparative, "more", "更")


def superlative_phrase(adjective: Adjective) -> Phrase:
    """Return the superlative of an adjective: biggest -> 最 大; most careful -> 最 小心."""
    return _degree(adjective, adjective.superlative, "most", "最")


def _degree(adjective: Adjective, form: str, word: str, zh: str) -> Phrase:
    """Build a comparative or a superlative."""
    if form == word:
        return join([pair(word, zh), pair(adjective.english, adjective.chinese)])
    return pair(form, f"{zh} {compared_chinese(adjective)}")


def compared_chinese(adjective: Adjective) -> str:
    """Return the Chinese of an adjective in a comparison: nice 不错, but nicer 更 好."""
    return "好" if adjective.chinese == "不错" else adjective.chinese


# --- Nested phrases ---------------------------------------------------------------------------------------------------
def possessive(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a genitive.

    my sister's friend -> 我 姐姐 的 朋友; the boy's red ball -> 男孩 的 红 球; John's mother -> John 的 妈妈.
    """
    if s.chance(0.3):
        owner = proper_name(s)
    else:
        owner = short_phrase(s, "person" if s.chance(0.9) else "pet", (the, the, owned, owned, owned, the_plural))
    many = bool(noun.plural) and s.chance(0.2)
    adjectives, head, person = _plural(s, noun) if many else _singular(s, noun)
    of = genitive(owner)
    pieces = [owner.phrase, of, *adjectives, head]
    return _phrase(s, noun, pieces, pieces, head, person)


def of_phrase(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with "of" and the whole that it belongs to.

    the door of the house -> 房子 的 门; the capital of France -> 法国 的 首都.
    """
    whole = short_phrase(s, next(wanted for kind, wanted in WHOLES.items() if noun.is_a(kind)), (the, owned, this))
    adjectives, head, person = _singular(s, noun)
    part = [*adjectives, head]
    source = [english("the"), *part, english("of"), whole.phrase]
    return _phrase(s, noun, source, [whole.phrase, chinese("的"), *part], head, person)


def with_part(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with "with" and what it has.

    a house with a red door -> 一 座 有 红 门 的 房子; the girl with long hair -> 有 长 头发 的 女孩.
    """
    first = in_form(s, noun, (the, a))
    had = short_phrase(s, next((wanted for kind, wanted in POSSESSIONS.items() if noun.is_a(kind)), "part"), (a, bare))
    with_ = pair("with", _has(noun, had.noun))
    return modify_after_number(first, [with_, had.phrase], [with_, _without_one(had), aligned(with_, "的")])


def _has(noun: Noun, had: Noun | None) -> str:
    """Return the Chinese of "with" for a hat, trousers, milk or long hair: 戴, 穿, 加, 有."""
    if had is not None and noun.is_a("person"):
        return "戴" if had.is_a("worn") else "穿" if had.is_a("clothes") else "有"
    return "加" if noun.is_a("food", "drink") else "有"


def _without_one(had: NounPhrase) -> Phrase:
    """Drop the 一 and the classifier of what a thing has: a red door -> 红 门."""
    links = had.phrase.target
    counted = had.noun is not None and links[0][0] == "一" and links[1][0] == had.noun.classifier
    return Phrase(had.phrase.source, links[2:]) if counted else had.phrase


def located(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with a place: the ball in the box -> 盒子 里 的 球; the shop near the station -> 车站 附近 的 商店."""
    first = in_form(s, noun, (the, the, a, the_plural))
    source, target = place(s, located_kind(noun))
    return modify_before_number(first, source, [*target, chinese("的")])  # a ball in the box: 盒子 里 的 一 个 球


def with_complement(s: Sampler, noun: Noun) -> NounPhrase:
    """Return the noun with "about", "from" or "for".

    a book about animals -> 一 本 关于 动物 的 书; a letter from London; a present for my mother.
    """
    first = in_form(s, noun, (the, a))
    if noun.is_a("reading", "speech", "show", "idea") and s.chance(0.8):
        other, word = short_phrase(s, "animal person country subject idea nature food", (bare, the, owned)), pair("about", "关于")
    elif noun.is_a("being") or s.chance(0.5):
        other, word = short_phrase(s, "country city", (bare,)), pair("from", "来自")
    else:
        other, word = short_phrase(s, "person", (the, owned)), pair("for", "给")
    return modify_after_number(first, [word, other.phrase], [word, other.phrase, aligned(word, "的")])


def modify_before_number(first: NounPhrase, source: Sequence[Phrase], target: Sequence[Phrase]) -> NounPhrase:
    """Put an English postmodifier before the whole Chinese noun phrase, its number included: 桌子 上 的 一 本 书."""
    own, rest = Phrase(first.phrase.source), Phrase((), first.phrase.target)
    return first.with_phrase(join([own, *source], [*target, rest]))


def modify_after_number(first: NounPhrase, source: Sequence[Phrase], target: Sequence[Phrase]) -> NounPhrase:
    """Put an English postmodifier before the Chinese noun, after its number and classifier."""
    links = first.phrase.target
    lead = int(bool(links) and links[0][0] in AMOUNTS)  # 很多, 一 只 and 这 个 precede the modifier
    lead += lead and len(links) > 1 and links[1][0] == "的"  # 更多 的
    if first.noun is not None and first.noun.classifier:
        for i, (word, __) in enumerate(links[:3]):
            if word == first.noun.classifier:
                lead = i + 1
    head, rest = Phrase((), links[:lead]), Phrase((), links[lead:])
    own = Phrase(first.phrase.source, ())
    return first.with_phrase(join([own, *source], [head, *target, rest]))


# --- Places -----------------------------------------------------------------------------------------------------------
def located_kind(noun: Noun | None) -> str:
    """Return the key of `PLACES` for things of this kind: person, place or thing."""
    if noun is None or noun.is_a("being"):
        return "person"
    return "place" if noun.is_a("building", "place") else "thing"


def place(s: Sampler, of: str = "") -> Sides:
    """Draw a place without its 在: on the table -> 桌子 上; at school -> 学校; in China -> 中国; between A and B.

    of: the verb that is done there, or person, thing or place for who or what is there.
    """
    kind = s.weighted({"row": 85, "name": 7 if of not in ("put", "thing") else 0, "between": 1, "other": 3})
    if kind == "name":
        return _in(proper_name(s))
    if kind == "between":
        one, two = (short_phrase(s, "furniture building way", (the,)) for __ in range(2))
        word, and_ = pair("between", "之间"), pair("and", "和")
        return [word, one.phrase, and_, two.phrase], [one.phrase, and_, two.phrase, word]
    if kind == "other":
        word = s.pair(closed_class.PREPOSITIONS)
        where = short_phrase(s, "furniture building", (the, the, owned, this))
        return [word, where.phrase], [where.phrase, word]
    preposition, wanted = s.choice(lex.PLACES.get(of) or lex.PLACES[s.choice(("person", "person", "thing", "place"))])
    return _placed(s, preposition, s.entry(lex.nouns(wanted)))


def _placed(s: Sampler, preposition: str, noun: Noun) -> Sides:
    """Return a preposition with a noun: on the table -> 桌子 上; at the station -> 车站; in the street -> 街道 上."""
    if preposition == "at":
        where = bare_singular(noun) if noun.english in closed_class.WITHOUT_ARTICLE else the(s, noun)
        return [english("at"), where.phrase], [where.phrase]
    where = in_form(s, noun, (the, the, the, the, owned, a, this))
    if preposition == "in" and noun.is_a("country", "city"):
        return _in(where)
    on = preposition == "on" or noun.english in closed_class.ALWAYS_ON
    zh = "里" if preposition == "in" else closed_class.PREPOSITIONS.get(preposition, "上")
    word = pair(preposition, "上" if on and preposition in ("in", "on") else zh)
    return [word, where.phrase], [where.phrase, word]


def _in(where: NounPhrase) -> Sides:
    """Return "in" with a country or a name: in China -> 中国, without 里."""
    return [english("in"), where.phrase], [where.phrase]


def bare_singular(noun: Noun) -> NounPhrase:
    """Return the singular without an article: school -> 学校."""
    head = pair(noun.english, noun.chinese)
    return NounPhrase(head, head, noun, name=noun.english)


# --- Drawing ----------------------------------------------------------------------------------------------------------
def proper_name(s: Sampler) -> NounPhrase:
    """Return a new slot for a name or an unknown word, which is copied to the target."""
    slot = s.new_slot()
    word = pair(slot, slot)
    return NounPhrase(word, word, None, pronoun=s.choice(("he", "she")), name=slot)


def _is_compatible(form: Form, noun: Noun) -> bool:
    """Whether a noun can take a form: no "two waters", no "a China"."""
    if noun.is_a("country", "city", "language", "month", "weekday", "subject") and noun.is_mass:
        return form is bare
    if noun.only_plural:
        return form in (the, bare, owned, possessive, located)
    if noun.is_mass:
        return form in (the, bare, owned, some, measured, possessive, located, of_phrase, with_complement, with_part)
    return True


DEFAULT_FORMS: Forms = {
    the: 30, a: 24, owned: 24, bare: 9, the_plural: 7, this: 7, counted: 5, some: 7, every: 2, measured: 3, superlative: 1.5,
    ordinal: 2, possessive: 4, some_of: 1.2, of_phrase: 2, located: 1.5, with_part: 0.7, with_complement: 1,
}
NESTED_FORMS = (possessive, of_phrase, located, with_part, with_complement)
_KIN_FORMS = (owned, possessive, a, counted, some_of)
UNUSUAL_SHARE = 0.08
"""The share of unusual forms that are used all the same: my thief, a mother."""


def _is_idiomatic(s: Sampler, form: Form, noun: Noun) -> bool:
    """Whether a noun commonly takes a form: my mother but not "this mother", the thief but not "my thief".

    A small share of the draws allows any form.
    """
    if s.chance(UNUSUAL_SHARE):
        return True
    if noun.is_a("family") and noun.english not in ("parents", "grandparents", "child", "kid", "baby"):
        return form in _KIN_FORMS if noun.english in PLURAL_KIN else form in (owned, possessive)
    if form is not owned:
        return form is not superlative or not noun.is_a("person") or noun.english in RELATIONAL_NOUNS
    return takes_possessive(noun)


def in_form(s: Sampler, noun: Noun, forms: Sequence[Form]) -> NounPhrase:
    """Return a noun in one of these forms, or in a fallback form that it can take."""
    possible = [form for form in forms if _is_compatible(form, noun)] or [bare if noun.is_mass or noun.only_plural else the]
    return s.choice([form for form in possible if _is_idiomatic(s, form, noun)] or possible)(s, noun)


def short_phrase(s: Sampler, selector: str, forms: Sequence[Form] = (the, a, owned)) -> NounPhrase:
    """Draw a short noun phrase to stand inside another phrase. selector: as in the tables."""
    return in_form(s, s.entry(lex.nouns(selector)), forms)


def _possible(s: Sampler, form: Form, noun: Noun) -> bool:
    """Whether a form is compatible with the noun, has the words that it needs, and is not nested too deep."""
    if not _is_compatible(form, noun) or (form in NESTED_FORMS and not s.can_nest()):
        return False
    if form is measured:
        return any(noun in lex.nouns(what) for __, what in closed_class.MEASURES.values())
    if form is with_part:
        return noun.is_a(*POSSESSIONS)
    if form is of_phrase:
        return noun.is_a(*WHOLES)
    return form is not superlative or bool(_superlatives(noun))


def two_things(s: Sampler, noun: Noun, choices: Sequence[Noun]) -> NounPhrase:
    """Return two coordinated nouns.

    apples and bananas -> 苹果 和 香蕉; a dog and two cats -> 一 只 狗 和 两 只 猫; tea or coffee -> 茶 或者 咖啡.
    """
    s.depth -= 1
    others = [n for n in (s.entry(choices) for __ in range(6)) if n is not noun and not n.classes.isdisjoint(noun.classes)]
    forms: Sequence[Form] = s.choice(((bare,), (the,), (a,), (owned,), (counted, a)))
    one = in_form(s, noun, forms)
    if not others:
        return one
    two = in_form(s, others[0], forms)
    and_ = pair("and", "和") if s.chance(0.85) else pair("or", "或者")
    both = join([one.phrase, and_, two.phrase])
    return NounPhrase(both, one.head, noun, "plural", "they", name=noun.english)


def noun_phrase(s: Sampler, choices: Sequence[Noun], forms: Forms = DEFAULT_FORMS) -> NounPhrase:
    """Draw a noun phrase of one of these nouns, in any form that is compatible with it."""
    noun = s.entry(choices)
    if forms is DEFAULT_FORMS and s.can_nest() and s.chance(0.06):
        return two_things(s, noun, choices)
    for __ in range(8):
        form = s.weighted(forms)
        if _possible(s, form, noun) and _is_idiomatic(s, form, noun):
            s.depth -= form in NESTED_FORMS
            return form(s, noun)
    return in_form(s, noun, [form for form in forms if form not in NESTED_FORMS and _possible(s, form, noun)] or (the,))
