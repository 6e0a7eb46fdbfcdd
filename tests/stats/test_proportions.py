"""Paired proportions against a numerical likelihood and statsmodels, and their coverage by counting."""

import numpy as np
import pytest
from refusal import refuses
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar

from fslcore.stats import paired_proportions

TABLES = [
    (30, 12, 2, 6),
    (43, 0, 3, 4),
    (5, 0, 0, 5),
    (0, 20, 0, 0),
    (400, 60, 40, 100),
    (10, 1, 0, 0),
]


def answers(both_count, first_count, second_count, neither_count):
    """Right answers of two methods, from the counts of items that both, only one and neither answers rightly."""
    pairs = [(1, 1)] * both_count + [(1, 0)] * first_count
    pairs += [(0, 1)] * second_count + [(0, 0)] * neither_count
    return np.array(pairs).T


def score(first, second, count, difference):
    """The score statistic of a difference, with the nuisance share found by a search for the largest likelihood."""

    def minus_likelihood(share):
        shares = [share + difference, share, 1 - 2 * share - difference]
        counts = first, second, count - first - second
        return -sum(log_term(n, p) for n, p in zip(counts, shares, strict=True))

    low, high = max(0.0, -difference), (1 - difference) / 2
    share = optimize.minimize_scalar(
        minus_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-12}
    ).x
    return (first - second - count * difference) / np.sqrt(
        count * (2 * share + difference * (1 - difference))
    )


def log_term(count, share):
    return count * np.log(max(share, 1e-300)) if count else 0.0


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_score_statistic_is_the_normal_quantile_at_both_ends(table, level):
    proportions = paired_proportions(*answers(*table), level)
    z = stats.norm.ppf((1 + level) / 2)
    for end, sign in ((proportions.low, 1), (proportions.high, -1)):
        if -1 + 1e-6 < end < 1 - 1e-6:
            assert score(table[1], table[2], sum(table), end) == pytest.approx(sign * z, abs=2e-3)
    assert -1 <= proportions.low <= proportions.mean <= proportions.high <= 1


@pytest.mark.parametrize("table", TABLES)
def test_the_p_value_is_that_of_mcnemar(table):
    both_right, first, second, neither = table
    proportions = paired_proportions(*answers(*table))
    expected = mcnemar(
        [[both_right, first], [second, neither]], exact=proportions.is_exact, correction=False
    )
    assert proportions.p_value == pytest.approx(expected.pvalue if first + second else 1.0)
    assert proportions.discordant == (first, second) and proportions.n_tasks == sum(table)


@pytest.mark.parametrize("shares", [(0.1, 0.1), (0.2, 0.05), (0.02, 0.02), (0.3, 0.25)])
def test_coverage_by_counting_all_tables(shares):
    count, (first, second) = 40, shares
    covered = 0.0
    for i in range(count + 1):
        for j in range(count + 1 - i):
            chance = stats.multinomial.pmf(
                [i, j, count - i - j], count, [first, second, 1 - first - second]
            )
            if chance > 1e-7:
                proportions = paired_proportions(*answers(count - i - j, i, j, 0))
                covered += chance * (proportions.low <= first - second <= proportions.high)
    assert 0.93 < covered < 0.995


@pytest.mark.parametrize("a, b", [([1, 2], [0, 1]), ([1, 0], [1]), ([], []), ([[1]], [[0]])])
def test_what_are_no_answers_is_refused(a, b):
    with refuses():
        paired_proportions(a, b)
