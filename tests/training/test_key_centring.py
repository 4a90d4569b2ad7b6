"""Keys are moved to a mean of zero, and nothing that a model computes from its scores changes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from viz_core.config import Architecture, TransformerConfig
from viz_core.model.attention import Attention
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.text import Vocabulary
from viz_core.training.encoding import encode_pairs
from viz_core.training.examples import HELD_OUT_SEED
from viz_core.training.shipped.key_centring import centre_keys
from viz_core.training.shipped.plans import PLANS
from viz_core.training.shipped.sentence_sampling import sample_part
from viz_core.weights.catalogue import SHIPPED_FOLDER
from viz_core.weights.checkpoint import load
from viz_core.weights.stored_card import StoredCard

SMALL = TransformerConfig(
    d_model=16, n_heads=2, d_ff=32, n_encoder_layers=2, n_decoder_layers=2, source_vocab_size=20, target_vocab_size=20, dropout=0.0
)
FAR = 30.0  # how far the keys of a model of these tests have wandered


def wandered(config: TransformerConfig) -> Transformer:
    """A model whose keys are far from 0, as they are after a long training."""
    model = Transformer(config, 0).eval()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, Attention) and module.w_k.bias is not None:
                module.w_k.bias += FAR
    return model


def some_ids(config: TransformerConfig, n: int = 300) -> dict[str, torch.Tensor]:
    """[N, 8] of each side, with padding behind two to eight tokens."""
    rng = np.random.default_rng(0)
    ids = {}
    for side in config.sides:
        rows = rng.integers(4, 20, (n, 8))
        rows[np.arange(8) >= rng.integers(2, 9, (n, 1))] = config.pad_id(side)
        ids[side] = torch.from_numpy(rows)
    return ids


def captured(model: Transformer, ids: dict[str, torch.Tensor], name: str) -> dict[str, np.ndarray]:
    capture = trace(model, Batch({side: rows.numpy() for side, rows in ids.items()}, {}), keep=[f"*.{name}"])
    return {key: np.asarray(capture[key]) for key in capture}


def largest(arrays: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(x).max()) for x in arrays.values())


def biases(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters() if name.endswith("w_k.bias")}


@pytest.mark.parametrize("architecture", ["encoder-decoder", "encoder-only", "decoder-only"])
def test_the_mean_key_is_zero_and_no_attention_weight_changes(architecture: Architecture) -> None:
    config = replace(SMALL, architecture=architecture)
    model, ids = wandered(config), some_ids(config)
    before, apart = captured(model, ids, "weights"), captured(model, ids, "scores")
    centre_keys(model, ids)
    after, scores, keys = (captured(model, ids, name) for name in ("weights", "scores", "k"))
    assert before and all(np.allclose(before[name], after[name], atol=2e-5) for name in before)
    assert largest(apart) > 10 * largest(scores)
    for name, k in keys.items():
        side = "source" if name.startswith("encoder.") or "cross_attn" in name else "target"
        real = (ids[side] != config.pad_id(side)).numpy()  # [B, S]
        assert np.allclose(k.swapaxes(1, 2)[real].mean(axis=0), 0, atol=1e-4), name
        assert not np.allclose(k.mean(axis=(0, 2)), 0, atol=1e-3), f"{name}: padding must not count"


def test_keys_that_turn_with_their_position_stay_as_they_are() -> None:
    model = wandered(replace(SMALL, position="rope"))
    before = biases(model)
    centre_keys(model, some_ids(model.config))
    moved = {name for name, bias in biases(model).items() if not torch.equal(bias, before[name])}
    assert moved == {name for name in before if "cross_attn" in name}


def test_keys_without_a_bias_stay_as_they_are() -> None:
    model = wandered(replace(SMALL, attention_bias=False))
    before = [p.detach().clone() for p in model.parameters()]
    centre_keys(model, some_ids(model.config))
    assert all(map(torch.equal, before, model.parameters()))


@pytest.mark.parametrize("name", PLANS)
def test_the_scores_of_a_shipped_checkpoint_can_be_read(name: str) -> None:
    """On sentences that the mean was not taken over, too, no head has its scores far from 0 as a whole."""
    card, plan = StoredCard.read(SHIPPED_FOLDER / f"{name}.json"), PLANS[name]
    vocabulary = {side: Vocabulary(tuple(words)) for side, words in card.vocabulary.items()}
    pairs, __ = sample_part(HELD_OUT_SEED, 100)
    ids = encode_pairs(card.config, [(s, t) if plan.is_translation else plan.as_pair(s) for s, t in pairs], vocabulary)
    model = load(SHIPPED_FOLDER / f"{name}.safetensors", card.config)
    for layer, scores in captured(model, {side: ids[side] for side in card.config.sides}, "scores").items():
        middle = np.abs(scores.mean(axis=(0, 2, 3)))  # [H]
        assert middle.max() < 3, f"{layer}: {middle}"
