"""Autoregressive generation with a decoder, from ids to ids and from sentences to sentences.

    generate(model, start, source, eos_id=…, max_new_tokens=…, strategy=…)   ids in, ids out
    next_logits(model, ids, encoded)                       the logits of the next token
    write(model, source, tokenizers, max_new_tokens=…)     translations of sentences; write_batch: of a batch
    decoder_batch(ids, source, token_names=…)              generated ids as the batch of a run
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_core.config import SIDE_NAMES, TransformerConfig
from viz_core.generate.beam import beam_search
from viz_core.generate.fast_decoder import FastDecoder, can_decode_fast
from viz_core.generate.incremental import IncrementalDecoder, available_length, encode_source, init_decoder, next_logits
from viz_core.generate.sampling import random_numbers, sample
from viz_core.generate.strategy import Beam, Greedy, Sampling, Strategy, check_max_new_tokens
from viz_core.messages.errors import UserError
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, prepare
from viz_core.text import AnyTokenizer, with_copied_words

__all__ = [
    "Beam",
    "Continuation",
    "Generation",
    "Greedy",
    "Sampling",
    "Strategy",
    "available_length",
    "decoder_batch",
    "encode_source",
    "generate",
    "initial_batch",
    "next_logits",
    "write",
    "write_batch",
]

ChooseToken = Callable[[Tensor, int], Tensor]  # (logits [B, W], step index) -> ids [B]


class Continuation(NamedTuple):
    """The generated ids of one row without <eos>, and whether <eos> was generated before the limit."""

    ids: list[int]
    has_ended: bool


# --- The loop ---------------------------------------------------------------------------------------------------------
@torch.inference_mode()
def generate(
    model: Transformer, start: Tensor, source: Tensor | None = None, *, eos_id: int, max_new_tokens: int,
    strategy: Strategy = Greedy(), use_cache: bool | None = None,  # noqa: B008, it is frozen
) -> list[Continuation]:
    """Generate a continuation of each row of `start`, up to <eos> or to `max_new_tokens` tokens.

    start [B, T]: the first ids of the decoder, at least <bos>. source [B, S]: the ids of the encoder, padded on the right.
    strategy: how each token is chosen (`viz_core.generate.strategy`). use_cache: whether to use a key-value cache; None uses it
    if the config allows it. A position table limits the length too: the last token is predicted at its last row. Dropout has to
    be off.

    Raises `ValueError` for a model without a decoder, for an encoder without a source, for an id outside the vocabulary, for a
    start or source longer than the position table, and for use_cache=True if the config does not allow a cache.
    """
    longest = available_length(model, start.shape[1], check_max_new_tokens(max_new_tokens))
    if isinstance(strategy, Greedy) and use_cache is not False and can_decode_fast(model.config, start, source):
        fast = FastDecoder(model, len(start), source, start.shape[1] + longest)
        return _decode(fast, start, _token_chooser(strategy, len(start), longest), eos_id, longest)
    reader = init_decoder(model, start, source, use_cache=use_cache)
    if not start.shape[1]:
        raise UserError("no_tokens", side=SIDE_NAMES["target"], number=1)
    if isinstance(strategy, Beam):
        rows = torch.arange(len(start), device=start.device).split(1)
        searches = [beam_search(reader.select(i), start[i], strategy, eos_id=eos_id, max_new_tokens=longest) for i in rows]
        return [Continuation(list(search.chosen.ids), search.chosen.has_ended) for search in searches]
    return _decode(reader, start, _token_chooser(strategy, len(start), longest), eos_id, longest)


def _decode(
    decoder: IncrementalDecoder | FastDecoder, start: Tensor, choose: ChooseToken, eos_id: int, max_new_tokens: int
) -> list[Continuation]:
    """Generate one token for each row at each step, until every row has ended."""
    new, written, done = start, [], torch.zeros(len(start), dtype=torch.bool, device=start.device)  # [B, T], [], [B]
    for step in range(max_new_tokens):
        logits, decoder = decoder.step(new)  # [B, W]
        chosen = choose(logits, step)  # [B]
        new = chosen[:, None]  # [B, 1]
        written.append(chosen)
        done = done | (chosen == eos_id)  # [B]
        if done.all():
            break
    return [_cut_at_eos(row, eos_id) for row in torch.stack(written, dim=1).tolist()]


def _token_chooser(strategy: Greedy | Sampling, batch: int, max_new_tokens: int) -> ChooseToken:
    if isinstance(strategy, Greedy):
        return lambda logits, step: logits.argmax(dim=-1)
    numbers = [random_numbers(strategy.seed, row, max_new_tokens).tolist() for row in range(batch)]  # [B][steps]

    def choose(logits: Tensor, step: int) -> Tensor:
        rows = zip(logits.cpu().numpy(), numbers, strict=True)
        return torch.tensor([sample(row, strategy, u[step]).token for row, u in rows], device=logits.device)

    return choose


def _cut_at_eos(row: list[int], eos_id: int) -> Continuation:
    """Return the ids before the first <eos>; the ids after it were generated because other rows had not ended."""
    return Continuation(row[: row.index(eos_id)], True) if eos_id in row else Continuation(row, False)


# --- Sentences --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Generation:
    """One generated sentence.

    text: its words, separated by spaces; slots for unknown words are filled with the copied words of the source. as_target: the
    target of a run with this sentence: the text, or the ids and <eos> if tokenizing the text gives other ids. has_ended: whether
    <eos> was generated.
    """

    text: str
    as_target: str | tuple[int, ...]
    has_ended: bool

    @property
    def is_typeable(self) -> bool:
        """Whether tokenizing the text gives the generated ids; False for a text with <unk>, for example."""
        return isinstance(self.as_target, str)


def initial_batch(config: TransformerConfig, source: Sequence[str], tokenizers: Mapping[str, AnyTokenizer]) -> Batch:
    """Return the batch of the sources before generation: the decoder's input is <bos>."""
    return prepare(config, source, [[tokenizers["target"].eos_id]] * len(source), tokenizers)


def decoder_batch(token_ids: Sequence[int], source: Sequence[int] | None = None, *, token_names: Mapping[str, Callable[[int], str]],
                  copied_words: Sequence[tuple[str, ...]] = ()) -> Batch:
    """Return the batch of one decoder text: all ids but the last as input, all but the first as labels.

    token_names: side -> function from an id to its token. copied_words: as in `Batch`.
    """
    rows = {"target": token_ids[:-1], "labels": token_ids[1:]} | ({} if source is None else {"source": source})
    names = {side: token_names["source" if side == "source" else "target"] for side in rows}
    return Batch({side: np.array([ids]) for side, ids in rows.items()},
                 {side: [[names[side](i) for i in ids]] for side, ids in rows.items()}, list(copied_words))


def write(
    model: Transformer, source: Sequence[str], tokenizers: Mapping[str, AnyTokenizer], *, max_new_tokens: int
) -> tuple[Generation, ...]:
    """Return the greedy translation of each sentence by an encoder-decoder, of at most `max_new_tokens` tokens.

    The length leaves one row of the position table for <bos>, so that the text can be the target of a run.
    """
    return write_batch(model, initial_batch(model.config, source, tokenizers), tokenizers, max_new_tokens=max_new_tokens)


def write_batch(
    model: Transformer, batch: Batch, tokenizers: Mapping[str, AnyTokenizer], *, max_new_tokens: int
) -> tuple[Generation, ...]:
    """Return what `write` does, for the sources of a batch of `initial_batch`."""
    c, target, device = model.config, tokenizers["target"], next(model.parameters()).device
    ids = {side: torch.tensor(x, device=device) for side, x in batch.ids.items()}
    max_new_tokens = min(max_new_tokens, c.max_len - 1) if c.has_position_table else max_new_tokens
    found = generate(model, ids["target"], ids["source"], eos_id=target.eos_id, max_new_tokens=max_new_tokens)
    return tuple(
        _generation(one, with_copied_words(target, copied)) for one, copied in zip(found, batch.copied_words, strict=True)
    )


def _generation(continuation: Continuation, tokenizer: AnyTokenizer) -> Generation:
    text = " ".join(map(tokenizer.decode, continuation.ids))
    same = tokenizer.tokens_and_ids(text)[1] == continuation.ids
    return Generation(text, text if same else (*continuation.ids, tokenizer.eos_id), continuation.has_ended)
