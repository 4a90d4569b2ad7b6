"""Ranks and rank correlation."""

import numpy as np


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks, [N], 1 for the largest value; equal values get the mean of their ranks."""
    values = np.asarray(values, np.float64)
    above = (values[None, :] > values[:, None]).sum(axis=1)  # [N]
    alike = (values[None, :] == values[:, None]).sum(axis=1)  # [N], itself included
    shared: np.ndarray = above + (alike + 1) / 2
    return shared


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's ρ, Pearson's correlation of the ranks, from −1 to 1; NaN if all values of one are equal or there are none.

    Spearman 1904, "The Proof and Measurement of Association between Two Things".
    """
    x, y = (ranks(np.ravel(values)) for values in (a, b))
    if len(x) != len(y):
        raise ValueError(f"{len(x)} values cannot be ranked beside {len(y)}; give as many of both.")
    x, y = (each - each.mean() if len(each) else each for each in (x, y))
    spread = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / spread if spread > 0 else float("nan")
