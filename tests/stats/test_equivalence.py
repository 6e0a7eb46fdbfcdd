"""Two one-sided tests: against statsmodels, by the interval they belong to, and by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from fslcore import stats
from fslcore.errors import InputError


@given(st.integers(2, 40), st.integers(0, 10_000), st.floats(0.05, 3), st.floats(-2, 2))
@settings(deadline=None)
def test_against_statsmodels(n, seed, margin, shift):
    a, b = np.random.default_rng(seed).normal(size=(2, n)) - 20
    result = stats.equivalence(stats.paired_interval(a + shift, b), margin)
    assert result.p_value == pytest.approx(
        ttost_paired(a + shift, b, -margin, margin)[0], rel=1e-6, abs=1e-12
    )
    assert result.equivalent == (result.p_value < 0.05)
    welch = stats.equivalence(stats.independent_interval(a + shift, b), margin)
    assert welch.p_value == pytest.approx(
        ttost_ind(a + shift, b, -margin, margin, usevar="unequal")[0], abs=1e-9
    )


@given(
    st.integers(3, 30),
    st.integers(0, 10_000),
    st.floats(0.05, 3),
    st.sampled_from([0.9, 0.95, 0.99]),
)
def test_it_is_the_narrower_interval_within_the_margin(n, seed, margin, level):
    a, b = np.random.default_rng(seed).normal(size=(2, n))
    narrow = stats.paired_interval(a, b, 2 * level - 1)
    result = stats.equivalence(stats.paired_interval(a, b, level), margin)
    assert result.equivalent == (-margin < narrow.low and narrow.high < margin)
    assert stats.equivalence(stats.paired_interval(b, a, level), margin).p_value == pytest.approx(
        result.p_value
    )


def test_the_four_verdicts_are_distinct():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=50)
    noise -= noise.mean()

    def verdict(d, scale, margin):
        difference = stats.paired_interval(d + scale * noise, noise * 0)
        return stats.equivalence(difference, margin)

    assert verdict(0.1, 1, 1).verdict == "equivalent"
    assert verdict(0.1, 1, 0.2).verdict == "not significantly different"
    assert (verdict(2, 1, 0.5).verdict, verdict(-2, 1, 0.5).verdict) == ("higher", "lower")
    pair = verdict(0.1, 0.1, 0.5)  # away from 0, and too small to matter
    assert pair.verdict == "equivalent" and pair.difference.conclusion == 1


def test_without_any_variance_and_without_an_end():
    for tasks, equivalent in ((5, False), (298, False), (299, True)):
        same = np.full(tasks, 0.7)
        result = stats.equivalence(stats.paired_interval(same, same, bounds=(-1, 1)), 0.01)
        assert (result.p_value, result.equivalent) == (pytest.approx(0.99**tasks), equivalent)
    assert stats.equivalence(stats.paired_interval([0.7] * 9, [0.6] * 9), 0.01).p_value == 1
    wide = stats.Interval(0.0, np.inf, 0.95, 100, "classes", np.nan)
    assert (stats.equivalence(wide, 5).p_value, stats.equivalence(wide, 5).verdict) == (
        1,
        "not significantly different",
    )


def test_it_takes_one_interval():
    with pytest.raises(InputError, match="difference"):
        stats.equivalence([0.1, 0.2], 4.0)
