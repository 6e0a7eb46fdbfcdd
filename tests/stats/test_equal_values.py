"""What equal values, and bounds, let one conclude: exact chances, the agreement of all ways to ask, and simulations."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize, stats as scipy_stats

from fslcore import stats
from fslcore.tasks import sample_closed

PERCENT, POINTS = (0, 100), (-100, 100)
LABELS = np.arange(6).repeat(12)
TASKS = sample_closed(LABELS, tasks=40, ways=4, shots=2, queries=3, seed=0)
PLACES = TASKS.support, TASKS.query, LABELS
levels, counts = st.floats(0.5, 0.999), st.integers(2, 900)


@pytest.mark.parametrize("tasks", [2, 6, 20, 600])
def test_on_a_bound_the_ends_are_clopper_and_pearsons(tasks):
    exact = scipy_stats.binomtest(tasks, tasks).proportion_ci(0.95, "exact")
    all_right = stats.open_task_interval(np.full(tasks, 100.0), bounds=PERCENT)
    assert (all_right.low, all_right.high) == pytest.approx((100 * exact.low, 100))
    all_wrong = stats.open_task_interval(np.zeros(tasks), bounds=PERCENT)
    assert (all_wrong.low, all_wrong.high) == pytest.approx((0, 100 - 100 * exact.low))


@given(st.floats(-90, 90), counts, levels)
def test_ends_are_where_the_chance_of_equal_values_is_half_of_what_the_level_leaves(
    mean, tasks, level
):
    interval = stats.Interval(mean, 0.0, level, tasks, "new tasks", bounds=POINTS)
    for end, bound in ((interval.low, -100), (interval.high, 100)):
        distance = optimize.brentq(
            lambda x, bound=bound: (1 - (x - mean) / (bound - mean)) ** tasks - (1 - level) / 2,
            mean,
            bound,
            xtol=1e-12,
        )
        assert end == pytest.approx(distance, abs=1e-6)
        assert interval.one_sided_p_value(end) == pytest.approx((1 - level) / 2)


@given(st.floats(-100, 100), counts, levels, st.sampled_from([1.0, 0.01]))
def test_p_value_conclusion_and_interval_agree(mean, tasks, level, unit):
    interval = stats.Interval(
        unit * mean, 0.0, level, tasks, "new tasks", bounds=(-100 * unit, 100 * unit)
    )
    if min(abs(interval.low), abs(interval.high)) > 1e-9:
        assert interval.sign == int(interval.low > 0) - int(interval.high < 0)
    assert (interval.p_value < 1 - level) == (interval.sign != 0)
    if 0 < abs(mean) < 99:
        assert interval.p_value == pytest.approx(
            min(2 * (100 / (100 + abs(mean))) ** tasks, 1), rel=1e-6
        )


@given(st.floats(-30, 30), counts, levels, st.floats(0.01, 40))
def test_equivalence_is_the_narrower_interval_within_the_margin(mean, tasks, level, margin):
    test = stats.tost(stats.Interval(mean, 0.0, level, tasks, "new tasks", bounds=POINTS), margin)
    narrow = stats.Interval(mean, 0.0, 2 * level - 1 or 1e-12, tasks, "new tasks", bounds=POINTS)
    if min(abs(narrow.low + margin), abs(narrow.high - margin)) > 1e-9:
        assert test.equivalent == (-margin < narrow.low and narrow.high < margin)


def test_without_bounds_nothing_is_concluded_of_equal_values():
    interval = stats.paired_interval([0.7] * 600, [0.6] * 600)
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    assert (interval.p_value, interval.sign, str(interval)) == (1, 0, "0.10 ± unknown")
    assert stats.tost(interval, 5).p_value == 1
    assert stats.simultaneous_intervals([[1.0] * 600, [0.0] * 600]).p_values.tolist() == [1, 1]
    high, low = (stats.closed_task_interval([accuracy] * 600) for accuracy in (0.8, 0.2))
    assert stats.compare_by_overlap(high, low) == 0


def test_two_sets_count_as_the_pairs_that_they_hold():
    interval = stats.welch_interval([80.0] * 500, [40.0] * 9, bounds=POINTS)
    assert (interval.units, interval.estimate) == (9, 40)
    assert interval.p_value == pytest.approx(2 * (100 / 140) ** 9)


def test_true_and_false_have_bounds_of_their_own():
    right = np.ones(600, bool)
    assert stats.open_task_interval(right).bounds == (0, 1)
    assert stats.open_task_interval(1.0 * right).bounds is None
    for make in (stats.paired_interval, stats.welch_interval):
        assert make(right, right).bounds == (-1, 1) and make(1.0 * right, right).bounds is None


# ---------------------------------------------------------------- a − b is the mirror of b − a


def mirrored(first, second):
    ends = -first.high, -first.estimate, -first.low
    assert (second.low, second.estimate, second.high) == pytest.approx(ends, abs=1e-12)
    widths = first.half_width, first.p_value
    assert (second.half_width, second.p_value) == pytest.approx(widths, abs=1e-12)
    assert second.sign == -first.sign


kinds = {  # of the values of one query or item: never negative, of both signs, all equal
    "one method dominates": lambda rng, shape: 1.0 * (rng.random(shape) < 0.1),
    "either may be better": lambda rng, shape: rng.integers(-1, 2, shape).astype(float),
    "soft scores": lambda rng, shape: rng.random(shape) * 0.2,
    "equal": lambda rng, shape: np.full(shape, 0.3),
    "none": lambda rng, shape: np.zeros(shape),
    "all of it": lambda rng, shape: np.ones(shape),
}


@pytest.mark.parametrize("bounds", [None, (-1, 1)])
@pytest.mark.parametrize("unit", [1, 100])
@pytest.mark.parametrize("kind", kinds)
def test_a_difference_is_the_mirror_of_the_other_one(kind, unit, bounds):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        declared = dict(bounds=bounds and (-unit, unit))
        answers = unit * kinds[kind](rng, TASKS.query.shape)
        scores = unit * kinds[kind](rng, (4, 60))
        tasks = answers.mean(axis=1)
        first, second = (
            vars(stats.three_intervals(sign * answers, *PLACES, **declared))
            | vars(stats.crossed_intervals(sign * scores, **declared))
            for sign in (1, -1)
        )
        for kind_of_interval in "closed images classes items supports both".split():
            mirrored(first[kind_of_interval], second[kind_of_interval])
        mirrored(
            stats.paired_interval(tasks, 0 * tasks, **declared),
            stats.paired_interval(0 * tasks, tasks, **declared),
        )


def test_a_difference_that_is_nowhere_negative_may_be_negative_in_truth():
    """One query of 480 is right with one method alone."""
    differences = np.zeros(TASKS.query.shape)
    differences[0, 0] = 1
    for bounds in (None, (-1, 1)):
        intervals = stats.three_intervals(differences, *PLACES, bounds=bounds)
        for interval in (intervals.closed, intervals.images, intervals.classes):
            assert interval.low <= interval.estimate - interval.half_width < 0
            assert interval.high >= interval.estimate + interval.half_width
            assert interval.sign == 0 and not interval.few_errors


# ---------------------------------------------------------------- a mean on a bound, but for rounding


def shapes():
    rng = np.random.default_rng(0)
    return [(10, 300), (3, 7), *map(tuple, rng.integers(2, 400, (20, 2)).tolist())]


@pytest.mark.parametrize("value, unit", [(1, 1), (1, 100), (0, 1), (1, 0.1)])
def test_all_right_is_on_the_bound_whatever_the_rounding(value, unit):
    for supports, items in shapes():
        values = np.full((supports, items), value * unit)
        labels = np.arange(items) % min(items // 2, 7)
        for given_labels in (None, labels):
            crossed = stats.crossed_intervals(values, given_labels, bounds=(0, unit))
            for interval in (crossed.items, crossed.supports, crossed.both):
                assert interval.estimate == value * unit and interval.few_errors
                exact = scipy_stats.beta.ppf(0.025, interval.n, 1)
                ends = (unit * exact, unit) if value else (0, unit * (1 - exact))
                assert (interval.low, interval.high) == pytest.approx(ends, rel=1e-9)


@given(st.sampled_from([0.0, 100.0]), st.floats(-5e-8, 5e-8), st.sampled_from([0.0, 0.1]))
def test_a_mean_within_rounding_of_a_bound_is_that_bound(bound, off, half):
    rounded, exact = (
        stats.Interval(bound + x, half, 0.95, 50, "new images", bounds=PERCENT) for x in (off, 0.0)
    )
    assert rounded == exact


# ---------------------------------------------------------------- sizes


def study_of(differences, tasks):
    """The paired interval, in percentage points, of differences by task."""
    return stats.paired_interval(50 + differences, np.full(tasks, 50.0), bounds=POINTS)


@pytest.mark.parametrize("tasks, share", [(6, 0.01), (100, 0.01), (600, 0.001)])
def test_rare_differences_are_seldom_concluded_away(tasks, share):
    """Methods that differ on few tasks by 20 points, or that rare tasks make equal, are called so in 5 % at most."""
    rng, studies = np.random.default_rng(tasks), 400
    equivalent, significant = 0, 0
    for _ in range(studies):
        rare = rng.random(tasks) < share
        equivalent += stats.tost(study_of(np.where(rare, 20.0, 0.0), tasks), 10 * share).equivalent
        gain = 20 * share / (1 - share)  # on all other tasks, so that the mean is 0
        interval = study_of(np.where(rare, -20.0, gain), tasks)
        assert (interval.p_value < 0.05) == (interval.sign != 0)
        significant += interval.sign != 0
    assert max(equivalent, significant) <= 0.05 * studies + 2 * math.sqrt(0.05 * 0.95 * studies)


def test_a_winner_that_is_always_right_may_err():
    right = np.full((3, 600), 100.0)
    right[1:] -= np.arange(600) % 7
    winner = stats.winner_interval(right, bounds=PERCENT)
    assert (winner.method, winner.corrected.high) == (0, 100)
    assert winner.corrected.low == pytest.approx(100 * (0.05 / 6) ** (1 / 600))
    assert stats.winner_interval(right).corrected.low == -math.inf
    # Its variance is known.
    assert stats.winner_interval([100.0, 90.0], np.diag([0.0, 1.0])).corrected.low == 100
