"""One text read with the key-value cache and without: the keys and values that each step adds, the difference, and the times."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from viz_core.generation.cache import Cache, open_cache, step
from viz_core.generation.readers import Context, next_logits, read_source
from viz_core.model.transformer import Transformer

T = TypeVar("T")
PASSES = 9  # over the text that are measured, behind one that is not; of each step the median counts


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """The cache as it was filled, one word at a time, and the same words computed anew at each step; arrays are read-only.

    keys [L, H, t, K] and values [L, H, t, V]: the rows of self-attention after the last word; a step adds one row to each head of
    each layer, and the earlier rows stay. differences [t]: the largest difference between the two ways' logits.
    """

    keys: np.ndarray
    values: np.ndarray
    differences: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class StepTimes:
    """Milliseconds of the step that reads each word [t], with the cache and without: medians of PASSES runs; read-only."""

    cached: np.ndarray
    anew: np.ndarray


@torch.inference_mode()
def measure_growth(model: Transformer, ids: Sequence[int], source: Sequence[int] | None = None) -> Growth:
    """Let the decoder read `ids` [t] word by word in both ways, on the device that the model is on.

    source: the ids that an encoder reads, once for all steps and both ways. `Problem`, a `ValueError`, where the config makes a
    cache impossible.
    """
    __, __, cache, differences = _read_twice(model, *_read(model, ids, source))
    keys, values = (torch.cat([getattr(own, name) for own in cache.own]).cpu().numpy() for name in ("k", "v"))
    return Growth(*_frozen(keys, values, np.array(differences)))


@torch.inference_mode()
def measure_times(model: Transformer, ids: Sequence[int], source: Sequence[int] | None = None) -> StepTimes:
    """The time of each step of `measure_growth`, in both ways. The first pass over the text is not counted: it warms up."""
    row, context = _read(model, ids, source)
    passes = [_read_twice(model, row, context)[:2] for __ in range(PASSES + 1)][1:]
    return StepTimes(*_frozen(*np.median(passes, axis=0)))  # of [passes, 2, t]


def _read(model: Transformer, ids: Sequence[int], source: Sequence[int] | None) -> tuple[Tensor, Context | None]:
    """The text as a row [1, t], and what the decoder reads of the source."""
    row = _row(model, ids)
    return row, read_source(model, _row(model, source), row) if source is not None and model.config.has_encoder else None


def _frozen(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _read_twice(model: Transformer, row: Tensor, context: Context | None) -> tuple[list[float], list[float], Cache, list[float]]:
    """One pass over the text [1, t] in both ways: milliseconds with the cache and without, the full cache, the differences."""
    cache = open_cache(model, 1, *(context or ()))
    cached, anew, differences = list[float](), list[float](), list[float]()
    for at in range(row.shape[1]):
        (logits, cache), spent = _timed(partial(step, model, cache, row[:, at : at + 1]))
        again, spent_anew = _timed(partial(next_logits, model, row[:, : at + 1], context))
        cached.append(spent)
        anew.append(spent_anew)
        differences.append(float((logits - again).abs().max()))
    return cached, anew, cache, differences


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and its milliseconds."""
    start = time.perf_counter()
    done = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return done, 1000 * (time.perf_counter() - start)


def _row(model: Transformer, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=next(model.parameters()).device)  # [1, t]
