"""Estimates from re-splits of the support are those of a plain loop over scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression as SklearnLR
from sklearn.model_selection import KFold

from fslbook.estimation import resampled
from fslbook.estimation.resampled import ESTIMATORS
from fslcore.datasets.bank import Bank
from fslcore.evaluation import ConfiguredMethod, Outcomes, evaluate
from fslcore.learners import LogisticRegression, NearestCentroid
from fslcore.tasks import bootstrap_split, sample_closed


def bank(classes=8, n=30, dim=20, seed=0):
    rng = np.random.default_rng(seed)
    x = np.maximum(rng.normal(size=(classes, 1, dim)) + rng.normal(size=(classes, n, dim)), 0)
    return Bank(
        torch.from_numpy(x.reshape(-1, dim).astype(np.float32)),
        np.arange(classes).repeat(n),
        "test",
    )


def unit_features(bank):
    return torch.nn.functional.normalize(bank.data.double(), dim=1).numpy()


def by_hand(bank, tasks, name, learner):
    """One fit a re-split, on unit features, with the re-splits written as plain loops."""
    x = unit_features(bank)
    estimates = []
    for images, label in zip(tasks.support, tasks.support_label):
        # Images of the classes in turn: the first of each, the second of each …
        order = np.lexsort((label, [(label[:i] == label[i]).sum() for i in range(len(label))]))
        x_task, y_task = x[images[order]], label[order]
        splits = KFold(len(label) if name == "leave-one-out" else 5).split(order)
        scores = [
            learner.fit(x_task[train], y_task[train]).score(x_task[test], y_task[test])
            for train, test in splits
        ]
        estimates.append(scores[0] if name == "hold-out" else np.mean(scores))
    return np.array(estimates)


@pytest.mark.parametrize("shots", [5, (4, 4, 5, 6, 6)])
@pytest.mark.parametrize("name", ["hold-out", "5-fold", "leave-one-out"])
def test_estimates_are_those_of_a_loop_over_scikit_learn(name, shots):
    features = bank()
    tasks = sample_closed(features.labels, tasks=6, shots=shots, queries=1)
    ours = resampled.run(
        ConfiguredMethod(features, None, LogisticRegression(tol=1e-9)), tasks, [name]
    )[name]
    theirs = by_hand(features, tasks, name, SklearnLR(tol=1e-9, max_iter=5000))
    assert ours.to_numpy() == pytest.approx(theirs, abs=1e-12)


def test_bootstrap_estimates_are_those_of_a_loop_over_scikit_learn():
    features = bank()
    x = unit_features(features)
    tasks = sample_closed(features.labels, tasks=4, shots=(4, 4, 5, 6, 6), queries=1)
    ours = resampled.run(
        ConfiguredMethod(features, None, LogisticRegression(tol=1e-9)),
        tasks,
        ["bootstrap"],
        rounds=7,
        seed=2,
    )
    split = bootstrap_split(tasks, 7, 2).tasks
    scores = []
    for s, a, q, b in zip(split.support, split.support_label, split.query, split.query_label):
        fitted = SklearnLR(tol=1e-9, max_iter=5000).fit(x[s[s >= 0]], a[a >= 0])
        scores.append(fitted.score(x[q[q >= 0]], b[b >= 0]))
    assert ours["bootstrap"].to_numpy() == pytest.approx(
        np.reshape(scores, (4, 7)).mean(axis=1), abs=1e-12
    )


def test_estimate_is_the_mean_over_resplits_and_nan_without_any():
    record = Outcomes(np.array([[1, 0], [1, 1], [0, 0]], bool), np.array([[0, 1], [0, -1], [0, 1]]))
    record.correct[1, 1] = False  # padding
    estimates = resampled.estimate(record, np.array([0, 0, 2]), 4)
    assert estimates == pytest.approx([0.75, np.nan, 0, np.nan], nan_ok=True)


def test_run_has_a_column_a_name_and_the_oracle_reads_the_query():
    features = bank()
    tasks = sample_closed(features.labels, tasks=5, queries=4)
    method = ConfiguredMethod(features, None, NearestCentroid())
    table = resampled.run(method, tasks)
    assert list(table) == ["oracle", *ESTIMATORS] and len(table) == 5
    assert (table["oracle"] == evaluate(method.learner, features, tasks).accuracy()).all()
    other_queries = replace(tasks, query=tasks.query[::-1], unseen=False)
    repeated = resampled.run(method, other_queries, list(ESTIMATORS))
    assert (repeated == table[list(ESTIMATORS)]).all(axis=None)  # no estimator has seen the query
    assert resampled.run(method, tasks, stored=True).equals(table)
    assert (
        resampled.run(ConfiguredMethod(features, None, LogisticRegression()), tasks, stored=True)
        is None
    )
