"""The papers' own data sets, read from the user's folder, in the form in which they were released.

============== ====== ==================================================================================
name           pixels contents of PATH
============== ====== ==================================================================================
cifar-fs       32     ``data/CLASS/IMAGE`` and ``splits/bertinetto/{train,val,test}.txt``, one class per line
                      (or a folder ``cifar100`` that holds them); or CIFAR-100 in its binary form: ``train.bin``,
                      ``test.bin`` and ``fine_label_names.txt`` (or a folder ``cifar-100-binary`` that holds them)
miniimagenet   84     ``images/`` and ``{train,val,test}.csv`` with columns filename and label
tieredimagenet 84     ``{train,val,test}/CLASS/IMAGE``, or as miniimagenet
meta-album     128    one of its data sets: ``images/`` and ``labels.csv`` with columns FILE_NAME, CATEGORY
                      and optionally SUPER_CATEGORY; or folders of such, by their names (BRD_Mini)
cub            84     ``images.txt``, ``image_class_labels.txt``, ``classes.txt`` and ``images/``, or as
                      miniimagenet
============== ====== ==================================================================================

The split novel is the release's test, validation its val, base its train. Nothing is unpickled: of
the many circulating forms of miniImageNet, the one with images is read.
"""  # noqa: E501 (the table)

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ..errors import InputError, choice, whole
from ..paths import at_home, readable
from .decode import centre_square
from .folder import SIZES, from_class_folders, from_files, is_junk
from .images import Images, OnDemand
from .splits import of_split

__all__ = ["PAPERS", "load_cifar_fs", "load_cub", "load_image_net", "load_meta_album"]

RELEASED = {"base": "train", "validation": "val", "novel": "test"}
# Meta-Album's sets: each has one data set for each of ten domains (Ullah et al., NeurIPS 2022).
SETS = (
    ("BRD", "PLK", "FLW", "PLT_VIL", "BCT", "RESISC", "CRS", "TEX", "SPT", "MD_MIX"),
    ("DOG", "INS_2", "PLT_NET", "MED_LF", "PNU", "RSICB", "APL", "TEX_DTD", "ACT_40", "MD_5_BIS"),
    ("AWA", "INS", "FNG", "PLT_DOC", "PRT", "RSD", "BTS", "TEX_ALOT", "ACT_410", "MD_6"),
)
RECORD = 2 + 3 * 32 * 32  # bytes per image of CIFAR-100 in its binary form
# Versions of a data set of Meta-Album, at the end of its folder's name.
VERSIONS = ("Mini", "Micro", "Extended")


def _released(split):
    return RELEASED[choice("split", split, RELEASED)]


def text_table(
    path: Path, columns: list[str] | None = None, *, what: str = "dataset", **options
) -> pd.DataFrame:
    """A text table, all cells as text; error messages begin with ``what``."""
    with readable(what, path, "a readable table"):
        table = pd.read_csv(path, dtype=str, keep_default_na=False, **options)
    if columns:  # pandas renames the second of two columns of the same name
        head = (
            pd.read_csv(path, dtype=str, keep_default_na=False, nrows=1, header=None)
            .iloc[0]
            .tolist()
        )
        if twice := next((c for c in columns if head.count(c) > 1), None):
            raise InputError(f"{what}: {path} has the column {twice} twice")
    missing = [c for c in columns or [] if c not in table]
    if missing:
        raise InputError(
            f"{what}: {path} lacks the column {missing[0]}; it has "
            f"{', '.join(map(str, table.columns))}"
        )
    if table.empty:
        raise InputError(f"{what}: {path} is empty")
    return table


def _in_one_split(classes, folder):
    """Raise `InputError` if a class is in two splits."""
    split_of: dict[str, str] = {}
    for split, names in classes.items():
        for name in sorted(names):
            if split_of.setdefault(name, split) != split:
                raise InputError(
                    f"dataset: class {name} is in two splits of {folder}, {split_of[name]} and "
                    f"{split}"
                )


def _categories(name, files, classes, size, facts=None):
    if (empty := classes.str.strip() == "").any():
        raise InputError(
            f"dataset: {name} has no class for {files[int(empty.argmax())]} ({empty.sum()} are "
            "without)"
        )
    if (
        twice := pd.Series(files).duplicated()
    ).any():  # one of them in a support, the other a query
        raise InputError(
            f"dataset: {name} lists {files[int(twice.argmax())]} twice ({twice.sum()} are)"
        )
    kinds = pd.Categorical(classes)
    return from_files(name, files, kinds.codes, list(kinds.categories), size, facts)


def load_cifar_fs(path: str | Path, split: str = "novel", *, size: int = 32) -> Images:
    """CIFAR-FS as released by Bertinetto et al. (ICLR 2019), or the same classes of CIFAR-100 in
    its binary form.

    Parameters
    ----------
    path : path
    split : str
        ``novel`` (20 classes), ``validation`` (16) or ``base`` (64).
    size : int
        Pixels.

    Raises
    ------
    InputError
        No split file, a class in two splits, a class without folder or images; and as for
        `from_files`. A binary file that is truncated, or whose labels have no name.
    """
    part, root = _released(split), at_home(path, "dataset")
    for binary in (root, root / "cifar-100-binary"):
        if (binary / "train.bin").is_file():
            return _of_binary(f"cifar-fs:{path}", binary, split, size)
    _no_pickles("cifar-fs", root)
    root = root / "cifar100" if (root / "cifar100").is_dir() else root
    lists = root / "splits" / "bertinetto"
    classes = {
        s: set(text_table(lists / f"{s}.txt", header=None, sep="\t")[0].str.strip())
        for s in RELEASED.values()
    }
    _in_one_split(classes, lists)
    names = sorted(classes[part])
    files, labels = from_class_folders([root / "data" / name for name in names], f"cifar-fs:{path}")
    return from_files(f"cifar-fs:{path}", files, labels, names, size)


def _no_pickles(name, root):
    """Refuse forms that circulate as pickles."""
    for pattern in ("*.pkl", "meta", "cifar-100-python/meta"):
        for file in sorted(root.glob(pattern)):
            is_own = file.suffix == ".pkl"
            if (root / ("test" if is_own else "splits")).is_dir():
                return
            code = "prints the code that converts it"
            binary = "brings the binary form, without pickles"
            raise InputError(
                f"dataset: {file} is a pickle, which can run code and is not read; fslcore fetch "
                f"{name} {code if is_own else binary}"
            )


def _of_binary(name, root, split, size):
    """CIFAR-100 in its binary form: per image two labels and three planes of 32 × 32 bytes."""
    whole("size", size, *SIZES)
    class_names = text_table(root / "fine_label_names.txt", header=None, sep="\t")[0].tolist()
    names, records = of_split("cifar-fs", split, class_names, root), []
    for file in (root / "train.bin", root / "test.bin"):
        length = file.stat().st_size if file.is_file() else 0
        if not length or length % RECORD:
            raise InputError(
                f"dataset: {file} has {length} bytes; records of {RECORD} bytes are needed"
            )
        records.append(np.fromfile(file, np.uint8).reshape(-1, RECORD))
    images = np.concatenate(records)
    highest = images[:, 1].max()
    if highest >= len(class_names):
        raise InputError(
            f"dataset: {root} has images of class {highest}, and fine_label_names.txt names "
            f"{len(class_names)}"
        )
    labels = [names.index(c) if c in names else -1 for c in class_names]
    label = np.array(labels)[images[:, 1]]
    rows = np.flatnonzero(label >= 0)
    rows = rows[np.argsort(label[rows], kind="stable")]  # in the order of class folders
    pixels = images[rows, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    content = hashlib.sha256(
        f"binary {size} {hashlib.sha256(pixels.tobytes()).hexdigest()}".encode()
    ).hexdigest()
    read = OnDemand(
        lambda i: centre_square(Image.fromarray(pixels[i]), size), len(rows), (size, size, 3)
    )
    facts = pd.DataFrame({"file": [f"{names[label[i]]}/{i}" for i in rows]})
    return Images(name, read, label[rows], names, facts=facts, content=content)


def load_image_net(
    path: str | Path, split: str = "novel", *, name: str = "miniimagenet", size: int = 84
) -> Images:
    """MiniImageNet with the splits of Ravi and Larochelle (ICLR 2017), or tieredImageNet (Ren et
    al., ICLR 2018).

    Images of any size are read, from their centre square.

    Parameters
    ----------
    path : path
    split : str
        ``novel``, ``validation`` or ``base``.
    name : str
        ``miniimagenet`` or ``tieredimagenet``; only the second may be folders of class folders.
    size : int
        Pixels.

    Raises
    ------
    InputError
        No split file or folder, a column missing, a class in two splits, a class without
        images; and as for `from_files`.
    """
    part, root = _released(split), at_home(path, "dataset")
    if not (root / f"{part}.csv").is_file():
        _no_pickles(name, root)
    if name == "tieredimagenet" and not (root / f"{part}.csv").is_file():
        folders = {}
        for s in RELEASED.values():
            if not (root / s).is_dir():
                raise InputError(
                    f"dataset: {root} has neither {part}.csv nor a folder {s} of class folders"
                )
            folders[s] = sorted(d for d in (root / s).iterdir() if d.is_dir() and not is_junk(d))
        class_names = {s: [d.name for d in classes] for s, classes in folders.items()}
        _in_one_split(class_names, root)
        files, labels = from_class_folders(folders[part], f"{name}:{path}")
        return from_files(f"{name}:{path}", files, labels, class_names[part], size)
    tables = {s: text_table(root / f"{s}.csv", ["filename", "label"]) for s in RELEASED.values()}
    _in_one_split({s: set(t["label"]) for s, t in tables.items()}, root)
    files = [root / "images" / f for f in tables[part]["filename"]]
    return _categories(f"{name}:{path}", files, tables[part]["label"], size)


def load_meta_album(
    path: str | Path, split: str = "novel", *, size: int = 128, test_set: int | None = None
) -> Images:
    """One data set of Meta-Album (Ullah et al., NeurIPS 2022), or a set of ten, one per domain.

    Meta-Album is split by data set. All classes of a data set at ``path`` are novel. In a folder
    that contains data sets under their names, such as ``BRD_Mini``, Set-``test_set`` is novel, the
    next is base and the one after it validation, as in the authors' experiments: each set is tested
    on once, and the mean of the three is reported.

    Parameters
    ----------
    path : path
    split : str
        ``novel``; ``validation`` or ``base`` for sets only.
    size : int
        Pixels.
    test_set : int, optional
        0, 1 or 2: the set to test on. A class is then called DATASET/CATEGORY, and the fact
        ``domain`` is its data set.

    Raises
    ------
    InputError
        Another split or set, no ``labels.csv``, a column or a data set missing; and as for
        `from_files`.
    """
    part, root = _released(split), at_home(path, "dataset")
    if test_set is None:
        if split != "novel":
            raise InputError(
                f"split = {split}; a data set of Meta-Album has novel only (its splits are whole "
                "data sets: meta-album:FOLDER_OF_DATA_SETS?test_set=0)"
            )
        has_sets = any(_album(root, name) for name in sum(SETS, ()))
        if has_sets and not (root / "labels.csv").is_file():
            raise InputError(
                f"dataset: {root} holds data sets of Meta-Album; name one, or a set: "
                f"{root}?test_set=0"
            )
        files, classes, facts = _of_album(root)
        return _categories(f"meta-album:{path}", files, classes, size, facts)
    whole("test_set", test_set, 0, len(SETS) - 1)
    names = SETS[(test_set + ("test", "train", "val").index(part)) % len(SETS)]
    missing = [name for name in names if not _album(root, name)]
    if missing:
        raise InputError(
            f"dataset: no folder {missing[0]} or {missing[0]}_Mini in {root}, of Meta-Album"
        )
    files, classes, facts = [], [], []
    for name in names:
        files_of_set, categories, facts_of_set = _of_album(_album(root, name))
        files += files_of_set
        classes.append(f"{name}/" + categories)
        facts.append(facts_of_set.assign(domain=name))
    classes, facts = (pd.concat(parts, ignore_index=True) for parts in (classes, facts))
    facts["file"] = [f"{file.parents[1].name}/{file.name}" for file in files]
    return _categories(f"meta-album:{path}?test_set={test_set}", files, classes, size, facts)


def _album(root, name):
    """The folder of a data set of Meta-Album, with or without its version."""
    folders = (root / called for called in (name, *(f"{name}_{version}" for version in VERSIONS)))
    return next((folder for folder in folders if (folder / "labels.csv").is_file()), None)


def _of_album(root):
    """Files, classes and facts of a data set of Meta-Album."""
    table = text_table(root / "labels.csv", ["FILE_NAME", "CATEGORY"])
    files = [root / "images" / f for f in table["FILE_NAME"]]
    return (
        files,
        table["CATEGORY"],
        table.drop(columns=["FILE_NAME", "CATEGORY"]).rename(columns=str.lower),
    )


def load_cub(
    path: str | Path, split: str = "novel", *, size: int = 84, splits: str | None = None
) -> Images:
    """CUB-200-2011 (Wah et al., 2011), all images of the classes of a split.

    The release has no few-shot split. Files ``{base,val,novel}.json`` as Chen et al. (ICLR 2019)
    write them, or ``{train,val,test}.csv`` with a column label, are used if present. Otherwise the
    rule of Chen et al. applies: of the classes, numbered from 0 in the order of ``classes.txt``,
    every even one is base (100), those with remainder 1 modulo 4 are validation (50) and those with
    remainder 3 are novel (50). Meta-Dataset has another split (140, 30, 30), and FewSTAB one of
    130, 20 and 50 (its Table S1), for which its code uses the files of LibFewShot: such
    ``{train,val,test}.csv`` with images, but without the release's lists, are read like
    miniImageNet.

    Parameters
    ----------
    path : path
    split : str
        ``novel``, ``validation`` or ``base``.
    size : int
        Pixels.
    splits : str, optional
        ``chen`` or ``meta-dataset``: this split, whatever files there are; ``fewstab``: the split
        of the files ``{train,val,test}.csv``, which must be present.

    Raises
    ------
    InputError
        Unknown splits; a list that is missing or unreadable, some but not all split files, a class
        in two splits or unknown to ``classes.txt``; and as for `from_files`.
    """
    part, root = _released(split), at_home(path, "dataset")
    without_lists = not (root / "images.txt").is_file() and (root / "test.csv").is_file()
    if splits == "fewstab" or (splits is None and without_lists):
        return load_image_net(path, split, name="cub", size=size)
    images, labels, classes = (
        text_table(root / f"{stem}.txt", header=None, sep=" ", names=["id", column]).set_index(
            "id"
        )[column]
        for stem, column in (
            ("images", "file"),
            ("image_class_labels", "class"),
            ("classes", "name"),
        )
    )
    chosen = _cub_split(root, list(classes), splits)
    _in_one_split(chosen, root)
    class_names = labels.map(classes).reindex(images.index)
    is_missing = class_names.isna()
    unknown = sorted(chosen[part] - set(class_names))
    if unknown:
        raise InputError(f"dataset: class {unknown[0]} is not in the lists of {root}")
    if is_missing.any():
        raise InputError(
            f"dataset: the class of image {images[is_missing].iloc[0]} is not in the lists of "
            f"{root}"
        )
    rows = class_names.isin(chosen[part])
    files = [root / "images" / file for file in images[rows]]
    return _categories(f"cub:{path}", files, class_names[rows], size)


def _cub_split(root, classes, splits):
    if splits is not None:
        choice("splits", splits, ("chen", "fewstab", "meta-dataset"))
    if splits == "meta-dataset":
        return {part: set(of_split("cub", name, classes, root)) for name, part in RELEASED.items()}
    if splits is None and (root / "novel.json").is_file():
        return {
            part: _listed(root / f"{stem}.json")
            for part, stem in zip(RELEASED.values(), ("base", "val", "novel"))
        }
    if splits is None and (root / "test.csv").is_file():
        return {
            part: set(text_table(root / f"{part}.csv", ["label"])["label"])
            for part in RELEASED.values()
        }
    return {"train": set(classes[::2]), "val": set(classes[1::4]), "test": set(classes[3::4])}


def _listed(path):
    """Class folders of the images listed in a split file."""
    with readable("dataset", path, "a split file with image_names"):
        return {
            Path(name).parent.name for name in json.loads(path.read_text("utf-8"))["image_names"]
        }


#: Readers by the name before the colon; each takes a path and a split.
PAPERS: dict[str, Callable[[str, str], Images]] = {
    "cifar-fs": load_cifar_fs,
    "miniimagenet": load_image_net,
    "tieredimagenet": partial(load_image_net, name="tieredimagenet"),
    "meta-album": load_meta_album,
    "cub": load_cub,
}
