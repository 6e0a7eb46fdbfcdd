"""The interval of the best of several methods: closed forms, published properties, and coverage by simulation."""

import numpy as np
import pytest
from refusal import refuses
from scipy.integrate import quad
from scipy.stats import norm

from fslcore import stats
from fslcore.stats import chosen


def ends(winner):
    return np.array(
        [
            winner.observed.estimate,
            winner.corrected.estimate,
            winner.corrected.low,
            winner.corrected.high,
            winner.observed.half_width,
        ]
    )


def correlated(methods, rho):
    return np.full((methods, methods), rho) + (1 - rho) * np.eye(methods)


@pytest.mark.parametrize("level", [0.5, 0.95])
@pytest.mark.parametrize("df", [3, np.inf])
def test_one_method_has_student_s_interval(level, df):
    winner = stats.winner_interval([70.0], [[4.0]], df, level)
    half = stats.Interval(
        70.0, winner.observed.half_width, level, 99, "new tasks", df
    ).standard_error
    assert half == pytest.approx(2.0)
    assert ends(winner)[1:4] == pytest.approx(
        [70, 70 - winner.observed.half_width, 70 + winner.observed.half_width], abs=1e-6
    )


def test_scores_of_one_method_have_the_open_interval():
    x = np.random.default_rng(0).normal(60, 10, 15)
    winner, alone = stats.winner_interval([x]), stats.open_task_interval(x)
    assert [winner.corrected.low, winner.corrected.high] == pytest.approx(
        [alone.low, alone.high], rel=1e-6
    )


@pytest.mark.parametrize("methods", [2, 5, 20])
@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_equal_means_have_the_quantiles_of_the_largest_of_normal_variables(methods, rho):
    """By quadrature over what is common to all; the ends share what the gaps leave of the error."""
    winner = stats.winner_interval(np.full(methods, 70.0), correlated(methods, rho))

    def share_below(x):
        return quad(
            lambda z: norm.pdf(z) * norm.cdf((x - rho**0.5 * z) / (1 - rho) ** 0.5) ** methods,
            -9,
            9,
        )[0]

    off_below = share_below(-winner.observed.half_width)
    off_above = 1 - share_below(winner.observed.estimate - winner.corrected.low)
    assert off_above == pytest.approx(max(0.045 - off_below, 0.025), abs=0.005)
    assert share_below(winner.observed.estimate - winner.corrected.estimate) == pytest.approx(
        0.5, abs=0.005
    )
    assert winner.corrected.high == pytest.approx(70 + 1.96, abs=0.001)


@pytest.mark.parametrize("rho", [0.0, 0.9, 1.0])
def test_it_is_continuous_where_means_tie(rho):
    """The conditional interval is a point 3 standard errors below the mean there."""
    covariance = correlated(3, rho)
    gaps = [0.0, 1e-9, 1e-4, 0.01, 0.1, 0.3, 1.0, 2.0, 4.0]
    found = [stats.winner_interval([50.0, 50.0 - gap, 40], covariance) for gap in gaps]
    lows, estimates = [[getattr(w.corrected, name) for w in found] for name in ("low", "estimate")]
    assert np.diff(lows).min() > -1e-3 and np.diff(estimates).min() > -1e-3
    assert np.abs(np.diff(lows)[:3]).max() < 0.02
    assert np.abs(np.diff(estimates)[:3]).max() < 0.02
    for winner in found:
        assert winner.corrected.low <= winner.observed.estimate - winner.observed.half_width
        assert (
            winner.corrected.low
            < winner.corrected.estimate
            <= winner.observed.estimate
            < winner.corrected.high
        )


def test_ties_of_equal_tasks_in_another_order():
    rng = np.random.default_rng(0)
    winner = stats.winner_interval([rng.permutation(np.arange(100.0)) for _ in range(3)])
    assert (
        42
        < winner.corrected.low
        < 44
        < 46
        < winner.corrected.estimate
        < 49
        < 55
        < winner.corrected.high
        < 56
    )


@pytest.mark.parametrize("seed", range(2))
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
    assert 70 < bounded.corrected.low < 80 < bounded.corrected.high < 82
    tied = stats.winner_interval([1.0, 1.0], np.eye(2))
    assert tied.corrected.low < tied.corrected.estimate < 1 and np.isfinite(ends(tied)).all()
    fixed = stats.winner_interval([3.0, 1.0], np.diag([1.0, 0.0]))
    assert fixed.corrected.low < 3 < fixed.corrected.high < 3 + 2.1


def test_near_a_bound_it_holds_the_interval_of_a_method_that_was_not_chosen():
    winner = stats.winner_interval([99.0, 90.0], np.eye(2), bounds=(0, 100))
    alone = stats.Interval(
        99.0, winner.observed.half_width, 0.95, 99, "new images", bounds=(0, 100)
    )
    assert (
        winner.corrected.low == pytest.approx(alone.low)
        and winner.corrected.low < 99 - winner.observed.half_width
    )
    assert winner.corrected.high == 100
    far = stats.winner_interval([70.0, 60.0], np.eye(2), bounds=(0, 100))
    unbounded = stats.winner_interval([70.0, 60.0], np.eye(2))
    assert ends(far) == pytest.approx(ends(unbounded), abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("methods, naive, rho, spread", [(5, 0.94, 0.0, 1.0), (20, 0.93, 0.9, 0.0)])
def test_it_holds_the_truth_as_often_as_said(methods, naive, rho, spread):
    """1,000 choices: the naive interval covers less, and the mean of the best is too high."""
    rng = np.random.default_rng(11)
    true, covariance = spread * np.linspace(0, -1, methods), correlated(methods, rho)
    outcomes = []
    for x in rng.multivariate_normal(true, covariance, 1000):
        winner = stats.winner_interval(x, covariance)
        truth = true[winner.method]
        off = winner.observed.estimate - truth
        is_inside = winner.corrected.low <= truth <= winner.corrected.high
        outcomes.append(
            [
                is_inside,
                winner.corrected.estimate <= truth,
                off,
                abs(off) <= winner.observed.half_width,
            ]
        )
    inside, below, off, naive_inside = np.mean(outcomes, axis=0)
    assert 0.95 - 3 * 0.0069 < inside < 0.975
    assert 0.45 < below < 0.55
    assert off > 0.15 and (rho or naive_inside < naive)


def skewed(rng, methods):
    """Tasks of exponential skewness."""
    return -rng.exponential(1, (methods, 100)) - 1.5 * rng.exponential(1, 100), -2.5


def few_answers(rng, methods):
    """Five answers per task: means tie in 3 to 7 % of the tables."""
    chance = np.broadcast_to(rng.beta(4, 2, 100), (methods, 100))
    return 20 * rng.binomial(5, chance), 100 * 4 / 6


def nearly_equal(rng, methods):
    """The answers of all differ from common ones in 0.3 % of 25: means tie in 11 % of tables of two."""
    common = rng.binomial(25, rng.beta(8, 4, 100))
    lost = rng.binomial(common, 0.003, (methods, 100))
    won = rng.binomial(25 - common, 0.003, (methods, 100))
    return 4 * (common - lost + won), 100 * (0.997 * 8 + 0.003 * 4) / 12


def rare_failures(rng, methods):
    """3 % of tasks lose 60 points, of each method others: who fails least comes first."""
    tasks = rng.normal(80, 5, 100) + rng.normal(0, 3, (methods, 100))
    return tasks - 60 * (rng.random((methods, 100)) < 0.03), 80 - 1.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "world, methods", [(skewed, 5), (few_answers, 2), (nearly_equal, 2), (rare_failures, 5)]
)
def test_it_holds_the_truth_of_equal_methods(world, methods):
    """600 choices each; of those where means tie too."""
    rng = np.random.default_rng(12)
    holds, tied = [], []
    for _ in range(600):
        accuracies, truth = world(rng, methods)
        winner = stats.winner_interval(accuracies)
        holds.append(winner.corrected.low <= truth <= winner.corrected.high)
        first, second = np.sort(accuracies.mean(axis=1))[:-3:-1]
        tied.append(first - second < 1e-9)
    assert np.mean(holds) > 0.95 - 3 * 0.0089
    if sum(tied) > 9:
        assert np.mean(np.array(holds)[tied]) > 0.75


def test_skewed_accuracies_are_said():
    rng = np.random.default_rng(3)
    assert stats.winner_interval(rare_failures(rng, 2)[0]).is_skewed
    assert not stats.winner_interval(few_answers(rng, 2)[0]).is_skewed
    far = np.stack([few_answers(rng, 1)[0][0], rare_failures(rng, 1)[0][0] - 60])
    assert not stats.winner_interval(far).is_skewed  # the second cannot be the best


def test_fewer_tasks_are_refused_where_there_is_a_choice():
    x = np.random.default_rng(1).normal(50, 3, (2, chosen.FEWEST_TASKS))
    corrected = stats.winner_interval(x).corrected
    assert corrected.low < corrected.high
    with refuses("^scores", r"\b100\b", r"got shape \(2, 99\)"):
        stats.winner_interval(x[:, 1:])
    assert stats.winner_interval(x[:1, 1:]).method == 0


def test_a_covariance_may_be_off_by_rounding():
    weights = np.array([0.1, 0.3, 0.7])
    covariance = np.outer(weights, weights) - 1e-14 * np.eye(3)  # of rank 1 before
    covariance[0, 1] += 1e-12
    assert np.linalg.eigvalsh(covariance).min() < 0
    assert stats.winner_interval([1.0, 2.0, 3.0], covariance).method == 2


@pytest.mark.parametrize("covariance", [[[1, 0.5], [0.2, 1]], [[1, 2], [2, 1]]])
def test_what_is_no_covariance_is_refused(covariance):
    with refuses("^covariance .*symmetric"):
        stats.winner_interval([1.0, 2.0], covariance)
