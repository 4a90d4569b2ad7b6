"""Ids as rows of the vocabulary: which rows, in which order, with which words; and which word a shift moves where."""

import numpy as np
import pytest

from tests.model.small import SOURCE, TARGET, small
from viz_core.analysis.arithmetic import Copy
from viz_core.analysis.cell_explanation import explain_cell
from viz_core.capture import Capture
from viz_core.figures.lookup import VocabularyRow, vocabulary_lookup
from viz_core.run import build, prepare, run, trace, untrained_tokenizers
from viz_core.text import Vocabulary, with_copied_words

OWN = {"source": Vocabulary(("the", "cat", "saw", "a", "dog")), "target": Vocabulary(("猫", "看见", "狗"))}


def read(source: list[str], target: list[str]) -> Capture:
    """A run whose vocabularies name their rows."""
    config = small(source_vocab_size=9, target_vocab_size=7)
    return trace(build(config), prepare(config, source, target, OWN))


def test_the_rows_are_those_of_the_sentence_in_order_of_their_numbers() -> None:
    found = vocabulary_lookup(read(["The dog saw the zebra", "a"], ["猫", "猫"]), "ids.source", 0, OWN)
    assert found is not None and found.ids == ((4, 8, 6, 4, 3),) and found.size == 9 and not found.moved
    # The and the are one row, named as the vocabulary names it; a stranger leads to <unk>; rows 5 and 7 are skipped.
    assert found.rows == (
        VocabularyRow(3, ("<unk>",)),
        VocabularyRow(4, ("the",)),
        VocabularyRow(6, ("saw",)),
        VocabularyRow(8, ("dog",)),
    )
    padded = vocabulary_lookup(read(["The dog saw the zebra", "a"], ["猫", "猫"]), "ids.source", 1, OWN)
    assert (
        padded is not None
        and padded.rows == (VocabularyRow(0, ("<pad>",)), VocabularyRow(7, ("a",)))
        and padded.ids == ((7, 0, 0, 0, 0),)
    )


def test_an_untrained_row_shows_all_words_that_collide_in_it() -> None:
    config = small(source_vocab_size=8)
    typed = ["zig zag zog zig the \u202e"]
    found = vocabulary_lookup(capture := run(config, typed, ["x"], device="cpu"), "ids.source", 0, untrained_tokenizers(config))
    assert found is not None and found.size == 8
    words: dict[int, list[str]] = {}
    for id, token in zip(capture["ids.source"][0].tolist(), ["zig", "zag", "zog", "zig", "the", "U+202E"], strict=True):
        if token not in words.setdefault(id, []):
            words[id].append(token)
    assert max(map(len, words.values())) > 1, "the sentence has no collision to show"
    assert found.rows == tuple(VocabularyRow(id, tuple(words[id])) for id in sorted(words))


def test_shift_right_moves_every_answer_one_place_later_behind_bos() -> None:
    found = vocabulary_lookup(read(["a", "a"], ["猫 看见 狗", "狗"]), "ids.target", 0, OWN)
    assert found is not None and found.ids == ((4, 5, 6, 2), (1, 4, 5, 6)) and found.moved == ((0, 1), (1, 2), (2, 3))
    assert [row.id for row in found.rows] == [1, 4, 5, 6], "the rows are those of the input that the decoder reads"
    short = vocabulary_lookup(read(["a", "a"], ["猫 看见 狗", "狗"]), "ids.target", 1, OWN)
    assert short is not None and short.ids == ((6, 2, 0, 0), (1, 6, 0, 0)) and short.moved == ((0, 1),)


@pytest.mark.parametrize("architecture", ["encoder-decoder", "decoder-only"])
def test_a_word_moves_where_its_cell_is_a_copy(architecture: str) -> None:
    config = small(architecture=architecture)
    capture = run(config, SOURCE if config.has_encoder else None, TARGET, device="cpu")
    parameters = dict(build(config).named_parameters())
    for item in range(len(TARGET)):
        found = vocabulary_lookup(capture, "ids.target", item, untrained_tokenizers(config))
        assert found is not None
        copies = {t for t in range(len(found.ids[1]))
                  if isinstance(explain_cell(capture, "ids.target", (item, t), parameters.__getitem__).operations[0], Copy)}
        assert found.moved == tuple((t - 1, t) for t in sorted(copies)) and copies


def test_an_encoders_answers_are_its_own_words_one_place_earlier() -> None:
    config = small(architecture="encoder-only")
    found = vocabulary_lookup(run(config, SOURCE, device="cpu"), "ids.labels", 1, untrained_tokenizers(config))
    assert found is not None and found.ids == ((8, 3, 10, 0, 0), (3, 10, 0, 0, 0)) and found.moved == ((1, 0), (2, 1))


def test_only_ids_are_looked_up() -> None:
    capture = read(["a"], ["猫"])
    assert [name for name in capture if vocabulary_lookup(capture, name, 0, OWN)] == ["ids.source", "ids.labels", "ids.target"]
    assert all(np.array_equal(vocabulary_lookup(capture, f"ids.{side}", 0, OWN).ids[-1], capture[f"ids.{side}"][0])  # type: ignore[union-attr]
               for side in ("source", "labels", "target"))


def test_a_slot_is_a_row_with_its_number_and_its_word() -> None:
    words = Vocabulary(("<1>", "the", "<2>", "cat"))
    config = small(architecture="encoder-only", source_vocab_size=8)
    capture = trace(build(config), prepare(config, ["the Zoe \u202e", "Bob cat"], None, {"source": words}))
    for item, rows in enumerate([
        (VocabularyRow(3, ("<unk>",)), VocabularyRow(4, ("slot 1: Zoe",)), VocabularyRow(5, ("the",))),
        (VocabularyRow(0, ("<pad>",)), VocabularyRow(4, ("slot 1: Bob",)), VocabularyRow(7, ("cat",))),
    ]):
        found = vocabulary_lookup(capture, "ids.source", item, {"source": with_copied_words(words, capture.copied_words(item))})
        assert found is not None and found.rows == rows
    given = trace(build(config), prepare(config, [[6, 5]], None, {"source": words}))
    found = vocabulary_lookup(given, "ids.source", 0, {"source": words})
    assert found is not None and found.rows == (VocabularyRow(5, ("the",)), VocabularyRow(6, ("slot 2",)))
