"""Learners on frozen features, plain and with the backdoor adjustment, against plain loops."""

import copy

import numpy as np
import pytest
import torch
from refusal import refuses
from safetensors.torch import load_file

from fslbook import training
from fslbook.learners import MTLIFSL, SIB, SIBIFSL, FrozenMAMLIFSL, MatchingNet, MatchingNetIFSL
from fslcore import learners
from fslcore.datasets.bank import Bank
from fslcore.models import backbones
from fslcore.tasks import sample_closed
from tests.book.training import conftest as easy_classes
from tests.learners.learner_inputs import UNEVEN, as_trained, features, task_tensors, unit

DIM = 24
labels, small = easy_classes.labels, easy_classes.small  # fixtures


@pytest.fixture(scope="module")
def bank():
    return features(classes=12, n=30, dim=DIM)


@pytest.fixture(scope="module")
def tasks(bank):
    return sample_closed(bank.labels, tasks=3, shots=UNEVEN, queries=4)


def test_matching_networks_weigh_each_image_by_its_cosine(bank, tasks):
    learner = as_trained(MatchingNet)
    scores = learner.scores(bank, tasks).detach()
    scale = learner.log_scale.exp().item()
    for answer, (x, y, z) in zip(scores, task_tensors(unit(bank.data.double().numpy()), tasks)):
        pull = np.exp(scale * z @ x.T)
        share = np.stack([pull[:, y == k].sum(1) for k in range(5)], axis=1) / pull.sum(
            1, keepdims=True
        )
        assert answer.numpy() == pytest.approx(np.log(share), abs=1e-4)
    vanishing = MatchingNet(scale=1e4).scores(bank, tasks)
    assert torch.isfinite(vanishing).all() and vanishing.min() < -80


def synthetic_slope(learner, w, query):
    """Gradient of class weights w by the scores of one query, which the learner's network gives."""
    scale = learner.log_scale.exp().item()
    cosine = unit(w) @ query
    p = np.exp(scale * cosine) / np.exp(scale * cosine).sum()
    entropy = np.full(5, -(p * np.log(p)).sum())
    read = torch.from_numpy(np.stack([np.log(p), p, entropy], axis=1))
    synthetic = copy.deepcopy(learner.gradient).double()(read).detach().numpy()
    along = (query - cosine[:, None] * unit(w)) / np.linalg.norm(w, axis=1, keepdims=True)
    return synthetic * scale * along


def test_sib_follows_the_gradient_of_its_network_query_by_query(bank, tasks):
    learner = as_trained(SIB, DIM, steps=3, lr=0.7)
    scores = learner.scores(bank, tasks).numpy()
    factor = learner.factor.detach().double().numpy()
    for answer, (x, y, z) in zip(scores, task_tensors(unit(bank.data.double().numpy()), tasks)):
        w = np.stack([x[y == k].mean(axis=0) * factor for k in range(5)])
        for _ in range(3):
            w = w - 0.7 * np.mean([synthetic_slope(learner, w, query) for query in z], axis=0)
        expected = learner.log_scale.exp().item() * z @ unit(w).T
        assert answer == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("settings", [{}, {"parts": 3, "classes": False}], ids=str)
@pytest.mark.parametrize(
    "kind", [MatchingNetIFSL, FrozenMAMLIFSL, MTLIFSL, SIBIFSL], ids=lambda kind: kind.name
)
def test_the_adjustment_is_that_of_the_paper_image_by_image(bank, tasks, kind, settings):
    """Feature-wise, class-wise and both: each part's features in a bank of their own."""
    learner = as_trained(kind, DIM, **settings)
    n = settings.get("parts", 4)
    classes = settings.get("classes", True)
    x = bank.data.double().numpy()
    parts = np.split(unit(np.where(abs(x) > 1e-3, x, 0)), n, axis=1)
    if classes:
        weight, bias, means = (
            v.double().numpy() for v in (learner.weight, learner.bias, learner.means)
        )
        share = np.exp(x @ weight.T + bias)
        expected = share / share.sum(1, keepdims=True) @ means
        parts = [np.concatenate(pair, axis=1) for pair in zip(parts, np.split(expected, n, axis=1))]
    probabilities = [
        torch.softmax(
            part.scores(Bank(torch.from_numpy(rows).float(), bank.labels, ""), tasks), dim=-1
        ).detach()
        for part, rows in zip(learner.parts, parts, strict=True)
    ]
    assert n == 1 or (probabilities[0] - probabilities[1]).abs().max() > 1e-3
    assert learner.scores(bank, tasks).exp().detach() == pytest.approx(
        sum(probabilities) / n, abs=1e-5
    )


def test_settings_of_parts_and_of_the_adjusted_learner_decide_the_key():
    for kind in (FrozenMAMLIFSL, MTLIFSL, SIBIFSL):
        configs = [
            as_trained(kind, DIM, **settings).config()
            for settings in ({}, {"steps": 7}, {"parts": 2})
        ]
        assert configs[0] != configs[1] and configs[0]["parts"] == 4 and configs[2]["parts"] == 2
    assert as_trained(SIBIFSL, DIM, lr=0.123).config() != as_trained(SIBIFSL, DIM).config()


def test_the_network_s_classes_are_those_of_base_and_come_back_with_the_settings(small, tmp_path):
    base = small("small", "base")
    path = tmp_path / "start.safetensors"
    training.train("baseline", path, progress=False, epochs=2, steps=8, lr=0.003, size=32)
    start = f"conv4-baseline:{path}"
    path = tmp_path / "s.safetensors"
    options = {"parts": 2, "steps": 2, "threshold": 0.01}
    training.train(
        "sib-ifsl", path, epochs=1, steps=4, size=1, frozen=start, progress=False, options=options
    )
    backbone = backbones.load(f"conv4-sib-ifsl:{path}")
    learner = learners.make("sib-ifsl", backbone)
    assert (len(learner.parts), learner.threshold, learner.parts[0].steps) == (2, 0.01, 2)
    assert learners.make("sib-ifsl", backbone, threshold=0.2).threshold == 0.2
    tensors = load_file(path)
    stored = {name.removeprefix("head."): tensors[name] for name in tensors if "head." in name}
    state = learner.state_dict()
    assert state.keys() == stored.keys() and all(
        torch.equal(state[name], stored[name]) for name in stored
    )
    x = backbones.features(base, backbones.load(start)).data.numpy()
    means = np.stack([unit(x[base.labels == k]).mean(axis=0) for k in range(6)])
    assert learner.means.numpy() == pytest.approx(means, abs=1e-5)
    predicted = (x @ learner.weight.numpy().T + learner.bias.numpy()).argmax(axis=1)
    assert (predicted == base.labels).mean() > 0.8


def test_bad_settings(bank, tasks, tmp_path):
    for parts, message in (
        (0, "parts must be an integer"),
        (5, "parts = 5; 24 features are not so many equal parts"),
    ):
        with refuses(message):
            MatchingNetIFSL(DIM, parts=parts)
    with refuses("learner = mtl-ifsl", "network"):
        MTLIFSL(DIM).scores(bank, tasks)
    with refuses("frozen", "''", "mtl-ifsl", "backbone"):
        training.train("mtl-ifsl", tmp_path / "m.safetensors", frozen="")
    assert not list(tmp_path.glob("*m.*"))
