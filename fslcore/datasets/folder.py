"""A user's own images: a folder with one subfolder per class."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageOps

from ..errors import InputError, number, warn, whole
from ..paths import at_home
from .decode import Lost, centre_square, colour, cut, is_image, rgb, squeezed
from .images import Images, OnDemand

__all__ = ["from_class_folders", "from_files", "is_junk", "load_folder"]

SIZE = 224  # pixels, by default
SIZES = 8, 2048
JUNK = {
    "__MACOSX",
    "@eaDir",
    "Thumbs.db",
    "desktop.ini",
}  # files left by operating systems, besides hidden ones
SPLITS = {
    "train",
    "training",
    "val",
    "valid",
    "validation",
    "dev",
    "test",
    "testing",
    "base",
    "novel",
}
DECODING = 2  # raise it when the output of `decode` changes; cached features are then not reused
MANY = 0.05  # share of one-coloured images above which a note is written
LOOKED_AT = 1000  # images checked before an error counts the lost ones


@dataclass
class _Reader:
    """Image i of some files, decoded, or what another thread decoded; notes one-coloured images."""

    name: str
    files: list[Path]
    size: int
    ground: str
    white: float | None
    boxes: np.ndarray | None
    squeezed: bool
    inverted: bool
    flat: dict[int, Path] = field(default_factory=dict)

    def decode(self, i: int) -> np.ndarray:
        """The pixels alone, which threads may decode."""
        image = rgb(self.files[i], self.ground, self.white)
        if self.inverted:
            image = ImageOps.invert(image)
        if self.boxes is not None:
            return self._cut(image, self.boxes[i], i)
        return squeezed(image, self.size) if self.squeezed else centre_square(image, self.size)

    def __call__(self, i: int, decoded: Callable[[], np.ndarray] | None = None) -> np.ndarray:
        try:
            pixels = decoded() if decoded else self.decode(i)
        except Lost as error:
            raise self._with_others(i, error) from None
        if (pixels == pixels[0, 0]).all():
            self.flat[i] = self.files[i]
            if len(self.flat) == max(2, round(MANY * len(self.files))):
                first = ", ".join(map(str, list(self.flat.values())[:3]))
                warn(
                    f"{self.name}: {len(self.flat)} or more of {len(self.files)} images show one "
                    f"colour ({first} …)"
                )
        return pixels

    def _cut(self, image: Image.Image, box: np.ndarray, i: int) -> np.ndarray:
        try:
            return cut(image, box, self.size, self.squeezed)
        except InputError as error:
            raise InputError(f"image {self.files[i]}: {error}") from None

    def _with_others(self, i: int, error: Lost) -> InputError:
        """The error for image i, with the number of further images of its kind."""
        following = self.files[i + 1 :][:LOOKED_AT]
        lost = []
        for file in following:
            try:
                rgb(file, self.ground, self.white)
            except Lost:
                lost.append(file)
            except InputError:
                pass  # the first one is reported
        if not lost:
            return error
        names = ", ".join(file.name for file in lost[:3])
        ellipsis = " …" if len(lost) > 3 else ""
        return InputError(
            f"{error}; so are {len(lost)} of the next {len(following)} images: {names}{ellipsis}"
        )


def from_files(
    name: str,
    files: list[Path],
    classes: Sequence[str],
    size: int | None,
    facts: pd.DataFrame | None = None,
    *,
    ground: str = "white",
    white: float | None = None,
    boxes: np.ndarray | None = None,
    inverted: bool = False,
) -> Images:
    """Image files with their classes, as `Images`.

    Images are read on demand, as RGB, from their centre square at ``size`` × ``size`` pixels; of an
    animation or a multi-page file, the first. See `fslcore.datasets.decode.rgb` for rotated photos,
    transparency and more than 8 bits.

    Parameters
    ----------
    name : str
    files : list of N paths
    classes : N texts
        Class of each image.
    size : int or None
        Pixels, 8 to 2048. None: 224, until `fslcore.models.backbones.match_input_size` sets a backbone's own
        size.
    facts : DataFrame, optional
        One row per image. The last two parts of its path are added, as the column ``file``, if it
        is missing.
    ground : str
        Colour under transparent parts.
    white : float, optional
        The white level in grey images of more than 8 bits, if their format does not give it.
    boxes : (N, 4) array, optional
        Left, top, right, bottom in pixels: the box, instead of the centre square, is squeezed into
        the square.
    inverted : bool
        Whether dark and light are exchanged for backbones with the preprocessing of released code.

    Raises
    ------
    InputError
        A missing file (the first, and how many) or one that cannot be opened. When it is read, also
        an image that cannot be decoded, that becomes one colour when decoded, or that does not
        contain its box, by name. No image is silently dropped. If one image in twenty shows one
        colour, a warning says so.
    """
    if size is not None:
        whole("size", size, *SIZES)
    colour(ground)
    white = None if white is None else number("white", white, over=0)
    content = f"{ground} {white} {_digest(files)}"
    if boxes is not None:
        content += f" {hashlib.sha256(boxes.astype('<f8').tobytes()).hexdigest()}"
    facts = _with_paths(facts, files)
    class_names, labels = np.unique(np.array(classes, object), return_inverse=True)

    @lru_cache(maxsize=2)
    def read(side: int, form: str) -> Images:
        reader = _Reader(
            name=name,
            files=files,
            size=side,
            ground=ground,
            white=white,
            boxes=boxes,
            squeezed=form != "centre square",
            inverted=form == "squeezed inverted",
        )
        return Images(
            name,
            OnDemand(reader, len(files), (side, side, 3), reader.decode),
            labels,
            class_names.tolist(),
            facts=facts,
            content=hashlib.sha256(f"{form} {side} {DECODING} {content}".encode()).hexdigest(),
            at_size=partial(read, form="centre square") if size is None else None,
            squeezed_to=partial(read, form="squeezed inverted" if inverted else "squeezed"),
        )

    return read(size or SIZE, "centre square")


def _with_paths(facts: pd.DataFrame | None, files: list[Path]) -> pd.DataFrame:
    if facts is not None and "file" in facts:
        return facts
    paths = ["/".join(file.parts[-2:]) for file in files]
    return pd.DataFrame({"file": paths}) if facts is None else facts.assign(file=paths)


def _digest(files: list[Path]) -> str:
    """SHA-256 of the content of all files; each is read once, even if it is listed several times.

    Raises
    ------
    InputError
        Missing files, or one that cannot be opened.
    """
    digests = dict.fromkeys(files, b"")
    missing = [file for file in digests if not file.is_file()]
    if missing:
        fault = "a folder" if missing[0].is_dir() else "no such file"
        raise InputError(
            f"unreadable image {missing[0]} ({fault}; {len(missing)} of {len(digests)} are missing)"
        )
    for file in digests:
        try:
            digests[file] = hashlib.sha256(file.read_bytes()).digest()
        except OSError as error:
            raise InputError(f"unreadable image {file} ({error.strerror})") from None
    return hashlib.sha256(b"".join(digests[file] for file in files)).hexdigest()


def load_folder(
    path: str | Path,
    *,
    size: int | None = None,
    name: str | None = None,
    ground: str = "white",
    white: float | None = None,
) -> Images:
    """A folder of class folders: ``path/CLASS/IMAGE``, read as `from_files` does.

    Images are recognised by their content, whatever the file name ends in. All images below a class
    folder, also in its subfolders, are of that class; links are followed. Hidden files, files that
    are not images, and images outside the class folders are left out: a warning counts and
    names them.

    Raises
    ------
    InputError
        A missing folder, no class folder, a class without images; folders that look like splits, or
        like one level too many, in place of classes; a file with the suffix or form of an image
        that cannot be read; and as for `from_files`.
    """
    path = at_home(path, "dataset")
    if not path.is_dir():
        got = f"the file {path}" if path.is_file() else f"no folder {path}"
        raise InputError(f"dataset must be a folder of class folders, got {got}")
    listed = [entry for entry in _listed(path) if not is_junk(entry)]
    classes = [entry for entry in listed if entry.is_dir()]
    loose = [entry for entry in listed if not entry.is_dir()]
    _check_levels(path, classes, loose)
    resolved = path.resolve()
    for folder in classes:
        if resolved.is_relative_to(folder.resolve()):
            raise InputError(
                f"dataset: class folder {folder} is a link to {folder.resolve()}, which holds all "
                "classes; remove the link"
            )
    name = name or f"folder:{path}"
    files, class_of_file = from_class_folders({folder.name: folder for folder in classes}, name)
    if loose:
        warn(
            f"{name}: {len(loose)} files beside the class folders belong to no class and are left "
            f"out ({_some(loose)})"
        )
    # Objects, as pandas' own texts refuse names that are not UTF-8.
    facts = pd.DataFrame(
        {"file": [file.relative_to(path).as_posix() for file in files]}, dtype=object
    )
    return from_files(name, files, class_of_file, size, facts, ground=ground, white=white)


def _check_levels(path: Path, classes: list[Path], loose: list[Path]) -> None:
    """Raise `InputError` if these folders are not classes, by their names or their content."""
    if not classes:
        images = sum(map(is_image, loose))
        images_alone = f" but {images} images" if images else ""
        raise InputError(
            f"dataset must have class folders, PATH/CLASS/IMAGE, got none{images_alone} in {path}"
        )
    splits = [d.name for d in classes if d.name.lower() in SPLITS]
    if len(splits) > 1:
        raise InputError(
            f"dataset: {', '.join(splits)} in {path} look like splits, not classes; name one of "
            f"them, as in folder:{path / splits[-1]}"
        )
    if len(classes) == 1 and not any(f.is_file() for f in _listed(classes[0]) if not is_junk(f)):
        raise InputError(
            f"dataset: {path} holds one folder, {classes[0].name}, and that holds only folders; if "
            f"they are the classes, name folder:{classes[0]}"
        )


def from_class_folders(folders: dict[str, Path], name: str) -> tuple[list[Path], list[str]]:
    """The image files in and below the folders of classes, sorted, and the class of each.

    Warnings, which begin with ``name``, report files left out and folders in class folders.

    Raises
    ------
    InputError
        A folder that is missing or contains no image; a file that looks like an image and cannot be
        read.
    """
    files: list[Path] = []
    classes: list[str] = []
    left_out: list[Path] = []
    errors: list[InputError] = []
    for class_name, folder in folders.items():
        images = _sorted_out(folder, left_out, errors)
        if not images and not errors:
            raise InputError(f"dataset: class folder {folder} holds no image{_content(folder)}")
        files += images
        classes += [class_name] * len(images)
    if errors:
        if len(errors) == 1:
            raise errors[0]
        raise InputError(f"{errors[0]}; {len(errors) - 1} more files are like that")
    if left_out:
        kinds = Counter(file.suffix.lower() or file.name for file in left_out).most_common(4)
        listed = ", ".join(f"{n} {kind}" for kind, n in kinds)
        warn(
            f"{name}: {len(left_out)} files are not images and are left out: {listed} "
            f"({_some(left_out)})"
        )
    deep = [file for file, c in zip(files, classes) if file.parent != folders[c]]
    if deep:
        warn(
            f"{name}: {len(deep)} of {len(files)} images lie in folders below the class folders, "
            f"and are taken for that class ({_some(deep)})"
        )
    return files, classes


def _sorted_out(folder: Path, left_out: list[Path], errors: list[InputError]) -> list[Path]:
    """The images in and below a folder; adds other files and unreadable images to the lists."""
    if not folder.is_dir():
        raise InputError(f"dataset: no class folder {folder}")
    images: list[Path] = []
    for file in sorted(_below(folder)):
        try:
            is_left_out = is_junk(file) or not is_image(file)
            (left_out if is_left_out else images).append(file)
        except InputError as error:
            errors.append(error)
    return images


def _content(folder: Path) -> str:
    names = [file.name for file in _listed(folder)]
    return f"; {len(names)} others are in it: {', '.join(names[:3])}" if names else ""


def _some(files: list[Path]) -> str:
    names = ", ".join("/".join(file.parts[-3:]) for file in files[:3])
    return f"{names} …" if len(files) > 3 else names


def is_junk(path: Path) -> bool:
    """Whether a file is hidden, or left by an operating system, such as thumbnails."""
    return path.name.startswith(".") or path.name in JUNK


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"dataset: unreadable folder {folder} ({error.strerror})") from None


def _below(folder: Path, parents: tuple[Path, ...] = ()) -> Iterator[Path]:
    """All files in and below a folder, and its junk, without following cycles of links."""
    parents = (*parents, folder.resolve())
    for path in _listed(folder):
        if not path.is_dir() or is_junk(path):
            yield path
        elif path.resolve() not in parents:
            yield from _below(path, parents)
