"""The losses of given tokens under teacher forcing and under free running.

In training the decoder's input is the true tokens, whatever it predicts (teacher forcing). In generation its input is its own
output (free running), and a wrong token changes all later predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from viz_core.config import SIDE_NAMES
from viz_core.generate.incremental import decoder_hidden_states, encode_source, init_decoder
from viz_core.generate.trace import trace_generation
from viz_core.messages.errors import UserError
from viz_core.model.inputs import check_ids
from viz_core.model.transformer import Transformer


@dataclass(frozen=True, slots=True, eq=False)
class ForcingComparison:
    """The loss of each label, −ln of its probability in nats, under teacher forcing and free running; arrays are read-only.

    teacher_forced_losses [N]: given the true tokens before each label. predicted_ids: the most probable token at each of these
    positions. generated_ids: what the model generates greedily, at most N tokens, up to and including <eos>.
    free_running_losses [M]: the losses of the first M labels given the generated tokens, M = len(generated_ids). diverges_at:
    the first position where the generated token is not the label, after which the losses may differ; None if there is none.
    """

    teacher_forced_losses: np.ndarray
    predicted_ids: tuple[int, ...]
    free_running_losses: np.ndarray
    generated_ids: tuple[int, ...]
    diverges_at: int | None


@torch.inference_mode()
def logprobs(
    model: Transformer, start: Sequence[int], continuation: Sequence[int], source: Sequence[int] | None = None
) -> np.ndarray:
    """Return ln of the probability of each id of the continuation given the ids before it, [N]; their sum is that of the text.

    start: the first ids of the decoder, at least <bos>. source: the ids of the encoder.
    """
    return _logprobs(_teacher_forced_logits(model, start, continuation, source), continuation)


@torch.inference_mode()
def compare_forcing(
    model: Transformer, start: Sequence[int], labels: Sequence[int], source: Sequence[int] | None = None, *, eos_id: int
) -> ForcingComparison:
    """Return the loss of each label under teacher forcing and free running. Arguments as for `logprobs`."""
    forced = _teacher_forced_logits(model, start, labels, source)  # [N, W]
    free = _free_running_logits(model, start, len(labels), source, eos_id)  # [M, W]
    written = tuple(free.argmax(dim=-1).tolist())
    diverges_at = next((i for i, (word, label) in enumerate(zip(written, labels, strict=False)) if word != label), None)
    losses = [_frozen(-_logprobs(x, labels[: len(x)])) for x in (forced, free)]
    return ForcingComparison(losses[0], tuple(forced.argmax(dim=-1).tolist()), losses[1], written, diverges_at)


@dataclass(frozen=True, slots=True, eq=False)
class ForcedErrorComparison:
    """A `ForcingComparison`, and a free run in which one generated token is replaced; arrays are read-only.

    error_at: the position where the second most probable token was forced; None if none was. generated_ids,
    free_running_losses [M], diverges_at: as in `ForcingComparison`, for this run.
    """

    comparison: ForcingComparison
    error_at: int | None
    generated_ids: tuple[int, ...]
    free_running_losses: np.ndarray
    diverges_at: int | None


def compare_with_forced_error(
    model: Transformer, start: Sequence[int], labels: Sequence[int], source: Sequence[int] | None = None, *, eos_id: int,
    error_at: int | None = None,
) -> ForcedErrorComparison:
    """Return `compare_forcing` and a free run with the second most probable token forced at `error_at`, counted from 0.

    error_at: None forces it at the label with the largest loss, the last one excluded; but nowhere if the free run diverges
    without it or if there are at most two labels. −1 forces it nowhere.
    """
    forcing = compare_forcing(model, start, labels, source, eos_id=eos_id)
    at = error_at
    if at is None:
        at = int(forcing.teacher_forced_losses[:-1].argmax()) if forcing.diverges_at is None and len(labels) > 2 else -1
    if not 0 <= at < len(forcing.generated_ids):
        return ForcedErrorComparison(forcing, None, forcing.generated_ids, forcing.free_running_losses, forcing.diverges_at)
    alone = trace_generation(model, start, source, eos_id=eos_id, max_new_tokens=len(labels))
    second = int(np.argsort(-alone.logits[at], kind="stable")[1])
    trace = trace_generation(model, start, source, eos_id=eos_id, max_new_tokens=len(labels), forced_ids=[*alone.ids[:at], second])
    free = np.array([_loss(row, label) for row, label in zip(trace.logits, labels, strict=False)])
    diverges_at = next((i for i, (a, b) in enumerate(zip(trace.ids, labels, strict=False)) if a != b), None)
    return ForcedErrorComparison(forcing, at, trace.ids, _frozen(free), diverges_at)


def _teacher_forced_logits(model: Transformer, start: Sequence[int], labels: Sequence[int], source: Sequence[int] | None) -> Tensor:
    """Return the logits [N, W] that predict the labels, from one forward pass with the true tokens as input."""
    _check_not_empty(start, labels)
    ids = _row(model, [*start, *labels[:-1]])  # [1, T]
    context = encode_source(model, _source(model, source), ids) if model.config.has_encoder else None
    hidden = decoder_hidden_states(model, ids, context)[0, len(start) - 1 :]  # [N, D]
    check_ids(model.config, "target", _row(model, labels))
    assert model.head is not None  # every decoder has one
    logits: Tensor = model.head(hidden)  # [N, W]
    return logits


def _free_running_logits(
    model: Transformer, start: Sequence[int], max_new_tokens: int, source: Sequence[int] | None, eos_id: int
) -> Tensor:
    """Return the logits [M, W] of each greedily generated token, up to <eos>."""
    new, rows = _row(model, start), []  # [1, T]
    reader = init_decoder(model, new, _source(model, source))
    for _ in range(max_new_tokens):
        logits, reader = reader.step(new)  # [1, W]
        rows.append(logits[0])
        new = logits.argmax(dim=-1)[:, None]  # [1, 1]
        if new.item() == eos_id:
            break
    return torch.stack(rows)  # [M, W]


def _logprobs(logits: Tensor, ids: Sequence[int]) -> np.ndarray:
    """Return ln of the probability of each id [N], from logits [N, W]."""
    found: np.ndarray = logits.double().log_softmax(dim=-1).cpu().numpy()[np.arange(len(ids)), list(ids)]
    return found


def _loss(logits: np.ndarray, label: int) -> float:
    x = logits.astype(np.float64)
    return float(x.max() + np.log(np.exp(x - x.max()).sum()) - x[label])


def _check_not_empty(start: Sequence[int], labels: Sequence[int]) -> None:
    for ids in (start, labels):
        if not len(ids):
            raise UserError("no_tokens", side=SIDE_NAMES["target"], number=1)


def _row(model: Transformer, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=next(model.parameters()).device)  # [1, T]


def _source(model: Transformer, source: Sequence[int] | None) -> Tensor | None:
    return None if source is None else _row(model, source)


def _frozen(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x
