"""The losses of given words: with the true words before each of them, and with the words that the model wrote itself.

In training a decoder reads the true words whatever it predicts (teacher forcing). When it writes, it reads its own
(free running), and a wrong word changes everything behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viz_core.generation.readers import hidden_states, open_reader, read_source
from viz_core.generation.trail import write_trail
from viz_core.model.transformer import Transformer
from viz_core.problems import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Forcing:
    """The loss of each label, −ln of its probability in nats, in two ways; arrays are read-only.

    forced [N]: with the true words before it. predicted: the likeliest word at each of these places. written: what the model
    writes by itself, of at most N words; it stops behind <eos>. free [M]: the losses of the first M labels where the model
    reads what it has written; M = len(written). parts_at: the first place where the written word is not the label, so that
    all later losses may differ; None where there is none.
    """

    forced: np.ndarray
    predicted: tuple[int, ...]
    free: np.ndarray
    written: tuple[int, ...]
    parts_at: int | None


@torch.inference_mode()
def logprobs(
    model: Transformer, start: Sequence[int], continuation: Sequence[int], source: Sequence[int] | None = None
) -> np.ndarray:
    """ln of the probability of each id of the continuation [N], behind the start and those before it; their sum is the text's.

    start: the ids that the decoder reads first, <bos> at least. source: the ids that an encoder reads.
    """
    return _of(_forced(model, start, continuation, source), continuation)


@torch.inference_mode()
def compare_forcing(
    model: Transformer, start: Sequence[int], labels: Sequence[int], source: Sequence[int] | None = None, *, eos_id: int
) -> Forcing:
    """The loss of each label under teacher forcing and free running. Arguments as for `logprobs`."""
    forced = _forced(model, start, labels, source)  # [N, W]
    free = _free(model, start, len(labels), source, eos_id)  # [M, W]
    written = tuple(free.argmax(dim=-1).tolist())
    parts = next((i for i, (word, label) in enumerate(zip(written, labels, strict=False)) if word != label), None)
    losses = [_frozen(-_of(x, labels[: len(x)])) for x in (forced, free)]
    return Forcing(losses[0], tuple(forced.argmax(dim=-1).tolist()), losses[1], written, parts)


@dataclass(frozen=True, slots=True, eq=False)
class Slipped:
    """`Forcing`, and what becomes of a model that is made to write another word at one place; arrays are read-only.

    slip: the place where the model was made to write its second choice; None where it was not. written, free [M]: what it then
    wrote, and the losses of the labels meanwhile. parts_at: the first other word.
    """

    forcing: Forcing
    slip: int | None
    written: tuple[int, ...]
    free: np.ndarray
    parts_at: int | None


def compare_with_slip(
    model: Transformer, start: Sequence[int], labels: Sequence[int], source: Sequence[int] | None = None, *, eos_id: int,
    slip: int | None = None,
) -> Slipped:
    """`compare_forcing`, where the free model writes its second choice at the place `slip`, from 0.

    None: where it is least sure of the label, before the last one, unless it goes wrong by itself or there are only two labels;
    −1: nowhere.
    """
    forcing = compare_forcing(model, start, labels, source, eos_id=eos_id)
    at = slip
    if at is None:
        at = int(forcing.forced[:-1].argmax()) if forcing.parts_at is None and len(labels) > 2 else -1
    if not 0 <= at < len(forcing.written):
        return Slipped(forcing, None, forcing.written, forcing.free, forcing.parts_at)
    alone = write_trail(model, start, source, eos_id=eos_id, max_new_tokens=len(labels))
    second = int(np.argsort(-alone.logits[at], kind="stable")[1])
    trail = write_trail(model, start, source, eos_id=eos_id, max_new_tokens=len(labels), given=[*alone.ids[:at], second])
    free = np.array([_loss(row, label) for row, label in zip(trail.logits, labels, strict=False)])
    parts = next((i for i, (a, b) in enumerate(zip(trail.ids, labels, strict=False)) if a != b), None)
    return Slipped(forcing, at, trail.ids, _frozen(free), parts)


def _forced(model: Transformer, start: Sequence[int], labels: Sequence[int], source: Sequence[int] | None) -> Tensor:
    """The logits [N, W] at the places of the labels, in one forward pass that reads the true words."""
    _check(start, labels)
    ids = _row(model, [*start, *labels[:-1]])  # [1, T]
    context = read_source(model, _source(model, source), ids) if model.config.has_encoder else None
    hidden = hidden_states(model, ids, context)[0, len(start) - 1 :]  # [N, D]
    model.checked("target", _row(model, labels))
    assert model.head is not None  # every decoder has one
    logits: Tensor = model.head(hidden)  # [N, W]
    return logits


def _free(model: Transformer, start: Sequence[int], most: int, source: Sequence[int] | None, eos_id: int) -> Tensor:
    """The logits [M, W] behind the start and behind each word that the model then writes, up to <eos>."""
    new, rows = _row(model, start), []  # [1, T]
    reader = open_reader(model, new, _source(model, source))
    for _ in range(most):
        logits, reader = reader.read(new)  # [1, W]
        rows.append(logits[0])
        new = logits.argmax(dim=-1)[:, None]  # [1, 1]
        if new.item() == eos_id:
            break
    return torch.stack(rows)  # [M, W]


def _of(logits: Tensor, ids: Sequence[int]) -> np.ndarray:
    """ln of the probability of each id [N], from logits [N, W]."""
    found: np.ndarray = logits.double().log_softmax(dim=-1).cpu().numpy()[np.arange(len(ids)), list(ids)]
    return found


def _loss(logits: np.ndarray, label: int) -> float:
    x = logits.astype(np.float64)
    return float(x.max() + np.log(np.exp(x - x.max()).sum()) - x[label])


def _check(start: Sequence[int], labels: Sequence[int]) -> None:
    for ids in (start, labels):
        if not len(ids):
            raise Problem("a start and labels need at least one id each; begin with <bos>, and end with <eos>.",
                          "no_tokens", side="target", number=1)


def _row(model: Transformer, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=next(model.parameters()).device)  # [1, T]


def _source(model: Transformer, source: Sequence[int] | None) -> Tensor | None:
    return None if source is None else _row(model, source)


def _frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x
