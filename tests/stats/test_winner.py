"""The interval of the best of several methods: closed forms, published properties, and coverage by simulation."""

import numpy as np
import pytest
from refusal import refuses
from scipy.integrate import quad
from scipy.stats import norm

from fslcore import stats
from fslcore.stats import chosen, simultaneous


def ends(winner):
    return np.array([winner.mean, winner.estimate, winner.low, winner.high, winner.half_width])


def correlated(methods, rho):
    return np.full((methods, methods), rho) + (1 - rho) * np.eye(methods)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("df", [3, 29, np.inf])
def test_one_method_has_student_s_interval(level, df):
    winner = stats.winner_interval([70.0], [[4.0]], df, level)
    half = stats.Interval(70.0, winner.half_width, level, 99, "paired", df).standard_error
    assert half == pytest.approx(2.0)
    assert ends(winner)[1:4] == pytest.approx(
        [70, 70 - winner.half_width, 70 + winner.half_width], abs=1e-6
    )


def test_scores_of_one_method_have_the_open_interval():
    x = np.random.default_rng(0).normal(60, 10, 15)
    winner, alone = stats.winner_interval([x]), stats.open_interval(x)
    assert [winner.low, winner.high] == pytest.approx([alone.low, alone.high], rel=1e-6)


@pytest.mark.parametrize("gap", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_the_ends_are_quantiles_of_the_truncated_normal_distribution(gap, rho):
    """Two methods, by quadrature of the density between the cuts, which are written out here."""
    winner = stats.winner_interval([gap, 0.0], correlated(2, rho))
    reach = simultaneous.reach_of(correlated(2, rho))
    c = simultaneous.factor(reach, 2, np.inf, 0.995)
    # The lowest at which the first is still chosen, given what is independent of it.
    cut = gap - gap / (1 - rho)

    def share(mean):
        low = max(cut - mean, -c)
        return quad(norm.pdf, low, gap - mean)[0] / quad(norm.pdf, low, c)[0]

    error = (0.05 - 0.005) / 0.995 / 2
    assert [share(winner.low), share(winner.estimate), share(winner.high)] == pytest.approx(
        [1 - error, 0.5, error], abs=1e-4
    )


@pytest.mark.parametrize("seed", range(4))
def test_neither_the_order_of_the_methods_nor_the_unit_counts(seed):
    rng = np.random.default_rng(seed)
    x, order = rng.normal(50, 3, (6, 120)) + rng.normal(0, 3, 120), rng.permutation(6)
    winner, reordered = stats.winner_interval(x), stats.winner_interval(x[order])
    assert order[reordered.method] == winner.method == x.mean(axis=1).argmax()
    assert ends(reordered) == pytest.approx(ends(winner), rel=1e-9)
    assert ends(stats.winner_interval(1000 * x)) == pytest.approx(1000 * ends(winner), rel=1e-9)
    moved = ends(stats.winner_interval(x + 7)) - ends(winner)
    assert moved == pytest.approx([7, 7, 7, 7, 0], abs=1e-7)


def test_ties_and_what_does_not_vary():
    winner = stats.winner_interval(np.full((3, 100), 80.0))
    assert ends(winner).tolist() == [80, 80, -np.inf, np.inf, 0] and winner.method == 0
    bounded = stats.winner_interval(np.full((3, 100), 80.0), bounds=(0, 100))
    assert 70 < bounded.low < 80 < bounded.high < 82
    tied = stats.winner_interval([1.0, 1.0], np.eye(2))
    assert tied.low < tied.estimate < 1 and np.isfinite(ends(tied)).all()
    fixed = stats.winner_interval([3.0, 1.0], np.diag([1.0, 0.0]))
    assert fixed.low < 3 < fixed.high < 3 + 2.1


def test_bounds_cut_it():
    arguments = [99.0, 90.0], np.eye(2)
    winner = stats.winner_interval(*arguments, bounds=(0, 100))
    assert winner.high == 100 and winner.low == stats.winner_interval(*arguments).low


@pytest.fixture
def quick(monkeypatch):
    """Fewer directions, and each reach is computed once."""
    monkeypatch.setattr(simultaneous, "POINTS", 1024)
    reaches = {}

    def reach_of(correlation):
        key = correlation.tobytes()
        if key not in reaches:
            reaches[key] = simultaneous.reach_of(correlation)
        return reaches[key]

    monkeypatch.setattr(chosen, "reach_of", reach_of)


@pytest.mark.parametrize("methods, naive, rho, spread", [(5, 0.94, 0.0, 1.0), (20, 0.93, 0.9, 0.0)])
def test_it_holds_the_truth_as_often_as_said(quick, methods, naive, rho, spread):
    """1,000 choices: the naive interval covers less, and the mean of the best is too high."""
    rng = np.random.default_rng(11)
    true, covariance = spread * np.linspace(0, -1, methods), correlated(methods, rho)
    outcomes = []
    for x in rng.multivariate_normal(true, covariance, 1000):
        winner = stats.winner_interval(x, covariance)
        truth = true[winner.method]
        off = winner.mean - truth
        is_inside = winner.low <= truth <= winner.high
        outcomes.append([is_inside, winner.estimate <= truth, off, abs(off) <= winner.half_width])
    inside, below, off, naive_inside = np.mean(outcomes, axis=0)
    assert 0.95 - 3 * 0.0069 < inside < 0.975
    assert 0.45 < below < 0.55
    assert off > 0.15 and (rho or naive_inside < naive)


@pytest.mark.parametrize("methods", [2, 20])
def test_it_holds_the_truth_with_the_fewest_tasks_that_it_takes(quick, methods):
    """600 choices on tasks of exponential skewness: with 30 tasks the interval would hold 82 to 92 %."""
    rng = np.random.default_rng(12)
    holds = 0
    for _ in range(600):
        shared = 1.5 * rng.exponential(1, chosen.FEWEST_TASKS)
        winner = stats.winner_interval(-rng.exponential(1, (methods, len(shared))) - shared)
        holds += winner.low <= -2.5 <= winner.high
    assert holds / 600 > 0.95 - 3 * 0.0089 - 0.02


def test_fewer_tasks_are_refused_where_there_is_a_choice():
    x = np.random.default_rng(1).normal(50, 3, (2, chosen.FEWEST_TASKS))
    assert stats.winner_interval(x).low < stats.winner_interval(x).high
    with refuses(r"accuracies have shape \(2, 99\); .* 100 or more"):
        stats.winner_interval(x[:, 1:])
    assert stats.winner_interval(x[:1, 1:]).method == 0


def test_a_covariance_may_be_off_by_rounding():
    weights = np.array([0.1, 0.3, 0.7])
    covariance = np.outer(weights, weights) - 1e-14 * np.eye(3)  # of rank 1 before
    covariance[0, 1] += 1e-12
    assert np.linalg.eigvalsh(covariance).min() < 0
    assert stats.winner_interval([1.0, 2.0, 3.0], covariance).method == 2


@pytest.mark.parametrize(
    "arguments, words",
    [
        (([[1.0]],), "2 tasks or more"),
        (([[np.nan]],), "^accuracies: 1 values"),
        (([1.0, 2.0], np.eye(3)), r"covariance \(3, 3\)"),
        (([1.0, 2.0], [[1, 0.5], [0.2, 1]]), "covariance: no covariance matrix"),
        (([1.0, 2.0], [[1, 2], [2, 1]]), "covariance: no covariance matrix"),
        (([1.0, 2.0], np.eye(2), -1), "df has shape"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with refuses(words):
        stats.winner_interval(*arguments)
