"""``fslbook assess``: folders, options and pages. For images in odd forms see `test_images`: one reader reads both."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .judging import fslbook, has, judge, row
from .pictures import array, cut, one, put, save, tree


def assess(*options, data="data", output="out.html"):
    return fslbook(
        "assess", data, "-o", output, "--backbone", "glyph-conv", "--learner", "ncc", *options
    )


def photos(c, i, path):
    """Photos of one scene a class, all but alike: noise over a pattern of the class."""
    scene = (
        np.random.default_rng(c).integers(40, 216, (6, 6, 3)).repeat(8, axis=0).repeat(8, axis=1)
    )
    noise = np.random.default_rng(100 + 10 * c + i).integers(-3, 4, scene.shape)
    Image.fromarray((scene + noise).astype("u1")).save(path)


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
    "write, change, expected",  # list: no change
    [
        row("near-identical photos", photos, list, has("outside & 5-fold|range")),
        row("one class", save(), classes("disk", "standing"), "class & 2"),
        row("21 images in a class", save(), too_many, "disk & 21 & 20"),
        row("no images", save(), only("*/*"), "disk & image"),
        row("an empty class", save(), lambda: Path("data/none").mkdir(), "none"),
        row("corrupt", save(), cut(), "0.png"),
        row("empty image", save(), put("lying/0.png"), "0.png"),
        row(
            "12 of 16 bits",
            array(lambda s: ((0.9 - 0.8 * s) * 4095).astype("u2")),
            list,
            "0.png & white",
        ),
    ],
)
def test_supports(write, change, expected):
    tree(write)
    change()
    judge(assess, expected)


@pytest.mark.slow
def test_a_page_inside_the_support():
    tree(root=".")
    judge(
        lambda: assess(data=".", output="disk/out.html"), lambda _: Path("disk/out.html").is_file()
    )
