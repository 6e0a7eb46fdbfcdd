"""Two one-sided tests: against statsmodels, by the interval they belong to, and by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from refusal import refuses
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from fslcore import stats


@given(st.integers(2, 40), st.integers(0, 10_000), st.floats(0.05, 3), st.floats(-2, 2))
@settings(deadline=None)
def test_against_statsmodels(n, seed, margin, shift):
    a, b = np.random.default_rng(seed).normal(size=(2, n)) - 20
    paired = stats.tost(stats.paired_interval(a + shift, b), margin)
    theirs = ttost_paired(a + shift, b, -margin, margin)[0]
    assert paired.p_value == pytest.approx(theirs, rel=1e-6, abs=1e-12)
    welch = stats.tost(stats.welch_interval(a + shift, b), margin)
    theirs = ttost_ind(a + shift, b, -margin, margin, usevar="unequal")[0]
    assert welch.p_value == pytest.approx(theirs, abs=1e-9)


@given(
    st.integers(3, 30),
    st.integers(0, 10_000),
    st.floats(0.05, 3),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_it_is_the_narrower_interval_within_the_margin(n, seed, margin, level):
    a, b = np.random.default_rng(seed).normal(size=(2, n))
    narrow = stats.paired_interval(a, b, 2 * level - 1)
    test = stats.tost(stats.paired_interval(a, b, level), margin)
    assert test.equivalent == (-margin < narrow.low and narrow.high < margin)
    assert test.interval.confidence_level == pytest.approx(2 * level - 1)
    assert (test.interval.low, test.interval.high) == pytest.approx((narrow.low, narrow.high))
    mirrored = stats.tost(stats.paired_interval(b, a, level), margin)
    assert mirrored.p_value == pytest.approx(test.p_value)


def test_the_four_verdicts_are_distinct():
    noise = np.random.default_rng(0).normal(size=50)
    noise -= noise.mean()

    def verdict(mean, scale, margin):
        difference = stats.paired_interval(mean + scale * noise, noise * 0)
        return stats.tost(difference, margin).verdict

    assert verdict(0.1, 1, 1) == "equivalent"
    assert verdict(0.1, 1, 0.2) == "not significantly different"
    assert (verdict(2, 1, 0.5), verdict(-2, 1, 0.5)) == ("higher", "lower")
    assert verdict(0.1, 0.1, 0.5) == "equivalent"  # away from 0, and too small to matter


def test_without_any_variance_and_without_an_end():
    for tasks, equivalent in ((5, False), (298, False), (299, True)):
        accuracies = np.full(tasks, 0.7)
        difference = stats.paired_interval(accuracies, accuracies, bounds=(-1, 1))
        test = stats.tost(difference, 0.01)
        assert test.p_value == pytest.approx(0.99**tasks)
        assert (test.margin, test.equivalent) == (0.01, equivalent)
    off = stats.paired_interval([0.7] * 9, [0.6] * 9, bounds=(-1, 1))
    assert stats.tost(off, 0.01).p_value == 1
    wide = stats.tost(stats.Interval(0.0, np.inf, 0.95, 100, "new classes", np.nan), 5)
    assert (wide.p_value, wide.verdict) == (1, "not significantly different")


def test_it_takes_one_interval():
    with refuses("difference"):
        stats.tost(0.1, 4.0)
