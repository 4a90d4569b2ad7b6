"""Ablation: what an editing tap does is what the same change by hand does, and the intact run stays as it was."""

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch

from tests.tolerances import FLOAT
from viz_core.analysis.attention import hidden_stage
from viz_core.config import TransformerConfig
from viz_core.experiments import ablation
from viz_core.experiments.ablation import Ablation, ablate_each_head, ablated_run
from viz_core.run import Batch, build, prepare, trace

SMALL = {"d_model": 24, "n_heads": 3, "n_encoder_layers": 2, "n_decoder_layers": 2, "d_ff": 16, "source_vocab_size": 60,
         "target_vocab_size": 60, "max_len": 40}
CROSS, SELF = "decoder.layers.1.cross_attn", "encoder.layers.0.self_attn"


def made(**more: object) -> tuple[torch.nn.Module, Batch]:
    config = TransformerConfig(**(SMALL | more))
    return build(config, seed=5), prepare(config, ["the cat sat on the mat", "a dog"], ["猫 坐在 垫子 上", "狗"])


def test_a_head_switched_off_is_a_z_of_zeros_and_columns_of_zeros() -> None:
    model, batch = made()
    intact = trace(model, batch)
    broken = ablated_run(model, batch, Ablation(heads=frozenset({(CROSS, 1), (SELF, 0), (SELF, 2)})))

    def by_hand(name: str, x: torch.Tensor) -> torch.Tensor:
        if name == f"{CROSS}.z":
            return torch.stack([x[:, 0], torch.zeros_like(x[:, 1]), x[:, 2]], dim=1)
        if name == f"{SELF}.z":
            return torch.stack([torch.zeros_like(x[:, 0]), x[:, 1], torch.zeros_like(x[:, 2])], dim=1)
        return x

    expected = trace(model, batch, tap=by_hand)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.get_submodule(CROSS).w_o.weight[:, 8:16] = 0
        other.get_submodule(SELF).w_o.weight[:, [*range(8), *range(16, 24)]] = 0
    without = trace(other, batch)
    assert "logits" in broken and f"{CROSS}.weights" in broken
    for name in broken:
        np.testing.assert_array_equal(broken[name], expected[name], err_msg=name)
        np.testing.assert_allclose(broken[name], without[name], atol=FLOAT, err_msg=name)
    assert np.abs(broken["logits"] - intact["logits"]).max() > 1e-3
    np.testing.assert_array_equal(intact["logits"], trace(model, batch)["logits"])  # nothing is left behind


@pytest.mark.parametrize("switches", [{}, {"position": "alibi"}, {"mask_fill": -1e9}])
def test_a_temperature_divides_what_the_softmax_sees(switches: dict) -> None:
    model, batch = made(**switches)
    intact = trace(model, batch)
    broken = ablated_run(model, batch, Ablation(temperature=0.5))
    first = f"{SELF}.weights"
    scores = intact[f"{SELF}.masked_scores"].astype(np.float64)  # layer 0 sees the same input
    powers = np.where(intact["masks.source"], np.exp(scores / 0.5), 0)
    np.testing.assert_allclose(broken[first], powers / powers.sum(-1, keepdims=True), atol=FLOAT)
    assert np.abs(broken[first] - intact[first]).max() > 1e-3


@pytest.mark.parametrize("scaled", [True, False])
def test_without_the_scale_it_is_the_model_without_that_switch(scaled: bool) -> None:
    model, batch = made(scale_scores=scaled)
    unscaled = build(TransformerConfig(**SMALL, scale_scores=False), seed=5)
    broken, expected = ablated_run(model, batch, Ablation(unscaled=True)), trace(unscaled, batch)
    for name in broken:
        np.testing.assert_array_equal(broken[name], expected[name], err_msg=name)


def test_all_at_once_and_nothing_at_all() -> None:
    model, batch = made()
    intact, same = trace(model, batch), ablated_run(model, batch, Ablation())
    for name in same:
        np.testing.assert_array_equal(same[name], intact[name])
    assert Ablation().is_empty and not Ablation(unscaled=True).is_empty
    everything = Ablation(frozenset({(CROSS, h) for h in range(3)}), unscaled=True, temperature=2.0)
    assert np.isfinite(ablated_run(model, batch, everything)["logits"]).all()


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_a_temperature_is_a_positive_number(temperature: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        Ablation(temperature=temperature)


SWITCHES = [{}, {"architecture": "decoder-only"}, {"architecture": "encoder-only", "head": False}]


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("most", [1, 2**22])
def test_each_head_switched_off_by_itself_is_a_run_of_its_own(
    switches: dict[str, Any], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "MAX_BATCH_NUMEL", most)  # one run a batch, or all of them
    model, batch = made(**switches)
    intact = trace(model, batch)
    stacks = [side for side in ("encoder", "decoder") if getattr(model.config, f"has_{side}")]
    paths = [f"{stack}.layers.{layer}.self_attn" for stack in stacks for layer in (0, 1)]
    paths += [CROSS] if model.config.has_cross_attention else []
    heads = [(path, head) for path in paths for head in range(3)]
    for item in (0, 1):  # the second sentence has padding in the batch
        found = ablate_each_head(model, intact, heads, item)
        n = len(intact.ids(model.config.output_side, item))
        for i, head in enumerate(heads):
            alone = ablated_run(model, batch, Ablation(frozenset({head})))
            if not model.config.has_head:
                name = hidden_stage(model.config)
                before, after = (run[name][item, :n].astype(np.float64) for run in (intact, alone))
                expected = np.mean(np.linalg.norm(after - before, axis=-1) / np.linalg.norm(before, axis=-1))
                assert found.n_changed[i] == 0
            else:
                p, q = (run["probs"][item, :n].astype(np.float64) for run in (intact, alone))
                expected = np.mean((p * np.log(p / q)).sum(axis=-1))
                assert found.n_changed[i] == (p.argmax(axis=-1) != q.argmax(axis=-1)).sum()
            assert found.prediction_shift[i] == pytest.approx(expected, abs=1e-5)
        assert all(
            (found.n_changed[i], found.prediction_shift[i])
            <= (found.n_changed[found.most_important], found.prediction_shift[found.most_important])
            for i in range(len(heads))
        )
    with pytest.raises(ValueError, match="at least one head"):
        ablate_each_head(model, intact, [])
