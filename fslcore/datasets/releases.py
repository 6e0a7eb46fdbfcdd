"""Releases used by few-shot benchmarks, read from a folder that contains them; described by data,
in `RELEASES`.

============= ============================================================================== =========================
name          what PATH, or a folder in it, holds                                            classes that are novel
============= ============================================================================== =========================
omniglot      ``images_background/`` and ``images_evaluation/`` of ALPHABET/CHARACTER/IMAGE  characters of evaluation
aircraft      ``data/`` with ``images/``, ``images_box.txt``, ``images_variant_*.txt``       15 of 100 variants
dtd           ``images/CLASS/IMAGE``                                                         7 of 47 textures
fungi         ``train.json``, ``val.json`` and ``images/`` (FGVCx 2018)                      200 of 1,394 species
vgg-flower    ``jpg/`` and ``imagelabels.mat`` (Oxford 102)                                  16 of 102 flowers
traffic-signs ``Final_Training/Images/CLASS/IMAGE`` (GTSRB)                                  all 43
mscoco        ``train2017/`` and ``instances_train2017.json``, also in ``annotations/``      40 of 80 kinds of object
quickdraw     ``CLASS.npy`` or ``full_numpy_bitmap_CLASS.npy``, bitmaps of 28 × 28           52 of 345 words
eurosat       ``CLASS/IMAGE``, the colour images                                             all 10
flowers102    as vgg-flower; with ``setid.mat`` for ``part``                                 all 102
food101       ``images/CLASS/IMAGE`` and ``meta/{train,test}.txt``                           all 101
============= ============================================================================== =========================

The classes of a split are those of Meta-Dataset (Triantafillou et al., ICLR 2020), as listed in
``splits.yml``; the last three are used as a whole (Evaluating the evaluators, section 4).
Differences from Meta-Dataset's records: images are not compressed again; an image without a box is
read from its centre square, where Meta-Dataset squeezes the whole image; strokes of Omniglot stay
dark on light, where Meta-Dataset inverts them. Backbones whose name ends in ``-released``
(`fslcore.models.backbones`) read both as Meta-Dataset does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ..catalogue import SPLITS
from ..errors import InputError, choice, quoted, shown, whole
from ..paths import at_home, readable
from .folder import SIZES, from_class_folders, from_files, is_junk
from .images import Images, OnDemand
from .papers import text_table
from .splits import listed_splits, of_split

__all__ = ["RELEASES", "Release", "load_quickdraw", "load_release"]

VALIDATION_ALPHABETS = {  # Meta-Dataset's: the five of images_background with the fewest characters
    "Alphabet_of_the_Magi",
    "Blackfoot_(Canadian_Aboriginal_Syllabics)",
    "Inuktitut_(Canadian_Aboriginal_Syllabics)",
    "Ojibwe_(Canadian_Aboriginal_Syllabics)",
    "Tagalog",
}
ENLARGEMENT = 1.2  # side of the cut-out of an object of mscoco, relative to its box
DRAWN = 28  # pixels of a bitmap of quickdraw
EDGES = ["left", "top", "right", "bottom"]  # columns of a box
FLOWER = "jpg/image_{:05d}.jpg"
TRAFFIC_SIGNS = "Final_Training/Images"


@dataclass(frozen=True)
class Release:
    """How a release is read.

    Attributes
    ----------
    landmark : str
        A file or folder by which its folder is recognised.
    table : callable
        ``table(root, title, split)`` gives one row per image of the split: columns ``file`` (a
        path), ``class``, facts, and ``left``, ``top``, ``right``, ``bottom`` if a box is cut out.
    parts : callable, optional
        ``parts(root)`` gives the part of the release (train, val, test) of images, by their paths
        below ``root``.
    inverted : bool
        Whether released code exchanges dark and light.
    """

    landmark: str
    table: Callable[[Path, str, str], pd.DataFrame]
    parts: Callable[[Path], dict[str, str]] | None = None
    inverted: bool = False


def load_release(
    name: str,
    path: str | Path,
    split: str = "novel",
    *,
    size: int | None = None,
    part: str | None = None,
) -> Images:
    """Load a release by its name.

    Parameters
    ----------
    name : str
        A key of `RELEASES`.
    path : path
        The folder of the release, or one that contains it.
    split : str
        ``novel``, ``validation`` or ``base``.
    size : int, optional
        Pixels; by default the size of the backbone.
    part : str, optional
        ``train``, ``val`` or ``test``: only images of this part of the release, if it has parts.

    Returns
    -------
    Images
        Their facts have the path of an image (``file``) and further facts of the release: alphabet
        and drawer of omniglot, the track of a traffic sign (one sign, filmed from a car), the photo
        of an object of mscoco, and ``part``.

    Raises
    ------
    InputError
        An unknown release, split or part; a file or a class that is missing or cannot be read, by
        name; and as for `fslcore.datasets.folder.from_files`.
    """
    release = RELEASES[choice("release", name, RELEASES)]
    choice("split", split, SPLITS)
    root = _home(at_home(path, "dataset"), release.landmark, name)
    title = f"{name}:{path}"
    table = release.table(root, title, split)
    table.insert(1, "image", [file.relative_to(root).as_posix() for file in table["file"]])
    if release.parts:
        table["part"] = table["image"].map(release.parts(root)).fillna("")
    if part is not None:
        if not release.parts:
            raise InputError(
                f"part must be None for {name}, which has no parts, got {quoted(part)}"
            )
        choice("part", part, sorted(set(table["part"]) - {""}))
        table = table[table["part"] == part].reset_index(drop=True)
    boxes = table[EDGES].to_numpy(float) if "left" in table else None
    if "crop" in table:  # several objects per file, which need different names
        table["image"] = table["image"] + "#" + table.pop("crop").astype(str)
    files = table["file"].tolist()
    classes = table["class"]
    facts = table.drop(columns=["file", "class", *EDGES], errors="ignore")
    facts = facts.rename(columns={"image": "file"})
    return from_files(title, files, classes, size, facts, boxes=boxes, inverted=release.inverted)


def load_quickdraw(
    path: str | Path, split: str = "novel", *, size: int | None = None, per_class: int | None = None
) -> Images:
    """The bitmaps of Quick, Draw! (Jongejan et al., 2016), white on black, one file of 28 × 28
    pixels per word.

    Meta-Dataset takes all of them; the 52 novel words have 7.7 million drawings. Files of strokes
    (``.ndjson``, and ``.npz``, which are pickles) are not read.

    Parameters
    ----------
    path : path
    split : str
        ``novel`` (52 words), ``validation`` (52) or ``base`` (241).
    size : int, optional
        Pixels; by default 28, which backbones enlarge.
    per_class : int, optional
        Number of drawings per word, the first of its file; all by default.

    Raises
    ------
    InputError
        Another split; a word without a file (the first, and how many), or a file of another form.
    """
    root = at_home(path, "dataset")
    size = DRAWN if size is None else whole("size", size, *SIZES)
    if per_class is not None:
        whole("per_class", per_class, 1)
    names = listed_splits()["quickdraw"][choice("split", split, SPLITS)]
    drawings = [_bitmaps(file)[:per_class] for file in _bitmap_files(root, names)]
    labels = np.repeat(np.arange(len(names)), [len(bitmaps) for bitmaps in drawings])
    numbers = np.concatenate([np.arange(len(bitmaps)) for bitmaps in drawings])
    digests = [hashlib.sha256(np.ascontiguousarray(bitmaps).data).digest() for bitmaps in drawings]
    digest = hashlib.sha256(b"".join(digests)).hexdigest()

    def read(i: int) -> np.ndarray:
        image = Image.fromarray(drawings[labels[i]][numbers[i]].reshape(DRAWN, DRAWN))
        image = image.convert("RGB")
        if size != DRAWN:
            image = image.resize((size, size), Image.Resampling.BICUBIC)
        return np.asarray(image)

    return Images(
        f"quickdraw:{path}",
        OnDemand(read, len(labels), (size, size, 3)),
        labels,
        names,
        facts=pd.DataFrame({"drawing": numbers}),
        content=hashlib.sha256(f"bitmaps {size} {digest}".encode()).hexdigest(),
    )


def _bitmap_files(root: Path, names: list[str]) -> list[Path]:
    """The file of each word; raises `InputError` for words without one."""
    short = [root / f"{name}.npy" for name in names]
    files = [file if file.is_file() else root / f"full_numpy_bitmap_{file.name}" for file in short]
    missing = [file for file, path in zip(short, files) if not path.is_file()]
    if missing:
        raise InputError(
            f"dataset: no file {missing[0]} ({len(missing)} of {len(names)} are missing)"
        )
    return files


def _bitmaps(file: Path) -> np.ndarray:
    """(N, 784) uint8, mapped and not read yet."""
    with readable("dataset", file, "a readable .npy"):
        bitmaps = np.load(file, mmap_mode="r", allow_pickle=False)
    if bitmaps.dtype != np.uint8 or bitmaps.shape[1:] != (DRAWN**2,) or not len(bitmaps):
        raise InputError(
            f"{file} must have shape (N, {DRAWN**2}) of uint8, got {bitmaps.shape} of "
            f"{bitmaps.dtype}"
        )
    return bitmaps


def _home(root: Path, landmark: str, name: str) -> Path:
    """The folder that contains the landmark of a release: the named one, or one in it."""
    if not root.is_dir():
        raise InputError(f"dataset: no folder {root}")
    for folder in (root, *sorted(d for d in root.iterdir() if d.is_dir())):
        if (folder / landmark).exists():
            return folder
    raise InputError(
        f"dataset: no {landmark} in {root} or in a folder in it; {name} is read as it was released"
    )


def _folders(
    root: Path, title: str, split: str, *, folder: str, key: str | None = None
) -> pd.DataFrame:
    """One folder per class."""
    folders = sorted(path for path in (root / folder).iterdir() if path.is_dir())
    by_class = {d.name: d for d in folders if not (d.name.startswith("_") or is_junk(d))}
    classes = of_split(key, split, by_class, root / folder)
    return _in_folders({c: by_class[c] for c in classes}, title)


def _traffic_signs(root: Path, title: str, split: str) -> pd.DataFrame:
    """One folder per sign; images of one track are of one sign, filmed from a car."""
    table = _folders(root, title, split, folder=TRAFFIC_SIGNS)
    table["track"] = [f"{f.parent.name}/{f.stem.rpartition('_')[0]}" for f in table["file"]]
    return table


def _omniglot(root: Path, title: str, split: str) -> pd.DataFrame:
    top = root / ("images_evaluation" if split == "novel" else "images_background")
    folders = [d for d in sorted(top.glob("*/*")) if d.is_dir()]
    folders = [d for d in folders if not (is_junk(d) or is_junk(d.parent))]
    if split != "novel":
        is_wanted = split == "validation"
        folders = [d for d in folders if (d.parent.name in VALIDATION_ALPHABETS) == is_wanted]
    table = _in_folders({f"{d.parent.name}/{d.name}": d for d in folders}, title)
    table["alphabet"] = [file.parents[1].name for file in table["file"]]
    # Twenty people drew all characters of an alphabet; other people drew the next alphabet.
    table["drawer"] = [
        f"{a}/{file.stem.rpartition('_')[2]}" for a, file in zip(table["alphabet"], table["file"])
    ]
    return table


def _in_folders(folders: dict[str, Path], title: str) -> pd.DataFrame:
    if not folders:
        raise InputError(f"dataset: {title} holds no class folder of this split")
    files, classes = from_class_folders(folders, title)
    return pd.DataFrame({"file": files, "class": classes})


def _aircraft(root: Path, title: str, split: str) -> pd.DataFrame:
    """Variants, cut out by their boxes as in Meta-Dataset, without the photographer's name."""
    data = root / "data"
    rows = []
    for part in ("trainval", "test"):
        file = data / f"images_variant_{part}.txt"
        for line in _lines(file):
            if " " not in line:
                raise InputError(f"dataset: {file} has a line without a variant: {shown(line)}")
            rows.append(line.split(" ", 1))
    rows = pd.DataFrame(rows, columns=["id", "class"])
    classes = of_split("aircraft", split, sorted(set(rows["class"])), data)
    table = rows[rows["class"].isin(classes)]
    boxes = text_table(data / "images_box.txt", header=None, sep=" ", names=["id", *EDGES])
    table = table.merge(boxes, on="id", how="left")
    table[EDGES] = table[EDGES].apply(pd.to_numeric, errors="coerce").astype(float)
    is_bad = table[EDGES].isna().any(axis=1)
    if is_bad.any():
        raise InputError(
            f"dataset: {data / 'images_box.txt'} has no box of four numbers of "
            f"{table['id'][is_bad].iloc[0]}"
        )
    table["file"] = [data / "images" / f"{i}.jpg" for i in table["id"]]
    return table[["file", "class", *EDGES]]


def _flowers(root: Path, title: str, split: str, *, key: str | None) -> pd.DataFrame:
    """Flowers by their numbers, which ``imagelabels.mat`` gives in the order of the images."""
    labels = _mat(root / "imagelabels.mat", "labels")
    table = pd.DataFrame({"file": [root / FLOWER.format(i + 1) for i in range(len(labels))]})
    table["class"] = [f"{label:03d}" for label in labels]
    classes = of_split(key, split, sorted(set(table["class"])), root)
    return table[table["class"].isin(classes)].reset_index(drop=True)


def _flower_parts(root: Path) -> dict[str, str]:
    file = root / "setid.mat"
    parts = {"trnid": "train", "valid": "val", "tstid": "test"}
    if not file.is_file():
        return {}
    numbers = {part: _mat(file, array) for array, part in parts.items()}
    return {FLOWER.format(i): part for part, images in numbers.items() for i in images}


def _mat(file: Path, array: str) -> np.ndarray:
    from scipy.io import loadmat  # late, since checking names does not need it

    with readable("dataset", file, f"a MATLAB file with {array}"):
        return np.ravel(loadmat(file, variable_names=[array])[array]).astype(int)


def _food_parts(root: Path) -> dict[str, str]:
    lists = {part: _lines(root / "meta" / f"{part}.txt") for part in ("train", "test")}
    return {f"images/{name}.jpg": part for part, names in lists.items() for name in names}


def _lines(file: Path) -> list[str]:
    with readable("dataset", file, "a readable list"):
        return [line for line in map(str.strip, file.read_text("utf-8").splitlines()) if line]


def _fungi(root: Path, title: str, split: str) -> pd.DataFrame:
    """Both lists together; some categories share a name, so class names include the number."""
    tables = []
    for file in ("train.json", "val.json"):
        table, categories = _coco(root / file)
        numbers = categories.index.map("{:04d}".format)
        class_names = numbers + "." + categories["name"].str.strip()
        classes = of_split("fungi", split, class_names, root / file)
        table["class"] = table["category_id"].map(class_names)
        table["file"] = [root / name for name in table["file_name"]]
        tables.append(table.loc[table["class"].isin(classes), ["file", "class"]])
    return pd.concat(tables, ignore_index=True)


def _mscoco(root: Path, title: str, split: str) -> pd.DataFrame:
    """Objects, cut out with a fifth more than their boxes, in whole pixels.

    Empty cut-outs are left out. Groups of objects (``iscrowd``) count as one, as in Meta-Dataset.
    """
    file = root / "annotations" / "instances_train2017.json"
    file = file if file.is_file() else root / "instances_train2017.json"
    table, categories = _coco(file, "bbox")
    table["class"] = table["category_id"].map(categories["name"])
    classes = of_split("mscoco", split, categories["name"], file)
    table = table[table["class"].isin(classes)].reset_index(drop=True)
    box = table["bbox"].str
    table["left"], table["right"] = _enlarged(box[0], box[2], table["width"])
    table["top"], table["bottom"] = _enlarged(box[1], box[3], table["height"])
    table["file"] = [root / "train2017" / photo for photo in table["file_name"]]
    is_empty = (table["right"] <= table["left"]) | (table["bottom"] <= table["top"])
    table = table[~is_empty].rename(columns={"id": "crop", "file_name": "photo"})
    return table[["file", "class", "photo", "crop", *EDGES]].reset_index(drop=True)


def _enlarged(start: pd.Series, length: pd.Series, limit: pd.Series) -> tuple[pd.Series, pd.Series]:
    """The ends of one side of a box, a fifth longer, in whole pixels from 0 to the limits."""
    first = (
        start - (ENLARGEMENT - 1) / 2 * length - 0.5
    )  # annotations count from the centre of a pixel
    return first.round().clip(lower=0), np.minimum(
        (first + ENLARGEMENT * length).round() + 1, limit
    )


def _coco(file: Path, *fields: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """One row per COCO annotation, with its image; and the categories by their numbers."""
    with readable("dataset", file, "a file of COCO annotations"):
        content = json.loads(file.read_text("utf-8"))
        images = pd.DataFrame(content["images"]).set_index("id")
        categories = pd.DataFrame(content["categories"]).set_index("id")
        columns = ["id", "image_id", "category_id", *fields]
        table = pd.DataFrame(content["annotations"], columns=columns)
    for column, entries in (("image_id", images), ("category_id", categories)):
        unknown = sorted(set(table[column]) - set(entries.index))
        if unknown:
            raise InputError(
                f"dataset: {file} has annotations of {column} {unknown[0]}, which it does not list"
            )
    return table.join(images.filter(["file_name", "width", "height"]), on="image_id"), categories


RELEASES: dict[str, Release] = {
    "omniglot": Release("images_evaluation", _omniglot, inverted=True),
    "aircraft": Release("data/images_variant_test.txt", _aircraft),
    "dtd": Release("images", partial(_folders, folder="images", key="dtd")),
    "fungi": Release("train.json", _fungi),
    "vgg-flower": Release("imagelabels.mat", partial(_flowers, key="vgg-flower")),
    "traffic-signs": Release(TRAFFIC_SIGNS, _traffic_signs),
    "mscoco": Release("train2017", _mscoco),
    "eurosat": Release("AnnualCrop", partial(_folders, folder="")),
    "flowers102": Release("imagelabels.mat", partial(_flowers, key=None), parts=_flower_parts),
    "food101": Release("meta/test.txt", partial(_folders, folder="images"), parts=_food_parts),
}
