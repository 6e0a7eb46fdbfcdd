"""Each public statistic gives the number of its rule, and not that of a rule that is easily written instead.

A rule of this file computes its number in another way (SciPy, statsmodels, a closed form, an enumeration). Beside it
are the numbers of plausible faults: n for n - 1, tasks for classes, one side for two. The data make all of them differ.
"""

import inspect
from itertools import combinations, permutations, product
from math import sqrt

import numpy as np
import pytest
import scipy.stats as sps
from faulty import Rule, Rules
from scipy.optimize import brentq
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from fslcore import stats
from fslcore.stats.anytime import BETS, DIVIDED

RULES = Rules()


def two_methods(tasks=12, seed=1):
    """Accuracies of two methods on the same tasks, in percent, that correlate."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 6, tasks)
    return 72 + hard + rng.normal(0, 3, tasks), 70 + hard + rng.normal(0, 4, tasks)


def t(df, level=0.95):
    return sps.t.ppf((1 + level) / 2, df)


@RULES.of(stats.closed_task_interval)
def closed():
    few, many = two_methods()[0], two_methods(100)[0]
    found = [stats.closed_task_interval(x).half_width for x in (few, many)]
    z = sps.norm.ppf(0.975)
    errors = np.array([sps.sem(few), sps.sem(many)])
    return Rule(
        found,
        errors * [t(11), z],
        {
            "normal quantile of few tasks": errors * z,
            "Student's quantile of many": errors * [t(11), t(99)],
            "n for n - 1": errors * [t(11) * sqrt(11 / 12), z * sqrt(99 / 100)],
            "one side": errors * [sps.t.ppf(0.95, 11), sps.norm.ppf(0.95)],
        },
    )


@RULES.of(stats.open_task_interval)
def open_tasks():
    x = two_methods(150)[0]
    error = sps.sem(x)
    return Rule(
        stats.open_task_interval(x).half_width,
        error * t(149),
        {
            "normal quantile": error * sps.norm.ppf(0.975),
            "n for n - 1": error * t(149) * sqrt(149 / 150),
            "deviation for error": x.std(ddof=1) * t(149),
        },
    )


@RULES.of(stats.paired_interval)
def paired():
    a, b = two_methods()
    found = stats.paired_interval(a, b)
    right = sps.ttest_rel(a, b)
    independent = sps.ttest_ind(a, b, equal_var=False)
    half_widths = [stats.open_task_interval(x).half_width for x in (a, b)]

    def numbers(test):
        return [*test.confidence_interval(), test.pvalue]

    ends = right.confidence_interval()
    return Rule(
        [found.low, found.high, found.p_value],
        numbers(right),
        {
            "as if unpaired": numbers(independent),
            "second minus first": numbers(sps.ttest_rel(b, a)),
            "sum of half-widths": [
                found.estimate - sum(half_widths),
                found.estimate + sum(half_widths),
                right.pvalue,
            ],
            "one-sided p-value": [*ends, right.pvalue / 2],
            "signed ranks": [*ends, sps.wilcoxon(a, b).pvalue],
        },
    )


@RULES.of(stats.welch_interval)
def independent():
    a = two_methods(5)[0] + 2
    b = 70 + 3 * (two_methods(40)[1] - 70)
    found = stats.welch_interval(a, b)
    error = sqrt(sps.sem(a) ** 2 + sps.sem(b) ** 2)

    def half_width(test):
        ends = test.confidence_interval()
        return (ends.high - ends.low) / 2

    return Rule(
        found.half_width,
        half_width(sps.ttest_ind(a, b, equal_var=False)),
        {
            "one variance for both": half_width(sps.ttest_ind(a, b)),
            "degrees of freedom added up": t(43) * error,
            "those of the smaller set": t(4) * error,
            "normal quantile": sps.norm.ppf(0.975) * error,
        },
    )


@RULES.of(stats.compare_by_overlap)
def overlap():
    """Two intervals that touch, of a difference whose own interval leaves 0 out."""
    a = np.array([70.0, 71, 72, 73, 74, 75])
    b = a - 2.5
    first, second = stats.open_task_interval(a), stats.open_task_interval(b)
    difference = stats.welch_interval(a, b).sign
    assert difference == 1
    return Rule(
        [stats.compare_by_overlap(first, second), stats.compare_by_overlap(first, _shifted(9))],
        [0, 1],
        {
            "the interval of the difference": [difference, 1],
            "the mean lies in the other one": [
                int(not second.low <= first.estimate <= second.high),
                1,
            ],
            "second minus first": [0, -1],
        },
    )


def _shifted(down):
    return stats.open_task_interval(np.array([70.0, 71, 72, 73, 74, 75]) - down)


@RULES.of(stats.paired_differences)
def differences():
    """The tolerance for rounding is that of a method's own column."""
    first = np.array([[1e6, 3e-10], [2e6, 1e-10]])
    second = np.array([[1e6, 1e-10], [1e6, 3e-10]])
    raw = first - second
    return Rule(
        stats.paired_differences(first, second),
        raw,
        {
            "second minus first": -raw,
            "absolute": np.abs(raw),
            "one tolerance for all columns": np.where(np.abs(raw) <= 4 * 2.2e-16 * 2e6, 0, raw),
        },
    )


@RULES.of(stats.tost)
def equivalence():
    a, b = two_methods()
    interval = stats.paired_interval(a, b)
    margin = 4.0
    right, lower, upper = ttost_paired(a, b, -margin, margin)
    return Rule(
        stats.tost(interval, margin).p_value,
        right,
        {
            "the smaller of both tests": min(lower[1], upper[1]),
            "two sides": 2 * right,
            "both added up": lower[1] + upper[1],
            "the test against 0": sps.ttest_rel(a, b).pvalue,
            "normal distribution": sps.norm.sf((margin - interval.estimate) / sps.sem(a - b)),
        },
    )


@RULES.of(stats.holm, stats.benjamini_hochberg)
def adjusted():
    p = np.array([0.02, 0.001, 0.021, 0.3])
    harmonic = (1 / np.arange(1, 5)).sum()
    hochberg = [0.06 * 21 / 30, 0.004, 0.042, 0.3]
    right = [0.06, 0.004, 0.06, 0.3], [0.028, 0.004, 0.028, 0.3]
    return Rule(
        [stats.holm(p), stats.benjamini_hochberg(p)],
        right,
        {
            "Bonferroni": [np.minimum(4 * p, 1), right[1]],
            "each rank alone": [[0.06, 0.004, 0.042, 0.3], [0.04, 0.004, 0.028, 0.3]],
            "Hochberg": [hochberg, right[1]],
            "Benjamini and Yekutieli": [right[0], np.minimum(np.array(right[1]) * harmonic, 1)],
            "each other's": right[::-1],
        },
    )


@RULES.of(stats.mcnemar)
def proportions():
    wins, losses, n = 12, 4, 60
    a = np.repeat([1, 0, 1, 0], [wins, losses, 30, n - 30 - wins - losses])
    b = np.repeat([0, 1, 1, 0], [wins, losses, 30, n - 30 - wins - losses])
    found = stats.mcnemar(a, b)
    z2 = (wins - losses) ** 2 / (wins + losses)
    p1, p2 = a.mean(), b.mean()
    pooled = (p1 - p2) / sqrt(2 * (p1 + p2) / 2 * (1 - (p1 + p2) / 2) / n)
    return Rule(
        [found.interval.estimate, found.p_value],
        [(wins - losses) / n, sps.chi2.sf(z2, 1)],
        {
            "share of the discordant": [(wins - losses) / (wins + losses), sps.chi2.sf(z2, 1)],
            "as if unpaired": [p1 - p2, 2 * sps.norm.sf(pooled)],
            "one side": [p1 - p2, sps.norm.sf(sqrt(z2))],
            "with a continuity correction": [p1 - p2, sps.chi2.sf(49 / 16, 1)],
            "exact": [p1 - p2, sps.binomtest(wins, wins + losses).pvalue],
        },
    )


@RULES.of(stats.friedman_nemenyi)
def datasets():
    x = np.array([[80.0, 70, 61, 90], [79, 70, 60, 88], [70, 65, 62, 80]])  # methods by data sets
    found = stats.friedman_nemenyi(x)
    of_dataset = sps.rankdata(-x, axis=0)

    def scatter(orders):
        return ((np.mean(orders, axis=0) - 2) ** 2).sum()

    everything = [
        scatter(orders) for orders in product(*(permutations(column) for column in of_dataset.T))
    ]
    p = np.mean(np.array(everything) >= scatter(of_dataset.T) - 1e-9)
    statistic, limit = sps.friedmanchisquare(*x)
    right = [*of_dataset.mean(axis=1), statistic, p]
    return Rule(
        [*found.ranks, found.statistic, found.p_value],
        right,
        {
            "ranks of the means": [*sps.rankdata(-x.mean(axis=1)), statistic, p],
            "the highest has the last rank": [*sps.rankdata(x, axis=0).mean(axis=1), statistic, p],
            "without ties": [*right[:3], 12 * 4 / 12 * scatter(of_dataset.T), p],
            "the limit of many data sets": [*right[:4], limit],
        },
    )


@RULES.of(stats.friedman_nemenyi)
def critical_difference():
    """Of Nemenyi: 2.343 is q for three methods in Demšar's table 5, whose studentized range is divided by √2."""
    found = stats.friedman_nemenyi(np.arange(30.0).reshape(3, 10) ** 2 % 17)
    return Rule(
        found.critical_difference,
        2.343 * sqrt(3 * 4 / (6 * 10)),
        {
            "range not divided": 2.343 * sqrt(2) * sqrt(3 * 4 / (6 * 10)),
            "of one comparison": sps.norm.ppf(0.975) * sqrt(3 * 4 / (6 * 10)),
            "error of one rank": 2.343 * sqrt(3 * 4 / (12 * 10)),
        },
        tolerance=3e-4,
    )


@RULES.of(stats.rank_confidence_sets)
def rank_confidence_sets():
    better = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    found = stats.rank_confidence_sets(better)
    return Rule(
        [found.best, found.worst],
        [[1, 2, 2], [1, 3, 3]],
        {
            "ranks of the means": [[1, 2, 3], [1, 2, 3]],
            "rows for columns": [[3, 1, 1], [3, 2, 2]],
            "those not better are worse": [[1, 2, 2], [1, 2, 2]],
        },
    )


@RULES.of(stats.simultaneous_intervals)
def simultaneous():
    rng = np.random.default_rng(4)
    x = rng.normal(0, 1, (2, 12)) + 3 * rng.normal(0, 1, 12)
    found = stats.simultaneous_intervals(x)
    rho = np.corrcoef(x)[0, 1] * 12 / 14  # shrunk by K / (K + T)
    joint = sps.multivariate_t(shape=[[1, rho], [rho, 1]], df=11, seed=0)

    def excess(c):
        return joint.cdf([c, c], lower_limit=[-c, -c], random_state=0) - 0.95

    return Rule(
        found.half_width / (x.std(axis=1, ddof=1) / sqrt(12)),
        [brentq(excess, 2, 3, xtol=1e-5)] * 2,
        {
            "one comparison": [t(11)] * 2,
            "Bonferroni": [t(11, 0.975)] * 2,
            "independent": [t(11, sqrt(0.95))] * 2,
            "normal": [sps.norm.ppf((1 + sqrt(0.95)) / 2)] * 2,
        },
        tolerance=1e-3,
    )


@RULES.of(stats.winner_interval)
def winner():
    """Of two equal methods the higher one is too high by the median of the larger of two errors."""
    found = stats.winner_interval([0.0, 0.0], covariance=np.diag([4.0, 4.0]))
    return Rule(
        found.corrected.estimate,
        -2 * sps.norm.ppf(sqrt(0.5)),
        {
            "not corrected": 0.0,
            "its mean": -2 / sqrt(np.pi),
            "deviation of a difference": -2 * sqrt(2) * sps.norm.ppf(sqrt(0.5)),
            "variance for deviation": -4 * sps.norm.ppf(sqrt(0.5)),
        },
        tolerance=2e-3,
    )


@RULES.of(stats.confidence_sequence)
def anytime():
    x = np.random.default_rng(3).beta(8, 2, 60)

    def lowest(x, needed):
        def excess(m):
            return (
                DIVIDED * np.prod(1 - BETS[:, None] + BETS[:, None] * x / m, axis=1)
            ).sum() - needed

        return brentq(excess, 0.05, x.mean(), xtol=1e-12)

    found = stats.confidence_sequence(x)
    fixed = stats.open_task_interval(x)
    return Rule(
        [found.low, found.high],
        [lowest(x, 40), 1 - lowest(1 - x, 40)],
        {
            "one look": [fixed.low, fixed.high],
            "one side": [lowest(x, 20), 1 - lowest(1 - x, 20)],
            "Hoeffding's for one look": x.mean() + np.array([-1, 1]) * sqrt(np.log(40) / 120),
        },
        tolerance=1e-6,
    )  # fmt: skip


@RULES.of(stats.new_run_interval)
def new_run_interval():
    rng = np.random.default_rng(5)
    x = 70 + rng.normal(0, 2, (4, 1)) + rng.normal(0, 6, 30) + rng.normal(0, 5, (4, 30))
    mean_squares = [30 * x.mean(axis=1).var(ddof=1), 4 * x.mean(axis=0).var(ddof=1)]
    residual = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    rest = (residual**2).sum() / (3 * 29)
    return Rule(
        stats.new_run_interval(x).interval.standard_error ** 2,
        (sum(mean_squares) - rest) / 120,
        {
            "runs alone": mean_squares[0] / 120,
            "tasks alone": mean_squares[1] / 120,
            "the rest counted twice": sum(mean_squares) / 120,
            "all as one sample": x.var(ddof=1) / 120,
            "R for R - 1": (0.75 * mean_squares[0] + mean_squares[1] - rest) / 120,
        },
    )


@RULES.of(stats.new_run_interval)
def difference_of_runs():
    """Two methods share tasks and no run: each has a variance of its runs."""
    first = 70 + np.arange(5.0)[:, None] + np.zeros(20)
    second = 66 + 3 * np.arange(3.0)[:, None] + np.zeros(20)
    variances = 2.5 / 5, 9 / 3
    df = sum(variances) ** 2 / (variances[0] ** 2 / 4 + variances[1] ** 2 / 2)
    return Rule(
        stats.new_run_interval(first, second).interval.half_width,
        t(df) * sqrt(sum(variances)),
        {
            "one variance for both": t(6) * sqrt((4 * 2.5 + 2 * 9) / 6 * (1 / 5 + 1 / 3)),
            "variance of one method": t(4) * sqrt(variances[0]),
            "tasks for runs": t(19) * sqrt(2.5 + 9) / sqrt(20),
            "degrees of freedom added up": t(6) * sqrt(sum(variances)),
        },
    )


@RULES.of(stats.probability_of_improvement)
def probability_of_improvement():
    a, b = np.array([61.0, 63, 62, 60]), np.array([60.0, 61, 59.5, 60.5, 58])
    wins = a[:, None] > b
    ties = a[:, None] == b
    apart = stats.probability_of_improvement(b + 50, a)  # all pairs agree
    normal = sps.norm.cdf((a.mean() - b.mean()) / sqrt(a.var(ddof=1) + b.var(ddof=1)))
    return Rule(
        [stats.probability_of_improvement(a, b).estimate, apart.low],
        [sps.mannwhitneyu(a, b).statistic / 20, 0.025 ** (1 / 4)],
        {
            "ties lose": [wins.mean(), 0.025 ** (1 / 4)],
            "ties win": [(wins | ties).mean(), 0.025 ** (1 / 4)],
            "normal runs": [normal, 0.025 ** (1 / 4)],
            "all pairs as independent": [(wins + ties / 2).mean(), 0.025 ** (1 / 20)],
            "the larger number of runs": [(wins + ties / 2).mean(), 0.025 ** (1 / 5)],
            "one side": [(wins + ties / 2).mean(), 0.05 ** (1 / 4)],
        },
    )


def t_test_size(deviation, df_of, tail=0.025, limit=sps.t.ppf):
    """The least n at which a difference of 1 has a power of 80 %."""
    for n in range(2, 200):
        df = df_of(n)
        if sps.nct.sf(limit(1 - tail, df), df, sqrt(n) / deviation) >= 0.8:
            return n


def normal_limit(chance, df):
    return sps.norm.ppf(chance)


@RULES.of(stats.plan_runs)
def plan_runs():
    """From a pilot of so many runs that their spread, 1 for each method, is known."""
    runs = sps.norm.ppf((np.arange(3000) + 0.5) / 3000)
    runs = (runs / runs.std(ddof=1))[:, None] + np.zeros(2)
    pilot = stats.new_run_interval(70 + runs, 69 + runs)
    return Rule(
        stats.plan_runs(pilot, difference=1.0).n_runs,
        t_test_size(sqrt(2), lambda n: 2 * n - 2),
        {
            "variance of one method": t_test_size(1, lambda n: n - 1),
            "one side": t_test_size(sqrt(2), lambda n: 2 * n - 2, tail=0.05),
            "normal quantile": t_test_size(sqrt(2), lambda n: 2 * n - 2, limit=normal_limit),
            "runs of both together": 2 * t_test_size(sqrt(2), lambda n: 2 * n - 2),
        },
    )


@RULES.of(stats.power)
def power():
    effect, n = 0.9, 8
    shift = effect * sqrt(n)
    right = TTestPower().power(effect, n, 0.05)
    return Rule(
        stats.power(effect, 1 / sqrt(n), n - 1),
        right,
        {
            "normal": sps.norm.sf(1.96 - shift) + sps.norm.cdf(-1.96 - shift),
            "one side": TTestPower().power(effect, n, 0.05, alternative="larger"),
            "a shifted t": sps.t.sf(t(n - 1) - shift, n - 1),
            "n for n - 1": TTestPower().power(effect, n, 0.05, df=n),
        },
        tolerance=1e-6,
    )


@RULES.of(stats.power)
def power_of_a_small_difference():
    """The chance of either verdict: at a difference of nearly 0 it is 1 - level, not half of it."""
    return Rule(
        stats.power(1e-9, 1.0), 0.05, {"the right verdict alone": 0.025}, tolerance=1e-5
    )  # fmt: skip


@RULES.of(stats.minimum_detectable_difference)
def detectable():
    n = 6
    right = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8) * sqrt(n)
    return Rule(
        stats.minimum_detectable_difference(1.0, n - 1),
        right,
        {
            "normal": sps.norm.ppf(0.975) + sps.norm.ppf(0.8),
            "sum of quantiles": t(n - 1) + sps.t.ppf(0.8, n - 1),
            "one side": sps.t.ppf(0.95, n - 1) + sps.t.ppf(0.8, n - 1),
            "half-width": t(n - 1),
        },
        tolerance=1e-5,
    )


def drawn_pilot(tasks=30, ways=3, queries=4, seed=6):
    rng = np.random.default_rng(seed)
    ease = rng.uniform(0.3, 0.95, (tasks, 1, 1)) + rng.uniform(-0.25, 0.05, (tasks, ways, 1))
    return (rng.random((tasks, ways, queries)) < ease) * 1.0


@RULES.of(stats.estimate_variance)
def pilot():
    x, shots = drawn_pilot(), 5
    between = x.mean(axis=(1, 2)).var(ddof=1)
    within = x.var(axis=2, ddof=1).mean()
    whole_task = x.reshape(len(x), -1).var(axis=1, ddof=1).mean()

    def optimum(alpha, within):
        return sqrt(shots * within / 3 / alpha)

    return Rule(
        stats.estimate_variance(x, shots).optimum,
        optimum(between - within / 12, within),
        {
            "noise of queries left in": optimum(between, within),
            "classes of a task as one": optimum(between - whole_task / 12, whole_task),
            "Q for Q - 1": optimum(between - within * 0.75 / 12, within * 0.75),
            "T for T - 1": optimum(between * 29 / 30 - within / 12, within),
            "without shots": optimum(between - within / 12, within) / sqrt(shots),
        },
    )


@RULES.of(stats.optimal_queries)
def optimal_queries():
    """Q* = √2.1 = 1.449 is nearer to 1, and αQ + β/Q is less at 2."""
    model = stats.VarianceModel(1.0, 2.1, 2.1 + 1.0, shots=1)
    whole = stats.optimal_queries(model, queries=[4, 9], tasks=[30, 29])
    by_hand = min((4, 30), (9, 29), key=lambda c: model.variance(*c))[0]
    return Rule(
        [stats.optimal_queries(model), whole],
        [2, by_hand],
        {
            "rounded": [round(model.optimum), by_hand],
            "as many tasks as images allow": [2, 4 if by_hand == 9 else 9],
        },
    )


@RULES.of(stats.open_task_count)
def open_task_count():
    return Rule(
        stats.open_task_count(2000, ways=5, shots=3, queries=7),
        40,
        {
            "queries alone": 2000 / 35,
            "images of a class": 2000 / 10,
            "shots alone": 2000 / 15,
        },
    )


def all_tasks(classes=3, size=4, repeats=20):
    """Every 2-way 1-shot task of one query per class, so often that their own noise is small."""
    labels = np.arange(classes).repeat(size)
    of_class = [list(permutations(np.flatnonzero(labels == c).tolist(), 2)) for c in range(classes)]
    tasks = np.array([
        (first, second)
        for c, d in combinations(range(classes), 2)
        for first, second in product(of_class[c], of_class[d])
    ])  # fmt: skip
    tasks = np.tile(tasks, (repeats, 1, 1))
    return tasks[..., 0], tasks[..., 1], labels


def images_that_count_for_themselves():
    """Values by image: what classifies a query is the query alone, whatever its support."""
    support, query, labels = all_tasks()
    ease = np.random.default_rng(8).uniform(0, 4, len(labels)) + np.array([70.0, 73, 79])[labels]
    by_class = ease.reshape(3, -1)
    truth = {
        "images": by_class.var(axis=1, ddof=1).sum() / by_class.shape[1] / 9,
        "classes": by_class.mean(axis=1).var(ddof=1) / 3,
    }
    of_tasks = ease[query].mean(axis=1).var(ddof=1) / len(query)
    wrong = {
        "n for n - 1": [truth["images"] * 3 / 4, truth["classes"] * 2 / 3],
        "classes as one": [ease.var(ddof=1) / len(ease), truth["classes"]],
        "images for classes": [truth["images"]] * 2,
        "tasks for either": [of_tasks] * 2,
        "the noise of tasks counted too": [truth["images"] + 0.5 * of_tasks * 432, 0],
    }
    return ease[query], support, query, labels, truth, wrong


@RULES.of(stats.three_intervals)
def three_intervals():
    *arguments, truth, wrong = images_that_count_for_themselves()
    found = stats.three_intervals(*arguments)
    return Rule(
        [found.image_variance, found.class_variance], [*truth.values()], wrong, tolerance=0.03
    )


@RULES.of(stats.jackknife_influence)
def influence():
    values, support, query, labels, truth, wrong = images_that_count_for_themselves()
    found = stats.jackknife_influence(
        values.mean(axis=1), np.hstack([support, query]), labels
    ).intervals()
    return Rule(
        [found.image_variance, found.class_variance], [*truth.values()], wrong, tolerance=0.1
    )


@RULES.of(stats.new_run_intervals)
def new_run_intervals():
    """Runs that are each better on all images by the same amount: variances add up."""
    values, support, query, labels, truth, _ = images_that_count_for_themselves()
    runs = np.array([-2.0, 0.0, 1.0, 3.0])
    found = stats.new_run_intervals(values + runs[:, None, None], support, query, labels)
    of_runs = runs.var(ddof=1) / 4

    def errors(images, classes):
        return np.sqrt([images, classes])

    return Rule(
        [found.images.interval.standard_error, found.classes.interval.standard_error],
        errors(truth["images"] + of_runs, truth["classes"] + of_runs),
        {
            "these runs": errors(truth["images"], truth["classes"]),
            "the larger part": errors(
                max(truth["images"], of_runs), max(truth["classes"], of_runs)
            ),
            "R for R - 1": errors(
                truth["images"] + of_runs * 3 / 4, truth["classes"] + of_runs * 3 / 4
            ),
            "one run": errors(truth["images"] + 4 * of_runs, truth["classes"] + 4 * of_runs),
        },
        tolerance=0.02,
    )


@RULES.of(stats.crossed_intervals)
def crossed():
    rng = np.random.default_rng(9)
    supports, items = 12, 40
    chance = 0.6 + rng.normal(0, 0.1, (supports, 1)) + rng.uniform(-0.3, 0.3, items)
    x = (rng.random((supports, items)) < chance) * 1.0
    of_means = x.mean(axis=1).var(ddof=1)
    of_items = x.mean(axis=0).var(ddof=1) / items
    residual = x - x.mean(axis=0) - x.mean(axis=1, keepdims=True) + x.mean()
    interaction = (residual**2).sum() / (supports * (supports - 1) * items * (items - 1))
    found = stats.crossed_intervals(x)
    right = [of_items, of_means / supports, of_items + of_means / supports - interaction]
    return Rule(
        [found.items.standard_error**2, found.supports.standard_error**2, found.both.standard_error**2],
        right,
        {
            "the interaction counted twice": [*right[:2], of_items + of_means / supports],
            "the usual t interval": [right[1]] * 3,
            "all answers as one sample": [x.var(ddof=1) / x.size] * 3,
            "N for N - 1": [of_items * 39 / 40, *right[1:]],
        },
    )  # fmt: skip


def pilot_of_differences(tasks=4000):
    """Closed tasks whose differences have a mean of 0.3 and, for each method, other deviations."""
    rng = np.random.default_rng(10)
    labels = np.arange(6).repeat(10)
    images = np.array(
        [[rng.permutation(10)[:3] + 10 * c for c in rng.permutation(6)[:3]] for _ in range(tasks)]
    )
    hard = rng.normal(0, 2, (tasks, 1))
    first, second = (hard + rng.normal(0, s, (tasks, 1)) + np.zeros(6) for s in (0.6, 0.8))
    return first, second, images[..., 0], images[..., 1:].reshape(tasks, 6), labels


@RULES.of(stats.plan_sample_size)
def plan():
    """From a pilot of so many tasks that the variance of a task's difference is known."""
    first, second, *places = pilot_of_differences()
    found = stats.plan_sample_size(
        stats.three_intervals(first - second, *places),
        difference=1.0,
        n_classes=6,
        images_per_class=10,
        ways=3,
        shots=1,
    )
    deviation = (first - second)[:, 0].std(ddof=1)
    unpaired = sqrt(first[:, 0].var() + second[:, 0].var())
    return Rule(
        found.n_tasks,
        t_test_size(deviation, lambda n: n - 1),
        {
            "as if unpaired": t_test_size(unpaired, lambda n: 2 * n - 2),
            "one side": t_test_size(deviation, lambda n: n - 1, tail=0.05),
            "normal quantile": t_test_size(deviation, lambda n: n - 1, limit=normal_limit),
        },
    )


@RULES.of(stats.compare_printed)
def printed():
    """Of 600 and of 40 other tasks, and on new images, of which 1,000 make ten tasks without reuse."""
    first, second, tasks = (79.0, 0.6), (70.0, 2.5), (600, 40)
    z = sps.norm.ppf(0.975)
    deviations = np.array([0.6 * sqrt(600), 2.5 * sqrt(40)]) / z

    def half_width(squares, df):
        total = np.sum(squares)
        return t(total**2 / (np.square(squares) / df).sum()) * sqrt(total)

    errors = deviations**2 / tasks
    right = half_width(errors, [599, 39])
    found = stats.compare_printed(first, second, tasks, images=1000, same_tasks="no")
    reading = next(r for r in found.readings if r.meaning == "interval")
    return Rule(
        [found.disjoint_tasks, reading.tasks.widest.half_width],
        [10, right],
        {
            "shots left out": [1000 // 75, right],
            "sum of half-widths": [10, 3.1],
            "root of the sum of squares": [10, sqrt(0.6**2 + 2.5**2)],
            "read as standard errors": [10, right * z],
            "degrees of freedom added up": [10, t(638) * sqrt(errors.sum())],
        },
    )


@pytest.mark.parametrize("name", RULES)
def test_a_statistic_follows_its_rule_and_no_faulty_one(name):
    RULES[name]().check()


def test_every_public_function_of_statistics_has_a_rule():
    functions = {name for name in stats.__all__ if inspect.isfunction(getattr(stats, name))}
    with_rules = {statistic.__name__ for rule in RULES.values() for statistic in rule.statistics}
    assert functions == with_rules
