"""`fslcore.stats`: input of other libraries' types, and mistakes that belong to one function. See `test_arguments`."""

import math

import numpy as np
import pandas as pd
import pytest

from fslbook.estimation.ranks import rank_correlation, selected_value
from fslcore import stats
from fslcore.tasks import sample_closed, sample_open

from .judging import judge, near, row

RNG = np.random.default_rng(0)
A = RNG.uniform(0.5, 0.8, 50)
B = A - 0.05 + np.random.default_rng(1).normal(0, 0.02, 50)
LABELS = np.arange(8).repeat(12)
TASKS = sample_closed(LABELS, tasks=200, ways=5, shots=1, queries=3)
VALUES = (RNG.random(TASKS.query.shape) < 0.5 + 0.4 * (LABELS[TASKS.query] % 2)).astype(float)
PLACES = dict(support=TASKS.support, query=TASKS.query, labels=LABELS)
RIGHT = (RNG.random((60, 5, 15)) < RNG.uniform(0.3, 0.9, (60, 5, 1))).astype(float)


def mean(expected):
    return lambda done: math.isclose(done.value.estimate, expected, abs_tol=1e-9)


SERIES, OTHER_INDEX = pd.Series(A), pd.Series(B, range(10, 60))
SMALL_GAP = A + 1e-4 + 1e-5 * np.random.default_rng(3).normal(size=50)
INTERVALS = [
    row("a list and a tuple", stats.paired_interval, (A.tolist(), tuple(B)), mean((A - B).mean())),
    row("a Series and an array", stats.paired_interval, (SERIES, B), mean((A - B).mean())),
    row("Series of another index", stats.paired_interval, (SERIES, OTHER_INDEX), "index"),
    row(
        "independent Series",
        stats.welch_interval,
        (SERIES, OTHER_INDEX),
        mean((A - B).mean()),
    ),
    row(
        "a true small gap",
        stats.paired_interval,
        (SMALL_GAP, A),
        lambda done: done.value.sign == 1,
    ),
    row(
        "pandas' NA",
        stats.closed_task_interval,
        (pd.array([0.5, None, 0.7], "Float64"),),
        "scores|NaN",
    ),
    row(
        "a DataFrame",
        stats.closed_task_interval,
        (pd.DataFrame({"a": [0.5, 0.6]}),),
        "shape|dimension",
    ),
    row(
        "printed, three numbers of tasks",
        stats.compare_printed,
        ((65, 1), (63, 1), (600,) * 3),
        "tasks",
    ),
    row("default 15", selected_value, (RIGHT[0], RIGHT[0], 15), "default & 0 to 14"),
    row("ranks of one candidate", rank_correlation, ([[1.0]], [[1.0]]), "2|candidates"),
]


@pytest.mark.parametrize("function, arguments, expected", INTERVALS)
def test_intervals(function, arguments, expected):
    judge(lambda: function(*arguments), expected)


def influence(tasks=TASKS, classes=8, **changed):
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    arguments = dict(
        scores=VALUES.mean(axis=1), images=images, labels=np.arange(classes).repeat(12)
    )
    return stats.jackknife_influence(**arguments | changed)


def plan(pilot, **changed):
    sizes = dict(images_per_class=12, n_classes=8, ways=5, shots=1, difference=0.1)
    return stats.plan_sample_size(pilot, **sizes | changed)


DIFFERENCE = stats.three_intervals(VALUES - np.roll(VALUES, 1), **PLACES)
OPEN_DIFFERENCE = stats.estimate_variance(RIGHT - RIGHT[:, :, ::-1], 5)
OTHER_IMAGES = sample_closed(np.arange(9).repeat(12), tasks=200, ways=5, shots=1, queries=3)
OPEN_LABELS = np.arange(25).repeat(160)
OPEN = sample_open(OPEN_LABELS, ways=5, shots=1, queries=3)


@pytest.mark.parametrize(
    "call, expected",
    [
        row(
            "labels of texts",
            lambda: stats.three_intervals(**PLACES | {"labels": LABELS.astype(str)}, scores=VALUES),
            lambda done: repr(done.value) == repr(stats.three_intervals(VALUES, **PLACES)),
        ),
        row(
            "influence of open tasks",
            lambda: influence(OPEN, 25, scores=np.ones(len(OPEN)), labels=OPEN_LABELS),
            "open",
        ),
        row("query without scores_without", lambda: influence(query=TASKS.query), "scores_without"),
        row(
            "minus one on other images", lambda: influence() - influence(OTHER_IMAGES, 9), "images"
        ),
        row(
            "plan of one method",
            lambda: plan(stats.three_intervals(VALUES, **PLACES, bounds=(0, 1))),
            "one method",
        ),
        row(
            "plan of 10^10 tasks",  # a hundred times as many as of ten times the difference
            lambda: plan(DIFFERENCE, difference=1e-6).n_tasks,
            lambda done: math.isclose(
                done.value, 100 * plan(DIFFERENCE, difference=1e-5).n_tasks, rel_tol=1e-6
            ),
        ),
        row(
            "plan, fewer classes than ways",
            lambda: plan(DIFFERENCE, n_classes=4),
            "classes & ways|4",
        ),
        row(
            "plan of open tasks",
            lambda: stats.plan_sample_size(OPEN_DIFFERENCE, difference=0.1),
            lambda done: done.value.n_tasks > 1 and done.value.queries > 0,
        ),
        row(
            "plan, shots again",
            lambda: stats.plan_sample_size(OPEN_DIFFERENCE, difference=0.1, shots=1),
            "shots & none",
        ),
        row("power of huge df", lambda: stats.power(1.0, 0.5, 1e300), near(0.516, 1e-3)),
        row(
            "detectable of infinite df",
            lambda: stats.minimum_detectable_difference(0.5, math.inf),
            near(1.4008, 1e-3),
        ),
    ],
)
def test_images_and_sizes(call, expected):
    judge(call, expected)
