"""Training by recipe, on a set small enough to learn in seconds."""

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open

from fslcore import backbones, datasets, evaluate, learners, training
from fslcore.errors import InputError
from fslcore.tasks import sample_closed


@pytest.fixture
def small(monkeypatch):
    """Twelve easy classes; six train and six validate."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, (12, 8, 8, 3)).repeat(4, 1).repeat(4, 2)
    images = (patterns.repeat(30, 0) + rng.normal(0, 40, (360, 32, 32, 3))).clip(0, 255).astype(np.uint8)

    def load(name, split):
        rows = slice(0, 180) if split == "base" else slice(180, 360)
        return datasets.Images("small", images[rows], np.arange(6).repeat(30), list("abcdef"))

    monkeypatch.setattr(datasets, "load", load)
    return load


SHORT = dict(epochs=2, steps=8, lr=0.003)


@pytest.mark.parametrize("name", [n for n in training.RECIPES if n != "glyph-conv"])
def test_every_learner_learns_and_loads(small, tmp_path, name):
    size = {"size": 2 if name == "maml" else 32 if "base" in name else 1}
    path = training.train(name, tmp_path / f"conv4-{name}.safetensors", progress=False, **SHORT, **size)
    backbone = backbones.load(f"conv4-{name}:{path}")
    learner = learners.make(training.RECIPES[name].learner, backbone)
    images = small("coloured", "validation")
    tasks = sample_closed(images.labels, tasks=20, queries=5)
    found, _ = evaluate.record(images, backbone, learner, tasks)
    assert found.accuracy().mean() > 0.5  # chance is 0.2
    curve = pd.read_csv(path.with_suffix(".csv"))
    assert list(curve) == ["epoch", "loss", "validation"] and len(curve) == 2
    with safe_open(path, "pt") as file:
        assert f'"learner": "{learner.name}"' in file.metadata()["training"]


def test_an_auxiliary_loss_trains_and_leaves_no_head(small, tmp_path):
    recipe = training.replace(training.RECIPES["can"], **SHORT)
    plain, extra = (training._Run("x", training.replace(recipe, auxiliary=a), 0) for a in (0.0, 1.0))
    for run in (plain, extra):
        run.train_epoch(False)
    assert plain.head is None and extra.head.weight.shape == (6, 64)  # a class for each base class, not each way
    assert extra.head.weight.grad.abs().max() > 0
    assert extra.curve[0]["loss"] > plain.curve[0]["loss"] + 0.5
    assert extra.kept.keys() == plain.kept.keys()  # thrown away
    described = training._Run("x", training.replace(training.RECIPES["protonet"], auxiliary=1.0, **SHORT), 0)
    described.train_epoch(False)
    assert described.head.weight.shape == (6, 256)
    with pytest.raises(InputError, match="auxiliary = 1.0; 0 is allowed for maml"):
        training.train("maml", tmp_path / "m.safetensors", auxiliary=1.0)


def test_validation_tasks_have_the_shots_of_training(small, monkeypatch):
    drawn = []

    def kept(learner, bank, tasks):
        drawn.append(tasks)
        return evaluate.evaluate(learner, bank, tasks)

    monkeypatch.setattr(training, "evaluate", kept)
    training._Run("x", training.replace(training.RECIPES["dn4"], shots=1, **SHORT), 0).train_epoch(False)
    assert drawn[0].support.shape == (1000, 5)


def test_resnet18_by_name(small, tmp_path):
    path = training.train("protonet", tmp_path / "r.safetensors", network="resnet18", epochs=1, steps=2, progress=False)
    backbone = backbones.load(f"resnet18-protonet:{path}")
    assert backbones.compute(small("", "base"), backbone).shape == (180, 512) and backbone.dim == 512
    with pytest.raises(InputError, match="resnet18-protonet: no weights; bring .*fslcore train"):
        backbones.load("resnet18-protonet")


def test_same_seed_same_weights_and_a_stopped_run_goes_on_to_them(small, tmp_path, monkeypatch):
    def made(file, seed=0):
        return training.train("r2d2", tmp_path / file, seed=seed, progress=False, **SHORT).read_bytes()

    first = made("a.safetensors")
    assert made("b.safetensors") == first != made("c.safetensors", seed=1)

    real, calls = training._Run.train_epoch, []

    def stopped(run, progress):
        if calls:
            raise KeyboardInterrupt
        calls.append(run.epoch)
        real(run, progress)

    with monkeypatch.context() as patch:
        patch.setattr(training._Run, "train_epoch", stopped)
        with pytest.raises(KeyboardInterrupt):
            made("d.safetensors")
    assert not (tmp_path / "d.safetensors").exists()  # nothing that looks whole
    monkeypatch.setattr(training._Run, "train_epoch", lambda run, progress: (calls.append(run.epoch), real(run, progress)))
    assert made("d.safetensors") == first and calls == [0, 1]
    assert sorted(p.name for p in tmp_path.glob(".*")) == []  # what it went on from is gone


def test_a_stopped_run_of_other_settings_starts_anew(small, tmp_path):
    recipe = training.RECIPES["protonet"]
    run = training._Run("x", training.replace(recipe, **SHORT), 0)
    run.train_epoch(False)
    run.save(tmp_path / "state")
    for seed, epoch in ((0, 1), (1, 0)):
        other = training._Run("x", training.replace(recipe, **SHORT), seed)
        other.resume(tmp_path / "state")
        assert other.epoch == epoch


def test_the_best_epoch_is_kept(small, tmp_path, monkeypatch):
    accuracy = iter([0.4, 0.9, 0.6])
    kept = []
    real = training._Run.checkpoint
    monkeypatch.setattr(training._Run, "_validate", lambda run: next(accuracy))
    monkeypatch.setattr(training._Run, "checkpoint", lambda run: kept.append(run) or real(run))
    path = training.train("protonet", tmp_path / "p.safetensors", progress=False, epochs=3, steps=2)
    assert pd.read_csv(path.with_suffix(".csv"))["validation"].tolist() == [40, 90, 60]
    last = kept[0].network.state_dict()
    with safe_open(path, "pt") as file:
        assert (file.get_tensor("network.0.0.weight") != last["0.0.weight"]).any()


def test_bad_settings(tmp_path):
    for given, message in (
        (dict(name="x"), "learner = x; glyph-conv, baseline"), (dict(name="maml", epochs=0), "epochs = 0"),
        (dict(name="maml", network="vgg"), "network = vgg; conv4"),
    ):
        with pytest.raises(InputError, match=message):
            training.train(output=tmp_path / "x.safetensors", **given)
