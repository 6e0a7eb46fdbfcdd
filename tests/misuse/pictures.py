"""Folders of small images of three classes, in every form in which users have them."""

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.TiffImagePlugin import ImageFileDirectory_v2

from .judging import fill

CLASSES, PER, SIDE = ("lying", "standing", "disk"), 6, 24


def shape(c, i, side=SIDE):
    """(H, W) floats, 0 for paper and 1 for ink: bars that lie, bars that stand, a disk; moved a little."""
    y, x = np.mgrid[:side, :side] / side
    dx, dy = 0.06 * (i % 3 - 1), 0.06 * (i // 3 - 0.5)
    lying = (np.abs((y - dy) % 0.34 - 0.17) < 0.06) & (np.abs(x - 0.5) < 0.42)
    standing = (np.abs((x - dx) % 0.34 - 0.17) < 0.06) & (np.abs(y - 0.5) < 0.42)
    disk = (x - 0.5 - dx) ** 2 + (y - 0.5 - dy) ** 2 < 0.08
    return [lying, standing, disk][c].astype(float)


def tree(write=None, root="data", ending=".png"):
    """Class folders with images, each by ``write(c, i, path)``."""
    for c, name in enumerate(CLASSES):
        folder = Path(root, name)
        folder.mkdir(parents=True)
        for i in range(PER):
            (write or save())(c, i, folder / f"{i}{ending}")


def save(change=lambda image: image, **options) -> Callable:
    """Writes with Pillow what ``change`` makes of the grey image, of dark ink on light paper."""
    return lambda c, i, path: change(Image.fromarray((230 - 200 * shape(c, i)).astype("u1"))).save(
        path, **options
    )


def one(path="data/lying/0.png", c=0, i=0):
    """One image, plain, at a path."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    save(format="PNG")(c, i, Path(path))


def put(name, content=b"") -> Callable:
    """One more file, by its path in the data."""
    return lambda: fill(Path("data", name), content)


def cut(path="data/lying/0.png", share=0.6) -> Callable:
    return lambda: Path(path).write_bytes(
        Path(path).read_bytes()[: int(share * os.path.getsize(path))]
    )


def tiff(make) -> Callable:
    """Writes a plain TIFF by hand: any type of number, one sample or three, as cameras and microscopes do."""

    def write(c, i, path):
        values = np.atleast_3d(make(shape(c, i)))
        height, width, samples = values.shape
        data = values.astype(values.dtype.newbyteorder("<")).tobytes()
        fields = {256: width, 257: height, 259: 1, 262: 2 if samples == 3 else 1}
        fields |= {273: 0, 277: samples, 278: height, 279: len(data)}
        fields |= {
            258: (8 * values.itemsize,) * samples,
            339: ("_uif".index(values.dtype.kind),) * samples,
        }
        directory = ImageFileDirectory_v2()
        for tag, value in fields.items():
            directory[tag] = value
        path.write_bytes(
            b"II*\0" + struct.pack("<I", 8) + directory.tobytes(8) + data
        )  # which moves the 0 of 273

    return write
