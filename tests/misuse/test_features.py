"""``fslcore evaluate features:FILE``: kinds of features and labels, options and outputs.

`tests/datasets/test_bank_and_datasets.py` has the files that cannot be read.
"""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

from .judging import Trap, asked, fill, fine, fslcore, has, judge, refused, row, small_disk, split

SMALL = split("--ways 3 --shots 2 --queries 3 --tasks 30 --samplings closed --learners ncc")


def arrays(classes=6, images=20):
    """(N, D) floats and (N,) labels of classes that lie apart; the same every time."""
    rng = np.random.default_rng(0)
    labels = np.arange(classes).repeat(images)
    return (3 * rng.normal(size=(classes, 16)))[labels] + rng.normal(size=(len(labels), 16)), labels


X, Y = arrays()


def npz(path="f.npz", features=X, labels=Y):
    with open(path, "wb") as file:
        np.savez(file, features=features, labels=labels)


def classes_of(classes, images):
    """Writes features of so many classes and images per class."""
    return lambda path: npz(path, *arrays(classes, images))


good = npz


def changed(array, index, value):
    """A copy with a value at a place."""
    copy = array.copy()
    copy[index] = value
    return copy


def evaluate(*options, file="f.npz", output="r.csv", shape=SMALL):
    return fslcore("evaluate", f"features:{file}", "none", "-o", output, *shape, *options)


def results():
    """The results that were written."""
    with open("r.csv", newline="") as file:
        return list(csv.DictReader(file))


def high(_):
    """The classes lie apart: all but a few are right."""
    return np.mean([float(task["accuracy"]) for task in results()]) > 95


def count(number):
    return lambda _: len(results()) == number


@pytest.mark.parametrize(
    "features, labels, expected",
    [
        row("16-bit floats of the other byte order", X.astype(">f2"), Y, high),
        row("column by column", np.asfortranarray(X), Y, high),
        row("truth values", X > 0, Y, high),
        row("all equal but for rounding", 1 + 1e-16 * X, Y, "equal"),
        row("one column is 1e6", changed(X, (slice(None), 0), 1e6), Y, fine),
        row("of length 1", X[:, :1], Y, fine),
        row("(D, N)", X.T, Y, "16|120"),
        row("no rows", X[:0], Y, "0 rows|120 labels|(0,|empty"),
        row("the same row twice in every class", X[np.arange(120) // 2 * 2], Y, high),
        row("labels above 2^63", X, Y.astype("u8") + 2**63, high),
        row("labels of truth values", X, Y > 2, "ways & 2"),
        row("labels one-hot", X, np.eye(6, dtype=int)[Y], "(120, 6)"),
        row("dates", X, Y.astype("M8[D]"), "labels"),
        row("a class a row", X, np.arange(120), "shots + queries & 1"),
        row("a pickle that runs a command", X, np.array([Trap()] * len(Y), object), "f.npz"),
    ],
)
def test_features_and_labels(features, labels, expected):
    npz("f.npz", features, labels)
    judge(evaluate, expected)


@pytest.mark.parametrize(
    "file, content, expected",
    [
        row("a name with blanks and a colon", "特徴 é: 1.npz", good, high),
        row("no ending", "feats", good, "feats & .npz"),
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
        row("more ways than classes", "--ways 7", "ways"),
        row("as many shots as images", "--shots 20", "shots"),
        row("queries 10^9", "--queries 1000000000", "queries"),
        row("seed of 10^9", "--seed 1000000000", high),
        row("two tasks", "--tasks 2", count(2)),
        row("learners with a comma", "--learners ncc,lr", "ncc,lr"),
        row("a learner of images", "--learners maml", "maml & features"),
        row("two learners", "--learners ncc lr", count(60)),
        row("quiet", "--quiet", lambda done: not done.err.strip()),
        row("json", "--json", lambda done: json.loads(done.out)),
        row("intervals", "--intervals", has("new images & new classes")),
        row("intervals of open tasks", "--intervals --samplings open", has("new images")),
        row(
            "intervals of all classes", "--intervals --ways 6", has("—|inf|all classes|every class")
        ),
        row("an option cut short", "--way 3", high),
    ],
)
def test_options(options, expected):
    fill("f.npz", good)
    judge(lambda: evaluate(*split(options)), expected)


def uneven(path):
    """A class of three rows among seven of forty."""
    features, labels = arrays(8, 40)
    npz(path, features[:-37], labels[:-37])


@pytest.mark.parametrize(
    "content, options, expected",
    [
        row("skip small classes", uneven, [*SMALL, "--skip-small-classes"], high),
        row("a class of three among seven", uneven, [], "7 & 3 & skip-small"),
        row("4 classes", classes_of(4, 40), [], "ways & 4"),
        row("open tasks of few images", classes_of(6, 30), [], has("open & --samplings closed")),
    ],
)
def test_data_that_do_not_suffice(content, options, expected):
    fill("f.npz", content)
    judge(lambda: evaluate(shape=options), expected)


@pytest.mark.parametrize(
    "arguments, expected",
    [
        row(
            "a backbone that is not needed",
            f"features:f.npz resnet99 -o r.csv {' '.join(SMALL)}",
            high,
        ),
        row("a capital", "Features:f.npz none -o r.csv", "Features: & features:"),
    ],
)
def test_arguments(arguments, expected):
    fill("f.npz", good)
    judge(lambda: fslcore("evaluate", *split(arguments)), expected)


@pytest.mark.parametrize(
    "output, expected",
    [
        row("output without a name", "", "output|results & .csv"),
        row(
            "a new folder, and blanks",
            "new/r é 1.csv",
            lambda _: Path("new/r é 1.csv").stat().st_size,
        ),
        row("parquet", "r.parquet", lambda _: Path("r.parquet").stat().st_size),
    ],
)
def test_outputs(output, expected):
    fill("f.npz", good)
    judge(lambda: evaluate(output=output), expected)


def test_a_disk_without_room():
    fill("f.npz", good)
    with small_disk():
        done = asked(evaluate)
    refused(done, "r.csv|record|room|space|large")
    assert os.listdir() == ["f.npz"]
