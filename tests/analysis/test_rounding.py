"""A difference below what float32 can tell from none is drawn as none, and no other is."""

import numpy as np

from viz_core.analysis.rounding import RELATIVE_ROUNDING, difference_above_rounding, sum_rounding_bound


def test_only_what_lies_below_rounding_is_zero() -> None:
    before = np.array([[0.5, 0.25, 4.0], [0.0, 0.0, 0.0]], np.float32)
    after = before + np.array([[0.1, 1e-6, 0.0], [3e-6, 5e-6, -1e-7]], np.float32)
    change, bound = difference_above_rounding(before, after)
    assert bound == 4 * RELATIVE_ROUNDING
    exact = after - before
    np.testing.assert_array_equal(change, [[exact[0, 0], 0, 0], [0, exact[1, 1], 0]])


def test_nothing_is_said_where_nothing_is_that_small() -> None:
    before = np.array([[1.0, 2.0]], np.float32)
    assert difference_above_rounding(before, before)[1] == 0 == difference_above_rounding(before, before + 1)[1]
    np.testing.assert_array_equal(difference_above_rounding(before, before + 1)[0], [[1, 1]])


def test_what_is_no_number_stays_so() -> None:
    before = np.array([[-np.inf, -np.inf, 1.0]], np.float32)
    change, bound = difference_above_rounding(before, np.array([[-np.inf, 0.0, np.nan]], np.float32))
    assert np.isnan(change[0, 0]) and change[0, 1] == np.inf and np.isnan(change[0, 2]) and bound == 0


def test_a_sum_in_float32_stays_within_the_bound_of_its_terms_and_a_changed_one_does_not() -> None:
    terms = np.random.default_rng(0).normal(size=(50, 400)) * 100
    exact, summed = terms.sum(axis=1), np.cumsum(terms.astype(np.float32), axis=1, dtype=np.float32)[:, -1]
    bound = sum_rounding_bound(np.abs(terms).sum(axis=1))
    assert 0 < np.abs(summed - exact).max() <= bound
    assert np.abs(summed + np.float32(0.1) - exact).max() > bound
    assert sum_rounding_bound(np.zeros(0)) == 0
