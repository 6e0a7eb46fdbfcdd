"""Bootstrap intervals: against SciPy and plain resampling, at what nothing varies in, and how often they cover."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from fslcore import stats
from fslcore.errors import InputError
from fslcore.tasks import sample_closed

METHODS = ("BCa", "percentile")
X = np.random.default_rng(0).binomial(75, np.random.default_rng(1).beta(8, 2, 40)) / 75


def plain(x, level, resamples, seed, bca):
    """Efron's intervals (1987, equations 2.3 and 4.1), one resample after another."""
    rng = np.random.default_rng(seed)
    means = np.array([x[rng.integers(0, len(x), len(x))].mean() for _ in range(resamples)])
    ends = np.array([(1 - level) / 2, (1 + level) / 2])
    if bca:
        z0 = scipy_stats.norm.ppf(np.mean(means < x.mean()) + np.mean(means == x.mean()) / 2)
        without = np.array([np.delete(x, i).mean() for i in range(len(x))])
        off = without.mean() - without
        a = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
        z = z0 + scipy_stats.norm.ppf(ends)
        ends = scipy_stats.norm.cdf(z0 + z / (1 - a * z))
    return np.quantile(means, ends)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_plain_resampling(method, level):
    found = stats.bootstrap_interval(X, level, method=method)
    expected = plain(X, level, 9999, 7, method == "BCa")
    noise = 4 * found.standard_error / np.sqrt(9999 * (1 - level) / 2 * 0.3)  # of a quantile of so many resamples
    assert [found.low, found.high] == pytest.approx(expected, abs=noise)
    assert found.mean == X.mean() and found.n_tasks == 40 and found.method == method and found.level == level
    assert found.standard_error == pytest.approx(X.std() / np.sqrt(40), rel=0.05)
    assert found.low < found.mean < found.high and found.half_width == (found.high - found.low) / 2


def test_bca_leans_to_the_long_tail_and_percentile_less():
    skewed = np.random.default_rng(0).exponential(size=30)
    lean = {
        m: (r.high - r.mean) / (r.mean - r.low) for m in METHODS for r in [stats.bootstrap_interval(skewed, method=m)]
    }
    assert lean["BCa"] > lean["percentile"] > 1


def test_seeds_units_and_batches(monkeypatch):
    x = np.random.default_rng(0).random(40)
    one, other = (stats.bootstrap_interval(x, seed=s) for s in (0, 1))
    assert one == stats.bootstrap_interval(x) and one.low != other.low
    percent = stats.bootstrap_interval(100 * x)
    assert (percent.low, percent.high) == pytest.approx((100 * one.low, 100 * one.high))
    monkeypatch.setattr(stats.bootstrap, "AT_ONCE", 1000)
    assert stats.bootstrap_interval(x) == one  # the memory at hand decides nothing


def test_verdicts_and_what_does_not_vary():
    d = X - X.mean()
    assert [stats.bootstrap_interval(d + shift).conclusion for shift in (0.2, -0.2, 0.0)] == [1, -1, 0]
    of = ((0.3, 2), (0.3, 20), (-0.3, 20), (0.0, 20))
    still = [stats.bootstrap_interval([value] * n, bounds=(-1, 1)) for value, n in of]
    for r, (value, n) in zip(still, of):
        wanted = stats.Interval(value, 0.0, 0.95, n, "open", bounds=(-1, 1))
        assert (r.low, r.high) == pytest.approx((wanted.low, wanted.high))
    assert {r.method for r in still} == {stats.bootstrap_interval([0.1, 0.2, 0.4]).method} == {"BCa"}
    assert [r.conclusion for r in still] == [0, 1, -1, 0]
    nearly = stats.bootstrap_interval([0.1 + 0.2, 0.3] * 5)  # equal, and without bounds
    assert (nearly.low, nearly.high, nearly.conclusion) == (-np.inf, np.inf, 0)


def test_bad_input():
    for given, words in (
        (dict(accuracies=[0.5]), "shape \\(1,\\); one number per task for at least 2"),
        (dict(accuracies=X, method="bca"), "method = bca; BCa, percentile are allowed"),
        (dict(accuracies=X, resamples=0), "resamples = 0; a whole number from 2"),
    ):
        with pytest.raises(InputError, match=words):
            stats.bootstrap_interval(**given)


def covered(draw, truth, repeats, intervals):
    """Share of repeats in which each of some intervals holds the truth."""
    hit = dict.fromkeys(intervals, 0)
    for seed in range(repeats):
        x = draw(np.random.default_rng(seed))
        for name, make in intervals.items():
            r = make(x)
            hit[name] += r.low <= truth(x) <= r.high
    return {name: n / repeats for name, n in hit.items()}


INTERVALS = {
    "percentile": lambda x: stats.bootstrap_interval(x, method="percentile", resamples=499),
    "BCa": lambda x: stats.bootstrap_interval(x, resamples=499),
    "closed": stats.closed_interval,
    "open": stats.open_interval,
}


def test_too_few_resamples_are_told():
    with pytest.raises(InputError, match="resamples = 2; the means of so few lie all on one side"):
        for seed in range(9):
            assert math.isfinite(stats.bootstrap_interval([0.1, 0.2, 0.9], resamples=2, seed=seed).low)
    with pytest.raises(InputError, match="resamples = 1; a whole number from 2 to"):
        stats.bootstrap_interval([0.1, 0.2, 0.9], method="percentile", resamples=1)


@pytest.mark.parametrize("tasks, least", [(8, 0.86), (60, 0.915)])
def test_coverage_of_open_tasks(tasks, least):
    """Tasks that share no image, so that they are independent: near the level, and below it where tasks are few."""
    draw = lambda rng: rng.binomial(75, rng.beta(16, 4, tasks)) / 75  # noqa: E731
    found = covered(draw, lambda x: 0.8, 500, INTERVALS)
    for method in METHODS:
        assert least < found[method] < 0.975, found
    assert found["open"] > 0.92, found
    if tasks == 8:  # what Student's quantile is for
        assert found["percentile"] < found["open"] - 0.02, found


def test_closed_tasks_are_covered_for_these_images_and_missed_for_new_ones():
    """An image is right in a share of tasks of its own. The mean over these images is known, that of all images too."""
    classes, per, mean = 6, 15, 0.8
    labels = np.arange(classes).repeat(per)
    tasks = [sample_closed(labels, tasks=400, ways=3, shots=1, queries=5, seed=s).query for s in range(10)]
    hit = {name: np.zeros(2) for name in INTERVALS}
    repeats = 200
    for seed in range(repeats):
        ease = np.random.default_rng(seed).beta(1.6, 0.4, len(labels))  # new images in each repeat
        x = ease[tasks[seed % 10]].mean(axis=1)
        for name, make in INTERVALS.items():
            r = make(x)
            hit[name] += [r.low <= ease.mean() <= r.high, r.low <= mean <= r.high]
    share = {name: found / repeats for name, found in hit.items()}
    for method in METHODS:
        these, new = share[method]
        assert 0.9 < these < 0.985, share
        assert new < 0.6, share  # tasks use the same images again and again, in every resample too
        assert np.abs(share[method] - share["closed"]).max() < 0.05, share
