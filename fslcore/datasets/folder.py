"""A user's own images: a folder with one folder a class."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ..errors import InputError
from .images import Images, OnDemand

__all__ = ["from_class_folders", "from_files", "load_folder"]

ENDINGS = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}


def _centre_square(file: Path, size: int) -> np.ndarray:
    try:
        with Image.open(file) as image:
            image = image.convert("RGB")
            side = min(image.size)
            left, top = (image.width - side) // 2, (image.height - side) // 2
            box = (left, top, left + side, top + side)
            return np.asarray(image.resize((size, size), Image.Resampling.BICUBIC, box))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise InputError(f"unreadable image {file} ({error})") from None


def from_files(
    name: str, files: list[Path], labels: np.ndarray, class_names: list[str], size: int,
    facts: pd.DataFrame | None = None,
) -> Images:
    """Image files with their labels, as `Images`.

    Images are read on demand, as RGB, from their middle square at ``size`` × ``size`` pixels.

    Parameters
    ----------
    name : str
    files : list of N paths
    labels : (N,) integers
        Index into ``class_names``.
    class_names : list of str
    size : int
        Pixels.
    facts : DataFrame, optional
        One row an image. The last two parts of its path are added, as the column ``file``.

    Raises
    ------
    InputError
        A file that is missing (the first, and how many) or cannot be opened; and, when it is read,
        an image that cannot be decoded, by name. No image is silently dropped.
    """
    missing = [f for f in files if not f.is_file()]
    if missing:
        raise InputError(f"unreadable image {missing[0]} (no such file; {len(missing)} of {len(files)} are missing)")
    content = hashlib.sha256(f"centre square {size}".encode())
    for file in files:
        try:
            content.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:
            raise InputError(f"unreadable image {file} ({error.strerror})") from None
    facts = (pd.DataFrame(index=range(len(files))) if facts is None else facts).assign(
        file=["/".join(file.parts[-2:]) for file in files]
    )
    images = OnDemand(lambda i: _centre_square(files[i], size), len(files), (size, size, 3))
    return Images(name, images, np.asarray(labels, np.int64), class_names, facts=facts, content=content.hexdigest())


def load_folder(path: str | Path, *, size: int = 224, name: str | None = None) -> Images:
    """A folder of class folders: ``path/CLASS/IMAGE``, read as `from_files` does.

    Files with other endings than those of images are left out; hidden files too.

    Raises
    ------
    InputError
        Missing folder, no class folder, a class without images; and as for `from_files`.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        raise InputError(f"dataset: no folder {path}")
    classes = sorted(d for d in path.iterdir() if d.is_dir() and not d.name.startswith("."))
    if not classes:
        raise InputError(f"dataset: {path} holds no class folders (PATH/CLASS/IMAGE is needed)")
    files, labels = from_class_folders(classes)
    return from_files(name or f"folder:{path}", files, labels, [d.name for d in classes], size)


def from_class_folders(classes: list[Path]) -> tuple[list[Path], np.ndarray]:
    """The image files in these folders, sorted, and the index of the folder each is in.

    Raises
    ------
    InputError
        A folder that is missing or holds no image.
    """
    files, labels = [], []
    for label, folder in enumerate(classes):
        if not folder.is_dir():
            raise InputError(f"dataset: no class folder {folder}")
        found = sorted(f for f in folder.iterdir() if f.suffix.lower() in ENDINGS and not f.name.startswith("."))
        if not found:
            raise InputError(f"dataset: class folder {folder} holds no image ({', '.join(sorted(ENDINGS))})")
        files += found
        labels += [label] * len(found)
    return files, np.array(labels)
