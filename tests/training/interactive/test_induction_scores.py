"""The induction score, recomputed row by row, and on heads that are known to be induction heads or not."""

import numpy as np
import pytest

from tests.training.interactive.small import recipe
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.training.interactive.induction_scores import (
    find_targets,
    score_capture,
    score_layer,
    score_model,
    score_repeated_blocks,
)
from viz_core.training.interactive.training_run import TrainingRun

OWN = recipe(**{"task": "induction", "parameters": {"length": 12, "symbols": 6}, "config.architecture": "decoder-only",
                "config.n_decoder_layers": 2})


def slowly(weights: np.ndarray, ids: list[list[int]]) -> list[float]:
    """Each head's mean weight, with loops alone: for each query, look back for its token; the key is the one behind it."""
    found: list[list[float]] = [[] for _ in range(weights.shape[1])]
    for b, row in enumerate(ids):
        for t in range(len(row)):
            for s in range(t - 1, -1, -1):
                if row[s] == row[t]:
                    if s + 1 < t:
                        for h, numbers in enumerate(found):
                            numbers.append(float(weights[b, h, t, s + 1]))
                    break
    return [sum(numbers) / len(numbers) for numbers in found]


def test_the_score_is_that_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(3, size=(4, 9))
    weights = rng.random((4, 2, 9, 9))
    assert score_layer(weights, ids) == pytest.approx(slowly(weights, ids.tolist()))
    model = TrainingRun(OWN).model
    rows = {"target": OWN.held_out_batch()["target"].numpy()}
    capture = trace(model, Batch(rows, {"target": [[""] * 12] * len(rows["target"])}), keep=["*.weights"])
    found = score_model(model, rows)
    assert found is not None and found.shape == (2, 2)
    for layer in range(2):
        expected = slowly(capture[f"decoder.layers.{layer}.self_attn.weights"], rows["target"].tolist())
        assert found[layer] == pytest.approx(expected)


def test_what_is_looked_up() -> None:
    assert find_targets(np.array([[7, 8, 9, 7, 7, 8]])) == [(0, 3, 1), (0, 5, 2)]  # 7 7 looks up nothing: what followed is itself
    assert score_layer(np.ones((1, 2, 3, 3)), np.array([[1, 2, 3]])) is None


def test_a_perfect_head_scores_one_and_a_uniform_one_its_share() -> None:
    ids = np.array([[4, 5, 6, 4, 5, 6]])
    perfect, uniform = np.zeros((6, 6)), np.tril(np.ones((6, 6))) / np.arange(1, 7)[:, None]
    for t in (3, 4, 5):
        perfect[t, t - 2] = 1.0
    found = score_layer(np.stack([perfect, uniform])[None], ids)
    assert found == pytest.approx([1.0, (1 / 4 + 1 / 5 + 1 / 6) / 3])


def test_random_repeats_and_a_persons_own_sentence() -> None:
    model = Transformer(OWN.config, 0)
    found = score_repeated_blocks(model, 6, 5, first_id=4)
    assert found.shape == (2, 2) and (found > 0).all() and (found < 0.5).all()
    assert np.array_equal(found, score_repeated_blocks(model, 6, 5, first_id=4)) and not np.array_equal(
        found, score_repeated_blocks(model, 6, 5, 4, seed=1)
    )
    with pytest.raises(ValueError, match="at least 2 symbols"):
        score_repeated_blocks(model, 6, 1, first_id=4)
    read = OWN.task_definition.read_sentence(OWN.parameters, OWN.config, ["the", "cat", "saw", "the", "dog"])
    seen = read.run_model(model)
    weights, own = seen["decoder.layers.0.self_attn.weights"], score_capture(seen, OWN.config, read.ids)
    assert own is not None and own[0] == pytest.approx(weights[0, :, 4, 2])  # behind <bos>: the second "the" looks at "cat"
    once = OWN.task_definition.read_sentence(OWN.parameters, OWN.config, ["no", "word", "twice"])
    assert score_capture(once.run_model(model), OWN.config, once.ids) is None
