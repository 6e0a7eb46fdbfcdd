"""Intervals of crossed designs, against the analysis of variance of statsmodels and simulations with known truth."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from fslbook.beyond import crossed
from fslcore import stats
from fslcore.errors import InputError

ITEMS = 60
LABELS = np.arange(ITEMS) % 3


def scores(seed=0, supports=5, items=ITEMS):
    rng = np.random.default_rng(seed)
    support, item = rng.normal(0, 0.5, (supports, 1)), rng.normal(0, 1, items)
    return support + item + rng.normal(0, 1, (supports, items))


def errors(result):
    return np.array(
        [result.items.standard_error, result.supports.standard_error, result.both.standard_error]
    )


def half_widths(result):
    return np.array([result.items.half_width, result.supports.half_width, result.both.half_width])


def mean_squares(y):
    """Of supports, of items and of the residual."""
    support, item = np.indices(y.shape)
    table = pd.DataFrame({"y": y.ravel(), "support": support.ravel(), "item": item.ravel()})
    return anova_lm(ols("y ~ C(support) + C(item)", table).fit())["mean_sq"].to_numpy()


def test_variances_are_those_of_the_two_way_analysis_of_variance():
    y = scores(supports=4, items=7)
    of_supports, of_items, options = mean_squares(y)
    result, cells = stats.crossed_intervals(y), y.size
    expected = np.array([of_items, of_supports, of_items + of_supports - options]) / cells
    assert errors(result) ** 2 == pytest.approx(expected, rel=1e-12)
    assert (result.items.df, result.supports.df) == (pytest.approx(6), pytest.approx(3))
    assert result.support_variance == pytest.approx((of_supports - options) / 7, rel=1e-12)
    assert result.item_variance == pytest.approx((of_items - options) / 4, rel=1e-12)
    assert result.interaction_variance == pytest.approx(options, rel=1e-12)
    assert result.both.standard_error == pytest.approx(
        stats.new_runs(y).interval.standard_error, rel=1e-12
    )


def test_classes_are_strata_with_weights():
    y, weights = scores(supports=4), np.array([0.2, 0.5, 0.3])
    result = stats.crossed_intervals(y, LABELS, weights=10 * weights)
    parts = [y[:, c == LABELS] for c in range(3)]
    squares = np.array([mean_squares(part) for part in parts])
    of_items, options = (weights**2 @ squares[:, k] / (4 * 20) for k in (1, 2))
    of_supports = np.var(sum(w * part.mean(axis=1) for w, part in zip(weights, parts)), ddof=1) / 4
    expected = [of_items, of_supports, of_items + of_supports - options]
    assert errors(result) ** 2 == pytest.approx(expected, rel=1e-12)
    assert result.both.mean == pytest.approx(
        sum(w * part.mean() for w, part in zip(weights, parts))
    )
    element = weights**2 * squares[:, 1] / 80
    assert result.items.df == pytest.approx(element.sum() ** 2 / (element**2 / 19).sum())
    plain_values = stats.crossed_intervals(y, LABELS)
    assert plain_values.both.mean == pytest.approx(y.mean())
    assert errors(plain_values) == pytest.approx(
        errors(stats.crossed_intervals(y, LABELS, weights=[1, 1, 1]))
    )


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 1e3), st.floats(-5, 5), st.booleans())
def test_order_unit_and_origin_change_nothing_else(seed, factor, shift, grouped):
    rng = np.random.default_rng(seed)
    y, groups = scores(seed), (np.arange(ITEMS) // 4 if grouped else None)
    result = stats.crossed_intervals(y, LABELS, groups=groups, pool=30, shots=8)
    rows, columns = rng.permutation(5), rng.permutation(ITEMS)
    moved = stats.crossed_intervals(
        (shift + factor * y)[rows][:, columns],
        LABELS[columns],
        groups=groups[columns] if grouped else None,
        pool=30,
        shots=8,
    )
    assert half_widths(moved) == pytest.approx(factor * half_widths(result), rel=1e-6)
    assert moved.both.mean == pytest.approx(shift + factor * result.both.mean, abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0, 8, 12]), st.booleans())
def test_both_is_never_narrower_than_either(seed, pool, binary):
    y = scores(seed, supports=2 + seed % 4)
    images = dict(pool=pool, shots=5) if pool else {}
    result = stats.crossed_intervals((y > 0) if binary else y, **images)
    assert result.both.half_width >= max(result.items.half_width, result.supports.half_width)
    if not pool:  # then the second is the usual one of the means, however alike they are by chance
        means = ((y > 0) if binary else y).mean(axis=1)
        assert result.supports.half_width == pytest.approx(
            stats.open_interval(means).half_width, rel=1e-9, abs=1e-12
        )


def test_copies_of_items_in_groups_are_one_item_each():
    y = scores()
    alone = stats.crossed_intervals(y)
    copied = stats.crossed_intervals(y.repeat(5, axis=1), groups=np.arange(ITEMS).repeat(5))
    # CR3 leaves out a whole group: N / (N - 1) times the variance.
    assert copied.items.standard_error**2 == pytest.approx(
        alone.items.standard_error**2 * ITEMS / (ITEMS - 1)
    )
    assert errors(copied)[1] == pytest.approx(errors(alone)[1])
    assert (
        copied.items.df == pytest.approx(alone.items.df, rel=0.02) and copied.items.n_tasks == ITEMS
    )
    taken_as_items = stats.crossed_intervals(y.repeat(5, axis=1))
    assert taken_as_items.items.half_width < 0.5 * copied.items.half_width


def test_groups_of_one_item_are_no_groups_and_groups_may_span_classes():
    y = scores()
    assert stats.crossed_intervals(y, groups=np.arange(ITEMS)) == stats.crossed_intervals(y)
    groups, w = np.arange(ITEMS) // 6, 1 / ITEMS
    result = stats.crossed_intervals(y, LABELS, groups=groups)
    item = y.mean(axis=0)
    off = item - np.array([item[c == LABELS].mean() for c in range(3)])[LABELS]
    by_group = np.array(
        [w * off[groups == g].sum() / (1 - 0.1) for g in range(10)]
    )  # each has a tenth of each class
    assert result.items.standard_error**2 == pytest.approx((by_group**2).sum(), rel=1e-12)


def test_supports_from_a_pool_count_for_less():
    y = scores(supports=10) + 3 * scores(1)[0]
    alone, images = stats.crossed_intervals(y), stats.crossed_intervals(y, pool=24, shots=8)
    assert images.items == alone.items
    ratio = images.supports.standard_error**2 / alone.supports.standard_error**2
    assert ratio == pytest.approx(10 * (1 / 10 + 8 / 16))
    assert images.supports.df == pytest.approx(1 / (1 / 9 + 1 / 23))
    expected = alone.both.standard_error**2 + alone.support_variance * 8 / 16
    assert images.both.standard_error**2 == pytest.approx(expected)
    noisy = stats.crossed_intervals(
        np.random.default_rng(3).normal(size=(10, ITEMS)), pool=24, shots=8
    )
    assert (
        noisy.supports.half_width == noisy.both.half_width
    )  # what holds for both holds for supports alone
    large = stats.crossed_intervals(y, pool=10**9, shots=8)
    assert half_widths(large) == pytest.approx(half_widths(alone), rel=1e-6)


def test_a_plan_of_the_same_size_is_the_study_and_larger_ones_are_narrower():
    for extra in (
        {},
        {"pool": 40, "shots": 8},
        {"labels": LABELS},
        {"groups": np.arange(ITEMS) // 2},
    ):
        result = stats.crossed_intervals(scores(2, supports=6), **extra)
        same_values = result.planned(6, ITEMS)
        assert same_values.half_width == pytest.approx(
            result.both.half_width
        ) and same_values.df == pytest.approx(result.both.df)
        sizes = [
            result.planned(r, n).standard_error
            for r, n in ((6, ITEMS), (12, ITEMS), (12, 600), (10**6, 10**9))
        ]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[-1] ** 2 == pytest.approx(
            result.support_variance * result.pool_share, abs=1e-5
        )
    result = stats.crossed_intervals(scores(2, supports=6))
    many = result.planned(10**6, ITEMS)  # only the items are left
    assert many.standard_error**2 == pytest.approx(result.item_variance / ITEMS, rel=1e-3)


def test_one_support_says_nothing_of_others():
    result = stats.crossed_intervals(scores(supports=1))
    usual = stats.open_interval(scores(supports=1)[0])
    assert (result.items.half_width, result.items.df) == (
        pytest.approx(usual.half_width),
        pytest.approx(usual.df),
    )
    assert result.supports.half_width == result.both.half_width == math.inf
    assert result.support_variance == math.inf
    assert str(result).endswith("(new items), unknown (new supports), unknown (both)")
    with pytest.raises(InputError, match="has 1 support; a pilot of 2 or more is needed"):
        result.planned(2, 100)


@pytest.mark.parametrize("value", [0.1, 1.0])
def test_where_nothing_varies_items_and_supports_are_counted(value):
    result = stats.crossed_intervals(np.full((4, 30), value), LABELS[:30], bounds=(-1, 1))
    assert half_widths(result).tolist() == [0, 0, 0]
    p = [part.p_value for part in (result.items, result.supports, result.both)]
    assert p == pytest.approx([min(2 * (1 / (1 + value)) ** n, 1) for n in (30, 4, 4)])


def test_a_class_that_is_one_group_leaves_new_items_unknown():
    groups = np.where(LABELS == 0, 0, np.arange(ITEMS))
    result = stats.crossed_intervals(scores(), LABELS, groups=groups)
    assert math.isinf(result.items.half_width) and math.isinf(result.both.half_width)
    assert math.isfinite(result.supports.half_width)


STUDIES = 100


@pytest.fixture(scope="module")
def shares():
    """By design and interval, in percent, of 100 studies each."""
    result = [
        crossed.summary(crossed.simulated(design, STUDIES, seed=1000 + k))
        for k, design in enumerate(crossed.DESIGNS)
    ]
    return pd.concat(result).pivot(index="design", columns="interval", values="share")


@pytest.mark.slow
@pytest.mark.parametrize("interval", ["items", "supports", "both"])
def test_intervals_hold_their_truth_as_often_as_said(shares, interval):
    assert len(shares) >= 10
    low = scipy.stats.binom.ppf(1e-3, STUDIES, 0.94) / STUDIES
    assert shares[interval].min() >= 100 * low
    assert 94 < shares[interval].mean() < 96.5  # a tenth wider or narrower moves it by 1.5


@pytest.mark.parametrize(
    "change, words",
    [
        ({"values": np.ones((3, 1))}, "one row per support"),
        (
            {"labels": np.r_[LABELS[:-1], 9]},
            "labels: class 9 has 1 item; 2 are needed, or no labels",
        ),
        (
            {"labels": LABELS, "weights": [1, 2]},
            r"weights: shape \(2,\), from 1 on; one over 0 for each of 3 classes",
        ),
        ({"labels": LABELS, "weights": [1, 2, 0]}, "from 0 on"),
        ({"pool": 30}, "pool = 30, shots = None; both are needed, or neither"),
        ({"pool": 8, "shots": 8}, "more labelled examples per class than in a support"),
        ({"groups": np.zeros(ITEMS)}, "groups: all images are in one"),
    ],
)
def test_bad_input_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        stats.crossed_intervals(**{"values": scores(), **change})
