"""Small archives in the official layouts of the papers' data sets, with enough images per class for tasks."""

import json
from pathlib import Path

import numpy as np
from layouts import list_birds, list_planes, write_lines
from PIL import Image
from scipy.io import savemat

from fslcore.datasets.papers import SETS
from fslcore.datasets.splits import listed_splits

N = 20  # images per class


def picture(path: Path, kind: int, i: int, size=(40, 32), grey=False) -> None:
    """Coarse noise, of which one half belongs to the class: classes can be distinguished, but not perfectly."""
    of_class, of_image = np.random.default_rng([7, kind]), np.random.default_rng([8, kind, i])
    coarse = (of_class.integers(0, 256, (5, 6, 3)) + of_image.integers(0, 256, (5, 6, 3))) // 2
    image = Image.fromarray(coarse.astype(np.uint8)).resize(size, Image.Resampling.BICUBIC)
    path.parent.mkdir(parents=True, exist_ok=True)
    (image.convert("L") if grey else image).save(path)


def omniglot(root: Path) -> None:
    for top, kinds in (("background", 2), ("evaluation", 8)):
        for c in range(kinds):
            for i in range(N):
                name = f"images_{top}/Alphabet{c % 2}/character{c:02d}/{c:04d}_{i:02d}.png"
                picture(root / name, c, i, (35, 35), grey=True)


def aircraft(root: Path) -> None:
    data, rows = root / "fgvc-aircraft-2013b" / "data", []
    for c, name in enumerate(listed_splits()["aircraft"]["novel"]):
        for i in range(N):
            rows.append((f"{100 * c + i:07d}", name))
            picture(data / "images" / f"{rows[-1][0]}.jpg", c, i)
    list_planes(data, rows, "2 1 39 30")


def cub(root: Path) -> None:
    root = root / "CUB_200_2011"
    names = [f"{c:03d}.Bird_{c}" for c in range(1, 201)]
    files = [
        (c, f"{names[c - 1]}/{i}.jpg") for c in listed_splits()["cub"]["novel"] for i in range(N)
    ]
    for n, (c, file) in enumerate(files):
        picture(root / "images" / file, c, n % N)
    list_birds(root, names, files)


def dtd(root: Path) -> None:
    for c, name in enumerate(listed_splits()["dtd"]["novel"]):
        for i in range(N):
            picture(root / "dtd" / "images" / name / f"{name}_{i:04d}.jpg", c, i)


def fungi(root: Path) -> None:
    categories = [{"id": i, "name": f"species {i}"} for i in range(1394)]
    chosen = listed_splits()["fungi"]["novel"]
    for part, numbers in (
        ("train", range(N)),
        ("val", range(N, N + 2)),
    ):  # few classes have as many, as in the release
        images, annotations = [], []
        for n, (c, i) in enumerate(
            (c, i) for k, c in enumerate(chosen) for i in numbers[: None if k < 20 else 6]
        ):
            images.append(
                {"id": n, "file_name": f"images/{c}/{part}_{i}.jpg", "width": 20, "height": 16}
            )
            annotations.append({"id": n, "image_id": n, "category_id": c})
            picture(root / images[-1]["file_name"], c, i, (20, 16))
        content = {"images": images, "annotations": annotations, "categories": categories}
        (root / f"{part}.json").write_text(json.dumps(content))


def flowers(root: Path) -> None:
    """Five classes with the images that a chapter takes at 16 shots, and others with those that tasks of all take."""
    labels = np.concatenate([np.full(48 if c <= 5 else N, c) for c in range(1, 103)])
    savemat(root / "imagelabels.mat", {"labels": labels[None].astype(np.uint8)})
    numbers = np.arange(1, len(labels) + 1)
    test = numbers % 10 == 0
    others = numbers[~test]
    parts = {"trnid": others[None, ::2], "valid": others[None, 1::2], "tstid": numbers[test][None]}
    savemat(root / "setid.mat", parts)
    for i, label in enumerate(labels):
        picture(root / "jpg" / f"image_{i + 1:05d}.jpg", int(label), i, (24, 24))


def signs(root: Path, count: int = 20 * N) -> None:
    for c in range(10):  # few, and large: a chapter cuts this set into parts of several sizes
        folder = root / "GTSRB/Final_Training/Images" / f"{c:05d}"
        for i in range(count):
            picture(folder / f"{i // 3:05d}_{i % 3:05d}.ppm", c, i, (30, 28))
        (folder / f"GT-{c:05d}.csv").write_text("Filename;Width\n")


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


def eurosat(root: Path) -> None:
    for c, name in enumerate(("AnnualCrop", "Forest", "Highway", "River", "SeaLake")):
        for i in range(48):
            picture(root / "2750" / name / f"{name}_{i}.jpg", c, i, (32, 32))


def food(root: Path) -> None:
    parts = {"train": [], "test": []}
    for c, name in enumerate(("apple_pie", "bibimbap", "churros", "donuts", "waffles")):
        for i in range(48):
            picture(root / "food-101" / "images" / name / f"{i}.jpg", c, i, (32, 32))
            parts["test" if i % 4 == 3 else "train"].append(f"{name}/{i}")
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
