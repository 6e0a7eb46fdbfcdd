"""Banks of features, learners, changed tasks and a plain descent, for the tests of several
learners.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from fslbook.learners import Interventional
from fslcore.datasets.bank import Bank
from fslcore.models.backbones import Backbone
from fslcore.models.networks import GlyphConv

UNEVEN = (4, 4, 5, 6, 6)  # shots
DIM = 96
MAP = (8, 3, 4)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def features(classes=20, n=60, dim=DIM, spread=0.35, seed=0):
    """Features like those of a network: not negative, some hardly there, classes that overlap."""
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(classes, dim))
    x = np.maximum(centres.repeat(n, 0) + rng.normal(size=(classes * n, dim)), 0)
    x[rng.random(x.shape) < 0.1] = 5e-4
    text = torch.from_numpy(centres).float()
    center = torch.full((dim,), 0.4)
    return Bank(
        torch.from_numpy(x).float(), np.arange(classes).repeat(n), "test", text=text, center=center
    )


def as_trained(kind, dim=DIM, map=MAP, **settings):
    """A learner with weights as training might leave them, that knows seven training classes."""
    torch.manual_seed(0)
    shape = {"dim": dim} if kind.needs_dim else {}
    shape |= {"map": map} if kind.needs_feature_map else {}
    learner = kind(**shape, **settings)
    if isinstance(learner, Interventional):
        learner.set_base_classes(nn.Linear(dim, 7), torch.rand(7, dim) / 5)
    with torch.no_grad():
        for weight in learner.trained.parameters() if learner.trained else ():
            weight += 0.1 * torch.randn(weight.shape)
    return learner


def task_rows(tasks):
    """Support, its labels and queries of each task, without padding."""
    for support, label, query in zip(tasks.support, tasks.support_label, tasks.query):
        yield support[label >= 0], label[label >= 0], query[query >= 0]


def task_tensors(data, tasks):
    """The rows of ``data`` that `task_rows` names, and the labels."""
    for support, label, query in task_rows(tasks):
        yield data[support], torch.as_tensor(label.copy()), data[query]


def padded(tasks):
    """The same tasks with two columns of padding on each side."""
    names = ("support", "support_label", "query", "query_label")
    arrays = {
        name: np.pad(getattr(tasks, name), ((0, 0), (2, 2)), constant_values=-1) for name in names
    }
    return replace(tasks, **arrays)


def without_classes(tasks, *classes):
    """The same tasks without support of some classes."""
    empty = np.isin(tasks.support_label, classes)
    support, label = (np.where(empty, -1, array) for array in (tasks.support, tasks.support_label))
    return replace(tasks, support=support, support_label=label)


def zero_head(dim, ways=5):
    head = nn.Linear(dim, ways)
    for weight in head.parameters():
        nn.init.zeros_(weight)
    return head


def descend(network, parameters, x, y, steps, lr):
    """Plain gradient descent on the cross-entropy of a support."""
    optimiser = torch.optim.SGD(parameters, lr)
    for _ in range(steps):
        optimiser.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimiser.step()


def plain_sinkhorn(cost, epsilon):
    """Rows and columns of exp(-cost / ε) scaled in turn, until nothing changes."""
    plan = np.exp(-cost / epsilon)
    for _ in range(100_000):
        before = plan
        plan = plan / plan.sum(1, keepdims=True) / len(plan)
        plan = plan / plan.sum(0, keepdims=True) / plan.shape[1]
        if np.abs(plan - before).max() < 1e-13:
            return plan


def minus_distance(x, means):
    return -((x[:, None] - means) ** 2).sum(-1)


def noisy_pictures():
    """25 noisy images of each of eight patterns."""
    rng = np.random.default_rng(0)
    centres = rng.integers(0, 256, (8, 28, 28, 1))
    x = (centres.repeat(25, 0) + rng.normal(0, 90, (200, 28, 28, 1))).clip(0, 255).astype(np.uint8)
    return Bank(torch.from_numpy(x), np.arange(8).repeat(25), "pictures")


def glyph_like():
    """A GlyphConv with random weights and batch statistics."""
    torch.manual_seed(0)
    network = GlyphConv()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.running_mean, -0.2, 0.2)
            torch.nn.init.uniform_(module.running_var, 0.5, 1.5)
    return Backbone(
        "test",
        dim=GlyphConv.dim,
        network=network.eval(),
        mean=(0.5,) * 3,
        std=(0.5,) * 3,
        resolution=28,
    )
