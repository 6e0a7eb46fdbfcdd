"""What holds of every interval with bounds: it lies between them, it holds its mean, a constant
sample gets an answer, a - b is the mirror of b - a, and rare values do not make it narrower.
"""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fslcore import stats
from fslcore.tasks import sample_closed

LABELS = np.arange(6).repeat(12)
TASKS = sample_closed(LABELS, tasks=120, ways=4, shots=2, queries=3, seed=0)
PLACES = TASKS.support, TASKS.query, LABELS
TABLE = (3, *TASKS.query.shape)  # runs, tasks, queries
WORLDS = {  # answers as shares, of a number of runs, tasks and queries
    "usual": lambda rng: rng.random(TABLE) < 0.7,
    "soft": lambda rng: rng.random(TABLE),
    "near a bound": lambda rng: rng.random(TABLE) < 0.999,
    "far from most": lambda rng: np.where(rng.random(TABLE) < 0.002, 0.0, 0.9),
    "constant": lambda rng: np.full(TABLE, 0.9),
    "all right": lambda rng: np.ones(TABLE),
    "none right": lambda rng: np.zeros(TABLE),
}


def means(answers, bounds):
    """Every interval of one method's mean."""
    tasks = answers.mean(axis=2)
    runs = stats.new_run_intervals(answers, *PLACES, bounds=bounds)
    new = stats.new_run_interval(tasks, bounds=bounds)
    three = stats.three_intervals(answers[0], *PLACES, bounds=bounds)
    crossed = stats.crossed_intervals(answers[:, :, 0], bounds=bounds)
    return {
        "closed": stats.closed_task_interval(tasks[0], bounds=bounds),
        "open": stats.open_task_interval(tasks[0], bounds=bounds),
        "anytime": stats.confidence_sequence(tasks[0], bounds=bounds),
        "winner": stats.winner_interval(tasks[:, : TABLE[1]], bounds=bounds).corrected,
        "these runs": new.fixed,
        "new runs": new.interval,
        **{f"three, {name}": getattr(three, name) for name in ("closed", "images", "classes")},
        **{f"runs, {name}": getattr(runs, name).interval for name in ("closed", "classes")},
        **{f"crossed, {name}": getattr(crossed, name) for name in ("items", "supports", "both")},
    }


def differences(first, second, bounds):
    """Every interval of the difference of two methods."""
    tasks = first.mean(axis=2), second.mean(axis=2)
    change = first - second
    three = stats.three_intervals(change[0], *PLACES, bounds=bounds)
    runs = stats.new_run_intervals(first, *PLACES, b=second, bounds=bounds)
    crossed = stats.crossed_intervals(change[:, :, 0], bounds=bounds)
    return {
        "paired": stats.paired_interval(tasks[0][0], tasks[1][0], bounds=bounds),
        "independent": stats.welch_interval(tasks[0][0], tasks[1][0][:100], bounds=bounds),
        "new runs": stats.new_run_interval(*tasks, bounds=bounds).interval,
        "paired runs": stats.new_run_interval(*tasks, paired=True, bounds=bounds).interval,
        **{f"three, {name}": getattr(three, name) for name in ("closed", "images", "classes")},
        **{f"runs, {name}": getattr(runs, name).interval for name in ("closed", "classes")},
        **{f"crossed, {name}": getattr(crossed, name) for name in ("items", "supports", "both")},
    }


def holds_its_mean_within(intervals, bounds):
    for name, interval in intervals.items():
        assert bounds[0] <= interval.low <= interval.estimate <= interval.high <= bounds[1], name
        assert not math.isnan(interval.estimate + interval.low + interval.high), name


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("unit", [1, 100])
def test_a_mean_lies_in_its_interval_and_that_between_the_bounds(world, unit):
    for seed in range(2):
        answers = unit * WORLDS[world](np.random.default_rng(seed))
        intervals = means(answers, (0, unit))
        holds_its_mean_within(intervals, (0, unit))
        assert all(interval.low < interval.high for interval in intervals.values())


@pytest.mark.parametrize("second", WORLDS)
@pytest.mark.parametrize("first", ["usual", "far from most", "constant"])
def test_a_difference_is_the_mirror_of_the_other_within_the_bounds(first, second):
    rng = np.random.default_rng(3)
    a, b = 100.0 * WORLDS[first](rng), 100.0 * WORLDS[second](rng)
    there, back = differences(a, b, (-100, 100)), differences(b, a, (-100, 100))
    holds_its_mean_within(there, (-100, 100))
    for name, interval in there.items():
        other = back[name] if name != "independent" else None
        if other is None:
            continue
        mirrored = (-other.high, -other.estimate, -other.low)
        assert (interval.low, interval.estimate, interval.high) == pytest.approx(mirrored, abs=1e-9)
        assert interval.p_value == pytest.approx(other.p_value, abs=1e-9)
        assert interval.sign == -other.sign
        if min(abs(interval.low), abs(interval.high)) > 1e-9:
            assert (interval.sign != 0) == (interval.low > 0 or interval.high < 0), name
        assert (interval.p_value < 0.05) == (interval.sign != 0), name


# The variance of images and of classes depends on which of them err, and that of two samples on their
# sizes.
MONOTONE = ["closed", "open", "winner", "these runs", "new runs", "paired", "crossed, items"]


@pytest.mark.parametrize("kind", ["mean", "difference"])
def test_a_few_wrong_answers_do_not_make_it_narrower(kind):
    """The far end, from no wrong answer to one in each of ten tasks."""
    ends = []
    for wrong in range(11):
        answers = np.ones(TABLE)
        answers[:, :wrong, 0] = 0.0  # of all runs, so that each interval sees it
        if kind == "mean":
            intervals = means(answers, (0, 1))
            ends.append({name: interval.low for name, interval in intervals.items()})
        else:
            intervals = differences(np.ones(TABLE), answers, (-1, 1))
            ends.append({name: -interval.high for name, interval in intervals.items()})
    for name in ends[0]:
        of_name = np.array([by_name[name] for by_name in ends])
        assert of_name.max() < of_name[0] + 1e-9, name
        if name in MONOTONE:
            assert np.diff(of_name).max() < 1e-9, name


@given(st.integers(0, 10_000), st.integers(2, 40), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_small_samples_of_any_values(seed, tasks, level):
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.2, 0.9, 1.0], tasks, p=rng.dirichlet(np.full(4, 0.4)))
    for interval in (
        stats.open_task_interval(values, level, bounds=(0, 1)),
        stats.closed_task_interval(values, level, bounds=(0, 1)),
        stats.paired_interval(values, values[::-1], level, bounds=(-1, 1)),
    ):
        lowest, highest = interval.bounds
        assert lowest <= interval.low <= interval.estimate <= interval.high <= highest
        student = interval.estimate - interval.half_width
        if interval.half_width > 0 and interval.bounds == (-1, 1):
            assert interval.low <= max(student, lowest) + 1e-12
