"""Re-splits keep to the support and partition it; batched estimates are those of a plain loop."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st
from refusal import refuses
from sklearn.model_selection import KFold

from fslcore.tasks import (
    Tasks,
    bootstrap_split,
    hold_out,
    k_fold,
    leave_one_out,
    resplit,
    sample_closed,
)


@st.composite
def supports(draw, minimum=1):
    """Tasks of uneven supports, with padding anywhere among them, and labels in any order."""
    ways = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        label = np.repeat(np.arange(ways), rng.integers(minimum, 6, ways))
        rows.append(rng.permutation(np.concatenate([label, np.full(6 * ways - len(label), -1)])))
    label = np.array(rows)
    index = np.where(label >= 0, rng.permutation(label.size).reshape(label.shape), -1)
    query = np.zeros((len(label), 1), dtype=int)
    return Tasks(index, label, query, query, ways, unseen=False)


def pairs(index, label):
    """The images of one row with their labels, padding left out."""
    return Counter((int(i), int(c)) for i, c in zip(index, label) if i >= 0)


def parts(split, tasks):
    """For each task its support and the (train, test) of its re-splits, as counted images."""
    for t in range(len(tasks)):
        of_task = split.tasks[split.owner == t]
        train = map(pairs, of_task.support, of_task.support_label)
        test = map(pairs, of_task.query, of_task.query_label)
        yield pairs(tasks.support[t], tasks.support_label[t]), list(zip(train, test))


def class_counts(images):
    return Counter(c for _, c in images.elements())


@given(supports(), st.integers(2, 8))
def test_folds_partition_the_support_with_all_classes_in_each(tasks, k):
    k = min(k, (tasks.support >= 0).sum(axis=1).min())
    for support, splits in parts(k_fold(tasks, k), tasks):
        assert len(splits) == k
        assert sum((test for _, test in splits), Counter()) == support
        for train, test in splits:
            assert train + test == support
        sizes = [test.total() for _, test in splits]
        assert sizes == [len(test) for _, test in KFold(k).split(np.zeros(support.total()))]
        # Images of the classes come in turn, so while all last, their counts in a run differ by one at most.
        size = class_counts(support)
        if len(set(size.values())) == 1:
            for _, test in splits:
                counts = [class_counts(test)[c] for c in size]
                assert max(counts) - min(counts) <= 1


@given(supports())
def test_hold_out_is_the_first_fold_and_leave_one_out_has_as_many_as_images(tasks):
    n = (tasks.support >= 0).sum(axis=1)
    k = int(min(5, n.min()))
    folds = parts(k_fold(tasks, k), tasks)
    for (_, held_out), (_, splits) in zip(parts(hold_out(tasks, k), tasks), folds):
        assert held_out == splits[:1]
    for task in range(len(tasks)):
        single = tasks[task : task + 1]
        folds = parts(k_fold(single, int(n[task])), single)
        assert list(parts(leave_one_out(single), single)) == list(folds)
    owner = leave_one_out(tasks).owner
    assert (np.bincount(owner) == n).all() and (np.diff(owner) >= 0).all()


@given(supports(minimum=2), st.integers(1, 5), st.integers(0, 9))
def test_bootstrap_draws_all_classes_and_tests_on_what_it_left_out(tasks, rounds, seed):
    for support, splits in parts(bootstrap_split(tasks, rounds, seed), tasks):
        assert len(splits) == rounds
        for train, test in splits:
            assert train.total() == support.total()
            assert {c for _, c in train} == {c for _, c in support}
            assert set(train) <= set(support) and len(test) > 0
            assert test == support - train - Counter({x: support[x] for x in train})


def test_bootstrap_asks_for_no_class_that_the_support_lacks():
    label = np.array([[0, 0, 0, 2, 2, 2]] * 3)
    tasks = Tasks(
        np.arange(18).reshape(3, 6),
        label,
        np.arange(18, 24).reshape(3, 2),
        np.array([[0, 2]] * 3),
        3,
    )
    split = bootstrap_split(tasks, rounds=20)
    assert len(split.tasks) == 60 and set(split.tasks.support_label.ravel()) == {0, 2}


def test_bootstrap_takes_each_image_equally_often():
    """Among draws of n with all classes in them, an image is left out with equal chance, by symmetry."""
    tasks = sample_closed(np.arange(3).repeat(20), tasks=200, ways=3, shots=4, queries=1)
    split = bootstrap_split(tasks, 50)
    is_left_out = (tasks.support[split.owner, :, None] == split.tasks.query[:, None]).any(axis=2)
    share = is_left_out.mean(axis=0)
    expected = share.mean()
    # chance of a given image unseen in 12 draws, a little lower as draws without a class are thrown away
    assert 0.33 < expected < (11 / 12) ** 12
    # within 4.5 standard errors of a share of 10,000
    assert np.abs(share - expected).max() < 4.5 * np.sqrt(
        expected * (1 - expected) / len(split.owner)
    )


@pytest.mark.parametrize("shots", [5, (4, 4, 5, 6, 6)])
@pytest.mark.parametrize("name", "hold-out 3-fold 5-fold leave-one-out bootstrap".split())
def test_the_first_tasks_are_split_in_the_same_way_however_many_follow(name, shots):
    few, many = (
        resplit(
            sample_closed(np.arange(7).repeat(20), tasks=t, shots=shots, queries=2), name, seed=3
        )
        for t in (3, 8)
    )
    n = len(few.owner)
    assert (many.owner[:n] == few.owner).all() and (many.owner[n:] >= 3).all()
    assert (many.tasks.support[:n] == few.tasks.support).all()
    assert (many.tasks.support_label[:n] == few.tasks.support_label).all()
    for a, b in zip(few.tasks.query, many.tasks.query):
        assert (a[a >= 0] == b[b >= 0]).all()


@given(supports(minimum=2))
def test_a_refilled_leave_one_out_copies_the_next_image_of_the_class(tasks):
    split = leave_one_out(tasks, refill=True)
    assert np.bincount(split.owner).tolist() == (tasks.support >= 0).sum(axis=1).tolist()
    for owner, support, (held,) in zip(split.owner, split.tasks.support, split.tasks.query):
        images, label = tasks.support[owner], tasks.support_label[owner]
        classmates = images[label == label[images == held]].tolist()
        next_image = classmates[(classmates.index(held) + 1) % len(classmates)]
        wanted = np.where(images == held, next_image, images)
        assert (support[support >= 0] == wanted[wanted >= 0]).all()


def closed(ways, **shape):
    return sample_closed(np.arange(ways).repeat(10), tasks=2, ways=ways, queries=1, **shape)


SINGLE = Tasks(*(np.array([[i]]) for i in (3, 0, 4, 0)), ways=2)
NO_DRAW = "none of 2000 draws of 81 support images .* 80 classes"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: k_fold(closed(5, shots=2), 1), "k must be an integer >= 2"),
        (lambda: k_fold(closed(5, shots=2), 11), "k .*10 of task 0, got 11"),
        (lambda: hold_out(closed(5, shots=2), 12), "k .*task 0, got 12"),
        (lambda: leave_one_out(SINGLE), "k .* 1 of task 0, got 1"),
        (
            lambda: leave_one_out(closed(2, shots=(1, 3)), refill=True),
            "task 0 .*at least 2 .*refilled, got 1",
        ),
        (
            lambda: bootstrap_split(closed(5, shots=2), 0),
            "rounds must be an integer >= 1",
        ),
        (lambda: bootstrap_split(closed(5, shots=2), seed=-1), "seed must be an integer"),
        (lambda: bootstrap_split(closed(5, shots=1)), "task 0 .*2 support images.*got 1 of each"),
        (lambda: bootstrap_split(closed(80, shots=[2] + 79 * [1]), rounds=1), NO_DRAW),
        (lambda: resplit(closed(5), "jackknife"), "estimator .*'hold-out', .*got 'jackknife'"),
    ],
)
def test_bad_input(call, message):
    with refuses(message):
        call()
