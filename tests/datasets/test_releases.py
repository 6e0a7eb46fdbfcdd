"""Releases that benchmarks are made of, read from small copies of their layouts, and the splits that are shipped."""

import json

import layouts
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from refusal import refuses

from fslcore import datasets
from fslcore.catalogue import SPLITS
from fslcore.datasets.papers import SETS
from fslcore.datasets.releases import RELEASES
from fslcore.datasets.splits import listed_splits, of_split


def picture(path, shade):
    layouts.save(Image.new("RGB", (24, 20), (shade, shade, shade)), path)


def shaded(step):
    """Draws each class darker than the next by a step, and images of a class by one."""
    return lambda path, c, i: picture(path, step * c + i)


def photo(path, size, box, shade):
    """A light photo with one object."""
    image = Image.new("RGB", size, (250, 250, 250))
    image.paste((shade, 0, 0), box)
    layouts.save(image, path, quality=100, subsampling=0)


def refused(spec, message, split="novel"):
    with refuses(message):
        datasets.load(spec, split)


def classes_by_split(spec, size=None):
    return {split: datasets.load(spec, split, size).class_names for split in SPLITS}


SIZES = {
    "aircraft": (70, 15, 15),
    "cub": (140, 30, 30),
    "dtd": (33, 7, 7),
    "fungi": (994, 200, 200),
    "quickdraw": (241, 52, 52),
    "vgg-flower": (71, 15, 16),
}


def listed_classes(name):
    """The classes of a data set, and those of each split, as they are published."""
    lists = listed_splits()[name]
    first, last = lists.get("numbers", (0, -1))
    classes = [f"{i:04d}.x" for i in range(first, last + 1)] or sorted(sum(lists.values(), []))
    return classes, [
        of_split(name, split, classes, "here") for split in ("base", "validation", "novel")
    ]


@pytest.mark.parametrize("name", SIZES)
def test_splits_are_those_that_meta_dataset_draws(name):
    """Of all classes some to train and validate, and of those some to train."""
    classes, (base, validation, novel) = listed_classes(name)
    assert (len(base), len(validation), len(novel)) == SIZES[name]
    draws = np.random.RandomState(22)
    not_novel = draws.choice(len(classes), len(base) + len(validation), replace=False)
    drawn_base = draws.choice(not_novel, len(base), replace=False)
    assert [classes[i] for i in sorted(drawn_base)] == base
    assert [classes[i] for i in sorted(set(not_novel) - set(drawn_base))] == validation
    assert sorted({*base, *validation, *novel}) == classes


def test_splits_of_mscoco_are_half_of_its_kinds():
    mscoco = listed_splits()["mscoco"]
    assert (
        len(set(mscoco["validation"]) | set(mscoco["novel"])) == 80 and len(mscoco["novel"]) == 40
    )


def omniglot(root):
    alphabets = {
        "background": dict.fromkeys(("Greek", "Tagalog", "Latin"), 2),
        "evaluation": dict.fromkeys(("Tengwar", "ULOG"), 2),
    }
    layouts.omniglot(root, shaded(20), alphabets, 2)


def test_omniglot_has_characters_of_alphabets(tmp_path):
    omniglot(tmp_path)
    alphabets = {
        "base": ("Greek", "Latin"),
        "validation": ("Tagalog",),
        "novel": ("Tengwar", "ULOG"),
    }
    assert classes_by_split(f"omniglot:{tmp_path}", 32) == {
        split: [f"{alphabet}/character0{c}" for alphabet in names for c in (1, 2)]
        for split, names in alphabets.items()
    }
    novel = datasets.load(f"omniglot:{tmp_path}", size=32)
    assert np.asarray(novel.images)[novel.labels == 2, 5, 5, 0].tolist() == [41, 42]
    assert novel.facts["drawer"].tolist()[:3] == ["Tengwar/01", "Tengwar/02", "Tengwar/01"]
    assert novel.facts["file"][0] == "images_evaluation/Tengwar/character01/0000_01.png"


def folders(root, names, images=2):
    layouts.class_folders(root, shaded(5), names, images)


def test_dtd_is_split_by_the_list(tmp_path):
    lists = listed_splits()["dtd"]
    folders(tmp_path / "dtd" / "images", sorted(sum(lists.values(), [])), images=1)
    (tmp_path / "dtd" / "images" / "waffled" / ".directory").write_text("")
    for split, names in lists.items():  # found in a folder of the one that is named
        assert datasets.load(f"dtd:{tmp_path}", split).class_names == sorted(names)
    (tmp_path / "dtd" / "images" / "woven").rename(tmp_path / "dtd" / "images" / "Woven")
    refused(f"dtd:{tmp_path}", r"no class woven in .*images \(1 of the 7 .* novel are missing\)")


def aircraft(root):
    names = [*listed_splits()["aircraft"]["novel"], "A318", "DC-10"]
    draw = lambda path, c, i: photo(path, (60, 40), (30, 5, 50, 15), 10 * c)  # noqa: E731
    layouts.planes(root / "data", draw, names, 2, "32 7 48 13")


def test_aircraft_is_cut_out_by_its_boxes(tmp_path):
    aircraft(tmp_path)
    spec, variants = f"aircraft:{tmp_path}", listed_splits()["aircraft"]["novel"]
    novel = datasets.load(spec, size=16)
    assert novel.class_names == sorted(variants) and novel.counts.tolist() == [2] * 15
    pixels = np.asarray(novel.images)
    assert pixels[..., 1:].max() < 20  # nothing of what lies around the box
    spitfire = pixels[novel.labels == novel.class_names.index("Spitfire"), 8, 8, 0]
    assert abs(spitfire.astype(int) - 10 * variants.index("Spitfire")).max() <= 4
    boxes = tmp_path / "data" / "images_box.txt"
    lines = boxes.read_text()
    boxes.write_text(lines.replace("32 7 48 13", "70 7 90 13"))
    moved = datasets.load(spec, size=16)
    assert moved.digest != novel.digest  # boxes are part of what is kept
    with refuses(r"\.jpg", "box", "70 7 90 13", "60x40"):
        moved.images[:1]
    for line in ("", "0000000 32 7 48", "0000000 32 7 48 x"):
        boxes.write_text(lines.replace("0000000 32 7 48 13", line))
        refused(spec, "images_box.txt has no box of four numbers of 0000000")
    (tmp_path / "data" / "images_variant_test.txt").write_text("0000001\n")
    refused(spec, "images_variant_test.txt has a line without a variant: 0000001")


def fungi(root, names=1394):
    names = ["Agaricus " if i in (8, 9) else f"species {i}" for i in range(names)]
    layouts.fungi(root, shaded(20), names, {"train": (8, 9, 0, 1), "val": (8, 0)})


def test_fungi_are_distinguished_by_their_numbers(tmp_path):
    fungi(tmp_path)
    spec = f"fungi:{tmp_path}"
    assert classes_by_split(spec, 8) == {
        "novel": ["0008.Agaricus", "0009.Agaricus"],  # of one name
        "validation": ["0000.species 0"],
        "base": ["0001.species 1"],
    }
    assert datasets.load(spec, size=8).counts.tolist() == [2, 1]  # of both parts
    fungi(tmp_path, names=1000)
    refused(spec, r"no class 1012 in .*train.json \(53 of the 200 classes")
    train = json.loads((tmp_path / "train.json").read_text())
    train["annotations"][0]["image_id"] = 3
    (tmp_path / "train.json").write_text(json.dumps(train))
    refused(spec, "annotations of image_id 3, which it does not list")


def test_flowers_come_split_or_whole(tmp_path):
    labels = np.tile(np.arange(1, 103), 2)
    layouts.flowers(
        tmp_path, lambda path, c, i: picture(path, c), labels, np.arange(len(labels)) % 4 > 1
    )
    novel = datasets.load(f"vgg-flower:{tmp_path}", size=8)
    assert [int(c) for c in novel.class_names] == listed_splits()["vgg-flower"]["novel"]
    shade = np.asarray(novel.images)[:, 4, 4, 0]
    assert (
        abs(shade.astype(int) - np.array(novel.class_names, int)[novel.labels]).max() <= 1
    )  # of JPEG
    whole = datasets.load(f"flowers102:{tmp_path}")
    assert (
        len(whole.class_names) == 102
        and len(whole) == 204
        and set(whole.facts["part"]) == {"train", "val", "test"}
    )
    tested = datasets.load(f"flowers102:{tmp_path}?part=test")
    assert (
        set(tested.facts["part"]) == {"test"}
        and len(tested) == (whole.facts["part"] == "test").sum()
    )
    refused(f"flowers102:{tmp_path}", "split .*'novel'.*got 'base'", "base")
    refused(
        f"flowers102:{tmp_path}?part=tests",
        r"part must be 'test', 'train' or 'val', got 'tests'; did you mean 'test",
    )
    (tmp_path / "imagelabels.mat").write_bytes(b"MATLAB 5.0, or not")
    refused(f"vgg-flower:{tmp_path}", "imagelabels.mat is not a MATLAB file with labels")


def test_traffic_signs_know_their_tracks(tmp_path):
    layouts.signs(tmp_path, shaded(40), 3, 4, 2)
    signs = datasets.load(f"traffic-signs:{tmp_path}")
    assert signs.class_names == ["00000", "00001", "00002"] and signs.counts.tolist() == [4, 4, 4]
    assert signs.facts["track"].tolist()[:5] == ["00000/00000"] * 2 + ["00000/00001"] * 2 + [
        "00001/00000"
    ]


OBJECTS = [(20, 30, 40, 20), (0, 0, 10, 10), (99.8, 79.8, 0.1, 0.1), (110, 0, 5, 5)]


def mscoco(root):
    lists = listed_splits()["mscoco"]
    photo(root / "train2017" / "000000000009.jpg", (100, 80), (20, 30, 60, 50), 0)
    content = {
        "images": [{"id": 9, "file_name": "000000000009.jpg", "width": 100, "height": 80}],
        "categories": [
            {"id": 90 - i, "name": kind}
            for i, kind in enumerate(lists["novel"] + lists["validation"])
        ],
        "annotations": [
            {
                "id": 500 + i,
                "image_id": 9,
                "category_id": c,
                "bbox": box,
                "segmentation": [],
                "iscrowd": 0,
            }
            for i, (box, c) in enumerate(zip((*OBJECTS, OBJECTS[0]), (90, 89, 90, 90, 30)))
        ],
    }
    (root / "annotations").mkdir()
    (root / "annotations" / "instances_train2017.json").write_text(json.dumps(content))


def cut(box, width, height):
    """What Meta-Dataset cuts out, box by box: a fifth more, in whole pixels, within the photo."""
    x, y, w, h = box
    x, y, w, h = x - 0.1 * w, y - 0.1 * h, 1.2 * w, 1.2 * h
    left, top = max(round(x - 0.5), 0), max(round(y - 0.5), 0)
    return left, top, min(round(x + w - 0.5) + 1, width), min(round(y + h - 0.5) + 1, height)


def test_mscoco_is_cut_into_objects(tmp_path):
    mscoco(tmp_path)
    spec, lists = f"mscoco:{tmp_path}", listed_splits()["mscoco"]
    novel = datasets.load(spec, size=32)
    assert sorted(novel.class_names) == sorted(lists["novel"][:2])
    # the fourth box lies outside, and is left out
    assert novel.facts["file"].str.rpartition("#")[2].tolist() == ["500", "501", "502"]
    assert set(novel.facts["photo"]) == {"000000000009.jpg"}
    with Image.open(tmp_path / "train2017" / "000000000009.jpg") as image:
        for i in range(2):
            expected = image.crop(cut(OBJECTS[i], *image.size)).resize(
                (32, 32), Image.Resampling.BICUBIC
            )
            assert abs(np.asarray(novel.images)[i].astype(int) - np.asarray(expected)).max() <= 1
    assert datasets.load(spec, "validation").class_names == [lists["validation"][20]]
    refused(spec, "split .*'novel' or 'validation'.*got 'base'", "base")
    (tmp_path / "annotations" / "instances_train2017.json").write_text('{"images": 3}')
    refused(spec, r"dataset.*instances_train2017.json.* COCO annotations \(ValueError")


def quickdraw(root, n=3):
    for c, name in enumerate(listed_splits()["quickdraw"]["novel"]):
        file = f"full_numpy_bitmap_{name}.npy" if c % 2 else f"{name}.npy"
        np.save(
            root / file,
            np.full((n + c % 2, 784), c, np.uint8) + (np.arange(784) // 28).astype(np.uint8),
        )


def test_quickdraw_is_read_from_its_bitmaps(tmp_path):
    quickdraw(tmp_path)
    words = listed_splits()["quickdraw"]["novel"]
    novel = datasets.load(f"quickdraw:{tmp_path}")
    assert novel.class_names == words and novel.counts.tolist() == [3, 4] * 26
    assert novel.images.shape == (182, 28, 28, 3)
    assert (novel.images[3:4][0, :, 5, 1] == 1 + np.arange(28)).all()  # rows of the second word
    few = datasets.load(f"quickdraw:{tmp_path}?per_class=2", size=32)
    assert len(few) == 104 and few.images.shape == (104, 32, 32, 3) and few.digest != novel.digest
    refused(f"quickdraw:{tmp_path}?per_class=0", "per_class must be an integer >= 1")
    np.save(tmp_path / "angel.npy", np.zeros((3, 28, 28)))
    refused(
        f"quickdraw:{tmp_path}", r"angel.npy .*\(N, 784\) of uint8, got \(3, 28, 28\) of float64"
    )
    np.save(tmp_path / "angel.npy", np.array([{}]), allow_pickle=True)
    refused(f"quickdraw:{tmp_path}", "angel.npy is not a readable .npy")  # a pickle is not opened
    (tmp_path / "angel.npy").unlink()
    refused(f"quickdraw:{tmp_path}", r"no file .*angel.npy \(1 of 52 are missing\)")


def test_eurosat_and_food_are_taken_whole(tmp_path):
    folders(tmp_path / "2750", ["AnnualCrop", "Forest", "River"])
    assert datasets.load(f"eurosat:{tmp_path}").class_names == ["AnnualCrop", "Forest", "River"]
    root = tmp_path / "food-101"
    folders(root / "images", ["apple_pie", "waffles"], images=3)
    (root / "meta").mkdir()
    (root / "meta" / "train.txt").write_text("apple_pie/apple_pie_0\nwaffles/waffles_0\n")
    (root / "meta" / "test.txt").write_text("apple_pie/apple_pie_1\nwaffles/waffles_2\n")
    tested = datasets.load(f"food101:{root}?part=test", size=8)
    assert tested.facts["file"].tolist() == [
        "images/apple_pie/apple_pie_1.jpg",
        "images/waffles/waffles_2.jpg",
    ]
    assert np.asarray(tested.images)[:, 4, 4, 0].tolist() == [1, 7]
    whole = datasets.load(f"food101:{root}")
    assert sorted(whole.facts["part"]) == ["", "", "test", "test", "train", "train"]
    refused(f"food101:{root}?part=val", "part.*test.*train.*val")


def test_meta_album_tests_on_one_set_of_three(tmp_path):
    for s, names in enumerate(SETS):
        assert len(set(names)) == 10
        for n, name in enumerate(names):
            root = tmp_path / (f"{name}_Mini" if n % 2 else name)
            for c in "ab":
                picture(root / "images" / f"{c}.png", 80 * s + 4 * n + (c == "b"))
            (root / "labels.csv").write_text("FILE_NAME,CATEGORY\na.png,a\nb.png,b\n")
    for k in range(3):
        for split, s in (("novel", k), ("base", (k + 1) % 3), ("validation", (k + 2) % 3)):
            images = datasets.load(f"meta-album:{tmp_path}?test_set={k}", split, 16)
            assert images.class_names == sorted(f"{name}/{c}" for name in SETS[s] for c in "ab")
            assert images.facts["domain"].tolist() == [name for name in SETS[s] for _ in "ab"]
            shades = np.asarray(images.images)[:, 8, 8, 0].tolist()
            assert shades == [80 * s + 4 * n + c for n in range(10) for c in range(2)]
    assert datasets.load(f"meta-album:{tmp_path}/BRD").class_names == ["a", "b"]
    refused(
        f"meta-album:{tmp_path}",
        r"holds data sets of Meta-Album; name one, or a set: .*\?test_set=0",
    )
    refused(f"meta-album:{tmp_path}?test_set=3", "test_set must be an integer from 0 to 2")
    (tmp_path / "BRD" / "labels.csv").unlink()
    refused(f"meta-album:{tmp_path}?test_set=0", "no folder BRD or BRD_Mini in")


def test_cub_takes_the_split_that_is_named(tmp_path):
    names = [f"{c:03d}.bird_{c}" for c in range(1, 201)]
    files = [(c, f"{name}/1.jpg") for c, name in enumerate(names, 1)]
    layouts.birds(tmp_path, shaded(1), names, files)
    spec = f"cub:{tmp_path}"
    found = classes_by_split(f"{spec}?splits=meta-dataset")
    assert found["novel"] == [names[c - 1] for c in listed_splits()["cub"]["novel"]]
    assert len(found["base"]) == 140 and sorted(sum(found.values(), [])) == names
    for part, classes in (("train", names[:10]), ("val", names[10:20]), ("test", names[20:30])):
        pd.DataFrame({"filename": "x.jpg", "label": classes}).to_csv(tmp_path / f"{part}.csv")
    assert datasets.load(spec).class_names == names[20:30]
    assert datasets.load(f"{spec}?splits=chen").class_names == names[3::4]
    (tmp_path / "classes.txt").write_text("1 1st.bird\n")
    refused(f"{spec}?splits=meta-dataset", "no class .* are missing")
    refused(
        f"{spec}?splits=metadataset",
        "splits must be 'chen', 'fewstab' or 'meta-dataset', got 'metadataset'",
    )
    for load in (datasets.load, datasets.check_name):
        with refuses(r"\bsplit\b", r"did you mean 'splits'"):
            load(f"{spec}?split=meta-dataset")


def test_cub_is_read_without_the_lists_of_its_release(tmp_path):
    for part, name in (("train", "a"), ("val", "b"), ("test", "c")):
        pd.DataFrame({"filename": [f"{name}/1.png"], "label": [name]}).to_csv(
            tmp_path / f"{part}.csv", index=False
        )
        picture(tmp_path / "images" / name / "1.png", 9)
    images = datasets.load(f"cub:{tmp_path}")
    assert images.class_names == ["c"] and images.name == f"cub:{tmp_path}"


THUMBNAIL = "@eaDir/1.jpg/SYNOPHOTO_THUMB_M.jpg"  # as network drives leave them in every folder


def test_what_a_system_leaves_between_class_folders_is_no_class(tmp_path):
    folders(tmp_path / "eurosat", ["AnnualCrop", "Forest"])
    omniglot(tmp_path / "omniglot")
    for place in ("eurosat", *(f"omniglot/images_evaluation{inside}" for inside in ("", "/ULOG"))):
        picture(tmp_path / place / THUMBNAIL, 7)
    assert datasets.load(f"eurosat:{tmp_path}/eurosat").class_names == ["AnnualCrop", "Forest"]
    assert len(datasets.load(f"omniglot:{tmp_path}/omniglot").class_names) == 4


@pytest.mark.parametrize("name", sorted({*RELEASES, "quickdraw"}))
def test_an_empty_folder_is_refused(tmp_path, name):
    (tmp_path / "inside").mkdir()
    refused(f"{name}:{tmp_path}", "dataset: no ")
    refused(f"{name}:{tmp_path}/none", f"dataset: no folder {tmp_path}/none")
    refused(f"{name}x:{tmp_path}", rf"did you mean '{name}:PATH'")
