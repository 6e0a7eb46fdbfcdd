"""``fslbook train``: names, numbers, data and outputs. Recipes are cut to two steps, or a case would take minutes."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from fslbook.training import RECIPES
from fslbook.training.run import VALIDATION

from .judging import fill, fslbook, holds, judge, row, split
from .pictures import one


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Recipes of two steps and few validation tasks."""
    for name, recipe in RECIPES.items():
        monkeypatch.setitem(
            RECIPES, name, replace(recipe, steps=2, epochs=1, size=min(recipe.size, 8))
        )
    monkeypatch.setattr(
        "fslbook.training.run.VALIDATION", {**VALIDATION, "features": 5, "images": 3}
    )


@pytest.fixture(scope="module")
def enough_classes(tmp_path_factory):
    """Classes enough to be split into those to train on and those to select with."""
    folder = tmp_path_factory.mktemp("train")
    images(folder, 12, 24)
    return folder


def images(folder, classes, per):
    for c in range(classes):
        for i in range(per):
            one(folder / f"class {c:02d}/{i}.png", c % 3, (c + i) % 6)


def train(*options, learner="protonet", data="data"):
    return fslbook(
        "train",
        learner,
        *([] if "-o" in options else ["-o", "out.safetensors"]),
        "--dataset",
        data,
        *options,
    )


def whole(done):
    """A checkpoint that can be read, its curve beside it, nothing else, and a word on which classes select."""
    load_file("out.safetensors")
    left = {name for name in os.listdir() if name.startswith((".", "out"))}
    curve = Path("out.csv").read_text().startswith("epoch")
    return (
        curve and left == {"out.safetensors", "out.csv"} and holds(done.text, "validation & class")
    )


BAD = {
    "epochs": ("0", "x"),
    "shots": ("0", "x"),
    "seed": ("-1", "x"),
}


@pytest.mark.parametrize(
    "learner, options, expected",
    [
        *(
            row(f"{name} {v}", "protonet", f"--{name} {v}", f"{name} & {v}")
            for name, values in BAD.items()
            for v in values
        ),
        row("10^9 shots", "protonet", "--shots 1000000000", "shots"),
        row("good", "protonet", "--epochs 1 --seed 1000000000000", whole),
        row("network resnet50", "protonet", "--network resnet50", "resnet50 & conv4"),
        row("DN4 on a network without a map", "dn4", "--network conv4", whole),
        row(
            "LEO on another network",
            "leo",
            "--frozen conv4-baseline --network resnet12",
            "resnet12 & conv4-baseline",
        ),
        row("a teacher that is not there", "rfs", "--teacher conv4-baseline:gone", "gone"),
        row(
            "1 image a batch, 1 × 1 map",
            "baseline",
            "--network resnet18 --set size=1",
            "size & resnet18 & 2",
        ),
        row("1 image a batch, of two views", "psco", "--set size=1", "size & 2"),
        row("1 image a batch, larger map", "baseline", "--set size=1", whole),
        row("output without a name", "protonet", "-o ''", "output|-o"),
        row("output .safetensors", "protonet", "-o .safetensors", ".safetensors"),
    ],
)
def test_options(enough_classes, learner, options, expected):
    judge(
        lambda: train(*split(options), learner=learner, data=f"folder:{enough_classes}"), expected
    )


@pytest.mark.parametrize(
    "classes, per, change, words",
    [
        row("1 class", 1, 30, None, "class"),
        row("6 classes", 6, 30, None, "class|ways|split"),
        row("5 images", 12, 5, None, "images|shots"),
        row("a corrupt image", 12, 2, lambda: fill("data/class 00/0.png", "x"), "0.png"),
        row("an empty class", 12, 2, lambda: Path("data/none").mkdir(), "none"),
    ],
)
def test_data_that_do_not_suffice(classes, per, change, words):
    images(Path("data"), classes, per)
    if change:
        change()
    judge(lambda: train("--epochs", "1", data="folder:data"), words)
