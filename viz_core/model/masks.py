"""Which query may attend to which key. Masks are bool, True = may attend, 4-D so that they broadcast to [B, H, T, S].

The parts (padding, causal) are made from ids and lengths; what attention uses is their AND (document 002).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.tracing import NO_TAP, Tap


class Masks(NamedTuple):
    """The masks in use; None where the architecture has no such attention."""

    source: Tensor | None  # [B, 1, T, S] encoder self-attention
    target: Tensor | None  # [B, 1, T, S] decoder self-attention
    cross: Tensor | None  # [B, 1, T, S] decoder queries, encoder keys


def padding_mask(is_token: Tensor) -> Tensor:
    """bool [B, S] -> [B, 1, 1, S]: a key is a word."""
    return is_token[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None, first: int = 0) -> Tensor:
    """[1, 1, T, S]: the lower triangle, a key is not later than the query (`tril` in document 002). S = length, T = S - first."""
    return torch.ones(length - first, length, dtype=torch.bool, device=device).tril(first)[None, None]


def combine(query_ids: Tensor, key_ids: Tensor, *parts: Tensor | None) -> Tensor:
    """AND of the parts that are there, as one mask of full size [B, 1, T, S]."""
    mask = torch.ones(len(query_ids), 1, query_ids.shape[1], key_ids.shape[1], dtype=torch.bool, device=query_ids.device)
    for part in parts:
        mask = mask if part is None else mask & part  # [B, 1, T, S]
    return mask


def make_masks(
    config: TransformerConfig, source: Tensor | None, target: Tensor | None, tap: Tap = NO_TAP, first: int = 0,
    is_token: Mapping[str, Tensor] = MappingProxyType({}),
) -> Masks:
    """The masks of one batch: source ids [B, S] and target ids [B, T], either None where there is no such side.

    first: a decoder that goes on behind so many tokens needs the rows of the later queries only. is_token: of each side, which
    of its ids are no padding, bool [B, S]; a side that is left out is told by `TransformerConfig.find_tokens`.
    """
    ids = {"source": source, "target": target}
    known = {side: config.find_tokens(side, ids[side]) for side in config.sides if ids[side] is not None} | dict(is_token)  # [B, S]
    source_words = target_words = causal = None
    if source is not None and config.mask_source_padding:
        source_words = tap("source_padding", padding_mask(known["source"]))  # [B, 1, 1, S]
    if target is not None and config.mask_target_padding:
        target_words = tap("target_padding", padding_mask(known["target"]))  # [B, 1, 1, S]
    own = source if target is None else target
    if config.is_causal and own is not None:
        causal = tap("causal", causal_mask(own.shape[1], own.device, first))  # [1, 1, T, S]

    source_rows, target_rows = None, None  # [B, 1, T, 1]: the query is a word
    if config.mask_padded_queries:
        source_rows = None if source_words is None else source_words.mT
        target_rows = None if target_words is None else target_words.mT[:, :, first:]
    in_encoder, in_decoder = (causal, None) if target is None else (None, causal)

    used_source = used_target = used_cross = None
    if source is not None:
        used_source = tap("source", combine(source, source, source_words, source_rows, in_encoder))  # [B, 1, T, S]
    if target is not None:
        used_target = tap("target", combine(target[:, first:], target, target_words, target_rows, in_decoder))  # [B, 1, T, S]
    if source is not None and target is not None:
        used_cross = tap("cross", combine(target[:, first:], source, source_words, target_rows))  # [B, 1, T, S]
    return Masks(used_source, used_target, used_cross)
