"""A small source of words whose entropy is computed exactly: each word depends on the two words before it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from viz_core.config import Architecture, Side
from viz_core.text import Vocabulary
from viz_core.training.interactive.tasks.symbols import FIRST_ID, make_next_symbol_batch, read_symbol_stream
from viz_core.training.interactive.tasks.task import Parameters, TaskInput

WORDS = (
    *("the", "a", "my", "your", "this", "one", "old", "young", "big", "small", "red", "cat", "dog", "man", "woman"),
    *("child", "bird", "sees", "has", "likes", "finds", "wants", "here", "now", "today", "and", "but", "then", "so", "."),
)
SCORE_STD = 2.0  # standard deviation of the scores U and V, in nats
MAX_ITERATIONS = 20_000


def entropy(p: np.ndarray) -> float:
    """Return −Σ p ln p in nats, with 0 ln 0 = 0."""
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A stationary Markov chain of order 2. table [V, V, V]: P(c | a, b), all positive, so that every pair recurs."""

    table: np.ndarray

    @property
    def pair_probabilities(self) -> np.ndarray:
        """The stationary probability of each pair, [V, V]: π(b, c) = Σ_a π(a, b) P(c | a, b)."""
        return _stationary_distribution(self)

    @property
    def entropies(self) -> tuple[float, float, float]:
        """(H(X₁), H(X₂ | X₁), H(X₃ | X₁ X₂)) in nats; the last is the entropy rate of the chain."""
        pi = self.pair_probabilities
        alone, both = entropy(pi.sum(axis=1)), entropy(pi)
        rate = float((pi * -(self.table * np.log(self.table)).sum(axis=2)).sum())
        return alone, both - alone, rate

    def mean_entropy(self, n_before: int, n: int) -> float:
        """Return the mean of H(Xₜ | all words before it) over n words; the first of them has n_before words before it."""
        return math.fsum(self.entropies[min(t, 2)] for t in range(n_before, n_before + n)) / n

    def sample(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        """Sample n rows of `length` words, [n, length], each starting from the stationary distribution."""
        v = len(self.table)
        start = np.minimum(np.searchsorted(self.pair_probabilities.cumsum(), rng.random(n)), v * v - 1)  # [n]
        rows = np.empty((n, max(2, length)), dtype=np.int64)
        rows[:, 0], rows[:, 1] = np.divmod(start, v)
        sums = self.table.cumsum(axis=2)
        for t in range(2, length):
            below = sums[rows[:, t - 2], rows[:, t - 1]] < rng.random(n)[:, None]  # [n, V]
            rows[:, t] = np.minimum(below.sum(axis=1), v - 1)
        return rows[:, :length]


@cache
def _stationary_distribution(chain: MarkovChain) -> np.ndarray:
    """Return the stationary distribution over pairs by power iteration, which converges for a table without zeros."""
    pi = np.full(chain.table.shape[:2], 1 / len(chain.table) ** 2)
    for _ in range(MAX_ITERATIONS):
        after = np.einsum("ab,abc->bc", pi, chain.table)
        if np.abs(after - pi).max() < 1e-16:
            break
        pi = after / after.sum()
    return pi


@cache
def make_chain(seed: int, n_words: int = len(WORDS)) -> MarkovChain:
    """Return the chain of a seed: P(c | a, b) = softmax over c of U[a, c] + V[b, c], with U and V drawn from a normal distribution.

    Each of the two preceding words adds its own score, as attention adds values, so a small model can come close to the entropy.
    """
    two_before, one_before = np.random.default_rng([seed, n_words]).normal(scale=SCORE_STD, size=(2, n_words, n_words))
    scores = two_before[:, None, :] + one_before[None, :, :]  # [V, V, V]
    exponentials = np.exp(scores - scores.max(axis=2, keepdims=True))
    return MarkovChain(exponentials / exponentials.sum(axis=2, keepdims=True))


@dataclass(frozen=True, slots=True)
class NextWord:
    """Predict each next word of the chain. Parameters: length, source (the seed of the chain)."""

    def vocabulary(self, p: Parameters, architecture: Architecture) -> dict[Side, Vocabulary]:
        return {"source" if architecture == "encoder-only" else "target": Vocabulary(WORDS)}

    def max_lengths(self, p: Parameters, architecture: Architecture) -> dict[Side, int]:
        return {"source" if architecture == "encoder-only" else "target": p["length"]}

    def sample_rows(
        self, p: Parameters, architecture: Architecture, rng: np.random.Generator, n: int, *, held_out: bool
    ) -> np.ndarray:
        return make_chain(p["source"]).sample(rng, n, p["length"] + self.n_context_words(architecture))

    def n_context_words(self, architecture: Architecture) -> int:
        """Return the number of words before the first predicted one: 1 for an encoder, which has no <bos>."""
        return int(architecture == "encoder-only")

    def make_batch(self, p: Parameters, architecture: Architecture, rows: np.ndarray) -> dict[str, np.ndarray]:
        return make_next_symbol_batch(architecture, rows + FIRST_ID)

    def irreducible_loss(self, p: Parameters, architecture: Architecture, causal: bool = True) -> float:
        """Return the mean entropy in nats. Without a causal mask all answers but the last are visible."""
        found, n, known = make_chain(p["source"]), p["length"], self.n_context_words(architecture)
        return found.mean_entropy(known, n) if causal else found.mean_entropy(known + n - 1, 1) / n

    def n_answers(self, p: Parameters) -> int:
        return len(WORDS)

    def symbols(self, p: Parameters) -> tuple[str, ...]:
        return WORDS

    def read_words(self, p: Parameters, architecture: Architecture, words: Sequence[str], max_tokens: int) -> TaskInput:
        return read_symbol_stream(self.vocabulary(p, architecture), self.symbols(p), words, max_tokens)
