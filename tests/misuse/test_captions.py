"""``fslbook caption``, tables of captions, and attributes that are made of them."""

import os

import pandas as pd
import pytest

from .judging import fill, fslbook, judge, row, split
from .pictures import tree

HEAD = "image,caption,captioner\n"


def caption(*options, data="folder:data"):
    return fslbook("caption", data, *([] if "-o" in options else ["-o", "c.csv"]), *options)


def all_of_them(path="c.csv"):
    """A caption of each image is there."""

    def check(_):
        table = pd.read_csv(path)
        return len(table) == 18 and table["caption"].notna().all()

    return check


def begun(end=""):
    """The first half of what a run writes, and an end."""

    def write(path):
        caption()
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:9]) + end)

    return write


def finished(end=""):
    def write(path):
        caption()
        path.write_text(path.read_text() + end)

    return write


@pytest.mark.parametrize(
    "content, expected",
    [
        row("nothing", None, all_of_them()),
        row("the same", finished(), all_of_them()),
        row("the first half", begun(), all_of_them()),
        row("noise", bytes(range(256)), "c.csv"),
        row("a row that is cut", begun('"disk/'), "c.csv"),
        row("more rows than images", finished("disk/0.png,x,pixels\n"), "c.csv"),
    ],
)
def test_what_lies_where_the_captions_go_to(content, expected):
    tree()
    if content is not None:
        fill("c.csv", content)
    judge(caption, expected)


def moved(old, new):
    return lambda: os.rename(old, new)


@pytest.mark.parametrize(
    "change, expected",
    [
        row("a corrupt image", lambda: fill("data/disk/3.png", "x"), "3.png"),
        row("names in other scripts", moved("data/disk", "data/横 é"), all_of_them()),
        row("a newline in a name", moved("data/disk", "data/a\nb"), all_of_them()),
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
            row(
                f"captioner {name or 'without a name'}",
                "folder:data",
                f"--captioner '{name}'",
                words,
            )
            for name, words in {
                "pixel": "'pixel' & mean 'pixels'",
                "pixels:x": "pixels:x",
                "blip:gone": "blip|pip install '.[book,captions]' ./data",
            }.items()
        ),
        *(
            row(
                f"output {v or 'without a name'}",
                "folder:data",
                f"-o '{v}'",
                f"{v or 'output|-o'} & .csv",
            )
            for v in ("c.txt", "")
        ),
        row(
            "a bad output, before weights are looked for",
            "folder:data",
            "--captioner blip -o c.txt",
            "c.txt",
        ),
        row("output in a new folder", "folder:data", "-o new/c.csv", all_of_them("new/c.csv")),
    ],
)
def test_options(data, options, expected):
    tree()
    judge(lambda: caption(*split(options), data=data), expected)
