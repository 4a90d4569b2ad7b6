"""A decoder that reads on: ids in, the logits of the next word out, and a reader that has read them too.

A reader is never changed, so two continuations share what they have in common. `Recomputing` reads everything from the
start each time; `Remembering` computes the new words alone, with the keys and values that it kept (`viz_core.generation.cache`).
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self

import torch
from torch import Tensor

from viz_core.generation.cache import Cache, can_cache, open_cache, step
from viz_core.model.masks import make_masks
from viz_core.model.transformer import Transformer


class Context(NamedTuple):
    """A source as the encoder has read it, once for all steps: its ids [B, S], and the encoder's output [B, S, D]."""

    source: Tensor
    memory: Tensor


class Reader(Protocol):
    """What a decoder has read of B texts."""

    def read(self, ids: Tensor) -> tuple[Tensor, Self]:
        """Read further ids [B, n]: the logits [B, W] of the word behind them, and the reader that has read them."""
        ...

    def rows(self, which: Tensor) -> Self:
        """The texts with these numbers [N], each as often as it is named: a reader of N texts."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Recomputing:
    """Keeps the ids [B, t] and computes all of them again at each step."""

    model: Transformer
    ids: Tensor
    context: Context | None

    def read(self, ids: Tensor) -> tuple[Tensor, Self]:
        seen = torch.cat((self.ids, ids), dim=1)  # [B, t + n]
        return next_logits(self.model, seen, self.context), type(self)(self.model, seen, self.context)

    def rows(self, which: Tensor) -> Self:
        context = None if self.context is None else Context(*(x[which] for x in self.context))
        return type(self)(self.model, self.ids[which], context)


@dataclass(frozen=True, slots=True, eq=False)
class Remembering:
    """Keeps keys and values, and computes the new ids alone."""

    model: Transformer
    cache: Cache

    def read(self, ids: Tensor) -> tuple[Tensor, Self]:
        logits, cache = step(self.model, self.cache, ids)
        return logits, type(self)(self.model, cache)

    def rows(self, which: Tensor) -> Self:
        return type(self)(self.model, self.cache.rows(which))


def open_reader(
    model: Transformer, start: Tensor, source: Tensor | None = None, *, use_cache: bool | None = None
) -> Reader:
    """A reader that has read the source ids [B, S], and nothing yet of what the decoder will say behind `start` [B, T].

    use_cache: None takes the cache wherever the config lets it; True raises a `Problem` where it does not.
    """
    model.stack("target")  # the error of a model without a decoder comes first
    context = read_source(model, source, start) if model.config.has_encoder else None
    if use_cache or (use_cache is None and can_cache(model.config)):
        return Remembering(model, open_cache(model, len(start), *(context or ())))
    return Recomputing(model, start[:, :0], context)


def read_source(model: Transformer, source: Tensor | None, start: Tensor) -> Context:
    """Let the encoder read the source ids [B, S]. start [B, T]: the decoder's first ids, which no encoder mask depends on."""
    encoder = model.stack("source")
    source = model.checked("source", source)  # [B, S]
    mask = make_masks(model.config, source, start).source
    assert mask is not None
    return Context(source, encoder(source, mask))  # [B, S, D]


def hidden_states(model: Transformer, ids: Tensor, context: Context | None = None) -> Tensor:
    """What the decoder makes of the ids [B, T] before the head: [B, T, D]. Only the encoder does not read the source again."""
    decoder, ids = model.stack("target"), model.checked("target", ids)
    masks = make_masks(model.config, None if context is None else context.source, ids)
    hidden: Tensor = decoder(ids, masks.target, None if context is None else context.memory, masks.cross)  # [B, T, D]
    return hidden


def next_logits(model: Transformer, ids: Tensor, context: Context | None = None) -> Tensor:
    """The logits of the word that follows the ids [B, T], of every word of the vocabulary: [B, W].

    They are those of the model's own forward pass at its last position.
    """
    hidden = hidden_states(model, ids, context)  # [B, T, D]
    assert model.head is not None  # every decoder has one
    logits: Tensor = model.head(hidden[:, -1])  # [B, W]
    return logits


def room(model: Transformer, length: int, max_new_tokens: int) -> int:
    """How many words can follow a start of this length: as many as asked for, or as the position table has rows for."""
    c = model.config
    return max(1, min(max_new_tokens, c.max_len - length + 1)) if c.has_position_table else max_new_tokens
