"""Releases used by few-shot benchmarks, read from a folder that contains them; described by data, in `RELEASES`.

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

The classes of a split are those of Meta-Dataset (Triantafillou et al., ICLR 2020), as listed in ``splits.yml``; the
last three are used as a whole (Evaluating the evaluators, section 4). Differences from Meta-Dataset's records:
images are not compressed again; an image without a box is read from its centre square, where Meta-Dataset
squeezes the whole image; strokes of Omniglot stay dark on light, where Meta-Dataset inverts them. Backbones whose
name ends in ``-released`` (`fslcore.models.backbones`) read both as Meta-Dataset does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ..errors import InputError, choice, shown, whole
from ..paths import at_home, readable
from .folder import SIZES, from_class_folders, from_files, is_junk
from .images import Images, OnDemand
from .papers import text_table
from .splits import SPLITS, listed_splits, of_split

__all__ = ["RELEASES", "Release", "load_quickdraw", "load_release"]

VALIDATION_ALPHABETS = {  # Meta-Dataset's: the five of images_background with the fewest characters
    "Alphabet_of_the_Magi",
    "Blackfoot_(Canadian_Aboriginal_Syllabics)",
    "Inuktitut_(Canadian_Aboriginal_Syllabics)",
    "Ojibwe_(Canadian_Aboriginal_Syllabics)",
    "Tagalog",
}
AROUND = 1.2  # side of the cut-out of an object of mscoco, relative to its box
DRAWN = 28  # pixels of a bitmap of quickdraw


@dataclass(frozen=True)
class Release:
    """How a release is read.

    Attributes
    ----------
    mark : str
        A file or folder by which its folder is recognised.
    listed : callable
        ``listed(root, name, split)`` gives one row per image of the split: columns ``file`` (a path), ``class``, facts,
        and ``left``, ``top``, ``right``, ``bottom`` if a box is cut out.
    parts : callable, optional
        ``parts(root)`` gives the part of the release (train, val, test) of images, by their paths below ``root``.
    inverted : bool
        Whether released code exchanges dark and light.
    """

    mark: str
    listed: Callable[[Path, str, str], pd.DataFrame]
    parts: Callable[[Path], dict[str, str]] | None = None
    inverted: bool = False


def load_release(
    name: str, path: str | Path, split: str = "novel", *, size: int | None = None, part: str | None = None
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
        Their facts have the path of an image (``file``) and further facts of the release: alphabet and drawer of
        omniglot, the track of a traffic sign (one sign, filmed from a car), the photo of an object of mscoco,
        and ``part``.

    Raises
    ------
    InputError
        An unknown release, split or part; a file or a class that is missing or cannot be read, by name; and as for
        `fslcore.datasets.folder.from_files`.
    """
    release = RELEASES[choice("release", name, RELEASES)]
    choice("split", split, SPLITS)
    root = _home(at_home(path, "dataset"), release.mark, name)
    given = f"{name}:{path}"
    table = release.listed(root, given, split)
    table.insert(1, "image", [file.relative_to(root).as_posix() for file in table["file"]])
    if release.parts:
        table["part"] = table["image"].map(release.parts(root)).fillna("")
    if part is not None:
        if not release.parts:
            raise InputError(f"part = {part}; {name} has no parts")
        choice("part", part, sorted(set(table["part"]) - {""}))
        table = table[table["part"] == part].reset_index(drop=True)
    box = ["left", "top", "right", "bottom"]
    boxes = table[box].to_numpy(float) if "left" in table else None
    if "crop" in table:  # several objects per file, which need different names
        table["image"] = table["image"] + "#" + table.pop("crop").astype(str)
    classes = pd.Categorical(table["class"])
    facts = table.drop(columns=["file", "class", *(box if boxes is not None else [])]).rename(columns={"image": "file"})
    how = dict(boxes=boxes, inverted=release.inverted)
    return from_files(given, table["file"].tolist(), classes.codes, list(classes.categories), size, facts, **how)


def load_quickdraw(
    path: str | Path, split: str = "novel", *, size: int | None = None, per_class: int | None = None
) -> Images:
    """The bitmaps of Quick, Draw! (Jongejan et al., 2016), white on black, one file of 28 × 28 pixels per word.

    Meta-Dataset takes all of them; the 52 novel words have 7.7 million drawings. Files of strokes (``.ndjson``, and
    ``.npz``, which are pickles) are not read.

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
    root, size = at_home(path, "dataset"), DRAWN if size is None else whole("size", size, *SIZES)
    per_class = None if per_class is None else whole("per_class", per_class, 1)
    names = listed_splits()["quickdraw"][choice("split", split, SPLITS)]
    files = [
        next((f for f in (root / f"{n}.npy", root / f"full_numpy_bitmap_{n}.npy") if f.is_file()), n) for n in names
    ]
    missing = [f for f in files if not isinstance(f, Path)]
    if missing:
        raise InputError(f"dataset: no file {root / missing[0]}.npy ({len(missing)} of {len(names)} are missing)")
    drawings = [_bitmaps(file)[:per_class] for file in files]
    ends, content = np.cumsum([len(of) for of in drawings]), hashlib.sha256()
    for of in drawings:
        content.update(hashlib.sha256(np.ascontiguousarray(of)).digest())

    def read(i: int) -> np.ndarray:
        of = int(np.searchsorted(ends, i, side="right"))
        bitmap = Image.fromarray(np.asarray(drawings[of][i - ends[of]]).reshape(DRAWN, DRAWN)).convert("RGB")
        return np.asarray(bitmap if size == DRAWN else bitmap.resize((size, size), Image.Resampling.BICUBIC))

    return Images(
        f"quickdraw:{path}",
        OnDemand(read, int(ends[-1]), (size, size, 3)),
        np.repeat(np.arange(len(names)), [len(of) for of in drawings]),
        names,
        facts=pd.DataFrame({"drawing": np.concatenate([np.arange(len(of)) for of in drawings])}),
        content=hashlib.sha256(f"bitmaps {size} {content.hexdigest()}".encode()).hexdigest(),
    )


def _bitmaps(file: Path) -> np.ndarray:
    """(N, 784) uint8, mapped and not read yet."""
    with readable("dataset", file, "a readable .npy"):
        found = np.load(file, mmap_mode="r", allow_pickle=False)
    if found.dtype != np.uint8 or found.ndim != 2 or found.shape[1] != DRAWN**2 or not len(found):
        raise InputError(f"dataset: {file} holds {found.dtype} {found.shape}; (N, {DRAWN**2}) of uint8 are needed")
    return found


def _home(root: Path, mark: str, name: str) -> Path:
    """The folder that contains the mark of a release: the named one, or one in it."""
    if not root.is_dir():
        raise InputError(f"dataset: no folder {root}")
    for folder in (root, *sorted(d for d in root.iterdir() if d.is_dir())):
        if (folder / mark).exists():
            return folder
    raise InputError(f"dataset: no {mark} in {root} or in a folder in it; {name} is read as it was released")


def _folders(where: str, key: str | None = None, fact: str = "") -> Callable[[Path, str, str], pd.DataFrame]:
    """One folder per class; ``fact`` is a regular expression whose named groups are facts in the file name."""

    def listed(root: Path, name: str, split: str) -> pd.DataFrame:
        found = {
            d.name: d
            for d in sorted((root / where).iterdir())
            if d.is_dir() and not d.name.startswith("_") and not is_junk(d)
        }
        table = _in_folders({c: found[c] for c in of_split(key, split, found, root / where)}, name)
        told = pd.Series([f"{file.parent.name}/{file.name}" for file in table["file"]])
        return table.join(told.str.extract(fact)) if fact else table

    return listed


def _omniglot(root: Path, name: str, split: str) -> pd.DataFrame:
    top = root / ("images_evaluation" if split == "novel" else "images_background")
    found = {
        f"{d.parent.name}/{d.name}": d
        for d in sorted(top.glob("*/*"))
        if d.is_dir() and not (is_junk(d) or is_junk(d.parent))
    }
    if split != "novel":
        held = split == "validation"
        found = {c: d for c, d in found.items() if (d.parent.name in VALIDATION_ALPHABETS) == held}
    table = _in_folders(found, name)
    table["alphabet"] = [file.parents[1].name for file in table["file"]]
    # Twenty people drew all characters of an alphabet; other people drew the next alphabet.
    table["drawer"] = [f"{a}/{file.stem.rpartition('_')[2]}" for a, file in zip(table["alphabet"], table["file"])]
    return table


def _in_folders(folders: dict[str, Path], name: str) -> pd.DataFrame:
    if not folders:
        raise InputError(f"dataset: {name} holds no class folder of this split")
    files, labels = from_class_folders(list(folders.values()), name)
    return pd.DataFrame({"file": files, "class": np.array(list(folders))[labels]})


def _aircraft(root: Path, name: str, split: str) -> pd.DataFrame:
    """Variants, cut out by their boxes as in Meta-Dataset, without the strip with the photographer's name."""
    data = root / "data"
    lists = {file: _lines(file) for file in (data / f"images_variant_{part}.txt" for part in ("trainval", "test"))}
    for file, of in lists.items():
        if bad := [line for line in of if " " not in line]:
            raise InputError(f"dataset: {file} has a line without a variant: {shown(bad[0])}")
    rows = pd.DataFrame([line.split(" ", 1) for of in lists.values() for line in of], columns=["id", "class"])
    table = rows[rows["class"].isin(of_split("aircraft", split, sorted(set(rows["class"])), data))]
    box = text_table(data / "images_box.txt", header=None, sep=" ", names=["id", "left", "top", "right", "bottom"])
    table = table.merge(box, on="id", how="left")
    edges = list(box.columns[1:])
    table[edges] = table[edges].apply(pd.to_numeric, errors="coerce").astype(float)
    if (bad := table[edges].isna().any(axis=1)).any():
        raise InputError(f"dataset: {data / 'images_box.txt'} has no box of four numbers of {table['id'][bad].iloc[0]}")
    return table.assign(file=[data / "images" / f"{i}.jpg" for i in table["id"]])[["file", "class", *edges]]


def _flowers(key: str | None) -> Callable[[Path, str, str], pd.DataFrame]:
    """Flowers by their numbers, which ``imagelabels.mat`` gives in the order of the images."""

    def listed(root: Path, name: str, split: str) -> pd.DataFrame:
        labels = _mat(root / "imagelabels.mat", "labels")
        table = pd.DataFrame({"file": [root / _FLOWER.format(i + 1) for i in range(len(labels))]})
        table["class"] = [f"{label:03d}" for label in labels]
        known = sorted(set(table["class"]))
        return table[table["class"].isin(of_split(key, split, known, root))].reset_index(drop=True)

    return listed


_FLOWER = "jpg/image_{:05d}.jpg"


def _flower_parts(root: Path) -> dict[str, str]:
    file = root / "setid.mat"
    parts = {"trnid": "train", "valid": "val", "tstid": "test"}
    return (
        {_FLOWER.format(i): part for array, part in parts.items() for i in _mat(file, array)} if file.is_file() else {}
    )


def _mat(file: Path, array: str) -> np.ndarray:
    from scipy.io import loadmat  # late, since checking names does not need it

    with readable("dataset", file, f"a MATLAB file with {array}"):
        return np.ravel(loadmat(file, variable_names=[array])[array]).astype(int)


def _food_parts(root: Path) -> dict[str, str]:
    return {f"images/{of}.jpg": part for part in ("train", "test") for of in _lines(root / "meta" / f"{part}.txt")}


def _lines(file: Path) -> list[str]:
    with readable("dataset", file, "a readable list"):
        return [line for line in map(str.strip, file.read_text("utf-8").splitlines()) if line]


def _fungi(root: Path, name: str, split: str) -> pd.DataFrame:
    """Both lists together, by category; some categories share a name, so class names include the number."""
    tables = []
    for file in ("train.json", "val.json"):
        images, categories, found = _coco(root / file)
        named = {i: f"{i:04d}.{of['name'].strip()}" for i, of in categories.items()}
        chosen = set(of_split("fungi", split, named.values(), root / file))
        found["class"] = found["category_id"].map(named)
        found["file"] = [root / images[i]["file_name"] for i in found["image_id"]]
        tables.append(found.loc[found["class"].isin(chosen), ["file", "class"]])
    return pd.concat(tables, ignore_index=True)


def _mscoco(root: Path, name: str, split: str) -> pd.DataFrame:
    """Objects, cut out with a fifth more than their boxes, in whole pixels; empty cut-outs are left out.

    Groups of objects (``iscrowd``) count as one, as in Meta-Dataset.
    """
    file = root / "annotations" / "instances_train2017.json"
    file = file if file.is_file() else root / "instances_train2017.json"
    images, categories, found = _coco(file, box=True)
    named = {i: of["name"] for i, of in categories.items()}
    chosen = set(of_split("mscoco", split, named.values(), file))
    found["class"] = found["category_id"].map(named)
    found = found[found["class"].isin(chosen)].reset_index(drop=True)
    photos = [images[i] for i in found["image_id"]]
    for low, high, at, extent, side in (("left", "right", 0, 2, "width"), ("top", "bottom", 1, 3, "height")):
        start, length = found["bbox"].str[at], found["bbox"].str[extent]
        first = start - (AROUND - 1) / 2 * length - 0.5  # annotations count from the centre of a pixel
        found[low] = first.round().clip(lower=0)
        found[high] = np.minimum((first + AROUND * length).round() + 1, [photo[side] for photo in photos])
    found["file"] = [root / "train2017" / photo["file_name"] for photo in photos]
    found["photo"] = [photo["file_name"] for photo in photos]
    kept = found[(found["right"] > found["left"]) & (found["bottom"] > found["top"])].rename(columns={"id": "crop"})
    return kept[["file", "class", "photo", "crop", "left", "top", "right", "bottom"]].reset_index(drop=True)


def _coco(file: Path, box: bool = False) -> tuple[dict, dict, pd.DataFrame]:
    """Images and categories of COCO annotations by their numbers, and one row per annotation."""
    columns = ["id", "image_id", "category_id", *(["bbox"] if box else [])]
    with readable("dataset", file, "a file of COCO annotations"):
        found = json.loads(file.read_text("utf-8"))
        images, categories = ({of["id"]: of for of in found[what]} for what in ("images", "categories"))
        rows = pd.DataFrame([{c: a[c] for c in columns} for a in found["annotations"]], columns=columns)
    for what, known in (("image_id", images), ("category_id", categories)):
        unknown = sorted(set(rows[what]) - set(known))
        if unknown:
            raise InputError(f"dataset: {file} has annotations of {what} {unknown[0]}, which it does not list")
    return images, categories, rows


RELEASES: dict[str, Release] = {
    "omniglot": Release("images_evaluation", _omniglot, inverted=True),
    "aircraft": Release("data/images_variant_test.txt", _aircraft),
    "dtd": Release("images", _folders("images", "dtd")),
    "fungi": Release("train.json", _fungi),
    "vgg-flower": Release("imagelabels.mat", _flowers("vgg-flower")),
    "traffic-signs": Release(
        "Final_Training/Images", _folders("Final_Training/Images", fact=r"(?P<track>.+)_\d+\.\w+$")
    ),
    "mscoco": Release("train2017", _mscoco),
    "eurosat": Release("AnnualCrop", _folders("")),
    "flowers102": Release("imagelabels.mat", _flowers(None), parts=_flower_parts),
    "food101": Release("meta/test.txt", _folders("images"), parts=_food_parts),
}
