"""What a person types is read as the grammar that trains the translators writes it: word by word, in every construction."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from random import Random

import pytest
import regex

from viz_core.text import Vocabulary, split_words
from viz_core.text.splitting import split_runs
from viz_core.text.word_segmentation import _EDGES, _UNLISTED_WORD, multi_piece_pattern
from viz_core.training.corpus.dataset import examples
from viz_core.training.corpus.unknown_words import SLOTS
from viz_core.training.examples import Example

NAMES = (  # no word of the grammar; in many shapes, none of which may be cut in two
    "Zorblax", "O'Brien", "Jean-Luc", "Иван", "小明", "x2", "7:30", "$5", "1,000", "😀", "محمد", "2024", "Ulises", "R&B", "25%",
)
WORDS = Vocabulary((*SLOTS, "the", "boy", "boys", "it's", "ice", "cream", "t-shirt", "twenty-two", "'s", "o'clock", "I", ".", '"'))


@cache
def said() -> tuple[list[Example], Vocabulary, Vocabulary]:
    """Sentences of the grammar, and the vocabularies of all their words."""
    found = list(islice(examples(seed=3), 2500))
    english = {word for example in found for word in example.source}
    chinese = {word for example in found for word in example.target}
    return found, Vocabulary(tuple(sorted(english | set(SLOTS)))), Vocabulary(tuple(sorted(chinese | set(SLOTS))))


@pytest.mark.parametrize("strangers", [True, False])
@pytest.mark.parametrize("words", [
    ("t-shirt", "t-shirts", "it's", "o'clock", "the", "I", "twenty-two", "twenty", "x.y", "."),
    ("T恤", "T恤-x", "恤-T", "t-shirt", "恤-", "好-好", "好", "a-b-c", "a-b"),
])
def test_several_pieces_are_found_as_if_each_word_had_edges_of_its_own(words: tuple[str, ...], strangers: bool) -> None:
    several = sorted((word for word in words if len(split_runs(word)) > 1), key=len, reverse=True)

    def edge(letter: str, side: int) -> str:
        return _EDGES[bool(regex.match(r"\p{Han}", letter))][side]

    apart = [edge(w[0], 0) + regex.escape(w, special_only=False) + edge(w[-1], 1) for w in several]
    expected = regex.compile(
        "|".join([*apart, *([_UNLISTED_WORD] if strangers else [])]), regex.VERBOSE | regex.IGNORECASE | regex.V1
    )
    found = multi_piece_pattern(words, include_unlisted=strangers)
    assert found is not None
    rng, marks = Random(0), ("-", "'", "’", "s", "@", ".", "猫", "T", "恤", "é", "\u0301", "5", "$", "_", "\u200d")
    hits = 0
    for _ in range(3000):
        text = "".join(rng.choice(rng.choice((several, words, marks))) for _ in range(rng.randint(1, 6)))
        spans = [match.span() for match in found.finditer(text)]
        assert spans == [match.span() for match in expected.finditer(text)], text
        hits += bool(spans)
    assert hits > 500


def test_the_edges_of_words_are_in_the_pattern_once_whatever_the_number_of_words() -> None:
    """To compile them for each word took half a second of every visitor's first page."""
    few, many = (multi_piece_pattern([f"x-{i:03}" for i in range(n)], include_unlisted=False) for n in (1, 200))
    assert few is not None and many is not None
    assert len(many.pattern) - len(few.pattern) == 199 * len(regex.escape("x-000", special_only=False) + "|")


TITLED = Vocabulary((*SLOTS, "mr", "dr", "brown", "green", "is", "my", "a", "doctor", "."))


@pytest.mark.parametrize(("sentence", "tokens", "read"), [
    ("Mr. Brown is my doctor.", "Mr.|Brown|is|my|doctor|.", "mr <1> is my doctor ."),
    ("mr Brown is a Dr.", "mr|Brown|is|a|Dr|.", "mr <1> is a dr ."),  # the last dot ends the sentence
    ("my doctor is Dr. Green", "my|doctor|is|Dr.|Green", "my doctor is dr <1>"),
    ("Dr. brown is green.", "Dr.|brown|is|green|.", "dr brown is green ."),
    ("Brown is my doctor", "Brown|is|my|doctor", "brown is my doctor"),
    ("my mr. Brown is Brown", "my|mr.|Brown|is|Brown", "my mr <1> is <1>"),  # the same word, the same slot
    ("Mrs. Brown", "Mrs|.|Brown", "<1> . brown"),  # no word of this vocabulary
])
def test_a_title_keeps_its_dot_and_a_name_follows_it(sentence: str, tokens: str, read: str) -> None:
    typed, ids = TITLED.tokens_and_ids(sentence)
    assert ("|".join(typed), ids) == (tokens, TITLED.encode(read.split()))


def named(example: Example, rng: Random) -> dict[str, str]:
    """An invented name for each slot."""
    slots = [slot for slot in SLOTS if slot in example.source]
    return dict(zip(slots, rng.sample(NAMES, len(slots)), strict=True))


def as_typed(text: str) -> Iterator[str]:
    """The same sentence as different people type it."""
    yield text
    yield text[:1].upper() + text[1:]
    yield text.upper()
    yield text.replace("'", "’")
    yield re.sub(r" ([.,?!])", r"\1", text)  # marks behind a word, without a space
    yield re.sub(r'" (.*?) "', r'"\1"', re.sub(r" ([.,?!])", r"\1", text))
    yield re.sub(r'" (.*?) "', r"“\1”", text)


def test_what_is_typed_is_what_was_trained() -> None:
    found, english, __ = said()
    rng, slots = Random(0), 0
    for example in found:
        text, names = example.typed_text, named(example, rng)
        for slot, name in names.items():
            text = text.replace(slot, name)
        for variant in as_typed(text):
            assert english.tokens_and_ids(variant)[1] == english.encode(example.source), variant
        assert english.fill_slots(text) == tuple(names.values())
        slots += len(names)
    every = {word for example in found for word in example.source}
    assert slots > 200 and {"'s", "don't", "o'clock", '"', ","} <= every, "the constructions that this is about"
    assert any("-" in word for word in every)
    assert any("s' " in example.typed_text for example in found)


def test_what_is_written_is_what_was_trained() -> None:
    """The Chinese side, with spaces between its words as a model writes it, beside the source that has the names."""
    found, __, chinese = said()
    rng, slots = Random(1), 0
    for example in found:
        names = named(example, rng)
        reader = Vocabulary(chinese.words, tuple(names.values()))
        assert reader.tokens_and_ids(" ".join(names.get(word, word) for word in example.target))[1] == chinese.encode(
            example.target
        )
        slots += sum(slot in example.target for slot in names)
    assert slots > 200


@pytest.mark.parametrize(("text", "tokens"), [
    ("T-shirt twenty-two", "T-shirt|twenty-two"),
    ("the t-shirt's", "the|t-shirt|'s"),
    ("ten-year-old", "ten-year-old"),  # unknown: one word
    ("t-shirt-like", "t-shirt-like"),
    ("ice-cream", "ice-|cream"),  # both words are known
    ("It's the boy's", "It's|the|boy|'s"),
    ("boys' ice", "boys|'|ice"),
    ("o’clock", "o’clock"),
    ("2024's", "2024|'s"),
    ("😀’s", "😀|’s"),
    ("James's.", "James|'s|."),
    ("at 7:30, $5.", "at|7:30|,|$5|."),
    ("25% 1,000 3.14", "25%|1,000|3.14"),
    ("<1>", "<|1|>"),
    ("cats--dogs - a", "cats|-|-|dogs|-|a"),
    ("我爱Jean-Luc。", "我爱|Jean-Luc|。"),
])
def test_where_words_end(text: str, tokens: str) -> None:
    assert WORDS.tokenize(text) == tokens.split("|")


def test_an_apostrophe_behind_an_s_is_the_owner_or_the_end_of_a_quotation() -> None:
    of = WORDS.words.index("'s") + 4
    assert WORDS.tokens_and_ids("the boys' ice")[1][2] == WORDS.tokens_and_ids("the boys’ ice")[1][2] == of
    assert WORDS.tokens_and_ids("'the boys'")[1][-1] == WORDS.tokens_and_ids("‘the boys’")[1][-1] == WORDS.unk_id
    assert WORDS.tokens_and_ids("the boy' ice")[1][2] == WORDS.unk_id
    both = Vocabulary(("boys", "'s", "'"))
    assert both.tokens_and_ids("boys' boys’ boys's")[1] == [4, 6, 4, 6, 4, 5], "a vocabulary may have the apostrophe as a word"


def test_without_slots_unknown_words_are_cut_as_ever() -> None:
    plain = Vocabulary(("the", "boy", "'s", "t-shirt"))
    assert plain.tokenize("7:30 Jean-Luc $5 t-shirts") == [*split_words("7:30 Jean-Luc $5"), *split_words("t-shirts")]
    assert plain.tokens_and_ids("The T-shirt")[1] == [4, 7]
