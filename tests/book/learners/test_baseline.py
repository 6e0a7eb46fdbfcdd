"""Baseline's classifiers on raw features, against scikit-learn and against PyTorch's own optimiser."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression as SklearnLR
from torch import nn

from fslbook.learners import LinearLayer, RawLogisticRegression
from fslcore.datasets.bank import Bank
from fslcore.learners import LogisticRegression
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import features, padded, task_rows, without_classes


def long_features(length=35.0, **shape):
    """Features of about the length that those of a small convolutional network have."""
    bank = features(**{"dim": 64, "spread": 0.3} | shape)
    factor = length / bank.data.norm(dim=-1).mean()
    return Bank(bank.data * factor, bank.labels, bank.digest)


@pytest.mark.parametrize("ways", [2, 5, 12])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_raw_logistic_regression_is_scikit_learn_on_the_features_as_they_are(ways, C):
    bank = long_features(classes=12)
    tasks = padded(sample_closed(bank.labels, tasks=3, ways=ways))
    learner = RawLogisticRegression(C=C, tol=1e-8, max_iter=20_000)
    logits = learner.scores(bank, tasks)
    x = bank.data.double().numpy()
    for t, (support, label, query) in enumerate(task_rows(tasks)):
        model = SklearnLR(C=C, tol=1e-10, max_iter=10_000, solver="newton-cholesky").fit(
            x[support], label
        )
        ours = torch.softmax(logits[t, tasks.query[t] >= 0], -1)
        assert ours[:, model.classes_] == pytest.approx(model.predict_proba(x[query]), abs=1e-4)


def test_one_length_of_all_features_is_a_factor_of_the_penalty():
    """If all features have length r, C is C r² of the learner that divides by it."""
    bank = long_features()
    unit = bank.data / bank.data.norm(dim=-1, keepdim=True)
    tasks = sample_closed(bank.labels, tasks=4)
    raw = RawLogisticRegression(tol=1e-7).scores(Bank(20 * unit, bank.labels, ""), tasks)
    assert raw == pytest.approx(LogisticRegression(C=400).scores(bank, tasks), abs=1e-3)


def by_torch(learner, x, label, ways):
    """The weights and intercepts of a layer that PyTorch fits, with the learner's start and order."""
    layer = nn.Linear(x.shape[1], ways, dtype=torch.float64)
    weights, intercept = learner.start(ways, x.shape[1])
    layer.weight.data, layer.bias.data = torch.tensor(weights), torch.tensor(intercept)
    optimiser = torch.optim.SGD(
        layer.parameters(),
        lr=learner.lr,
        momentum=learner.momentum,
        dampening=learner.dampening,
        weight_decay=learner.weight_decay,
    )
    for keys in learner.orders(len(x)):
        for rows in torch.tensor(keys).argsort().split(learner.batch):
            optimiser.zero_grad()
            nn.functional.cross_entropy(layer(x[rows]), label[rows]).backward()
            optimiser.step()
    return layer.weight.detach(), layer.bias.detach()


@pytest.mark.parametrize("shots", [1, 5, (2, 3, 4, 5, 5)])
def test_the_linear_layer_is_that_of_a_plain_loop(shots):
    bank = long_features()
    tasks = sample_closed(bank.labels, tasks=2, shots=shots, queries=3)
    learner = LinearLayer(epochs=20)
    scores = learner.scores(bank, tasks)
    x = bank.data.double()
    for t, (support, label, query) in enumerate(task_rows(tasks)):
        weights, intercept = by_torch(learner, x[support], torch.as_tensor(label).long(), 5)
        assert scores[t, tasks.query[t] >= 0] == pytest.approx(
            x[query] @ weights.T + intercept, abs=1e-4
        )


def test_a_smaller_task_beside_a_larger_one_has_the_result_that_it_has_alone():
    bank = long_features()
    tasks = sample_closed(bank.labels, tasks=3, shots=5, queries=3)
    smaller = without_classes(tasks, 3, 4)
    learner = LinearLayer(epochs=5)
    assert learner.scores(bank, tasks)[1] == pytest.approx(learner.scores(bank, tasks[1:2])[0])
    apart = learner.scores(bank, smaller)
    assert torch.isneginf(apart[..., 3:]).all() and torch.isfinite(apart[..., :3]).all()


def test_each_setting_of_the_linear_layer_changes_its_scores():
    bank = long_features()
    tasks = sample_closed(bank.labels, tasks=2, queries=2)
    usual = LinearLayer(epochs=5)
    before = usual.scores(bank, tasks)
    others = dict(lr=0.1, momentum=0.5, dampening=0.0, weight_decay=0.1, batch=2, epochs=6, seed=1)
    for name, value in others.items():
        learner = LinearLayer(**{"epochs": 5, name: value})
        assert not np.allclose(learner.scores(bank, tasks), before), name
        assert learner.config() != usual.config()
