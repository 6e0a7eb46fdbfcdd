"""`fslcore.stats`: input of other libraries' types, and mistakes that belong to one function. See `test_arguments`."""

import math

import numpy as np
import pandas as pd
import pytest

from fslcore import stats
from fslcore.tasks import sample_closed

from .judging import judge, row

RNG = np.random.default_rng(0)
A = RNG.uniform(0.5, 0.8, 50)
B = A - 0.05 + np.random.default_rng(1).normal(0, 0.02, 50)
LABELS = np.arange(8).repeat(12)
TASKS = sample_closed(LABELS, tasks=200, ways=5, shots=1, queries=3)
RIGHT = (RNG.random((60, 5, 15)) < RNG.uniform(0.3, 0.9, (60, 5, 1))).astype(float)
VALUES = (RNG.random(TASKS.query.shape) < 0.5 + 0.4 * (LABELS[TASKS.query] % 2)).astype(float)
DIFFERENCE = stats.three_intervals(VALUES - np.roll(VALUES, 1), TASKS.support, TASKS.query, LABELS)
OPEN_DIFFERENCE = stats.estimate_variance(RIGHT - RIGHT[:, :, ::-1], 5)


def is_mean_difference(done):
    return math.isclose(done.value.estimate, (A - B).mean(), abs_tol=1e-9)


def influence_with_queries_alone():
    images = np.concatenate([TASKS.support, TASKS.query], axis=1)
    return stats.jackknife_influence(VALUES.mean(axis=1), images, LABELS, query=TASKS.query)


def tasks_for(difference, **changed):
    sizes = dict(images_per_class=12, n_classes=8, ways=5, shots=1)
    return stats.plan_sample_size(DIFFERENCE, difference=difference, **sizes | changed).n_tasks


@pytest.mark.parametrize(
    "call, expected",
    [
        row(
            "a list and a tuple",
            lambda: stats.paired_interval(A.tolist(), tuple(B)),
            is_mean_difference,
        ),
        row(
            "independent Series of other indices",
            lambda: stats.welch_interval(pd.Series(A), pd.Series(B, range(10, 60))),
            is_mean_difference,
        ),
        row(
            "pandas' NA",
            lambda: stats.closed_task_interval(pd.array([0.5, None, 0.7], "Float64")),
            "scores|NaN",
        ),
        row(
            "a DataFrame",
            lambda: stats.closed_task_interval(pd.DataFrame({"a": [0.5, 0.6]})),
            "shape|dimension",
        ),
        row(
            "printed, three numbers of tasks",
            lambda: stats.compare_printed((65, 1), (63, 1), (600,) * 3),
            "tasks",
        ),
        row("query without scores_without", influence_with_queries_alone, "scores_without"),
        row(
            "plan of 10^10 tasks",  # a hundred times as many as of ten times the difference
            lambda: tasks_for(1e-6),
            lambda done: math.isclose(done.value, 100 * tasks_for(1e-5), rel_tol=1e-6),
        ),
        row(
            "plan, fewer classes than ways", lambda: tasks_for(0.1, n_classes=4), "classes & ways|4"
        ),
        row(
            "plan, shots again",
            lambda: stats.plan_sample_size(OPEN_DIFFERENCE, difference=0.1, shots=1),
            "shots & none",
        ),
    ],
)
def test_types_and_mistakes(call, expected):
    judge(call, expected)
