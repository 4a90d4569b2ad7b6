"""Bounds of float32 rounding errors, for differences of two runs and for sums."""

import numpy as np

RELATIVE_ROUNDING = 1e-6  # of the largest number: about eight units in the last place of float32, as for sums in another order


def difference_above_rounding(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, float]:
    """Return after − before with differences below a rounding bound set to 0, and the bound, 0 if nothing was set.

    The bound is RELATIVE_ROUNDING times the largest finite absolute value of both. ∞ − ∞ is NaN.
    """
    with np.errstate(invalid="ignore"):
        change = after - before
    sizes = np.abs(np.stack([before, after]))
    bound = RELATIVE_ROUNDING * float(sizes[np.isfinite(sizes)].max(initial=0.0))
    small = (change != 0) & (np.abs(change) < bound)
    return np.where(small, np.zeros_like(change), change), bound if small.any() else 0.0


def sum_rounding_bound(abs_sums: np.ndarray) -> float:
    """Return a bound of the rounding error of sums in float32. abs_sums: Σ |x| over the terms x of each sum.

    The error of a sum is a few units in the last place of Σ |x| (Higham, Accuracy and Stability of Numerical Algorithms,
    section 4.2), which can exceed the sum itself where terms cancel.
    """
    return RELATIVE_ROUNDING * float(abs_sums.max(initial=0.0))
