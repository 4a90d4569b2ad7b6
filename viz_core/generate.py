"""Writing word by word: what a decoder says next, as ids and as sentences. Every checkpoint writes here.

    generate(model, start, source, eos_id=…, max_new_tokens=…, strategy=…)   ids in, ids out: the loop
    next_logits(model, ids, context)                the logits of the next word, from which a strategy chooses
    write(model, source, tokenizers, most=…)        sentences in, sentences out: a translation
    reading(ids, source, words=…)                   what was written as the batch of a run

What a step, a search and a cache are made of stands in `viz_core.generation`.
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

Choose = Callable[[Tensor, int], Tensor]  # logits [B, W] and the number of the step -> ids [B]


class Continuation(NamedTuple):
    """What a model wrote behind one start: its ids, <eos> left out, and whether <eos> came before the limit."""

    ids: list[int]
    ended: bool


# --- The loop ---------------------------------------------------------------------------------------------------------
@torch.inference_mode()
def generate(
    model: Transformer, start: Tensor, source: Tensor | None = None, *, eos_id: int, max_new_tokens: int,
    strategy: Strategy = Greedy(), use_cache: bool | None = None,  # noqa: B008, it is frozen
) -> list[Continuation]:
    """Write behind each start, word by word, up to <eos> or to `max_new_tokens` words.

    start [B, T]: what the decoder has read already, <bos> at least, or any text that is to go on. source [B, S] for an
    encoder, padded on the right. strategy: how each word is chosen; see `viz_core.generation.strategy`. use_cache: whether keys
    and values are kept from word to word; None keeps them wherever the config lets it.
    A position table ends the text too: its last row predicts the last word. Dropout has to be off. `ValueError` for a
    model without a decoder, for an encoder without a source, for an id outside the vocabulary, for a start or a
    source that the position table has no room for, and for use_cache=True where the config makes a cache impossible.
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
    """One word for each row at each step, until every row has ended."""
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
    """The ids in front of the first <eos>: a sentence that has ended goes on in its batch, and nobody reads the rest."""
    return Continuation(row[: row.index(eos_id)], True) if eos_id in row else Continuation(row, False)


# --- Sentences --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Written:
    """One sentence that a model wrote.

    text: its words, with spaces between them; a slot is written as the word of the source that it carries. sentence: what a
    run reads as this target; the text, or the ids and <eos> where typing the text would give other ids. ended: whether the
    model came to <eos>.
    """

    text: str
    sentence: str | tuple[int, ...]
    ended: bool

    @property
    def typeable(self) -> bool:
        """Whether typing the text gives the ids that the model chose; not so with <unk>, for one."""
        return isinstance(self.sentence, str)


def unwritten(config: TransformerConfig, source: Sequence[str], tokenizers: Mapping[str, AnyTokenizer]) -> Batch:
    """The batch of sources before a word of their targets is written: the decoder's input is <bos> alone."""
    return prepare(config, source, [[tokenizers["target"].eos_id]] * len(source), tokenizers)


def reading(text: Sequence[int], source: Sequence[int] | None = None, *, words: Mapping[str, Callable[[int], str]],
            carried: Sequence[tuple[str, ...]] = ()) -> Batch:
    """The batch in which a decoder reads one text, all but its last id, with the next id as the label of each.

    words: the name of an id of each side. carried: as in `Batch`.
    """
    rows = {"target": text[:-1], "labels": text[1:]} | ({} if source is None else {"source": source})
    names = {side: words["source" if side == "source" else "target"] for side in rows}
    return Batch({side: np.array([ids]) for side, ids in rows.items()},
                 {side: [[names[side](i) for i in ids]] for side, ids in rows.items()}, list(carried))


def write(
    model: Transformer, source: Sequence[str], tokenizers: Mapping[str, AnyTokenizer], *, most: int
) -> tuple[Written, ...]:
    """The greedy translation of each sentence by an encoder-decoder, of at most `most` words.

    The text leaves room for <bos> in the position table, so that a run can read it as its target.
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
