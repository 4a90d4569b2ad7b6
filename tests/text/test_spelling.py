"""Suggestions for an unknown word: a slip of the pen finds its word, and a name finds nothing."""

from itertools import product
from random import Random

import pytest

from viz_core.text import Vocabulary
from viz_core.text.spelling import edit_distance, is_misspelling, suggest_words
from viz_core.weights.catalogue import catalogue

SLIPS = """
hosue house, freind friend, becuase because, beatiful beautiful, tommorow tomorrow, yestarday yesterday, animel animal,
stret street, teh the, adn and, dgo dog, waht what, chidlren children, resturant restaurant, breakfest breakfast,
kichen kitchen, tabel table, techer teacher, studnet student, scool school, libary library, hospitel hospital, sumer summer,
wintr winter, happyy happy, diferent different, dificult difficult, langauge language, questoin question, anser answer,
watter water, mornign morning, evning evening, birthdya birthday, umbrela umbrella, chiken chicken, vegtables vegetables,
sandwitch sandwich, litle little, bigg big, runing running, swiming swimming, writting writing, woud would, shoud should,
peple people, pepole people, coffe coffee, chocolat chocolate, oragne orange, aple apple, bannana banana, potatos potatoes,
wether weather, tomorow tomorrow, wich which, realy really, allways always, usualy usually, somtimes sometimes,
togehter together, docter doctor, polise police, famly family, brothr brother, sisster sister, dauhgter daughter,
granmother grandmother, monky monkey, rabit rabbit, chasd chased, jumpd jumped, sleepng sleeping, picutre picture, movei movie,
compter computer, phoen phone, windo window, gardn garden, flowr flower, moutain mountain, importent important,
expensiv expensive, intresting interesting, diffrent different, knifes knives, brige bridge
"""
NAMES = """
Anna Maria Lena Peter Hans Otto Emma Olivia Liam Noah Sophia Lukas Felix Clara Marta Nina Ivan Igor Olga Boris Yuki Kenji Mei Ravi
Priya Omar Fatima Ahmed Chloe Hugo Lucas Marco Paolo Giulia Ines Pedro Sven Ingrid Bjorn Niklas Jonas Tobias Greta Astrid Kofi
Amara Zara Leila Dmitri Svetlana Tomasz John Mary Bob Tom Tim Kim Sam Dan Ben Ann Sue Joe Max Leo Mia Eva Ada Ella Lisa Rosa Karl
Kate Jack Jane Paul Luke Mike Nick Steve Susan Linda Prague Lima Oslo Hanoi Dakar Nairobi Bremen Leipzig Zurich Geneva Porto
Naples Turin Basel
"""
RARE = """
b x qq zebrafish quark lynx puma yurt zinc silo algae gloop qwerty blorp fjord gnome oboe lute harp vodka tsar khaki
photosynthesis chlorophyll parliamentarian thermodynamics archipelago hieroglyph onomatopoeia xylophone zeppelin quantum neutron
proton axiom lemma tensor softmax logits asdf lol omg brb gpt nasa usb html hmm abacus bayonet cauldron decanter effigy filament
gargoyle isthmus jubilee kaleidoscope labyrinth marmalade nebula obelisk quiver rhubarb sarcophagus tapestry vestibule walrus
xenon zephyr amethyst catamaran fuchsia gazebo hibiscus juniper kestrel lichen mandolin narwhal quinoa ratatouille silhouette
turmeric viaduct wombat zucchini dodecahedron glockenspiel igloo kimono lasagna nirvana quasar samurai tsunami bitcoin hashtag
podcast
"""


def reader(side: str = "source") -> Vocabulary:
    tokenizer = catalogue()["translator"].tokenizers()[side]
    assert isinstance(tokenizer, Vocabulary)
    return tokenizer


def suggested(sentence: str, side: str = "source") -> dict[str, list[str]]:
    return dict(reader(side).unknown_with_suggestions(sentence))


# ---------------------------------------------------------------- slips, names and rare words


@pytest.mark.parametrize(("typed", "meant"), [pair.split() for pair in SLIPS.split(",")])
def test_a_slip_finds_its_word_first(typed: str, meant: str) -> None:
    assert suggested(f"the {typed} is here")[typed][0] == meant


def test_a_slip_at_the_beginning_is_found_where_it_can_be_no_name() -> None:
    assert suggested("Teh dog")["Teh"] == ["the"] and suggested("Waht is this")["Waht"] == ["what"]
    assert suggested("Becuase I am tired")["Becuase"] == ["because"]


@pytest.mark.parametrize("name", NAMES.split())
def test_a_name_finds_nothing(name: str) -> None:
    """Whether it stands inside a sentence, at its beginning, or alone."""
    for sentence in (f"I saw {name} there", f"{name} is here", f"I said, \"{name} is here\"", name):
        assert suggested(sentence)[name] == [], sentence


def test_few_names_in_small_letters_and_no_rare_words_find_anything() -> None:
    """A name in small letters is known by nothing; four of them happen to be a slip away from a word."""
    silly = {name: found for name in NAMES.lower().split() if (found := suggested(f"the {name} is here")[name])}
    assert silly == {"lena": ["lean"], "greta": ["great"], "mary": ["marry"], "dan": ["dna"]}
    rare = {word: found for word in RARE.split() if (found := suggested(f"the {word} is here").get(word)) is not None}
    assert len(rare) > 80 and [word for word, found in rare.items() if found] == []


def test_a_capital_says_nothing_where_all_letters_are_capitals() -> None:
    assert suggested("THE HOSUE IS HERE")["HOSUE"] == ["house"]
    assert suggested("the Hosue is here")["Hosue"] == [], "a name"
    assert suggested("Anna is here . we saw Anna")["Anna"] == []


# ---------------------------------------------------------------- the rule


def test_edits_are_counted() -> None:
    """By the definition, against a search through all edits of a word."""
    assert [edit_distance(a, b) for a, b in (("teh", "the"), ("", "abc"), ("abc", "abc"), ("ab", "ba"), ("kitten", "sitting"))] == \
        [1, 3, 0, 1, 3]
    for word in ("abc", "aab", "ca"):
        once = {word} | edited(word)
        twice = once | {other for one in once for other in edited(one)}
        for other in map("".join, (letters for n in range(5) for letters in product("abc", repeat=n))):
            assert (edit_distance(word, other) <= 1) == (other in once), (word, other)
            assert edit_distance(word, other) > 2 or other in twice, (word, other)


def edited(word: str) -> set[str]:
    places = range(len(word) + 1)
    return {word[:i] + x + word[i + skip :] for i in places for skip in (0, 1) for x in ("", "a", "b", "c")} | {
        word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(len(word) - 1)
    }


@pytest.mark.parametrize(("word", "known", "slip"), [
    ("b", "by", False), ("an", "na", False), ("teh", "the", True), ("hte", "the", False), ("hat", "cat", False),
    ("ann", "an", False),
    ("aple", "apple", True), ("happ", "hap", True), ("wich", "which", True), ("tigr", "tiger", False), ("puma", "pump", False),
    ("peple", "people", True), ("peoqle", "people", True), ("house", "mouse", False), ("hoise", "house", False),
    ("hosue", "house", True), ("animels", "animals", True), ("beautifull", "beautiful", True), ("anna", "banana", False),
    ("vegtabels", "vegetables", True), ("xegetables", "vegetables", False),
])
def test_the_shorter_a_word_the_fewer_slips_count(word: str, known: str, slip: bool) -> None:
    assert is_misspelling(word, known) is slip


@pytest.mark.parametrize(("word", "base"), [
    ("cats", "cat"), ("foxes", "fox"), ("cities", "city"), ("stopped", "stop"), ("danced", "dance"), ("dancing", "dance"),
    ("running", "run"), ("quickly", "quick"), ("tried", "try"),
])
def test_an_inflection_finds_its_base(word: str, base: str) -> None:
    words = ("cat", "fox", "city", "stop", "dance", "run", "quick", "try")
    assert suggest_words(word, words) == (base,) and suggest_words(word, words, may_be_name=True) == ()


def test_in_chinese_the_last_character_counts() -> None:
    words = ("猫", "马", "垫子", "桌子", "安静", "孩子")
    found = {word: suggest_words(word, words) for word in ("小猫", "垫", "桌", "安娜", "猫头鹰", "鱼")}
    assert found == {"小猫": ("猫",), "垫": ("垫子",), "桌": ("桌子",), "安娜": (), "猫头鹰": (), "鱼": ()}


def test_marks_numbers_and_endless_words_find_nothing() -> None:
    for typed in ("", "😀", "7:30", "1999", "$5", "x" * 5000, "th-e", "-", "'"):
        assert suggest_words(typed, reader().words) == (), typed


@pytest.mark.parametrize("side", ["source", "target"])
def test_no_word_is_lost_to_the_search_by_letters(side: str) -> None:
    """Of all words, those that the rule lets pass with the fewest edits."""
    words, rng = reader(side).words, Random(0)
    found = 0
    for typed in (misspelt(rng, words) for __ in range(40)):
        slips = {
            word: edit_distance(typed, word)
            for word in words
            if typed.isascii() and typed.isalpha() and is_misspelling(typed, word)
        }
        if slips and typed not in words:
            near = suggest_words(typed, words)
            assert near and set(near) <= {word for word, edits in slips.items() if edits == min(slips.values())}, typed
            found += 1
    assert found > 5 or side == "target"


def misspelt(rng: Random, words: tuple[str, ...]) -> str:
    """A word with some letters lost, doubled, changed or moved."""
    letters = list(rng.choice(words))
    for _ in range(rng.randint(0, 2)):
        place = rng.randrange(len(letters))
        letters[place : place + 1] = rng.choice(([], [letters[place]] * 2, [rng.choice("aeimnst人大")], letters[place::-1]))
        if not letters:
            break
    return "".join(letters) or "?"
