"""Intervals of several differences that hold together, against exact probabilities and SciPy's Dunnett test."""

import numpy as np
import pytest
import scipy.stats
from scipy.optimize import brentq

from fslcore import stats
from fslcore.stats import simultaneous

LEVEL = 0.95


def equicorrelated(c, k, rho, df):
    """P(the largest of k absolute t statistics is at most c), by quadrature over what all share and over the spread."""
    shared, weight = np.polynomial.hermite_e.hermegauss(80)
    node, share = np.polynomial.legendre.leggauss(200)
    spread = np.sqrt(scipy.stats.chi2.ppf((node + 1) / 2, df) / df)[:, None]
    low, high = ((sign * c * spread - np.sqrt(rho) * shared) / np.sqrt(1 - rho) for sign in (-1, 1))
    inside = (scipy.stats.norm.cdf(high) - scipy.stats.norm.cdf(low)) ** k
    return float((inside @ (weight / weight.sum())) @ (share / 2))


def correlated(k, rho):
    return np.full((k, k), rho) + (1 - rho) * np.eye(k)


@pytest.mark.parametrize("k", [1, 2, 8, 40])
@pytest.mark.parametrize("rho", [0.0, 0.9])
@pytest.mark.parametrize("df", [20, 599])
def test_the_factor_is_that_of_a_multivariate_t_distribution(k, rho, df):
    factor = simultaneous.factor(simultaneous.reach_of(correlated(k, rho)), k, df, LEVEL)
    exact = brentq(lambda c: equicorrelated(c, k, rho, df) - LEVEL, 1, 8)
    assert factor == pytest.approx(exact, rel=1e-5 if k == 1 else 2e-3 if k < 20 else 4e-3)


def test_one_comparison_is_the_paired_interval():
    rng = np.random.default_rng(0)
    a, b = rng.normal(60, 10, (2, 30))
    joint, alone = stats.simultaneous_intervals([a - b], LEVEL), stats.paired_interval(a, b, LEVEL)
    assert joint.half_width[0] == pytest.approx(alone.half_width, rel=1e-12)
    assert joint.p_values[0] == pytest.approx(alone.p_value, rel=1e-12)


def test_estimated_correlations_are_shrunk():
    """By K / (K + T), as two of twelve tasks here; the factor is SciPy's for the correlation that is left."""
    rng = np.random.default_rng(4)
    x = rng.normal(0, 1, (2, 12)) + 3 * rng.normal(0, 1, 12)
    rho = np.corrcoef(x)[0, 1] * 12 / 14
    joint = scipy.stats.multivariate_t(shape=correlated(2, rho), df=11, seed=0)
    exact = brentq(
        lambda c: joint.cdf([c, c], lower_limit=[-c, -c], random_state=0) - LEVEL, 2, 3, xtol=1e-5
    )
    assert stats.simultaneous_intervals(x).factor == pytest.approx(exact, rel=1e-3)


def test_p_values_and_factor_are_those_of_scipy_s_dunnett_test():
    """Independent groups of equal size: the correlation of their differences is a half."""
    rng = np.random.default_rng(1)
    control, *others = rng.normal(0, 1, (4, 20)) + np.array([[0], [0.2], [0.5], [0.9]])
    theirs = scipy.stats.dunnett(*others, control=control, rng=2)
    reach, df = simultaneous.reach_of(correlated(3, 0.5)), 4 * 19
    ours = [simultaneous._exceedance(t, reach, 3, df) for t in np.abs(theirs.statistic)]
    assert ours == pytest.approx(theirs.pvalue, rel=5e-3, abs=2e-4)
    ends = theirs.confidence_interval(LEVEL)
    error = np.sqrt(np.mean([x.var(ddof=1) for x in (control, *others)]) * 2 / 20)
    assert simultaneous.factor(reach, 3, df, LEVEL) == pytest.approx(
        (ends.high - ends.low)[0] / 2 / error, rel=2e-3
    )


@pytest.mark.parametrize("seed", range(3))
def test_intervals_lie_between_one_comparison_s_and_bonferroni_s(seed):
    rng = np.random.default_rng(seed)
    k, tasks = int(rng.integers(2, 30)), int(rng.integers(3, 200))
    shared = rng.choice([0, 1, 5]) * rng.normal(0, 1, tasks)
    x = rng.normal(0, 1, (k, tasks)) + shared + rng.normal(0, 0.3, (k, 1))
    joint = stats.simultaneous_intervals(x)
    alone = [stats.paired_interval(row, 0 * row) for row in x]
    p = np.array([interval.p_value for interval in alone])
    assert (joint.p_values >= p).all() and (joint.p_values <= np.minimum(k * p, 1) + 1e-15).all()
    bonferroni = stats.paired_interval(x[0], 0 * x[0], 1 - 0.05 / k).half_width
    assert alone[0].half_width <= joint.half_width[0] <= bonferroni
    assert ((joint.p_values < 0.05) == (np.abs(joint.estimate) > joint.half_width)).all()


def test_constant_differences_have_bonferronis_correction_and_no_part_in_the_factor():
    rng = np.random.default_rng(4)
    row = rng.normal(0, 1, 12)
    joint = stats.simultaneous_intervals([row, np.zeros(12), np.ones(12)], bounds=(-1, 1))
    assert joint.p_values[1:] == pytest.approx([1, 3 * 2 * 2.0**-12])
    share = 1 - (0.05 / 6) ** (1 / 12)
    assert joint.half_width[1:] == pytest.approx([share, 2 * share])
    for tasks in range(2, 12):
        ones = stats.simultaneous_intervals(np.ones((3, tasks)), bounds=(-1, 1))
        assert ((ones.half_width < 1) == (ones.p_values < 0.05)).all()
    assert joint.half_width[0] == pytest.approx(stats.paired_interval(row, 0 * row).half_width)
    assert stats.simultaneous_intervals(np.ones((2, 3))).factor == 0


@pytest.mark.slow
def test_all_intervals_hold_at_once_as_often_as_said(monkeypatch):
    """1,500 studies of one method and 5 others on 40 tasks; separate intervals would hold together far less often."""
    monkeypatch.setattr(simultaneous, "POINTS", 512)
    rng = np.random.default_rng(5)
    true = np.array([0, 0.1, -0.2, 1, 3])[:, None]
    all_hold, each_holds = 0, 0
    for _ in range(1500):
        others = rng.normal(0, [[1], [2], [0.5], [1], [3]], (5, 40)) - true
        joint = stats.simultaneous_intervals(rng.normal(0, 1, 40) - others)
        off = np.abs(joint.estimate - true[:, 0])
        all_hold += (off <= joint.half_width).all()
        separate = joint.half_width / joint.factor * scipy.stats.t.ppf(0.975, 39)
        each_holds += (off <= separate).all()
    assert 0.933 < all_hold / 1500 < 0.967  # three standard errors
    assert each_holds / 1500 < 0.87


@pytest.mark.parametrize("k, tasks", [(2, 7), (5, 30), (12, 200)])
def test_the_order_of_differences_and_tasks_does_not_matter(k, tasks):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(k, tasks)) * rng.uniform(0.2, 3, (k, 1)) + rng.normal(size=tasks)
    joint = stats.simultaneous_intervals(x)
    for _ in range(3):
        order = rng.permutation(k)
        shuffled = stats.simultaneous_intervals(x[order][:, rng.permutation(tasks)])
        assert shuffled.factor == pytest.approx(joint.factor, rel=1e-12)
        assert shuffled.p_values == pytest.approx(joint.p_values[order], rel=1e-9, abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("tasks", [10, 20])
def test_estimated_correlations_do_not_make_false_positives(monkeypatch, tasks):
    """One method and 10 equal ones: 4.8 to 5.3 % of studies find a difference; without shrinking 5.8 to 6.9 %."""
    monkeypatch.setattr(simultaneous, "POINTS", 512)
    rng = np.random.default_rng(tasks)
    smallest = []
    for _ in range(1500):
        methods = rng.normal(size=(11, tasks))
        differences = methods[0] - methods[1:]
        reach = simultaneous.reach_of(simultaneous._correlation(differences))
        t = scipy.stats.ttest_1samp(differences, 0, axis=1).statistic
        smallest.append(simultaneous._exceedance(np.abs(t).max(), reach, 10, tasks - 1))
    assert np.mean(np.array(smallest) < 0.05) < 0.064  # 2.5 standard errors
