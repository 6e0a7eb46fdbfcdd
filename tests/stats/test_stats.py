"""Intervals and conclusions against SciPy and statsmodels, by properties, and by simulation."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import example, given, strategies as st
from hypothesis.extra.numpy import arrays
from refusal import refuses
from running import run_code
from scipy import special as scipy_special, stats as scipy_stats
from statsmodels.api import OLS, Logit
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

from fslcore import stats
from fslcore.stats import intervals
from fslcore.stats.formatting import format_interval
from fslcore.stats.task_intervals import fold_interval, stratified_interval

accuracies = arrays(
    float, st.integers(2, 30), elements=st.floats(0, 100).map(lambda v: round(v, 3))
)
levels = st.floats(0.5, 0.999)


@given(accuracies, levels)
@example(np.full(3, 0.938), 0.5)  # its standard deviation is 1e-16 by rounding
def test_against_scipy_and_statsmodels(x, level):
    low, high = DescrStatsW(x).tconfint_mean(1 - level)  # of fewer than 100 tasks
    for interval in (stats.closed_task_interval(x, level), stats.open_task_interval(x, level)):
        assert interval.estimate == pytest.approx(x.mean())
        assert interval.half_width == pytest.approx((high - low) / 2, abs=1e-9)
    if np.ptp(x) > 0:
        expected = scipy_stats.t.interval(level, len(x) - 1, x.mean(), scipy_stats.sem(x))
        assert (interval.low, interval.high) == pytest.approx(expected)


@given(st.integers(2, 40), st.integers(2, 40), st.integers(0, 10_000), levels)
def test_independent_against_scipy(n, m, seed, level):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n), rng.normal(0.5, 3, m)
    reference = scipy_stats.ttest_ind(a, b, equal_var=False)
    expected = reference.confidence_interval(level)
    r = stats.welch_interval(a, b, level)
    assert (r.low, r.high) == pytest.approx((expected.low, expected.high))
    assert (r.df, r.p_value, r.n) == pytest.approx((reference.df, reference.pvalue, n + m))
    back = stats.welch_interval(b, a, level)
    assert (back.estimate, back.half_width) == pytest.approx((-r.estimate, r.half_width))


def test_independent_without_any_variance():
    r = stats.welch_interval([1, 1], [3, 3, 3])
    assert (r.estimate, r.half_width, r.sign) == (-2, 0, 0)
    for bound, conclusion in ((100, 0), (5, -1)):
        r = stats.welch_interval([1] * 20, [3] * 20, bounds=(-bound, bound))
        assert r.sign == conclusion
    assert stats.welch_interval([0.3] * 9, [0.1 + 0.2] * 9).p_value == 1
    with refuses("at least 2 tasks"):
        stats.welch_interval([1, 2], [3])


@given(st.integers(2, 40), st.integers(0, 10_000), levels, st.floats(-2, 2))
def test_paired_against_scipy(n, seed, level, shift):
    a, b = np.random.default_rng(seed).normal(-100, size=(2, n))  # neither percent nor shares
    test = scipy_stats.ttest_rel(a + shift, b)
    ends = test.confidence_interval(level)
    r = stats.paired_interval(a + shift, b, level)
    assert (r.low, r.high) == pytest.approx((ends.low, ends.high))
    assert r.p_value == pytest.approx(test.pvalue, rel=1e-6)
    assert r.sign == int(ends.low > 0) - int(ends.high < 0)
    assert (r.p_value < 1 - level) == (r.sign != 0)


SHARES = np.random.default_rng(3).integers(0, 76, 600) / 75


@pytest.mark.parametrize(
    "a, b",
    [
        ([0.3] * 600, [0.1 + 0.2] * 600),
        (SHARES, SHARES.astype(np.float32)),
        (SHARES, SHARES.astype(np.float16)),
        (SHARES, torch.from_numpy(SHARES).bfloat16()),
        (SHARES, np.sort(SHARES[:, None] / 5 + np.zeros(5), axis=1).sum(axis=1)),
        (
            0.3 - SHARES.clip(max=0.3),
            0.1 + 0.2 - SHARES.clip(max=0.3),
        ),  # rounding is that of the largest, not of the last
    ],
)
def test_methods_that_differ_by_rounding_are_equal(a, b):
    for first, second in ((a, b), (b, a)):
        r = stats.paired_interval(first, second)
        assert (r.estimate, r.half_width, r.sign, r.p_value) == (0, 0, 0, 1)


@pytest.mark.parametrize("unit", [1, 100])
def test_numbers_that_were_32_bit_floats_are_equal_by_the_tolerance_that_is_given(unit):
    """Once they are 64-bit numbers nothing says it but the caller, and without it they differ."""
    a, b = unit * SHARES, unit * SHARES.astype(np.float32).astype(float)
    r = stats.paired_interval(a, b, atol=5e-7 * unit)
    assert (r.estimate, r.half_width, r.sign, r.p_value) == (0, 0, 0, 1)
    assert stats.paired_interval(a, b).half_width > 0
    shifted = stats.paired_interval(a + 1e-3 * unit, b, atol=5e-7 * unit)
    assert shifted.estimate == pytest.approx(1e-3 * unit, rel=1e-4) and shifted.half_width == 0
    with refuses("atol must be", ">= 0", "-1"):
        stats.paired_interval(a, b, atol=-1)


@pytest.mark.parametrize(
    "a, b",
    [
        ([0.5] * 600, [0.5 - 1e-8] * 600),
        (SHARES, SHARES + 1e-12),
        (SHARES.astype(np.float32), SHARES.astype(np.float32) + np.float32(1e-4)),
        (np.full(600, 12345678.0), np.full(600, 12345679.0)),
        ([80.0] * 6, [60.0] * 6),
        (SHARES + 0.2, SHARES),  # all differences are 0.2, but for rounding
    ],
)
def test_methods_that_differ_by_more_than_rounding_are_not(a, b):
    for first, second in ((a, b), (b, a)):
        r = stats.paired_interval(first, second)
        assert np.sign(r.estimate) == np.sign(first[0] - second[0])


def test_differences_of_many_methods_are_those_of_each():
    rng = np.random.default_rng(5)
    a = rng.random((40, 6)) * [1, 100, 1, 1, 1, 1]
    b = np.stack(
        [a[:, 0] + 1e-17, a[:, 1] * 1.5, a[:, 2] * (1 + 1e-16), a[:, 3] + 0.1, a[:, 4], a[:, 0]],
        axis=1,
    )
    differences = stats.paired_differences(a, b)
    by_method = [stats.paired_differences(*pair).tolist() for pair in zip(a.T, b.T)]
    assert differences.T.tolist() == by_method
    assert stats.paired_differences(a.T, b.T, axis=1).tolist() == by_method
    assert not differences[:, [0, 2, 4]].any() and np.ptp(differences[:, 3]) == 0
    assert np.ptp(differences[:, 1]) > 1


def test_the_tolerance_for_rounding_is_that_of_a_methods_own_column():
    first = np.array([[1e6, 3e-10], [2e6, 1e-10]])
    second = np.array([[1e6, 1e-10], [1e6, 3e-10]])
    assert stats.paired_differences(first, second).tolist() == (first - second).tolist()


@pytest.mark.parametrize("interval", [stats.closed_task_interval, stats.open_task_interval])
@given(accuracies, st.floats(-50, 50).map(lambda v: round(v, 3)), st.floats(0.1, 100), st.randoms())
def test_shift_scale_and_order(interval, x, shift, scale, random):
    r = interval(x)
    moved = interval(scale * x + shift)
    assert moved.estimate == pytest.approx(scale * r.estimate + shift, abs=1e-6)
    assert moved.half_width == pytest.approx(scale * r.half_width, abs=1e-6)
    shuffled = interval(random.sample(x.tolist(), len(x)))
    assert (shuffled.estimate, shuffled.half_width) == pytest.approx(
        (r.estimate, r.half_width), abs=1e-9
    )


shares = st.floats(0.001, 0.999)
BOUNDS = (0, 1)


@given(
    shares, st.floats(0, 2), st.sampled_from([1.0, 3.0, 20.0, np.inf]), levels, st.floats(-50, 50)
)
def test_limits_lie_inside_hold_the_mean_and_mirror(mean, half, df, level, shift):
    low, high = intervals.limits(mean, half, BOUNDS, df, level)
    assert 0 <= low <= mean <= high <= 1
    mirrored = intervals.limits(1 - mean, half, BOUNDS, df, level)  # of errors
    assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-9)
    moved = intervals.limits(100 * mean + shift, 100 * half, (shift, 100 + shift), df, level)
    assert moved == pytest.approx((100 * low + shift, 100 * high + shift), abs=1e-6)
    wider = intervals.limits(mean, 1.1 * half, BOUNDS, df, level)
    assert wider[0] <= low and wider[1] >= high
    room = 0.1 * half * min(mean, 1 - mean)
    first = np.array(intervals.limits(mean, room, BOUNDS, df, level))
    higher = np.array(intervals.limits(1.001 * mean, room, BOUNDS, df, level))
    assert mean > 0.9 or (higher >= first - 1e-3).all()


def test_limits_against_a_logistic_regression():
    """Of n queries with k errors: the Wald interval of a logit, whose variance is known from many errors."""
    k, n = 400, 40_000
    p = 1 - k / n
    half_width = scipy_stats.norm.ppf(0.975) * np.sqrt(p * (1 - p) / n)
    fit = Logit(np.arange(n) >= k, np.ones(n)).fit(disp=0)
    expected = pytest.approx(scipy_special.expit(fit.conf_int()[0]), rel=1e-5)
    assert intervals.limits(p, half_width, BOUNDS) == expected
    r = stats.Interval(p, half_width, 0.95, n, "these images", bounds=BOUNDS)
    assert (r.low, r.high) == expected and not r.few_errors


@pytest.mark.parametrize("tasks, errors", [(10, 0.02), (40, 0.01), (200, 0.003), (20, 0.3)])
def test_bounded_open_intervals_cover_where_few_err(tasks, errors):
    rng = np.random.default_rng(0)
    ease = rng.beta(2 * (1 - errors), 2 * errors, (1500, tasks))  # tasks differ a lot
    accuracies = 4 * rng.binomial(25, ease)
    studies = [stats.open_task_interval(x, bounds=(0, 100)) for x in accuracies]
    truth = 100 * (1 - errors)
    share = np.mean([r.low <= truth <= r.high for r in studies])
    assert 0.92 < share <= 1 and all(0 <= r.low <= r.high <= 100 for r in studies)
    assert share > np.mean([abs(r.estimate - truth) <= r.half_width for r in studies]) - 0.005
    with_errors = [r.low <= truth <= r.high for r in studies if not r.few_errors]
    # Where few tasks err, the bound counts as well: 40 tasks without an error would not exclude 91 % either.
    assert len(with_errors) > 400
    assert 0.93 < np.mean(with_errors) < 0.995


@pytest.mark.parametrize("interval", [stats.closed_task_interval, stats.open_task_interval])
@pytest.mark.parametrize("off", [1 / 3, 0.5, 1, 6.67, 20])
def test_one_task_that_errs_is_few_errors_whatever_the_rounding(interval, off):
    for tasks in range(2, 60):
        accuracies = np.full(tasks, 100.0)
        accuracies[0] -= off
        assert interval(accuracies, bounds=(0, 100)).few_errors
        assert interval(100 - accuracies, bounds=(0, 100)).few_errors
        if tasks > 3:
            accuracies[1] -= off
            assert not interval(accuracies, bounds=(0, 100)).few_errors


@pytest.mark.parametrize("tasks", [2, 5, 20, 99, 100, 600])
def test_a_closed_interval_of_few_tasks_has_students_quantile(tasks):
    x = np.random.default_rng(tasks).normal(4, 8, tasks)
    interval = stats.closed_task_interval(x)
    df = np.inf if tasks >= 100 else tasks - 1
    assert interval.df == df
    expected = scipy_stats.t.ppf(0.975, df) * scipy_stats.sem(x)
    assert interval.half_width == pytest.approx(expected)
    expected = 2 * scipy_stats.t.sf(abs(interval.estimate) / scipy_stats.sem(x), df)
    assert interval.p_value == pytest.approx(expected)


def near_100(mean, half_width, **others):
    return stats.Interval(mean, half_width, 0.95, 600, "new images", bounds=(0, 100), **others)


def test_what_a_difference_is_is_said_or_follows_from_bounds_on_either_side_of_0():
    """A measure from -1 to 1, such as Matthews' correlation, is near its bound at 1 as an accuracy is."""
    by_bounds = stats.Interval(0.97, 0.05, 0.95, 600, "new images", bounds=(-1, 1))
    measure = replace(by_bounds, is_difference=False)
    assert by_bounds.is_difference is True and by_bounds.high == 1 and not by_bounds.few_errors
    assert 0.97 < measure.high < 1 and measure.low < by_bounds.low
    assert (measure.low, measure.high) == pytest.approx(
        [float(end) for end in stats.intervals.limits(0.97, 0.05, (-1, 1))]
    )
    assert near_100(99.7, 0.1).is_difference is False
    assert stats.closed_task_interval([1.0, 2.0]).is_difference is None
    a, b = [3.0, 4.0, 6.0], [2.0, 3.5, 4.0]
    differences = [
        stats.paired_interval(a, b, bounds=(0, 10)),
        stats.welch_interval(a, b, bounds=(0, 10)),
        stats.new_run_interval([a, b], [b, b]).fixed,
        stats.new_run_interval([a, b], [b, b], paired=True).interval,
    ]
    assert all(interval.is_difference for interval in differences)
    assert differences[0].high == min(10, differences[0].estimate + differences[0].half_width)
    assert stats.new_run_interval([a, b]).interval.is_difference is None


def test_bounds_change_no_verdict():
    accuracies = 100 - 10 * np.random.default_rng(0).random(30)
    unbounded = stats.open_task_interval(accuracies)
    bounded = stats.open_task_interval(accuracies, bounds=(0, 100))
    assert bounded.high < 100 and bounded.overlaps(bounded)
    for name in ("sign", "p_value", "standard_error", "half_width"):
        assert getattr(bounded, name) == getattr(unbounded, name)


@given(accuracies, st.floats(0, 100).map(lambda v: round(v, 3)))
def test_pairing_is_antisymmetric_and_against_a_constant_is_open(a, constant):
    b = np.roll(a, 1) + 1
    forth, back = stats.paired_interval(a, b), stats.paired_interval(b, a)
    assert (forth.estimate, forth.half_width) == (-back.estimate, back.half_width)
    assert (forth.sign, forth.p_value) == (-back.sign, back.p_value)
    against = stats.paired_interval(a, np.full_like(a, constant))
    alone = stats.open_task_interval(a)
    assert against.estimate == pytest.approx(alone.estimate - constant, abs=1e-9)
    assert against.half_width == pytest.approx(alone.half_width, abs=1e-9)


def two_methods(kind, seed):
    """Accuracies of two methods, in shares: usual ones, few or none that differ, or answers."""
    a, b = np.random.default_rng(seed).uniform(0.3, 0.9, (2, 40))
    if kind == "rare":
        return np.where(np.arange(40) < 3, a, 0.7), np.full(40, 0.7)
    if kind == "equal":
        return np.full(40, 0.8), np.full(40, 0.7)
    return (a > 0.5, b > 0.5) if kind == "answers" else (a, b)


@pytest.mark.parametrize("kind", ["usual", "rare", "equal", "answers"])
@pytest.mark.parametrize("seed", range(5))
def test_minus_an_interval_is_that_of_methods_in_the_other_order(kind, seed):
    a, b = two_methods(kind, seed)
    if kind == "answers":
        first, second = stats.mcnemar(a, b).interval, stats.mcnemar(b, a).interval
    else:
        first, second = (stats.paired_interval(*pair, bounds=(-1, 1)) for pair in ((a, b), (b, a)))
    assert (-first).estimate == second.estimate and (-first).sign == -first.sign
    assert ((-first).low, (-first).high) == (-first.high, -first.low)
    assert ((-first).low, (-first).high) == pytest.approx((second.low, second.high), abs=1e-9)
    opposite = -first
    assert -opposite == first
    if kind != "answers":
        assert (-first).p_value == first.p_value
        alone = stats.open_task_interval(a, bounds=(0, 1))
        assert ((-alone).low, (-alone).high) == pytest.approx((-alone.high, -alone.low))


def test_stats_needs_numpy_and_scipy_only():
    heavy = {"torch", "pandas", "PIL", "fslcore.datasets"}
    code = f"import sys, fslcore.stats; assert not {heavy} & sys.modules.keys()"
    run_code(code, check=True)


@given(st.permutations(range(8)))
def test_series_are_paired_by_their_index_and_never_by_position(order):
    a, b = np.linspace(0.5, 0.9, 8), np.linspace(0.5, 0.9, 8) ** 2
    tasks = [f"task {i}" for i in range(8)]
    ours, theirs = pd.Series(a, tasks), pd.Series(b, tasks).iloc[list(order)]
    assert stats.paired_interval(ours, theirs) == stats.paired_interval(a, b)
    assert stats.paired_interval(theirs, ours).estimate == pytest.approx((b - a).mean())


def test_series_with_the_same_index_are_paired_row_by_row_whatever_its_labels():
    """As the number of a fold, or of a file, in place of that of a task."""
    folds = [0, 0, 1, 1]
    first, second = (
        pd.Series(x, index=folds) for x in ([0.5, 0.7, 0.6, 0.9], [0.4, 0.7, 0.5, 0.7])
    )
    pairs = stats.paired_interval(first, second)
    assert pairs == stats.paired_interval(first.to_numpy(), second.to_numpy())


@pytest.mark.parametrize("second", [[0, 1, 2, 4], [0, 1, 2, 2], [0, 1, 2], ["0", "1", "2", "3"]])
def test_series_of_other_tasks_are_refused(second):
    a, b = pd.Series([0.5, 0.6, 0.7, 0.9]), pd.Series([0.4, 0.5, 0.6, 0.8][: len(second)], second)
    for pair in ((a, b), (b, a)):
        with refuses(r"^a and b .* index.*got \['?0.*\] … and \["):
            stats.paired_interval(*pair)


def test_percent_is_not_compared_with_shares():
    shares, percent = np.linspace(0.4, 1, 30), np.linspace(40, 80, 30)
    failed = np.where(np.arange(30) == 3, 0, percent)  # a task on which all is wrong
    over_one = shares + 0.9
    for interval in (stats.paired_interval, stats.welch_interval):
        for large, small in ((percent, shares), (failed, shares), (over_one, shares / 4)):
            words = f"up to {large.max():g} and {small.max():g}; .* divide a by 100"
            with refuses(f"^a and b .*{words}"):
                interval(large, small)
        with refuses("^b and a", "80 and 1", "divide b"):
            interval(shares, percent)


@pytest.mark.parametrize(
    "ours, theirs", [(stats.holm, "holm"), (stats.benjamini_hochberg, "fdr_bh")]
)
@given(
    p=arrays(
        float,
        st.integers(1, 40),
        elements=st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]),
    )
)
def test_adjusted_p_values_are_those_of_statsmodels(ours, theirs, p):
    # It collects garbage, which takes seconds beside all that other tests have loaded.
    with mock.patch("gc.collect"):
        adjusted = multipletests(p, 0.05, theirs)[1]
    assert ours(p) == pytest.approx(adjusted, abs=1e-15)


@pytest.mark.parametrize(
    "mean, half_width, spec, cell",
    [
        (80.0, 0.5, "", "80.00 ± 0.50"),
        (0.8, 0.005, "", "0.8000 ± 0.0050"),
        (0.80123, 0.00314, "", "0.8012 ± 0.0031"),
        (0.8, 1e-300, "", "0.800000000 ± 0.000000000"),
        (62.5, np.inf, "", "62.50 ± unknown"),
        (62.5, np.nan, ".1f", "62.5"),
        (np.nan, 1.0, ".1f", "—"),
        (-1.25, 0.5, "+.1f", "-1.2 ± 0.5"),
        (0.8, 0.05, ".1%", "80.0% ± 5.0%"),
    ],
)
def test_a_cell_of_mean_and_half_width(mean, half_width, spec, cell):
    assert format_interval(mean, half_width, spec=spec) == cell
    assert format(stats.Interval(mean, half_width, 0.95, 9, "new images"), spec) == cell
    assert format_interval([[mean], [mean]], half_width, spec=spec).tolist() == [[cell], [cell]]


def test_bounds_allow_for_rounding():
    ends = [100 * (1 + 2**-50), 60.0, -1e-14]
    assert ends[0] > 100
    assert stats.closed_task_interval(ends, bounds=(0, 100)).estimate == pytest.approx(160 / 3)
    for outside in ([-1e-14, -1e-14, -2e-14], ends[:1] * 3):
        interval = stats.closed_task_interval(outside, bounds=(0, 100))
        assert -1e-9 < interval.low <= interval.high < 100 + 1e-9
    with refuses("bounds = "):
        stats.closed_task_interval([100.1, 60.0], bounds=(0, 100))


def test_few_errors_are_shown():
    few, enough = near_100(99.8, 0.5), near_100(99.8, 0.1)
    assert few.few_errors and str(few).endswith(", few errors)") and not enough.few_errors
    assert not near_100(50.0, np.inf).few_errors and not replace(few, bounds=None).few_errors
    low = 100 * scipy_stats.beta.ppf(0.025, 30, 1)
    assert near_100(100.0, 0.0, units=30).low == pytest.approx(low)


def test_intervals_are_compared_by_whether_they_overlap():
    low, touching, high = (stats.Interval(mean, 1, 0.95, 10, "new images") for mean in (77, 78, 80))
    for first, second, conclusion in ((high, low, 1), (low, high, -1), (high, touching, 0)):
        assert stats.compare_by_overlap(first, second) == conclusion
        assert first.overlaps(second) == second.overlaps(first) == (conclusion == 0)
    closed = replace(low, target=stats.Target.THESE_IMAGES)
    with refuses("for one target at one level, got new images at 0.95 and these images at 0.95"):
        stats.compare_by_overlap(low, closed)
    with refuses("for one target at one level, .* new images at 0.9$"):
        stats.compare_by_overlap(low, replace(low, confidence_level=0.9))
    for name in ("paired_interval", "welch_interval"):
        difference = getattr(stats, name)([0.7, 0.8, 0.9], [0.6, 0.8, 0.8])
        with refuses("a must be of one method, got a difference"):
            stats.compare_by_overlap(difference, difference)


@pytest.mark.parametrize("interval", [stats.closed_task_interval, stats.open_task_interval])
def test_one_task_is_refused(interval):
    with refuses("at least 2 tasks"):
        interval([0.5])


def test_the_variance_of_a_mean_over_draws_is_taken_within_them():
    """Of draws of one size it is that of a regression on them; of others that of Cochran's formula."""
    rng = np.random.default_rng(3)
    draws = np.arange(12) // 4
    values = rng.uniform(60, 80, 12) + 9 * draws
    found = stratified_interval(values, draws)
    regression = OLS(values, pd.get_dummies(draws, dtype=float)).fit()
    assert found.standard_error == pytest.approx(np.sqrt(regression.mse_resid / 12))
    assert (found.df, found.estimate) == (9, pytest.approx(values.mean()))
    assert found.target == "new tasks" and found.half_width < open_half_width(values)
    sizes = [2, 3, 7]
    uneven = np.repeat(["b", "a", "c"], sizes)
    parts = np.split(values, np.cumsum(sizes)[:-1])
    within = sum(len(part) * part.var(ddof=1) for part in parts) / 12**2
    assert stratified_interval(values, uneven).standard_error == pytest.approx(np.sqrt(within))


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_folds_have_the_variance_of_nadeau_and_bengio(folds):
    """s² (1/k + n_test / n_train), with n_test / n_train = 1 / (k - 1)."""
    values = np.random.default_rng(folds).normal(70, 3, folds)
    error = values.std(ddof=1) * np.sqrt(1 / folds + 1 / (folds - 1))
    found = fold_interval(values, 0.9)
    assert found.standard_error == pytest.approx(error)
    assert (found.df, found.confidence_level) == (folds - 1, 0.9)
    assert fold_interval(np.full(folds, 70.0), bounds=(0, 100)).half_width == 0


def test_strata_without_variance_are_like_tasks_without():
    constant = np.repeat([0.1 + 0.2, 0.7], 3)  # sums of which are off by rounding
    assert stratified_interval(constant, np.arange(6) // 3).half_width == 0
    single = np.array([70.0, 72, 75])
    by_task = stratified_interval(single, [1, 2, 2], bounds=(0, 100))
    assert by_task == stats.open_task_interval(single, bounds=(0, 100))
    with refuses("strata must be 3 as the scores are, got 2"):
        stratified_interval(single, [1, 2])


def open_half_width(values):
    return stats.open_task_interval(values).half_width
