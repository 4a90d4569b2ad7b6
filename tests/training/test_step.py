"""One step of training against the same step written with torch's own modules and optimizer."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.tolerances import DOUBLE
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.step import deterministic_algorithms, make_adam, single_thread, train_step

CONFIG = TransformerConfig(
    d_model=16, n_heads=2, n_encoder_layers=2, n_decoder_layers=2, d_ff=24, source_vocab_size=11, target_vocab_size=12, dropout=0.0,
    max_len=10,
)
IDS = torch.Generator().manual_seed(3)
BATCH = {
    "source": torch.randint(1, 11, (5, 7), generator=IDS), "target": torch.randint(1, 12, (5, 6), generator=IDS),
    "labels": torch.randint(0, 12, (5, 6), generator=IDS),  # some are padding
}


def copied_attention(ours: nn.Module, d: int) -> dict[str, Tensor]:
    return {
        "in_proj_weight": torch.cat([ours.w_q.weight, ours.w_k.weight, ours.w_v.weight]),
        "in_proj_bias": torch.cat([ours.w_q.bias, ours.w_k.bias, ours.w_v.bias]),
        "out_proj.weight": ours.w_o.weight, "out_proj.bias": ours.w_o.bias,
    }


def torchs_own(model: Transformer) -> nn.ModuleDict:
    """nn.Transformer's layers, nn.Embedding and nn.Linear with copies of a model's weights, in float64."""
    c = model.config
    options = {"dropout": 0.0, "batch_first": True, "norm_first": c.norm == "pre", "dtype": torch.float64}
    parts = nn.ModuleDict({
        "encoder": nn.ModuleList(nn.TransformerEncoderLayer(c.d_model, c.n_heads, c.ff_width, **options) for _ in range(2)),
        "decoder": nn.ModuleList(nn.TransformerDecoderLayer(c.d_model, c.n_heads, c.ff_width, **options) for _ in range(2)),
        "source": nn.Embedding(11, c.d_model), "target": nn.Embedding(12, c.d_model), "head": nn.Linear(c.d_model, 12),
    }).double()
    norms = {"encoder": ("self_attn", "ffn"), "decoder": ("self_attn", "cross_attn", "ffn")}
    for name, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for theirs, ours in zip(parts[name], stack.layers, strict=True):
            theirs.self_attn.load_state_dict(copied_attention(ours.self_attn, c.d_model))
            if name == "decoder":
                theirs.multihead_attn.load_state_dict(copied_attention(ours.cross_attn, c.d_model))
            theirs.linear1.load_state_dict(ours.ffn.w_in.state_dict())
            theirs.linear2.load_state_dict(ours.ffn.w_out.state_dict())
            for i, norm in enumerate(norms[name], start=1):
                getattr(theirs, f"norm{i}").load_state_dict(getattr(ours, f"norm_{norm}").state_dict())
    parts["source"].load_state_dict(model.encoder.tok_embedding.state_dict())
    parts["target"].load_state_dict(model.decoder.tok_embedding.state_dict())
    parts["head"].load_state_dict(model.head.state_dict())
    return parts


def torchs_loss(parts: nn.ModuleDict) -> Tensor:
    """Post-LN, sinusoidal positions, a causal decoder that masks padded keys; the labels that are 0 do not count."""
    d = parts["head"].in_features
    angles = torch.arange(10, dtype=torch.float64)[:, None] / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    x = parts["source"](BATCH["source"]) * math.sqrt(d) + waves[:7]
    for layer in parts["encoder"]:
        x = layer(x)
    y = parts["target"](BATCH["target"]) * math.sqrt(d) + waves[:6]
    later = torch.ones(6, 6, dtype=torch.bool).triu(1)
    for layer in parts["decoder"]:
        y = layer(y, x, tgt_mask=later)
    return F.cross_entropy(parts["head"](y).transpose(1, 2), BATCH["labels"], ignore_index=0)


def test_a_step_is_that_of_torchs_own_modules_and_optimizer() -> None:
    model = Transformer(CONFIG, 0).double().train()
    parts = torchs_own(model)
    theirs, ours = torch.optim.Adam(parts.parameters(), lr=1e-2), make_adam(model)
    for _ in range(4):
        step = train_step(model, ours, BATCH, 1e-2)
        loss = torchs_loss(parts)
        theirs.zero_grad()
        loss.backward()
        norm = math.sqrt(sum(float(p.grad.square().sum()) for p in parts.parameters()))
        assert step.loss == pytest.approx(loss.item(), abs=1e-6) and step.grad_norm == pytest.approx(norm, rel=1e-5)
        theirs.step()
    assert step.loss < 2.6
    torch.testing.assert_close(model.head.weight, parts["head"].weight, atol=1e-5, rtol=0)


def test_the_gradient_is_clipped_by_its_whole_norm_and_told_before() -> None:
    free, clipped = Transformer(CONFIG, 0).double(), Transformer(CONFIG, 0).double()
    parts = [list(free.encoder.parameters()), list(free.decoder.parameters()), list(free.head.parameters())]
    seen = train_step(free, make_adam(free), BATCH, 1e-3, parameter_groups=parts)
    assert (
        math.sqrt(sum(n * n for n in seen.group_grad_norms)) == pytest.approx(seen.grad_norm, rel=DOUBLE) and seen.grad_norm > 0.5
    )
    optimizer = torch.optim.SGD(clipped.parameters())
    before = nn.utils.parameters_to_vector(clipped.parameters()).detach().clone()
    assert train_step(clipped, optimizer, BATCH, 1.0, max_grad_norm=0.5).grad_norm == pytest.approx(seen.grad_norm)
    moved = nn.utils.parameters_to_vector(clipped.parameters()).detach() - before
    assert float(moved.norm()) == pytest.approx(0.5, rel=1e-4)  # torch divides by the norm + 1e-6


def test_a_step_that_is_not_finite_changes_nothing() -> None:
    model = Transformer(replace(CONFIG, norm="none"), 0)
    with torch.no_grad():
        model.head.weight[0, 0] = math.inf
    before = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
    assert not train_step(model, make_adam(model), BATCH, 1e-3).is_finite
    assert torch.equal(nn.utils.parameters_to_vector(model.parameters()), before)


def test_the_number_of_threads_and_the_random_state_come_back() -> None:
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    with single_thread(), deterministic_algorithms(5):
        assert torch.get_num_threads() == 1
        first = torch.rand(3)
    assert torch.get_num_threads() == threads and torch.equal(torch.random.get_rng_state(), state)
    torch.rand(1)
    with deterministic_algorithms(5):
        assert torch.equal(torch.rand(3), first) and torch.are_deterministic_algorithms_enabled()
    with deterministic_algorithms(6):
        assert not torch.equal(torch.rand(3), first)
