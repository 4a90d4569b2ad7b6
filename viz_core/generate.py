"""Writing word by word: what a decoder says next, and greedy decoding, which always takes the likeliest word.

    generate(model, start, source, eos_id=…, most=…)   ids in, ids out: the loop
    next_logits(model, ids, context)                   its one step, which any other way of choosing a word shares
    write(model, source, tokenizers, most=…)           sentences in, sentences out: a translation
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from viz_core.config import TransformerConfig
from viz_core.model.masks import make_masks
from viz_core.model.transformer import Transformer
from viz_core.run import Batch, prepare
from viz_core.text import AnyTokenizer, bound


class Continuation(NamedTuple):
    """What a model wrote behind one start: its ids, <eos> left out, and whether <eos> came before the limit."""

    ids: list[int]
    ended: bool


class Context(NamedTuple):
    """A source as the encoder has read it, once for all steps: its ids [B, S], and the encoder's output [B, S, D]."""

    source: Tensor
    memory: Tensor


# --- One step ---------------------------------------------------------------------------------------------------------
def read_source(model: Transformer, source: Tensor | None, start: Tensor) -> Context:
    """Let the encoder read the source ids [B, S]. start [B, T]: the decoder's first ids, which no encoder mask depends on."""
    encoder = model.stack("source")
    source = model.checked("source", source)  # [B, S]
    mask = make_masks(model.config, source, start).source
    assert mask is not None
    return Context(source, encoder(source, mask))  # [B, S, D]


def next_logits(model: Transformer, ids: Tensor, context: Context | None = None) -> Tensor:
    """The logits of the word that follows the ids [B, T], of every word of the vocabulary: [B, W].

    They are those of the model's own forward pass at its last position; only the encoder does not read the source again.
    """
    decoder, ids = model.stack("target"), model.checked("target", ids)
    assert model.head is not None  # every decoder has one
    masks = make_masks(model.config, None if context is None else context.source, ids)
    memory = None if context is None else context.memory
    hidden = decoder(ids, masks.target, memory, masks.cross)  # [B, T, D]
    logits: Tensor = model.head(hidden[:, -1])  # [B, W]
    return logits


# --- The loop ---------------------------------------------------------------------------------------------------------
@torch.inference_mode()
def generate(
    model: Transformer, start: Tensor, source: Tensor | None = None, *, eos_id: int, most: int
) -> list[Continuation]:
    """Greedy decoding: the likeliest next word, again and again, up to <eos> or to `most` words.

    start [B, T]: what the decoder has read already, <bos> at least. source [B, S] for an encoder, padded on the right.
    A position table ends the text too: its last row predicts the last word. Dropout has to be off. `ValueError` for a
    model without a decoder, for an encoder without a source, for an id outside the vocabulary, and for a start or a
    source that the position table has no room for.
    """
    context = read_source(model, source, start) if model.config.has_encoder else None
    ids, done = start, torch.zeros(len(start), dtype=torch.bool, device=start.device)  # [B, T], [B]
    for _ in range(room(model, start.shape[1], most)):
        chosen = next_logits(model, ids, context).argmax(dim=-1)  # [B]
        ids = torch.cat((ids, chosen[:, None]), dim=1)  # [B, T + 1]
        done = done | (chosen == eos_id)  # [B]
        if done.all():
            break
    return [_until(row, eos_id) for row in ids[:, start.shape[1] :].tolist()]


def room(model: Transformer, length: int, most: int) -> int:
    """How many words can follow a start of this length: `most`, or as many as the position table has rows for."""
    c = model.config
    return max(1, min(most, c.max_len - length + 1)) if c.has_position_table else most


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
    found = generate(model, ids["target"], ids["source"], eos_id=target.eos_id, most=most)
    return tuple(_written(one, bound(target, carried)) for one, carried in zip(found, batch.carried, strict=True))


def _written(one: Continuation, tokenizer: AnyTokenizer) -> Written:
    text = " ".join(map(tokenizer.decode, one.ids))
    same = tokenizer.read(text)[1] == one.ids
    return Written(text, text if same else (*one.ids, tokenizer.eos_id), one.ended)
