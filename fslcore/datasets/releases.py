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
"""  # noqa: E501 (the table)

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
ENLARGEMENT = 1.2  # side of the cut-out of an object of mscoco, relative to its box
DRAWN = 28  # pixels of a bitmap of quickdraw


@dataclass(frozen=True)
class Release:
    """How a release is read.

    Attributes
    ----------
    landmark : str
        A file or folder by which its folder is recognised.
    table : callable
        ``table(root, name, split)`` gives one row per image of the split: columns ``file`` (a
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
            raise InputError(f"part = {part}; {name} has no parts")
        choice("part", part, sorted(set(table["part"]) - {""}))
        table = table[table["part"] == part].reset_index(drop=True)
    box = ["left", "top", "right", "bottom"]
    boxes = table[box].to_numpy(float) if "left" in table else None
    if "crop" in table:  # several objects per file, which need different names
        table["image"] = table["image"] + "#" + table.pop("crop").astype(str)
    classes = pd.Categorical(table["class"])
    facts = table.drop(columns=["file", "class", *(box if boxes is not None else [])]).rename(
        columns={"image": "file"}
    )
    options = dict(boxes=boxes, inverted=release.inverted)
    return from_files(
        title,
        table["file"].tolist(),
        classes.codes,
        list(classes.categories),
        size,
        facts,
        **options,
    )


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
    root, size = at_home(path, "dataset"), DRAWN if size is None else whole("size", size, *SIZES)
    per_class = None if per_class is None else whole("per_class", per_class, 1)
    names = listed_splits()["quickdraw"][choice("split", split, SPLITS)]
    files = {name: _bitmap_file(root, name) for name in names}
    missing = [name for name, file in files.items() if file is None]
    if missing:
        raise InputError(
            f"dataset: no file {root / missing[0]}.npy ({len(missing)} of {len(names)} are missing)"
        )
    drawings = [_bitmaps(file)[:per_class] for file in files.values()]
    sizes = [len(bitmaps) for bitmaps in drawings]
    ends, content = np.cumsum(sizes), hashlib.sha256()
    for bitmaps in drawings:
        content.update(hashlib.sha256(np.ascontiguousarray(bitmaps)).digest())

    def read(i: int) -> np.ndarray:
        label = int(np.searchsorted(ends, i, side="right"))
        pixels = np.asarray(drawings[label][i - ends[label]]).reshape(DRAWN, DRAWN)
        image = Image.fromarray(pixels).convert("RGB")
        if size != DRAWN:
            image = image.resize((size, size), Image.Resampling.BICUBIC)
        return np.asarray(image)

    return Images(
        f"quickdraw:{path}",
        OnDemand(read, int(ends[-1]), (size, size, 3)),
        np.repeat(np.arange(len(names)), sizes),
        names,
        facts=pd.DataFrame({"drawing": np.concatenate([*map(np.arange, sizes)])}),
        content=hashlib.sha256(f"bitmaps {size} {content.hexdigest()}".encode()).hexdigest(),
    )


def _bitmap_file(root, name):
    files = (root / f"{name}.npy", root / f"full_numpy_bitmap_{name}.npy")
    return next((file for file in files if file.is_file()), None)


def _bitmaps(file):
    """(N, 784) uint8, mapped and not read yet."""
    with readable("dataset", file, "a readable .npy"):
        bitmaps = np.load(file, mmap_mode="r", allow_pickle=False)
    if (
        bitmaps.dtype != np.uint8
        or bitmaps.ndim != 2
        or bitmaps.shape[1] != DRAWN**2
        or not len(bitmaps)
    ):
        raise InputError(
            f"dataset: {file} holds {bitmaps.dtype} {bitmaps.shape}; (N, {DRAWN**2}) of uint8 are "
            "needed"
        )
    return bitmaps


def _home(root, landmark, name):
    """The folder that contains the landmark of a release: the named one, or one in it."""
    if not root.is_dir():
        raise InputError(f"dataset: no folder {root}")
    for folder in (root, *sorted(d for d in root.iterdir() if d.is_dir())):
        if (folder / landmark).exists():
            return folder
    raise InputError(
        f"dataset: no {landmark} in {root} or in a folder in it; {name} is read as it was released"
    )


def _folders(folder, key=None, fact=""):
    """One folder per class; ``fact`` is a regular expression for file names, with named groups."""

    def listed(root, name, split):
        folders = sorted(path for path in (root / folder).iterdir() if path.is_dir())
        by_class = {d.name: d for d in folders if not (d.name.startswith("_") or is_junk(d))}
        classes = of_split(key, split, by_class, root / folder)
        table = _in_folders({c: by_class[c] for c in classes}, name)
        if not fact:
            return table
        names = pd.Series([f"{file.parent.name}/{file.name}" for file in table["file"]])
        return table.join(names.str.extract(fact))

    return listed


def _omniglot(root, name, split):
    top = root / ("images_evaluation" if split == "novel" else "images_background")
    folders = [d for d in sorted(top.glob("*/*")) if d.is_dir()]
    folders = [d for d in folders if not (is_junk(d) or is_junk(d.parent))]
    if split != "novel":
        is_wanted = split == "validation"
        folders = [d for d in folders if (d.parent.name in VALIDATION_ALPHABETS) == is_wanted]
    table = _in_folders({f"{d.parent.name}/{d.name}": d for d in folders}, name)
    table["alphabet"] = [file.parents[1].name for file in table["file"]]
    # Twenty people drew all characters of an alphabet; other people drew the next alphabet.
    table["drawer"] = [
        f"{a}/{file.stem.rpartition('_')[2]}" for a, file in zip(table["alphabet"], table["file"])
    ]
    return table


def _in_folders(folders, name):
    if not folders:
        raise InputError(f"dataset: {name} holds no class folder of this split")
    files, labels = from_class_folders(list(folders.values()), name)
    return pd.DataFrame({"file": files, "class": np.array(list(folders))[labels]})


def _aircraft(root, name, split):
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
    table = rows[rows["class"].isin(of_split("aircraft", split, sorted(set(rows["class"])), data))]
    box = text_table(
        data / "images_box.txt",
        header=None,
        sep=" ",
        names=["id", "left", "top", "right", "bottom"],
    )
    table = table.merge(box, on="id", how="left")
    edges = list(box.columns[1:])
    table[edges] = table[edges].apply(pd.to_numeric, errors="coerce").astype(float)
    bad = table[edges].isna().any(axis=1)
    if bad.any():
        raise InputError(
            f"dataset: {data / 'images_box.txt'} has no box of four numbers of "
            f"{table['id'][bad].iloc[0]}"
        )
    return table.assign(file=[data / "images" / f"{i}.jpg" for i in table["id"]])[
        ["file", "class", *edges]
    ]


def _flowers(key):
    """Flowers by their numbers, which ``imagelabels.mat`` gives in the order of the images."""

    def listed(root, name, split):
        labels = _mat(root / "imagelabels.mat", "labels")
        table = pd.DataFrame({"file": [root / _FLOWER.format(i + 1) for i in range(len(labels))]})
        table["class"] = [f"{label:03d}" for label in labels]
        classes = sorted(set(table["class"]))
        return table[table["class"].isin(of_split(key, split, classes, root))].reset_index(
            drop=True
        )

    return listed


_FLOWER = "jpg/image_{:05d}.jpg"


def _flower_parts(root):
    file = root / "setid.mat"
    parts = {"trnid": "train", "valid": "val", "tstid": "test"}
    if not file.is_file():
        return {}
    numbers = {part: _mat(file, array) for array, part in parts.items()}
    return {_FLOWER.format(i): part for part, images in numbers.items() for i in images}


def _mat(file, array):
    from scipy.io import loadmat  # late, since checking names does not need it

    with readable("dataset", file, f"a MATLAB file with {array}"):
        return np.ravel(loadmat(file, variable_names=[array])[array]).astype(int)


def _food_parts(root):
    lists = {part: _lines(root / "meta" / f"{part}.txt") for part in ("train", "test")}
    return {f"images/{name}.jpg": part for part, names in lists.items() for name in names}


def _lines(file):
    with readable("dataset", file, "a readable list"):
        return [line for line in map(str.strip, file.read_text("utf-8").splitlines()) if line]


def _fungi(root, name, split):
    """Both lists together; some categories share a name, so class names include the number."""
    tables = []
    for file in ("train.json", "val.json"):
        images, categories, table = _coco(root / file)
        class_names = {
            i: f"{i:04d}.{category['name'].strip()}" for i, category in categories.items()
        }
        classes = of_split("fungi", split, class_names.values(), root / file)
        table["class"] = table["category_id"].map(class_names)
        table["file"] = [root / images[i]["file_name"] for i in table["image_id"]]
        tables.append(table.loc[table["class"].isin(classes), ["file", "class"]])
    return pd.concat(tables, ignore_index=True)


def _mscoco(root, name, split):
    """Objects, cut out with a fifth more than their boxes, in whole pixels.

    Empty cut-outs are left out. Groups of objects (``iscrowd``) count as one, as in Meta-Dataset.
    """
    file = root / "annotations" / "instances_train2017.json"
    file = file if file.is_file() else root / "instances_train2017.json"
    images, categories, table = _coco(file, box=True)
    class_names = {i: category["name"] for i, category in categories.items()}
    table["class"] = table["category_id"].map(class_names)
    classes = of_split("mscoco", split, class_names.values(), file)
    table = table[table["class"].isin(classes)].reset_index(drop=True)
    photos = [images[i] for i in table["image_id"]]
    widths, heights = ([photo[side] for photo in photos] for side in ("width", "height"))
    box = table["bbox"].str
    table["left"], table["right"] = _enlarged(box[0], box[2], widths)
    table["top"], table["bottom"] = _enlarged(box[1], box[3], heights)
    table["photo"] = [photo["file_name"] for photo in photos]
    table["file"] = [root / "train2017" / photo for photo in table["photo"]]
    is_empty = (table["right"] <= table["left"]) | (table["bottom"] <= table["top"])
    columns = ["file", "class", "photo", "id", "left", "top", "right", "bottom"]
    return table.loc[~is_empty, columns].rename(columns={"id": "crop"}).reset_index(drop=True)


def _enlarged(start, length, limit):
    """The ends of one side of a box, a fifth longer, in whole pixels from 0 to the limits."""
    first = (
        start - (ENLARGEMENT - 1) / 2 * length - 0.5
    )  # annotations count from the centre of a pixel
    return first.round().clip(lower=0), np.minimum(
        (first + ENLARGEMENT * length).round() + 1, limit
    )


def _coco(file, box=False):
    """Images and categories of COCO annotations by their numbers, and one row per annotation."""
    columns = ["id", "image_id", "category_id", *(["bbox"] if box else [])]
    with readable("dataset", file, "a file of COCO annotations"):
        content = json.loads(file.read_text("utf-8"))
        images, categories = (
            {entry["id"]: entry for entry in content[key]} for key in ("images", "categories")
        )
        rows = [{c: entry[c] for c in columns} for entry in content["annotations"]]
    table = pd.DataFrame(rows, columns=columns)
    for column, entries in (("image_id", images), ("category_id", categories)):
        unknown = sorted(set(table[column]) - set(entries))
        if unknown:
            raise InputError(
                f"dataset: {file} has annotations of {column} {unknown[0]}, which it does not list"
            )
    return images, categories, table


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
