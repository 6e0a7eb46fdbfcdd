"""The stored coverage study: made by its script, and what the chapter says of it."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from fslbook.beyond import coverage, worlds
from fslcore.paths import DATA


@pytest.fixture(scope="module")
def study():
    return coverage.load()


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("build", DATA / "coverage" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("number, new", [(0, "images"), (5, "classes"), (13, "images")])
def test_a_sample_of_the_study_comes_out_again(study, script, number, new):
    regime = worlds.REGIMES[number]
    again = coverage.replicates(regime, new, 1, 1, seed=script.seed(number, new), first=7)
    facts = ["classes", "images", "shots", "spread", "alike"]
    stored = study[(study[facts] == again.loc[0, facts].astype(float)).all(axis=1) & (study["new"] == new)]
    stored = stored[stored["world"] == 7].head(1).reset_index(drop=True)
    pd.testing.assert_frame_equal(
        stored[again.columns], again, check_dtype=False, rtol=1e-4, atol=1e-4, obj=f"{regime} {new}"
    )


def test_every_kind_of_world_has_five_hundred_test_sets_of_each_sort(study):
    counts = study.groupby(["classes", "images", "shots", "spread", "new"]).size()
    assert len(counts) == 2 * len(worlds.REGIMES) and (counts >= 500).all()
    assert {(r.classes, r.images) for r in worlds.REGIMES} >= {(10, 20), (10, 200), (100, 20), (100, 200)}


def test_what_the_chapter_concludes(study):
    summary = coverage.summary(study)
    shares = {key: part for key, part in summary.groupby(["target", "interval"])}
    for key in (("these images", "closed"), ("new images", "images"), ("new classes", "classes")):
        assert shares[key]["share"].between(93, 97).sum() >= 12, key
    assert shares["new classes", "open"]["share"].min() < 60
    assert shares["new images", "closed"]["share"].min() < 30
    for target in ("these images", "new images", "new classes"):
        part = shares[target, "paired"]
        assert 4 <= np.average(part["share"], weights=part["n"]) <= 6, target
    assert coverage.width_ratios(summary)["ratio"].median() >= 1.7


def test_on_real_images():
    shares = coverage.population_summary(coverage.load("population"))
    assert (shares["test sets"] >= 250).all() and len(shares) == 4
    assert shares["ours"].between(91, 99).all()
    assert (shares["closed"] < 75).all()


def test_a_test_set_of_real_images_comes_out_again(script):
    from fslcore import datasets
    from fslcore.models import backbones

    (dataset, backbone, classes, images, shots), stored = script.POPULATIONS[1], coverage.load("population")
    bank = backbones.features(datasets.load(dataset), backbones.load(backbone))
    again = coverage.from_population(bank, "classes", 1, 1, classes=classes, images=images, shots=shots)
    stored = stored[(stored["backbone"] == backbone) & (stored["new"] == "classes")].head(1)
    assert stored["images_half"].item() == pytest.approx(again["images_half"].item(), rel=1e-3)
    assert stored["truth"].item() == pytest.approx(again["truth"].item(), rel=1e-4)
