"""Spearman's ρ against published values, its closed form without ties, and Pearson's of ranks that are counted by sorting."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tolerances import EXACT
from viz_core.experiments.ranking import rank_correlation, ranks

IQ = [106, 100, 86, 101, 99, 103, 97, 113, 112, 110]
HOURS = [7, 27, 2, 50, 28, 29, 20, 12, 6, 17]


def test_the_textbook_s_example() -> None:
    """IQ and hours of television: ρ = −29/165 (Wikipedia, "Spearman's rank correlation coefficient")."""
    assert rank_correlation(np.array(IQ), np.array(HOURS)) == pytest.approx(-29 / 165, abs=EXACT)


def test_equal_values_share_their_ranks() -> None:
    np.testing.assert_array_equal(ranks(np.array([5.0, 7, 7, 1, 7])), [4, 2, 2, 5, 2])
    assert rank_correlation(np.array([1, 2, 2, 4]), np.array([1, 3, 2, 4])) == pytest.approx(4.5 / math.sqrt(4.5 * 5), abs=EXACT)


@given(st.permutations(range(9)))
def test_the_closed_form_without_ties(order: list[int]) -> None:
    n, d = 9, np.array(order) - np.arange(9)
    assert rank_correlation(np.array(order), np.arange(9)) == pytest.approx(1 - 6 * float(d @ d) / (n * (n**2 - 1)), abs=EXACT)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12))
def test_with_ties_it_is_the_correlation_of_ranks_counted_by_sorting(pairs: list[tuple[int, int]]) -> None:
    def sorted_ranks(values: list[int]) -> list[float]:
        order = sorted(values, reverse=True)
        return [float(np.mean([i for i, x in enumerate(order, 1) if x == value])) for value in values]

    a, b = ([pair[i] for pair in pairs] for i in (0, 1))
    found = rank_correlation(np.array(a), np.array(b))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(float(np.corrcoef(sorted_ranks(a), sorted_ranks(b))[0, 1]), abs=1e-9)


def test_nothing_to_rank() -> None:
    assert math.isnan(rank_correlation(np.array([]), np.array([])))
    with pytest.raises(ValueError, match="as many"):
        rank_correlation(np.arange(2), np.arange(3))
