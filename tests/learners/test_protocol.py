"""What a learner is: the protocol, its defaults, and learners that bring less than all of it."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from fslcore import datasets, learners
from fslcore.datasets.bank import Bank
from fslcore.errors import InputError
from fslcore.evaluation import Ready, evaluate
from fslcore.learners.protocol import Learner, complete
from fslcore.tasks import sample_closed

LABELS = np.repeat(np.arange(6), 20)


@pytest.fixture
def bank():
    return Bank(torch.randn(120, 16, generator=torch.Generator().manual_seed(0)), LABELS, "bank")


class Bare:
    """As little as a learner can be."""

    def scores(self, bank, tasks):
        return torch.zeros(*tasks.query.shape, tasks.ways)


@pytest.mark.parametrize("kind", [*learners.of_features.values(), *learners.of_images.values()])
def test_every_learner_of_the_library_is_one_by_the_protocol(kind):
    assert Learner in kind.__mro__ and isinstance(kind.name, str) and kind.reads in ("features", "images")


def test_what_a_learner_does_not_say_has_a_default():
    given = Bare()
    found = complete(given)
    assert (found.name, found.reads, found.transductive, found.reads_text) == ("Bare", "features", False, False)
    assert found.config() == {"learner": "Bare", "version": 1} and found.trained is None
    given.name, given.reads, given.transductive = "mine", "images", True
    found = complete(given)
    assert (found.name, found.reads, found.transductive) == ("mine", "images", True)
    assert complete(found) is found


def test_settings_are_in_the_configuration():
    class Mine(Learner):
        name, settings, version = "mine", ("k",), 7
        k = 3

    assert Mine().config() == {"learner": "mine", "version": 7, "k": 3}


def test_what_has_no_scores_is_no_learner(bank):
    tasks = sample_closed(LABELS, tasks=2)
    for given, name in ((SimpleNamespace(name="x"), "SimpleNamespace"), (3, "int"), (dict, "dict")):
        with pytest.raises(InputError, match=f"learner = {name}; it has no method scores"):
            evaluate(given, bank, tasks)


def test_tasks_that_are_kept_and_run_together_follow_from_what_a_learner_reads(bank):
    tasks = sample_closed(LABELS, tasks=3, shots=5, queries=15)
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    given = Bare()
    assert complete(given).at_once(tasks, cpu) == 256
    given.reads = "images"
    assert (complete(given).at_once(tasks, cpu), complete(given).at_once(tasks, gpu)) == (1, 16)
    assert learners.DN4((4, 2, 2)).at_once(tasks, cpu) == 2**14 // (25 * 75)
    many = tasks[[0] * 300]
    sizes = {name: len(Ready(None, None, of).blocks(many)[0]) for name, of in (("images", given), ("features", Bare()))}
    sizes["places"] = len(Ready(None, None, learners.DN4((4, 2, 2))).blocks(many)[0])
    assert sizes == {"images": 20, "features": 300, "places": 256}


def test_images_and_features_are_sources_of_one_form(bank):
    pixels = np.zeros((3, 4, 4, 1), np.uint8)
    images = datasets.Images("x", pixels, np.array([1, 0, 1]), ["a", "b"])
    assert images.needs_backbone and not bank.needs_backbone and bank.facts is None
    assert images.classes.tolist() == ["b", "a", "b"]
    assert images.names == ["b/0", "a/1", "b/2"]
    assert bank.classes is bank.labels and bank.names == [str(i) for i in range(120)]
    named = Bank(bank.data[:2], np.array([1, 0]), "", np.array(["x", "y"]))
    assert named.classes.tolist() == ["y", "x"]
