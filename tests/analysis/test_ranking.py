"""The largest values of an array: as a stable sort has them."""

import numpy as np
import pytest

from viz_core.analysis.ranking import largest_indices


@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_the_first_of_a_stable_sort(k):
    numbers = np.random.default_rng(k)
    for _ in range(200):
        shape = (*numbers.integers(1, 5, size=numbers.integers(0, 3)), numbers.integers(1, 30))
        x = numbers.integers(-3, 3, size=shape).astype(float)  # many ties
        x[numbers.random(shape) < 0.2] = numbers.choice([np.nan, -np.inf, np.inf])
        assert (largest_indices(x, k) == np.argsort(-x, axis=-1, kind="stable")[..., :k]).all()
