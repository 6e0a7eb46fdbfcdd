"""The papers' data sets, read from small folders made in the forms in which they were released."""

import json

import layouts
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from refusal import refuses

from fslcore import datasets
from fslcore.cli import app
from fslcore.datasets import listing, papers, releases
from fslcore.datasets.listing import READERS
from fslcore.datasets.loading import reader

SPLITS = {"base": "train", "validation": "val", "novel": "test"}
CLASSES = {"train": ["apple", "bear"], "val": ["cup"], "test": ["dog", "elm"]}
SIZES = {"cifar-fs": 32, "miniimagenet": 84, "tieredimagenet": 84, "meta-album": 128, "cub": 84}
IMAGES = 3  # a class


def picture(path, seed):
    """A made-up image of 40 × 30 pixels, its middle told apart by the seed."""
    layouts.save(Image.fromarray(np.full((30, 40, 3), seed, np.uint8)), path)


def shade(name, i):
    return 40 * (ord(name[0]) - ord("a")) + 10 * i


def cifar_fs(root, inside=""):
    root = root / inside
    (root / "splits" / "bertinetto").mkdir(parents=True)
    for part, names in CLASSES.items():
        (root / "splits" / "bertinetto" / f"{part}.txt").write_text(
            "\n".join(reversed(names)) + "\n"
        )
        for name in names:
            for i in range(IMAGES):
                picture(root / "data" / name / f"{name}_{i}.png", shade(name, i))


def csv_splits(root):
    for part, names in CLASSES.items():
        rows = [
            (f"{name}{i:08d}.png", name) for i in range(IMAGES) for name in names
        ]  # not sorted by class
        pd.DataFrame(rows, columns=["filename", "label"]).to_csv(root / f"{part}.csv", index=False)
        for file, name in rows:
            picture(root / "images" / file, shade(name, int(file[len(name) : -4])))


def folders(root):
    for part, names in CLASSES.items():
        for name in names:
            for i in range(IMAGES):
                picture(root / part / name / f"{i}.png", shade(name, i))


def meta_album(root):
    names = CLASSES["test"]
    rows = [
        (f"{name}_{i}.png", name, "plant" if name == "elm" else "animal")
        for i in range(IMAGES)
        for name in names
    ]
    pd.DataFrame(rows, columns=["FILE_NAME", "CATEGORY", "SUPER_CATEGORY"]).to_csv(
        root / "labels.csv", index=False
    )
    for file, name, _ in rows:
        picture(root / "images" / file, shade(name, int(file[-5])))


def cub(root, classes=8):
    names = [f"{c + 1:03d}.{name}" for c, name in enumerate("abcdefghijklmnopqrstuvwxyz"[:classes])]
    files = [
        (c, f"{name}/{name[4:]}_{i}.png") for c, name in enumerate(names, 1) for i in range(IMAGES)
    ]
    layouts.birds(root, lambda path, c, n: picture(path, 15 * (c - 1) + (n - 1) % 3), names, files)
    return names


@pytest.mark.parametrize(
    "name, make",
    [
        ("cifar-fs", cifar_fs),
        ("cifar-fs", lambda root: cifar_fs(root, "cifar100")),
        ("miniimagenet", csv_splits),
        ("tieredimagenet", csv_splits),
        ("tieredimagenet", folders),
        ("meta-album", meta_album),
    ],
)
def test_each_form_is_read(tmp_path, name, make):
    make(tmp_path)
    if make is folders:  # as network drives leave them in every folder
        for part in CLASSES:
            picture(tmp_path / part / "@eaDir" / "1.png" / "SYNOPHOTO_THUMB_M.png", 7)
    for split, part in SPLITS.items():
        if name == "meta-album" and split != "novel":
            continue
        images = datasets.load(f"{name}:{tmp_path}", split)
        assert images.name == f"{name}:{tmp_path}" and images.class_names == CLASSES[part]
        assert images.counts.tolist() == [IMAGES] * len(CLASSES[part])
        assert (
            images.images.shape == (len(images), SIZES[name], SIZES[name], 3)
            and images.side is None
        )
        larger = datasets.load(f"{name}:{tmp_path}", split, 48)
        assert larger.images.shape == (len(images), 48, 48, 3) and larger.side == 48
        middle = np.asarray(images.images)[:, SIZES[name] // 2, SIZES[name] // 2, 0].astype(int)
        for label, class_name in enumerate(CLASSES[part]):
            assert sorted(middle[images.labels == label]) == [
                shade(class_name, i) for i in range(IMAGES)
            ]


def test_meta_album_keeps_its_super_categories(tmp_path):
    meta_album(tmp_path)
    images = datasets.load(f"meta-album:{tmp_path}")
    assert set(images.facts["super_category"][images.labels == 1]) == {"plant"}
    with refuses("split = base", "novel only"):
        datasets.load(f"meta-album:{tmp_path}", "base")


def test_cub_is_split_by_rule_or_by_the_users_files(tmp_path):
    names = cub(tmp_path, classes=16)
    by_rule = {split: datasets.load(f"cub:{tmp_path}", split).class_names for split in SPLITS}
    assert by_rule == {
        "base": names[::2],
        "validation": names[1::4],
        "novel": names[3::4],
    }  # of 200: 100, 50, 50
    novel = datasets.load(f"cub:{tmp_path}")
    assert sorted(np.asarray(novel.images)[novel.labels == 1, 0, 0, 0]) == [
        105,
        106,
        107,
    ]  # class 7

    for part, classes in {"train": names[:8], "val": names[8:12], "test": names[12:]}.items():
        pd.DataFrame({"filename": "x.jpg", "label": classes}).to_csv(
            tmp_path / f"{part}.csv", index=False
        )
    assert datasets.load(f"cub:{tmp_path}").class_names == names[12:]

    def write_json(stem, classes):
        listed = {"image_names": [f"/somewhere/images/{name}/1.jpg" for name in classes]}
        (tmp_path / f"{stem}.json").write_text(json.dumps(listed))

    for stem, classes in (("base", names[4:]), ("val", names[:2]), ("novel", names[2:4])):
        write_json(stem, classes)
    assert datasets.load(f"cub:{tmp_path}").class_names == names[2:4]
    write_json("val", names[2:3])
    with refuses(f"class {names[2]} is in two splits"):
        datasets.load(f"cub:{tmp_path}")
    write_json("val", [])
    write_json("novel", ["201.Dodo"])
    with refuses("201.Dodo", "lists"):
        datasets.load(f"cub:{tmp_path}")
    (tmp_path / "val.json").write_text("[]")
    with refuses("val.json", "split"):
        datasets.load(f"cub:{tmp_path}")


def drop(path):
    return lambda root: (root / path).unlink()


def write(path, text):
    return lambda root: (root / path).write_text(text)


LISTS = "splits/bertinetto"


@pytest.mark.parametrize(
    "name, make, fault, message",
    [
        ("cifar-fs", cifar_fs, drop(f"{LISTS}/val.txt"), r"no file .*val\.txt"),
        (
            "cifar-fs",
            cifar_fs,
            write(f"{LISTS}/val.txt", "elm\ncup\n"),
            "class elm is in two splits of .*, val and test",
        ),
        (
            "cifar-fs",
            cifar_fs,
            write(f"{LISTS}/test.txt", "dog\nunicorn\n"),
            "no class folder .*data/unicorn",
        ),
        ("miniimagenet", csv_splits, drop("test.csv"), r"no file .*test\.csv"),
        ("miniimagenet", csv_splits, write("val.csv", "filename,label\n"), r"val\.csv is empty"),
        (
            "miniimagenet",
            csv_splits,
            write("test.csv", "file,label\na,b\n"),
            r"test\.csv lacks the column filename; it has file, label",
        ),
        (
            "miniimagenet",
            csv_splits,
            drop("images/elm00000001.png"),
            r"images/elm00000001\.png \(no such file; 1 of 6 are missing\)",
        ),
        (  # else one could be in a task's support, and the other a query
            "miniimagenet",
            csv_splits,
            write("test.csv", "filename,label\na.png,dog\nb.png,dog\nb.png,elm\n"),
            r"lists .*images/b\.png twice \(1 are\)",
        ),
        (
            "miniimagenet",
            csv_splits,
            write("test.csv", "filename,label\na.png,dog\nb.png, \n"),
            r"has no class for .*images/b\.png \(1 are without\)",
        ),
        (
            "tieredimagenet",
            meta_album,
            lambda root: None,
            r"has neither test\.csv nor a folder train",
        ),
        (
            "meta-album",
            meta_album,
            write("labels.csv", "FILE_NAME\na\n"),
            "lacks the column CATEGORY",
        ),
        ("cub", cub, drop("classes.txt"), r"no file .*classes\.txt"),
        (
            "cub",
            cub,
            write("classes.txt", "1 001.a\n2 002.b\n3 003.c\n4 004.d\n"),
            "the class of image 005.e/e_0.png is not in the lists",
        ),
    ],
)
def test_faults_are_told_in_one_line(tmp_path, name, make, fault, message):
    make(tmp_path)
    fault(tmp_path)
    with refuses(message):
        datasets.load(f"{name}:{tmp_path}")


def test_names_are_known_to_the_command_line_and_to_notebooks(tmp_path, capsys):
    assert [f"{name}:PATH" for name in READERS] == datasets.path_forms()[1:]
    assert tuple(papers.PAPERS) == listing.PAPERS
    assert tuple(releases.RELEASES) == listing.RELEASES
    parted = [name for name, release in releases.RELEASES.items() if release.parts]
    assert tuple(parted) == listing.PARTED_RELEASES
    assert app.main(["list", "datasets"]) == 0
    assert "cifar-fs:PATH, miniimagenet:PATH" in capsys.readouterr().out
    folders(tmp_path)
    datasets.check_name(f"tieredimagenet:{tmp_path}")  # what the notebooks' parameters go through
    for spec, message in (
        ("cub:/none", "no folder /none"),
        ("cup:/none", "one of .*, cub:PATH"),
    ):
        with refuses(message):
            datasets.check_name(spec)
    with refuses("split", "train", "base.*validation.*novel"):
        datasets.load(f"tieredimagenet:{tmp_path}", "train")


@pytest.mark.parametrize(
    "read", [*map(reader, READERS), datasets.load_folder], ids=[*READERS, "folder"]
)
def test_a_home_folder_of_nobody_is_told(read):
    with refuses("^dataset = ~nobody-9/x; Could not determine home"):
        read("~nobody-9/x")
