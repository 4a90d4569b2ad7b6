"""Coverage against loops over the formula, and what it tells of translations that are known."""

import numpy as np
import pytest
from torch import Tensor

from tests.tolerances import FLOAT
from viz_core.analysis.coverage import coverage, uncovered_positions
from viz_core.config import TransformerConfig
from viz_core.run import run
from viz_core.weights.catalogue import catalogue

CONFIG = TransformerConfig(d_model=8, n_heads=2, n_encoder_layers=1, n_decoder_layers=2, source_vocab_size=60, target_vocab_size=60)
EOS = 2


def test_it_is_the_formula() -> None:
    capture = run(CONFIG, ["a b c", "d"], ["u v", "w x y z"], seed=1)
    writes, reads = (1, 0), (0, 1)
    for item, n_words in ((0, 2), (1, 4)):
        here = capture["decoder.layers.1.cross_attn.weights"][item, 0], capture["decoder.layers.0.cross_attn.weights"][item, 1]
        expected = np.zeros(3)
        for j in range(n_words):
            probs = capture["probs"][item, j]
            q = probs[capture["ids.labels"][item, j]] / probs.max()
            for s in range(3):
                expected[s] += q * (here[0][j, s] + here[1][j + 1, s]) / 2
        np.testing.assert_allclose(coverage(capture, writes, reads, eos_id=EOS, item=item), expected, rtol=FLOAT)


def test_the_last_word_of_a_text_that_was_cut_off_is_read_by_no_row() -> None:
    capture = run(CONFIG, ["a b c"], [[10, 11, 12]], seed=1)  # ids without <eos>
    assert capture["ids.labels"].tolist() == [[10, 11, 12]]
    q = [capture["probs"][0, j, id] / capture["probs"][0, j].max() for j, id in enumerate((10, 11, 12))]
    weights = capture["decoder.layers.0.cross_attn.weights"][0]
    expected = sum(q[j] * weights[0, j] / 2 for j in range(3)) + sum(q[j] * weights[1, j + 1] / 2 for j in range(2))
    np.testing.assert_allclose(coverage(capture, (0, 0), (0, 1), eos_id=EOS), expected, rtol=FLOAT)


def test_a_word_that_no_row_looks_at_has_none() -> None:
    def elsewhere(name: str, x: Tensor) -> Tensor:
        return x * x.new_tensor([0.5, 0, 0.5]) if name.endswith("cross_attn.weights") else x

    capture = run(CONFIG, ["dog cat the"], ["u v"], seed=1, tap=elsewhere)
    covered = coverage(capture, (0, 0), (1, 1), eos_id=EOS)
    assert covered[1] == 0 < covered[0]
    assert uncovered_positions(["dog", "cat", "the"], covered, 1e-9) == [1]
    assert uncovered_positions(["dog", "cat", "the"], covered, 99.0) == [0, 1], "the third is a function word"


def test_without_a_causal_mask_there_is_none() -> None:
    capture = run(TransformerConfig(d_model=8, n_heads=2, causal=False, source_vocab_size=60, target_vocab_size=60), ["a"], ["b"])
    with pytest.raises(ValueError, match="is_causal"):
        coverage(capture, (0, 0), (0, 0), eos_id=EOS)


@pytest.mark.parametrize(("source", "target", "lost"), [
    ("the dog chased the cat", "狗 追 了 猫", []),
    ("my mother bought a new car yesterday", "我 的 妈妈 昨天 买 了 一 辆 车", ["new"]),
    ("the dog chased the cat", "狗 追 了", ["cat"]),
    ("the cat sat on the mat", "猫 坐 在 垫子 上", []),
    ("the cat sat on the mat", "猫 坐", ["mat"]),
    ("John loves Mary", "John 爱", ["Mary"]),
])
def test_the_translator_says_what_a_translation_lost(source: str, target: str, lost: list[str]) -> None:
    card = catalogue()["translator"]
    told = card.lost_words
    assert told is not None
    capture = run(card.config, [source], [target], weights=card)
    tokens = capture.tokens("source")[0]
    covered = coverage(capture, told.predicting_head, told.reading_head, eos_id=card.tokenizers()["target"].eos_id)
    assert [tokens[s] for s in uncovered_positions(tokens, covered, told.threshold)] == lost
