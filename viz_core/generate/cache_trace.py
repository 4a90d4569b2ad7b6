"""One text decoded with the key-value cache and without: the cached keys and values, the differences and the times."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from viz_core.generate.incremental import EncodedSource, encode_source, next_logits
from viz_core.generate.kv_cache import KVCache, decode_step, init_cache
from viz_core.model.transformer import Transformer

T = TypeVar("T")
N_PASSES = 9  # timed passes over the text, after one warm-up pass; the result is the median of each step


@dataclass(frozen=True, slots=True, eq=False)
class CacheTrace:
    """The cache after decoding a text token by token, compared with decoding without it; arrays are read-only.

    keys [L, H, t, K], values [L, H, t, V]: of self-attention after the last token; a step adds one row to each head of each layer
    and does not change the earlier ones. logit_differences [t]: the largest absolute difference of the logits of each step with and
    without the cache.
    """

    keys: np.ndarray
    values: np.ndarray
    logit_differences: np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class StepTimes:
    """Milliseconds of each step [t] with the cache and without: medians of N_PASSES runs; read-only."""

    cached: np.ndarray
    uncached: np.ndarray


@torch.inference_mode()
def trace_cache(model: Transformer, ids: Sequence[int], source: Sequence[int] | None = None) -> CacheTrace:
    """Decode `ids` [t] token by token with the cache and without, on the model's device.

    source: the ids of the encoder, which runs once. Raises `UserError`, a `ValueError`, if the config does not allow a cache.
    """
    __, __, cache, differences = _run_both_ways(model, *_encode_inputs(model, ids, source))
    keys, values = (torch.cat([getattr(own, name) for own in cache.self_attn]).cpu().numpy() for name in ("k", "v"))
    return CacheTrace(*_frozen(keys, values, np.array(differences)))


@torch.inference_mode()
def measure_step_times(model: Transformer, ids: Sequence[int], source: Sequence[int] | None = None) -> StepTimes:
    """Time each step of `trace_cache` with the cache and without; the first pass over the text is a warm-up."""
    row, context = _encode_inputs(model, ids, source)
    passes = [_run_both_ways(model, row, context)[:2] for __ in range(N_PASSES + 1)][1:]
    return StepTimes(*_frozen(*np.median(passes, axis=0)))  # of [passes, 2, t]


def _encode_inputs(model: Transformer, ids: Sequence[int], source: Sequence[int] | None) -> tuple[Tensor, EncodedSource | None]:
    """Return the text as a row [1, t], and the encoded source."""
    row = _row(model, ids)
    return row, encode_source(model, _row(model, source), row) if source is not None and model.config.has_encoder else None


def _frozen(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _run_both_ways(
    model: Transformer, row: Tensor, encoded: EncodedSource | None
) -> tuple[list[float], list[float], KVCache, list[float]]:
    """Decode the text [1, t] with the cache and without; return both lists of milliseconds, the cache and the differences."""
    cache = init_cache(model, 1, *(encoded or ()))
    cached, anew, differences = list[float](), list[float](), list[float]()
    for at in range(row.shape[1]):
        (logits, cache), spent = _timed(partial(decode_step, model, cache, row[:, at : at + 1]))
        again, spent_anew = _timed(partial(next_logits, model, row[:, : at + 1], encoded))
        cached.append(spent)
        anew.append(spent_anew)
        differences.append(float((logits - again).abs().max()))
    return cached, anew, cache, differences


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of `work()` and its milliseconds."""
    start = time.perf_counter()
    done = work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return done, 1000 * (time.perf_counter() - start)


def _row(model: Transformer, ids: Sequence[int]) -> Tensor:
    return torch.tensor([list(ids)], device=next(model.parameters()).device)  # [1, t]
