"""Incremental decoding: each step takes new ids and returns the logits of the next token and the next decoder state.

A state is immutable, so several continuations can share a prefix. `UncachedDecoder` recomputes the whole text at each step;
`CachedDecoder` computes only the new tokens, with a key-value cache (`viz_core.generate.kv_cache`).
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from viz_core.generate.kv_cache import KVCache, can_cache, decode_step, init_cache
from viz_core.model.inputs import check_ids, check_length
from viz_core.model.masks import make_masks
from viz_core.model.transformer import Transformer


class EncodedSource(NamedTuple):
    """The source ids [B, S] and the output of the encoder [B, S, D], computed once for all steps."""

    ids: Tensor
    hidden: Tensor


class IncrementalDecoder(Protocol):
    """The state of a decoder after a prefix of B texts."""

    def step(self, ids: Tensor) -> tuple[Tensor, Self]:
        """Append ids [B, n]; return the logits [B, W] of the next token and the next state."""
        ...

    def select(self, indices: Tensor) -> Self:
        """Return the state of the rows with these indices [N], which may repeat."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class UncachedDecoder:
    """Stores the ids [B, t] and recomputes all of them at each step."""

    model: Transformer
    ids: Tensor
    encoded: EncodedSource | None

    def step(self, ids: Tensor) -> tuple[Tensor, Self]:
        seen = torch.cat((self.ids, ids), dim=1)  # [B, t + n]
        return next_logits(self.model, seen, self.encoded), type(self)(self.model, seen, self.encoded)

    def select(self, indices: Tensor) -> Self:
        context = None if self.encoded is None else EncodedSource(*(x[indices] for x in self.encoded))
        return type(self)(self.model, self.ids[indices], context)


@dataclass(frozen=True, slots=True, eq=False)
class CachedDecoder:
    """Stores keys and values, and computes only the new ids."""

    model: Transformer
    cache: KVCache

    def step(self, ids: Tensor) -> tuple[Tensor, Self]:
        logits, cache = decode_step(self.model, self.cache, ids)
        return logits, type(self)(self.model, cache)

    def select(self, indices: Tensor) -> Self:
        return type(self)(self.model, self.cache.select(indices))


def init_decoder(
    model: Transformer, start: Tensor, source: Tensor | None = None, *, use_cache: bool | None = None
) -> IncrementalDecoder:
    """Return the state after encoding the source ids [B, S] and before the first decoder ids `start` [B, T].

    use_cache: None uses the cache if the config allows it; True raises `UserError` if it does not.
    """
    model.stack("target")  # raises first for a model without a decoder
    context = encode_source(model, source, start) if model.config.has_encoder else None
    if use_cache or (use_cache is None and can_cache(model.config)):
        return CachedDecoder(model, init_cache(model, len(start), *(context or ())))
    return UncachedDecoder(model, start[:, :0], context)


def encode_source(model: Transformer, source: Tensor | None, start: Tensor) -> EncodedSource:
    """Encode the source ids [B, S]. start [B, T]: the first ids of the decoder; the encoder's mask does not depend on them."""
    encoder = model.stack("source")
    source = check_ids(model.config, "source", source)  # [B, S]
    check_length(model.config, source.shape[1])
    mask = make_masks(model.config, source, start).source
    assert mask is not None
    return EncodedSource(source, encoder(source, mask))  # [B, S, D]


def decoder_hidden_states(model: Transformer, ids: Tensor, encoded: EncodedSource | None = None) -> Tensor:
    """Return the decoder's output for the ids [B, T] before the head, [B, T, D]; the encoder is not run."""
    decoder, ids = model.stack("target"), check_ids(model.config, "target", ids)
    check_length(model.config, ids.shape[1])
    masks = make_masks(model.config, None if encoded is None else encoded.ids, ids)
    hidden: Tensor = decoder(ids, masks.target, None if encoded is None else encoded.hidden, masks.cross)  # [B, T, D]
    return hidden


def next_logits(model: Transformer, ids: Tensor, encoded: EncodedSource | None = None) -> Tensor:
    """Return the logits [B, W] of the token that follows the ids [B, T].

    They equal those of the model's forward pass at the last position.
    """
    hidden = decoder_hidden_states(model, ids, encoded)  # [B, T, D]
    assert model.head is not None  # every decoder has one
    logits: Tensor = model.head(hidden[:, -1])  # [B, W]
    return logits


def available_length(model: Transformer, length: int, max_new_tokens: int) -> int:
    """Return how many tokens can follow a start of this length: `max_new_tokens`, limited by the position table."""
    c = model.config
    return max(1, min(max_new_tokens, c.max_len - length + 1)) if c.has_position_table else max_new_tokens
