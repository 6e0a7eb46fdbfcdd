"""Tasks drawn uniformly over their difficulty, and the interval of their weighted mean."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import DescrStatsW

from fslbook.oops.difficulty import _chances, regression_interval, sample_by_difficulty, weighted_interval
from fslcore import stats
from fslcore.errors import InputError
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


@pytest.mark.parametrize("tasks", [2, 30, 150, 299])
def test_chances_against_a_plain_loop(tasks):
    d = np.random.default_rng(0).standard_t(4, 300)
    found = _chances(d, tasks)
    assert found == pytest.approx(chances_one_by_one(d, tasks)) and found.sum() == pytest.approx(tasks)
    assert (_chances(d, 300) == 1).all() and _chances(np.full(10, 0.5), 4) == pytest.approx(0.4)
    assert _chances(1e200 * d, tasks) == pytest.approx(found)
    assert _chances(np.array([1e9, -1e9, *d]), 2).max() <= 1


def test_difficulties_are_uniform_and_each_has_its_chance():
    rng = np.random.default_rng(0)
    d = rng.normal(0.3, 0.1, 3000)
    chosen = np.zeros(3000)
    first = []
    for seed in range(400):
        tasks, weights = sample_by_difficulty(PROPOSALS, d, tasks=150, seed=seed)
        rows = rows_of(tasks)
        assert len(set(rows)) == 150 == len(weights)
        assert weights == pytest.approx(1 / _chances(d, 150)[rows])
        chosen[rows] += 1
        first.append(d[rows[:10]])
    chance = _chances(d, 150)
    off = (chosen - 400 * chance) / np.sqrt(400 * chance * (1 - chance) + 1e-9)
    assert np.abs(off[chance < 1]).max() < 5 and (chosen[chance == 1] == 400).all()
    core = d[np.repeat(np.arange(3000), chosen.astype(int))]
    core = core[np.abs(core - 0.3) < 0.2]
    assert scipy_stats.kstest(core, "uniform", (0.1, 0.4)).statistic < 0.04
    assert scipy_stats.kstest(d[np.abs(d - 0.3) < 0.2], "uniform", (0.1, 0.4)).statistic > 0.1  # of all proposals
    # In random order: the first ten are as spread as all.
    assert np.std(first) == pytest.approx(np.std(d[np.repeat(np.arange(3000), chosen.astype(int))]), rel=0.05)


def test_what_the_tasks_say_of_themselves():
    d = np.random.default_rng(0).random(3000)
    tasks, weights = sample_by_difficulty(PROPOSALS, d, tasks=50, seed=3)
    again, _ = sample_by_difficulty(PROPOSALS, d, tasks=50, seed=3)
    other, _ = sample_by_difficulty(PROPOSALS, d, tasks=50, seed=4)
    assert isinstance(tasks, Tasks) and tasks.digest == again.digest != other.digest
    assert tasks.sampler["difficulty"] == "uniform" and tasks.sampler["proposals"] == 3000
    assert tasks.sampler["chosen by"] == 3 and tasks.sampler["tasks"] == 50 and tasks.sampler["sampling"] == "closed"
    assert (weights >= 1).all()
    whole, weights = sample_by_difficulty(PROPOSALS[:20], d[:20], tasks=20)
    assert (weights == 1).all() and len(whole) == 20
    with pytest.raises(InputError, match="difficulty: 9 numbers; one for each of 3000 proposals"):
        sample_by_difficulty(PROPOSALS, d[:9], tasks=5)
    with pytest.raises(InputError, match="tasks = 3001; a whole number from 2 to 3000"):
        sample_by_difficulty(PROPOSALS, d, tasks=3001)


def test_weighted_interval_by_its_formula_and_of_equal_weights():
    rng = np.random.default_rng(0)
    x, w = rng.random(30), rng.exponential(size=30)
    r = weighted_interval(x, w, 0.9)
    mean = sum(a * b for a, b in zip(w, x)) / sum(w)
    variance = 30 / 29 * sum(a**2 * (b - mean) ** 2 for a, b in zip(w, x)) / sum(w) ** 2
    df = sum(w) ** 2 / sum(w**2) - 1
    assert (r.mean, r.standard_error, r.df) == pytest.approx((mean, variance**0.5, df))
    assert r.half_width == pytest.approx(scipy_stats.t.ppf(0.95, df) * variance**0.5)
    assert r.mean == pytest.approx(DescrStatsW(x, w).mean) and (r.n_tasks, r.kind) == (30, "weighted")
    assert weighted_interval(x, 1e300 * w, 0.9).half_width == pytest.approx(r.half_width)
    equal, plain = weighted_interval(x, np.full(30, 7)), stats.open_interval(x)
    assert (equal.mean, equal.half_width, equal.df) == pytest.approx((plain.mean, plain.half_width, plain.df))
    assert weighted_interval([0.5] * 9, rng.random(9)).half_width == 0
    alone = weighted_interval(x, np.r_[1, np.full(29, 1e-200)])  # one task in effect: of its variance nothing
    assert alone.half_width == np.inf and alone.conclusion == 0
    for bad in ([1, 2], [0.0, *w[1:]], [-1.0, *w[1:]]):
        with pytest.raises(InputError, match="weights: .* one over 0 for each of 30 accuracies"):
            weighted_interval(x, bad)


@pytest.mark.parametrize("link", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("law", ["normal", "gamma"])
def test_coverage_and_spread_of_the_weighted_mean(law, link):
    """Values go with difficulty, more or less: the interval holds the mean of all tasks, which equal weights miss."""
    hits, means, errors, naive, truth = [], [], [], [], 1 - 6 * link
    for seed in range(600):
        rng = np.random.default_rng(1000 + seed)
        d = rng.gamma(6, size=3000) if law == "gamma" else rng.normal(6, 6**0.5, 3000)
        x = 1 - link * d + np.sqrt(1 - link**2) * rng.normal(0, 6**0.5, 3000)
        tasks, weights = sample_by_difficulty(PROPOSALS, d, tasks=150, seed=seed)
        chosen = x[rows_of(tasks)]
        r = weighted_interval(chosen, weights)
        hits.append(r.low <= truth <= r.high)
        means.append(r.mean), errors.append(r.standard_error), naive.append(chosen.mean())
    assert 0.915 < np.mean(hits) < 0.975, np.mean(hits)
    assert np.mean(means) == pytest.approx(truth, abs=0.05)
    assert 0.92 < np.mean(errors) / np.std(means) < 1.08
    # Not every value depends on difficulty so much that these tasks tell its mean better than tasks drawn alike.
    narrower = np.std(means) / np.sqrt(6 / 150)
    assert narrower < 1.02 if link == 1 else narrower > 1.1
    if link and law == "gamma":
        assert abs(np.mean(naive) - truth) > 0.5 * link


def test_regression_interval_is_a_prediction_at_the_mean_of_all():
    """It is statsmodels' interval of the regression line at m; what m itself may be off by comes on top."""
    rng = np.random.default_rng(2)
    more = rng.normal(0.6, 0.1, 5000)
    cheap, x = more[:40], 0.3 + 0.5 * more[:40] + rng.normal(0, 0.05, 40)
    r = regression_interval(x, cheap, more, 0.9)
    line = sm.OLS(x, sm.add_constant(cheap)).fit()
    found = line.get_prediction([1, more.mean()])
    assert r.mean == pytest.approx(found.predicted_mean[0]) and (r.df, r.kind, r.n_tasks) == (38, "regression", 40)
    variance = found.se_mean[0] ** 2 + line.params[1] ** 2 * more.var(ddof=1) / 5000
    assert r.half_width == pytest.approx(scipy_stats.t.ppf(0.95, 38) * variance**0.5)
    flat = regression_interval(x, np.full(40, 0.3), np.full(90, 0.3))  # nothing is learned
    assert flat.mean == pytest.approx(x.mean())
    assert flat.standard_error == pytest.approx(x.std(ddof=2) / 40**0.5)
    other = regression_interval(x, np.full(40, 0.3), more)  # whatever it says of other tasks
    assert (other.mean, other.half_width) == pytest.approx((flat.mean, flat.half_width))
    assert regression_interval([0.5] * 4, more[:4], more).half_width == 0
    for sizes in ((40, 39, 90), (40, 40, 39), (2, 2, 9)):
        with pytest.raises(InputError, match="accuracies, cheap and more hold {}, {} and {}".format(*sizes)):
            regression_interval(*(more[:n] for n in sizes))


@pytest.mark.parametrize("tasks, proposals", [(12, 1200), (60, 240), (100, 6000)])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
def test_coverage_and_width_of_the_regression_interval(tasks, proposals, rho):
    rng = np.random.default_rng(int(1000 * rho) + tasks)
    hits, means, errors = [], [], []
    for _ in range(800):
        more = rng.gamma(4, size=proposals)  # skewed
        x = rho * more[:tasks] + (1 - rho**2) ** 0.5 * (rng.gamma(4, size=tasks) - 4)
        r = regression_interval(x, more[:tasks], more)
        hits.append(r.low <= 4 * rho <= r.high)
        means.append(r.mean), errors.append(r.standard_error)
    assert 0.925 < np.mean(hits) < 0.975, np.mean(hits)
    assert 0.9 < np.mean(errors) / np.std(means) < 1.1
    plain = 2 / tasks**0.5  # standard error without the cheap method
    assert np.std(means) / plain < (1 - rho**2 + rho**2 * tasks / proposals) ** 0.5 * 1.12


def test_three_tasks_are_enough_for_a_line():
    found = regression_interval([0.5, 0.6, 0.72], [0.4, 0.5, 0.61], [0.4, 0.5, 0.61, 0.3, 0.55])
    assert np.isfinite(found.half_width)
    with pytest.raises(InputError):
        regression_interval([0.5, 0.6], [0.4, 0.5], [0.4, 0.5, 0.61])
