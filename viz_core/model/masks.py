"""Attention masks: bool, True = may attend, 4-D so that they broadcast to [B, H, T, S].

The mask of an attention is the AND (document 002) of its parts: padding masks, made from ids or lengths, and a causal mask.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.tracing import NO_TAP, Tap


class Masks(NamedTuple):
    """The masks of each kind of attention; None for a kind that the architecture lacks."""

    source: Tensor | None  # [B, 1, T, S] encoder self-attention
    target: Tensor | None  # [B, 1, T, S] decoder self-attention
    cross: Tensor | None  # [B, 1, T, S] decoder queries, encoder keys


def padding_mask(token_mask: Tensor) -> Tensor:
    """Return [B, 1, 1, S] from a token mask, bool [B, S]: True where a key is not padding."""
    return token_mask[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None, start_pos: int = 0) -> Tensor:
    """Return [1, 1, T, S]: the lower triangle, True where a key is not later than the query (`tril` in document 002).

    S = length keys, and T = length - start_pos queries, those from position start_pos on.
    """
    return torch.ones(length - start_pos, length, dtype=torch.bool, device=device).tril(start_pos)[None, None]


def combine_masks(query_ids: Tensor, key_ids: Tensor, *parts: Tensor | None) -> Tensor:
    """Return the AND of the parts that are not None, [B, 1, T, S]. query_ids [B, T], key_ids [B, S]: give its size."""
    mask = torch.ones(len(query_ids), 1, query_ids.shape[1], key_ids.shape[1], dtype=torch.bool, device=query_ids.device)
    for part in parts:
        mask = mask if part is None else mask & part  # [B, 1, T, S]
    return mask


def make_masks(
    config: TransformerConfig, source: Tensor | None, target: Tensor | None, tap: Tap = NO_TAP, start_pos: int = 0,
    token_masks: Mapping[str, Tensor] = MappingProxyType({}),
) -> Masks:
    """Return the masks of a batch. source [B, S], target [B, T]: ids; None for a side that the architecture lacks.

    start_pos: the position of the first query of the decoder; rows before it are left out (when decoding with a cache).
    token_masks: bool [B, S] of each side, True where an id is not padding; for a missing side, `TransformerConfig.token_mask`
    derives it from the ids.
    """
    ids = {"source": source, "target": target}
    known = {side: config.token_mask(side, ids[side]) for side in config.sides if ids[side] is not None} | dict(
        token_masks
    )  # [B, S]
    source_padding = target_padding = causal = None
    if source is not None and config.mask_source_padding:
        source_padding = tap("source_padding", padding_mask(known["source"]))  # [B, 1, 1, S]
    if target is not None and config.mask_target_padding:
        target_padding = tap("target_padding", padding_mask(known["target"]))  # [B, 1, 1, S]
    own = source if target is None else target
    if config.is_causal and own is not None:
        causal = tap("causal", causal_mask(own.shape[1], own.device, start_pos))  # [1, 1, T, S]

    source_rows, target_rows = None, None  # [B, 1, T, 1]: the query is not padding
    if config.mask_padded_queries:
        source_rows = None if source_padding is None else source_padding.mT
        target_rows = None if target_padding is None else target_padding.mT[:, :, start_pos:]
    in_encoder, in_decoder = (causal, None) if target is None else (None, causal)

    used_source = used_target = used_cross = None
    if source is not None:
        used_source = tap("source", combine_masks(source, source, source_padding, source_rows, in_encoder))  # [B, 1, T, S]
    if target is not None:
        queries = target[:, start_pos:]  # [B, T]
        used_target = tap("target", combine_masks(queries, target, target_padding, target_rows, in_decoder))  # [B, 1, T, S]
        if source is not None:
            used_cross = tap("cross", combine_masks(queries, source, source_padding, target_rows))  # [B, 1, T, S]
    return Masks(used_source, used_target, used_cross)
