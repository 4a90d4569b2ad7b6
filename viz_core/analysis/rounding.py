"""What float32 cannot tell from none: differences of two runs, and of a sum from its terms."""

import numpy as np

ROUNDING = 1e-6  # of the largest number: some eight units in the last place of float32, which sums in another order reach


def difference(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, float]:
    """after − before, with 0 where it lies below rounding; and the bound below which it was set to 0, itself 0 where none was.

    The bound is ROUNDING times the largest finite number of both. ∞ − ∞ is NaN.
    """
    with np.errstate(invalid="ignore"):
        change = after - before
    sizes = np.abs(np.stack([before, after]))
    bound = ROUNDING * float(sizes[np.isfinite(sizes)].max(initial=0.0))
    small = (change != 0) & (np.abs(change) < bound)
    return np.where(small, np.zeros_like(change), change), bound if small.any() else 0.0


def sum_bound(sizes: np.ndarray) -> float:
    """How far rounding can take sums in float32 from the exact ones. sizes: of each sum, its terms' sizes added up.

    A sum of n numbers x is off by a few units in the last place of Σ |x| (Higham, Accuracy and Stability of Numerical
    Algorithms, section 4.2), which is more than the sum itself where terms cancel.
    """
    return ROUNDING * float(sizes.max(initial=0.0))
