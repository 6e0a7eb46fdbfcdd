"""A user's own images: a folder with one folder a class."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd

from ..errors import InputError, note, number
from .decode import Lost, centre_square, colour, rgb
from .images import Images, OnDemand

__all__ = ["from_class_folders", "from_files", "load_folder"]

ENDINGS = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}
DECODING = 2  # raise it when what `decode` makes of a file changes: features of before are then not found
MANY = 0.05  # share of images of one colour that is told
LOOKED_AT = 1000  # images that are counted before an error says how many are lost


class _Reader:
    """Image i of some files, decoded; tells of those that show one colour."""

    def __init__(self, name: str, files: list[Path], size: int, ground: str, white: float | None):
        self.name, self.files, self.size, self.how = name, files, size, (ground, white)
        self.flat: dict[int, Path] = {}

    def __call__(self, i: int) -> np.ndarray:
        try:
            pixels = centre_square(rgb(self.files[i], *self.how), self.size)
        except Lost as error:
            raise self._with_others(i, error) from None
        if (pixels == pixels[0, 0]).all():
            self.flat[i] = self.files[i]
            if len(self.flat) == max(2, round(MANY * len(self.files))):
                first = ", ".join(str(file) for file in list(self.flat.values())[:3])
                note(f"{self.name}: {len(self.flat)} or more of {len(self.files)} images show one colour ({first} …)")
        return pixels

    def _with_others(self, i: int, error: Lost) -> InputError:
        """The error of image i, and how many more there are of its kind."""
        rest, lost = self.files[i + 1 :][:LOOKED_AT], []
        for file in rest:
            try:
                rgb(file, *self.how)
            except Lost:
                lost.append(file)
            except InputError:
                pass  # the first one is told
        if not lost:
            return error
        names = ", ".join(file.name for file in lost[:3])
        return InputError(f"{error}; so are {len(lost)} of the next {len(rest)} images: {names}{' …' * (len(lost) > 3)}")


def from_files(
    name: str, files: list[Path], labels: np.ndarray, class_names: list[str], size: int,
    facts: pd.DataFrame | None = None, *, ground: str = "white", white: float | None = None,
) -> Images:
    """Image files with their labels, as `Images`.

    Images are read on demand, as RGB, from their middle square at ``size`` × ``size`` pixels: the first of an
    animation or of many pages, without turning it as a camera's EXIF tag says. See
    `fslcore.datasets.decode.rgb` for transparency and for more than 8 bits.

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
    ground : str
        Colour under transparent parts.
    white : float, optional
        The value that is white in grey images of more than 8 bits, where their format does not say so.

    Raises
    ------
    InputError
        A file that is missing (the first, and how many) or cannot be opened; and, when it is read,
        an image that cannot be decoded, or that is one colour when decoded and not in its file, by name.
        No image is silently dropped. Where one image in twenty shows one colour, a line on stderr says so.
    """
    colour(ground)
    white = None if white is None else number("white", white, above=0)
    missing = [f for f in files if not f.is_file()]
    if missing:
        why = "a folder" if missing[0].is_dir() else "no such file"
        raise InputError(f"unreadable image {missing[0]} ({why}; {len(missing)} of {len(files)} are missing)")
    content = hashlib.sha256(f"centre square {size} {DECODING} {ground} {white}".encode())
    for file in files:
        try:
            content.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:
            raise InputError(f"unreadable image {file} ({error.strerror})") from None
    facts = (pd.DataFrame(index=range(len(files))) if facts is None else facts).assign(
        file=["/".join(file.parts[-2:]) for file in files]
    )
    images = OnDemand(_Reader(name, files, size, ground, white), len(files), (size, size, 3))
    return Images(name, images, np.asarray(labels, np.int64), class_names, facts=facts, content=content.hexdigest())


def load_folder(
    path: str | Path, *, size: int = 224, name: str | None = None, ground: str = "white", white: float | None = None
) -> Images:
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
    name = name or f"folder:{path}"
    return from_files(name, files, labels, [d.name for d in classes], size, ground=ground, white=white)


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
