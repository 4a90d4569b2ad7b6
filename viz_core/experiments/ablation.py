"""Ablation: run the same batch with heads switched off, unscaled scores, or another softmax temperature.

A tap (`viz_core.tracing`) edits the stages: everything that the model computes after an edit follows from it, and the
parameters and the intact run stay as they are.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from viz_core.capture import Capture
from viz_core.config import TransformerConfig
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.tracing import Edit

Head = tuple[str, int]  # path of an attention, such as "decoder.layers.1.cross_attn", and a head of it
KEPT = ("ids.*", "masks.*", "*.weights", "*.final_norm.out", "*.norm_ffn.out", "*.resid_post", "*.embed", "logits", "probs", "loss")


@dataclass(frozen=True, slots=True)
class Ablation:
    """What to change: heads whose z is set to 0, the scale 1/√d_k left out, scores ÷ temperature before every softmax."""

    off: frozenset[Head] = frozenset()
    unscaled: bool = False
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature={self.temperature} is not a positive number; use 1 to change nothing.")

    @property
    def nothing(self) -> bool:
        return self == Ablation()


def edit(ablation: Ablation, config: TransformerConfig) -> Edit:
    """The tap that edits one run. Make a new one for each run, since it remembers that run's products."""
    raw: dict[str, Tensor] = {}

    def tap(name: str, x: Tensor) -> Tensor:
        path, _, leaf = name.rpartition(".")
        if leaf == "raw_scores":
            raw[path] = x
        elif leaf == "scores" and ablation.unscaled:
            return raw.pop(path)  # [B, H, T, S]
        elif leaf == "masked_scores" and ablation.temperature != 1:
            return torch.where(x == config.fill, x, x / ablation.temperature)  # blocked keys stay blocked
        elif leaf == "z" and (heads := [h for p, h in ablation.off if p == path]):
            is_off = torch.zeros(x.shape[1], dtype=torch.bool, device=x.device)
            is_off[heads] = True
            return x.masked_fill(is_off[:, None, None], 0.0)  # [B, H, T, V]
        return x

    return tap


def ablated_run(model: Transformer, batch: Batch, ablation: Ablation, seed: int = 0) -> Capture:
    """The ablated run: attention weights, the output of each layer, and predictions."""
    return trace(model, batch, seed=seed, keep=KEPT, tap=edit(ablation, model.config))
