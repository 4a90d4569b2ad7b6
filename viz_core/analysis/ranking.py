"""The largest values of an array."""

import numpy as np


def largest_indices(x: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest values along the last axis of x [..., W], largest first: [..., min(k, W)].

    Equal values are in the order of their indices, and NaN are last: the first k of np.argsort(-x, kind="stable").
    """
    rows = np.reshape(-x, (-1, x.shape[-1]))  # [N, W]
    found = [_smallest_of_row(row, k) for row in rows]
    return np.reshape(found, (*x.shape[:-1], min(k, x.shape[-1]))).astype(np.intp)


def _smallest_of_row(row: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k smallest values of row [W]. Only those up to the k-th smallest are sorted."""
    if 0 < k < len(row) and not np.isnan(bound := np.partition(row, k - 1)[k - 1]):
        candidates = np.nonzero(row <= bound)[0]
        return candidates[np.argsort(row[candidates], kind="stable")][:k]
    return np.argsort(row, kind="stable")[:k]
