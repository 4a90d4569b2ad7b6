"""A − B of all heads: the numbers of both runs on common places, against plain loops."""

import numpy as np
import pytest

from tests.model.small import small, unlike_identity
from viz_core.analysis.attention import AttentionKind, attention_mask, attention_path, query_key_sides
from viz_core.analysis.head_differences import (
    have_same_heads,
    head_difference,
    max_abs_pool,
    pooled_head_difference,
    position_pairs,
)
from viz_core.analysis.labelled_weights import collect_heads, query_key_words
from viz_core.analysis.run_alignment import align_runs
from viz_core.analysis.word_attention import word_weights
from viz_core.capture import Capture
from viz_core.run import build, run, untrained_tokenizers

CONFIG = small(source_vocab_size=50, target_vocab_size=50)
MODEL = unlike_identity(build(CONFIG))


def runs(a: str = "it was tired", b: str = "it was very tired", target: str = "x y z") -> tuple[Capture, Capture]:
    one, other = (run(CONFIG, [s], [t], weights=MODEL) for s, t in ((a, "x y"), (b, target)))
    return one, other


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("uniform", [False, True])
def test_each_cell_is_a_less_b_and_gaps_are_blocked(kind: AttentionKind, uniform: bool) -> None:
    a, b = runs()
    both = align_runs(a, b)
    rows, cols = position_pairs(both, kind)
    assert (rows, cols) == tuple(both.pairs[side] for side in query_key_sides(kind))
    apart = head_difference(collect_heads(a, kind, is_relative=uniform), collect_heads(b, kind, is_relative=uniform), rows, cols)
    found = pooled_head_difference(apart, 64)
    assert found.values.shape == (2, CONFIG.n_heads, len(rows), len(cols)) and found.block_shape == (1, 1)
    some = False
    for r, (i, j) in enumerate(rows):
        for c, (k, m) in enumerate(cols):
            if None in (i, j, k, m):
                assert found.blocked[r, c] and not found.values[:, :, r, c].any()
                assert apart.gaps[r, c] and np.isnan(apart.weights[:, :, r, c]).all()
                continue
            seen = [attention_mask(x, kind, 0)[at] for x, at in ((a, i), (b, j))]
            assert found.blocked[r, c] == (not seen[0][k] and not seen[1][m])
            for layer in range(2):
                x, y = (run_[f"{attention_path(kind, layer)}.weights"][0, :, t, s].astype(float) * (seen_.sum() if uniform else 1)
                        for run_, t, s, seen_ in ((a, i, k, seen[0]), (b, j, m, seen[1])))
                np.testing.assert_allclose(found.values[layer, :, r, c], x - y, atol=1e-5)
                np.testing.assert_array_equal(apart.weights[layer, :, r, c], found.values[layer, :, r, c])
                some |= bool(np.abs(x - y).max() > 1e-3)
    assert some


def test_words_are_subtracted_between_words() -> None:
    a, b = (run(CONFIG, [text], ["x"], weights=MODEL, tokenizer="character") for text in ("ab cd", "ab efg cd"))
    words = tuple(query_key_words(c, "encoder", 0, untrained_tokenizers(CONFIG, "character")) for c in (a, b))
    rows, cols = position_pairs(align_runs(a, b), "encoder", words)
    assert rows == cols == ((0, 0), (1, 1), (None, 2), (None, 3), (2, 4))
    found = head_difference(collect_heads(a, "encoder", 0, words[0]), collect_heads(b, "encoder", 0, words[1]), rows, cols)
    assert found.queries == found.keys == ("ab", "␣", "– | efg", "– | ␣", "cd") and found.run_label == "A − B"
    x, y = (word_weights(c[f"{attention_path('encoder', 1)}.weights"][0], *(side.word_ids for side in pair))
            for c, pair in zip((a, b), words, strict=True))
    there = np.ix_(range(CONFIG.n_heads), [0, 1, 4], [0, 1, 4])
    np.testing.assert_allclose(found.weights[1][there], x - y[there], atol=1e-6)


def test_the_same_run_has_no_difference_and_long_ones_are_pooled() -> None:
    a, __ = runs(" ".join("abcdefgh"))
    places = tuple((i, i) for i in range(8))
    found = pooled_head_difference(head_difference(collect_heads(a, "encoder"), collect_heads(a, "encoder"), places, places), 3)
    assert not found.values.any() and found.values.shape[2:] == (3, 3) and found.block_shape == (3, 3)


def test_a_block_keeps_its_largest_number_with_its_sign() -> None:
    x = np.array([[1.0, -3.0, 0.5], [2.0, 0.0, -0.25], [np.nan, 0.0, 0.0]])
    np.testing.assert_array_equal(max_abs_pool(x, 2), [[-3.0, 0.5], [np.nan, 0.0]])


def test_heads_are_subtracted_only_where_both_have_as_many() -> None:
    a, b = runs()
    assert have_same_heads(a, b, "cross")
    for switches in ({"n_heads": 4}, {"n_decoder_layers": 1}):
        other = run(small(source_vocab_size=50, target_vocab_size=50, **switches), ["it was tired"], ["x y"])
        assert not have_same_heads(a, other, "cross") and not have_same_heads(other, a, "cross")
