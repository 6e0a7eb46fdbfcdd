"""The statistics that carry the chapters' headlines follow their rules, and no faulty ones (as `fslcore.stats` does in
``tests/stats/test_faulty_rules.py``).
"""

from itertools import combinations
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.stats as sps
import statsmodels.api as sm
from faulty import Rule, Rules

from fslbook import published
from fslbook.beyond import coverage, laboratories, leaderboards, runs, worst_class
from fslbook.estimation import resampled
from fslbook.estimation.conformal import conformal_quantile
from fslbook.estimation.ranks import rank_correlation, selected_value
from fslbook.estimation.resampled import ORACLE
from fslbook.evaluators import audit, estimates, selection
from fslbook.evaluators.estimates import FRESH
from fslbook.fewstab.gaps import gaps, rank_correlations
from fslbook.oops import benchmark, difficulty, optima, sizing
from fslcore import stats
from fslcore.evaluation import Outcomes
from fslcore.stats import estimate_variance

RULES = Rules()


def t(df):
    return sps.t.ppf(0.975, df)


@RULES.of(difficulty.weighted_interval)
def weighted():
    x, w = np.array([60.0, 72, 75, 85, 90]), np.array([1.0, 5, 2, 1, 3])
    found = difficulty.weighted_interval(x, w, 0.95)
    mean = np.average(x, weights=w)
    tasks = w.sum() ** 2 / (w**2).sum()
    error = sps.sem(w * (x - mean)) / w.mean()  # of a ratio
    as_counts = sqrt(np.cov(x, fweights=w.astype(int)) / w.sum())
    return Rule(
        [found.estimate, found.half_width],
        [mean, t(tasks - 1) * error],
        {
            "not weighted": [x.mean(), t(4) * sps.sem(x)],
            "weights turned around": [np.average(x, weights=1 / w), t(tasks - 1) * error],
            "weights as numbers of tasks": [mean, t(w.sum() - 1) * as_counts],
            "all tasks count in full": [mean, t(4) * error],
        },
    )


@RULES.of(difficulty.regression_interval)
def regression():
    rng = np.random.default_rng(1)
    all_cheap = rng.normal(60, 8, 60)
    cheap = all_cheap[:12]
    x = 20 + 0.6 * cheap + rng.normal(0, 3, 12)
    fit = sm.OLS(x, sm.add_constant(cheap)).fit()
    at_mean = fit.get_prediction([[1, all_cheap.mean()]])
    of_all = fit.params[1] ** 2 * all_cheap.var(ddof=1) / 60
    found = difficulty.regression_interval(x, cheap, all_cheap, 0.95)
    mean, error = at_mean.predicted_mean[0], at_mean.se[0]
    return Rule(
        [found.estimate, found.half_width],
        [mean, t(10) * sqrt(error**2 + of_all)],
        {
            "not adjusted": [x.mean(), t(11) * sps.sem(x)],
            "a slope of 1": [x.mean() + all_cheap.mean() - cheap.mean(), found.half_width],
            "adjusted the wrong way": [2 * x.mean() - mean, found.half_width],
            "mean of all as known": [mean, t(10) * error],
            "T - 1 degrees of freedom": [mean, t(11) * sqrt(error**2 + of_all)],
        },
    )


def variances_of(x):
    """α and β at one shot of each method (T, K, Q), from mean squares."""
    within = x.var(axis=2, ddof=1).mean() / x.shape[1]
    return x.mean(axis=(1, 2)).var(ddof=1) - within / x.shape[2], within


def answers(seed, spread, tasks=40):
    rng = np.random.default_rng(seed)
    ease = 0.6 + spread * (np.linspace(-1, 1, tasks)[:, None, None]) + np.zeros((tasks, 3, 5))
    return (rng.random(ease.shape) < ease) * 1.0


@RULES.of(optima.compare_optima)
def ratio_of_optima():
    a, b = answers(2, 0.35), answers(3, 0.25)
    (alpha_a, beta_a), (alpha_b, beta_b) = variances_of(a), variances_of(b)
    without = [[variances_of(np.delete(x, task, axis=0)) for task in range(len(x))] for x in (a, b)]
    (a0, a1), (b0, b1) = (np.transpose(x) for x in without)
    n = len(a)

    def error(numbers):
        return sqrt((n - 1) * numbers.var())

    difference = alpha_b * beta_a - alpha_a * beta_b
    z = difference / error(b0 * a1 - a0 * b1)
    ratio = sqrt(alpha_b * beta_a / (alpha_a * beta_b))
    found = optima.compare_optima(a, b)
    of_each = error(alpha_b * a1 - a0 * beta_b), error(b0 * beta_a - alpha_a * b1)
    unpaired = difference / np.hypot(*of_each)
    return Rule(
        [found.ratio, found.p_value],
        [ratio, 2 * sps.norm.sf(abs(z))],
        {
            "second over first": [1 / ratio, found.p_value],
            "ratio of variances": [ratio**2, found.p_value],
            "as if unpaired": [ratio, 2 * sps.norm.sf(abs(unpaired))],
            "one side": [ratio, sps.norm.sf(abs(z))],
            "n for n - 1": [ratio, 2 * sps.norm.sf(abs(z) * sqrt((n - 1) / n))],
        },
    )


@RULES.of(optima.common_optimum)
def common_optimum():
    """Of runs whose α is certain, the β are weighted by how well each is known."""
    pilots = [
        estimate_variance(answers(seed, 0.3, tasks), 5) for seed, tasks in ((4, 400), (5, 30))
    ]
    found = optima.common_optimum(pilots)
    optimum = [p.optimum for p in pilots]
    exact = [_distance(pilots, q) for q in (found.optimum, *optimum)]
    assert exact[0] <= min(exact[1:])
    assert min(optimum) < found.optimum < max(optimum)
    p = sps.chi2.sf(exact[0], 1)
    return Rule(
        [found.chi_square, found.p_value],
        [exact[0], p],
        {
            "mean of both": [_distance(pilots, np.mean(optimum)), p],
            "as many degrees of freedom as runs": [exact[0], sps.chi2.sf(exact[0], 2)],
        },
    )


def _distance(pilots, q):
    gradient = np.array([-(q**2), 1.0])
    return sum(
        (p.model.beta - p.model.alpha * q**2) ** 2 / (gradient @ p.covariance @ gradient)
        for p in pilots
    )


@RULES.of(optima.fit_variance)
def fit_variance():
    rng = np.random.default_rng(6)
    q, tasks, shots = np.array([1.0, 2, 4, 8, 16, 32]), np.array([50.0, 40, 30, 20, 12, 6]), 5
    design = np.stack([q, 1 / q, np.ones(6)], axis=1) / ((shots + q) * tasks)[:, None]
    error = design @ [1, 3, 6] * np.array([0.02, 0.05, 0.1, 0.02, 0.1, 0.05])
    variance = design @ [1, 3, 6] + error * rng.normal(0, 1, 6)
    found = optima.fit_variance(q, tasks, variance, error, shots)
    fit = sm.WLS(variance, design, weights=1 / error**2).fit(cov_type="fixed scale")
    plain = sm.OLS(variance, design).fit()
    chi_square = fit.ssr
    right = [*fit.params, *fit.bse, sps.chi2.sf(chi_square, 3)]
    model = found.model
    return Rule(
        [model.alpha, model.beta, model.gamma, *found.errors, found.p_value],
        right,
        {
            "all measurements count the same": [*plain.params, *plain.bse, found.p_value],
            "errors from the residuals": [*fit.params, *fit.bse * sqrt(chi_square / 3), found.p_value],
            "as many degrees of freedom as measurements": [*right[:6], sps.chi2.sf(chi_square, 6)],
        },
        tolerance=1e-6,
    )  # fmt: skip


def episodes():
    """Estimates of one estimator on six tasks: too low on most, and far off on two."""
    oracle = np.array([70.0, 80, 90, 60, 75, 85])
    error = np.array([-4.0, -10, 3, -15, -1, -12])
    return oracle, error, pd.DataFrame(
        {"dataset": "d", "method": "m", "task": range(6), ORACLE: oracle, "5-fold": oracle + error}
    )  # fmt: skip


@RULES.of(estimates.maes, estimates.share_far_off, estimates.biases)
def errors_of_an_estimator():
    _, error, table = episodes()

    def of_5_fold(found, column):
        return found.set_index("estimator").loc["5-fold", column]

    bias = estimates.biases(table, ["5-fold"]).iloc[0]
    found = [
        of_5_fold(estimates.maes(table), "mae"),
        of_5_fold(estimates.share_far_off(table, 10), "mean"),
        bias["mean"],
        bias["half_width"],
    ]
    right = [np.abs(error).mean(), 100 * 2 / 6, error.mean(), t(5) * sps.sem(error)]
    return Rule(
        found,
        right,
        {
            "error of the mean": [abs(error.mean()), *right[1:]],
            "root mean square": [sqrt((error**2).mean()), *right[1:]],
            "far off from ten points on": [right[0], 50.0, *right[2:]],
            "oracle minus estimate": [*right[:2], -error.mean(), right[3]],
            "n for n - 1": [*right[:3], right[3] * sqrt(5 / 6)],
        },
    )


@RULES.of(resampled.estimate)
def estimate():
    """Two re-splits of one task, of two and of four queries."""
    correct = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    record = Outcomes(correct, np.array([[0, 1, -1, -1], [0, 0, 1, 1]]))
    return Rule(
        resampled.estimate(record, np.array([0, 0]), 1),
        [(1 + 1 / 4) / 2],
        {"all answers in one": [3 / 6], "padding counts": [(1 / 2 + 1 / 4) / 2]},
    )


@RULES.of(gaps)
def gap_of_the_worst_class():
    """In each task another class is the worst."""
    label = np.tile([0, 0, 0, 0, 1, 1, 1, 1], (4, 1))
    random_answers = ["11111000", "10001111", "11101100", "11001111"]
    biased_answers = ["11101000", "00001110", "11001000", "01001111"]
    random, biased = (
        Outcomes(np.array([list(row) for row in rows]) == "1", label)
        for rows in (random_answers, biased_answers)
    )
    worst = [100 * r.correct.reshape(4, 2, 4).mean(axis=2).min(axis=1) for r in (random, biased)]
    of_means = 100 * (
        random.correct.reshape(4, 2, 4).mean(axis=(0, 2)).min()
        - biased.correct.reshape(4, 2, 4).mean(axis=(0, 2)).min()
    )
    apart, same = (
        gaps({"a": random}, {"a": biased}, paired=paired)["gap"]["a"] for paired in (False, True)
    )

    def half_width(test):
        ends = test.confidence_interval()
        return (ends.high - ends.low) / 2

    welch, paired = (
        half_width(test) for test in (sps.ttest_ind(*worst, equal_var=False), sps.ttest_rel(*worst))
    )
    gap = worst[0].mean() - worst[1].mean()
    return Rule(
        [apart.estimate, apart.half_width, same.half_width],
        [gap, welch, paired],
        {
            "worst class of all tasks": [of_means, welch, paired],
            "biased minus random": [-gap, welch, paired],
            "all tasks paired": [gap, paired, paired],
            "no tasks paired": [gap, welch, welch],
        },
    )


@RULES.of(rank_correlations)
def orders_of_learners():
    table = pd.DataFrame(
        {"setting": [1] * 4, "learner": list("abcd"), "x": [1.0, 2, 3, 90], "y": [2.0, 1, 3, 4]}
    ).set_index(["setting", "learner"])
    return Rule(
        rank_correlations(table, "x", "y").to_numpy(),
        [0.8],
        {
            "Pearson's": [table["x"].corr(table["y"])],
            "Kendall's": [table["x"].corr(table["y"], method="kendall")],
        },
    )


@RULES.of(selection.picks, selection.optimism)
def choices():
    """Two candidates that take turns: which is better on even tasks is worse on odd ones."""
    first, second = np.array([80.0, 50, 80, 50]), np.array([60.0, 60, 60, 60])
    guess = np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1])
    tables = [
        pd.DataFrame(
            {"dataset": "d", "method": name, "task": range(4), ORACLE: accuracy, FRESH: rank}
        )
        for name, accuracy, rank in (("a", first, guess[0]), ("b", second, guess[1]))
    ]
    found = selection.picks(pd.concat(tables), names=())[
        [selection.ALWAYS, selection.ANY, FRESH, ORACLE]
    ]
    return Rule(
        found.mean(),
        [(60 + 50 + 60 + 50) / 4, (65 + 60) / 2, (80 + 50 + 60 + 60) / 4, (80 + 60 + 80 + 60) / 4],
        {
            "with hindsight": [65, 62.5, 62.5, 70],
            "a candidate for its own half": [(80 + 60) / 2, 62.5, 62.5, 70],
            "what the judge promises": [55, 62.5, 1, 70],
            "the best mean for the oracle": [55, 62.5, 62.5, 65],
        },
    )  # fmt: skip


@RULES.of(leaderboards.spread, leaderboards.share_over)
def spread_of_reproductions():
    x = pd.Series([-1.0, -2.0, 1.5, -3.0, -2.5])
    right = [sqrt((x**2).mean()), 3 / 5]
    return Rule(
        [leaderboards.spread(x), leaderboards.share_over(x, 1.5)],
        right,
        {
            "bias left out": [x.std(), right[1]],
            "mean size": [x.abs().mean(), right[1]],
            "n - 1 for n": [sqrt((x**2).sum() / 4), right[1]],
            "differences upwards alone": [right[0], (x > 1.5).mean()],
            "so many points count too": [right[0], 4 / 5],
        },
    )


@RULES.of(leaderboards.expected_within_original, leaderboards.inside)
def within_the_original():
    """By the errors that both ± stand for: that of a difference is larger than the original's."""
    pairs = pd.DataFrame({"plus_minus": [0.8], "plus_minus_reproduced": [0.6], "difference": [0.9]})
    z = sps.norm.ppf(0.975)

    def share(half_width):
        return 1 - 2 * sps.norm.sf(z * 0.8 / half_width)

    return Rule(
        [leaderboards.expected_within_original(pairs), *leaderboards.inside(pairs)],
        [share(1.0), 1],  # √(0.8² + 0.6²)
        {
            "the original's error alone": [share(0.8), 1],
            "both ± added": [share(1.4), 1],
            "± as standard errors": [1 - 2 * sps.norm.sf(0.8), 1],
            "within the original's ±": [share(1.0), 0],
        },
    )


@RULES.of(leaderboards.may_be_best)
def may_be_best():
    """Of four others one lies between the limits for one comparison and for four, one beyond, and one far off."""
    gaps = np.array([0.0, 2.0, 2.4, 1.5, 9])  # in errors of a difference
    means = 80 - gaps * sqrt(2)

    def within(chance):
        return gaps <= sps.norm.isf(chance)

    return Rule(
        leaderboards.may_be_best(means, np.ones(5)),
        within(1 - 0.95 ** (1 / 4)),
        {
            "one comparison": within(0.05),
            "two sides": within((1 - 0.95 ** (1 / 4)) / 2),
            "all pairs": within(1 - 0.95 ** (1 / 10)),
            "error of one mean": gaps * sqrt(2) <= sps.norm.isf(1 - 0.95 ** (1 / 4)),
        },
    )


@RULES.of(leaderboards.by_method)
def over_methods():
    """Each of eight methods was reproduced three times, with one result: eight units, not 24."""
    x = np.array([1.0, -0.5, 2.0, 4.0, -1.5, 0.3, 0.8, 7.0])
    n = len(x)
    found = leaderboards.by_method(
        pd.Series(np.tile(x, 3)), pd.Series(np.tile(np.arange(n), 3)), leaderboards.spread
    )
    level = 1 - 2 * sps.norm.cdf(-sqrt(n / (n - 1)) * t(n - 1))

    def ends(values, level, method):
        interval = sps.bootstrap(
            (values,),
            lambda y, axis: np.sqrt((y**2).mean(axis=axis)),
            n_resamples=leaderboards.RESAMPLES,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(0),
        ).confidence_interval
        return [interval.low, interval.high]

    return Rule(
        [found.low, found.high],
        ends(x, level, "BCa"),
        {
            "percentiles": ends(x, level, "percentile"),
            "level not widened for few methods": ends(x, 0.95, "BCa"),
            "reproductions for methods": ends(np.tile(x, 3), level, "BCa"),
            "one side": ends(x, 2 * level - 1, "BCa"),
        },
        tolerance=0.02,
    )


@RULES.of(worst_class.printed_orderings)
def printed_orderings():
    """Of Table 3 of FewSTAB, by plain loops: how many orders of two gaps are conclusive."""
    printed = published.table(3, "fewstab").set_index(["dataset", "shots", "learner", "metric"])
    factors = pd.DataFrame(
        1.5,
        index=pd.MultiIndex.from_product([printed.index.unique("dataset"), worst_class.MEASURES]),
        columns=["wider"],
    )

    def conclusive(combined, factor=1.0):
        """Where a gap has this combination of its half-widths, and a difference of two gaps again."""
        count = 0
        for _, table in printed.groupby(level=["dataset", "shots"]):
            wide = table.droplevel(["dataset", "shots"]).unstack("metric")
            gap = (wide["mean", "wacc-r"] - wide["mean", "wacc-a"]).to_numpy()
            half = combined(wide["half_width", "wacc-r"], wide["half_width", "wacc-a"]).to_numpy()
            for i, j in combinations(range(len(gap)), 2):
                count += abs(gap[i] - gap[j]) > factor * combined(half[i], half[j])
        return count

    found = worst_class.printed_orderings(factors).loc["gap"].sum()
    right = conclusive(np.hypot), conclusive(np.hypot, 1.5)
    return Rule(
        found[["difference", "wider"]],
        right,
        {
            "half-widths added": [conclusive(np.add), conclusive(np.add, 1.5)],
            "not widened": [right[0], right[0]],
            "the larger half-width": [conclusive(np.maximum), conclusive(np.maximum, 1.5)],
        },
    )


@RULES.of(worst_class.scaled)
def widened_by_other_data():
    """From 200 images of 10 classes to 2,400 of 40, and from 500 tasks to 3,000; one pair of learners."""
    runs = SimpleNamespace(labels=np.arange(10).repeat(20), tasks={"random": range(500)})
    variances = SimpleNamespace(sampling_variance=0.3, image_variance=2.0, class_variance=5.0)
    ordered = pd.DataFrame({"measure": worst_class.MEASURES, "result": [variances] * 3})
    sizes = pd.DataFrame({"classes": [40], "images": [2400]}, index=["there"])
    found = worst_class.scaled(runs, ordered, sizes, tasks=3000).loc[("there", "gap")]
    sampling = 0.3 * 500 / 3000

    def factors(images, classes, sampling=sampling):
        return [sqrt(1 + images / sampling), sqrt(1 + classes / sampling)]

    return Rule(
        found[["new images", "new classes"]],
        factors(2 * 200 / 2400, 5 * 10 / 40),
        {
            "images for classes": factors(2 * 200 / 2400, 5 * 200 / 2400),
            "images per class": factors(2 * 20 / 60, 5 * 10 / 40),
            "the tasks of this run": factors(2 * 200 / 2400, 5 * 10 / 40, 0.3),
            "the sizes of this run": factors(2, 5),
            "variances for widths": np.square(factors(2 * 200 / 2400, 5 * 10 / 40)),
        },
    )


@RULES.of(laboratories.between_laboratories)
def between_laboratories():
    """Of settings that two or three laboratories ran: √2 times the pooled deviation within settings."""
    runs = {0: dict(a=60.0, b=62.0), 1: dict(a=71.0, b=70.0, c=73.5), 2: dict(b=50.0, c=54.0)}
    rows = [
        {"setting": setting, "laboratory": name, "mean": mean, "method": setting}
        for setting, means in runs.items()
        for name, mean in means.items()
    ]
    found = laboratories.between_laboratories(pd.DataFrame(rows))
    squares = [np.var([*means.values()]) * len(means) for means in runs.values()]
    right = sqrt(2 * sum(squares) / 4)  # 7 results, 3 means
    z = sps.norm.ppf(0.975)
    pairs = [x - y for means in runs.values() for x, y in combinations(means.values(), 2)]
    return Rule(
        [found.value, found.half_width],
        [right, z * right],
        {
            "n for degrees of freedom": [sqrt(2 * sum(squares) / 7), z * right],
            "of one laboratory": [right / sqrt(2), z * right],
            "mean of the deviations": [np.mean([sqrt(2 * s) for s in squares]), z * right],
            "pairs as independent": [sqrt(np.mean(np.square(pairs))), z * right],
            "one side": [right, sps.norm.ppf(0.95) * right],
        },
    )


@RULES.of(audit.error_sd, audit.chance_beyond, audit.held_out)
def errors_behind_a_table():
    """Of a normal error with mean -3 and deviation 6, and of 12 images per task with an oracle's deviation of 5."""
    error = sps.norm(-3, 6)
    mae = error.expect(abs, epsabs=1e-10)
    beyond = error.cdf(-10) + error.sf(10)
    variance = (70 * 30 - 25) / 12 + 25
    return Rule(
        [audit.error_sd(mae, -3), audit.chance_beyond(10, mae, -3), audit.held_out(70, sqrt(variance), 5)],
        [6, beyond, 12],
        {
            "no bias": [mae / sqrt(2 / np.pi), 2 * sps.norm.sf(10 * sqrt(2 / np.pi) / mae), 12],
            "mean error for deviation": [mae, beyond, 12],
            "one side": [6, error.cdf(-10), 12],
            "tasks of one accuracy": [6, beyond, 70 * 30 / variance],
            "the oracle's variance left in": [6, beyond, 70 * 30 / (variance - 25)],
        },
        tolerance=1e-5,
    )  # fmt: skip


@RULES.of(sizing.curve, sizing.minima)
def half_width_by_queries():
    """Two trials of each Q, of 30 and 50 tasks: variances have errors by tasks, minima have a width around them."""
    queries = np.array([1, 5, 10, 15, 20])
    width = np.array([3.0, 2.09, 2.0, 2.2, 2.8])
    trials = pd.DataFrame({
        "dataset": "d", "method": "m", "shots": 5, "queries": queries.repeat(2),
        "n_tasks": [30, 50] * 5, "variance": np.array([4.0, 6.0] * 5) + queries.repeat(2),
        "fourth": 200.0 + 100 * queries.repeat(2), "half_width": width.repeat(2) + [-0.1, 0.1] * 5,
    })  # fmt: skip
    curve = sizing.curve(trials)
    least = sizing.minima(curve).iloc[0]
    variance, fourth = 5.0 + queries, 200.0 + 100 * queries
    right = np.sqrt((fourth - variance**2) / 80)
    places = [10, 5, 10, 1.1]  # best, low, high, and what Q = 15 costs
    return Rule(
        [*curve["error"], *least[["best", "low", "high", "at_15"]]],
        [*right, *places],
        {
            "error of a normal variance": [*variance * sqrt(2 / 80), *places],
            "trials for tasks": [*right * sqrt(80 / 2), *places],
            "tasks of one trial": [*right * sqrt(2), *places],
            "5 % of the usual width": [*right, 10, 5, 15, 1.1],
            "the least to 15": [*right, 10, 5, 10, 1 / 1.1],
        },
    )


@RULES.of(leaderboards.tops)
def first_of_a_leaderboard():
    """Two numbers differ by the errors of both: one has half of their variance, and no less than its tasks'."""
    means, plus_minus = np.array([80.0, 79, 78.5, 77, 76]), np.array([0.8, 0.7, 0.9, 3.0, 0.6])
    rows = pd.DataFrame(
        {"board": "b", "method": list("abcde"), "mean": means, "plus_minus": plus_minus}
    )
    (found,) = leaderboards.tops(rows, reproduction=1.5).to_dict("records")
    sampling = (plus_minus / sps.norm.ppf(0.975)) ** 2

    def ends(variances):
        winner = stats.winner_interval(means, np.diag(variances), bounds=(0, 100))
        return [winner.corrected.estimate, winner.corrected.low, winner.corrected.high]

    return Rule(
        [found[f"{name}_laboratory"] for name in ("estimate", "low", "high")],
        ends(np.maximum(sampling, 1.5**2 / 2)),
        {
            "sampling alone": ends(sampling),
            "sampling counted twice": ends(sampling + 1.5**2 / 2),
            "all of it": ends(np.maximum(sampling, 1.5**2)),
            "± as a standard error": ends(np.maximum(plus_minus**2, 1.5**2 / 2)),
            "deviation for variance": ends(np.maximum(sampling, 1.5 / 2)),
        },
    )  # fmt: skip


@RULES.of(coverage.share_of)
def share_of():
    found = coverage.share_of(pd.Series([True] * 57 + [False] * 3))
    low, high = sps.beta.ppf(0.025, 57, 4), sps.beta.ppf(0.975, 58, 3)
    test = sps.binomtest(57, 60)
    wilson = test.proportion_ci(0.95, method="wilson")
    error = 1.96 * sqrt(0.95 * 0.05 / 60)
    return Rule(
        [found["share"], found["low"], found["high"]],
        [95, 100 * low, 100 * high],
        {
            "normal": [95, 95 - 100 * error, 95 + 100 * error],
            "Wilson's": [95, 100 * wilson.low, 100 * wilson.high],
            "one side": [95, 100 * sps.beta.ppf(0.05, 57, 4), 100 * sps.beta.ppf(0.95, 58, 3)],
            "90 % of 100": [0.95, low, high],
        },
    )


@RULES.of(coverage.scaled_truth)
def scaled_truth():
    """Of two test sets of a world, which has √2 times their distance to its mean as its error."""
    means = pd.Series([1.0, 3.0, 10.0, 14.0])
    return Rule(
        coverage.scaled_truth(means, pd.Series([0, 0, 1, 1])),
        [1 + sqrt(2), 3 - sqrt(2), 10 + 2 * sqrt(2), 14 - 2 * sqrt(2)],
        {
            "not enlarged": [2, 2, 12, 12],
            "mean of all worlds": means - (means - 7) * sqrt(4 / 3),
            "variance for deviation": [1 + 2, 3 - 2, 10 + 4, 14 - 4],
        },
    )


@RULES.of(benchmark.pair_table)
def verdicts():
    """Two methods whose open intervals overlap, and whose difference is the same on nearly all tasks."""
    hard = np.linspace(50, 90, 12)
    gains = 4 + np.tile([0.5, -0.5], 6)
    rows = [
        {
            "dataset": "d",
            "sampling": sampling,
            "backbone": "x",
            "learner": name,
            "task": task,
            "accuracy": value,
        }
        for sampling in ("closed", "open")
        for name, accuracies in (("a", hard + gains), ("b", hard))
        for task, value in enumerate(accuracies)
    ]
    found = benchmark.pair_table(pd.DataFrame(rows)).iloc[0]
    return Rule(
        [*found[["closed", "open", "unpaired", "paired"]], found["p_value"]],
        [0, 0, 0, 1, sps.ttest_rel(hard + gains, hard).pvalue],
        {
            "b minus a": [0, 0, 0, -1, found["p_value"]],
            "unpaired p-value": [0, 0, 0, 1, sps.ttest_ind(hard + gains, hard).pvalue],
            "all paired": [1, 1, 1, 1, found["p_value"]],
        },
    )  # fmt: skip


@RULES.of(runs._mean_luck)
def luck():
    """Of three equal runs the best one gains by chance on one half what it loses on the other."""
    counts = np.full(2, 10)
    sums = np.array([[9.0, 5], [5, 9], [7, 7]])
    found = runs._mean_luck(sums, counts, np.arange(2), 20, np.random.default_rng(0))
    return Rule(
        found,
        0.4,  # 0.9 where it was chosen, 0.5 where not; the average run has no luck
        {
            "against the average alone": 0.2,
            "chosen on both halves": 0.0,
        },
    )


@RULES.of(conformal_quantile)
def conformal():
    scores = np.arange(1.0, 20)
    return Rule(
        conformal_quantile(scores, confidence_level=0.9),
        18,  # ⌈20 · 0.9⌉
        {
            "without the next case": np.sort(scores)[int(np.ceil(19 * 0.9)) - 2],
            "interpolated": np.quantile(scores, 0.9),
            "two sides": 19,
        },
    )


@RULES.of(rank_correlation)
def ranks_of_estimates():
    x, y = [1.0, 2, 2, 3, 9], [2.0, 1, 3, 3, 8]
    squares = ((sps.rankdata(x) - sps.rankdata(y)) ** 2).sum()
    first_come = [sps.rankdata(z, "ordinal") for z in (x, y)]
    return Rule(
        rank_correlation(x, y),
        sps.spearmanr(x, y)[0],
        {
            "Pearson's": np.corrcoef(x, y)[0, 1],
            "Kendall's": sps.kendalltau(x, y)[0],
            "without ties": 1 - 6 * squares / (5 * 24),
            "ties in their order": np.corrcoef(*first_come)[0, 1],
        },
    )


@RULES.of(selected_value)
def choice_by_estimates():
    estimates, values = np.array([[3.0, 1, 3], [1, 2, 0]]), np.array([[10.0, 70, 40], [5, 6, 9]])
    return Rule(
        selected_value(estimates, values),
        [25, 6],
        {
            "the first of those that tie": [10, 6],
            "the better of those that tie": [40, 6],
            "the best there is": [70, 9],
            "the largest estimate": [3, 2],
        },
    )


@pytest.mark.parametrize("name", RULES)
def test_a_headline_follows_its_rule_and_no_faulty_one(name):
    RULES[name]().check()
