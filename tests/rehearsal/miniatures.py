"""Small archives in the official layouts of the papers' data sets, with enough images per class for tasks."""

import json
from functools import partial
from pathlib import Path

import layouts
import numpy as np
from layouts import write_lines
from PIL import Image

from fslcore.datasets.papers import SETS
from fslcore.datasets.splits import listed_splits

N = 20  # images per class


def picture(path: Path, kind: int, i: int, size=(40, 32), grey=False) -> None:
    """Coarse noise, of which one half belongs to the class: classes can be distinguished, but not perfectly."""
    of_class, of_image = np.random.default_rng([7, kind]), np.random.default_rng([8, kind, i])
    coarse = (of_class.integers(0, 256, (5, 6, 3)) + of_image.integers(0, 256, (5, 6, 3))) // 2
    image = Image.fromarray(coarse.astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
    layouts.save(image.convert("L") if grey else image, path)


def omniglot(root: Path) -> None:
    alphabets = {"background": {"Latin": 2}, "evaluation": {"Greek": 4, "Tengwar": 4}}
    layouts.omniglot(root, partial(picture, size=(35, 35), grey=True), alphabets, N)


def aircraft(root: Path) -> None:
    names = listed_splits()["aircraft"]["novel"]
    layouts.planes(root / "fgvc-aircraft-2013b" / "data", picture, names, N, "2 1 39 30")


def cub(root: Path) -> None:
    names = [f"{c:03d}.Bird_{c}" for c in range(1, 201)]
    files = [
        (c, f"{names[c - 1]}/{i}.jpg") for c in listed_splits()["cub"]["novel"] for i in range(N)
    ]
    (root / "CUB_200_2011").mkdir()
    layouts.birds(root / "CUB_200_2011", picture, names, files)


def dtd(root: Path) -> None:
    layouts.class_folders(root / "dtd" / "images", picture, listed_splits()["dtd"]["novel"], N)


def fungi(root: Path) -> None:
    """Few classes have many images, as in the release."""
    chosen = listed_splits()["fungi"]["novel"]
    train = np.repeat(chosen, [N] * 20 + [min(N, 6)] * (len(chosen) - 20)).tolist()
    names = [f"species {i}" for i in range(1394)]
    draw = partial(picture, size=(20, 16))
    layouts.fungi(root, draw, names, {"train": train, "val": 2 * chosen})


def flowers(root: Path) -> None:
    """Five classes with the images that a chapter takes at 16 shots, and others with those that tasks of all take."""
    labels = np.concatenate([np.full(48 if c <= 5 else N, c) for c in range(1, 103)])
    layouts.flowers(
        root, partial(picture, size=(24, 24)), labels, np.arange(1, len(labels) + 1) % 10 == 0
    )


def signs(root: Path, count: int = 20 * N) -> None:
    """Few classes, and large ones: a chapter cuts this set into parts of several sizes."""
    layouts.signs(root, partial(picture, size=(30, 28)), 10, count, 3)


def mscoco(root: Path) -> None:
    kinds = [*listed_splits()["mscoco"]["novel"], *listed_splits()["mscoco"]["validation"]]
    images = [
        {"id": n, "file_name": f"{n:012d}.jpg", "width": 200, "height": 160}
        for n in range(40 * N // 20)
    ]
    for image in images:
        picture(root / "train2017" / image["file_name"], image["id"], 0, (200, 160))
    annotations = []
    for n, c in enumerate(c for _ in range(N) for c in range(40)):
        x, y = 40 * (n % 5), 40 * (n // 5 % 4)
        annotations.append(
            {"id": n, "image_id": n // 20, "category_id": c, "bbox": [x, y, 36, 36], "iscrowd": 0}
        )
    (root / "annotations").mkdir()
    categories = [{"id": i, "name": kind} for i, kind in enumerate(kinds)]
    content = {"images": images, "categories": categories, "annotations": annotations}
    (root / "annotations" / "instances_train2017.json").write_text(json.dumps(content))


def quickdraw(root: Path) -> None:
    for c, name in enumerate(listed_splits()["quickdraw"]["novel"]):
        rng = np.random.default_rng(c)
        np.save(
            root / f"{name}.npy",
            (rng.integers(0, 128, 784) + rng.integers(0, 128, (N, 784))).astype(np.uint8),
        )


MAKERS = {
    "omniglot": omniglot,
    "aircraft": aircraft,
    "cub": cub,
    "dtd": dtd,
    "fungi": fungi,
    "vgg-flower": flowers,
    "traffic-signs": signs,
    "mscoco": mscoco,
    "quickdraw": quickdraw,
}


# --- of the other two papers


def cifar_fs(root: Path) -> None:
    """CIFAR-100's binary form: many images of novel classes, since a chapter goes up to 20 shots."""
    splits = listed_splits()["cifar-fs"]
    names = sorted(sum((splits[part] for part in ("base", "validation", "novel")), []))
    rng, records = np.random.default_rng(9), []
    for c, name in enumerate(names):
        coarse = rng.integers(0, 256, (3, 4, 4))
        for _ in range(48 if name in splits["novel"] else N):
            plane = (coarse + rng.integers(0, 256, (3, 4, 4))) // 2
            records.append(
                bytes([c // 5, c]) + plane.repeat(8, 1).repeat(8, 2).astype(np.uint8).tobytes()
            )
    root = root / "cifar-100-binary"
    root.mkdir()
    write_lines(root / "fine_label_names.txt", names)
    (root / "train.bin").write_bytes(b"".join(records[::2]))
    (root / "test.bin").write_bytes(b"".join(records[1::2]))


def lists(root: Path, classes: dict[str, int], count: int, side: int, tested: int = 2 * N) -> None:
    """A folder images, and train.csv, val.csv and test.csv, as LibFewShot has miniImageNet and CUB."""
    kind = 0
    for part, class_count in classes.items():
        rows = ["filename,label"]
        for c in range(class_count):
            for i in range(tested if part == "test" else count):
                rows.append(f"{part}{c:03d}_{i}.jpg,{part}{c:03d}")
                picture(root / "images" / f"{part}{c:03d}_{i}.jpg", kind + c, i, (side, side))
        kind += class_count
        write_lines(root / f"{part}.csv", rows)


def tiered(root: Path) -> None:
    for k, part in enumerate(("train", "val", "test")):
        for c in range(7):
            for i in range(120 if part == "test" else N):
                picture(root / part / f"{10 * k + c:03d}" / f"{i}.png", 10 * k + c, i, (84, 84))


def meta_album(root: Path) -> None:
    for k, name in enumerate(name for names in SETS for name in names):
        rows = ["FILE_NAME,CATEGORY,SUPER_CATEGORY"]
        for c in range(5):
            for i in range(N):
                rows.append(f"{c}_{i}.jpg,class {c},all")
                picture(root / f"{name}_Mini" / "images" / f"{c}_{i}.jpg", 5 * k + c, i, (32, 32))
        write_lines(root / f"{name}_Mini" / "labels.csv", rows)


SMALL = partial(picture, size=(32, 32))


def eurosat(root: Path) -> None:
    names = "AnnualCrop Forest Highway River SeaLake".split()
    layouts.class_folders(root / "2750", SMALL, names, 48)


def food(root: Path) -> None:
    parts = {"train": [], "test": []}
    names = "apple_pie bibimbap churros donuts waffles".split()
    layouts.class_folders(root / "food-101" / "images", SMALL, names, 48)
    for name in names:
        for i in range(48):
            parts["test" if i % 4 == 3 else "train"].append(f"{name}/{name}_{i}")
    (root / "food-101" / "meta").mkdir()
    for part, names in parts.items():
        write_lines(root / "food-101" / "meta" / f"{part}.txt", names)


OF_PAPER = {
    "oops": MAKERS,
    "evaluators": {
        "cifar-fs": cifar_fs,
        "miniimagenet": lambda root: lists(root, {"train": 21, "val": 6, "test": 6}, N, 40),
        "meta-album": meta_album,
        "eurosat": eurosat,
        "vgg-flower": flowers,
        "food101": food,
    },
    "fewstab": {
        "miniimagenet": lambda root: lists(root, {"train": 7, "val": 6, "test": 7}, N, 84, 120),
        "tieredimagenet": tiered,
        "cub-fewstab": lambda root: lists(root, {"train": 7, "val": 6, "test": 7}, N, 84, 120),
    },
}
