"""Names that are known without importing torch are those of the classes and registries."""

import argparse
import subprocess
import sys

from refusal import refuses

import fslbook.catalogue
from fslcore import catalogue, learners
from fslcore.cli import app
from fslcore.models import networks
from fslcore.models.registry import available, entries, shipped
from fslcore.report import text
from fslcore.stats import published


def test_names_known_without_torch_are_those_of_the_registries():
    assert sorted(catalogue.backbones()) == sorted(available())
    assert sorted(catalogue.NETWORKS) == sorted(networks.NETWORKS)


def test_the_table_of_learners_is_what_their_classes_say():
    of_book = fslbook.catalogue.LEARNERS
    assert catalogue.registered_learners == catalogue.LEARNERS | of_book
    for name, entry in catalogue.registered_learners.items():
        kind = learners.learner_class(name)
        package = "fslbook" if name in of_book else "fslcore"
        assert entry.place == f"{package}.learners:{kind.__name__}"
        assert (kind.name, kind.reads, kind.transductive) == (name, entry.reads, entry.transductive)


def test_names_by_kind_are_those_of_the_registry():
    groups = catalogue.by_kind()
    kinds = {name: kind for kind, names in groups["backbones"].items() for name in names}
    for name, entry in entries().items():
        packaged = shipped(name) or isinstance(entry.local, tuple)
        assert kinds.pop(name) == (
            "shipped"
            if packaged
            else "released"
            if entry.backbone.read_at
            else "fetched"
            if entry.hub
            else "brought"
        )
    assert not kinds
    assert groups["learners"] == {
        "features": ["cosine", "lr", "ncc", "protonet", "simpleshot"],
        "images": ["ft"],
        "transductive": [],
    }
    of_book = catalogue.learners_by_input(fslbook.catalogue.LEARNERS)
    assert of_book["transductive"] == ["opta", "opta-plain", "sib", "sib-ifsl"]


def test_a_name_is_registered_once(monkeypatch):
    monkeypatch.setattr(catalogue, "registered_learners", dict(catalogue.registered_learners))
    catalogue.register_learners(fslbook.catalogue.LEARNERS)  # the same again
    nearest = catalogue.LearnerEntry("Nearest", "mine:Nearest")
    with refuses("learner", r"\bncc\b", "fslcore.learners:NearestCentroid"):
        catalogue.register_learners({"nearest": nearest, "ncc": nearest})
    assert "nearest" not in catalogue.registered_learners
    catalogue.register_learners({"nearest": nearest})
    assert catalogue.learner_title("nearest") == "Nearest"
    assert not catalogue.reads_images("nearest") and catalogue.reads_images("maml")


def test_the_library_alone_knows_its_learners_and_no_others():
    code = "from fslcore import catalogue, learners; print(*catalogue.registered_learners)"
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert out.split() == [*catalogue.LEARNERS]


def test_networks_that_users_train_have_names():
    assert {"conv4-1shot-maml", "resnet12-unisiam"} < {*catalogue.trained_names()}


def test_words_of_options_are_those_that_the_functions_take():
    """Statistics and the reader of texts are imported late, and have such words of their own."""
    program = app._program().parser
    (choices,) = (a.choices for a in program._actions if isinstance(a, argparse._SubParsersAction))
    of_comparison = {action.dest: action.choices for action in choices["compare"]._actions}
    assert tuple(of_comparison["same_tasks"]) == published.ANSWERS
    assert tuple(of_comparison["sampling"]) == published.SAMPLINGS
    assert set(catalogue.REPORT_WORDS["separator"]) == set(text.SEPARATORS)
