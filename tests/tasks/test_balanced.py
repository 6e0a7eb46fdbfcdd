"""Open tasks with all classes at equal weight: how often each class is used, and which classes meet."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from refusal import refuses
from scipy import stats

from fslcore.tasks import sample_open

SIZES = [600, 20, 31, 400, 45, 80, 20, 250]


def uses(tasks, labels):
    """How many tasks hold each class, and the pairs of classes that meet."""
    classes = [
        sorted(set(labels[np.concatenate(images)])) for images in zip(tasks.support, tasks.query)
    ]
    meetings = Counter(pair for task in classes for pair in combinations(task, 2))
    return Counter(c for task in classes for c in task), meetings


def check_images(tasks):
    """No image is in two tasks, or twice in one."""
    images = np.concatenate([tasks.support, tasks.query], axis=1)
    assert len(np.unique(images)) == images.size


@settings(max_examples=150)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=11),
    ways=st.integers(2, 5),
    shots=st.integers(1, 4),
    queries=st.integers(1, 5),
    seed=st.integers(0, 2**32),
)
def test_classes_are_in_equally_many_tasks_to_within_one(sizes, ways, shots, queries, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    times = [n // (shots + queries) for n in sizes if n >= shots + queries]
    shape = dict(
        ways=ways, shots=shots, queries=queries, seed=seed, skip_small_classes=True, balanced=True
    )
    count = len(times) * min(times, default=0) // ways
    if len(times) < ways or count < 2:
        with refuses():
            sample_open(labels, **shape)
        return
    tasks = sample_open(labels, **shape)
    assert len(tasks) == count  # as many as the smallest class allows
    check_images(tasks)
    for index, per_class in ((tasks.support, shots), (tasks.query, queries)):
        label = labels[index].reshape(count, ways, per_class)
        assert (label == label[..., :1]).all()
        assert (np.diff(np.sort(label[..., 0])) > 0).all()
    for first in range(2, count + 1):  # a smaller number of tasks is balanced too
        often = uses(tasks[:first], labels)[0]
        assert len(often) == min(len(times), first * ways)
        assert max(often.values()) - min(often.values()) <= (len(often) == len(times))
    if count > 2:
        assert tasks[:2].digest == sample_open(labels, **shape, max_tasks=2).digest


def test_which_classes_meet_and_which_are_used_once_less_is_random():
    """7 classes in 4 tasks of 3: each is in two, but two of them in one; which ones, and which meet, is random."""
    labels = np.repeat(np.arange(7), [6, 7, 40, 9, 6, 30, 8])
    often, meetings, last, images = Counter(), Counter(), Counter(), np.zeros(len(labels))
    for seed in range(2000):
        tasks = sample_open(labels, ways=3, shots=1, queries=2, seed=seed, balanced=True)
        assert len(tasks) == 4
        classes, pairs = uses(tasks, labels)
        often += classes
        meetings += pairs
        last[tuple(sorted(set(labels[tasks.query[3]])))] += 1
        np.add.at(images, tasks.query.ravel(), 1)
    assert stats.chisquare([12_000 * 2 - often[c] * 3.5 for c in range(7)]).pvalue > 1e-3
    assert len(meetings) == 21
    assert stats.chisquare(list(meetings.values())).pvalue > 1e-3
    assert len(last) == 35  # every set of three classes, also in the task that spans two rounds
    assert stats.chisquare(list(last.values())).pvalue > 1e-3
    for c in range(7):
        assert stats.chisquare(images[labels == c]).pvalue > 1e-3


def test_the_mean_of_balanced_tasks_is_the_mean_in_which_classes_count_alike():
    """Of a value of each class alone: the balanced mean is the plain mean of the classes, the usual one is not."""
    labels = np.repeat(np.arange(8), SIZES)
    value_of_class = np.arange(8.0) ** 2

    def means(balanced):
        shape = dict(ways=4, shots=5, queries=5, balanced=balanced)
        draws = (sample_open(labels, seed=seed, **shape) for seed in range(60))
        return np.array([value_of_class[labels[tasks.query]].mean() for tasks in draws])

    # 8 classes, twice each: four tasks of four, whatever the seed.
    assert means(balanced=True) == pytest.approx(value_of_class.mean())
    assert abs(means(balanced=False).mean() - value_of_class.mean()) > 1


def test_the_usual_draw_is_the_one_without_balance():
    labels = np.repeat(np.arange(8), SIZES)
    tasks = sample_open(labels, shots=2, queries=3, seed=3)
    assert tasks.digest == sample_open(labels, shots=2, queries=3, seed=3, balanced=False).digest
    assert "balanced" not in tasks.sampler
    balanced = sample_open(labels, shots=2, queries=3, seed=3, balanced=True)
    assert balanced.sampler == tasks.sampler | {"balanced": True}
    assert len(balanced) < len(tasks)


def test_uneven_supports_take_their_images_from_all_classes():
    labels = np.repeat(np.arange(7), [22, 60, 25, 90, 31, 22, 40])
    tasks = sample_open(labels, ways=3, shots=(1, 2, 6), queries=(3, 4, 5), seed=1, balanced=True)
    assert len(tasks) == 4  # 7 classes, each twice, as 11 images may be taken of one
    check_images(tasks)
    often = uses(tasks, labels)[0]
    assert set(often.values()) <= {1, 2}
    assert len(often) == 7


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(balanced="yes"), "balanced must be True or False, got 'yes'"),
        (dict(groups=np.arange(240) // 2), "balanced .*False with groups"),
        (dict(shots=15, queries=10), "data .*at least 2 tasks of 5 ways .*got 1 task"),
    ],
)
def test_what_cannot_be_balanced(change, message):
    with refuses(message):
        sample_open(
            np.repeat(np.arange(8), 30), **{"shots": 5, "queries": 5, "balanced": True} | change
        )
