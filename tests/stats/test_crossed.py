"""Intervals of crossed designs, against the analysis of variance of statsmodels and simulations with known truth."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, strategies as st
from refusal import refuses
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from fslbook.beyond import crossed
from fslcore import stats

ITEMS = 60
LABELS = np.arange(ITEMS) % 3
KINDS = "items", "supports", "both"


def scores(seed=0, supports=5, items=ITEMS):
    rng = np.random.default_rng(seed)
    support, item = rng.normal(0, 0.5, (supports, 1)), rng.normal(0, 1, items)
    return support + item + rng.normal(0, 1, (supports, items))


def errors(study):
    """Standard errors for new items, new supports and both."""
    return np.array([getattr(study, kind).standard_error for kind in KINDS])


def half_widths(study):
    return np.array([getattr(study, kind).half_width for kind in KINDS])


def mean_squares(y):
    """Of supports, of items and of the residual."""
    support, item = np.indices(y.shape)
    table = pd.DataFrame({"y": y.ravel(), "support": support.ravel(), "item": item.ravel()})
    return anova_lm(ols("y ~ C(support) + C(item)", table).fit())["mean_sq"].to_numpy()


def test_variances_are_those_of_the_two_way_analysis_of_variance():
    y = scores(supports=4, items=7)
    of_supports, of_items, residual = mean_squares(y)
    study = stats.crossed_intervals(y)
    expected = np.array([of_items, of_supports, of_items + of_supports - residual]) / y.size
    assert errors(study) ** 2 == pytest.approx(expected, rel=1e-12)
    assert (study.items.df, study.supports.df) == (pytest.approx(6), pytest.approx(3))
    assert study.support_variance == pytest.approx((of_supports - residual) / 7, rel=1e-12)
    assert study.item_variance == pytest.approx((of_items - residual) / 4, rel=1e-12)
    assert study.interaction_variance == pytest.approx(residual, rel=1e-12)
    assert study.both.standard_error == pytest.approx(
        stats.new_run_interval(y).interval.standard_error, rel=1e-12
    )


def test_classes_are_strata_with_weights():
    y, weights = scores(supports=4), np.array([0.2, 0.5, 0.3])
    study = stats.crossed_intervals(y, LABELS, weights=10 * weights)
    by_label = [y[:, c == LABELS] for c in range(3)]
    squares = np.array([mean_squares(of_class) for of_class in by_label])
    of_items, residual = (weights**2 @ squares[:, k] / (4 * 20) for k in (1, 2))
    of_supports = (
        np.var(sum(w * of_class.mean(axis=1) for w, of_class in zip(weights, by_label)), ddof=1) / 4
    )
    expected = [of_items, of_supports, of_items + of_supports - residual]
    assert errors(study) ** 2 == pytest.approx(expected, rel=1e-12)
    assert study.both.estimate == pytest.approx(
        sum(w * of_class.mean() for w, of_class in zip(weights, by_label))
    )
    by_class = weights**2 * squares[:, 1] / 80
    assert study.items.df == pytest.approx(by_class.sum() ** 2 / (by_class**2 / 19).sum())
    equal_classes = stats.crossed_intervals(y, LABELS)
    assert equal_classes == stats.crossed_intervals(y, LABELS, weights=[1, 1, 1])
    assert equal_classes.both.estimate == pytest.approx(y.mean())


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.floats(-5, 5), st.booleans())
def test_order_unit_and_origin_change_nothing_else(seed, factor, shift, grouped):
    rng = np.random.default_rng(seed)
    y, groups = scores(seed), (np.arange(ITEMS) // 4 if grouped else None)
    study = stats.crossed_intervals(y, LABELS, groups=groups, pool=30, shots=8)
    rows, columns = rng.permutation(5), rng.permutation(ITEMS)
    moved = stats.crossed_intervals(
        (shift + factor * y)[rows][:, columns],
        LABELS[columns],
        groups=groups[columns] if grouped else None,
        pool=30,
        shots=8,
    )
    assert half_widths(moved) == pytest.approx(factor * half_widths(study), rel=1e-6)
    assert moved.both.estimate == pytest.approx(shift + factor * study.both.estimate, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 8, 12]), st.booleans())
def test_both_is_never_narrower_than_either(seed, pool, binary):
    y = scores(seed, supports=2 + seed % 4)
    pool_options = dict(pool=pool, shots=5) if pool else {}
    study = stats.crossed_intervals((y > 0) if binary else y, **pool_options)
    assert study.both.half_width >= max(study.items.half_width, study.supports.half_width)
    if not pool:  # then the second is the usual one of the means, however alike they are by chance
        means = ((y > 0) if binary else y).mean(axis=1)
        assert study.supports.half_width == pytest.approx(
            stats.open_task_interval(means).half_width, rel=1e-9, abs=1e-12
        )


def test_where_item_means_are_equal_only_the_supports_count():
    first = np.random.default_rng(0).normal(size=ITEMS)
    study = stats.crossed_intervals([first, 0.1 - first])
    assert study.items.half_width == 0 < study.interaction_variance
    assert study.both.half_width == pytest.approx(study.supports.half_width)


def test_copies_of_items_in_groups_are_one_item_each():
    y = scores()
    alone = stats.crossed_intervals(y)
    copied = stats.crossed_intervals(y.repeat(5, axis=1), groups=np.arange(ITEMS).repeat(5))
    # CR3 leaves out a whole group: N / (N - 1) times the variance.
    assert copied.items.standard_error**2 == pytest.approx(
        alone.items.standard_error**2 * ITEMS / (ITEMS - 1)
    )
    assert errors(copied)[1] == pytest.approx(errors(alone)[1])
    assert copied.items.df == pytest.approx(alone.items.df, rel=0.02) and copied.items.n == ITEMS
    taken_as_items = stats.crossed_intervals(y.repeat(5, axis=1))
    assert taken_as_items.items.half_width < 0.5 * copied.items.half_width


def test_groups_of_one_item_are_no_groups_and_groups_may_span_classes():
    y = scores()
    assert stats.crossed_intervals(y, groups=np.arange(ITEMS)) == stats.crossed_intervals(y)
    groups, w = np.arange(ITEMS) // 6, 1 / ITEMS
    study = stats.crossed_intervals(y, LABELS, groups=groups)
    item = y.mean(axis=0)
    off = item - np.array([item[c == LABELS].mean() for c in range(3)])[LABELS]
    # Each group has a tenth of each class.
    by_group = np.array([w * off[groups == g].sum() / (1 - 0.1) for g in range(10)])
    assert study.items.standard_error**2 == pytest.approx((by_group**2).sum(), rel=1e-12)


def test_supports_from_a_pool_count_for_less():
    y = scores(supports=10) + 3 * scores(1)[0]
    alone, from_pool = stats.crossed_intervals(y), stats.crossed_intervals(y, pool=24, shots=8)
    assert from_pool.items == alone.items
    ratio = from_pool.supports.standard_error**2 / alone.supports.standard_error**2
    assert ratio == pytest.approx(10 * (1 / 10 + 8 / 16))
    assert from_pool.supports.df == pytest.approx(1 / (1 / 9 + 1 / 23))
    expected = alone.both.standard_error**2 + alone.support_variance * 8 / 16
    assert from_pool.both.standard_error**2 == pytest.approx(expected)
    noisy = stats.crossed_intervals(
        np.random.default_rng(3).normal(size=(10, ITEMS)), pool=24, shots=8
    )
    # What holds for both holds for supports alone.
    assert noisy.supports.half_width == noisy.both.half_width
    large = stats.crossed_intervals(y, pool=10**9, shots=8)
    assert half_widths(large) == pytest.approx(half_widths(alone), rel=1e-6)


def test_a_plan_of_the_same_size_is_the_study_and_larger_ones_are_narrower():
    for extra in (
        {},
        {"pool": 40, "shots": 8},
        {"labels": LABELS},
        {"groups": np.arange(ITEMS) // 2},
    ):
        study = stats.crossed_intervals(scores(2, supports=6), **extra)
        planned = study.planned(6, ITEMS)
        assert planned.half_width == pytest.approx(
            study.both.half_width
        ) and planned.df == pytest.approx(study.both.df)
        sizes = [
            study.planned(r, n).standard_error
            for r, n in ((6, ITEMS), (12, ITEMS), (12, 600), (10**6, 10**9))
        ]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[-1] ** 2 == pytest.approx(study.support_variance * study.pool_share, abs=1e-5)


def test_many_supports_leave_the_variance_of_the_items():
    study = stats.crossed_intervals(scores(2, supports=6))
    many = study.planned(10**6, ITEMS)
    assert many.standard_error**2 == pytest.approx(study.item_variance / ITEMS, rel=1e-3)


def test_one_support_says_nothing_of_others():
    study = stats.crossed_intervals(scores(supports=1))
    usual = stats.open_task_interval(scores(supports=1)[0])
    assert (study.items.half_width, study.items.df) == (
        pytest.approx(usual.half_width),
        pytest.approx(usual.df),
    )
    assert study.supports.half_width == study.both.half_width == math.inf
    assert study.support_variance == math.inf
    assert str(study).endswith("(new items), ± unknown (new supports), ± unknown (both)")
    with refuses("at least 2 supports", "got 1"):
        study.planned(2, 100)
    with refuses("^items", ">= 2", "got 1"):
        study.planned(2, 1)


def test_where_nothing_varies_items_and_supports_are_counted():
    study = stats.crossed_intervals(np.full((4, 30), 0.5), LABELS[:30], bounds=(-1, 1))
    assert half_widths(study).tolist() == [0, 0, 0]
    p_values = [getattr(study, kind).p_value for kind in KINDS]
    assert p_values == pytest.approx([2 * (1 / 1.5) ** n for n in (30, 4, 4)])


def test_a_class_that_is_one_group_leaves_new_items_unknown():
    groups = np.where(LABELS == 0, 0, np.arange(ITEMS))
    study = stats.crossed_intervals(scores(), LABELS, groups=groups)
    assert math.isinf(study.items.half_width) and math.isinf(study.both.half_width)
    assert math.isfinite(study.supports.half_width)


STUDIES = 60


@pytest.fixture(scope="module")
def shares():
    """By design and interval, in percent, of as many studies each."""
    studies = [
        crossed.summary(crossed.simulated(design, STUDIES, seed=1000 + k))
        for k, design in enumerate(crossed.DESIGNS)
    ]
    return pd.concat(studies).pivot(index="design", columns="interval", values="share")


@pytest.mark.slow
@pytest.mark.parametrize("interval", KINDS)
def test_intervals_hold_their_truth_as_often_as_said(shares, interval):
    assert len(shares) >= 10
    low = scipy.stats.binom.ppf(1e-3, STUDIES, 0.94) / STUDIES
    assert shares[interval].min() >= 100 * low
    assert 94 < shares[interval].mean() < 96.5  # a tenth wider or narrower moves it by 1.5


@pytest.mark.parametrize(
    "change, words",
    [
        ({"scores": np.ones((3, 1))}, "one row per support"),
        ({"labels": np.r_[LABELS[:-1], 9]}, "^labels .*at least 2.*class 9$"),
        ({"labels": LABELS, "weights": [1, 2]}, r"^weights .* 3 classes .*got \[1, 2\]"),
        ({"labels": LABELS, "weights": [1, 2, 0]}, r"weights .*> 0.*got \[1, 2, 0\]"),
        ({"pool": 30}, "pool and shots .*got pool alone"),
        ({"pool": 8, "shots": 8}, "^pool .* shots = 8, got 8"),
    ],
)
def test_bad_input_is_refused(change, words):
    with refuses(words):
        stats.crossed_intervals(**{"scores": scores(), **change})
