"""Attention beside effect: how much weight each head gives to a word, and what patching or ablating that head does.

    found = head_effects(contrast, grid, "decoder", "cross_attn", key)
    found.weight, found.denoise, found.noise, found.ablated    # [layers, H] each
    found.correlations["ablated"]                              # do the heads that attend most have the largest effect?

A weight says where a head reads. It does not say what the head writes, nor whether anything later uses it (Jain & Wallace 2019,
"Attention is not Explanation"; Wiegreffe & Pinter 2019, "Attention is not not Explanation"). All effects are on one scale: 0 where
the answer stays as it was, 1 where it becomes that of the other run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from viz_core.config import Side, StackName, TransformerConfig, side_of
from viz_core.experiments.patching import Contrast, Direction, Patch, PatchGrid, Site, edited_logits, effects
from viz_core.experiments.ranking import rank_correlation, ranks
from viz_core.problems import Problem
from viz_core.tracing import Edit, Tracer

Attention = Literal["self_attn", "cross_attn"]
Measure = Literal["denoise", "noise", "ablated"]
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """The heads of one kind of attention, [layers, H] each.

    weight: from the asked place on the key. denoise, noise: the effect of the head's z of one run in the other, at all tokens.
    ablated: of z set to 0 at all tokens of the clean run. Effects are of the logit difference (clean − changed), as in `patching`.
    """

    stack: StackName
    attention: Attention
    weight: np.ndarray
    denoise: np.ndarray
    noise: np.ndarray
    ablated: np.ndarray

    def effect(self, measure: Measure) -> np.ndarray:
        """[layers, H]"""
        return {"denoise": self.denoise, "noise": self.noise, "ablated": self.ablated}[measure]

    @cached_property
    def correlations(self) -> Mapping[Measure, float]:
        """Spearman's ρ of weight and effect over the heads; NaN for a single head, or where all are equal."""
        return {measure: rank_correlation(self.weight, self.effect(measure)) for measure in MEASURES}

    def rows(self) -> list[dict[str, object]]:
        """One record a head, for a DataFrame: what was measured, and each rank, 1 for the largest."""
        measured: dict[str, np.ndarray] = {"weight": self.weight, **{measure: self.effect(measure) for measure in MEASURES}}
        placed = {name: ranks(values.ravel()).reshape(values.shape) for name, values in measured.items()}
        layers, heads = self.weight.shape
        return [
            {"layer": layer, "head": head, **{name: float(x[layer, head]) for name, x in measured.items()},
             **{f"{name}_rank": float(x[layer, head]) for name, x in placed.items()}}
            for layer in range(layers) for head in range(heads)
        ]


def head_effects(
    contrast: Contrast, grid: PatchGrid | None, stack: StackName, attention: Attention, key: int, query: int | None = None
) -> HeadEffects:
    """Weight and effects of every head of one kind of attention.

    grid: what was patched before; what it lacks is patched here. key: a position of the key side in the clean run, such as
    `changed_key`. query: a position of the query side; None: the asked place, or, where an encoder's queries have no asked place,
    the mean over all of them. `Problem` for an attention that the model lacks and for a position that it does not read.
    """
    _check(contrast, stack, attention, key, query)
    measured = (
        _patched(contrast, grid, stack, attention, "denoise"), _patched(contrast, grid, stack, attention, "noise"),
        ablated(contrast, stack, attention),
    )
    least = contrast.rounding  # what rounding alone does has no rank
    effects_seen = (np.where(np.abs(effect) < least, 0.0, effect) for effect in measured)
    return HeadEffects(stack, attention, attended(contrast, stack, attention, key, query), *effects_seen)


def mean_effects(found: Sequence[HeadEffects]) -> HeadEffects:
    """The mean over several sentences, each with its own question and key. `ValueError` for none."""
    if not found:
        raise ValueError("there are no sentences to take the mean of; give at least one.")
    denoise, noise, ablated = (np.mean([each.effect(measure) for each in found], axis=0) for measure in MEASURES)
    weight = np.mean([each.weight for each in found], axis=0)
    return HeadEffects(found[0].stack, found[0].attention, weight, denoise, noise, ablated)


def key_side(stack: StackName, attention: Attention) -> Side:
    """The side that the keys are of."""
    return "source" if attention == "cross_attn" else side_of(stack)


def changed_key(contrast: Contrast, stack: StackName, attention: Attention) -> int | None:
    """The first token of the key side that the sentences differ in; None where they do not, as on a target that both read."""
    side = key_side(stack, attention)
    a, b = (run.ids[side][0].tolist() for run in (contrast.clean, contrast.changed))
    return next((i for i, j in contrast.partner[side].items() if a[i] != b[j]), None)


def _check(contrast: Contrast, stack: StackName, attention: Attention, key: int, query: int | None) -> None:
    config = contrast.model.config
    if not n_heads(config, stack, attention):
        raise Problem(f"this model has no {attention} in its {stack}; choose another attention.", "no_head_of_attention")
    for side, at in ((key_side(stack, attention), key), (side_of(stack), query)):
        length = contrast.clean.ids[side].shape[1]
        if at is not None and not 0 <= at < length:
            raise Problem(f"position {at} of the {side} is not read by this attention; use 0 to {length - 1}.", "patch_key",
                          side=side, at=at + 1)


def n_heads(config: TransformerConfig, stack: StackName, attention: Attention) -> int:
    """The heads of all layers of one kind of attention; 0 where the model has none."""
    side = side_of(stack)
    if side not in config.sides or (attention == "cross_attn" and not (stack == "decoder" and config.has_cross_attention)):
        return 0
    return config.n_layers(side) * config.n_heads


# ---------------------------------------------------------------- what is attended to, and what it does


def attended(contrast: Contrast, stack: StackName, attention: Attention, key: int, query: int | None = None) -> np.ndarray:
    """The weight of each head on one key in the clean run, [layers, H]."""
    return _rows(contrast, stack, attention, query)[:, :, key]


def attended_key(
    contrast: Contrast, stack: StackName, attention: Attention, layer: int, head: int, query: int | None = None
) -> int:
    """The key that one head attends to most, such as the head that aligns best (`Card.alignment_head`)."""
    return int(_rows(contrast, stack, attention, query)[layer, head].argmax())


@torch.no_grad()
def _rows(contrast: Contrast, stack: StackName, attention: Attention, query: int | None) -> np.ndarray:
    """The weights of one query in the clean run, [layers, H, S]; of an encoder without a chosen query the mean over all."""
    run, config = contrast.clean, contrast.model.config
    tracer = Tracer(keep=[f"{stack}.layers.*.{attention}.weights"])
    contrast.model(run.ids.get("source"), run.ids.get("target"), tap=tracer)
    weights = np.stack([x[0] for x in tracer.arrays().values()]).astype(np.float64)  # [layers, H, T, S]
    if query is None and side_of(stack) == config.output_side:
        query = run.at
    found: np.ndarray = weights.mean(axis=2) if query is None else weights[:, :, query]
    return found


def _patched(
    contrast: Contrast, grid: PatchGrid | None, stack: StackName, attention: Attention, direction: Direction
) -> np.ndarray:
    """The effect of each head at all tokens that have a partner, [layers, H]."""
    if grid is not None and direction in grid.effects:
        return grid.table(stack, attention, direction, heads=True)
    side, config = side_of(stack), contrast.model.config
    shape = (config.n_layers(side), config.n_heads)
    tokens = tuple(contrast.partner[side])
    cells = [(Patch(Site(stack, attention, layer, head), tokens),) for layer, head in np.ndindex(shape)]
    return effects(contrast, cells, direction).reshape(shape)


def ablated(contrast: Contrast, stack: StackName, attention: Attention) -> np.ndarray:
    """The effect of each head's absence, [layers, H]: (clean − ablated) / (clean − changed) of the logit difference.

    z of the head is 0 at every token of the clean run. 1: without this head the clean run answers as the changed one does.
    """
    config, run = contrast.model.config, contrast.clean
    shape = (config.n_layers(side_of(stack)), config.n_heads)
    sites = [Site(stack, attention, layer, head) for layer, head in np.ndindex(shape)]

    def tap_of(rows: list[int]) -> Edit:
        return _without([sites[n] for n in rows], config)

    found = np.empty(len(sites))
    for rows, logits in edited_logits(contrast.model, run, [site.runs_from() for site in sites], tap_of):
        found[rows] = contrast.answer(logits).double().cpu().numpy()
    clean, changed = contrast.answers
    effect: np.ndarray = (clean - found.reshape(shape)) / (clean - changed)
    return effect


def _without(heads: Sequence[Site], config: TransformerConfig) -> Edit:
    """A tap that sets z of one head to 0 in each row of a batch."""
    at: dict[str, list[tuple[int, int]]] = {}
    for row, site in enumerate(heads):
        assert site.head is not None
        at.setdefault(site.stage(config), []).append((row, site.head))

    def tap(name: str, x: Tensor) -> Tensor:
        if name not in at:
            return x
        rows, off = zip(*at[name], strict=True)
        silent = x.clone()  # [N, H, T, V]
        silent[list(rows), list(off)] = 0.0
        return silent

    return tap
