"""What `check_learner` finds: nothing in the learners that ship, and each fault in a learner that has it."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fslcore import learners
from fslcore.errors import InputError
from fslcore.learners import check_learner
from fslcore.models.backbones import Backbone
from fslcore.models.networks import Conv4

D, MAP = 64, (4, 4, 4)


def shipped(kind):
    """A learner of features as it is made for 64 of them; one that knows classes has been told some."""
    torch.manual_seed(0)
    made = kind(**({"dim": D} if kind.sized else {}), **({"map": MAP} if kind.places else {}))
    if kind.knows_classes:
        made.know(nn.Linear(D, 7), F.normalize(torch.randn(7, D), dim=1))
    return made


@pytest.mark.parametrize("kind", learners.of_features.values(), ids=learners.of_features)
def test_no_learner_of_features_has_a_fault(kind):
    check_learner(shipped(kind))


@pytest.mark.parametrize("name", learners.of_images)
def test_nor_has_one_of_images(name):
    torch.manual_seed(0)
    head = {"weight": torch.randn(3, 16), "bias": torch.zeros(3)} if name == "boil" else {}
    backbone = Backbone(
        f"conv4-{name}", "", "", 16, Conv4(4).eval(), (0.5,) * 3, (0.5,) * 3, 32, "bilinear", "w", head=head
    )
    check_learner(learners.of_images[name](backbone, **({"epochs": 2} if name == "ft" else {"steps": 2})))


class Sound:
    """The nearest centroid, without a fault; what breaks it is added below."""

    name = "sound"

    def config(self):
        return {"k": 1}

    def scores(self, bank, tasks):
        return self.found(bank, tasks)[0]

    def found(self, bank, tasks):
        support = torch.as_tensor(np.array(tasks.support))
        members = torch.as_tensor(np.array(tasks.support_label))[..., None] == torch.arange(tasks.ways)
        x, query = bank.data[support.clamp(min=0)], bank.data[torch.as_tensor(np.array(tasks.query)).clamp(min=0)]
        means = members.float().mT @ x / members.sum(1)[..., None]
        return -torch.cdist(query, means), query, x


def broken(said=None, **members):
    """`Sound` with other members; ``said(scores, query, x, bank, tasks)`` makes others of its scores."""
    if said is not None:
        members["scores"] = lambda self, bank, tasks: said(*self.found(bank, tasks), bank, tasks)
    return type("Broken", (Sound,), members)()


count = itertools.count()
FAULTS = {
    "config\\(\\) does not give JSON \\(TypeError": broken(config=lambda self: {"k": object()}),
    "config\\(\\) does not give JSON \\(ValueError": broken(config=lambda self: {"k": float("nan")}),
    "config\\(\\) differs each time": broken(config=lambda self: {"k": next(count)}),
    "config\\(\\) differs after scores": broken(
        config=lambda self: dict(vars(self)), scores=lambda self, b, t: vars(self).update(n=1) or self.found(b, t)[0]
    ),
    "scores are of shape \\(4, 3, 6\\), not a tensor of shape \\(4, 6, 3\\)": broken(lambda s, *_: s.mT),
    "scores are a list, not a tensor": broken(lambda s, *_: s.tolist()),
    "scores are on meta, not on the bank's device, cpu": broken(lambda s, *_: s.to("meta")),
    "12 of 72 scores are NaN or infinite": broken(lambda s, *_: s.index_fill(1, torch.tensor([0]), torch.nan)),
    "scores differ when it is asked again": broken(lambda s, *_: s + torch.randn(s.shape)),
    "scores depend on how many tasks are asked together": broken(lambda s, *_: s * len(s)),
    "scores depend on the order of tasks": broken(
        lambda s, *_: s + (torch.arange(len(s)) if len(s) > 1 else 0 * s[:, 0, 0])[:, None, None]
    ),
    "scores depend on padding of the support": broken(lambda s, q, x, *_: s - torch.cdist(q, x.mean(1, keepdim=True))),
    "scores depend on padding of the queries": broken(
        lambda s, q, *_: s + q.mean((1, 2), keepdim=True), transductive=True
    ),
    "scores depend on the other queries of a task, but transductive is False": broken(
        lambda s, q, x, bank, tasks: s + torch.as_tensor(tasks.query).amax(1)[:, None, None]
    ),
    "it changes the bank": broken(lambda s, q, x, bank, _: (s, bank.data.mul_(2))[0]),
    "it changes the tasks": broken(lambda s, q, x, _, tasks: tasks.query.sort(axis=1) or s),
    "scores fails with KeyError: 'x'": broken(lambda *_: {}["x"]),
}


def test_a_sound_learner_has_no_fault():
    check_learner(Sound())
    assert check_learner(SimpleNamespace(scores=Sound().scores)) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_told(fault):
    with pytest.raises(InputError, match=f"^learner = sound; \\d faults?: .*{fault}"):
        check_learner(FAULTS[fault])
