"""``fslbook caption``, tables of captions, and attributes that are made of them."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fslbook.attributes import Attributes, captions, matrix
from fslbook.fewstab import detection
from fslcore import datasets

from .judging import Trap, asked, fill, fine, fslbook, judge, near, nowhere, refused, row, small_disk, split
from .pictures import tree

HEAD = "image,caption,captioner\n"
NAMES = [f"{c}/{i}.png" for c in ("disk", "lying", "standing") for i in range(6)]
TABLE = "image,caption\n" + "".join(f"{n},a dark form number {i}\n" for i, n in enumerate(NAMES))


def caption(*more, data="folder:data"):
    return fslbook("caption", data, *([] if "-o" in more else ["-o", "c.csv"]), *more)


def all_of_them(path="c.csv"):
    """A caption of each image is there."""

    def check(_):
        table = pd.read_csv(path)
        return len(table) == 18 and table["caption"].notna().all()

    return check


def begun(more=""):
    """The first half of what a run writes, and more."""

    def write(path):
        caption()
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:9]) + more)

    return write


def finished(more=""):
    def write(path):
        caption()
        path.write_text(path.read_text() + more)

    return write


@pytest.mark.parametrize(
    "there, expected",
    [
        row("nothing", None, all_of_them()),
        row("the same", finished(), all_of_them()),
        row("the first half", begun(), all_of_them()),
        row("a table of other columns", "a,b\n1,2\n", "c.csv & image|caption"),
        row("captions of another captioner", HEAD + "disk/0.png,a disk,blip\n", "c.csv & blip"),
        row("captions of other images", HEAD + "cat/0.png,a cat,pixels\n", "c.csv & other images|cat"),
        row("an empty file", "", "c.csv"),
        row("only a header", HEAD, "c.csv"),
        row("noise", bytes(range(256)), "c.csv"),
        row("UTF-16", (HEAD + "disk/0.png,a disk,pixels\n").encode("utf-16"), "c.csv"),
        row("a row that is cut", begun('"disk/'), "c.csv"),
        row("more rows than images", finished("disk/0.png,x,pixels\n"), "c.csv"),
    ],
)
def test_what_lies_where_the_captions_go_to(there, expected):
    tree()
    if there is not None:
        fill("c.csv", there)
    judge(caption, expected)


def moved(old, new):
    return lambda: os.rename(old, new)


@pytest.mark.parametrize(
    "change, expected",
    [
        row("a corrupt image", lambda: fill("data/disk/3.png", "x"), "3.png"),
        row("names with commas and quotes", moved("data/disk", 'data/a,"b'), all_of_them()),
        row("names in other scripts", moved("data/disk", "data/横 é"), all_of_them()),
        row("a newline in a name", moved("data/disk", "data/a\nb"), all_of_them()),
        row("bytes that are no text", moved(b"data/disk/0.png", b"data/disk/\xff.png"), "png"),
    ],
)
def test_images(change, expected):
    tree()
    change()
    judge(caption, expected)


@pytest.mark.parametrize(
    "data, options, expected",
    [
        *(
            row(f"captioner {name or 'without a name'}", "folder:data", f"--captioner '{name}'", words)
            for name, words in {
                "pixel": "pixel & mean pixels",
                "": "captioner",
                "Pixels": "Pixels & pixels",
                "gpt": "gpt & pixels",
                "pixels:x": "pixels:x",
                "blip:gone": "blip|fslcore[captions]",
                "vit-gpt2": "vit-gpt2|fslcore[captions]",
                "blip": "blip|fslcore[captions]",
                "blip-large": "blip-large|fslcore[captions]",
                "blip:": "blip|fslcore[captions]",
                "blip:data": "blip|fslcore[captions]",
                "vit-gpt2:/proc/version": "vit-gpt2|fslcore[captions]",
            }.items()
        ),
        *(row(f"split {v}", "folder:data", f"--split '{v}'", f"split & {v}") for v in ("test", "", "Novel")),
        *(
            row(f"data set {name or 'without a name'}", name, "", words)
            for name, words in {
                "clipard": "clipard & mean clipart",
                "folder:gone": "gone",
                "": "dataset",
                "features:f.npz": "features:f.npz",
                "data": "data & folder:",
            }.items()
        ),
        *(
            row(f"output {v or 'without a name'}", "folder:data", f"-o '{v}'", f"{v or 'output|-o'} & .csv")
            for v in ("c.txt", "c", "", "c.parquet", "c.csv.gz", ".")
        ),
        row("a bad output, before weights are looked for", "folder:data", "--captioner blip -o c.txt", "c.txt"),
        row("output in a new folder", "folder:data", "-o new/c.csv", all_of_them("new/c.csv")),
        row("one argument too many", "folder:data", "extra", "extra"),
    ],
)
def test_options(data, options, expected):
    tree()
    judge(lambda: caption(*split(options), data=data), expected)


def test_arguments_that_are_missing():
    judge(lambda: fslbook("caption"), "dataset")
    judge(lambda: fslbook("caption", "folder:data"), "-o")


@pytest.mark.parametrize("make, path, words", nowhere(".csv"))
def test_where_no_captions_can_be_written(make, path, words):
    tree()
    make()
    judge(lambda: caption("-o", path), words)


def test_a_disk_without_room():
    tree()
    with small_disk():
        refused(asked(caption), "c.csv|room|space|large", late=True)
    assert os.listdir() == ["data"]


def third(done):
    return len(done.value) == 18 and done.value[3] == "a dark form number 3"


def without(caption):
    """The table with this in place of a caption."""
    return TABLE.replace("a dark form number 3\n", f"{caption}\n", 1)


TWICE = TABLE.replace("caption\n", "caption,caption\n", 1).replace("form number", "form,number")


@pytest.mark.parametrize(
    "content, expected",
    [
        row("good", TABLE, third),
        row("file in place of image", TABLE.replace("image", "file", 1), third),
        row("on Windows", TABLE.replace("/", "\\").replace("\n", "\r\n"), "png"),
        row("a byte order mark", b"\xef\xbb\xbf" + TABLE.encode(), third),
        row("semicolons", TABLE.replace(",", ";"), "c.csv"),
        row("tabs", TABLE.replace(",", "\t"), "c.csv"),
        row("capitals", TABLE.replace("image,caption", "Image,Caption"), "c.csv & caption|image"),
        row("blanks around names", TABLE.replace("image,caption", "image, caption"), "c.csv & caption"),
        row("no column caption", TABLE.replace("caption", "text", 1), "c.csv & caption"),
        row("no column image", TABLE.replace("image", "id", 1), "c.csv & image"),
        row("no header", TABLE.split("\n", 1)[1], "c.csv"),
        row("one image left out", TABLE.replace("disk/3.png,a dark form number 3\n", ""), "disk/3.png"),
        row("an image twice", TABLE + "disk/3.png,another\n", "disk/3.png & twice"),
        row("images of others too", TABLE + "cat/3.png,a cat\n", third),
        row("bare names", TABLE.replace("disk/", "").replace("lying/", "").replace("standing/", ""), "png & twice"),
        row("an empty caption", without(""), "disk/3.png"),
        row("a caption NaN", without("NaN"), fine),
        row("only blanks as a caption", without("  "), "disk/3.png"),
        row("a comma without quotes", without("a dark form, number 3"), "c.csv"),
        row("empty", "", "c.csv"),
        row("only a header", "image,caption\n", "c.csv"),
        row("noise", bytes(range(256)) * 3, "c.csv"),
        row("UTF-16", TABLE.encode("utf-16"), "c.csv"),
        row("Latin 1", TABLE.replace("dark", "düster").encode("latin-1"), "c.csv"),
        row("a column caption twice", TWICE, "c.csv & column caption twice"),
        row("no such file", lambda path: None, "c.csv"),
        row("a folder", Path.mkdir, "c.csv"),
    ],
)
def test_tables(content, expected):
    tree()
    images = datasets.load("folder:data")
    fill("c.csv", content)
    judge(lambda: captions.read("c.csv", images), expected)


HAS = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 1], [0, 1, 1]], bool)
GOOD = Attributes(HAS, ("a", "b", "c"))


@pytest.mark.parametrize(
    "source, expected",
    [
        *(row(f"{v!r}", v, str(v) if v else "source") for v in ("words", "", "pixel", None, 3, "gone.csv", "c.txt")),
        row("no captions", "captions", "captions"),
        row("pixels", "pixels", lambda done: len(done.value) == 18),
    ],
)
def test_sources_of_attributes(source, expected):
    tree()
    images = datasets.load("folder:data")
    judge(lambda: matrix.of(images, source), expected)


@pytest.mark.parametrize(
    "call, expected",
    [
        row("one dimension", lambda: Attributes(np.ones(3, bool), "abc"), "(3,)|names"),
        row("a list", lambda: Attributes([[True, False, True]], ("a", "b", "c")), fine),
        row("a text as names", lambda: Attributes(HAS, "abc"), "names"),
        row("counts of a list", lambda: GOOD.counts([0, 0, 1, 1]), near([[1, 0, 2], [1, 2, 2]])),
        row("spurious, of a list", lambda: GOOD.spurious([0, 0, 1, 1]), near([[1, 0, 0], [1, 0, 0]])),
        row("other numbers of images", lambda: detection.agreement(GOOD, GOOD[:2]), "4 & 2"),
        row("agreement with itself", lambda: detection.agreement(GOOD, GOOD), near(1)),
        row("agreement with None", lambda: detection.agreement(GOOD, None), "reference|attributes"),
        row("facts in a Series", lambda: matrix.from_facts(pd.Series([1])), "facts"),
        row("words of no images", lambda: matrix.from_words([]), fine),
        row("no captioner", lambda: captions.captioner(None), "captioner"),
        row("labels too few", lambda: matrix.describe(GOOD, np.array([0, 1])), "labels"),
        row("no table", lambda: captions.read(None, None), "captions|path|None|images"),
    ],
)
def test_attributes(call, expected):
    judge(call, expected)


@pytest.mark.parametrize(
    "content",
    [
        row("no such file", lambda path: None),
        row("noise", bytes(99)),
        row("a pickle that runs a command", lambda path: np.savez(path, names=np.array([Trap()], object))),
    ],
)
def test_files_of_attributes(content):
    fill("a.npz", content)
    judge(lambda: Attributes.load("a.npz"), "a.npz")


def test_facts_with_empty_cells():
    facts = pd.DataFrame({"ink": ["red", None, float("nan"), ""]})
    assert matrix.from_facts(facts).names == ("ink: red",)
