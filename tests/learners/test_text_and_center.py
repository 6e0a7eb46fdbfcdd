"""The center of SimpleShot, and embeddings of names: where they lie, and a text tower."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from refusal import refuses, warned
from safetensors.torch import save_file

from fslcore import datasets, evaluation, store
from fslcore.datasets.bank import load_features
from fslcore.learners import SimpleShot
from fslcore.models import backbones, registry
from fslcore.tasks import sample_closed
from tests.learners.learner_inputs import unit
from tests.learners.text_inputs import (
    CLASSES,
    DIM,
    LABELS,
    TASKS,
    bank_with_text,
    pictures,
    tiny_clip_in,
)


@pytest.fixture(scope="module")
def bank():
    return bank_with_text()


@pytest.fixture
def tiny_clip(tmp_path, monkeypatch):
    return tiny_clip_in(tmp_path, monkeypatch)


def test_the_center_is_an_array_a_file_or_beside_the_features(bank, tmp_path):
    tasks = sample_closed(LABELS, tasks=5)
    mean = bank.data.mean(dim=0)
    path = tmp_path / "mean.npy"
    np.save(path, mean.numpy())
    learners_of_mean = [
        SimpleShot(center=center) for center in (mean, mean.numpy(), mean.tolist(), path, str(path))
    ]
    expected = SimpleShot().scores(replace(bank, center=mean), tasks)
    assert all(torch.equal(learner.scores(bank, tasks), expected) for learner in learners_of_mean)
    assert len({json.dumps(learner.config()) for learner in learners_of_mean}) == 1
    assert (
        learners_of_mean[0].config()
        != SimpleShot(center=mean + 1).config()
        != SimpleShot().config()
    )
    with refuses("center", "SimpleShot", "mean"):
        SimpleShot().scores(bank, tasks)
    with refuses("center", r"\b3\b", r"\b64\b"):
        SimpleShot(center=[1.0, 2.0, 3.0]).scores(bank, tasks)
    (tmp_path / "text.npy").write_text("1, 2, 3")
    for center, message in (
        (tmp_path / "none.npy", "center: no file .*none.npy"),
        (tmp_path / "text.npy", r"center: .*text.npy is not a .npy of \(D,\) numbers"),
        ([[1.0]], r"center must have 1 dimension, .* \(1, 1\)"),
        ([np.nan], "center must be finite, got NaN or infinity in 1 of 1"),
    ):
        with refuses(message):
            SimpleShot(center=center)
    with refuses("transform", "cl2n", "CL2N.*L2N.*UN"):
        SimpleShot("cl2n")


def test_base_classes_are_the_networks_else_the_data_sets(monkeypatch, recwarn):
    base = pictures("base", 1, 30)
    loaded = []
    monkeypatch.setattr(
        datasets, "load", lambda name, **options: loaded.append((name, options)) or base
    )
    backbone = backbones.load("glyph-conv")
    assert (backbone.base, registry.entries()["efficientnet-lite0"].backbone.base) == (
        "glyphs",
        None,
    )
    learner = evaluation.configure(pictures("clipart"), "glyph-conv", "simpleshot").learner
    mean = backbones.features(base, backbone).data.mean(dim=0)
    assert learner.center.numpy() == pytest.approx(mean.numpy(), abs=1e-6)
    note = "glyph-conv are centred by their mean over the 30 images of base classes of glyphs"
    assert note in warned(recwarn)
    monkeypatch.setattr(
        evaluation.methods, "load_backbone", lambda name: replace(backbone, base=None)
    )
    for name in ("clipart", "glyphs/hebrew", "cub:/data"):
        evaluation.configure(pictures(name), "x", "simpleshot")
    names = ["glyphs", "clipart", "glyphs", "cub:/data"]
    assert loaded == [(name, {"split": "base", "size": None}) for name in names]
    for name in ("fashion", "folder:/data"):
        with refuses("center", "glyph-conv", name, "base"):
            evaluation.configure(pictures(name), "x", "simpleshot")
    assert (
        evaluation.configure(pictures("fashion"), "x", "simpleshot", transform="L2N").learner.center
        is None
    )
    assert (
        evaluation.configure(pictures("fashion"), "x", "simpleshot", center=mean).outcomes(TASKS)
        is not None
    )


def test_text_follows_the_names_in_the_metadata_of_safetensors(bank, tmp_path):
    tensors = {"features": bank.data, "labels": torch.from_numpy(LABELS), "text": bank.text}

    def read(names, **changes):
        save_file(
            tensors | changes,
            tmp_path / "f.safetensors",
            metadata={"class_names": json.dumps(names)},
        )
        return load_features(tmp_path / "f.safetensors")

    names = [f"class {c}" for c in range(CLASSES)][
        ::-1
    ]  # labels are in one order, their names in another
    loaded = read(names)
    place = [loaded.class_names.tolist().index(name) for name in names]
    assert torch.equal(loaded.text[place], bank.text)
    few = LABELS < 3  # some names have no image
    loaded = read(names, features=bank.data[few].clone(), labels=tensors["labels"][few])
    assert loaded.class_names.tolist() == names[2::-1] and torch.equal(
        loaded.text, bank.text[[2, 1, 0]]
    )
    with refuses("text", f"{CLASSES + 1} classes", f"got {CLASSES}"):
        read([*names, "no image"])
    with refuses("metadata", "class", "twice"):
        read([*names[1:], names[1]])


@pytest.mark.parametrize(
    "array, value, message",
    [
        (
            "text",
            np.ones((CLASSES - 1, DIM)),
            "text .*20 classes, got 19",
        ),
        (
            "text",
            np.ones((CLASSES, DIM + 1)),
            r"text .*\(K, D\) floats, D as of the features .*shape \(20, 65\)",
        ),
        (
            "text",
            np.full((CLASSES, DIM), np.nan),
            "text .*got NaN or infinity",
        ),
        ("text", np.zeros((CLASSES, DIM)), "text: row 0 has length 0"),
        ("text", np.full(CLASSES, "a"), "'text' in f.npz .*floats, got <U1"),
        ("center", np.ones((1, DIM)), r"'center' .*\(D,\) floats, got .* shape \(1, 64\)"),
        (
            "center",
            np.full(DIM, 1e300),
            "center .*got NaN or infinity",
        ),
    ],
)
def test_text_and_center_that_do_not_fit(bank, tmp_path, array, value, message):
    np.savez(tmp_path / "f.npz", features=bank.data.numpy(), labels=LABELS, **{array: value})
    with refuses(message):
        load_features(tmp_path / "f.npz")


def test_names_are_embedded_by_the_text_tower_and_cached(tiny_clip):
    import open_clip

    name, model = tiny_clip
    backbone = backbones.load(name)
    names = ["a_cat", "dog"]
    embedded = backbones.names_embedded(names, backbone)

    def expected(*sentences):
        with torch.inference_mode():
            return unit(model.encode_text(open_clip.tokenize(sentences)).numpy())

    assert embedded.numpy() == pytest.approx(
        expected("a photo of a a cat.", "a photo of a dog."), abs=1e-5
    )
    assert len(list(store.path("text").iterdir())) == 1
    object.__setattr__(backbone, "text", lambda sentences: 1 / 0)
    assert torch.equal(backbones.names_embedded(names, backbone), embedded)
    keys = {
        backbones.names_key(names, backbone),
        backbones.names_key(names[::-1], backbone),
        backbones.names_key(names, replace(backbone, weights="other")),
    }
    assert len(keys) == 3
