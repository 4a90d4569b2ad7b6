"""The key-value cache: a decoder stores the keys and values of past tokens, so that each step computes only new tokens.

Under the causal mask a token does not attend to later ones, so its key and value in each layer do not change. A step computes
the query, key and value of the new tokens, appends keys and values to the cache, and attends to all of them. The keys and values
of the source are computed once in each layer. Keys are stored as attention uses them, already rotated under RoPE. A cache is
immutable: a step returns a new one, and nothing is stored on the model.
"""

from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.messages.errors import UserError
from viz_core.model.layers import Layer
from viz_core.model.masks import Masks, make_masks
from viz_core.model.transformer import Transformer
from viz_core.tracing import NO_TAP, Tap

MAX_MASK_FILL = -1000.0  # a masked score of at most this gets a weight of exactly 0 if another score is above −896


class KeysValues(NamedTuple):
    """The keys [B, H, S, K] and values [B, H, S, V] of one attention module."""

    k: Tensor
    v: Tensor

    def extended(self, k: Tensor, v: Tensor) -> "KeysValues":
        """Return a copy with further rows appended."""
        return KeysValues(torch.cat((self.k, k), dim=2), torch.cat((self.v, v), dim=2))

    def select(self, indices: Tensor) -> "KeysValues":
        return KeysValues(self.k[indices], self.v[indices])


@dataclass(frozen=True, slots=True, eq=False)
class KVCache:
    """The key-value cache of a decoder for B texts.

    ids [B, t]: the past ids. self_attn: the keys and values of each layer's self-attention, one row for each past token.
    source [B, S]: the source ids; None without an encoder. cross_attn: the keys and values of each layer's cross-attention; empty
    without an encoder.
    """

    ids: Tensor
    self_attn: tuple[KeysValues, ...]
    source: Tensor | None = None
    cross_attn: tuple[KeysValues, ...] = ()

    @property
    def length(self) -> int:
        """The number of past tokens of each text, t."""
        return self.ids.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all keys and values."""
        return sum(x.nbytes for kept in (*self.self_attn, *self.cross_attn) for x in kept)

    def select(self, indices: Tensor) -> Self:
        """Return the cache of the rows with these indices [N], which may repeat."""
        source = None if self.source is None else self.source[indices]
        own, read = (tuple(kept.select(indices) for kept in side) for side in (self.self_attn, self.cross_attn))
        return type(self)(self.ids[indices], own, source, read)


# --- When it is possible ----------------------------------------------------------------------------------------------
def uncacheable_reason(config: TransformerConfig) -> UserError | None:
    """Return why a cache is impossible with this config whatever the text, as an error; None if it is possible."""
    if not config.is_causal:
        return UserError(
            "causal=False lets every token attend to later ones, so each new token changes all keys and values; use causal=True, "
            "or use_cache=False.", "cache_not_causal",
        )
    if config.fill_value > MAX_MASK_FILL:
        return UserError(
            f"mask_fill={config.mask_fill!r} is not low enough to mask later tokens, so each new token changes earlier keys and "
            "values; use mask_fill='-inf', or use_cache=False.", "cache_fill", fill=config.mask_fill,
        )
    return None


def can_cache(config: TransformerConfig) -> bool:
    """Whether a cache is possible for every text, also with padding."""
    return uncacheable_reason(config) is None and not (_has_uniform_empty_rows(config) and config.mask_target_padding)


def _has_uniform_empty_rows(config: TransformerConfig) -> bool:
    """Whether a fully masked row gets uniform weights on all keys, including those of later tokens."""
    return config.empty_row == "softmax" and config.mask_fill != "-inf"


def _check_padded_rows(config: TransformerConfig, masks: Masks) -> None:
    if masks.target is not None and _has_uniform_empty_rows(config) and not masks.target.any(dim=-1).all():
        raise UserError(
            "the text has padding whose row is fully masked, and empty_row='softmax' gives it equal weights on all tokens, later "
            "ones too; use empty_row='zero', a text without padding, or use_cache=False.", "cache_padding",
        )


# --- One step ---------------------------------------------------------------------------------------------------------
def init_cache(
    model: Transformer, batch: int, source: Tensor | None = None, memory: Tensor | None = None, tap: Tap = NO_TAP
) -> KVCache:
    """Return a cache of B texts without past tokens, with the source's keys and values if there is a source.

    source [B, S]: the source ids. memory [B, S, D]: the encoder's output. Raises `UserError`, a `ValueError`, if the config does
    not allow a cache, and `ValueError` for a model without a decoder.
    """
    decoder, c = model.stack("target"), model.config
    if (problem := uncacheable_reason(c)) is not None:
        raise problem
    at = decoder.tok_embedding.weight
    nothing = KeysValues(*(at.new_empty(batch, c.n_heads, 0, width) for width in (c.d_k, c.d_v)))
    ids = torch.empty(batch, 0, dtype=torch.int64, device=at.device)
    read = [] if memory is None else [
        _source_keys_values(layer, memory, tap.scope(f"decoder.layers.{i}.cross_attn")) for i, layer in enumerate(_layers(model))
    ]
    return KVCache(ids, (nothing,) * len(decoder.layers), source, tuple(read))


def _layers(model: Transformer) -> list[Layer]:
    return list(model.stack("target").layers)  # type: ignore[arg-type]  # ModuleList is not generic


def _source_keys_values(layer: Layer, memory: Tensor, tap: Tap) -> KeysValues:
    attention = layer.cross_attn
    k = tap("k", attention.split_heads(attention.w_k(memory)))  # [B, H, S, K]
    v = tap("v", attention.split_heads(attention.w_v(memory)))  # [B, H, S, V]
    return KeysValues(k, v)


def decode_step(model: Transformer, cache: KVCache, ids: Tensor, tap: Tap = NO_TAP) -> tuple[Tensor, KVCache]:
    """Append ids [B, n]; return the logits [B, W] of the next token and the extended cache.

    tap: is called on every computed stage, with its name in a full run and the rows of the new tokens only.
    """
    decoder, new, inside = model.stack("target"), model.checked_ids("target", ids), tap.scope("decoder")
    seen, first = torch.cat((cache.ids, new), dim=1), cache.length  # [B, t]
    masks = make_masks(model.config, cache.source, seen, tap.scope("masks"), first)
    _check_padded_rows(model.config, masks)

    x = decoder.embed(new, inside, first)  # [B, n, D]
    bias = decoder.score_bias(seen.shape[1], inside, first)  # [1, H, n, t]
    own = []
    for i, layer in enumerate(_layers(model)):
        read = cache.cross_attn[i] if cache.cross_attn else None
        x, grown = _layer_decode_step(layer, x, cache.self_attn[i], read, masks, bias, inside.scope(f"layers.{i}"), first)
        own.append(grown)
    x = decoder.final_norm(x, inside.scope("final_norm")) if model.config.has_final_norm else x  # [B, n, D]
    assert model.head is not None  # every decoder has one
    logits = tap("logits", model.head(x[:, -1]))  # [B, W]
    return logits, KVCache(seen, tuple(own), cache.source, cache.cross_attn)


def _layer_decode_step(
    layer: Layer,
    x: Tensor,
    self_attn: KeysValues,
    cross_attn: KeysValues | None,
    masks: Masks,
    bias: Tensor | None,
    tap: Tap,
    start_pos: int,
) -> tuple[Tensor, KeysValues]:
    """Apply one layer to x [B, n, D] as `Layer.forward` does; return its output and the extended keys and values."""
    own_mask, cross_mask, grown = masks.target, masks.cross, self_attn
    assert own_mask is not None

    def self_attention(y: Tensor) -> Tensor:
        nonlocal grown
        here, attention = tap.scope("self_attn"), layer.self_attn
        q, k, v = attention.project(y, y, here, start_pos)  # rows of the new tokens only
        grown = self_attn.extended(k, v)
        return attention.attend(q, grown.k, grown.v, own_mask, bias, here)  # [B, n, D]

    def cross_attention(y: Tensor, read: KeysValues, mask: Tensor) -> Tensor:
        here, attention = tap.scope("cross_attn"), layer.cross_attn
        q = here("q", attention.split_heads(attention.w_q(y)))  # [B, H, n, K]
        return attention.attend(q, read.k, read.v, mask, None, here)  # [B, n, D]

    x = layer.add_sublayer("resid_mid", tap("resid_pre", x), "self_attn", self_attention, tap)
    if cross_attn is not None and cross_mask is not None:
        x = layer.add_sublayer("resid_cross", x, "cross_attn", lambda y: cross_attention(y, cross_attn, cross_mask), tap)
    return layer.add_sublayer("resid_post", x, "ffn", lambda y: layer.ffn(y, tap.scope("ffn")), tap), grown
