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
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

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


def _released(split: str) -> str:
    return RELEASED[choice("split", split, RELEASED)]


def text_table(
    path: Path, columns: Sequence[str] = (), *, name: str = "dataset", **options: Any
) -> pd.DataFrame:
    """A text table, all cells as text; error messages begin with ``name``."""
    options = {"dtype": str, "keep_default_na": False, **options}
    with readable(name, path, "a readable table"):
        table = pd.read_csv(path, **options)
    if columns:  # pandas renames the second of two columns of the same name
        head = pd.read_csv(path, nrows=1, header=None, dtype=str).iloc[0].tolist()
        repeated = [column for column in columns if head.count(column) > 1]
        if repeated:
            raise InputError(f"{name}: {path} has the column {repeated[0]} twice")
    missing = [column for column in columns if column not in table]
    if missing:
        raise InputError(
            f"{name}: {path} lacks the column {missing[0]}; it has "
            f"{', '.join(map(str, table.columns))}"
        )
    if table.empty:
        raise InputError(f"{name}: {path} is empty")
    return table


def _check_one_split(classes: Mapping[str, Iterable[str]], folder: Path) -> None:
    """Raise `InputError` if a class is in two splits."""
    split_of: dict[str, str] = {}
    for split, names in classes.items():
        for name in sorted(names):
            if split_of.setdefault(name, split) != split:
                raise InputError(
                    f"dataset: class {name} is in two splits of {folder}, {split_of[name]} and "
                    f"{split}"
                )


def _from_table(
    name: str, files: list[Path], classes: pd.Series, size: int, facts: pd.DataFrame | None = None
) -> Images:
    """As `from_files`; raises `InputError` for an image without a class, or listed twice."""
    is_empty = classes.str.strip() == ""
    if is_empty.any():
        raise InputError(
            f"dataset: {name} has no class for {files[int(is_empty.argmax())]} ({is_empty.sum()} "
            "are without)"
        )
    is_repeated = pd.Series(files).duplicated()  # it could be in a support, and a query too
    if is_repeated.any():
        raise InputError(
            f"dataset: {name} lists {files[int(is_repeated.argmax())]} twice "
            f"({is_repeated.sum()} are)"
        )
    return from_files(name, files, classes, size, facts)


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
    part = _released(split)
    root = at_home(path, "dataset")
    for binary in (root, root / "cifar-100-binary"):
        if (binary / "train.bin").is_file():
            return _from_binary(f"cifar-fs:{path}", binary, split, size)
    _no_pickles("cifar-fs", root)
    root = root / "cifar100" if (root / "cifar100").is_dir() else root
    lists = root / "splits" / "bertinetto"
    names = {
        s: set(text_table(lists / f"{s}.txt", header=None, sep="\t")[0].str.strip())
        for s in RELEASED.values()
    }
    _check_one_split(names, lists)
    folders = {name: root / "data" / name for name in sorted(names[part])}
    files, classes = from_class_folders(folders, f"cifar-fs:{path}")
    return from_files(f"cifar-fs:{path}", files, classes, size)


def _no_pickles(name: str, root: Path) -> None:
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


def _from_binary(name: str, root: Path, split: str, size: int) -> Images:
    """CIFAR-100 in its binary form: per image two labels and three planes of 32 × 32 bytes."""
    whole("size", size, *SIZES)
    all_names = text_table(root / "fine_label_names.txt", header=None, sep="\t")[0].tolist()
    class_names = of_split("cifar-fs", split, all_names, root)
    records = np.concatenate([_records(root / "train.bin"), _records(root / "test.bin")])
    highest = records[:, 1].max()
    if highest >= len(all_names):
        raise InputError(
            f"dataset: {root} has images of class {highest}, and fine_label_names.txt names "
            f"{len(all_names)}"
        )
    numbers = {name: number for number, name in enumerate(class_names)}
    label = np.array([numbers.get(name, -1) for name in all_names])[records[:, 1]]
    rows = label.argsort(kind="stable")[(label < 0).sum() :]  # in the order of class folders
    pixels = records[rows, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    digest = hashlib.sha256(pixels.tobytes()).hexdigest()

    def read(i: int) -> np.ndarray:
        return centre_square(Image.fromarray(pixels[i]), size)

    return Images(
        name,
        OnDemand(read, len(rows), (size, size, 3)),
        label[rows],
        class_names,
        facts=pd.DataFrame({"file": [f"{class_names[label[i]]}/{i}" for i in rows]}),
        content=hashlib.sha256(f"binary {size} {digest}".encode()).hexdigest(),
    )


def _records(file: Path) -> np.ndarray:
    """(N, RECORD) bytes of a binary file of CIFAR-100."""
    length = file.stat().st_size if file.is_file() else 0
    if not length or length % RECORD:
        raise InputError(f"{file} must have records of {RECORD} bytes, got {length} bytes")
    return np.fromfile(file, np.uint8).reshape(-1, RECORD)


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
    part = _released(split)
    root = at_home(path, "dataset")
    title = f"{name}:{path}"
    if not (root / f"{part}.csv").is_file():
        _no_pickles(name, root)
        if name == "tieredimagenet":
            folders = {s: _split_folders(root, s, part) for s in RELEASED.values()}
            _check_one_split(folders, root)
            files, classes = from_class_folders(folders[part], title)
            return from_files(title, files, classes, size)
    tables = {s: text_table(root / f"{s}.csv", ["filename", "label"]) for s in RELEASED.values()}
    _check_one_split({s: set(table["label"]) for s, table in tables.items()}, root)
    files = [root / "images" / file for file in tables[part]["filename"]]
    return _from_table(title, files, tables[part]["label"], size)


def _split_folders(root: Path, split: str, part: str) -> dict[str, Path]:
    """The class folders of a split of tieredImageNet, by their names."""
    if not (root / split).is_dir():
        raise InputError(
            f"dataset: {root} has neither {part}.csv nor a folder {split} of class folders"
        )
    return {
        folder.name: folder
        for folder in sorted((root / split).iterdir())
        if folder.is_dir() and not is_junk(folder)
    }


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
    part = _released(split)
    root = at_home(path, "dataset")
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
        files, classes, facts = _album_table(root)
        return _from_table(f"meta-album:{path}", files, classes, size, facts)
    whole("test_set", test_set, 0, len(SETS) - 1)
    names = SETS[(test_set + ("test", "train", "val").index(part)) % len(SETS)]
    folders = {name: folder for name in names if (folder := _album(root, name))}
    missing = [name for name in names if name not in folders]
    if missing:
        raise InputError(
            f"dataset: no folder {missing[0]} or {missing[0]}_Mini in {root}, of Meta-Album"
        )
    files, classes, facts = _album_set(folders)
    return _from_table(f"meta-album:{path}?test_set={test_set}", files, classes, size, facts)


def _album(root: Path, name: str) -> Path | None:
    """The folder of a data set of Meta-Album, with or without its version."""
    folders = [root / name, *(root / f"{name}_{version}" for version in VERSIONS)]
    return next((folder for folder in folders if (folder / "labels.csv").is_file()), None)


def _album_table(folder: Path) -> tuple[list[Path], pd.Series, pd.DataFrame]:
    """Files, classes and facts of a data set of Meta-Album."""
    table = text_table(folder / "labels.csv", ["FILE_NAME", "CATEGORY"])
    files = [folder / "images" / file for file in table["FILE_NAME"]]
    facts = table.drop(columns=["FILE_NAME", "CATEGORY"]).rename(columns=str.lower)
    return files, table["CATEGORY"], facts


def _album_set(
    folders: dict[str, Path],
) -> tuple[list[Path], pd.Series, pd.DataFrame]:
    """Files, classes and facts of several data sets of Meta-Album, which are domains."""
    files, classes, facts = [], [], []
    for name, folder in folders.items():
        files_of_album, categories, facts_of_album = _album_table(folder)
        files += files_of_album
        classes.append(f"{name}/" + categories)
        facts.append(facts_of_album.assign(domain=name))
    facts = pd.concat(facts, ignore_index=True)
    facts["file"] = [f"{file.parents[1].name}/{file.name}" for file in files]
    return files, pd.concat(classes, ignore_index=True), facts


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
    part = _released(split)
    root = at_home(path, "dataset")
    without_lists = not (root / "images.txt").is_file() and (root / "test.csv").is_file()
    if splits == "fewstab" or (splits is None and without_lists):
        return load_image_net(path, split, name="cub", size=size)
    images = _column(root / "images.txt")
    names = _column(root / "classes.txt")
    chosen = _cub_split(root, list(names), splits)
    _check_one_split(chosen, root)
    classes = _column(root / "image_class_labels.txt").map(names).reindex(images.index)
    unknown = sorted(chosen[part] - set(classes))
    if unknown:
        raise InputError(f"dataset: class {unknown[0]} is not in the lists of {root}")
    if classes.isna().any():
        raise InputError(
            f"dataset: the class of image {images[classes.isna()].iloc[0]} is not in the lists of "
            f"{root}"
        )
    rows = classes.isin(chosen[part])
    files = [root / "images" / file for file in images[rows]]
    return _from_table(f"cub:{path}", files, classes[rows], size)


def _column(path: Path) -> pd.Series:
    """The second column of a table, by the first."""
    return text_table(path, header=None, sep=" ", names=["id", "value"]).set_index("id")["value"]


def _cub_split(root: Path, classes: list[str], splits: str | None) -> dict[str, set[str]]:
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
    return {
        "train": set(classes[::2]),
        "val": set(classes[1::4]),
        "test": set(classes[3::4]),
    }


def _listed(path: Path) -> set[str]:
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
