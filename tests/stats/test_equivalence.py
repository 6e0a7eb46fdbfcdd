"""Two one-sided tests: against statsmodels, by the interval they belong to, and by simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import ttost_ind, ttost_paired

from fslcore import stats
from fslcore.errors import InputError


@given(st.integers(2, 40), st.integers(0, 10_000), st.floats(0.05, 3), st.floats(-2, 2))
@settings(deadline=None)
def test_against_statsmodels(n, seed, margin, shift):
    a, b = np.random.default_rng(seed).normal(size=(2, n)) - 20
    found = stats.equivalence(stats.paired_interval(a + shift, b), margin)
    assert found.p_value == pytest.approx(ttost_paired(a + shift, b, -margin, margin)[0], rel=1e-6, abs=1e-12)
    assert found.equivalent == (found.p_value < 0.05)
    welch = stats.equivalence(stats.independent_interval(a + shift, b), margin)
    assert welch.p_value == pytest.approx(ttost_ind(a + shift, b, -margin, margin, usevar="unequal")[0], abs=1e-9)


@given(st.integers(3, 30), st.integers(0, 10_000), st.floats(0.05, 3), st.sampled_from([0.9, 0.95, 0.99]))
def test_it_is_the_narrower_interval_within_the_margin(n, seed, margin, level):
    a, b = np.random.default_rng(seed).normal(size=(2, n))
    narrow = stats.paired_interval(a, b, 2 * level - 1)
    found = stats.equivalence(stats.paired_interval(a, b, level), margin)
    assert found.equivalent == (-margin < narrow.low and narrow.high < margin)
    assert stats.equivalence(stats.paired_interval(b, a, level), margin).p_value == pytest.approx(found.p_value)


def test_the_four_verdicts_are_distinct():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=50)
    noise -= noise.mean()
    verdict = lambda d, scale, margin: stats.equivalence(stats.paired_interval(d + scale * noise, noise * 0), margin)  # noqa: E731
    assert verdict(0.1, 1, 1).verdict == "equivalent"
    assert verdict(0.1, 1, 0.2).verdict == "not significantly different"
    assert (verdict(2, 1, 0.5).verdict, verdict(-2, 1, 0.5).verdict) == ("higher", "lower")
    both = verdict(0.1, 0.1, 0.5)  # away from 0, and too small to matter
    assert both.verdict == "equivalent" and both.difference.conclusion == 1


@pytest.mark.parametrize("difference", [0.5, 0.7])
def test_what_lies_at_the_margin_is_called_equivalent_in_five_percent(difference):
    rng = np.random.default_rng(1)
    a = rng.normal(difference, 1, (1000, 60))
    p = np.array([stats.equivalence(stats.paired_interval(x, 0 * x), 0.5).p_value for x in a])
    wrong = (p < 0.05).mean()
    assert (0.03 < wrong < 0.075) if difference == 0.5 else wrong < 0.01


def test_power_is_there():
    rng = np.random.default_rng(1)
    a = rng.normal(0, 1, (500, 60))
    told = np.mean([stats.equivalence(stats.paired_interval(x, 0 * x), 0.5).equivalent for x in a])
    limit = 0.5 * np.sqrt(60) - scipy_stats.t.ppf(0.95, 59)
    assert told == pytest.approx(2 * scipy_stats.norm.cdf(limit) - 1, abs=0.05)


def test_without_any_variance_and_without_an_end():
    for tasks, equivalent in ((5, False), (298, False), (299, True)):
        found = stats.equivalence(stats.paired_interval([0.7] * tasks, [0.7] * tasks, bounds=(-1, 1)), 0.01)
        assert (found.p_value, found.equivalent) == (pytest.approx(0.99**tasks), equivalent)
    assert stats.equivalence(stats.paired_interval([0.7] * 9, [0.6] * 9), 0.01).p_value == 1
    wide = stats.Interval(0.0, np.inf, 0.95, 100, "classes", np.nan)
    assert (stats.equivalence(wide, 5).p_value, stats.equivalence(wide, 5).verdict) == (
        1,
        "not significantly different",
    )


def test_unpaired_methods_that_do_not_vary_count_as_the_pairs_that_they_hold():
    found = stats.equivalence(stats.independent_interval([0.7] * 3, [0.7] * 4, bounds=(-1, 1)), 0.4)
    assert found.p_value == pytest.approx(0.6**3)


def test_on_the_three_intervals_of_a_difference():
    rng = np.random.default_rng(0)
    labels = np.arange(20).repeat(30)
    images = np.array([[rng.permutation(30)[:4] + 30 * c for c in rng.permutation(20)[:5]] for _ in range(400)])
    support, query = images[..., 0], images[..., 1:].reshape(400, 15)
    skill = rng.normal(0, 0.1, 20)
    right = [rng.random((400, 15)) < 0.7 + skill[labels[query]] for _ in range(2)]
    three = stats.three_intervals(100.0 * right[0] - 100.0 * right[1], support, query, labels)
    p = [stats.equivalence(getattr(three, kind), 4.0).p_value for kind in ("closed", "images", "classes")]
    assert p[0] < 0.05 and p[0] <= p[1] <= p[2] < 1  # what is the same on these images need not be on new ones
    with pytest.raises(InputError, match="difference"):
        stats.equivalence(three, 4.0)
