"""Tasks drawn uniformly over their difficulty, and the interval of their weighted mean."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import DescrStatsW

from fslbook.oops.difficulty import (
    _chances,
    regression_interval,
    sample_by_difficulty,
    weighted_interval,
)
from fslcore import stats
from fslcore.tasks import Tasks

ROWS = np.arange(3000)[:, None]
# Task i has an image of its own, i, from which it is known again.
PROPOSALS = Tasks(ROWS, 0 * ROWS, ROWS + 3000, 0 * ROWS, 1, {"sampling": "closed"})


def rows_of(tasks):
    return tasks.support[:, 0]


def chances_one_by_one(d, tasks):
    """Chances inverse to the normal density: who would get more than 1 gets 1, and the others share what is left."""
    z = (d - d.mean()) / d.std()
    size = 1 / scipy_stats.norm.pdf(np.clip(z, -4.5, 4.5))
    sure = np.zeros(len(d), bool)
    while True:
        chance = np.where(sure, 1, (tasks - sure.sum()) * size / size[~sure].sum())
        if (chance <= 1).all():
            return chance
        sure |= chance > 1


@pytest.mark.parametrize("tasks", [2, 150, 299])
def test_chances_against_a_plain_loop(tasks):
    difficulty = np.random.default_rng(0).standard_t(4, 300)
    chances = _chances(difficulty, tasks)
    assert chances == pytest.approx(
        chances_one_by_one(difficulty, tasks)
    ) and chances.sum() == pytest.approx(tasks)
    assert (_chances(difficulty, 300) == 1).all() and _chances(
        np.full(10, 0.5), 4
    ) == pytest.approx(0.4)
    assert _chances(1e200 * difficulty, tasks) == pytest.approx(chances)


def test_difficulties_are_uniform_and_each_has_its_chance():
    difficulty = np.random.default_rng(0).normal(0.3, 0.1, 3000)
    chance = _chances(difficulty, 150)
    times, first = np.zeros(3000), []
    for seed in range(400):
        tasks, weights = sample_by_difficulty(PROPOSALS, difficulty, tasks=150, seed=seed)
        rows = rows_of(tasks)
        assert len(set(rows)) == 150 and weights == pytest.approx(1 / chance[rows])
        times[rows] += 1
        first.append(difficulty[rows[:10]])
    error = np.sqrt(400 * chance * (1 - chance) + 1e-9)
    assert (
        np.abs((times - 400 * chance) / error)[chance < 1].max() < 5
        and (times[chance == 1] == 400).all()
    )
    chosen = np.repeat(difficulty, times.astype(int))
    core = chosen[np.abs(chosen - 0.3) < 0.2]
    assert scipy_stats.kstest(core, "uniform", (0.1, 0.4)).statistic < 0.04
    assert np.std(first) == pytest.approx(np.std(chosen), rel=0.05)  # in random order


def test_what_the_tasks_say_of_themselves():
    difficulty = np.random.default_rng(0).random(3000)
    tasks, weights = sample_by_difficulty(PROPOSALS, difficulty, tasks=50, seed=3)
    repeated, third = (
        sample_by_difficulty(PROPOSALS, difficulty, tasks=50, seed=seed)[0] for seed in (3, 4)
    )
    assert tasks.digest == repeated.digest != third.digest and (weights >= 1).all()
    facts = {"difficulty": "uniform", "proposals": 3000, "chosen by": 3, "tasks": 50}
    assert facts.items() <= tasks.sampler.items() and tasks.sampler["sampling"] == "closed"
    everything, weights = sample_by_difficulty(PROPOSALS[:20], difficulty[:20], tasks=20)
    assert (weights == 1).all() and len(everything) == 20


def test_weighted_interval_by_its_formula_and_of_equal_weights():
    rng = np.random.default_rng(0)
    x, w = rng.random(30), rng.exponential(size=30)
    interval = weighted_interval(x, w, 0.9)
    mean = DescrStatsW(x, w).mean
    error = (30 / 29 * sum(w**2 * (x - mean) ** 2)) ** 0.5 / sum(w)
    df = sum(w) ** 2 / sum(w**2) - 1
    assert (interval.estimate, interval.standard_error, interval.df) == pytest.approx(
        (mean, error, df)
    )
    assert interval.half_width == pytest.approx(scipy_stats.t.ppf(0.95, df) * error)
    assert (interval.n, interval.target) == (30, "new tasks")
    equal, unweighted = weighted_interval(x, np.full(30, 7), 0.95), stats.open_task_interval(x)
    assert (equal.estimate, equal.half_width, equal.df) == pytest.approx(
        (unweighted.estimate, unweighted.half_width, unweighted.df)
    )
    assert weighted_interval(np.full(9, 0.1), rng.random(9), 0.95).half_width == 0


@pytest.mark.parametrize("law, link", [("normal", 0.0), ("gamma", 0.7)])
def test_coverage_and_spread_of_the_weighted_mean(law, link):
    """Values go with difficulty, more or less: the interval holds the mean of all tasks, which equal weights miss."""
    hits, means, errors, unweighted, truth = [], [], [], [], 1 - 6 * link
    for seed in range(600):
        rng = np.random.default_rng(1000 + seed)
        difficulty = rng.gamma(6, size=3000) if law == "gamma" else rng.normal(6, 6**0.5, 3000)
        x = 1 - link * difficulty + np.sqrt(1 - link**2) * rng.normal(0, 6**0.5, 3000)
        tasks, weights = sample_by_difficulty(PROPOSALS, difficulty, tasks=150, seed=seed)
        interval = weighted_interval(x[rows_of(tasks)], weights, 0.95)
        hits.append(interval.low <= truth <= interval.high)
        means.append(interval.estimate)
        errors.append(interval.standard_error)
        unweighted.append(x[rows_of(tasks)].mean())
    assert 0.915 < np.mean(hits) < 0.975
    assert np.mean(means) == pytest.approx(truth, abs=0.05)
    assert 0.92 < np.mean(errors) / np.std(means) < 1.08
    if link and law == "gamma":
        assert abs(np.mean(unweighted) - truth) > 0.5 * link


def test_regression_interval_is_a_prediction_at_the_mean_of_all():
    """It is statsmodels' interval of the regression line at m; what m itself may be off by comes on top."""
    rng = np.random.default_rng(2)
    cheap = rng.normal(0.6, 0.1, 5000)
    x = 0.3 + 0.5 * cheap[:40] + rng.normal(0, 0.05, 40)
    interval = regression_interval(x, cheap[:40], cheap, 0.9)
    line = sm.OLS(x, sm.add_constant(cheap[:40])).fit()
    prediction = line.get_prediction([1, cheap.mean()])
    assert interval.estimate == pytest.approx(prediction.predicted_mean[0])
    assert (interval.df, interval.target, interval.n) == (38, "new tasks", 40)
    variance = prediction.se_mean[0] ** 2 + line.params[1] ** 2 * cheap.var(ddof=1) / 5000
    assert interval.half_width == pytest.approx(scipy_stats.t.ppf(0.95, 38) * variance**0.5)
    for everything in (np.full(90, 0.3), cheap):  # a cheap method that never varies teaches nothing
        flat = regression_interval(x, np.full(40, 0.1), everything, 0.95)
        error = x.std(ddof=2) / 40**0.5
        assert (flat.estimate, flat.standard_error) == pytest.approx((x.mean(), error))
    assert regression_interval(np.full(4, 0.1), cheap[:4], cheap, 0.95).half_width == 0


@pytest.mark.parametrize(
    "tasks, proposals, rho", [(12, 1200, 0.0), (60, 240, 0.95), (100, 6000, 0.5)]
)
def test_coverage_and_width_of_the_regression_interval(tasks, proposals, rho):
    rng = np.random.default_rng(int(1000 * rho) + tasks)
    hits, means, errors = [], [], []
    for _ in range(800):
        cheap = rng.gamma(4, size=proposals)  # skewed
        x = rho * cheap[:tasks] + (1 - rho**2) ** 0.5 * (rng.gamma(4, size=tasks) - 4)
        interval = regression_interval(x, cheap[:tasks], cheap, 0.95)
        hits.append(interval.low <= 4 * rho <= interval.high)
        means.append(interval.estimate)
        errors.append(interval.standard_error)
    assert 0.925 < np.mean(hits) < 0.975
    assert 0.9 < np.mean(errors) / np.std(means) < 1.1
    without_cheap = 2 / tasks**0.5
    assert np.std(means) / without_cheap < (1 - rho**2 + rho**2 * tasks / proposals) ** 0.5 * 1.12
