"""Break it: the same batch once more with heads switched off, unscaled scores, or another softmax temperature.

The edits are those of an editing tap (`viz_core.tracing`): what the model computes after the edit follows from it, and
its parameters and the intact run stay as they are.
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
class Breakage:
    """What is broken: heads whose z is 0, the 1/√d_k left out everywhere, scores ÷ temperature before every softmax."""

    off: frozenset[Head] = frozenset()
    unscaled: bool = False
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature={self.temperature} is not a positive number; 1 changes nothing.")

    @property
    def nothing(self) -> bool:
        return self == Breakage()


def edit(breakage: Breakage, config: TransformerConfig) -> Edit:
    """The tap that breaks one run; made anew for each, since it remembers that run's products."""
    raw: dict[str, Tensor] = {}

    def tap(name: str, x: Tensor) -> Tensor:
        path, _, leaf = name.rpartition(".")
        if leaf == "raw_scores":
            raw[path] = x
        elif leaf == "scores" and breakage.unscaled:
            return raw.pop(path)  # [B, H, T, S]
        elif leaf == "masked_scores" and breakage.temperature != 1:
            return torch.where(x == config.fill, x, x / breakage.temperature)  # what is forbidden stays so
        elif leaf == "z" and (heads := [h for p, h in breakage.off if p == path]):
            gone = torch.zeros(x.shape[1], dtype=torch.bool, device=x.device)
            gone[heads] = True
            return x.masked_fill(gone[:, None, None], 0.0)  # [B, H, T, V]
        return x

    return tap


def break_run(model: Transformer, batch: Batch, breakage: Breakage, seed: int = 0) -> Capture:
    """The broken run: attention weights, what leaves each layer, and predictions."""
    return trace(model, batch, seed=seed, keep=KEPT, tap=edit(breakage, model.config))
