"""Does an answer depend on the other queries? On learners that do and do not, and on every learner
that ships.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch
from refusal import refuses, says_in_one_line

from fslbook.learners import Interventional
from fslcore import learners
from fslcore.catalogue import reads_images, registered_learners
from fslcore.datasets.bank import Bank
from fslcore.evaluation import check_transductive
from fslcore.learners import NearestCentroid
from fslcore.models.backbones import Backbone
from fslcore.models.networks import Conv4
from fslcore.tasks import sample_closed

RNG = np.random.default_rng(0)
LABELS = np.arange(8).repeat(25)
MAP = (8, 3, 3)
FEATURES = Bank(
    torch.from_numpy(RNG.normal(size=(200, 72)) + 2 * np.eye(72)[LABELS]).float(),
    LABELS,
    "features",
)
FEATURES = replace(FEATURES, text=torch.eye(8, 72), center=FEATURES.data.mean(dim=0))
CENTRES = RNG.integers(0, 256, (8, 28, 28, 1)).repeat(25, 0)
PIXELS = (CENTRES + RNG.normal(0, 90, (200, 28, 28, 1))).clip(0, 255).astype(np.uint8)
PICTURES = Bank(torch.from_numpy(PIXELS), LABELS, "pictures")
TASKS = sample_closed(LABELS, tasks=3, shots=3, queries=4)
UNEVEN = sample_closed(LABELS, tasks=3, shots=(1, 2, 3, 3, 2), queries=(4, 2, 3, 1, 2))


def network(name):
    torch.manual_seed(0)
    backbone = Backbone(
        f"conv4-{name}", "", "", 32, Conv4(8).eval(), (0.5,) * 3, (0.5,) * 3, 32, "bilinear", "0"
    )
    return (
        replace(backbone, head=torch.nn.Linear(32, 5).state_dict()) if name == "boil" else backbone
    )


def shipped(name, **settings):
    if reads_images(name):
        return learners.make(name, network(name), **settings), PICTURES
    kind = learners.learner_class(name)
    if kind.needs_feature_map:
        settings["map"] = MAP
    if kind.needs_dim:
        settings["dim"] = 72
    torch.manual_seed(0)
    learner = kind(**settings)
    if isinstance(learner, Interventional):
        learner.set_base_classes(torch.nn.Linear(72, 3), torch.rand(3, 72))
    if name in TRANSDUCTIVE and isinstance(learner, torch.nn.Module):
        for weights in (
            learner.parameters()
        ):  # as training might leave them; untrained, the queries say nothing
            torch.nn.init.normal_(weights)
    return learner, FEATURES


TRANSDUCTIVE = [name for name, entry in registered_learners.items() if entry.transductive]
by_tasks = pytest.mark.parametrize("tasks", [TASKS, UNEVEN], ids=["even", "uneven"])


@pytest.mark.parametrize("name", [name for name in registered_learners if name not in TRANSDUCTIVE])
@by_tasks
def test_every_learner_that_ships_answers_a_query_by_itself(name, tasks):
    learner, bank = shipped(name, **({"epochs": 1} if name == "ft" else {}))
    result = check_transductive(learner, bank, tasks[: 1 if name == "ft" else 2], queries=3)
    assert not result.depends and max(result.moved.values()) < 1e-4, result
    assert result.queries in (3, 6) and result.together == result.alone
    assert result.changed == {"alone": 0, "order": 0, "class": 0}
    assert says_in_one_line(str(result), name, "not depend", f"{result.queries} asked")


@pytest.mark.parametrize("name", [*TRANSDUCTIVE, "maml", "boil"])
@by_tasks
def test_a_transductive_learner_depends_on_other_queries_but_not_on_their_order(name, tasks):
    result = check_transductive(
        *shipped(name, **({} if name in TRANSDUCTIVE else {"transductive": True})),
        tasks[:2],
        queries=3,
    )
    assert (
        result.depends
        and min(result.moved["alone"], result.moved["class"]) > 0.1 > result.moved["order"]
    )
    assert "DEPEND on the other queries" in str(result)
    if name in TRANSDUCTIVE:
        assert result.moved["order"] < 1e-3 and result.changed["order"] == 0


class Centred(NearestCentroid):
    """Subtracts the mean of the queries."""

    def scores(self, bank, tasks):
        scores = super().scores(bank, tasks)
        is_query = torch.as_tensor(tasks.query >= 0)[..., None]
        return scores - (scores * is_query).sum(dim=1, keepdim=True) / is_query.sum(
            dim=1, keepdim=True
        )


class Patient(NearestCentroid):
    """Gives a query something of the score of the one before it."""

    def scores(self, bank, tasks):
        scores = super().scores(bank, tasks)
        return scores + 0.3 * scores.roll(1, dims=1)


class Even(NearestCentroid):
    """Hands out classes evenly: a class that many queries score high for is lowered, but never on 1
    to 3 queries.
    """

    def scores(self, bank, tasks):
        scores = super().scores(bank, tasks)
        has_few = torch.as_tensor((tasks.query >= 0).sum(axis=1) < 4)[:, None, None]
        return scores - scores.mean(dim=1, keepdim=True).masked_fill(has_few, 0)


class OfOthers(NearestCentroid):
    """Looks at another query only where it is of the query's own class, which a probe one by one
    alone would miss.
    """

    def scores(self, bank, tasks):
        scores = super().scores(bank, tasks)
        is_query = torch.as_tensor(tasks.query >= 0)
        has_first_label = torch.as_tensor(tasks.query_label == tasks.query_label[:, :1])
        flips = (has_first_label | ~is_query).all(dim=1) & (is_query.sum(dim=1) > 1)
        return torch.where(flips[:, None, None], scores.flip(-1), scores)


@pytest.mark.parametrize(
    "learner, way", [(Centred, "alone"), (Patient, "order"), (Even, "alone"), (OfOthers, "class")]
)
@by_tasks
def test_neighbours_of_each_kind_are_found(learner, way, tasks):
    result = check_transductive(learner(), FEATURES, tasks)
    assert result.depends and result.moved[way] > 0.05, result
    if learner is OfOthers:
        assert result.moved["alone"] < 1e-4 and result.changed["class"] > 0
        assert "with their own class only" in str(result)


def test_what_is_counted():
    result = check_transductive(Centred(), FEATURES, TASKS, queries=100)
    answers = Centred().scores(FEATURES, TASKS).argmax(dim=-1).numpy()
    assert result.queries == 60 and result.together == pytest.approx(
        (answers == TASKS.query_label).mean()
    )
    # Alone, every score is what it is less itself: nothing, and the first class is said.
    assert result.alone == pytest.approx(0.2) and result.changed["alone"] == pytest.approx(
        (answers != 0).mean()
    )
    few = check_transductive(Centred(), FEATURES, TASKS, queries=2, seed=5)
    assert (
        few == check_transductive(Centred(), FEATURES, TASKS, queries=2, seed=5)
        and few.queries == 6
    )


def test_tasks_whose_queries_may_be_in_the_support_are_probed_too():
    query = np.concatenate([TASKS.query, TASKS.support], axis=1)
    query_label = np.concatenate([TASKS.query_label, TASKS.support_label], axis=1)
    result = check_transductive(
        NearestCentroid(),
        FEATURES,
        replace(TASKS, query=query, query_label=query_label, unseen=False),
    )
    assert not result.depends and result.queries == 15


def test_bad_input_is_refused():
    single = replace(TASKS, query=TASKS.query[:, :1], query_label=TASKS.query_label[:, :1])
    with refuses("tasks .*at least 2 queries"):
        check_transductive(NearestCentroid(), FEATURES, single)
    with refuses("bank, which has"):
        check_transductive(NearestCentroid(), Bank(FEATURES.data[:9], LABELS[:9], "few"), TASKS)
    for queries in (0, -1, 1.5):
        with refuses(f"^queries .*{queries}"):
            check_transductive(NearestCentroid(), FEATURES, TASKS, queries=queries)
