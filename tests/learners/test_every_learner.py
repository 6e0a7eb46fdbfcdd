"""What holds for all learners: faults, classes, batches, transduction, gradients and keys."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from learner_inputs import as_trained, features, without_classes
from torch import nn
from torch.nn import functional as F

from fslbook.learners import ANIL, LEO, MTL, SIB, FrozenMAML, LinearLayer, RawLogisticRegression
from fslcore import learners
from fslcore.catalogue import registered_learners
from fslcore.learners import check_learner, learner_class
from fslcore.learners.protocol import Learner
from fslcore.models import backbones
from fslcore.models.backbones import Backbone
from fslcore.models.networks import Conv4
from fslcore.tasks import sample_closed

NAMES_OF_IMAGES = [name for name, entry in registered_learners.items() if entry.reads == "images"]
KINDS = [learner_class(name) for name in registered_learners if name not in NAMES_OF_IMAGES]
# No recipe trains a network through the classifiers of Baseline, whose steps overwrite their weights.
BASELINES = (LinearLayer, RawLogisticRegression)
TRAINED = [kind for kind in KINDS if issubclass(kind, nn.Module) and kind not in BASELINES]
SETTINGS = {
    "text-probe": {"C": 1.0, "scale": 10.0}
}  # random names take the defaults a thousand steps
of_all = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def made(kind, **shape):
    return as_trained(kind, **SETTINGS.get(kind.name, {}), **shape)


#: Of the learners of the library, as the papers and their docstrings have them. They are part of the keys of results.
DEFAULTS = {
    "ncc": {},
    "lr": {"C": 1.0, "tol": 1e-6, "max_iter": 1000},  # of scikit-learn, but for tol
    "ft": {"epochs": 30, "lr": 1e-4, "head_lr": 0.1},
    "cosine": {"scale": 10.0, "steps": 100, "lr": 0.1},
    "protonet": {},
    "simpleshot": {"transform": "CL2N", "center": None},
}


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_of_stored_results(name):
    config = learners.make(name, backbones.load("glyph-conv")).config()
    about = ("learner", "version", "backbone")
    assert {key: value for key, value in config.items() if key not in about} == DEFAULTS[name]


@of_all
def test_no_learner_of_features_has_a_fault(kind):
    check_learner(as_trained(kind, 64, (4, 4, 4)))


@pytest.mark.parametrize("name", NAMES_OF_IMAGES)
def test_no_learner_of_images_has_a_fault(name):
    torch.manual_seed(0)
    head = {"weight": torch.randn(3, 16), "bias": torch.zeros(3)} if name == "boil" else {}
    backbone = Backbone(f"conv4-{name}", network=Conv4(4).eval(), dim=16, resolution=32, head=head)
    kind = learner_class(name)
    assert Learner in kind.__mro__
    check_learner(kind(backbone, **{"epochs" if name == "ft" else "steps": 2}))


@of_all
def test_classes_come_in_any_number_and_order_and_absent_ones_are_never_predicted(kind):
    bank = features(classes=12, n=30, spread=0.12)
    learner = made(kind)
    tasks = sample_closed(bank.labels, tasks=4, ways=6, shots=3)
    scores = learner.scores(bank, tasks).detach()
    order = np.array([3, 0, 5, 1, 2, 4])  # class k becomes order[k]
    renamed = replace(
        tasks, support_label=order[tasks.support_label], query_label=order[tasks.query_label]
    )
    assert learner.scores(bank, renamed)[..., order].detach() == pytest.approx(scores, abs=1e-3)
    left = learner.scores(bank, without_classes(tasks, 5)).detach()
    assert torch.isneginf(left[..., 5]).all() and torch.isfinite(left[..., :5]).all()
    rows = tasks.support_label[0] != 5
    support = dict(support=tasks.support[:, rows], support_label=tasks.support_label[:, rows])
    five = replace(tasks, **support, query_label=np.minimum(tasks.query_label, 4), ways=5)
    assert left[..., :5] == pytest.approx(learner.scores(bank, five).detach(), abs=1e-3)


@pytest.mark.parametrize("kind", [ANIL, LEO, MTL, FrozenMAML, SIB], ids=lambda kind: kind.name)
def test_the_gradient_through_the_steps_is_that_of_finite_differences(kind):
    learner = as_trained(kind, 6, steps=2).double().train()
    if kind is LEO:
        learner.weight_of["drift"] = (
            0.0  # its target is held fixed, which finite differences do not do
        )
    x, z = (torch.randn(2, n, 6, dtype=torch.double, requires_grad=True) for n in (6, 5))
    members = F.one_hot(torch.tensor([[0, 0, 1, 1, 2, 2], [0, 1, 2, 2, 1, 0]])).double()
    target = torch.tensor([[0, 1, 2, 0, 1], [2, 1, 0, 1, 2]])

    def loss(x, z):
        torch.manual_seed(0)  # the same codes and weights of LEO
        return learner.loss(learner(x, members, z), target)

    assert torch.autograd.gradcheck(loss, (x, z), atol=1e-5)


@pytest.mark.parametrize("kind", TRAINED, ids=lambda kind: kind.name)
def test_training_reaches_the_network_and_every_weight_which_decides_the_key(kind):
    network = Conv4(8, pooled=3)
    learner = as_trained(kind, 128, (8, 4, 4))
    x = torch.rand(2, 6, 3, 32, 32)
    z = torch.rand(2, 4, 3, 32, 32)
    members = F.one_hot(torch.arange(6) // 2, 3).float().expand(2, -1, -1)
    scores = learner.on_images(network, x, members, z)
    # A bias of all classes changes no cross-entropy, but the scores.
    (learner.loss(scores, torch.tensor([[0, 1, 2, 0]] * 2)) + scores.square().mean()).backward()
    for name, weight in [*network.named_parameters(), *learner.named_parameters()]:
        assert (
            weight.grad is not None and torch.isfinite(weight.grad).all() and weight.grad.any()
        ), name
    key = json.dumps(learner.config())
    for name, weight in learner.state_dict().items():
        before = weight.clone()
        weight.view(-1)[0] += 1
        assert json.dumps(learner.config()) != key, name
        weight.copy_(before)
    assert json.dumps(learner.config()) == key


OTHER_WORD = {"logistic": "nearest", "nearest": "logistic"}


def changed_value(value):
    """Another value that a setting may have."""
    if isinstance(value, bool):
        return not value
    return OTHER_WORD[value] if isinstance(value, str) else 2 * value or 1


@of_all
def test_every_setting_decides_the_key(kind):
    learner = as_trained(kind)
    assert learner.config()["learner"] == kind.name
    for name in kind.settings:
        changed = as_trained(kind, **{name: changed_value(getattr(learner, name))})
        assert changed.config() != learner.config(), name
