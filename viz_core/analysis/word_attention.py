"""Attention between words where a word is several tokens: the pieces of a subword tokenizer, or characters.

The rule is Clark et al. 2019 ("What Does BERT Look At?", section 2): weight that reaches a word is the sum over its
pieces, weight that leaves it the mean over them. Rows that summed to 1 still do.
"""

from collections.abc import Sequence

import numpy as np


def between_words(weights: np.ndarray, queries: Sequence[int], keys: Sequence[int]) -> np.ndarray:
    """weights [..., T, S] -> [..., words that ask, words that are asked]. queries, keys: the word of each token."""
    asks = _membership(queries)  # [words, T]
    summed = weights.astype(np.float64) @ _membership(keys).T  # [..., T, words]
    found: np.ndarray = (asks / asks.sum(axis=1, keepdims=True)) @ summed
    return found


def seen_words(visible: np.ndarray, queries: Sequence[int], keys: Sequence[int]) -> np.ndarray:
    """bool [T, S] -> [words, words]: whether any token of the one may look at any token of the other."""
    found: np.ndarray = (_membership(queries) @ visible @ _membership(keys).T) > 0
    return found


def _membership(of: Sequence[int]) -> np.ndarray:
    """[words, T]: 1 where a token is part of a word."""
    return (np.arange(max(of) + 1)[:, None] == np.asarray(of)).astype(np.float64)
