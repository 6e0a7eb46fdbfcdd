"""``fslbook assess``: folders, options and pages. For images in odd forms see `test_images`: one reader reads both."""

import shutil
from pathlib import Path

import pytest

from .judging import fslbook, judge, row
from .pictures import one, tree


def assess(*options, data="data", output="out.html"):
    return fslbook(
        "assess", data, "-o", output, "--backbone", "glyph-conv", "--learner", "ncc", *options
    )


def only(pattern):
    """All other images are removed."""
    return lambda: [path.unlink() for path in Path("data").glob(pattern)]


def classes(*names):
    return lambda: [shutil.rmtree(f"data/{name}") for name in names]


def too_many():
    for i in range(15):
        one(f"data/disk/x{i}.png", 2, i % 6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change, expected",
    [
        row("one class", classes("disk", "standing"), "class & 2"),
        row("21 images in a class", too_many, "disk & 21 & 20"),
        row("no images", only("*/*"), "disk & image"),
    ],
)
def test_supports(change, expected):
    tree()
    change()
    judge(assess, expected)
