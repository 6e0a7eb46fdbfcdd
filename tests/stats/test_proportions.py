"""Paired proportions against a numerical likelihood and statsmodels, and their coverage by counting."""

import numpy as np
import pytest
from refusal import refuses
from scipy import optimize, stats
from statsmodels.stats import contingency_tables
from statsmodels.stats.proportion import proportion_confint

from fslcore.stats.proportions import mcnemar, wilson_interval

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
    proportions = mcnemar(*answers(*table), level)
    z = stats.norm.ppf((1 + level) / 2)
    for end, sign in ((proportions.interval.low, 1), (proportions.interval.high, -1)):
        if -1 + 1e-6 < end < 1 - 1e-6:
            assert score(table[1], table[2], sum(table), end) == pytest.approx(sign * z, abs=2e-3)
    assert (
        -1
        <= proportions.interval.low
        <= proportions.interval.estimate
        <= proportions.interval.high
        <= 1
    )


@pytest.mark.parametrize("table", TABLES)
def test_the_p_value_is_that_of_mcnemar(table):
    both_right, first, second, neither = table
    proportions = mcnemar(*answers(*table))
    expected = 1.0  # of no item that only one answers rightly, statsmodels divides 0 by 0
    if first + second:
        counts = [[both_right, first], [second, neither]]
        expected = contingency_tables.mcnemar(counts, exact=False, correction=False).pvalue
    assert proportions.p_value == pytest.approx(expected)
    assert proportions.discordant == (first, second) and proportions.interval.n == sum(table)


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
                proportions = mcnemar(*answers(count - i - j, i, j, 0))
                covered += chance * (
                    proportions.interval.low <= first - second <= proportions.interval.high
                )
    assert 0.93 < covered < 0.995


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_interval_excludes_0_exactly_where_the_p_value_is_below_1_minus_level(level):
    for count in (5, 40, 200):
        for first in range(min(count, 14)):
            for second in range(min(count - first, 14)):
                table = mcnemar(*answers(count - first - second, first, second, 0), level)
                excludes_0 = table.interval.low > 0 or table.interval.high < 0
                assert excludes_0 == (table.p_value < 1 - level), (count, first, second)


def test_five_against_none_of_200_is_one_answer():
    table = mcnemar(*answers(100, 5, 0, 95))
    assert table.interval.low > 0 and table.p_value == pytest.approx(0.0253, abs=1e-4)


@pytest.mark.parametrize("items", [10, 20, 100, 200, 1000])
def test_false_positives_by_counting_all_outcomes(items):
    """The share of studies of equal methods whose p-value is below 5 %, at most."""
    discordant = np.arange(items + 1)
    given = np.zeros(items + 1)
    for count in discordant[1:]:
        wins = np.arange(count + 1)
        rejected = (2 * wins - count) ** 2 / count > stats.chi2.isf(0.05, 1)
        given[count] = stats.binom.pmf(wins, count, 0.5)[rejected].sum()
    shares = np.concatenate([np.linspace(0.002, 0.05, 25), np.linspace(0.06, 0.9, 43)])
    sizes = [stats.binom.pmf(discordant, items, share) @ given for share in shares]
    assert 0.04 < max(sizes) < 0.055
    # The rule that is counted is that of the function.
    for wins, losses in ((5, 0), (3, 0), (7, 1), (8, 2)):
        table = mcnemar(*answers(items - wins - losses, wins, losses, 0))
        statistic = (wins - losses) ** 2 / (wins + losses)
        assert (table.p_value < 0.05) == (statistic > stats.chi2.isf(0.05, 1))


@pytest.mark.parametrize("a, b", [([1, 2], [0, 1]), ([1, 0], [1]), ([], []), ([[1]], [[0]])])
def test_what_are_no_answers_is_refused(a, b):
    with refuses():
        mcnemar(a, b)


@pytest.mark.parametrize("right, count", [(0, 1), (0, 10), (9, 10), (37, 50), (600, 600)])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_wilsons_interval_is_that_of_statsmodels(right, count, level):
    answers = np.arange(count) < right
    interval = wilson_interval(answers, level)
    expected = proportion_confint(right, count, 1 - level, method="wilson")
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-12)
    assert (interval.estimate, interval.n) == (right / count, count)


def test_wilsons_interval_is_of_answers():
    for answers in ([], [0.5], [[1, 0]], [2]):
        with refuses("answers"):
            wilson_interval(answers)
