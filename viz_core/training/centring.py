"""Keys with a mean of zero in every head, so that the scores of a trained model can be read.

A constant c added to all keys of a head adds q·c to all scores of a query, and the softmax of a row does not change by that. So
no loss says what the bias of the keys should be: its gradient is nothing but rounding errors, which Adam turns into steps as
large as any others. The bias of a head can wander far away, and then all its scores are hundreds below 0, where a picture of them
shows no difference between one key and another.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from viz_core.config import Side
from viz_core.model.attention import Attention
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace

PART = 250  # sentences that are run at once


@torch.no_grad()
def centre_keys(model: Transformer, ids: Mapping[Side, Tensor]) -> None:
    """Moves the mean key of every head to 0 by the bias of the keys, in place; no attention weight changes by it.

    ids: sentences that the mean is taken over, source [N, S] and target [N, T], as `encode` gives them; padding does not count.
    Where keys have no bias, or turn with their position, which makes the constant another one at each position, all stays as it is.
    """
    found = {name: module for name, module in model.named_modules() if isinstance(module, Attention) and _is_free(module)}
    sides = {name: _side(name) for name in found}
    total = {name: np.zeros(module.w_k.out_features) for name, module in found.items()}  # [H·K]
    count = dict.fromkeys(found, 0)
    for start in range(0, len(next(iter(ids.values()))), PART):
        part = {side: rows[start : start + PART] for side, rows in ids.items() if side in model.config.sides}
        capture = trace(model, Batch({side: rows.numpy() for side, rows in part.items()}, {}), keep=[f"{name}.k" for name in found])
        for name in found:
            keys = capture[f"{name}.k"].swapaxes(1, 2)  # [B, S, H, K]
            real = part[sides[name]].numpy() != model.config.pad_id(sides[name])  # [B, S]
            total[name] += keys[real].sum(axis=0, dtype=np.float64).ravel()  # [H·K]
            count[name] += int(real.sum())
    for name, module in found.items():
        module.w_k.bias.sub_(torch.from_numpy(total[name] / count[name]).to(module.w_k.bias))


def _is_free(attention: Attention) -> bool:
    return attention.w_k.bias is not None and (attention.cross or not attention.config.rotates)


def _side(name: str) -> Side:
    """The side whose tokens an attention has as its keys."""
    return "source" if name.startswith("encoder.") or name.endswith("cross_attn") else "target"
