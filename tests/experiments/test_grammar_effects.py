"""Attention beside effect over sentences of the grammar: which sentences are asked, and what their mean is of."""

from collections.abc import Iterator

import numpy as np
import pytest

from tests.model.small import small
from tests.tolerances import DEVICE, ROUNDING
from viz_core.experiments.grammar_effects import TRIES_PER_SENTENCE, SentenceEffects, measure_sentences
from viz_core.experiments.head_effects import head_effects
from viz_core.experiments.patching import run_clean_and_corrupted, run_patch_grid
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import build, run
from viz_core.text import Vocabulary
from viz_core.training.examples import Example, held_out_examples
from viz_core.weights.catalogue import catalogue

CARD = catalogue()["translator-small"]
WORDS = CARD.tokenizers()
N = 4


@pytest.fixture(scope="module")
def model() -> Transformer:
    return CARD.load()


@pytest.fixture(scope="module")
def found(model: Transformer) -> SentenceEffects:
    return measure_sentences(model, WORDS, N)  # type: ignore[arg-type]


def test_each_question_is_the_translation_of_the_replaced_word(found: SentenceEffects) -> None:
    assert len(found.sentences) == N <= found.n_tried
    for one in found.sentences:
        runs = [run(CARD.config, [text], [one.target], weights=CARD) for text in (one.source, one.change.sentence)]
        at, words = one.question.position, one.target.split()
        says = [capture["probs"][0, at].argmax() for capture in runs]
        assert says == [one.question.word, one.question.other] and words[at] == WORDS["target"].decode(one.question.word)
        assert runs[0].tokens("source")[0][one.change.position] == one.change.old and one.change.old != one.change.new
        weights = [runs[0][f"decoder.layers.{layer}.cross_attn.weights"][0, :, at, one.change.position] for layer in (0, 1)]
        np.testing.assert_allclose(one.effects.weight, weights, atol=1e-5)


def test_the_effects_are_those_of_its_own_grid(model: Transformer, found: SentenceEffects) -> None:
    one = found.sentences[0]
    read = [WORDS["source"].tokens_and_ids(text)[1] for text in (one.source, one.change.sentence)]
    target = [WORDS["target"].bos_id, *WORDS["target"].encode(one.target.split())]
    runs = run_clean_and_corrupted(model, *read, one.question, target)
    alone = head_effects(runs, run_patch_grid(runs), "decoder", "cross_attn", one.change.position)
    for name in ("weight", "denoise", "noise", "ablated"):
        np.testing.assert_allclose(getattr(one.effects, name), getattr(alone, name), atol=1e-5)
        np.testing.assert_allclose(
            getattr(found.mean, name), np.mean([getattr(each.effects, name) for each in found.sentences], axis=0), atol=ROUNDING
        )


def test_the_same_sentences_are_asked_again_and_it_tells_how_far_it_is(model: Transformer, found: SentenceEffects) -> None:
    shares: list[float] = []
    again = measure_sentences(model, WORDS, 2, progress=shares.append)  # type: ignore[arg-type]
    assert shares == [0.5, 1.0]
    assert [one.change for one in again.sentences] == [one.change for one in found.sentences[:2]]
    np.testing.assert_array_equal(again.sentences[1].effects.ablated, found.sentences[1].effects.ablated)
    later = held_out_examples()[again.n_tried :]
    other = measure_sentences(model, WORDS, 1, sentences=later)  # type: ignore[arg-type]
    assert other.sentences[0].source == found.sentences[2].source


def test_a_translator_s_heads_move_the_answer_and_its_weights_do_not_say_all(found: SentenceEffects) -> None:
    """What the numbers have to be able to tell: some heads matter, and the two rankings are not one."""
    assert found.mean.denoise.max() > 0.05
    assert all(one.effects.correlations["denoise"] < 1 for one in found.sentences)


def test_sentences_that_do_not_fit_are_left_out(model: Transformer) -> None:
    dog = Example(["the", "dog", "is", "tired"], ["狗", "很", "累"], [(1,), (), (3,)])
    name = Example(["the", "<1>", "is", "tired"], ["<1>", "很", "累"], [(1,), (), (3,)])
    wrong = Example(["the", "dog", "is", "tired"], ["猫", "很", "宽"], [(1,), (), (3,)])
    found = measure_sentences(model, WORDS, 3, sentences=[name, wrong, dog])  # type: ignore[arg-type]
    assert [one.source for one in found.sentences] == ["the dog is tired"] and found.n_tried == 3


def test_the_question_is_at_the_word_that_comes_from_the_replaced_one_alone(model: Transformer) -> None:
    both = Example(["the", "dog", "is", "tired"], ["狗", "很", "累"], [(1, 3), (), (3,)])
    (one,) = measure_sentences(model, WORDS, 1, sentences=[both]).sentences  # type: ignore[arg-type]
    assert (one.change.old, one.question.position) == ("tired", 2)


def test_who_cannot_be_asked_is_told_so(model: Transformer) -> None:
    with pytest.raises(UserError) as raised:
        measure_sentences(catalogue()["english"].load(), catalogue()["english"].tokenizers(), 1)  # type: ignore[arg-type]
    assert raised.value.code == "grammar_model"
    counted: list[int] = []

    def endless() -> Iterator[Example]:
        while True:
            counted.append(1)
            yield Example(["a", "b"], ["c"], [(0,)])

    untrained = build(small(source_vocab_size=6, target_vocab_size=6))
    words = {"source": Vocabulary(("a", "b")), "target": Vocabulary(("c", "d"))}
    with pytest.raises(UserError) as raised:
        measure_sentences(untrained, words, 2, sentences=endless())
    assert raised.value.code == "grammar_none" and len(counted) == 2 * TRIES_PER_SENTENCE
    with pytest.raises(ValueError, match="at least 1"):
        measure_sentences(model, WORDS, 0)  # type: ignore[arg-type]


@pytest.mark.cuda
def test_cuda_agrees(model: Transformer, found: SentenceEffects) -> None:
    there = measure_sentences(CARD.load().to("cuda"), WORDS, N)  # type: ignore[arg-type]
    assert [one.question for one in there.sentences] == [one.question for one in found.sentences]
    np.testing.assert_allclose(there.mean.denoise, found.mean.denoise, atol=10 * DEVICE)
