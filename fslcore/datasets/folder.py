"""A user's own images: a folder with one folder a class."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from PIL import Image

from ..errors import InputError
from .images import Images, OnDemand

__all__ = ["load_folder"]

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


def load_folder(path: str | Path, *, size: int = 224, name: str | None = None) -> Images:
    """A folder of class folders: ``path/CLASS/IMAGE``.

    Images are read on demand, as RGB, from their middle square at ``size`` × ``size`` pixels.
    Files with other endings than those of images are left out; hidden files too.

    Raises
    ------
    InputError
        Missing folder, no class folder, a class without images; and, when it is read, an image
        that cannot be decoded, by name. No image is silently dropped.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        raise InputError(f"dataset: no folder {path}")
    classes = sorted(d for d in path.iterdir() if d.is_dir() and not d.name.startswith("."))
    if not classes:
        raise InputError(f"dataset: {path} holds no class folders (PATH/CLASS/IMAGE is needed)")
    files, labels, content = [], [], hashlib.sha256(f"centre square {size}".encode())
    for label, folder in enumerate(classes):
        found = sorted(f for f in folder.iterdir() if f.suffix.lower() in ENDINGS and not f.name.startswith("."))
        if not found:
            raise InputError(f"dataset: class folder {folder} holds no image ({', '.join(sorted(ENDINGS))})")
        files += found
        labels += [label] * len(found)
    for file in files:
        try:
            content.update(hashlib.sha256(file.read_bytes()).digest())
        except OSError as error:  # a dangling link, a folder with such a name, no permission
            raise InputError(f"unreadable image {file} ({error.strerror})") from None
    return Images(
        name or f"folder:{path}",
        OnDemand(lambda i: _centre_square(files[i], size), len(files), (size, size, 3)),
        np.array(labels),
        [d.name for d in classes],
        content=content.hexdigest(),
    )
