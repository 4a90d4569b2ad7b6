"""Sampling of one token with all intermediate values: logits → ÷ temperature → top-k → top-p → renormalise → random number.

The order is that of `transformers`: top-p applies to the renormalised probabilities after top-k.
"""

from dataclasses import dataclass

import numpy as np
import torch

from viz_core.generate.strategy import Sampling
from viz_core.messages.errors import UserError
from viz_core.model.init import parameter_generator


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """How one token was sampled. Arrays are read-only, float64; W is the size of the vocabulary.

    logits [W]: the model's logits. scaled [W]: divided by the temperature. order [W]: all ids, the most probable first. in_top_k,
    kept [W]: which tokens top-k keeps, and which of these top-p keeps. after_top_k, probs [W]: the renormalised probabilities of
    these tokens; 0 for all others. cumulative [n]: the cumulative sum of `probs` over the kept tokens, the first n ids of `order`.
    u: the random number, 0 ≤ u < 1. token: the first id whose cumulative sum exceeds u. model_entropy, entropy: of the softmax of
    `logits` and of `probs`, in nats.
    """

    logits: np.ndarray
    scaled: np.ndarray
    order: np.ndarray
    in_top_k: np.ndarray
    after_top_k: np.ndarray
    kept: np.ndarray
    probs: np.ndarray
    cumulative: np.ndarray
    u: float
    token: int
    model_entropy: float
    entropy: float


def sample(logits: np.ndarray, sampling: Sampling, u: float) -> Sample:
    """Sample a token from logits [W] with the random number u, 0 ≤ u < 1.

    A token whose logit is −∞ has probability 0 and is never sampled. Ties are broken by the smaller id, except that top-k keeps
    all tokens that are as probable as its last one. Raises `UserError`, a `ValueError`, for logits that are NaN or +∞.
    """
    logits = np.array(logits, dtype=np.float64)  # [W]
    if not 0 <= u < 1:
        raise ValueError(f"u={u!r} is not in [0, 1); use a number from 0 up to, not including, 1.")
    scaled = check_finite(logits) / sampling.temperature  # [W]
    order = np.argsort(-scaled, kind="stable")  # [W]
    in_top_k = scaled >= scaled[order[min(sampling.top_k or len(order), len(order)) - 1]]  # [W]
    after_top_k = softmax(np.where(in_top_k, scaled, -np.inf))  # [W]
    kept = in_top_k & _in_top_p(after_top_k, order, sampling.top_p)  # [W]
    probs = softmax(np.where(kept, scaled, -np.inf))  # [W]
    cumulative = probs[order[: kept.sum()]].cumsum()  # [n]
    last = np.count_nonzero(probs) - 1  # rounding may leave the sum below 1
    token = int(order[min(np.searchsorted(cumulative, u, side="right"), last)])
    for array in (logits, scaled, order, in_top_k, after_top_k, kept, probs, cumulative):
        array.flags.writeable = False
    return Sample(logits, scaled, order, in_top_k, after_top_k, kept, probs, cumulative, u, token,
                  model_entropy=entropy(softmax(logits)), entropy=entropy(probs))


def _in_top_p(probs: np.ndarray, order: np.ndarray, top_p: float) -> np.ndarray:
    """Return which tokens [W] are kept: those before the cumulative sum reaches top_p, and always the most probable one."""
    if top_p == 1:
        return np.ones(len(probs), dtype=bool)
    descending = probs[order]  # [W]
    kept = np.zeros(len(probs), dtype=bool)
    kept[order] = descending.cumsum() - descending < top_p
    kept[order[0]] = True
    return kept


def check_finite(logits: np.ndarray) -> np.ndarray:
    """Return the logits. Raises `UserError` if their softmax is undefined: NaN, +∞ or no finite number."""
    if not (logits < np.inf).all() or not np.isfinite(logits).any():
        raise UserError("no_distribution")
    return logits


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return exp(x) / Σ exp(x) over the last axis, in float64."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: np.ndarray = powers / powers.sum(axis=-1, keepdims=True)
    return found


def entropy(probs: np.ndarray) -> float:
    """Return −Σ p ln p of one distribution [W], in nats: from 0 for a one-hot to ln W for a uniform distribution."""
    positive = probs[probs > 0]
    return float(-(positive * np.log(positive)).sum()) + 0.0  # no negative zero


def random_numbers(seed: int, row: int, count: int) -> np.ndarray:
    """Return the random numbers of the first `count` steps of one row of a batch, [count], each 0 ≤ u < 1.

    Each row has its own generator, so the numbers depend neither on other rows nor on `count`.
    """
    return torch.rand(count, generator=parameter_generator(seed, f"row {row}"), dtype=torch.float64).numpy()
