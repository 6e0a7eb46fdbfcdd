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

from .judging import Trap, Warned, fill, fine, fslcore, judge, row, split
from .pictures import (
    HEIC,
    PER,
    SIDE,
    array,
    bomb,
    cut,
    deep,
    icon,
    moving,
    nested,
    one,
    pgm,
    png,
    put,
    save,
    tiff,
    tree,
    turned,
)

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


def grey(s):
    return (230 - 200 * s).astype("u1")


def coloured(**options):
    return save(lambda im: im.convert("RGB"), **options)


CLEAR = np.zeros((SIDE, SIDE), "u1")
RANGE, FLAT = "0. & white", "flat|transparent|ground"


@pytest.mark.parametrize(
    "write, ending, expected",
    [
        *(
            row(f"PNG, {name}", write, ".png", alike)
            for name, write in {
                "grey": save(),
                "colour": coloured(),
                "palette": save(lambda im: im.convert("P")),
                "palette of two colours": save(lambda im: im.convert("1").convert("P")),
                "one bit": save(lambda im: im.convert("1")),
                "grey and alpha, all opaque": save(lambda im: im.convert("LA")),
                "colour and alpha, all opaque": save(lambda im: im.convert("RGBA")),
                "16 bits": array(u16(65535)),
                "16 bits in colour": png(),
                "16 bits in colour with alpha": png(kind=6),
                "16 bits in grey with alpha": png(kind=4),
                "moving": moving,
                "sizes that differ": lambda c, i, p: save(lambda im: im.resize((20 + 7 * i,) * 2))(c, i, p),
                "black icon, form in the alpha": array(icon()),
                "black icon on transparent white": array(icon(0, 255)),
                "grey icon, form in the alpha": array(icon(90, 90)),
                "icon with a transparent colour": save(lambda im: im.convert("1").convert("P"), transparency=1),
                "icon of grey and alpha": array(lambda s: np.dstack([CLEAR, (255 * s).astype("u1")])),
                "icon, half transparent": array(lambda s: np.dstack([CLEAR] * 3 + [(40 + 150 * s).astype("u1")])),
            }.items()
        ),
        row("PNG, 12 of 16 bits", array(u16(4095)), ".png", RANGE),
        row("PNG, 10 of 16 bits", array(u16(1023)), ".png", RANGE),
        row("PNG, 12 of 16 bits in colour", png(top=1 / 16), ".png", RANGE),
        row("white icon, form in the alpha", array(icon(255, 255)), ".png", FLAT),
        row(
            "icon, all transparent",
            array(lambda s: np.dstack([(255 * s).astype("u1")] * 3 + [CLEAR])),
            ".png",
            FLAT,
        ),
        row("TIFF, 8 bits", array(grey), ".tif", alike),
        row("TIFF, 16 bits", array(u16(65535)), ".tif", alike),
        row("TIFF, 12 of 16 bits", array(u16(4095)), ".tif", RANGE),
        row("TIFF, 16 bits, signed", tiff(lambda s: ((0.9 - 0.8 * s) * 32767).astype("i2")), ".tif", "0."),
        row("TIFF, 16 bits in colour", tiff(lambda s: np.dstack([u16(65535)(s)] * 3)), ".tif", alike),
        row("TIFF, 32 bits", tiff(lambda s: ((0.9 - 0.8 * s) * (2**32 - 1)).astype("u4")), ".tif", "0."),
        row("TIFF, 32 bits of which 8", tiff(lambda s: ((0.9 - 0.8 * s) * 255).astype("i4")), ".tif", RANGE),
        row("TIFF, floats, 0 to 1", array(real(1)), ".tif", alike),
        row("TIFF, floats, 0 to 255", array(real(255)), ".tif", RANGE),
        row("TIFF, floats, -1 to 1", array(real(2, -1)), ".tif", RANGE),
        row("TIFF, floats, 0 to 65535", array(real(65535)), ".tif", RANGE),
        row("TIFF, floats with NaN", array(lambda s: np.where(s > 0.5, np.nan, 0.9).astype("f4")), ".tif", "0.tif"),
        row("TIFF, floats of 64 bits", tiff(lambda s: 0.9 - 0.8 * s), ".tif", "0.tif"),
        row("TIFF, colour in floats", tiff(lambda s: np.dstack([real(1)(s)] * 3)), ".tif", "0."),
        row("TIFF, CMYK", save(lambda im: im.convert("RGB").convert("CMYK")), ".tif", alike),
        row("TIFF, one bit", save(lambda im: im.convert("1")), ".tif", alike),
        row("TIFF, compressed", save(compression="tiff_deflate"), ".tiff", alike),
        row("TIFF, pages", moving, ".tif", alike),
        row("JPEG", save(quality=95), ".jpg", alike),
        row("JPEG, colour", coloured(quality=95), ".jpeg", alike),
        row("JPEG, CMYK", save(lambda im: im.convert("RGB").convert("CMYK"), quality=95), ".jpg", alike),
        row("JPEG, progressive", coloured(quality=95, progressive=True), ".JPG", alike),
        row("JPEG, turned by its Exif", turned, ".jpg", alike),
        row("JPEG, .jfif", coloured(format="JPEG", quality=95), ".jfif", alike),
        row("GIF", save(), ".gif", alike),
        row("GIF, moving", moving, ".gif", alike),
        row("GIF, transparent", save(lambda im: im.convert("1").convert("P"), transparency=1), ".gif", alike),
        row("WebP", save(lossless=True), ".webp", alike),
        row("WebP, moving", moving, ".webp", alike),
        row("WebP, form in the alpha", array(icon(), lossless=True, exact=True), ".webp", alike),
        row("AVIF", coloured(quality=95), ".avif", alike),
        row("JPEG 2000", coloured(), ".jp2", alike),
        row("TGA", coloured(), ".tga", alike),
        row("ICO", coloured(sizes=[(SIDE, SIDE)]), ".ico", alike),
        row("BMP", save(), ".bmp", alike),
        row("BMP, one bit", save(lambda im: im.convert("1")), ".bmp", alike),
        row("PPM", coloured(), ".ppm", alike),
        row("PGM", save(), ".pgm", alike),
        row("PGM, 16 bits", pgm(), ".pgm", alike),
        row("PGM, 12 bits", pgm(4095), ".pgm", alike),
        row("PBM", save(lambda im: im.convert("1")), ".pbm", alike),
        row("an ending in capitals", save(), ".PNG", alike),
        row("no ending", save(format="PNG"), "", alike),
        row("an ending that is wrong", save(format="PNG"), ".jpg", alike),
        row("an ending that nobody knows", save(format="PNG"), ".dat", alike),
        row("an ending .png~", save(format="PNG"), ".png~", alike),
        row("only HEIC", lambda c, i, p: p.write_bytes(HEIC), ".heic", "heic|class folder data/disk"),
        row("long and narrow", save(lambda im: im.resize((SIDE * 40, SIDE))), ".png", fine),
        row("one pixel", save(lambda im: im.resize((1, 1))), ".png", Warned("flat|colour")),
        row("each of one colour", lambda c, i, p: save(lambda im: im.point(lambda _: 90))(c, i, p), ".png", fine),
        row("CLASS/PART/IMAGE", nested, ".png", alike),
        row("CLASS/IMAGE and CLASS/PART/IMAGE", deep, ".png", alike),
    ],
)
def test_forms(write, ending, expected):
    tree(write, ending=ending)
    judge(evaluate, expected)


def link(path, target):
    return lambda: Path(path).symlink_to(target)


def moved(old, new):
    return lambda: os.rename(old, new)


def above():
    """A folder between the data and the classes."""
    Path("data").rename("train")
    Path("data").mkdir()
    Path("train").rename("data/train")


def loose():
    """Images in the top folder only."""
    for path in [*Path("data").glob("*/*.png")]:
        path.rename(f"data/{path.parent.name}{path.name}")
    for path in Path("data").glob("*/"):
        path.rmdir()


def hidden():
    for name in (".DS_Store", "lying/.DS_Store", "lying/._0.png", ".git/HEAD"):
        put(name, "x")()


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
        row("a HEIC beside them", put("lying/9.heic", HEIC), "heic"),
        row("camera raw beside them", put("lying/9.cr2", b"II*\0" + bytes(99)), "cr2"),
        row("a film beside them", put("lying/9.mp4", bytes(99)), Warned("mp4")),
        row("an SVG beside them", put("lying/9.svg", "<svg/>"), "svg"),
        row("a text beside them", put("lying/README.txt", "photos of May"), alike),
        row("a table in the top folder", put("labels.csv", "a,b"), alike),
        row("hidden files", hidden, alike),
        row("Thumbs.db", put("lying/Thumbs.db", "x"), alike),
        row("images in the top folder too", lambda: one("data/loose.png"), Warned("loose|class folder")),
        row("only images in the top folder", loose, "class folder"),
        row("train above the classes", above, "train|class"),
        row("an empty class folder", lambda: Path("data/none").mkdir(), "none"),
        row("an empty class folder, hidden", lambda: Path("data/.ipynb_checkpoints").mkdir(), alike),
        row("a class __pycache__", put("__pycache__/x.pyc", "x"), "__pycache__"),
        row("a class of one image", lambda: one("data/single/0.png"), "single & 1"),
        row("a class in a text file", put("fourth", "x"), alike),
        row("one class", alone, "class & 1"),
        row("corrupt", cut(), "0.png"),
        row("cut off at the end", cut(share=0.97), alike),
        row("empty", put("lying/0.png"), "0.png"),
        row("text", put("lying/0.png", "not an image"), "0.png"),
        row("a page of errors", put("lying/0.png", "<html>404</html>"), "0.png"),
        row("larger than memory", bomb, "0.png"),
        row("a folder called x.png", lambda: Path("data/lying/x.png").mkdir(), alike),
        row("a link to nothing", link("data/lying/x.png", "gone.png"), "x.png"),
        row("a link to itself", link("data/lying/x.png", "x.png"), "x.png"),
        row("a link to another image", link("data/lying/x.png", "0.png"), alike),
        row("a class that is a link", link("data/copy", "lying"), fine),
        row("a class that is a link to all", link("data/loop", "."), "loop"),
        row("a link to all inside a class", link("data/lying/loop", ".."), Warned("loop|folder")),
        row("a pipe", lambda: os.mkfifo("data/lying/x.png"), "x.png"),
        row("/dev/zero", link("data/lying/x.png", "/dev/zero"), "x.png"),
        row("a folder nobody may list", link("data/proc", "/proc/1/map_files"), "proc"),
        row("names with blanks", moved("data/lying", "data/lying bars"), alike),
        row("names in other scripts", moved("data/lying", "data/横 é 🍄"), alike),
        row("a newline in the name of a class", moved("data/lying", "data/ly\ning"), alike),
        row("a newline in a name", moved("data/disk/0.png", "data/disk/a\nb.png"), alike),
        row("a newline in the name of a corrupt image", put("disk/a\nb.png", "x"), "b.png"),
        row("bytes that are no text in a name", moved("data/disk/0.png", UNREADABLE), alike),
        row("bytes that are no text in the name of a corrupt one", lambda: UNREADABLE.write_text("x"), "png"),
        row("a class that begins with a dash", moved("data/lying", "data/-rf"), alike),
        row("a class with brackets and a percent sign", moved("data/lying", "data/[a-z] 100%"), alike),
        row("a class with quotes and commas", moved("data/lying", "data/a,'b\",c"), alike),
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
        row("size 32", "--size 32", "size & 32"),
        *(row(f"size {v}", f"--size {v}", f"size & {v}") for v in ("0", "-1", "nan", "1e9", "1000000", "2.5")),
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
            "Clipart": "Clipart & clipart",
            "glyphs/hebrw": "hebrw & mean glyphs/hebrew",
            "imagenet": "imagenet & known|allowed",
            "miniimagenet": "miniimagenet & miniimagenet:",
            "": "dataset",
            "folder:": "folder|dataset",
            "folder:gone": "gone",
            "Folder:data": "Folder: & folder:",
            "data": "data & folder:",
            "folder:/proc/version": "/proc/version",
            "clipart?ink=red": "clipart?ink=red",
            "coloured?ink=redd": "redd",
            "coloured?bias=2": "bias & 2",
            "coloured?bias=nan": "bias & nan",
            "coloured?per_class=0": "per_class & 0",
            "coloured?per_class=-5": "per_class & -5",
            "coloured?per_class=x": "per_class & x",
            "coloured?colour=red": "colour",
            "coloured?": "coloured?",
            "coloured?per_class": "per_class",
            "coloured?seed=-1": "seed & -1",
            "cub:.": "cub|.",
            "cifar-fs:.": "cifar-fs|.",
            "meta-album:.": "meta-album|.",
            "miniimagenet:.": "miniimagenet|.",
            "tieredimagenet:.": "tieredimagenet|.",
            "cub:gone": "gone",
            "clipart/": "clipart/",
            "../clipart": "../clipart",
            "folder:" + "x" * 300: "xxx",
        }.items()
    ],
)
def test_names_of_data_sets(data, expected):
    judge(lambda: evaluate(data=data), expected)


def test_an_empty_folder():
    Path("data").mkdir()
    judge(evaluate, "data & class")


@pytest.mark.parametrize(
    "backbone, expected",
    [
        row(name or "empty", name, words)
        for name, words in {
            "efficientnet": "efficientnet & mean efficientnet-lite0|mean efficientnet-lite2",
            "glyphconv": "glyphconv & mean glyph-conv",
            "resnet50": "resnet50 & known|allowed",
            "": "backbone",
            "none": "none",
            "Glyph-Conv": "Glyph-Conv & glyph-conv",
            "glyph-conv:gone.pt": "gone.pt",
            "resnet18-leo": "resnet18-leo & weights",
            "clip": "clip & weights",
            "clip:gone.safetensors": "gone.safetensors",
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
        row("empty safetensors", "w.safetensors", b"", "glyph-conv", "w.safetensors & header"),
        row("noise as safetensors", "w.safetensors", bytes(range(99)), "glyph-conv", "w.safetensors & header"),
        row("a folder", "w.pt", Path.mkdir, "glyph-conv", "w.pt & folder|no weights file|directory"),
        row("a pickle that runs a command", "w.pt", pickle.dumps(Trap()), "glyph-conv", "w.pt & objects"),
        row("of another network", "w.pt", lambda p: torch.save({"a": torch.zeros(3)}, p), "glyph-conv", OTHER),
        row("a list", "w.pt", lambda p: torch.save([torch.zeros(3)], p), "glyph-conv", "w.pt & list"),
        row("a web page", "w.pth", "<!DOCTYPE html>", "glyph-conv", "w.pth & neither"),
        row("an image", "w.pt", lambda p: one(p), "glyph-conv", "w.pt & neither"),
        row("of another kind", "w.pt", lambda p: torch.save({"a": torch.zeros(3)}, p), "conv4-protonet", OTHER),
    ],
)
def test_weights(file, content, backbone, words):
    tree()
    fill(file, content)
    judge(lambda: evaluate(backbone=f"{backbone}:{file}"), words)
