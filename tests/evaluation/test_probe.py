"""Does an answer depend on the other queries? On learners that do and do not, and on every learner that ships."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from fslcore import learners
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import probe
from fslcore.learners import NearestCentroid
from fslcore.models.backbones import Backbone
from fslcore.models.networks import Conv4
from fslcore.tasks import sample_closed

RNG = np.random.default_rng(0)
LABELS = np.arange(8).repeat(25)
MAP = (8, 3, 3)
FEATURES = Bank(torch.from_numpy(RNG.normal(size=(200, 72)) + 2 * np.eye(72)[LABELS]).float(), LABELS, "features")
FEATURES = replace(FEATURES, text=torch.eye(8, 72), center=FEATURES.data.mean(dim=0))
CENTRES = RNG.integers(0, 256, (8, 28, 28, 1)).repeat(25, 0)
PIXELS = (CENTRES + RNG.normal(0, 90, (200, 28, 28, 1))).clip(0, 255).astype(np.uint8)
PICTURES = Bank(torch.from_numpy(PIXELS), LABELS, "pictures")
TASKS = sample_closed(LABELS, tasks=3, shots=3, queries=4)
UNEVEN = sample_closed(LABELS, tasks=3, shots=(1, 2, 3, 3, 2), queries=(4, 2, 3, 1, 2))


def network(name):
    torch.manual_seed(0)
    made = Backbone(f"conv4-{name}", "", "", 32, Conv4(8).eval(), (0.5,) * 3, (0.5,) * 3, 32, "bilinear", "0")
    return replace(made, head=torch.nn.Linear(32, 5).state_dict()) if name == "boil" else made


def shipped(name, **settings):
    if name in learners.of_images:
        return learners.make(name, network(name), **settings), PICTURES
    kind = learners.of_features[name]
    if issubclass(kind, learners.OnMaps):
        settings["map"] = MAP
    torch.manual_seed(0)
    made = kind(**settings, **({"dim": 72} if getattr(kind, "sized", False) else {}))
    if isinstance(made, learners.Interventional):
        made.know(torch.nn.Linear(72, 3), torch.rand(3, 72))
    if getattr(kind, "transductive", False) and isinstance(made, torch.nn.Module):
        for w in made.parameters():  # as training might leave them; untrained, the queries say nothing
            torch.nn.init.normal_(w)
    return made, FEATURES


TRANSDUCTIVE = [name for name, kind in learners.of_features.items() if getattr(kind, "transductive", False)]


@pytest.mark.parametrize("name", [name for name in learners.names if name not in TRANSDUCTIVE])
@pytest.mark.parametrize("tasks", [TASKS, UNEVEN], ids=["even", "uneven"])
def test_every_learner_that_ships_answers_a_query_by_itself(name, tasks):
    learner, bank = shipped(name, **({"epochs": 1} if name == "ft" else {}))
    found = probe(learner, bank, tasks[: 1 if name == "ft" else 2], queries=3)
    assert not found.depends and max(found.moved.values()) < 1e-4, found
    assert (
        found.queries in (3, 6)
        and found.changed == {"alone": 0, "order": 0, "class": 0}
        and found.together == found.alone
    )
    assert str(found).startswith(
        f"{name}: answers do not depend on the other queries ({found.queries} asked one by one)"
    )


@pytest.mark.parametrize("name", TRANSDUCTIVE)
@pytest.mark.parametrize("tasks", [TASKS, UNEVEN], ids=["even", "uneven"])
def test_a_transductive_learner_depends_on_neighbours_but_not_on_their_order(name, tasks):
    found = probe(*shipped(name), tasks, queries=3)
    assert found.depends and found.moved["alone"] > 0.1 and found.moved["class"] > 0.1 and found.moved["order"] < 1e-3
    assert found.changed["order"] == 0 and "DEPEND on the other queries" in str(found)


@pytest.mark.parametrize("name", ["maml", "boil"])
def test_batch_statistics_are_found(name):
    found = probe(*shipped(name, transductive=True), TASKS[:2], queries=3)
    assert found.depends and found.moved["alone"] > 0.1 and found.moved["class"] > 0.1 > found.moved["order"]
    assert "DEPEND on the other queries" in str(found)


class Centred(NearestCentroid):
    """Subtracts the mean of the queries."""

    def scores(self, bank, tasks):
        found = super().scores(bank, tasks)
        there = torch.as_tensor(tasks.query >= 0)[..., None]
        return found - (found * there).sum(dim=1, keepdim=True) / there.sum(dim=1, keepdim=True)


class Patient(NearestCentroid):
    """Gives a query something of the score of the one before it."""

    def scores(self, bank, tasks):
        found = super().scores(bank, tasks)
        return found + 0.3 * found.roll(1, dims=1)


class Even(NearestCentroid):
    """Hands out classes evenly: a class that many queries score high for is lowered, but never on 1 to 3 queries."""

    def scores(self, bank, tasks):
        found = super().scores(bank, tasks)
        few = torch.as_tensor((tasks.query >= 0).sum(axis=1) < 4)[:, None, None]
        return found - found.mean(dim=1, keepdim=True).masked_fill(few, 0)


class OfOthers(NearestCentroid):
    """Looks at another query only where it is of the query's own class, which a probe one by one alone would miss."""

    def scores(self, bank, tasks):
        found = super().scores(bank, tasks)
        alike = torch.as_tensor((tasks.query_label == tasks.query_label[:, :1]) | (tasks.query < 0)).all(dim=1)
        many = torch.as_tensor(tasks.query >= 0).sum(dim=1) > 1
        return torch.where((alike & many)[:, None, None], found.flip(-1), found)


@pytest.mark.parametrize("learner, way", [(Centred, "alone"), (Patient, "order"), (Even, "alone"), (OfOthers, "class")])
@pytest.mark.parametrize("tasks", [TASKS, UNEVEN], ids=["even", "uneven"])
def test_neighbours_of_each_kind_are_found(learner, way, tasks):
    found = probe(learner(), FEATURES, tasks)
    assert found.depends and found.moved[way] > 0.05, found
    if learner is OfOthers:
        assert found.moved["alone"] < 1e-4 and found.changed["class"] > 0
        assert "with their own class only" in str(found)


def test_what_is_counted():
    found = probe(Centred(), FEATURES, TASKS, queries=100)
    assert found.queries == 60
    together = Centred().scores(FEATURES, TASKS).argmax(dim=-1).numpy()
    assert found.together == pytest.approx((together == TASKS.query_label).mean())
    # Alone, every score is what it is less itself: nothing, and the first class is said.
    assert found.alone == pytest.approx(0.2) and found.changed["alone"] == pytest.approx((together != 0).mean())
    again = probe(Centred(), FEATURES, TASKS, queries=2, seed=5)
    assert again == probe(Centred(), FEATURES, TASKS, queries=2, seed=5) and again.queries == 6


def test_tasks_whose_queries_may_be_in_the_support_are_probed_too():
    both = {
        name: np.concatenate([getattr(TASKS, name), getattr(TASKS, of)], axis=1)
        for name, of in (("query", "support"), ("query_label", "support_label"))
    }
    found = probe(NearestCentroid(), FEATURES, replace(TASKS, **both, unseen=False))
    assert not found.depends and found.queries == 15


def test_bad_input_is_told():
    with pytest.raises(InputError, match="single query"):
        probe(
            NearestCentroid(), FEATURES, replace(TASKS, query=TASKS.query[:, :1], query_label=TASKS.query_label[:, :1])
        )
    with pytest.raises(InputError, match="the bank has"):
        probe(NearestCentroid(), Bank(FEATURES.data[:9], LABELS[:9], "few"), TASKS)
