"""Attention between words against sums written out, and the tokenizers' words against what was typed."""

import numpy as np
import pytest

from tests.weights.test_subword import bert, gpt2
from viz_core.analysis.attention import pooled_heads
from viz_core.analysis.word_attention import word_visibility, word_weights
from viz_core.presets import PRESETS
from viz_core.run import run
from viz_core.text import UntrainedTokenizer, WordGroups, group_words

OF = (0, 1, 1, 2, 2, 2, 3)


def test_words_by_hand() -> None:
    w = np.random.default_rng(0).dirichlet(np.ones(7), size=(2, 3, 7))
    found = word_weights(w, OF, OF)
    assert found.shape == (2, 3, 4, 4)
    for a in range(4):
        for b in range(4):
            asks, asked = ([i for i, word in enumerate(OF) if word == n] for n in (a, b))
            by_hand = sum(sum(w[..., t, s] for s in asked) for t in asks) / len(asks)
            np.testing.assert_allclose(found[..., a, b], by_hand, rtol=1e-12)
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-12)  # rows that summed to 1 still do


def test_where_each_word_is_a_token_nothing_changes() -> None:
    w = np.random.default_rng(0).dirichlet(np.ones(5), size=(2, 4))
    np.testing.assert_array_equal(word_weights(w, range(4), range(5)), w)


def test_a_word_is_seen_where_one_of_its_tokens_is() -> None:
    causal = np.tril(np.ones((7, 7), bool))
    np.testing.assert_array_equal(word_visibility(causal, OF, OF), np.tril(np.ones((4, 4), bool)))
    assert not word_visibility(np.zeros((7, 7), bool), OF, OF).any()


@pytest.mark.parametrize(("sentence", "texts"), [
    ("tokens playing 猫!", ("[CLS]", "tokens", "playing", "猫", "!", "[SEP]")), ("", ("[CLS]", "[SEP]")),
])
def test_words_of_bert(sentence: str, texts: tuple[str, ...]) -> None:
    tokens, _ = bert().tokens_and_ids(sentence)
    assert group_words(bert(), tokens).texts == texts


@pytest.mark.parametrize("sentence", ["the cat's 猫 tokens", "ünïcode 👩‍👩‍👧!", "a  b"])
def test_words_of_gpt2_are_what_was_typed(sentence: str) -> None:
    tokens, _ = gpt2().tokens_and_ids(sentence)
    found = group_words(gpt2(), tokens)
    assert "".join(found.texts) == sentence and len(found.word_ids) == len(tokens)
    assert not any("⟨" in text for text in found.texts)  # bytes are characters again


def test_words_of_characters_and_of_words() -> None:
    tokens, _ = UntrainedTokenizer("character", 60).tokens_and_ids("ab cd")
    assert group_words(UntrainedTokenizer("character", 60), tokens) == WordGroups(("ab", " ", "cd"), (0, 0, 1, 2, 2))
    assert (
        group_words(UntrainedTokenizer("word", 60), ["ab", "cd"]).has_one_token_per_word
        and not WordGroups(("ab",), (0, 0)).has_one_token_per_word
    )


def test_tiles_between_words() -> None:
    config = PRESETS["000"].config
    capture = run(config, ["a b c"], ["d e"], device="cpu")
    n = capture["ids.source"].shape[1]
    found = pooled_heads(capture, "encoder", 0, 64, words=((0,) * n, (0,) * n))
    np.testing.assert_allclose(found.values, 1, rtol=1e-6)  # one word looks at itself alone
    assert found.values.shape == (config.n_encoder_layers, config.n_heads, 1, 1) and not found.blocked.any()
