"""Cross-entropy of a model with a large vocabulary, computed in chunks of rows.

The logits of a whole batch, their softmax and their gradients are about 600 × 5,000 numbers each, more than the processor's cache
holds. Chunks stay in the cache (as in Wijmans et al. 2024, "Cut Your Losses in Large-Vocabulary Language Models").
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from viz_core.model.masks import make_masks
from viz_core.model.transformer import Transformer
from viz_core.tracing import NO_TAP, Tap

CHUNK_ROWS = 128  # times 5,000 words in single precision: 2.6 MB


def chunked_cross_entropy(
    model: Transformer, source: Tensor | None, target: Tensor | None, labels: Tensor, tap: Tap = NO_TAP
) -> Tensor:
    """Return the mean cross-entropy [], equal to `model(source, target, labels).loss`, with the same gradients.

    The logits of all rows are never in memory at once. Probabilities are clamped to the smallest normal number of their dtype, so
    the loss of a label is at most 87 in float32.
    """
    assert model.head is not None
    hidden = model.hidden_states(source, target, make_masks(model.config, source, target), tap).flatten(0, 1)  # [B·T, D]
    labels = labels.flatten()  # [B·T]
    real = labels != model.config.pad_id(model.config.output_side)  # [B·T]
    if torch.is_autocast_enabled(labels.device.type):
        hidden = hidden.to(torch.get_autocast_dtype(labels.device.type))
    loss: Tensor = _CrossEntropy.apply(hidden[real], model.head.weight, model.head.bias, labels[real])  # []
    return loss


class _CrossEntropy(torch.autograd.Function):
    """The mean cross-entropy of softmax(x Wᵀ + b); the gradient is computed in the forward pass.

    ∂loss / ∂logits = (probs − one-hot label) / N, with N the number of labels.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy, []. x: [N, D]; weight: [W, D]; bias: [W]; labels: [N].

        Matrix products have the dtype of x; the softmax and sums over rows have the dtype of the weights.
        """
        n, w, b = len(x), weight.to(x.dtype), None if bias is None else bias.to(x.dtype)
        loss, d_x, d_weight = weight.new_zeros(()), torch.empty_like(x), torch.zeros_like(weight)  # [], [N, D], [W, D]
        d_bias = None if bias is None else torch.zeros_like(bias)  # [W]
        for rows, d_rows, wanted in zip(x.split(CHUNK_ROWS), d_x.split(CHUNK_ROWS), labels[:, None].split(CHUNK_ROWS), strict=True):
            probs = F.linear(rows, w, b).softmax(dim=-1, dtype=weight.dtype)  # [R, W]
            loss -= probs.gather(1, wanted).clamp_min(torch.finfo(probs.dtype).tiny).log().sum() / n
            d_logits = probs.scatter_add_(1, wanted, -torch.ones_like(wanted, dtype=probs.dtype))  # [R, W], N times the gradient
            if d_bias is not None:
                d_bias += d_logits.sum(dim=0) / n
            d_logits = d_logits.to(x.dtype)
            d_rows.copy_(d_logits @ w / n)  # [R, D]
            d_weight += d_logits.T @ rows / n  # [W, D]
        ctx.save_for_backward(d_x, d_weight, d_bias)
        return loss

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, weight and bias, and None for the labels. grad: the gradient of the loss, []."""
        return *(None if d is None else d * grad[0].to(d.dtype) for d in ctx.saved_tensors), None
