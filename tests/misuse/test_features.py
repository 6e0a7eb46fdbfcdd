"""``fslcore evaluate features:FILE``: kinds of features and labels, options and outputs.

`tests/datasets/test_bank_and_datasets.py` has the files that cannot be read.
"""

import csv
import os

import numpy as np
import pytest

from .judging import asked, fill, fine, fslcore, has, judge, refused, row, small_disk, split

SMALL = split("--ways 3 --shots 2 --queries 3 --tasks 30 --samplings closed --learners ncc")


RNG = np.random.default_rng(0)
Y = np.arange(6).repeat(20)
X = (3 * RNG.normal(size=(6, 16)))[Y] + RNG.normal(size=(120, 16))  # classes that lie apart


def npz(path="f.npz", features=X, labels=Y):
    with open(path, "wb") as file:
        np.savez(file, features=features, labels=labels)


def changed(array, index, value):
    """A copy with a value at a place."""
    copy = array.copy()
    copy[index] = value
    return copy


def evaluate(*options, file="f.npz"):
    return fslcore("evaluate", f"features:{file}", "none", "-o", "r.csv", *SMALL, *options)


def high(_):
    """The classes lie apart: all but a few are right."""
    with open("r.csv", newline="") as file:
        return np.mean([float(task["accuracy"]) for task in csv.DictReader(file)]) > 95


@pytest.mark.parametrize(
    "features, labels, expected",
    [
        row("16-bit floats of the other byte order", X.astype(">f2"), Y, high),
        row("truth values", X > 0, Y, high),
        row("all equal but for rounding", 1 + 1e-16 * X, Y, "equal"),
        row("one column is 1e6", changed(X, (slice(None), 0), 1e6), Y, fine),
        row("labels above 2^63", X, Y.astype("u8") + 2**63, high),
        row("dates", X, Y.astype("M8[D]"), "labels"),
        row("a class a row", X, np.arange(120), "shots + queries & 1"),
    ],
)
def test_features_and_labels(features, labels, expected):
    npz("f.npz", features, labels)
    judge(evaluate, expected)


@pytest.mark.parametrize(
    "file, content, expected",
    [
        row("a name with blanks and a colon", "特徴 é: 1.npz", npz, high),
        row("a link to itself", "f.npz", lambda path: path.symlink_to(path), "f.npz"),
        row("a name too long", "x" * 300 + ".npz", lambda path: None, "xxx"),
    ],
)
def test_files(file, content, expected):
    fill(file, content)
    judge(lambda: evaluate(file=file), expected)


@pytest.mark.parametrize(
    "options, expected",
    [
        row("queries 10^9", "--queries 1000000000", "queries"),
        row("a learner of images", "--learners maml", "maml & features"),
        row("intervals", "--intervals", has("new images & new classes")),
        row("intervals of open tasks", "--intervals --samplings open", has("new images")),
        row(
            "intervals of all classes", "--intervals --ways 6", has("—|inf|all classes|every class")
        ),
    ],
)
def test_options(options, expected):
    fill("f.npz", npz)
    judge(lambda: evaluate(*split(options)), expected)


def test_a_disk_without_room():
    fill("f.npz", npz)
    with small_disk():
        done = asked(evaluate)
    refused(done, "r.csv|record|room|space|large")
    assert os.listdir() == ["f.npz"]
