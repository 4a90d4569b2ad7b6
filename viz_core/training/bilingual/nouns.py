"""Noun phrases: the big dog, three cups of tea, my sister's friend, everybody, the man who lives next door (大 狗 ...)."""

from collections.abc import Callable, Sequence

from viz_core.training.bilingual import lexicon as lex
from viz_core.training.bilingual.lexicon import Adjective, Noun
from viz_core.training.bilingual.phrases import NOTHING, NounPhrase, Person, Phrase, Speaker, chinese, english, join, more, pair

# --- Small words ------------------------------------------------------------------------------------------------------
SUBJECTS = {"I": "我", "you": "你", "he": "他", "she": "她", "it": "它", "we": "我们", "they": "他们"}
OBJECTS = {"me": "我", "you": "你", "him": "他", "her": "她", "it": "它", "us": "我们", "them": "他们"}
OWNERS = {"my": "我", "your": "你", "his": "他", "her": "她", "its": "它", "our": "我们", "their": "他们"}
OWN = {"mine": "我", "yours": "你", "his": "他", "hers": "她", "ours": "我们", "theirs": "他们"}
NUMBERS = {
    "two": "两", "three": "三", "four": "四", "five": "五", "six": "六", "seven": "七", "eight": "八", "nine": "九", "ten": "十",
    "eleven": "十一", "twelve": "十二", "thirteen": "十三", "fourteen": "十四", "fifteen": "十五", "sixteen": "十六",
    "seventeen": "十七", "eighteen": "十八", "nineteen": "十九", "twenty": "二十", "thirty": "三十", "forty": "四十",
    "fifty": "五十", "sixty": "六十", "seventy": "七十", "eighty": "八十", "ninety": "九十", "a hundred": "一百",
    "one hundred": "一百", "two hundred": "两百", "three hundred": "三百", "five hundred": "五百", "a thousand": "一千",
    "one thousand": "一千", "two thousand": "两千", "ten thousand": "一万", "a million": "一百万", "twenty-one": "二十一",
    "twenty-two": "二十二", "twenty-four": "二十四", "twenty-five": "二十五", "thirty-five": "三十五",
}
FEW_NUMBERS = dict(list(NUMBERS.items())[:9])
ORDINALS = {"first": "第一", "second": "第二", "third": "第三", "fourth": "第四", "fifth": "第五", "sixth": "第六", "seventh": "第七",
            "eighth": "第八", "ninth": "第九", "tenth": "第十"}
# quantifiers before a plural or a mass: English -> Chinese; "+的" and "*" say that 的 or the classifier follows
MANY = {"many": "很多", "a lot of": "很多", "lots of": "很多", "some": "一些", "a few": "几 *", "several": "几 *", "few": "很少 的",
        "enough": "足够 的", "most": "大多数", "more": "更多 的", "too many": "太多 的", "so many": "这么 多", "different": "不同 的"}
MUCH = {"much": "很多", "a lot of": "很多", "lots of": "很多", "some": "一些", "a little": "一点", "enough": "足够 的",
        "little": "很少 的", "more": "更多 的", "too much": "太多 的", "so much": "这么 多", "less": "更少 的"}
ANYBODY = {"anyone": "任何 人", "anybody": "任何 人"}  # in a question or a negation
ANYTHING = {"anything": "任何 东西"}
SOMEBODY = {"everybody": "大家", "everyone": "大家", "somebody": "有人", "someone": "有人", "all of us": "我们 大家",
            "both of them": "他们 两个", "both of us": "我们 两个", "one of them": "他们 中 的 一个", "most people": "大多数 人",
            "many people": "很多 人", "some people": "有些 人", "other people": "别人", "people": "人们", "everyone else": "其他人"}
NOBODY = {"nobody": "没有 人", "no one": "没有 人"}
SOMETHING = {"something": "一些 东西", "everything": "一切"}
MEASURES = {  # what a mass or several things are measured in: English, Chinese, and of what
    "cup": ("杯", "drink"), "glass": ("杯", "drink"), "bottle": ("瓶", "drink 'oil'"), "bowl": ("碗", "'soup' 'rice' 'noodles'"),
    "piece": ("块", "'cake' 'bread' 'chocolate' 'meat' 'cheese' 'wood' 'glass'"), "slice": ("片", "'bread' 'cheese' 'meat'"),
    "kilo": ("公斤", "food fruit vegetable"), "bag": ("袋", "fruit vegetable 'rice' 'sugar' 'flour'"), "box": ("盒", "'chocolate' toy"),
    "pair": ("双", "'shoe' 'sock' 'glove' 'boot'"), "group": ("群", "person animal"), "packet": ("包", "'tea' 'sugar' 'biscuit'"),
}
PLACES_AT = ("school", "station", "airport", "university", "hotel", "hospital", "supermarket", "bus stop", "party", "museum")


# --- One noun ---------------------------------------------------------------------------------------------------------
def classifier(noun: Noun, from_: Phrase) -> Phrase:
    """The measure word of a noun, which Chinese needs behind a number or 这."""
    return more(from_, noun.classifier)


def pronoun_of(s: Speaker, noun: Noun, person: Person) -> str:
    if person == "plural":
        return "they"
    if not noun.is_a("person"):
        return "it"
    if noun.english in _SHE:
        return "she"
    return "he" if noun.english in _HE else s.one(("he", "she"))


_SHE = frozenset(
    "woman girl mother mum mom aunt grandmother grandma queen sister daughter wife lady waitress princess girlfriend actress niece "
    "granddaughter nurse".split()
)
_HE = frozenset(
    "man boy father dad uncle grandfather grandpa king brother son husband gentleman waiter prince boyfriend actor nephew "
    "grandson guy policeman fireman postman".split()
)


def described(s: Speaker, noun: Noun, often: float = 0.22) -> list[Phrase]:
    """None, one or two adjectives, each with its 的 where it needs one."""
    choices = [a for a in lex.adjectives_of(noun) if "noattr" not in a.flags]
    if not choices or not s.chance(often):
        return []
    return [attribute(s, s.one(choices)) for __ in range(1 + s.chance(0.12))]


def attribute(s: Speaker, adjective: Adjective) -> Phrase:
    """big -> 大; careful -> 小心 的; very big -> 非常 大 的."""
    base = pair(adjective.english, adjective.chinese)
    if adjective.flags.isdisjoint({"shi", "le", "verb", "nopred"}) and s.chance(0.06):
        very = pair("very", "非常")
        return join([very, base, more(base, "的")])
    return base if "tight" in adjective.flags else join([base, more(base, "的")])


def an(words: Sequence[Phrase]) -> str:
    """a or an before these words."""
    first = next((phrase.source[0].text for phrase in words if phrase.source), "x")
    return "an" if first[0] in "aeiouAEIOU" and not first.startswith(("uni", "use", "one", "eu")) or first.startswith("hour") else "a"


Form = Callable[[Speaker, Noun], NounPhrase]


def _phrase(s: Speaker, noun: Noun, source: Sequence[Phrase], target: Sequence[Phrase], head: Phrase, person: Person,
            **more_facts: bool) -> NounPhrase:
    phrase = join(source, target)
    return NounPhrase(phrase, head, noun, person, pronoun_of(s, noun, person), name=noun.english, **more_facts)


def _singular(s: Speaker, noun: Noun) -> tuple[list[Phrase], Phrase, Person]:
    return described(s, noun), pair(noun.english, noun.chinese), "plural" if noun.only_plural else "third"


def _plural(s: Speaker, noun: Noun) -> tuple[list[Phrase], Phrase, Person]:
    return described(s, noun), pair(noun.plural, noun.chinese), "plural"


def the(s: Speaker, noun: Noun) -> NounPhrase:
    """the red ball -> 红 球."""
    adjectives, head, person = _singular(s, noun)
    pieces = [english("the"), *adjectives, head]
    return _phrase(s, noun, pieces, pieces, head, person)


def the_plural(s: Speaker, noun: Noun) -> NounPhrase:
    """the children -> 孩子 们; the books -> 书."""
    adjectives, head, person = _plural(s, noun)
    many = more(head, "们") if noun.is_a("person") else NOTHING
    pieces = [english("the"), *adjectives, head, many]
    return _phrase(s, noun, pieces, pieces, join([head], [head, many]), person)


def a(s: Speaker, noun: Noun) -> NounPhrase:
    """a small dog -> 一 只 小 狗."""
    adjectives, head, person = _singular(s, noun)
    one = pair(an([*adjectives, head]), "一") if s.chance(0.94) else pair("one", "一")
    return _phrase(s, noun, [one, *adjectives, head], [one, classifier(noun, head), *adjectives, head], head, person)


def bare(s: Speaker, noun: Noun) -> NounPhrase:
    """water -> 水; dogs -> 狗."""
    adjectives, head, person = _singular(s, noun) if noun.is_mass else _plural(s, noun)
    pieces = [*adjectives, head]
    return _phrase(s, noun, pieces, pieces, head, person)


def this(s: Speaker, noun: Noun) -> NounPhrase:
    """this house -> 这 座 房子; those apples -> 那些 苹果."""
    many = bool(noun.plural) and (noun.only_plural or s.chance(0.3))
    adjectives, head, person = _plural(s, noun) if many else _singular(s, noun)
    pointer = s.word({"these": "这些", "those": "那些"} if many else {"this": "这", "that": "那"})
    between = NOTHING if many else classifier(noun, head)
    return _phrase(s, noun, [pointer, *adjectives, head], [pointer, between, *adjectives, head], head, person)


def owned(s: Speaker, noun: Noun) -> NounPhrase:
    """my book -> 我 的 书; my mother -> 我 妈妈; her children -> 她 的 孩子 们."""
    many = bool(noun.plural) and s.chance(0.25)
    adjectives, head, person = _plural(s, noun) if many else _singular(s, noun)
    owner = s.word(OWNERS)
    close = noun.is_a("family") and not adjectives and not many
    of = NOTHING if close else more(owner, "的")
    several = more(head, "们") if many and noun.is_a("person") else NOTHING
    pieces = [owner, of, *adjectives, head, several]
    return _phrase(s, noun, pieces, pieces, join([head], [head, several]), person)


def counted(s: Speaker, noun: Noun) -> NounPhrase:
    """three books -> 三 本 书; two hundred years -> 两百 年."""
    adjectives, head, person = _plural(s, noun)
    number = s.word(FEW_NUMBERS if s.chance(0.7) else NUMBERS)
    return _phrase(s, noun, [number, *adjectives, head], [number, classifier(noun, head), *adjectives, head], head, person)


def some(s: Speaker, noun: Noun) -> NounPhrase:
    """many people -> 很多 人; a few books -> 几 本 书; too much water -> 太多 的 水."""
    adjectives, head, person = _singular(s, noun) if noun.is_mass else _plural(s, noun)
    words, meaning = s.one(list((MUCH if noun.is_mass else MANY).items()))
    amount = pair(words, meaning.replace(" *", ""))
    counting = classifier(noun, head) if "*" in meaning else NOTHING
    return _phrase(s, noun, [amount, *adjectives, head], [amount, counting, *adjectives, head], head, person)


def every(s: Speaker, noun: Noun) -> NounPhrase:
    """every student -> 每 个 学生 ... 都; all the students -> 所有 的 学生 ... 都."""
    if noun.plural and s.chance(0.6):
        adjectives, head, person = _plural(s, noun)
        words, meaning = s.one((("all the", "所有 的"), ("all", "所有 的"), ("both", "两 *"), ("most of the", "大多数")))
        amount = pair(words, meaning.replace(" *", ""))
        counting = classifier(noun, head) if "*" in meaning else NOTHING
        return _phrase(s, noun, [amount, *adjectives, head], [amount, counting, *adjectives, head], head, person, all=True)
    adjectives, head, person = _singular(s, noun)
    each = s.word({"every": "每", "each": "每"})
    return _phrase(s, noun, [each, *adjectives, head], [each, classifier(noun, head), *adjectives, head], head, "third", all=True)


def measured(s: Speaker, noun: Noun) -> NounPhrase:
    """a cup of tea -> 一 杯 茶; two pairs of shoes -> 两 双 鞋."""
    choices = [(word, zh) for word, (zh, what) in MEASURES.items() if noun in lex.nouns(what)]
    word, zh = s.one(choices)
    many = s.chance(0.35)
    adjectives, head, __ = _singular(s, noun) if noun.is_mass else _plural(s, noun)
    number = s.word(FEW_NUMBERS) if many else pair("a", "一")
    unit = pair(lex.inflection.plural(word) if many else word, zh)
    of = english("of")
    person: Person = "plural" if many else "third"
    return _phrase(s, noun, [number, unit, of, *adjectives, head], [number, unit, *adjectives, head], head, person)


def superlative(s: Speaker, noun: Noun) -> NounPhrase:
    """the biggest city -> 最 大 的 城市; the most beautiful girl -> 最 漂亮 的 女孩."""
    adjective = s.one([x for x in lex.adjectives_of(noun) if x.superlative and x.flags.isdisjoint({"shi", "nopred", "noattr", "le"})])
    head = pair(noun.english, noun.chinese)
    most = _degree(adjective, adjective.superlative, "most", "最")
    return _phrase(s, noun, [english("the"), most, head], [most, more(most, "的"), head], head, "third")


def ordinal(s: Speaker, noun: Noun) -> NounPhrase:
    """the second book -> 第二 本 书; the last day -> 最后 一 天; another cup -> 另一 个 杯子; the other hand -> 另一 只 手."""
    adjectives, head, person = _singular(s, noun)
    which = s.word({f"the {en}": zh for en, zh in ORDINALS.items()}) if s.chance(0.25) else None
    which = (" ".join(w.text for w in which.source), which.target[0][0]) if which else s.often({("the first", "第一"): 4, ("the second", "第二"): 2, ("the third", "第三"): 1, ("the last", "最后 一"): 3,
                     ("another", "另一"): 4, ("the other", "另一"): 2, ("the next", "下一"): 2, ("the only", "唯一 的"): 1,
                     ("the same", "同一"): 2})
    number = pair(*which)
    between = NOTHING if which[1].endswith("的") else classifier(noun, head)
    return _phrase(s, noun, [number, *adjectives, head], [number, between, *adjectives, head], head, person)


def _degree(adjective: Adjective, form: str, word: str, zh: str) -> Phrase:
    """bigger -> 更 大; more careful -> 更 小心; the same with most and 最."""
    if form == word:
        return join([pair(word, zh), pair(adjective.english, adjective.chinese)])
    inflected = pair(form)
    return Phrase(inflected.source, tuple((part, inflected.source) for part in f"{zh} {adjective.chinese}".split()))


def compared(adjective: Adjective) -> Phrase:
    """bigger -> 更 大; more careful -> 更 小心."""
    return _degree(adjective, adjective.comparative, "more", "更")


# --- Phrases inside a phrase ------------------------------------------------------------------------------------------
def possessive(s: Speaker, noun: Noun) -> NounPhrase:
    """my sister's friend -> 我 姐姐 的 朋友; the boy's red ball -> 男孩 的 红 球; John's mother -> John 的 妈妈."""
    owner = name(s) if s.chance(0.3) else inner(s, "person animal", (the, owned))
    many = bool(noun.plural) and s.chance(0.2)
    adjectives, head, person = _plural(s, noun) if many else _singular(s, noun)
    of = pair("'s", "的")
    pieces = [owner.phrase, of, *adjectives, head]
    return _phrase(s, noun, pieces, pieces, head, person)


def of_phrase(s: Speaker, noun: Noun) -> NounPhrase:
    """the door of the house -> 房子 的 门; the capital of France -> 法国 的 首都."""
    whole = inner(s, _WHOLES[next(c for c in _WHOLES if noun.is_a(c))], (the, owned, this))
    adjectives, head, person = _singular(s, noun)
    described_ = [*adjectives, head]
    source = [english("the"), *described_, english("of"), whole.phrase]
    return _phrase(s, noun, source, [whole.phrase, chinese("的"), *described_], head, person)


_WHOLES = {"part": "furniture building room vehicle city animal", "quality": "person building city thing", "price": "thing food clothes",
           "group": "city country", "idea": "person group", "body": "animal", "room": "building", "speech": "person reading",
           "job": "group city country", "family": "person"}


def with_thing(s: Speaker, noun: Noun) -> NounPhrase:
    """a house with a red door -> 一 座 有 红 门 的 房子; the girl with long hair -> 有 长 头发 的 女孩."""
    first = inner_form(s, noun, (the, a))
    had = inner(s, _HAD.get(next((c for c in _HAD if noun.is_a(c)), ""), "part"), (a, bare))
    with_ = pair("with", "有")
    return before(first, [with_, had.phrase], [with_, had.phrase, more(with_, "的")])


_HAD = {"person": "clothes worn 'hair' 'eye' pet", "building": "room 'garden' 'door' 'window' 'roof'", "room": "furniture 'window'",
        "animal": "'tail' 'ear' 'leg' 'nose'", "furniture": "'leg' 'drawer'", "clothes": "'pocket' 'button'", "city": "building place",
        "drink": "'milk' 'sugar' 'ice'", "food": "'egg' 'cheese' 'meat'"}


def located(s: Speaker, noun: Noun) -> NounPhrase:
    """the ball in the box -> 盒子 里 的 球; the shop near the station -> 车站 附近 的 商店."""
    first = inner_form(s, noun, (the, the, a, the_plural))
    source, target = place(s)
    return before(first, source, [*target, chinese("的")])


def about(s: Speaker, noun: Noun) -> NounPhrase:
    """a book about animals -> 一 本 关于 动物 的 书; a letter from London; a present for my mother."""
    first = inner_form(s, noun, (the, a))
    if s.chance(0.4):
        topic, word = inner(s, "animal person country subject idea nature food", (bare, the, owned)), pair("about", "关于")
        return before(first, [word, topic.phrase], [word, topic.phrase, more(word, "的")])
    if s.chance(0.5):
        where, word = inner(s, "country city", (bare,)), pair("from", "来自")
        return before(first, [word, where.phrase], [word, where.phrase, more(word, "的")])
    whom, word = inner(s, "person", (the, owned)), pair("for", "给")
    return before(first, [word, whom.phrase], [word, whom.phrase, more(word, "的")])


def before(first: NounPhrase, source: Sequence[Phrase], target: Sequence[Phrase]) -> NounPhrase:
    """What English says behind a noun stands in Chinese before it, but behind its number and classifier."""
    links = first.phrase.target
    lead = 0  # 一 只, 这 个: before the modifier
    if first.noun is not None and first.noun.classifier:
        for i, (word, __) in enumerate(links[:3]):
            if word == first.noun.classifier:
                lead = i + 1
    head, rest = Phrase((), links[:lead]), Phrase((), links[lead:])
    own = Phrase(first.phrase.source, ())
    return first.with_phrase(join([own, *source], [head, *target, rest]))


# --- Places -----------------------------------------------------------------------------------------------------------
PREPOSITIONS = {
    "under": "下面", "behind": "后面", "near": "附近", "beside": "旁边", "next to": "旁边", "in front of": "前面", "above": "上面",
    "outside": "外面", "inside": "里面", "opposite": "对面", "across from": "对面", "around": "周围", "by": "旁边", "below": "下面",
    "at the end of": "尽头", "in the middle of": "中间", "on top of": "上面", "close to": "附近",
}
SURFACES, INSIDES = "surface furniture way 'island' 'farm'", "container room building 'park' 'garden' 'forest' 'city' 'village' 'town' 'river' 'lake'"


def place(s: Speaker, wanted: str = "") -> tuple[list[Phrase], list[Phrase]]:
    """A place without its 在: on the table -> 桌子 上; at school -> 学校; in China -> 中国; between A and B."""
    kind = s.often({"in": 30, "on": 22, "at": 12, "other": 16, "country": 8, "between": 2, "name": 5})
    if kind == "name":
        where, word = name(s), english("in")
        return [word, where.phrase], [where.phrase]
    if kind == "country":
        where, word = inner(s, "country city", (bare,)), english("in")
        return [word, where.phrase], [where.phrase]
    if kind == "between":
        one, two = (inner(s, "furniture building way", (the,)) for __ in range(2))
        word, and_ = pair("between", "之间"), pair("and", "和")
        return [word, one.phrase, and_, two.phrase], [one.phrase, and_, two.phrase, word]
    if kind == "at":
        noun = s.one(lex.nouns(" ".join(f'"{n}"' for n in PLACES_AT)))
        where, word = (bare_singular(s, noun) if noun.english in ("school", "university") else inner_form(s, noun, (the,))), english("at")
        return [word, where.phrase], [where.phrase]
    names = {"in": INSIDES, "on": SURFACES}
    where = inner(s, wanted or names.get(kind, "furniture building way nature vehicle"), (the, the, the, owned, a, this))
    word = pair("in", "里") if kind == "in" else pair("on", "上") if kind == "on" else s.word(PREPOSITIONS)
    if where.noun is not None and where.noun.is_a("country", "city") and word.source[0].text == "in":
        word = english("in")
    return [word, where.phrase], [where.phrase, word]


def bare_singular(s: Speaker, noun: Noun) -> NounPhrase:
    """school -> 学校, without an article."""
    head = pair(noun.english, noun.chinese)
    return NounPhrase(head, head, noun, name=noun.english)


# --- Choosing ---------------------------------------------------------------------------------------------------------
def name(s: Speaker) -> NounPhrase:
    """A name or an unknown word, which is carried over: a numbered slot in both languages."""
    slot = s.slot()
    word = pair(slot, slot)
    return NounPhrase(word, word, None, pronoun=s.one(("he", "she")), name=slot)


def _fits(form: Form, noun: Noun) -> bool:
    """Whether a noun can stand in a form."""
    if noun.is_a("country", "city", "language", "month", "weekday", "subject") and noun.is_mass:
        return form in (bare,)
    if noun.only_plural:
        return form in (the, bare, owned, possessive, located)
    if noun.is_mass:
        return form in (the, bare, owned, some, measured, possessive, located, of_phrase, about, with_thing)
    return True


USUAL: dict[Form, float] = {
    the: 30, a: 22, owned: 14, bare: 7, the_plural: 8, this: 7, counted: 6, some: 7, every: 3, measured: 3, superlative: 2, ordinal: 3,
    possessive: 5, of_phrase: 3, located: 3, with_thing: 1.5, about: 1.5,
}
DEEP = (possessive, of_phrase, located, with_thing, about)


def inner_form(s: Speaker, noun: Noun, forms: Sequence[Form]) -> NounPhrase:
    """A noun in one of these forms, or in one that it can stand in."""
    possible = [form for form in forms if _fits(form, noun)] or [bare if noun.is_mass or noun.only_plural else the]
    return s.one(possible)(s, noun)


def inner(s: Speaker, wanted: str, forms: Sequence[Form] = (the, a, owned)) -> NounPhrase:
    """A short noun phrase inside another phrase. wanted: as in the tables."""
    return inner_form(s, s.one(lex.nouns(wanted)), forms)


def noun_phrase(s: Speaker, choices: Sequence[Noun], forms: dict[Form, float] = USUAL) -> NounPhrase:
    """A noun phrase of one of these nouns, in any form that fits it."""
    noun = s.one(choices)
    for __ in range(8):
        form = s.often(forms)
        if not _fits(form, noun) or (form in DEEP and not s.deeper()):
            continue
        if form is measured and not any(noun in lex.nouns(what) for __, what in MEASURES.values()):
            continue
        if form is of_phrase and not any(noun.is_a(c) for c in _WHOLES):
            continue
        if form is superlative and not any(x.superlative and x.flags.isdisjoint({"shi", "nopred", "noattr", "le"}) for x in lex.adjectives_of(noun)):
            continue
        if form in DEEP:
            s.depth -= 1
        return form(s, noun)
    return inner_form(s, noun, (the,))
