"""`check_learner` names each fault of a learner that has it."""

import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from refusal import refuses

from fslcore.learners import check_learner


class Sound:
    """The nearest centroid, without a fault; what breaks it is added below."""

    name = "sound"

    def config(self):
        return {"k": 1}

    def scores(self, bank, tasks):
        return self.parts(bank, tasks)[0]

    def parts(self, bank, tasks):
        support = torch.as_tensor(np.array(tasks.support))
        members = torch.as_tensor(np.array(tasks.support_label))[..., None] == torch.arange(
            tasks.ways
        )
        x = bank.data[support.clamp(min=0)]
        query = bank.data[torch.as_tensor(np.array(tasks.query)).clamp(min=0)]
        means = members.float().mT @ x / members.sum(1)[..., None]
        return -torch.cdist(query, means), query, x


def broken(change=None, **members):
    """`Sound` with other members; ``change(scores, query, x, bank, tasks)`` makes others of its
    scores.
    """
    if change is not None:
        members["scores"] = lambda self, bank, tasks: change(*self.parts(bank, tasks), bank, tasks)
    return type("Broken", (Sound,), members)()


count = itertools.count()
FAULTS = {
    "config\\(\\) does not give JSON \\(TypeError": broken(config=lambda self: {"k": object()}),
    "config\\(\\) does not give JSON \\(ValueError": broken(
        config=lambda self: {"k": float("nan")}
    ),
    "config\\(\\) differs each time": broken(config=lambda self: {"k": next(count)}),
    "config\\(\\) differs after scores": broken(
        config=lambda self: dict(vars(self)),
        scores=lambda self, b, t: vars(self).update(n=1) or self.parts(b, t)[0],
    ),
    "scores .*shape \\(4, 6, 3\\), .*got shape \\(4, 3, 6\\)": broken(lambda s, *_: s.mT),
    "scores .*tensor .*got a list": broken(lambda s, *_: s.tolist()),
    "scores are on meta, not on the bank's device, cpu": broken(lambda s, *_: s.to("meta")),
    "12 of 72 scores are NaN or infinite": broken(
        lambda s, *_: s.index_fill(1, torch.tensor([0]), torch.nan)
    ),
    "scores differ when it is asked again": broken(lambda s, *_: s + torch.randn(s.shape)),
    "scores depend on how many tasks are asked together": broken(lambda s, *_: s * len(s)),
    "scores depend on the order of tasks": broken(
        lambda s, *_: s + (torch.arange(len(s)) if len(s) > 1 else 0 * s[:, 0, 0])[:, None, None]
    ),
    "scores depend on padding of the support": broken(
        lambda s, q, x, *_: s - torch.cdist(q, x.mean(1, keepdim=True))
    ),
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


@pytest.mark.parametrize("size", [1e-4, 1e4])
def test_what_is_rounding_depends_on_the_size_of_scores(size):
    def noisy(share):
        noise = partial(torch.randn, generator=torch.Generator().manual_seed(0))
        return broken(lambda s, *_: size * (s + share * s.std() * noise(s.shape)))

    check_learner(noisy(1e-6))  # of 32 bits
    with refuses("asked again"):
        check_learner(noisy(0.1))


def test_faults_are_counted():
    with refuses(r"\b1 fault\b"):
        check_learner(broken(lambda *_: {}["x"]))
    with refuses(r"\b2 faults\b", r"\(1\) .*\(2\) "):
        check_learner(broken(lambda *_: {}["x"], config=lambda self: {"k": object()}))


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_reported(fault):
    with refuses(f"^learner = sound; \\d faults?: .*{fault}"):
        check_learner(FAULTS[fault])
