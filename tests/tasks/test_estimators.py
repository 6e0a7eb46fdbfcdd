"""Re-splits keep to the support and partition it; batched estimates are those of a plain loop."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression as SklearnLR
from sklearn.model_selection import KFold, StratifiedKFold

from fslbook.estimation import resampled
from fslbook.estimation.resampled import estimate
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import Ready, Record, evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.tasks import ESTIMATORS, Tasks, bootstrap, hold_out, k_fold, leave_one_out, resplit, sample_closed


def bank(classes=8, n=30, dim=20, seed=0):
    rng = np.random.default_rng(seed)
    x = np.maximum(rng.normal(size=(classes, 1, dim)) + rng.normal(size=(classes, n, dim)), 0)
    return Bank(torch.from_numpy(x.reshape(-1, dim).astype(np.float32)), np.arange(classes).repeat(n), "test")


@st.composite
def supports(draw, least=1):
    """Tasks of uneven supports, with padding anywhere among them, and labels in any order."""
    ways = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        label = np.repeat(np.arange(ways), rng.integers(least, 6, ways))
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
        mine = split.tasks[split.owner == t]
        yield (
            pairs(tasks.support[t], tasks.support_label[t]),
            [
                (pairs(s, a), pairs(q, b))
                for s, a, q, b in zip(mine.support, mine.support_label, mine.query, mine.query_label)
            ],
        )


@given(supports(), st.integers(2, 8))
def test_folds_partition_the_support(tasks, k):
    k = min(k, (tasks.support >= 0).sum(axis=1).min())
    for support, splits in parts(k_fold(tasks, k), tasks):
        assert len(splits) == k
        assert sum((test for _, test in splits), Counter()) == support
        for train, test in splits:
            assert train + test == support
        sizes = [test.total() for _, test in splits]
        assert sizes == [len(test) for _, test in KFold(k).split(np.zeros(support.total()))]


@given(supports(), st.integers(2, 8))
def test_classes_are_spread_over_folds_as_evenly_as_can_be(tasks, k):
    """Images of the classes come in turn, so while all last, their counts in a run differ by one at most."""
    k = min(k, (tasks.support >= 0).sum(axis=1).min())
    for support, splits in parts(k_fold(tasks, k), tasks):
        size = Counter(c for _, c in support.elements())
        if len(set(size.values())) == 1:
            for _, test in splits:
                found = Counter(c for _, c in test.elements())
                counts = [found[c] for c in size]
                assert max(counts) - min(counts) <= 1


@given(supports())
def test_hold_out_is_the_first_fold_and_leave_one_out_has_as_many_as_images(tasks):
    n = (tasks.support >= 0).sum(axis=1)
    k = int(min(5, n.min()))
    for (_, one), (_, all_of_them) in zip(parts(hold_out(tasks, k), tasks), parts(k_fold(tasks, k), tasks)):
        assert one == all_of_them[:1]
    for t in range(len(tasks)):
        single = tasks[t : t + 1]
        for (_, a), (_, b) in zip(parts(leave_one_out(single), single), parts(k_fold(single, int(n[t])), single)):
            assert a == b
    owner = leave_one_out(tasks).owner
    assert (np.bincount(owner) == n).all() and (np.diff(owner) >= 0).all()


@given(supports(least=2), st.integers(1, 5), st.integers(0, 9))
def test_bootstrap_draws_all_classes_and_tests_on_what_it_left_out(tasks, rounds, seed):
    for support, splits in parts(bootstrap(tasks, rounds, seed), tasks):
        assert len(splits) == rounds
        for train, test in splits:
            assert train.total() == support.total()
            assert {c for _, c in train} == {c for _, c in support}
            assert set(train) <= set(support) and len(test) > 0
            assert test == support - train - Counter({x: support[x] for x in train})


def test_bootstrap_asks_for_no_class_that_the_support_lacks():
    label = np.array([[0, 0, 0, 2, 2, 2]] * 3)
    lacking = Tasks(np.arange(18).reshape(3, 6), label, np.arange(18, 24).reshape(3, 2), np.array([[0, 2]] * 3), 3)
    drawn = bootstrap(lacking, rounds=20)
    assert len(drawn.tasks) == 60 and set(drawn.tasks.support_label.ravel()) == {0, 2}


def test_bootstrap_takes_each_image_equally_often():
    """Among draws of n with all classes in them, an image is left out with equal chance, by symmetry."""
    labels = np.arange(3).repeat(20)
    tasks = sample_closed(labels, tasks=200, ways=3, shots=4, queries=1)
    split = bootstrap(tasks, 50)
    left_out = np.bincount(
        np.concatenate(
            [np.flatnonzero(np.isin(tasks.support[t], q[q >= 0])) for t, q in zip(split.owner, split.tasks.query)]
        ),
        minlength=12,
    ) / len(split.owner)
    expected = left_out.mean()
    # chance of a given image unseen in 12 draws, a little less as draws without a class are thrown away
    assert 0.33 < expected < (11 / 12) ** 12
    # an image is left out of a draw or not: within 4.5 standard errors of a share of 10,000
    assert np.abs(left_out - expected).max() < 4.5 * np.sqrt(expected * (1 - expected) / len(split.owner))
    repeated = [len(set(row)) for row in split.tasks.support]
    assert max(repeated) < 12 and min(repeated) >= 3


@pytest.mark.parametrize("shots", [5, (4, 4, 5, 6, 6)])
@pytest.mark.parametrize("name", ["hold-out", "3-fold", "5-fold", "leave-one-out", "bootstrap"])
def test_the_first_tasks_are_split_alike_however_many_follow(name, shots):
    labels = np.arange(7).repeat(20)
    few, many = (resplit(sample_closed(labels, tasks=t, shots=shots, queries=2), name, seed=3) for t in (3, 8))
    n = len(few.owner)
    assert (many.owner[:n] == few.owner).all() and (many.owner[n:] >= 3).all()
    for field in ("support", "support_label"):
        assert (getattr(many.tasks, field)[:n] == getattr(few.tasks, field)).all()
    for a, b in zip(few.tasks.query, many.tasks.query):
        assert (a[a >= 0] == b[b >= 0]).all()
    again = resplit(sample_closed(labels, tasks=3, shots=shots, queries=2), name, seed=3)
    assert again.tasks.digest == few.tasks.digest
    if name == "bootstrap":
        assert bootstrap(sample_closed(labels, tasks=3), seed=4).tasks.digest != few.tasks.digest


def test_five_folds_of_five_shots_hold_out_one_image_a_class():
    tasks = sample_closed(np.arange(7).repeat(20), tasks=4)
    split = k_fold(tasks, 5)
    assert (np.sort(split.tasks.query_label) == np.arange(5)).all()
    sizes = [len(test) for _, test in StratifiedKFold(5).split(np.zeros(25), tasks.support_label[0])]
    assert sizes == [5] * 5 == list((split.tasks.query >= 0).sum(axis=1)[:5])
    # fold j holds the j-th image of each class
    assert (split.tasks.query[0] == tasks.support[0].reshape(5, 5)[:, 0]).all()
    assert (split.tasks.query[3] == tasks.support[0].reshape(5, 5)[:, 3]).all()


def test_linear_imbalance_is_spread_over_the_folds():
    tasks = sample_closed(np.arange(7).repeat(20), tasks=2, shots=(4, 4, 5, 6, 6), queries=1)
    split = k_fold(tasks, 5)
    assert np.sort(split.tasks.query_label[:5]).tolist() == [[0, 1, 2, 3, 4]] * 4 + [[2, 3, 3, 4, 4]]


@given(supports(least=2))
def test_a_refilled_leave_one_out_keeps_the_class_counts(tasks):
    for support, splits in parts(leave_one_out(tasks, refill=True), tasks):
        counts = Counter(c for _, c in support.elements())
        assert sum((test for _, test in splits), Counter()) == support
        for train, test in splits:
            (held,) = test
            assert held not in train and Counter(c for _, c in train.elements()) == counts
            (copied,) = (x for x, n in train.items() if n == 2)
            assert copied[1] == held[1] and set(train) == set(support) - {held}


def test_a_refilled_support_holds_a_copy_of_the_next_image_of_the_class():
    tasks = sample_closed(np.arange(4).repeat(8), tasks=3, ways=3, shots=(2, 3, 4), queries=1)
    mixed = np.random.default_rng(0).permutation(9)
    tasks = replace(tasks, support=tasks.support[:, mixed], support_label=tasks.support_label[:, mixed])
    split = leave_one_out(tasks, refill=True)
    for owner, support, (held,) in zip(split.owner, split.tasks.support, split.tasks.query):
        given, label = tasks.support[owner], tasks.support_label[owner]
        mine = given[label == label[given == held]].tolist()
        follows = mine[(mine.index(held) + 1) % len(mine)]
        assert (support == np.where(given == held, follows, given)).all()


def by_hand(bank, tasks, name, learner):
    """One fit a re-split, on unit features, with the re-splits written as plain loops."""
    x = bank.data.double().numpy()
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    out = []
    for images, label in zip(tasks.support, tasks.support_label):
        order = sorted(range(len(label)), key=lambda i: ((label[:i] == label[i]).sum(), label[i]))
        k = len(label) if name == "leave-one-out" else 5
        folds = [[order[i] for i in test] for _, test in KFold(k).split(order)]
        scores = []
        for test in folds[:1] if name == "hold-out" else folds:
            train = [i for i in range(len(label)) if i not in test]
            fitted = learner.fit(x[images[train]], label[train])
            scores.append((fitted.predict(x[images[test]]) == label[test]).mean())
        out.append(np.mean(scores))
    return np.array(out)


@pytest.mark.parametrize("shots", [5, (4, 4, 5, 6, 6)])
@pytest.mark.parametrize("name", ["hold-out", "5-fold", "leave-one-out"])
def test_estimates_are_those_of_a_loop_over_scikit_learn(name, shots):
    features = bank()
    tasks = sample_closed(features.labels, tasks=6, shots=shots, queries=1)
    ours = resampled.run(Ready(features, None, LogisticRegression(tol=1e-9)), tasks, [name])[name]
    theirs = by_hand(features, tasks, name, SklearnLR(tol=1e-9, max_iter=5000))
    assert ours.to_numpy() == pytest.approx(theirs, abs=1e-12)


def test_bootstrap_estimates_are_those_of_a_loop_over_scikit_learn():
    features = bank()
    x = torch.nn.functional.normalize(features.data.double(), dim=1).numpy()
    tasks = sample_closed(features.labels, tasks=4, shots=(4, 4, 5, 6, 6), queries=1)
    ours = resampled.run(Ready(features, None, LogisticRegression(tol=1e-9)), tasks, ["bootstrap"], rounds=7, seed=2)
    split = bootstrap(tasks, 7, 2)
    scores = []
    for s, a, q, b in zip(*(getattr(split.tasks, f) for f in ("support", "support_label", "query", "query_label"))):
        fitted = SklearnLR(tol=1e-9, max_iter=5000).fit(x[s[s >= 0]], a[a >= 0])
        scores.append((fitted.predict(x[q[q >= 0]]) == b[b >= 0]).mean())
    assert ours["bootstrap"].to_numpy() == pytest.approx(np.reshape(scores, (4, 7)).mean(axis=1), abs=1e-12)


def test_estimate_is_the_mean_over_resplits_and_nan_without_any():
    record = Record(np.array([[1, 0], [1, 1], [0, 0]], bool), np.array([[0, 1], [0, -1], [0, 1]]))
    record.correct[1, 1] = False  # padding
    found = estimate(record, np.array([0, 0, 2]), 4)
    assert found == pytest.approx([0.75, np.nan, 0, np.nan], nan_ok=True)


def test_run_has_a_column_a_name_and_the_oracle_reads_the_query():
    features = bank()
    tasks = sample_closed(features.labels, tasks=5, queries=4)
    table = resampled.run(Ready(features, None, NearestCentroid()), tasks)
    assert list(table) == ["oracle", *ESTIMATORS] and len(table) == 5
    assert (table["oracle"] == evaluate(NearestCentroid(), features, tasks).accuracy()).all()
    other = Tasks(tasks.support, tasks.support_label, tasks.query[::-1], tasks.query_label, 5, unseen=False)
    names = list(ESTIMATORS)
    again = resampled.run(Ready(features, None, NearestCentroid()), other, names)
    assert (again == table[names]).all(axis=None)  # no estimator has seen the query
    assert resampled.run(Ready(features, None, NearestCentroid()), tasks, stored=True).equals(table)
    assert resampled.run(Ready(features, None, LogisticRegression()), tasks, stored=True) is None


def test_leaving_out_the_only_image_of_a_class_is_always_an_error():
    """One shot: the class of the image held out has no image left, so its estimates are 0 by design."""
    features = bank()
    tasks = sample_closed(features.labels, tasks=5, shots=1, queries=3)
    names = ["hold-out", "5-fold", "leave-one-out"]
    assert (resampled.run(Ready(features, None, LogisticRegression()), tasks, names) == 0).all(axis=None)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda t: k_fold(t, 1), "k = 1; a whole number of at least 2"),
        (lambda t: k_fold(t, 11), "k = 11; task 0 has a support of 10: 2 to 10"),
        (lambda t: hold_out(t, 12), "k = 12; task 0"),
        (lambda t: bootstrap(t, 0), "rounds = 0; a whole number of at least 1"),
        (lambda t: bootstrap(t, seed=-1), "seed = -1; a whole number"),
        (lambda t: resplit(t, "jackknife"), "name = jackknife; hold-out, leave-one-out, bootstrap and K-fold"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call(sample_closed(np.arange(6).repeat(10), tasks=2, shots=2, queries=1))


def test_supports_too_small_to_be_split():
    one = Tasks(*(np.array([[i]]) for i in (3, 0, 4, 0)), ways=2)
    with pytest.raises(InputError, match="k = 1; task 0 has a support of 1: at least 2 images are needed"):
        leave_one_out(one)
    with pytest.raises(InputError, match="refilled: task 0 has a class with one image; at least 2"):
        leave_one_out(sample_closed(np.arange(6).repeat(10), tasks=2, ways=2, shots=(1, 3), queries=1), refill=True)
    with pytest.raises(InputError, match="task 0 has one support image per class"):
        bootstrap(sample_closed(np.arange(6).repeat(10), tasks=2, shots=1, queries=1))
    with pytest.raises(InputError, match="none of 2000 draws of 81 support images held all 80 classes"):
        bootstrap(sample_closed(np.arange(80).repeat(9), tasks=2, ways=80, shots=[2] + 79 * [1], queries=1), rounds=1)
