"""Ablation: run the same batch with heads set to zero, unscaled scores, or another softmax temperature.

A tap (`viz_core.tracing`) edits the stages; the model computes all later stages from the edited values. Parameters and the intact
run are not changed.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viz_core.capture import Capture
from viz_core.config import Side, TransformerConfig
from viz_core.model.inputs import check_inputs
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, trace
from viz_core.tracing import Edit, Tracer

AttentionHead = tuple[str, int]  # the path of an attention, such as "decoder.layers.1.cross_attn", and the number of a head
MAX_BATCH_NUMEL = 2**22  # elements of the largest tensor in a batch of ablated runs
ABLATION_STAGES = (
    "ids.*",
    "masks.*",
    "*.weights",
    "*.final_norm.out",
    "*.norm_ffn.out",
    "*.resid_post",
    "*.embed",
    "logits",
    "probs",
    "loss",
)


@dataclass(frozen=True, slots=True)
class Ablation:
    """What to change in a run.

    heads: z of these is set to 0. unscaled: leave out the scale 1/√d_k. temperature: divides the scores before every softmax.
    """

    heads: frozenset[AttentionHead] = frozenset()
    unscaled: bool = False
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise ValueError(f"temperature={self.temperature} is not a positive number; use 1 to change nothing.")

    @property
    def is_empty(self) -> bool:
        return self == Ablation()


def ablation_tap(ablation: Ablation, config: TransformerConfig) -> Edit:
    """Return the tap that applies an ablation to one run. Each run needs a new tap, since it keeps the raw scores of the run."""
    raw: dict[str, Tensor] = {}

    def tap(name: str, x: Tensor) -> Tensor:
        path, _, leaf = name.rpartition(".")
        if leaf == "raw_scores":
            raw[path] = x
        elif leaf == "scores" and ablation.unscaled:
            return raw.pop(path)  # [B, H, T, S]
        elif leaf == "masked_scores" and ablation.temperature != 1:
            return torch.where(x == config.fill_value, x, x / ablation.temperature)  # blocked keys stay blocked
        elif leaf == "z" and (heads := [h for p, h in ablation.heads if p == path]):
            is_off = torch.zeros(x.shape[1], dtype=torch.bool, device=x.device)
            is_off[heads] = True
            return x.masked_fill(is_off[:, None, None], 0.0)  # [B, H, T, V]
        return x

    return tap


def ablated_run(model: Transformer, batch: Batch, ablation: Ablation, seed: int = 0) -> Capture:
    """Run the model with an ablation and record attention weights, the output of each layer, and predictions."""
    return trace(model, batch, seed=seed, keep=ABLATION_STAGES, tap=ablation_tap(ablation, model.config))


# ---------------------------------------------------------------- one head at a time


@dataclass(frozen=True, slots=True, eq=False)
class HeadAblations:
    """The effect on one sentence of ablating each of `heads` alone, [N] each; arrays are read-only.

    n_changed: the number of tokens after which another next word is the likeliest; 0 for a model without output head.
    prediction_shift: the mean over tokens of KL(intact ‖ ablated) in nats; without output head, the mean change of the last
    hidden states relative to their norm.
    """

    heads: tuple[AttentionHead, ...]
    n_changed: np.ndarray
    prediction_shift: np.ndarray

    @property
    def most_important(self) -> int:
        """The index of the head with the largest `n_changed`, and among equals with the largest `prediction_shift`."""
        return max(range(len(self.heads)), key=lambda i: (self.n_changed[i], self.prediction_shift[i]))


@torch.inference_mode()
def ablate_each_head(model: Transformer, capture: Capture, heads: Sequence[AttentionHead], item: int = 0) -> HeadAblations:
    """Run one sentence of a capture once for each head, with that head set to zero, many runs in one batch.

    model: the model of the capture. Raises `ValueError` if `heads` is empty.
    """
    if not heads:
        raise ValueError("heads is empty; name at least one head.")
    config, device = model.config, next(model.parameters()).device
    ids = {side: torch.tensor([capture.ids(side, item)], device=device) for side in config.sides}  # [1, T]
    check_inputs(config, ids.get("source"), ids.get("target"))
    intact = model(ids.get("source"), ids.get("target"))
    changed, shift = list[int](), list[float]()
    for some in _batches(config, {side: x.shape[1] for side, x in ids.items()}, heads):
        rows = {side: x.expand(len(some), -1) for side, x in ids.items()}  # [N, T]
        out = model(rows.get("source"), rows.get("target"), tap=Tracer(keep=(), edit=_ablate_one_head_per_row(some)))
        if out.logits is None:
            moved = (out.hidden - intact.hidden).norm(dim=-1) / intact.hidden.norm(dim=-1)  # [N, T]
            shift += moved.mean(dim=-1).tolist()
            changed += [0] * len(some)
            continue
        before, after = (x.double().log_softmax(dim=-1) for x in (intact.logits, out.logits))  # [1, T, W], [N, T, W]
        shift += (before.exp() * (before - after)).nansum(dim=-1).mean(dim=-1).tolist()
        changed += (before.argmax(dim=-1) != after.argmax(dim=-1)).sum(dim=-1).tolist()
    arrays = np.array(changed), np.array(shift)
    for array in arrays:
        array.flags.writeable = False
    return HeadAblations(tuple(heads), *arrays)


def _batches(
    config: TransformerConfig, lengths: dict[Side, int], heads: Sequence[AttentionHead]
) -> Iterator[Sequence[AttentionHead]]:
    """Yield the heads in batches of as many runs as MAX_BATCH_NUMEL allows."""
    longest = max(lengths.values())
    words = lengths[config.output_side] * config.output_vocab_size if config.has_head else 0
    most = max(1, MAX_BATCH_NUMEL // max(words, longest * max(config.ff_width, config.d_model, config.n_heads * longest)))
    for i in range(0, len(heads), most):
        yield heads[i : i + most]


def _ablate_one_head_per_row(heads: Sequence[AttentionHead]) -> Edit:
    """Return a tap that sets z of one head to 0 in each row of a batch."""

    def tap(name: str, x: Tensor) -> Tensor:
        path, _, leaf = name.rpartition(".")
        if leaf != "z" or not (at := [(row, head) for row, (own, head) in enumerate(heads) if own == path]):
            return x
        is_off = torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device)  # [N, H]
        is_off[tuple(zip(*at, strict=True))] = True
        return x.masked_fill(is_off[..., None, None], 0.0)  # [N, H, T, V]

    return tap
