"""``fslcore evaluate folder:PATH``: images as users have them, names of data sets and backbones, files of weights."""

import csv
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from .judging import fill, fslcore, judge, row, split
from .pictures import PER, cut, one, put, tiff, tree

SMALL = split("--ways 3 --shots 2 --queries 3 --tasks 30 --samplings closed --learners ncc")


def evaluate(*options, data="folder:data", backbone="glyph-conv"):
    return fslcore("evaluate", data, backbone, "-o", "r.csv", *SMALL, *options)


def high(_):
    """As on plain 8-bit PNG, where all answers are right, but for what another form may lose."""
    with open("r.csv", newline="") as file:
        return np.mean([float(task["accuracy"]) for task in csv.DictReader(file)]) > 92


def has_a_class_like_another(_):
    """Half of the tasks, three classes of four, have two that nobody can distinguish: 5/6 of answers are right."""
    with open("r.csv", newline="") as file:
        accuracies = [float(task["accuracy"]) for task in csv.DictReader(file)]
    return 70 < np.mean(accuracies) < 92 and max(accuracies) == 100


FORMS = [  # of TIFF, as cameras and microscopes write it; `tests/datasets/test_images.py` has the other forms
    row("16 bits, signed", lambda s: (s * 32767).astype("i2"), "0."),
    row("16 bits in colour", lambda s: np.dstack([(s * 65535).astype("u2")] * 3), high),
    row("32 bits of which 8", lambda s: (s * 255).astype("i4"), "0. & white"),
    row("colour in floats", lambda s: np.dstack([s.astype("f4")] * 3), "0."),
]


@pytest.mark.parametrize("make, expected", FORMS)
def test_forms(make, expected):
    tree(tiff(lambda s: make(0.9 - 0.8 * s)), ending=".tif")
    judge(evaluate, expected)


def link(path, target):
    return lambda: Path(path).symlink_to(target)


def moved(old, new):
    return lambda: os.rename(old, new)


def alone():
    shutil.rmtree("data/disk")
    shutil.rmtree("data/standing")


def in_capitals():
    for i in range(PER):
        one(f"data/Disk/{i}.png", 2, i)


UNREADABLE = Path(os.fsdecode(b"data/disk/\xff.png"))


@pytest.mark.parametrize(
    "change, expected",
    [
        row("camera raw beside them", put("lying/9.cr2", b"II*\0" + bytes(99)), "cr2"),
        row("an empty class folder, hidden", lambda: Path("data/.ipynb_checkpoints").mkdir(), high),
        row("a class __pycache__", put("__pycache__/x.pyc", "x"), "__pycache__"),
        row("a class of one image", lambda: one("data/single/0.png"), "single & 1"),
        row("a class in a text file", put("fourth", "x"), high),
        row("one class", alone, "class & 1"),
        row("cut off at the end", cut(share=0.97), high),
        row("a link to itself", link("data/lying/x.png", "x.png"), "x.png"),
        row("a class that is a link", link("data/copy", "lying"), has_a_class_like_another),
        row("/dev/zero", link("data/lying/x.png", "/dev/zero"), "x.png"),
        row("a folder nobody may list", link("data/proc", "/proc/1/map_files"), "proc"),
        row("names in other scripts", moved("data/lying", "data/横 é 🍄"), high),
        row(
            "bytes that are no text in the name of a corrupt one",
            lambda: UNREADABLE.write_text("x"),
            "png",
        ),
        row(
            "a class with brackets and a percent sign", moved("data/lying", "data/[a-z] 100%"), high
        ),
        row("classes that differ in case only", in_capitals, has_a_class_like_another),
    ],
)
def test_folders(change, expected):
    tree()
    change()
    judge(evaluate, expected)


@pytest.mark.parametrize("folder", ["my?data", "."])
def test_names_of_the_folder(folder):
    tree(root=folder)
    judge(lambda: evaluate(data=f"folder:{folder}"), high)


@pytest.mark.parametrize(
    "data, expected",
    [
        row(name or "empty", name, words)
        for name, words in {
            "miniimagenet": "miniimagenet & miniimagenet:",
            "": "dataset",
            "Folder:data": "Folder: & folder:",
            "coloured?ink=redd": "ink & redd",
            "coloured?per_class=-5": "per_class & -5",
            "cub:.": "cub|.",
            "../clipart": "../clipart",
            "folder:" + "x" * 300: "xxx",
        }.items()
    ],
)
def test_names_of_data_sets(data, expected):
    judge(lambda: evaluate(data=data), expected)


@pytest.mark.parametrize(
    "backbone, expected",
    [
        row(name or "empty", name, words)
        for name, words in {
            "": "backbone",
            "glyph-conv:gone.pt": "gone.pt",
            "resnet18-leo": "resnet18-leo & weights",
            "glyph-conv:": high,
        }.items()
    ],
)
def test_names_of_backbones(backbone, expected):
    tree()
    judge(lambda: evaluate(backbone=backbone), expected)


def test_weights_that_are_none():
    """`tests/models/test_backbones.py` has the others."""
    tree()
    fill("w.safetensors", bytes(range(99)))
    judge(lambda: evaluate(backbone="glyph-conv:w.safetensors"), "w.safetensors & header")
