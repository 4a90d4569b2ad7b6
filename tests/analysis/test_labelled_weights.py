"""Weights with their labels: the capture's own, between tokens or words, and without padding."""

import numpy as np
import pytest

from tests.model.small import small
from viz_core.analysis.attention import AttentionKind, allowed, module
from viz_core.analysis.labelled_weights import every_head, layer_weights, weights_read, words_of_both
from viz_core.analysis.word_attention import between_words
from viz_core.capture import Capture
from viz_core.run import run, tokenizers

CONFIG = small(source_vocab_size=50, target_vocab_size=50)


@pytest.fixture(scope="module")
def capture() -> Capture:
    return run(CONFIG, ["it was =1", "no"], ["x y z", "x"])


def test_a_layer_has_the_labels_of_its_rows_and_columns(capture: Capture) -> None:
    weights, queries, keys = layer_weights(capture, "cross", 1, 0)
    np.testing.assert_array_equal(weights, capture["decoder.layers.1.cross_attn.weights"][0])
    assert queries == ("<bos> → x", "x → y", "y → z", "z → <eos>") and keys == ("it", "was", "=", "1")


def test_a_query_is_called_by_what_its_row_writes_and_padding_is_left_out(capture: Capture) -> None:
    weights, queries, keys = weights_read(capture, "cross", 1, 1)
    assert queries == ("x", "<eos>") and keys == ("no",)
    np.testing.assert_array_equal(weights, capture["decoder.layers.1.cross_attn.weights"][1, :, :2, :1])
    weights, queries, keys = weights_read(capture, "encoder", 0, 0)
    assert queries == keys == ("it", "was", "=", "1")  # an encoder writes nothing
    np.testing.assert_array_equal(weights, capture["encoder.layers.0.self_attn.weights"][0])


def test_words_stand_for_their_letters() -> None:
    capture = run(CONFIG, ["it was"], ["x yz"], tokenizer="character")
    words = words_of_both(capture, "cross", 0, tokenizers(CONFIG, "character"))
    weights, queries, keys = layer_weights(capture, "cross", 0, 0, words)
    assert keys == ("it", "␣", "was") and weights.shape == (CONFIG.n_heads, len(queries), 3)
    own = capture["decoder.layers.0.cross_attn.weights"][0]
    np.testing.assert_array_equal(weights, between_words(own, words[0].of, words[1].of))
    np.testing.assert_allclose(weights[..., 2], np.stack([own[:, np.equal(words[0].of, i)].mean(axis=1)[:, 3:].sum(axis=-1)
                                                          for i in range(len(queries))], axis=1))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_every_head_has_all_layers_and_what_is_blocked(capture: Capture, kind: AttentionKind) -> None:
    found, uniform = every_head(capture, kind, 1), every_head(capture, kind, 1, uniform=True)
    seen = allowed(capture, kind, 1)
    for layer in range(2):
        own = capture[f"{module(kind, layer)}.weights"][1]
        np.testing.assert_array_equal(found.weights[layer], own)
        np.testing.assert_allclose(uniform.weights[layer], own * seen.sum(axis=-1)[:, None], rtol=1e-6)
    np.testing.assert_array_equal(found.blocked, ~seen)
    assert uniform.relative and not found.relative and found.gaps is None
