"""Memory is bounded by images, classes and the places in tasks, and never by tasks times images or times classes."""

import tracemalloc

import numpy as np
import pytest

from fslcore.stats import jackknife_influence, three_intervals
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
    "grouped, options",
    [
        (False, {}),
        (False, dict(transductive=True)),
        (True, {}),
        (True, dict(group_disjoint=True)),
    ],
)
def test_three_intervals_hold_no_number_for_each_task_and_image(grouped, options):
    """A table of tasks and images, or groups, has at least 2 GB even with a byte an entry."""
    n, tasks = 200_000, 20_000
    labels, groups = np.repeat(np.arange(100), n // 100), np.arange(n) // 2
    images = sample_closed(
        labels,
        tasks=tasks,
        shots=2,
        queries=3,
        groups=groups if options.get("group_disjoint") else None,
    )
    right = np.random.default_rng(0).random(images.query.shape) < 0.8
    arguments = dict(groups=groups) if grouped else {}
    intervals = peak(
        lambda: three_intervals(right, images.support, images.query, labels, **arguments, **options)
    )
    assert intervals < 400 * (n + tasks * PLACES) < tasks * n / 10


def test_influence_holds_parts_of_the_tasks_by_image():
    n, tasks = 20_000, 20_000
    labels = np.repeat(np.arange(100), n // 100)
    images = sample_closed(labels, tasks=tasks, shots=2, queries=3)
    pair = np.concatenate([images.support, images.query], axis=1)
    values = np.random.default_rng(0).random(tasks)
    intervals = peak(lambda: jackknife_influence(values, pair, labels).intervals())
    assert intervals < 400 * (n + tasks * PLACES) < tasks * n


@pytest.mark.parametrize("is_disjoint", [False, True])
def test_closed_tasks_hold_no_number_for_each_task_and_class(is_disjoint):
    classes, tasks = 5_000, 5_000
    labels = np.repeat(np.arange(classes), 5)
    groups = np.arange(len(labels)) if is_disjoint else None
    largest = peak(lambda: sample_closed(labels, tasks=tasks, shots=2, queries=3, groups=groups))
    assert largest < 400 * (len(labels) + tasks * PLACES) < 8 * tasks * classes


def test_the_classes_of_tasks_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch):
    draws = []
    for at_once in (1, 300, 10**9):
        monkeypatch.setattr(samplers, "RANDOM_NUMBERS_AT_ONCE", at_once)
        draws.append(samplers._random_classes(50, 70, 5, np.random.default_rng(0)))
    expected = np.random.default_rng(0).random((50, 70)).argsort(axis=1)[:, :5]
    assert all((some == expected).all() for some in draws)
