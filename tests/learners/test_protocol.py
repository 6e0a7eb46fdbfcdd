"""The protocol of a learner: defaults, its configuration, and what is no learner."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from refusal import refuses

from fslbook.learners import DN4
from fslcore.datasets.bank import Bank
from fslcore.evaluation import ConfiguredMethod, evaluate
from fslcore.learners import Learner
from fslcore.learners.protocol import complete
from fslcore.tasks import sample_closed

LABELS = np.repeat(np.arange(6), 20)
BANK = Bank(torch.randn(120, 16, generator=torch.Generator().manual_seed(0)), LABELS, "bank")


def bare(**members):
    """As little as a learner can be, and some members."""
    return type("Bare", (), {"scores": lambda self, bank, tasks: None, **members})()


def test_missing_members_have_defaults():
    learner = complete(bare())
    assert (learner.name, learner.reads, learner.transductive, learner.reads_text) == (
        "Bare",
        "features",
        False,
        False,
    )
    assert learner.config() == {"learner": "Bare", "version": 1} and learner.trained is None
    learner = complete(bare(name="mine", reads="images", transductive=True))
    assert (learner.name, learner.reads, learner.transductive) == ("mine", "images", True)
    assert complete(learner) is learner


def test_settings_are_in_the_configuration():
    mine = type("Mine", (Learner,), {"name": "mine", "settings": ("k",), "version": 7, "k": 3})()
    assert mine.config() == {"learner": "mine", "version": 7, "k": 3}


@pytest.mark.parametrize(
    "learner, name", [(SimpleNamespace(name="x"), "SimpleNamespace"), (3, "int"), (dict, "dict")]
)
def test_an_object_without_scores_is_no_learner(learner, name):
    with refuses("learner", name, "scores"):
        evaluate(learner, BANK, sample_closed(LABELS, tasks=2))


def test_tasks_taken_at_once_and_stored_together_follow_from_the_input():
    tasks = sample_closed(LABELS, tasks=3, shots=5, queries=15)
    images = bare(reads="images")
    on_maps = DN4((4, 2, 2))
    cpu = torch.device("cpu")
    gpu = torch.device("cuda")
    at_once = [complete(bare()).at_once(tasks, cpu), complete(images).at_once(tasks, cpu)]
    assert [*at_once, complete(images).at_once(tasks, gpu)] == [256, 1, 16]
    assert on_maps.at_once(tasks, cpu) == 2**14 // (25 * 75)
    blocks = [
        ConfiguredMethod(None, None, learner).blocks(tasks[[0] * 300])
        for learner in (images, bare(), on_maps)
    ]
    assert [len(parts[0]) for parts in blocks] == [20, 300, 256]
