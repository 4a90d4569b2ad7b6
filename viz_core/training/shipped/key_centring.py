"""Centring of the keys of a trained model: the mean key of every head is set to 0, so that plotted scores are readable.

A constant c added to all keys of a head adds q·c to all scores of a query, which does not change the softmax of the row. So the
loss does not determine the key bias: its gradient is only rounding error, which Adam scales to full-sized steps. The bias can
drift until all scores of a head are hundreds below 0, and a plot shows no difference between keys.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from viz_core.config import Side
from viz_core.model.attention import Attention
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace

BATCH_SIZE = 250  # sentences of one forward pass


@torch.no_grad()
def centre_keys(model: Transformer, ids: Mapping[Side, Tensor]) -> None:
    """Set the mean key of every head to 0 by changing the key bias in place; attention weights do not change.

    ids: the sentences for the mean, source [N, S] and target [N, T], as returned by `encode_pairs`; padding does not count.
    Modules without a key bias are left as they are, and so are those with rotary positions, under which the bias does not
    add a constant to the scores of a query.
    """
    modules = {name: module for name, module in model.named_modules() if isinstance(module, Attention)}
    found = {name: module for name, module in modules.items() if _has_free_key_bias(name, module)}
    sides = {name: _key_side(name) for name in found}
    total = {name: np.zeros(module.w_k.out_features) for name, module in found.items()}  # [H·K]
    count = dict.fromkeys(found, 0)
    for start in range(0, len(next(iter(ids.values()))), BATCH_SIZE):
        part = {side: rows[start : start + BATCH_SIZE] for side, rows in ids.items() if side in model.config.sides}
        capture = trace(model, Batch({side: rows.numpy() for side, rows in part.items()}, {}), keep=[f"{name}.k" for name in found])
        for name in found:
            keys = capture[f"{name}.k"].swapaxes(1, 2)  # [B, S, H, K]
            real = part[sides[name]].numpy() != model.config.pad_id(sides[name])  # [B, S]
            total[name] += keys[real].sum(axis=0, dtype=np.float64).ravel()  # [H·K]
            count[name] += int(real.sum())
    for name, module in found.items():
        module.w_k.bias.sub_(torch.from_numpy(total[name] / count[name]).to(module.w_k.bias))


def _has_free_key_bias(name: str, attention: Attention) -> bool:
    rotates = attention.config.has_rotary_positions and name.endswith("self_attn")
    return attention.w_k.bias is not None and not rotates


def _key_side(name: str) -> Side:
    """Return the side whose tokens are the keys of an attention module."""
    return "source" if name.startswith("encoder.") or name.endswith("cross_attn") else "target"
