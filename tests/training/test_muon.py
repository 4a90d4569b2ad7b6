"""Muon's step against the singular vectors of the gradient, and which parameters take it."""

import torch

from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.training.muon import WEIGHT_DECAY, MuonAndAdam, layer_matrices

CONFIG = TransformerConfig(
    d_model=16, n_heads=2, d_ff=24, n_encoder_layers=1, n_decoder_layers=1, source_vocab_size=9, target_vocab_size=11, max_len=8,
)


def optimizer(model: Transformer, times: float = 4.0) -> MuonAndAdam:
    return MuonAndAdam(model, times, (0.9, 0.98), 1e-9)


def test_the_matrices_of_the_layers_take_muon_and_all_others_adam() -> None:
    model = Transformer(CONFIG, 0)
    found = {name for name, p in model.named_parameters() if any(p is m for m in layer_matrices(model))}
    assert found == {name for name, p in model.named_parameters() if ".layers." in name and p.ndim == 2}
    assert len(found) == 4 + 2 + 8 + 2  # attention and feed-forward of the encoder; two attentions of the decoder
    ours = optimizer(model)
    given = [p for group in ours.param_groups for p in group["params"]]
    assert len(given) == len({id(p) for p in given}) == len(list(model.parameters()))


def test_a_first_step_goes_along_all_singular_vectors_alike() -> None:
    """U S Vᵀ becomes U S' Vᵀ with all S' near 1, times the rate, and √(rows / columns) where a matrix is tall."""
    model = Transformer(CONFIG, 0)
    gradients = {}
    for p in model.parameters():
        p.grad = gradients[p] = torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel()))
    before = {p: p.detach().clone() for p in model.parameters()}
    ours, rate = optimizer(model), 1e-2
    for group in ours.param_groups:
        group["lr"] = rate * group.get("times", 1.0)
    ours.step()
    for p in layer_matrices(model):
        u, s, v = torch.linalg.svd(gradients[p], full_matrices=False)
        assert s.max() / s.min() > 3  # the gradient itself is far from orthogonal
        shrunk = before[p] * (1 - 4 * rate * WEIGHT_DECAY)
        step = u.T @ (shrunk - p.detach()) @ v.T / (4 * rate * max(1.0, p.shape[0] / p.shape[1]) ** 0.5)
        assert step.diagonal().median() > 0.7 and step.diagonal().min() > 0.3 and step.diagonal().max() < 1.3
        assert (step - step.diagonal().diag()).abs().max() < 0.1
    for p in set(model.parameters()) - set(layer_matrices(model)):  # Adam's first step is the rate, in the direction of the sign
        torch.testing.assert_close(before[p] - p.detach(), rate * gradients[p].sign(), atol=1e-6, rtol=0)


def test_what_no_gradient_asks_for_shrinks() -> None:
    model = Transformer(CONFIG, 0)
    before = [p.detach().clone() for p in layer_matrices(model)]
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    ours = optimizer(model)
    for group in ours.param_groups:
        group["lr"] = 1e-2 * group.get("times", 1.0)
    ours.step()
    for p, old in zip(layer_matrices(model), before, strict=True):
        torch.testing.assert_close(p.detach(), old * (1 - 4e-2 * WEIGHT_DECAY))
    assert WEIGHT_DECAY > 0


def test_old_gradients_are_forgotten() -> None:
    model = Transformer(CONFIG, 0)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    optimizer(model).zero_grad()
    assert all(p.grad is None for p in model.parameters())
