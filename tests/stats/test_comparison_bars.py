"""Bars that overlap exactly where the interval of a difference holds 0."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fslcore.stats.simultaneous import comparison_half_widths


def overlapping(half_widths, distances):
    """Which bars overlap, by pair of the upper triangle."""
    first, second = np.triu_indices(len(half_widths), 1)
    return half_widths[first] + half_widths[second] >= distances[first, second]


def of_means(means, widths):
    """The arguments for these means and one width per pair."""
    distances = np.abs(np.subtract.outer(means, means))
    matrix = np.zeros_like(distances)
    matrix[np.triu_indices(len(means), 1)] = widths
    return distances, matrix


def test_two_bars_share_the_width_of_their_difference():
    for width in (0.0, 1.5, 3.0):
        found = comparison_half_widths(*of_means([1.0, 3.0], width))
        np.testing.assert_allclose(found, width / 2, atol=1e-9)


def test_equal_widths_of_all_pairs_give_half_of_it():
    found = comparison_half_widths(*of_means([1.0, 1.5, 4.0, 9.0], 2.0))
    np.testing.assert_allclose(found, 1.0, rtol=1e-6)


def test_standard_errors_that_add_up_are_found_again():
    true = np.array([0.5, 1.0, 2.0, 0.25])
    first, second = np.triu_indices(4, 1)
    found = comparison_half_widths(*of_means([0.0, 5.0, 1.0, 2.0], true[first] + true[second]))
    np.testing.assert_allclose(found, true, rtol=1e-4)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 6))
def test_bars_overlap_where_they_should_or_there_are_none(seed, count):
    rng = np.random.default_rng(seed)
    pairs = count * (count - 1) // 2
    distances, widths = of_means(rng.normal(0, 2, count), rng.uniform(0.2, 3, pairs))
    found = comparison_half_widths(distances, widths)
    holds_0 = (widths >= distances)[np.triu_indices(count, 1)]
    if np.isfinite(found).all():
        assert (found >= 0).all() and (overlapping(found, distances) == holds_0).all()
    else:
        assert np.isnan(found).all() and count > 2


def test_no_bars_where_none_separate_what_differs():
    """The bars of a and b have to reach over 6 together, and neither over 1, where c begins."""
    distances, widths = of_means([0.0, 6.0, 1.0], [9.0, 0.5, 0.5])
    distances[1, 2] = 1.0
    assert np.isnan(comparison_half_widths(distances, widths)).all()


@pytest.mark.parametrize("count", [1, 3])
def test_without_pairs_there_are_none(count):
    nothing = np.full((count, count), np.nan)
    assert np.isnan(comparison_half_widths(nothing, nothing)).all()


def test_the_others_of_a_reference_need_not_be_compared_with_each_other():
    distances, widths = of_means([5.0, 2.0, 4.5], 1.0)
    distances[1, 2] = np.nan
    found = comparison_half_widths(distances, widths)
    np.testing.assert_allclose([found[0] + found[1], found[0] + found[2]], 1.0, rtol=1e-6)
