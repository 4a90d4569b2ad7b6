"""Autoregressive generation with a decoder, from ids to ids and from sentences to sentences.

    generate(model, start, source, eos_id=…, max_new_tokens=…, strategy=…)   ids in, ids out
    next_logits(model, ids, encoded)                       the logits of the next token
    write(model, source, tokenizers, max_new_tokens=…)     translations of sentences
    decoder_batch(ids, source, token_names=…)              generated ids as the batch of a run

    strategy         Greedy, Sampling, Beam, with the argument names of `transformers`
    incremental      incremental decoding with a key-value cache or without
    kv_cache         the key-value cache, and one decoding step with it
    sampling         one sampled token: logits, temperature, top-k, top-p, random number, token
    beam             beam search, with every candidate of every step
    teacher_forcing  the losses of given tokens under teacher forcing and free running
    trace            one generated text with the logits and choices of every step
    cache_trace      one text with the cache and without: keys, values, times, differences
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.generation.beam import beam_search
from viz_core.generation.draw import draw, drawn_numbers
from viz_core.generation.readers import Reader, next_logits, open_reader, read_source, room
from viz_core.generation.strategy import Beam, Greedy, Sampling, Strategy, checked_length
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem
from viz_core.run import Batch, prepare
from viz_core.text import AnyTokenizer, bound

__all__ = [
    "Beam", "Continuation", "Greedy", "Sampling", "Strategy", "Written", "generate", "next_logits", "read_source",
    "reading", "room", "unwritten", "write",
]

Choose = Callable[[Tensor, int], Tensor]  # (logits [B, W], step index) -> ids [B]


class Continuation(NamedTuple):
    """The generated ids of one row without <eos>, and whether <eos> was generated before the limit."""

    ids: list[int]
    ended: bool


# --- The loop ---------------------------------------------------------------------------------------------------------
@torch.inference_mode()
def generate(
    model: Transformer, start: Tensor, source: Tensor | None = None, *, eos_id: int, max_new_tokens: int,
    strategy: Strategy = Greedy(), use_cache: bool | None = None,  # noqa: B008, it is frozen
) -> list[Continuation]:
    """Generate a continuation of each row of `start`, up to <eos> or to `max_new_tokens` tokens.

    start [B, T]: the first ids of the decoder, at least <bos>. source [B, S]: the ids of the encoder, padded on the right.
    strategy: how each token is chosen (`viz_core.generate.strategy`). use_cache: whether to use a key-value cache; None uses it
    if the config allows it. A position table limits the length too: its last row predicts the last token. Dropout has to be off.

    Raises `ValueError` for a model without a decoder, for an encoder without a source, for an id outside the vocabulary, for a
    start or source longer than the position table, and for use_cache=True if the config does not allow a cache.
    """
    reader = open_reader(model, start, source, use_cache=use_cache)
    if not start.shape[1]:
        raise Problem("start has no ids; begin with <bos>.", "no_tokens", side="target", number=1)
    longest = room(model, start.shape[1], checked_length(max_new_tokens))
    if isinstance(strategy, Beam):
        rows = torch.arange(len(start), device=start.device).split(1)
        searches = [beam_search(reader.rows(i), start[i], strategy, eos_id=eos_id, longest=longest) for i in rows]
        return [Continuation(list(search.chosen.ids), search.chosen.ended) for search in searches]
    return _one_by_one(reader, start, _chooser(strategy, len(start), longest), eos_id, longest)


def _one_by_one(reader: Reader, start: Tensor, choose: Choose, eos_id: int, longest: int) -> list[Continuation]:
    """Generate one token for each row at each step, until every row has ended."""
    new, written, done = start, [], torch.zeros(len(start), dtype=torch.bool, device=start.device)  # [B, T], [], [B]
    for step in range(longest):
        logits, reader = reader.read(new)  # [B, W]
        chosen = choose(logits, step)  # [B]
        new = chosen[:, None]  # [B, 1]
        written.append(chosen)
        done = done | (chosen == eos_id)  # [B]
        if done.all():
            break
    return [_until(row, eos_id) for row in torch.stack(written, dim=1).tolist()]


def _chooser(strategy: Greedy | Sampling, batch: int, longest: int) -> Choose:
    if isinstance(strategy, Greedy):
        return lambda logits, step: logits.argmax(dim=-1)
    numbers = [drawn_numbers(strategy.seed, row, longest).tolist() for row in range(batch)]  # [B][steps]

    def drawn(logits: Tensor, step: int) -> Tensor:
        rows = zip(logits.cpu().numpy(), numbers, strict=True)
        return torch.tensor([draw(row, strategy, u[step]).token for row, u in rows], device=logits.device)

    return drawn


def _until(row: list[int], eos_id: int) -> Continuation:
    """Return the ids before the first <eos>; the ids after it were generated because other rows had not ended."""
    return Continuation(row[: row.index(eos_id)], True) if eos_id in row else Continuation(row, False)


# --- Sentences --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Written:
    """One generated sentence.

    text: its words, separated by spaces; slots for unknown words are filled with the copied words of the source. as_target: the
    target of a run with this sentence: the text, or the ids and <eos> if tokenizing the text gives other ids. has_ended: whether
    <eos> was generated.
    """

    text: str
    sentence: str | tuple[int, ...]
    ended: bool

    @property
    def typeable(self) -> bool:
        """Whether tokenizing the text gives the generated ids; False for a text with <unk>, for example."""
        return isinstance(self.sentence, str)


def unwritten(config: TransformerConfig, source: Sequence[str], tokenizers: Mapping[str, AnyTokenizer]) -> Batch:
    """Return the batch of the sources before generation: the decoder's input is <bos>."""
    return prepare(config, source, [[tokenizers["target"].eos_id]] * len(source), tokenizers)


def reading(text: Sequence[int], source: Sequence[int] | None = None, *, words: Mapping[str, Callable[[int], str]],
            carried: Sequence[tuple[str, ...]] = ()) -> Batch:
    """Return the batch of one decoder text: all ids but the last as input, all but the first as labels.

    token_names: side -> function from an id to its token. copied_words: as in `Batch`.
    """
    rows = {"target": text[:-1], "labels": text[1:]} | ({} if source is None else {"source": source})
    names = {side: words["source" if side == "source" else "target"] for side in rows}
    return Batch({side: np.array([ids]) for side, ids in rows.items()},
                 {side: [[names[side](i) for i in ids]] for side, ids in rows.items()}, list(carried))


def write(
    model: Transformer, source: Sequence[str], tokenizers: Mapping[str, AnyTokenizer], *, most: int
) -> tuple[Written, ...]:
    """Return the greedy translation of each sentence by an encoder-decoder, of at most `max_new_tokens` tokens.

    The length leaves one row of the position table for <bos>, so that the text can be the target of a run.
    """
    c, target = model.config, tokenizers["target"]
    batch, device = unwritten(c, source, tokenizers), next(model.parameters()).device
    ids = {side: torch.tensor(x, device=device) for side, x in batch.ids.items()}
    most = min(most, c.max_len - 1) if c.has_position_table else most
    found = generate(model, ids["target"], ids["source"], eos_id=target.eos_id, max_new_tokens=most)
    return tuple(_written(one, bound(target, carried)) for one, carried in zip(found, batch.carried, strict=True))


def _written(one: Continuation, tokenizer: AnyTokenizer) -> Written:
    text = " ".join(map(tokenizer.decode, one.ids))
    same = tokenizer.read(text)[1] == one.ids
    return Written(text, text if same else (*one.ids, tokenizer.eos_id), one.ended)
