"""One word drawn, opened up: logits → ÷ temperature → top-k → top-p → renormalised → the drawn number → the word.

The order is that of `transformers`: top-p counts the probabilities that top-k has left, after they add up to 1 again.
"""

from dataclasses import dataclass

import numpy as np
import torch

from viz_core.generation.strategy import Sampling
from viz_core.model.init import generator
from viz_core.problems import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """How one word was drawn. Arrays are read-only; those with [W] have a number for each word of the vocabulary, float64.

    logits [W]: as the model gave them. scaled [W]: divided by the temperature. order [W]: all ids, the likeliest first.
    in_top_k [W], kept [W]: what top-k leaves, and what top-p leaves of it. after_top_k [W], probs [W]: the probabilities of
    the words that are left, adding up to 1; 0 for all others. cumulative [n]: the running sum of `probs` over the kept words
    in `order`, which are its first n ids. u: the drawn number, 0 ≤ u < 1. token: the first word whose running sum exceeds u.
    model_entropy, entropy: of the model's own distribution and of `probs`, in nats.
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


def draw(logits: np.ndarray, sampling: Sampling, u: float) -> Draw:
    """Draw a word with the number u, 0 ≤ u < 1, from logits [W]. `Problem`, a `ValueError`, for logits that are NaN or +∞.

    A word whose logit is −∞ has the probability 0 and is never drawn. Of words that are equally likely the smaller id counts
    as the likelier, except at the end of top-k, which keeps all that are as likely as its last.
    """
    logits = np.array(logits, dtype=np.float64)  # [W]
    if not 0 <= u < 1:
        raise ValueError(f"u={u!r} is no drawn number; use a number from 0 up to, not including, 1.")
    scaled = finite(logits) / sampling.temperature  # [W]
    order = np.argsort(-scaled, kind="stable")  # [W]
    in_top_k = scaled >= scaled[order[min(sampling.top_k or len(order), len(order)) - 1]]  # [W]
    after_top_k = softmax(np.where(in_top_k, scaled, -np.inf))  # [W]
    kept = in_top_k & _in_top_p(after_top_k, order, sampling.top_p)  # [W]
    probs = softmax(np.where(kept, scaled, -np.inf))  # [W]
    cumulative = probs[order[: kept.sum()]].cumsum()  # [n]
    token = int(order[min(np.searchsorted(cumulative, u, side="right"), np.count_nonzero(probs) - 1)])  # the sum may round below 1
    for array in (logits, scaled, order, in_top_k, after_top_k, kept, probs, cumulative):
        array.flags.writeable = False
    return Draw(logits, scaled, order, in_top_k, after_top_k, kept, probs, cumulative, u, token,
                model_entropy=entropy(softmax(logits)), entropy=entropy(probs))


def _in_top_p(probs: np.ndarray, order: np.ndarray, top_p: float) -> np.ndarray:
    """Which words [W] begin before the running sum has reached top_p; always the likeliest."""
    if top_p == 1:
        return np.ones(len(probs), dtype=bool)
    falling = probs[order]  # [W]
    kept = np.zeros(len(probs), dtype=bool)
    kept[order] = falling.cumsum() - falling < top_p
    kept[order[0]] = True
    return kept


def finite(logits: np.ndarray) -> np.ndarray:
    """The logits, if a softmax of them exists: at least one number, none of them NaN or +∞."""
    if not (logits < np.inf).all() or not np.isfinite(logits).any():
        raise Problem(
            "the logits have no softmax, because some are NaN or infinite; choose weights, a norm or a mask fill that keep the "
            "numbers finite.", "no_distribution",
        )
    return logits


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(x) / Σ exp(x) over the last axis, in float64."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    found: np.ndarray = powers / powers.sum(axis=-1, keepdims=True)
    return found


def entropy(probs: np.ndarray) -> float:
    """−Σ p ln p of one distribution [W], in nats: 0 where one word is certain, ln W where all are equally likely."""
    some = probs[probs > 0]
    return float(-(some * np.log(some)).sum()) + 0.0  # no negative zero


def drawn_numbers(seed: int, row: int, count: int) -> np.ndarray:
    """The first `count` numbers [count], each 0 ≤ u < 1, that the text with this number in its batch draws with.

    Each row has a generator of its own, so a text is drawn alone as beside others, and a longer one begins as a shorter one.
    """
    return torch.rand(count, generator=generator(seed, f"row {row}"), dtype=torch.float64).numpy()
