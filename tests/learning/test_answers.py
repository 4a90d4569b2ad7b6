"""What a model answers on a person's sentence, against a softmax of its logits; and a translation that it writes itself."""

from typing import Any

import numpy as np
import pytest
import torch

from viz_core.config import TransformerConfig
from viz_core.learning.answers import KEPT, MOST_WORDS, MOST_WRITTEN, answers, continued, on_words, rows
from viz_core.learning.recipe import Recipe
from viz_core.learning.tasks import TASKS
from viz_core.model.transformer import Transformer

WORDS = ["the", "cat", "sees", "the", "dog", "and", "the", "cat"]
SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.0}
CASES = [(name, architecture) for name, task in TASKS.items() for architecture in task.architectures]


def recipe(name: str, architecture: Any) -> Recipe:
    given = {n: v for n, v in {"sentences": 500, "longest": 8}.items() if n in TASKS[name].bounds}
    return Recipe(task=name, parameters=given, config=TransformerConfig(architecture=architecture, **SMALL))


@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_each_position_has_the_softmax_of_its_logits(name: str, architecture: Any) -> None:
    r = recipe(name, architecture)
    model, side = Transformer(r.config, 3).eval(), r.config.output_side
    read = continued(model, r.entry.sentence(r.parameters, r.config, WORDS), r.vocabulary, 6)
    found = answers(read.seen_by(model, KEPT), read, r.vocabulary, side)
    with torch.no_grad():
        logits = model(**{str(s): torch.from_numpy(x) for s, x in read.ids.items()}).logits[0]
    asked = range(len(logits)) if read.asked is None else np.flatnonzero(read.asked)
    assert len(found.on) == len(asked) == len(found.probabilities) and len(found.words) <= MOST_WORDS
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)
    id_of = {read.own.get(id) or r.vocabulary[side].decode(id): id for id in reversed(range(logits.shape[1]))}
    ids = [id_of[word] for word in found.words]
    probs = logits.softmax(dim=-1).numpy()[list(asked)]
    np.testing.assert_allclose(found.probabilities[:, :-1], probs[:, ids], atol=1e-5)
    best = [id_of[word] for word in found.likeliest]
    np.testing.assert_allclose(probs[range(len(best)), best], probs.max(axis=1), atol=1e-6)


@pytest.mark.parametrize(("name", "architecture", "on", "right"), [
    ("reverse", "encoder-decoder", ("<bos>", "dog", "the", "cat", "the"), ("dog", "the", "cat", "the", "<eos>")),
    ("copy", "decoder-only", ("→", "the", "cat", "the", "dog"), ("the", "cat", "the", "dog", "<eos>")),
    ("sort", "encoder-only", ("the", "cat", "the", "dog"), ("the", "the", "cat", "dog")),  # as symbols: a, b, a, c
    ("majority", "encoder-only", ("the",), ("the",)),  # of two symbols; it is read off the last position
    ("induction", "decoder-only", ("the", "dog"), ("dog", "")),
    ("next-word", "decoder-only", ("<bos>", "the", "cat", "the", "dog"), ("the", "cat", "the", "dog", "")),
    ("next-word", "encoder-only", ("the", "cat", "the", "dog"), ("cat", "the", "dog", "")),
    ("fill-in", "encoder-only", ("<mask>",), ("cat",)),
    ("sentence", "decoder-only", ("<bos>", "the", "cat", "the", "dog"), ("the", "cat", "the", "dog", "<eos>")),
    ("sentence", "encoder-only", ("the", "cat", "the", "dog"), ("cat", "the", "dog", "<eos>")),
    ("restore", "encoder-decoder", ("<bos>", "the", "cat", "the", "dog"), ("the", "cat", "the", "dog", "<eos>")),
])
def test_what_is_asked_and_what_is_right(name: str, architecture: Any, on: tuple[str, ...], right: tuple[str, ...]) -> None:
    r = recipe(name, architecture)
    model = Transformer(r.config, 0).eval()
    read = r.entry.sentence(r.parameters, r.config, ["the", "cat", "the", "dog"])
    found = answers(read.seen_by(model, KEPT), read, r.vocabulary, r.config.output_side)
    if name == "induction":  # the last symbol is new, so nothing says what follows it
        on, right = on[:1], right[:1]
    assert (found.on, found.right) == (on, right)
    assert found.known == sum(map(bool, right))
    assert found.hits == sum(a == b for a, b in zip(found.likeliest, right, strict=True) if b)


@pytest.mark.parametrize(("name", "architecture", "labels"), [
    ("reverse", "encoder-decoder", ["<bos> → dog", "dog → the", "the → cat", "cat → the", "the → <eos>"]),
    ("copy", "decoder-only",
     ["<bos>", "the", "cat", "the", "dog", "→ → the", "the → cat", "cat → the", "the → dog", "dog → <eos>"]),
    ("sentence", "decoder-only", ["<bos> → the", "the → cat", "cat → the", "the → dog", "dog → <eos>"]),
    ("sentence", "encoder-only", ["the", "cat", "the", "dog"]),
])
def test_a_decoders_rows_say_what_they_read_and_write(name: str, architecture: Any, labels: list[str]) -> None:
    r = recipe(name, architecture)
    read = r.entry.sentence(r.parameters, r.config, ["the", "cat", "the", "dog"])
    side = r.config.output_side
    said = answers(read.seen_by(Transformer(r.config, 0).eval(), KEPT), read, r.vocabulary, side)
    assert [row.label for row in rows(read, said, side)] == labels


def test_a_typed_mask_is_one_whose_word_nobody_knows() -> None:
    r = recipe("fill-in", "encoder-only")
    read = r.entry.sentence(r.parameters, r.config, ["the", "<mask>", "sees", "the", "dog"])
    assert read.asked is not None and read.right is not None
    assert read.asked.tolist() == [False, True, False, False, False] and not read.right.any()


def test_a_translation_is_what_the_model_writes_greedily() -> None:
    r = recipe("translate", "encoder-decoder")
    model = Transformer(r.config, 1).eval()
    start = r.entry.sentence(r.parameters, r.config, ["the", "cat", "sees", "john"])
    read = continued(model, start, r.vocabulary, 5)
    written = read.ids["target"][0]
    assert start.ids["target"].tolist() == [[1]] and 1 <= len(written) <= 6 and len(written) == len(read.tokens["target"])
    with torch.no_grad():
        logits = model(source=torch.from_numpy(read.ids["source"]), target=torch.from_numpy(read.ids["target"])).logits[0]
    assert logits.argmax(dim=-1)[:-1].tolist() == written[1:].tolist()


@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_words_are_read_continued_and_answered_at_once(name: str, architecture: Any) -> None:
    r = recipe(name, architecture)
    model, side = Transformer(r.config, 3).eval(), r.config.output_side
    found = on_words(model, r, WORDS)
    read = continued(model, r.entry.sentence(r.parameters, r.config, WORDS), r.vocabulary, MOST_WRITTEN)
    said = answers(read.seen_by(model, KEPT), read, r.vocabulary, side)
    assert found.read.tokens == read.tokens and found.said.likeliest == said.likeliest
    np.testing.assert_array_equal(found.said.probabilities, said.probabilities)
    assert found.rows(side) == rows(read, said, side)
