"""The weight of each head on a word, and the effect of patching or ablating that head.

    found = head_effects(runs, grid, "decoder", "cross_attn", key)
    found.weight, found.denoise, found.noise, found.ablated    # [layers, H] each
    found.correlations["ablated"]                              # rank correlation of weight and effect over the heads

A weight does not show what a head outputs, nor whether later layers use it (Jain & Wallace 2019, "Attention is not Explanation";
Wiegreffe & Pinter 2019, "Attention is not not Explanation"). All effects are on one scale: 0 if the logit difference does not
change, 1 if it becomes that of the other run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from viz_core.config import SIDE_NAMES, Side, StackName, TransformerConfig, side_of
from viz_core.experiments.patching import CleanCorruptedRuns, Direction, Patch, PatchGrid, Site, edited_logits, patch_effects
from viz_core.experiments.ranking import rank_correlation, ranks
from viz_core.messages.errors import UserError
from viz_core.tracing import Edit, Tracer

AttentionName = Literal["self_attn", "cross_attn"]
EffectMeasure = Literal["denoise", "noise", "ablated"]
EFFECT_MEASURES: tuple[EffectMeasure, ...] = get_args(EffectMeasure)


@dataclass(frozen=True, eq=False)
class HeadEffects:
    """Weights and effects of the heads of one kind of attention, [layers, H] each.

    weight: the attention weight from the question's position to the key. denoise, noise: the effect of patching the head's z at
    all tokens. ablated: the effect of setting z to 0 at all tokens of the clean run. Effects are on the logit difference, as in
    `patching`.
    """

    stack: StackName
    attention: AttentionName
    weight: np.ndarray
    denoise: np.ndarray
    noise: np.ndarray
    ablated: np.ndarray

    def effect(self, measure: EffectMeasure) -> np.ndarray:
        """Return one of the effects, [layers, H]."""
        return {"denoise": self.denoise, "noise": self.noise, "ablated": self.ablated}[measure]

    @cached_property
    def correlations(self) -> Mapping[EffectMeasure, float]:
        """Spearman's ρ of weight and effect over the heads; NaN for a single head, or if all values are equal."""
        return {measure: rank_correlation(self.weight, self.effect(measure)) for measure in EFFECT_MEASURES}

    def records(self) -> list[dict[str, object]]:
        """Return one record per head, for a DataFrame: the measured values, and the rank of each, 1 for the largest."""
        measured: dict[str, np.ndarray] = {"weight": self.weight, **{measure: self.effect(measure) for measure in EFFECT_MEASURES}}
        ranked = {name: ranks(values.ravel()).reshape(values.shape) for name, values in measured.items()}
        layers, heads = self.weight.shape
        return [
            {"layer": layer, "head": head, **{name: float(x[layer, head]) for name, x in measured.items()},
             **{f"{name}_rank": float(x[layer, head]) for name, x in ranked.items()}}
            for layer in range(layers) for head in range(heads)
        ]


def head_effects(
    runs: CleanCorruptedRuns, grid: PatchGrid | None, stack: StackName, attention: AttentionName, key: int, query: int | None = None
) -> HeadEffects:
    """Return weights and effects of every head of one kind of attention.

    grid: patches that are already computed; directions that it lacks are computed here. key: a position of the key side in the
    clean run, such as `first_changed_key`. query: a position of the query side; None for the question's position, or, in the
    encoder of an encoder-decoder, for the mean over all queries. Raises `UserError` for an attention that the model lacks, and
    for a position out of range.
    """
    _check(runs, stack, attention, key, query)
    measured = (
        _patching_effects(runs, grid, stack, attention, "denoise"), _patching_effects(runs, grid, stack, attention, "noise"),
        ablation_effects(runs, stack, attention),
    )
    bound = runs.rounding_bound  # effects within rounding are set to 0, so that they share a rank
    effects_above_rounding = (np.where(np.abs(effect) < bound, 0.0, effect) for effect in measured)
    return HeadEffects(stack, attention, key_weights(runs, stack, attention, key, query), *effects_above_rounding)


def mean_effects(effects: Sequence[HeadEffects]) -> HeadEffects:
    """Return the mean over several sentences, each with its own question and key. Raises `ValueError` if there is none."""
    if not effects:
        raise ValueError("there are no sentences to take the mean of; give at least one.")
    denoise, noise, ablated = (np.mean([each.effect(measure) for each in effects], axis=0) for measure in EFFECT_MEASURES)
    weight = np.mean([each.weight for each in effects], axis=0)
    return HeadEffects(effects[0].stack, effects[0].attention, weight, denoise, noise, ablated)


def key_side(stack: StackName, attention: AttentionName) -> Side:
    """Return the side of the keys."""
    return "source" if attention == "cross_attn" else side_of(stack)


def first_changed_key(runs: CleanCorruptedRuns, stack: StackName, attention: AttentionName) -> int | None:
    """Return the first token of the key side that differs between the sentences; None if none does, as in a shared target."""
    side = key_side(stack, attention)
    a, b = (run.ids[side][0].tolist() for run in (runs.clean, runs.corrupted))
    return next((i for i, j in runs.partners[side].items() if a[i] != b[j]), None)


def _check(runs: CleanCorruptedRuns, stack: StackName, attention: AttentionName, key: int, query: int | None) -> None:
    config = runs.model.config
    if not n_heads(config, stack, attention):
        raise UserError("no_head_of_attention")
    for side, at in ((key_side(stack, attention), key), (side_of(stack), query)):
        length = runs.clean.ids[side].shape[1]
        if at is not None and not 0 <= at < length:
            raise UserError("patch_key", side=SIDE_NAMES[side], at=at + 1)


def n_heads(config: TransformerConfig, stack: StackName, attention: AttentionName) -> int:
    """Return the number of heads in all layers of one kind of attention; 0 if the model has none."""
    side = side_of(stack)
    if side not in config.sides or (attention == "cross_attn" and not (stack == "decoder" and config.has_cross_attention)):
        return 0
    return config.n_layers(side) * config.n_heads


# ---------------------------------------------------------------- weights and effects


def key_weights(
    runs: CleanCorruptedRuns, stack: StackName, attention: AttentionName, key: int, query: int | None = None
) -> np.ndarray:
    """Return the weight of each head on one key in the clean run, [layers, H]."""
    return _query_weights(runs, stack, attention, query)[:, :, key]


def most_attended_key(
    runs: CleanCorruptedRuns, stack: StackName, attention: AttentionName, layer: int, head: int, query: int | None = None
) -> int:
    """Return the key that one head attends to most, for example the best aligned head (`Card.alignment_head`)."""
    return int(_query_weights(runs, stack, attention, query)[layer, head].argmax())


@torch.no_grad()
def _query_weights(runs: CleanCorruptedRuns, stack: StackName, attention: AttentionName, query: int | None) -> np.ndarray:
    """Return the weights of one query in the clean run, [layers, H, S].

    query: None for the question's position, or for the mean over all queries in the encoder of an encoder-decoder.
    """
    run, config = runs.clean, runs.model.config
    tracer = Tracer(keep=[f"{stack}.layers.*.{attention}.weights"])
    runs.model(run.ids.get("source"), run.ids.get("target"), tap=tracer)
    weights = np.stack([x[0] for x in tracer.arrays().values()]).astype(np.float64)  # [layers, H, T, S]
    if query is None and side_of(stack) == config.output_side:
        query = run.position
    found: np.ndarray = weights.mean(axis=2) if query is None else weights[:, :, query]
    return found


def _patching_effects(
    runs: CleanCorruptedRuns, grid: PatchGrid | None, stack: StackName, attention: AttentionName, direction: Direction
) -> np.ndarray:
    """Return the effect of patching each head at all tokens that have a partner, [layers, H]."""
    if grid is not None and direction in grid.effects:
        return grid.table(stack, attention, direction, heads=True)
    side, config = side_of(stack), runs.model.config
    shape = (config.n_layers(side), config.n_heads)
    tokens = tuple(runs.partners[side])
    patch_sets = [(Patch(Site(stack, attention, layer, head), tokens),) for layer, head in np.ndindex(shape)]
    return patch_effects(runs, patch_sets, direction).reshape(shape)


def ablation_effects(runs: CleanCorruptedRuns, stack: StackName, attention: AttentionName) -> np.ndarray:
    """Return the effect of ablating each head, [layers, H]: (clean − ablated) / (clean − corrupted) of the logit difference.

    z of the head is set to 0 at every token of the clean run. 1 means that the logit difference becomes that of the corrupted run.
    """
    config, run = runs.model.config, runs.clean
    shape = (config.n_layers(side_of(stack)), config.n_heads)
    sites = [Site(stack, attention, layer, head) for layer, head in np.ndindex(shape)]

    def tap_of(rows: list[int]) -> Edit:
        return _ablate_one_head_per_row([sites[n] for n in rows], config)

    found = np.empty(len(sites))
    for rows, logits in edited_logits(runs.model, run, [site.first_stack_and_layer() for site in sites], tap_of):
        found[rows] = runs.logit_difference(logits).double().cpu().numpy()
    clean, changed = runs.logit_differences
    effect: np.ndarray = (clean - found.reshape(shape)) / (clean - changed)
    return effect


def _ablate_one_head_per_row(heads: Sequence[Site], config: TransformerConfig) -> Edit:
    """Return a tap that sets z of one head to 0 in each row of a batch."""
    at: dict[str, list[tuple[int, int]]] = {}
    for row, site in enumerate(heads):
        assert site.head is not None
        at.setdefault(site.stage(config), []).append((row, site.head))

    def tap(name: str, x: Tensor) -> Tensor:
        if name not in at:
            return x
        rows, off = zip(*at[name], strict=True)
        ablated_z = x.clone()  # [N, H, T, V]
        ablated_z[list(rows), list(off)] = 0.0
        return ablated_z

    return tap
