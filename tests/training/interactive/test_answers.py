"""What a model answers on a person's sentence, against a softmax of its logits; and a translation that it writes itself."""

from typing import Any

import numpy as np
import pytest
import torch

from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.interactive.answers import (
    KEEP_STAGES,
    MAX_ANSWER_WORDS,
    MAX_NEW_TOKENS,
    generate_target,
    read_answers,
    run_on_words,
    token_rows,
)
from viz_core.training.interactive.recipe import Recipe
from viz_core.training.interactive.tasks import TASKS

WORDS = ["the", "cat", "sees", "the", "dog", "and", "the", "cat"]
SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 32, "n_encoder_layers": 1, "n_decoder_layers": 1, "dropout": 0.0}
CASES = [(name, architecture) for name, task in TASKS.items() for architecture in task.architectures]


def recipe(name: str, architecture: Any) -> Recipe:
    given = {n: v for n, v in {"sentences": 500, "longest": 8}.items() if n in TASKS[name].parameter_ranges}
    return Recipe(task=name, parameters=given, config=TransformerConfig(architecture=architecture, **SMALL))


@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_each_position_has_the_softmax_of_its_logits(name: str, architecture: Any) -> None:
    r = recipe(name, architecture)
    model, side = Transformer(r.config, 3).eval(), r.config.output_side
    read = generate_target(model, r.task_definition.read_sentence(r.parameters, r.config, WORDS), r.vocabulary, 6)
    found = read_answers(read.run_model(model, KEEP_STAGES), read, r.vocabulary, side)
    with torch.no_grad():
        logits = model(**{str(s): torch.from_numpy(x) for s, x in read.ids.items()}).logits[0]
    asked = range(len(logits)) if read.answer_mask is None else np.flatnonzero(read.answer_mask)
    assert len(found.input_tokens) == len(asked) == len(found.probabilities) and len(found.answer_words) <= MAX_ANSWER_WORDS
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, atol=1e-9)
    id_of = {read.user_words.get(id) or r.vocabulary[side].decode(id): id for id in reversed(range(logits.shape[1]))}
    ids = [id_of[word] for word in found.answer_words]
    probs = logits.softmax(dim=-1).numpy()[list(asked)]
    np.testing.assert_allclose(found.probabilities[:, :-1], probs[:, ids], atol=1e-5)
    best = [id_of[word] for word in found.predicted]
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
    read = r.task_definition.read_sentence(r.parameters, r.config, ["the", "cat", "the", "dog"])
    found = read_answers(read.run_model(model, KEEP_STAGES), read, r.vocabulary, r.config.output_side)
    if name == "induction":  # the last symbol is new, so nothing says what follows it
        on, right = on[:1], right[:1]
    assert (found.input_tokens, found.correct) == (on, right)
    assert found.n_known == sum(map(bool, right))
    assert found.n_correct == sum(a == b for a, b in zip(found.predicted, right, strict=True) if b)


@pytest.mark.parametrize(("name", "architecture", "labels"), [
    ("reverse", "encoder-decoder", ["<bos> → dog", "dog → the", "the → cat", "cat → the", "the → <eos>"]),
    ("copy", "decoder-only",
     ["<bos>", "the", "cat", "the", "dog", "→ → the", "the → cat", "cat → the", "the → dog", "dog → <eos>"]),
    ("sentence", "decoder-only", ["<bos> → the", "the → cat", "cat → the", "the → dog", "dog → <eos>"]),
    ("sentence", "encoder-only", ["the", "cat", "the", "dog"]),
])
def test_a_decoders_rows_say_what_they_read_and_write(name: str, architecture: Any, labels: list[str]) -> None:
    r = recipe(name, architecture)
    read = r.task_definition.read_sentence(r.parameters, r.config, ["the", "cat", "the", "dog"])
    side = r.config.output_side
    said = read_answers(read.run_model(Transformer(r.config, 0).eval(), KEEP_STAGES), read, r.vocabulary, side)
    assert [row.label for row in token_rows(read, said, side)] == labels


def test_a_typed_mask_is_one_whose_word_nobody_knows() -> None:
    r = recipe("fill-in", "encoder-only")
    read = r.task_definition.read_sentence(r.parameters, r.config, ["the", "<mask>", "sees", "the", "dog"])
    assert read.answer_mask is not None and read.labels is not None
    assert read.answer_mask.tolist() == [False, True, False, False, False] and not read.labels.any()


def test_a_translation_is_what_the_model_writes_greedily() -> None:
    r = recipe("translate", "encoder-decoder")
    model = Transformer(r.config, 1).eval()
    start = r.task_definition.read_sentence(r.parameters, r.config, ["the", "cat", "sees", "john"])
    read = generate_target(model, start, r.vocabulary, 5)
    written = read.ids["target"][0]
    assert start.ids["target"].tolist() == [[1]] and 1 <= len(written) <= 6 and len(written) == len(read.tokens["target"])
    with torch.no_grad():
        logits = model(source=torch.from_numpy(read.ids["source"]), target=torch.from_numpy(read.ids["target"])).logits[0]
    assert logits.argmax(dim=-1)[:-1].tolist() == written[1:].tolist()


@pytest.mark.parametrize(("name", "architecture"), CASES)
def test_words_are_read_continued_and_answered_at_once(name: str, architecture: Any) -> None:
    r = recipe(name, architecture)
    model, side = Transformer(r.config, 3).eval(), r.config.output_side
    found = run_on_words(model, r, WORDS)
    read = generate_target(model, r.task_definition.read_sentence(r.parameters, r.config, WORDS), r.vocabulary, MAX_NEW_TOKENS)
    said = read_answers(read.run_model(model, KEEP_STAGES), read, r.vocabulary, side)
    assert found.sentence.tokens == read.tokens and found.answers.predicted == said.predicted
    np.testing.assert_array_equal(found.answers.probabilities, said.probabilities)
    assert found.token_rows(side) == token_rows(read, said, side)
