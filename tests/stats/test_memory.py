"""Memory is bounded by images, classes and the places in tasks, and never by tasks times images or times classes."""

import tracemalloc

import numpy as np
import pytest

from fslcore.stats import influence, three_intervals
from fslcore.tasks import sample_closed, samplers

PLACES = 5 * (2 + 3)  # in a task


def peak(run):
    """Most bytes that a call holds at once beyond those that were there."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "grouped, more",
    [
        (False, {}),
        (False, dict(transductive=True)),
        (True, {}),
        (True, dict(group_disjoint=True)),
    ],
)
def test_three_intervals_hold_no_number_for_each_task_and_image(grouped, more):
    """A table of tasks and images, or groups, has at least 2 GB even with a byte an entry."""
    n, tasks = 200_000, 20_000
    labels, groups = np.repeat(np.arange(100), n // 100), np.arange(n) // 2
    drawn = sample_closed(
        labels, tasks=tasks, shots=2, queries=3, groups=groups if more.get("group_disjoint") else None
    )
    right = np.random.default_rng(0).random(drawn.query.shape) < 0.8
    given = dict(groups=groups) if grouped else {}
    most = peak(lambda: three_intervals(right, drawn.support, drawn.query, labels, **given, **more))
    assert most < 400 * (n + tasks * PLACES) < tasks * n / 10


def test_influence_holds_parts_of_the_tasks_by_image():
    n, tasks = 20_000, 20_000
    labels = np.repeat(np.arange(100), n // 100)
    drawn = sample_closed(labels, tasks=tasks, shots=2, queries=3)
    both = np.concatenate([drawn.support, drawn.query], axis=1)
    values = np.random.default_rng(0).random(tasks)
    most = peak(lambda: influence(values, both, labels).intervals())
    assert most < 400 * (n + tasks * PLACES) < tasks * n


@pytest.mark.parametrize("apart", [False, True])
def test_closed_tasks_hold_no_number_for_each_task_and_class(apart):
    classes, tasks = 5_000, 5_000
    labels = np.repeat(np.arange(classes), 5)
    groups = np.arange(len(labels)) if apart else None
    most = peak(lambda: sample_closed(labels, tasks=tasks, shots=2, queries=3, groups=groups))
    assert most < 400 * (len(labels) + tasks * PLACES) < 8 * tasks * classes


def test_the_classes_of_tasks_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch):
    drawn = []
    for at_once in (1, 300, 10**9):
        monkeypatch.setattr(samplers, "AT_ONCE", at_once)
        drawn.append(samplers.some_classes(50, 70, 5, np.random.default_rng(0)))
    whole = np.random.default_rng(0).random((50, 70)).argsort(axis=1)[:, :5]
    assert all((some == whole).all() for some in drawn)
