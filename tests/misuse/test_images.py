"""``fslcore evaluate folder:PATH``: images as users have them, names of data sets and backbones, files of weights."""

import csv
import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from fslcore import store

from .judging import Trap, fill, fine, fslcore, has, judge, row, split
from .pictures import HEIC, PER, array, cut, icon, one, pgm, png, put, save, tiff, tree

SMALL = split("--ways 3 --shots 2 --queries 3 --tasks 30 --samplings closed --learners ncc")


def evaluate(*more, data="folder:data", backbone="glyph-conv"):
    return fslcore("evaluate", data, backbone, "-o", "r.csv", *SMALL, *more)


def alike(_):
    """As on plain 8-bit PNG, where all answers are right, but for what another form may lose."""
    with open("r.csv", newline="") as file:
        return np.mean([float(of["accuracy"]) for of in csv.DictReader(file)]) > 92


def u16(top):
    return lambda s: ((0.9 - 0.8 * s) * top).astype("u2")


def real(scale, shift=0.0):
    return lambda s: ((0.9 - 0.8 * s) * scale + shift).astype("f4")


def coloured(**options):
    return save(lambda im: im.convert("RGB"), **options)


RANGE, FLAT = "0. & white", "flat|transparent|ground"
FORMS = {  # `tests/datasets/test_images.py` has the pixels of those that are read, and more of them
    ".png": {
        "palette of two colours": (save(lambda im: im.convert("1").convert("P")), alike),
        "16 bits in colour with alpha": (png(kind=6), alike),
        "sizes that differ": (
            lambda c, i, p: save(lambda im: im.resize((20 + 7 * i,) * 2))(c, i, p),
            alike,
        ),
        "black icon on transparent white": (array(icon(0, 255)), alike),
        "10 of 16 bits": (array(u16(1023)), RANGE),
        "12 of 16 bits in colour": (png(top=1 / 16), RANGE),
        "white icon, form in the alpha": (array(icon(255, 255)), FLAT),
        "one pixel": (save(lambda im: im.resize((1, 1))), has("flat|colour")),
    },
    ".tif": {
        "16 bits, signed": (tiff(lambda s: ((0.9 - 0.8 * s) * 32767).astype("i2")), "0."),
        "16 bits in colour": (tiff(lambda s: np.dstack([u16(65535)(s)] * 3)), alike),
        "32 bits": (tiff(lambda s: ((0.9 - 0.8 * s) * (2**32 - 1)).astype("u4")), "0."),
        "32 bits of which 8": (tiff(lambda s: ((0.9 - 0.8 * s) * 255).astype("i4")), RANGE),
        "floats, -1 to 1": (array(real(2, -1)), RANGE),
        "floats of 64 bits": (tiff(lambda s: 0.9 - 0.8 * s), "0.tif"),
        "colour in floats": (tiff(lambda s: np.dstack([real(1)(s)] * 3)), "0."),
        "compressed": (save(compression="tiff_deflate"), alike),
    },
    ".jpg": {
        "CMYK": (save(lambda im: im.convert("RGB").convert("CMYK"), quality=95), alike),
        "progressive": (coloured(quality=95, progressive=True), alike),
        "in fact PNG": (save(format="PNG"), alike),
    },
    ".gif": {
        "transparent": (save(lambda im: im.convert("1").convert("P"), transparency=1), alike),
    },
    ".tga": {"": (coloured(), alike)},
    ".bmp": {"one bit": (save(lambda im: im.convert("1")), alike)},
    ".ppm": {"": (coloured(), alike)},
    ".pgm": {"12 bits": (pgm(4095), alike)},
    ".pbm": {"": (save(lambda im: im.convert("1")), alike)},
    ".heic": {"only": (lambda c, i, p: p.write_bytes(HEIC), "heic|class folder data/disk")},
}


@pytest.mark.parametrize(
    "write, ending, expected",
    [
        row(f"{ending} {name}", write, ending, expected)
        for ending, forms in FORMS.items()
        for name, (write, expected) in forms.items()
    ],
)
def test_forms(write, ending, expected):
    tree(write, ending=ending)
    judge(evaluate, expected)


def link(path, target):
    return lambda: Path(path).symlink_to(target)


def moved(old, new):
    return lambda: os.rename(old, new)


def loose():
    """Images in the top folder only."""
    for path in [*Path("data").glob("*/*.png")]:
        path.rename(f"data/{path.parent.name}{path.name}")
    for path in Path("data").glob("*/"):
        path.rmdir()


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
        row("only images in the top folder", loose, "class folder"),
        row("an empty class folder, hidden", lambda: Path("data/.ipynb_checkpoints").mkdir(), alike),
        row("a class __pycache__", put("__pycache__/x.pyc", "x"), "__pycache__"),
        row("a class of one image", lambda: one("data/single/0.png"), "single & 1"),
        row("a class in a text file", put("fourth", "x"), alike),
        row("one class", alone, "class & 1"),
        row("cut off at the end", cut(share=0.97), alike),
        row("a page of errors", put("lying/0.png", "<html>404</html>"), "0.png"),
        row("a link to itself", link("data/lying/x.png", "x.png"), "x.png"),
        row("a link to another image", link("data/lying/x.png", "0.png"), alike),
        row("a class that is a link", link("data/copy", "lying"), fine),
        row("/dev/zero", link("data/lying/x.png", "/dev/zero"), "x.png"),
        row("a folder nobody may list", link("data/proc", "/proc/1/map_files"), "proc"),
        row("names with blanks", moved("data/lying", "data/lying bars"), alike),
        row("names in other scripts", moved("data/lying", "data/横 é 🍄"), alike),
        row("a newline in the name of a class", moved("data/lying", "data/ly\ning"), alike),
        row("a newline in the name of a corrupt image", put("disk/a\nb.png", "x"), "b.png"),
        row("bytes that are no text in the name of a corrupt one", lambda: UNREADABLE.write_text("x"), "png"),
        row("a class with brackets and a percent sign", moved("data/lying", "data/[a-z] 100%"), alike),
        row("a class of 250 letters", moved("data/lying", "data/" + "x" * 250), alike),
        row("classes that differ in case only", in_capitals, fine),
    ],
)
def test_folders(change, expected):
    tree()
    change()
    judge(evaluate, expected)


@pytest.mark.parametrize("folder", ["my?data", "my:data", "data ", ".", "data/"])
def test_names_of_the_folder(folder):
    tree(root=folder)
    judge(lambda: evaluate(data=f"folder:{folder}"), alike)


@pytest.mark.parametrize(
    "options, expected",
    [
        row("a class of one image left out", "--skip-small-classes", alike),
        row("a learner of maps on vectors", "--skip-small-classes --learners dn4", fine),
        row("a learner whose weights do not fit", "--skip-small-classes --learners leo", fine),
        row("MAML on a network it cannot use", "--learners maml", "maml"),
    ],
)
def test_options(options, expected):
    tree()
    one("data/single/0.png")
    judge(lambda: evaluate(*split(options)), expected)


def test_the_same_results_again_also_from_a_damaged_cache():
    tree()
    found = []
    for _ in range(3):
        judge(evaluate, alike)
        found.append(Path("r.csv").read_bytes())
        for path in [*store.path().rglob("*.safetensors"), *store.path().rglob("*.npz")]:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "data, expected",
    [
        row(name or "empty", name, words)
        for name, words in {
            "clipard": "clipard & mean clipart",
            "miniimagenet": "miniimagenet & miniimagenet:",
            "": "dataset",
            "folder:": "folder|dataset",
            "folder:gone": "gone",
            "Folder:data": "Folder: & folder:",
            "data": "data & folder:",
            "folder:/proc/version": "/proc/version",
            "coloured?ink=redd": "redd",
            "coloured?per_class=-5": "per_class & -5",
            "coloured?colour=red": "colour",
            "coloured?per_class": "per_class",
            "cub:.": "cub|.",
            "clipart/": "clipart/",
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
            "efficientnet": "efficientnet & mean efficientnet-lite0|mean efficientnet-lite2",
            "": "backbone",
            "none": "none",
            "glyph-conv:gone.pt": "gone.pt",
            "resnet18-leo": "resnet18-leo & weights",
            "glyph-conv:": alike,
        }.items()
    ],
)
def test_names_of_backbones(backbone, expected):
    tree()
    judge(lambda: evaluate(backbone=backbone), expected)


OTHER = "is not a checkpoint of this network"


@pytest.mark.parametrize(
    "file, content, backbone, words",
    [
        row("text", "w.pt", "hello\n", "glyph-conv", "w.pt & neither a PyTorch nor a safetensors file"),
        row("empty", "w.pt", b"", "glyph-conv", "w.pt & empty"),
        row("noise as safetensors", "w.safetensors", bytes(range(99)), "glyph-conv", "w.safetensors & header"),
        row("a folder", "w.pt", Path.mkdir, "glyph-conv", "w.pt & folder|no weights file|directory"),
        row("a pickle that runs a command", "w.pt", pickle.dumps(Trap()), "glyph-conv", "w.pt & objects"),
        row("a list", "w.pt", lambda p: torch.save([torch.zeros(3)], p), "glyph-conv", "w.pt & list"),
        row("of another kind", "w.pt", lambda p: torch.save({"a": torch.zeros(3)}, p), "conv4-protonet", OTHER),
    ],
)
def test_weights(file, content, backbone, words):
    tree()
    fill(file, content)
    judge(lambda: evaluate(backbone=f"{backbone}:{file}"), words)
