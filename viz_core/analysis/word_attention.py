"""Attention weights between words that consist of several tokens: subword pieces or characters.

Following Clark et al. 2019 ("What Does BERT Look At?", section 2), the weight to a word is the sum over its pieces, and the weight
from a word is the mean over its pieces. Rows that sum to 1 still do.
"""

from collections.abc import Sequence

import numpy as np


def word_weights(weights: np.ndarray, queries: Sequence[int], keys: Sequence[int]) -> np.ndarray:
    """Return the weights between words, [..., T, S] -> [..., query words, key words]. queries, keys: the word of each token."""
    members = _membership(queries)  # [words, T]
    summed = weights.astype(np.float64) @ _membership(keys).T  # [..., T, words]
    between: np.ndarray = (members / members.sum(axis=1, keepdims=True)) @ summed
    return between


def word_visibility(visible: np.ndarray, queries: Sequence[int], keys: Sequence[int]) -> np.ndarray:
    """Return whether any token of a query word may attend to any token of a key word, bool [T, S] -> [words, words]."""
    seen: np.ndarray = (_membership(queries) @ visible @ _membership(keys).T) > 0
    return seen


def _membership(of: Sequence[int]) -> np.ndarray:
    """Return [words, T]: 1 where a token is part of a word, else 0."""
    return (np.arange(max(of) + 1)[:, None] == np.asarray(of)).astype(np.float64)
