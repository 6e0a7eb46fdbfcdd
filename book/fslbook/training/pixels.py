"""Images that training reads repeatedly: in memory, or decoded once into a file of the cache."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import tqdm

from fslcore import store
from fslcore.datasets.images import CHUNK, Images, OnDemand
from fslcore.errors import InputError
from fslcore.paths import replace_file
from fslcore.tasks import Tasks

__all__ = ["chosen", "only", "ready"]


def ready(images: Images, progress: bool = False) -> Images:
    """The images with their pixels as an array: in memory, or memory-mapped if `OnDemand` considers
    them too many.

    The file is named after the content of the images, written once, and whole or absent.

    Raises
    ------
    InputError
        The cache's disk has no space for the pixels.
    """
    if not getattr(images.images, "large", False):
        return replace(images, images=np.ascontiguousarray(images.images[:]))
    path = store.path("pixels", f"{images.digest}.npy")
    mapped = partial(np.load, mmap_mode="c")  # torch does not accept read-only arrays
    return replace(images, images=store.get(path, mapped, partial(_write, images, progress)))


def _write(images, progress, path):
    """Write all pixels as .npy, a few images at a time; writing to a mapped array would crash on a
    full disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shape, step = images.images.shape, max(1, CHUNK // math.prod(images.images.shape[1:]))
    need, free = math.prod(shape), shutil.disk_usage(path.parent).free
    if need > free:
        raise InputError(
            f"dataset = {images.name}; its pixels take {need / 1e9:,.1f} GB, and {path.parent} has "
            f"{free / 1e9:,.1f} GB left; set FSLCORE_CACHE to a folder on a larger disk"
        )

    def write(part: Path) -> None:
        with open(part, "wb") as file:
            np.lib.format.write_array_header_1_0(
                file, {"descr": "|u1", "fortran_order": False, "shape": shape}
            )
            bar = dict(desc=f"pixels of {images.name}", delay=5, disable=not progress)
            for at in tqdm(range(0, len(images), step), **bar):
                file.write(np.ascontiguousarray(images.images[at : at + step]).data)

    replace_file(path, write)


def chosen(images: np.ndarray | OnDemand, rows: np.ndarray) -> np.ndarray | OnDemand:
    """These rows of images; read on demand if there are too many to keep."""
    if getattr(images, "large", False) or isinstance(images, np.memmap):
        return OnDemand(lambda i: images[int(rows[i])], len(rows), images.shape[1:])
    return images[rows]


def only(images: Images, tasks: Tasks) -> tuple[Images, Tasks]:
    """The images used by tasks without padding, and the tasks with these images' new positions."""
    rows = np.unique(np.concatenate([tasks.support.ravel(), tasks.query.ravel()]))
    places = {name: np.searchsorted(rows, getattr(tasks, name)) for name in ("support", "query")}
    few = Images(images.name, chosen(images.images, rows), images.labels[rows], images.class_names)
    return few, replace(tasks, **places)
