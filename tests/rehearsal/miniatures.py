"""Small archives in the official layouts of the data sets of OOPS, with enough images a class for tasks."""

import json
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.io import savemat

from fslcore.datasets.splits import listed_splits

N = 20  # images a class


def picture(path: Path, kind: int, i: int, size=(40, 32), grey=False) -> None:
    """Coarse noise, of which one half belongs to the class: classes can be told apart, and not perfectly."""
    of_class, own = np.random.default_rng([7, kind]), np.random.default_rng([8, kind, i])
    coarse = (of_class.integers(0, 256, (5, 6, 3)) + own.integers(0, 256, (5, 6, 3))) // 2
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
    (data / "images_variant_trainval.txt").write_text("".join(f"{i} {name}\n" for i, name in rows[::2]))
    (data / "images_variant_test.txt").write_text("".join(f"{i} {name}\n" for i, name in rows[1::2]))
    (data / "images_box.txt").write_text("".join(f"{i} 2 1 39 30\n" for i, _ in rows))


def cub(root: Path) -> None:
    root = root / "CUB_200_2011"
    names = [f"{c:03d}.Bird_{c}" for c in range(1, 201)]
    files = [(c, f"{names[c - 1]}/{i}.jpg") for c in listed_splits()["cub"]["novel"] for i in range(N)]
    for n, (c, file) in enumerate(files):
        picture(root / "images" / file, c, n % N)
    (root / "classes.txt").write_text("".join(f"{c + 1} {name}\n" for c, name in enumerate(names)))
    (root / "images.txt").write_text("".join(f"{n + 1} {file}\n" for n, (_, file) in enumerate(files)))
    (root / "image_class_labels.txt").write_text("".join(f"{n + 1} {c}\n" for n, (c, _) in enumerate(files)))


def dtd(root: Path) -> None:
    for c, name in enumerate(listed_splits()["dtd"]["novel"]):
        for i in range(N):
            picture(root / "dtd" / "images" / name / f"{name}_{i:04d}.jpg", c, i)


def fungi(root: Path) -> None:
    categories = [{"id": i, "name": f"species {i}"} for i in range(1394)]
    chosen = listed_splits()["fungi"]["novel"]
    for part, each in (("train", range(N)), ("val", range(N, N + 2))):  # few classes have as many, as in the release
        images, annotations = [], []
        for n, (c, i) in enumerate((c, i) for k, c in enumerate(chosen) for i in each[: None if k < 20 else 6]):
            images.append({"id": n, "file_name": f"images/{c}/{part}_{i}.jpg", "width": 20, "height": 16})
            annotations.append({"id": n, "image_id": n, "category_id": c})
            picture(root / images[-1]["file_name"], c, i, (20, 16))
        found = {"images": images, "annotations": annotations, "categories": categories}
        (root / f"{part}.json").write_text(json.dumps(found))


def flowers(root: Path) -> None:
    labels = np.repeat(listed_splits()["vgg-flower"]["novel"], N)
    rest = [c for c in range(1, 103) if c not in labels]
    labels = np.concatenate([labels, rest])
    savemat(root / "imagelabels.mat", {"labels": labels[None].astype(np.uint8)})
    numbers = np.arange(1, len(labels) + 1)[None]
    savemat(root / "setid.mat", {"trnid": numbers[:, ::4], "valid": numbers[:, 1::4], "tstid": numbers[:, 2::2]})
    for i, label in enumerate(labels):
        picture(root / "jpg" / f"image_{i + 1:05d}.jpg", int(label), i)


def signs(root: Path) -> None:
    for c in range(10):  # few, and large: a chapter cuts this set into parts of several sizes
        folder = root / "GTSRB/Final_Training/Images" / f"{c:05d}"
        for i in range(20 * N):
            picture(folder / f"{i // 3:05d}_{i % 3:05d}.ppm", c, i, (30, 28))
        (folder / f"GT-{c:05d}.csv").write_text("Filename;Width\n")


def mscoco(root: Path) -> None:
    kinds = [*listed_splits()["mscoco"]["novel"], *listed_splits()["mscoco"]["validation"]]
    images = [{"id": n, "file_name": f"{n:012d}.jpg", "width": 200, "height": 160} for n in range(40 * N // 20)]
    for image in images:
        picture(root / "train2017" / image["file_name"], image["id"], 0, (200, 160))
    annotations = []
    for n, c in enumerate(c for _ in range(N) for c in range(40)):
        x, y = 40 * (n % 5), 40 * (n // 5 % 4)
        annotations.append({"id": n, "image_id": n // 20, "category_id": c, "bbox": [x, y, 36, 36], "iscrowd": 0})
    (root / "annotations").mkdir()
    categories = [{"id": i, "name": kind} for i, kind in enumerate(kinds)]
    found = {"images": images, "categories": categories, "annotations": annotations}
    (root / "annotations" / "instances_train2017.json").write_text(json.dumps(found))


def quickdraw(root: Path) -> None:
    for c, name in enumerate(listed_splits()["quickdraw"]["novel"]):
        rng = np.random.default_rng(c)
        np.save(root / f"{name}.npy", (rng.integers(0, 128, 784) + rng.integers(0, 128, (N, 784))).astype(np.uint8))


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
