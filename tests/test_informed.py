import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import silhouette_score

from fslcore import estimators, informed, learners
from fslcore.bank import Bank
from fslcore.tasks import Tasks, sample_closed


@pytest.fixture(scope="module")
def bank() -> Bank:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 30)
    means = rng.normal(size=(8, 16))
    return Bank(torch.from_numpy(means[labels] + 1.5 * rng.normal(size=(240, 16))).float(), labels, "fake")


SHAPES = {"balanced": 5, "unequal": [2, 3, 5, 6, 9]}


@pytest.mark.parametrize("shots", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("learner", learners.of_features.values(), ids=learners.of_features)
def test_estimates_among_the_signals_are_the_estimators(bank, learner, shots):
    tasks = sample_closed(bank.labels, tasks=6, shots=shots, queries=10)
    found = informed.signals(bank, learner(), tasks, rounds=7, seed=3)
    expected = estimators.run(bank, None, learner(), tasks, estimators.ESTIMATORS, rounds=7, seed=3)
    np.testing.assert_allclose(found[list(estimators.ESTIMATORS)], expected)


def test_the_query_is_never_looked_at(bank):
    tasks = sample_closed(bank.labels, tasks=4, queries=10)
    other = Tasks(tasks.support, tasks.support_label, tasks.query[:, ::-1] * 0, tasks.query_label, tasks.ways)
    both = [informed.signals(bank, learners.LogisticRegression(), t) for t in (tasks, other)]
    pd.testing.assert_frame_equal(*both)


def test_signals_do_not_depend_on_the_tasks_beside(bank):
    tasks = sample_closed(bank.labels, tasks=6, queries=10)
    whole = informed.signals(bank, learners.NearestCentroid(), tasks)
    part = informed.signals(bank, learners.NearestCentroid(), tasks[:3])
    pd.testing.assert_frame_equal(whole[:3], part)


@pytest.mark.parametrize("shots", SHAPES.values(), ids=SHAPES)
def test_separation_by_plain_loops(bank, shots):
    tasks = sample_closed(bank.labels, tasks=3, shots=shots, queries=10)
    found = informed.signals(bank, learners.NearestCentroid(), tasks)
    for t in range(3):
        x = torch.nn.functional.normalize(bank.data[tasks.support[t].copy()], dim=1).double().numpy()
        label = tasks.support_label[t]
        d = 1 - x @ x.T
        same = [d[i, j] for i in range(len(x)) for j in range(i) if label[i] == label[j]]
        apart = {
            (a, b): d[np.ix_(label == a, label == b)].mean() for a in range(tasks.ways) for b in range(a)
        }
        row = found.loc[t]
        assert row["ways"] == 5 and row["shots"] == np.mean(shots) and row["fewest"] == np.min(shots)
        assert row["within"] == pytest.approx(np.mean(same), rel=1e-5)
        assert row["between"] == pytest.approx(np.mean(list(apart.values())), rel=1e-5)
        assert row["nearest"] == pytest.approx(min(apart.values()), rel=1e-5)
        assert row["silhouette"] == pytest.approx(silhouette_score(x, label, metric="cosine"), abs=1e-5)


def test_margins_by_plain_loops(bank):
    tasks = sample_closed(bank.labels, tasks=2, queries=10)
    learner = learners.LogisticRegression()
    split = estimators.leave_one_out(tasks)
    scores = learner.scores(bank, split.tasks)[:, 0].double().numpy()
    found = informed.signals(bank, learner, tasks)
    for t in range(2):
        mine, label = scores[split.owner == t], split.tasks.query_label[split.owner == t, 0]
        margins = [s[k] - max(np.delete(s, k)) for s, k in zip(mine, label)]
        margins = np.array(margins) / mine.std(axis=1).mean()
        row = found.loc[t]
        assert row["leave-one-out margin"] == pytest.approx(margins.mean(), rel=1e-5)
        assert row["leave-one-out spread"] == pytest.approx(margins.std(), rel=1e-5)
        assert row["leave-one-out low"] == pytest.approx(np.quantile(margins, 0.1), rel=1e-5)
        worst = min(np.mean(margins[label == k] > 0) for k in range(5))
        assert row["leave-one-out worst"] == pytest.approx(worst)


def test_a_class_of_one_image_leaves_what_needs_no_folds(bank):
    tasks = sample_closed(bank.labels, tasks=3, shots=[1, 3, 3, 3, 3], queries=10)
    found = informed.signals(bank, learners.NearestCentroid(), tasks)
    assert set(found.columns[found.notna().all()]) == set(informed.BARE)
    assert found.drop(columns=list(informed.BARE)).isna().all(axis=None)


def test_mixed_shapes_repeat_and_hold_what_they_promise():
    labels = np.repeat(np.arange(12), 40)
    blocks, again = (informed.mixed_shapes(labels, 20, tasks=3, seed=5) for _ in range(2))
    assert [b.digest for b in blocks] == [b.digest for b in again]
    ways = [b.ways for b in blocks]
    assert min(ways) >= 2 and max(ways) <= 10 and len(set(ways)) > 4
    counts = [np.bincount(b.support_label[0]) for b in blocks]
    assert all(c.min() >= 1 and c.max() <= 20 for c in counts)
    assert all(c.min() == c.max() for c in counts[::2]) and any(c.min() < c.max() for c in counts[1::2])
