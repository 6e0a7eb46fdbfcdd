"""Means where few units differ: exact coverage over all counts of them, the join with none and with
many, and every kind of interval that has bounds.
"""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats as scipy_stats

from fslcore import stats
from fslcore.stats import rare
from fslcore.stats.across_datasets import interval_over_datasets

EXPECTED = [0.5, 1, 2, 3.5, 5, 10, 30]  # units that differ


def with_counts(units, higher, lower, size):
    """The interval of differences in shares, of which these counts are ± size."""
    differences = np.zeros(units)
    differences[:higher] = size
    differences[higher : higher + lower] = -size
    return stats.paired_interval(differences, np.zeros(units), bounds=(-1, 1))


def shares(units, size, expected, higher):
    """Exact shares of studies that hold the true mean, and that call it smaller than it is, where a unit differs by
    ±size with a chance of expected/units, upwards with the chance ``higher``."""
    chance = expected / units
    truth = chance * size * (2 * higher - 1)
    holds = equivalent = 0.0
    for count in range(units + 1):
        weight = scipy_stats.binom.pmf(count, units, chance)
        if weight < 1e-7:
            continue
        for up in range(count + 1) if higher < 1 else [count]:
            interval = with_counts(units, up, count - up, size)
            part = weight * scipy_stats.binom.pmf(up, count, higher)
            holds += part * (interval.low <= truth + 1e-12 and truth <= interval.high + 1e-12)
            if truth > 0:
                equivalent += part * stats.tost(interval, truth).equivalent
    return holds, equivalent


@pytest.mark.slow
@pytest.mark.parametrize("units", [100, 3000])
@pytest.mark.parametrize("size", [0.05, 1.0])
def test_differences_of_one_sign_are_held_and_seldom_concluded_away(units, size):
    """Student's interval held 84 to 94 % of them, and 15 % were called smaller than they are."""
    for expected in EXPECTED:
        if expected < units / 4:
            holds, equivalent = shares(units, size, expected, 1.0)
            assert holds > 0.949 and equivalent < 0.06, expected


@pytest.mark.slow
@pytest.mark.parametrize("higher, size", [(0.5, 1.0), (0.8, 0.2)])
def test_differences_of_both_signs_too(size, higher):
    for expected in (0.5, 1, 2, 3, 4, 6):
        holds, equivalent = shares(300, size, expected, higher)
        assert holds > 0.949 and equivalent < 0.06, expected


def test_three_expected_differences_are_held():
    """85 % before."""
    assert shares(600, 0.2, 3, 1.0)[0] > 0.95
    assert shares(600, 1.0, 3, 1.0)[1] < 0.055


@pytest.mark.parametrize(
    "units, size, most",
    [(units, size, 11) for units in (100, 3000) for size in (1e-6, 0.1, 1.0)]
    + [(600, 0.2, 200), (3000, 0.2, 60), (100, 0.5, 33), (3000, 1.0, 60)],
)
def test_each_further_differing_unit_moves_the_far_end_on(units, size, most):
    """The far end and the p-value of equivalence never fall up to ten differing units, and for
    sizes of a fifth of the bound on to a third of the units.
    """
    counts = range(most)
    ends, p_values = [], []
    for count in counts:
        interval = with_counts(units, count, 0, size)
        mirrored = with_counts(units, 0, count, size)
        assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low))
        ends.append(interval.high)
        p_values.append(stats.tost(interval, 1 / units).p_value)
    assert np.diff(ends).min() > -1e-12
    assert np.diff(p_values).min() > -1e-5


def test_one_differing_task_is_no_narrower_than_none():
    """0.0061, 0.00065 and 0.00093 for 0, 1 and 2 before; p = 0.30 and 3.8e-7 of equivalence."""
    none, one, two = (with_counts(600, count, 0, 0.2) for count in (0, 1, 2))
    halves = [(interval.high - interval.low) / 2 for interval in (none, one, two)]
    assert halves == pytest.approx([0.00613, 0.00645, 0.00652], abs=1e-5)
    p_values = [stats.tost(interval, 0.002).p_value for interval in (none, one, two)]
    assert p_values == pytest.approx([0.301, 0.367, 0.449], abs=1e-3)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_a_tiny_difference_joins_none(level):
    none = stats.Interval(0.0, 0.0, level, 600, "new tasks", bounds=(-1, 1))
    differences = np.r_[1e-7, np.zeros(599)]
    one = stats.paired_interval(differences, 0 * differences, level, bounds=(-1, 1))
    assert none.high <= one.high * 1.04 < 1.35 * none.high
    p_values = [stats.tost(interval, 0.005).p_value for interval in (none, one)]
    assert p_values[0] <= p_values[1] * 1.04 < 1.1 * p_values[0]


@given(st.integers(0, 10_000), st.integers(4, 60), st.booleans())
def test_where_many_differ_it_is_the_t_test(seed, units, is_discrete):
    rng = np.random.default_rng(seed)
    differences = rng.normal(size=units) / 9
    if is_discrete:
        differences[: units - math.ceil(units / 4)] = 0.0  # three quarters are equal
    interval = stats.paired_interval(differences, 0 * differences, bounds=(-1, 1))
    theirs = scipy_stats.ttest_1samp(differences, 0)
    assert interval.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    low, high = theirs.confidence_interval(0.95)
    assert (interval.low, interval.high) == pytest.approx((max(low, -1), min(high, 1)))


def test_right_or_wrong_it_is_nearly_wilson_s_interval():
    for errors in range(1, 30):
        right = np.r_[np.zeros(errors), np.ones(600 - errors)]
        interval = stats.open_task_interval(right, bounds=(0, 1))
        wilson = scipy_stats.binomtest(600 - errors, 600).proportion_ci(0.95, "wilson")
        exact = scipy_stats.binomtest(600 - errors, 600).proportion_ci(0.95, "exact")
        assert exact.low - 0.001 < interval.low < wilson.low + 1e-4
        assert interval.high < 1


@given(
    st.floats(1e-6, 0.49),
    st.floats(1e-6, 10),
    st.sampled_from([2, 9, 99, math.inf]),
    st.floats(0, 20),
    st.integers(2, 3000),
)
def test_reach_is_the_inverse_of_the_chance(tail, error, df, size, units):
    distance = rare.reach(tail, error, df, size, units)
    chance = rare.chance_beyond(distance, error, df, size, units)
    assert chance == pytest.approx(tail, rel=1e-5)
    assert distance >= error * scipy_stats.t.isf(tail, df) * (1 - 1e-9)


def test_without_bounds_nothing_changes():
    differences = np.r_[0.2, np.zeros(599)]
    interval = stats.paired_interval(differences, 0 * differences)
    theirs = scipy_stats.ttest_1samp(differences, 0)
    assert interval.p_value == pytest.approx(theirs.pvalue)
    assert interval.low == interval.estimate - interval.half_width


def test_two_samples_count_the_rare_ones_of_each():
    rng = np.random.default_rng(0)
    often = rng.random(600)
    seldom = np.r_[0.2, np.zeros(59)]
    alone = stats.open_task_interval(seldom, bounds=(0, 1))
    interval = stats.welch_interval(seldom, np.zeros(600), bounds=(-1, 1))
    assert interval.high > 0.9 * alone.high
    usual = stats.welch_interval(often, often[::2], bounds=(-1, 1))
    theirs = scipy_stats.ttest_ind(often, often[::2], equal_var=False)
    assert usual.p_value == pytest.approx(theirs.pvalue)


def test_one_answer_that_differs_leaves_runs_and_supports_uncertain():
    """Of three runs without an error one tells little of others: from 29 % on before, then from 99.8 %."""
    right = np.ones((3, 600))
    none = stats.new_run_interval(right, bounds=(0, 1)).interval
    right[0, 0] = 0.0
    one = stats.new_run_interval(right, bounds=(0, 1)).interval
    assert one.low < none.low == pytest.approx(0.292, abs=1e-3)
    crossed = stats.crossed_intervals(right, bounds=(0, 1))
    assert max(crossed.supports.low, crossed.both.low) < 0.3 < 0.99 < crossed.items.low


@pytest.mark.parametrize("datasets", [3, 5, 6, 11])
@pytest.mark.parametrize("sign", [1, -1])
def test_equal_differences_over_data_sets_have_the_p_value_of_the_sign_test(datasets, sign):
    """+2.00 on 11 of 11: p = 1.00 with bounds of ±100 points, and below 1e-15 with one at 2.1."""
    differences = np.full(datasets, sign * 2.0)
    interval = interval_over_datasets(differences, 0.95, bounds=(-100, 100))
    theirs = scipy_stats.binomtest(datasets, datasets).pvalue
    assert interval.p_value == pytest.approx(theirs)
    assert interval.sign == (sign if theirs < 0.05 else 0)
    assert (sign * interval.low > 0) == (sign * interval.high > 0) or not interval.sign
    differences[-1] += sign * 0.1
    nearly = interval_over_datasets(differences, 0.95, bounds=(-100, 100))
    if datasets == 11:
        assert theirs < nearly.p_value < 0.02 and nearly.sign == sign
    none = interval_over_datasets(0 * differences, 0.95, bounds=(-100, 100))
    assert none.p_value == 1 and none.low < -10
    assert {x.target for x in (interval, nearly, none)} == {"new data sets"}
    assert nearly.is_difference
