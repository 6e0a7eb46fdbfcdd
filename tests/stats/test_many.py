"""Verdicts over several data sets: against published numbers, SciPy and statsmodels, all orders, and by simulation."""

from importlib import import_module
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.libqsturng import qsturng

from fslcore import stats

friedman_nemenyi = import_module(
    "fslcore.stats.across_datasets"
)  # the function of that name hides it

# Demšar (2006), Table 6: AUC of C4.5 and three variants. Two of voting are equal in print, and ranked 2 and 3.
DEMSAR = [
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.9751, 0.975),
    (0.957, 0.978, 0.946, 0.970),
]
# His Table 5: critical values of the two-tailed Nemenyi test, for 2 to 10 methods.
tables = st.tuples(st.integers(2, 6), st.integers(2, 8), st.integers(0, 10_000), st.booleans())


def drawn(methods, datasets, seed, coarse):
    x = np.random.default_rng(seed).normal(70, 10, (methods, datasets))
    return np.round(x / 10) if coarse else x


def test_the_worked_example_of_demsar():
    at_5, at_10 = (stats.friedman_nemenyi(np.transpose(DEMSAR), level) for level in (0.95, 0.9))
    assert at_5.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=6e-4)
    differences = at_5.critical_difference, at_10.critical_difference
    assert differences == pytest.approx((1.25, 1.12), abs=5e-3)
    # At 10 % he finds two methods that differ from C4.5.
    assert np.argwhere(np.triu(at_10.significant)).tolist() == [[0, 1], [0, 3]]
    assert [group.tolist() for group in at_5.groups] == [[3, 1, 2, 0]]
    assert [group.tolist() for group in at_10.groups] == [[3, 1, 2], [2, 0]]


@given(tables, st.sampled_from([0.9, 0.95, 0.99]))
@settings(max_examples=40, deadline=None)
def test_against_scipy_and_statsmodels(table, level):
    x = drawn(*table)
    comparison = stats.friedman_nemenyi(x, level)
    methods, datasets = x.shape
    if methods > 2:  # SciPy wants three
        reference = np.nan_to_num(scipy_stats.friedmanchisquare(*x).statistic)
        assert comparison.statistic == pytest.approx(reference, abs=1e-9)
    # Copenhaver and Holland, not an integral as in SciPy
    quantile = qsturng(level, methods, np.inf)
    expected = quantile * np.sqrt(methods * (methods + 1) / (12 * datasets))
    assert comparison.critical_difference == pytest.approx(expected, rel=2e-3)
    gap = np.abs(comparison.ranks[:, None] - comparison.ranks)
    assert ((comparison.p_values < 1 - level) == (gap > comparison.critical_difference)).all()
    assert comparison.groups[0][0] == comparison.ranks.argmin()
    assert set(np.concatenate(comparison.groups)) == set(range(methods))
    for group in comparison.groups:
        assert not comparison.significant[np.ix_(group, group)].any()


def test_the_p_value_is_that_of_all_orders():
    for x in (
        drawn(3, 4, 0, False),
        drawn(3, 4, 5, True),
        np.array([[4, 5, 6, 7], [1, 2, 3, 4.0], [0, 0, 0, 0]]),
    ):
        ranks = scipy_stats.rankdata(-x, axis=0)
        orders = np.array(list(product(*map(permutations, ranks.T))))
        scatter = ((orders.mean(axis=1) - 2) ** 2).sum(axis=1)
        exact = np.mean(scatter >= ((ranks.mean(axis=1) - 2) ** 2).sum() - 1e-9)
        assert stats.friedman_nemenyi(x).p_value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("methods, datasets", [(3, 6), (5, 4), (9, 12)])
def test_the_order_of_methods_and_data_sets_does_not_matter(methods, datasets):
    rng = np.random.default_rng(methods)
    x = rng.integers(0, 30, (methods, datasets)) / 3  # with ties
    p_value = stats.friedman_nemenyi(x).p_value
    for _ in range(5):
        shuffled = rng.permutation(rng.permutation(x, axis=0), axis=1)
        assert stats.friedman_nemenyi(shuffled).p_value == pytest.approx(p_value, rel=1e-12)


def test_exact_p_values_shuffles_and_the_limit_agree(monkeypatch):
    x = np.random.default_rng(1).normal(size=(4, 20)) + 0.3 * np.arange(4)[:, None]
    exact = stats.friedman_nemenyi(x).p_value
    assert exact == pytest.approx(scipy_stats.friedmanchisquare(*x).pvalue, rel=0.2)
    monkeypatch.setattr(friedman_nemenyi, "MOST_SUMS", 0)
    error = np.sqrt(exact * (1 - exact) / friedman_nemenyi.SHUFFLES)
    shuffled = stats.friedman_nemenyi(x).p_value
    assert shuffled != exact and shuffled == pytest.approx(exact, abs=4 * error + 1e-4)


def test_an_order_that_no_shuffle_repeats_has_the_least_p_value_that_shuffles_give():
    comparison = stats.friedman_nemenyi(np.arange(8.0)[:, None] + np.zeros(12))
    assert comparison.p_value == 1 / (1 + friedman_nemenyi.SHUFFLES)


def test_two_methods_and_few_data_sets():
    for datasets in (4, 5, 6):  # Nemenyi's test alone would reject from 4 on
        comparison = stats.friedman_nemenyi([np.ones(datasets), np.zeros(datasets)])
        assert comparison.critical_difference < 1
        assert comparison.significant[0, 1] == (datasets == 6)
        assert comparison.smallest_pair == 2.0 ** (1 - datasets)
        assert comparison.p_value == pytest.approx(comparison.smallest_pair, rel=1e-12)


def test_as_many_shuffles_in_parts_as_at_once(monkeypatch):
    ranks = np.array(DEMSAR).T
    monkeypatch.setattr(friedman_nemenyi, "MOST_SUMS", 0)
    at_once = stats.friedman_nemenyi(ranks).p_value
    # Seven parts, the last one shorter.
    monkeypatch.setattr(friedman_nemenyi, "ROWS", 3 * ranks.size * 1000)
    shuffles = []
    scatter = friedman_nemenyi._scatter

    def counted(mean_ranks):
        shuffles.append(mean_ranks.size // len(DEMSAR[0]))
        return scatter(mean_ranks)

    monkeypatch.setattr(friedman_nemenyi, "_scatter", counted)
    assert stats.friedman_nemenyi(ranks).p_value == pytest.approx(at_once, abs=0.01)
    assert (sum(shuffles), len(shuffles)) == (1 + friedman_nemenyi.SHUFFLES, 8)


@pytest.mark.parametrize(
    "differences, expected",
    [
        ([2.0] * 11, True),
        ([2.0] * 10 + [2.5], True),
        ([0.0] * 11, False),
        ([0.0] * 10 + [2.0], False),
    ],
)
def test_differences_that_are_nearly_all_one_number_are_known(differences, expected):
    assert friedman_nemenyi.nearly_all_are_one(np.array(differences)) is expected
    varied = np.random.default_rng(0).normal(differences)
    assert not friedman_nemenyi.nearly_all_are_one(varied)


def decided_and_decisive(draw, datasets):
    """Shares of studies, in percent, that find a difference, and that find it with each data set left out too."""
    rng = np.random.default_rng(datasets)
    decided = robust = 0
    for _ in range(3000):
        differences = draw(rng, datasets)
        if stats.open_task_interval(differences).sign:
            decided += 1
            robust += not friedman_nemenyi.decisive_datasets(differences, 0.95).size
    return decided / 30, robust / 30


def test_a_decisive_data_set_turns_the_t_test_over():
    x = np.array([2.0, 4.0, 0.5, 4.0, 3.0])
    p_without = [scipy_stats.ttest_1samp(np.delete(x, i), 0).pvalue for i in range(5)]
    expected = np.flatnonzero(np.array(p_without) >= 0.05)
    assert scipy_stats.ttest_1samp(x, 0).pvalue < 0.05 and 0 < len(expected) < 5
    assert friedman_nemenyi.decisive_datasets(x, 0.95).tolist() == expected.tolist()
    for nothing in (x - 2, x[:2], np.zeros(4)):
        assert not friedman_nemenyi.decisive_datasets(nothing, 0.95).size


@pytest.mark.slow
@pytest.mark.parametrize(
    "draw, decided, robust",
    [
        (lambda rng, d: rng.normal(size=d), 5.0, 1.4),
        (lambda rng, d: rng.exponential(size=d) - 1, 12.7, 6.4),
    ],
    ids=["normal", "skewed"],
)
def test_most_differences_that_do_not_exist_have_a_decisive_data_set(draw, decided, robust):
    assert decided_and_decisive(draw, 5) == pytest.approx((decided, robust), abs=2)
