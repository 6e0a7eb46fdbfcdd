"""The common form of all data sets."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike

from ..errors import InputError, visible
from .decode import large_allowed

__all__ = ["Images", "OnDemand", "first_twice"]

KEPT = 2**29
CHUNK = 2**24  # bytes of pixels read together


class OnDemand:
    """Images decoded when they are indexed like an array: ``read(i)`` gives image i, (H, W, C)
    uint8.

    Several backbones read them, so images stay in memory once read, if all together have at most
    `KEPT` bytes.

    With ``decode``, the part of the reading that threads may do, there is `ahead`: ``read(i,
    found)`` then takes a function that returns or raises what ``decode(i)`` did.
    """

    def __init__(
        self,
        read: Callable[..., np.ndarray],
        n: int,
        size: tuple[int, int, int],
        decode: Callable[[int], np.ndarray] | None = None,
    ):
        self._read = read
        self.decode = decode
        self.shape = (n, *size)
        small = math.prod(self.shape) <= KEPT
        self._kept = (
            np.zeros(self.shape, np.uint8) if small else None
        )  # uses memory only as it is filled
        self._has = np.zeros(n, bool)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def large(self) -> bool:
        """Whether they are too many to stay in memory, and are decoded again each time."""
        return self._kept is None

    def __getitem__(self, rows: int | slice | np.ndarray) -> np.ndarray:
        rows = np.arange(len(self))[rows]
        if not rows.ndim:
            return self[rows[None]][0]
        with large_allowed():
            return self._filled(rows, self._read)

    def ahead(self, parts: Sequence[range], threads: int) -> Generator[np.ndarray, None, None]:
        """The images of each of some ranges, in this order; threads decode the next range while the
        caller uses one.

        At most two ranges are in memory. An image that cannot be read raises its error when its
        range is due.
        """
        decode = self.decode
        if decode is None:
            raise TypeError("ahead: images without decode have no part that threads may do")
        begun: dict[int, Future[np.ndarray]] = {}
        pool = ThreadPoolExecutor(threads)
        with large_allowed():
            try:
                for part, following in pairwise([range(0), *parts, range(0)]):
                    begun.update({i: pool.submit(decode, i) for i in following if not self._has[i]})
                    if part:
                        yield self._filled(
                            np.array(part), lambda i: self._read(i, begun.pop(i).result)
                        )
            finally:  # an error, or Ctrl-C, waits only for the images that are being decoded
                pool.shutdown(cancel_futures=True)

    def _filled(self, rows: np.ndarray, read: Callable[[int], np.ndarray]) -> np.ndarray:
        if self._kept is not None:
            for i in rows[~self._has[rows]]:
                self._kept[i] = read(i)
                self._has[i] = True
            return self._kept[rows]
        out = np.empty((len(rows), *self.shape[1:]), np.uint8)
        for image, i in zip(out, rows):
            image[...] = read(i)
        return out

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        return self[:]


@dataclass(frozen=True)
class Images:
    """N images of one size, with their classes and known properties.

    Attributes
    ----------
    name : str
    images : (N, H, W, C) uint8
        An array, or an `OnDemand` that gives one when sliced.
    labels : (N,) int64
        Index into ``class_names``.
    class_names : list of str
    captions : list of str, optional
        One sentence per image.
    facts : DataFrame, optional
        One row per image: properties known to the data set (family, weight, author, …).
    content : str
        SHA-256 that identifies the pixels (for example of the encoded files); computed from the
        pixels by default.
    side : int, optional
        Pixels for a backbone, if the user set a size (`fslcore.models.backbones.match_input_size`).
    at_size : callable, optional
        ``at_size(size)`` reads the same files at another size, if neither the user nor the release
        sets one.
    squeezed_to : callable, optional
        ``squeezed_to(size)`` reads the whole images of the same files, squeezed into the square, as
        released code does.
    """

    name: str
    images: np.ndarray | OnDemand
    labels: np.ndarray
    class_names: list[str]
    captions: list[str] | None = None
    facts: pd.DataFrame | None = field(default=None, repr=False)
    content: str | None = None
    side: int | None = None
    at_size: Callable[[int], Images] | None = field(default=None, repr=False, compare=False)
    squeezed_to: Callable[[int], Images] | None = field(default=None, repr=False, compare=False)

    needs_backbone: ClassVar[bool] = True

    def __post_init__(self) -> None:
        n = len(self.images)
        for name in ("labels", "captions", "facts"):
            value = getattr(self, name)
            if value is not None and len(value) != n:
                raise InputError(f"{self.name}: {len(value)} {name} for {n} images")

    def __len__(self) -> int:
        return len(self.images)

    @property
    def classes(self) -> np.ndarray:
        """(N,) class of each image, by name."""
        return np.array(self.class_names)[self.labels]

    @property
    def names(self) -> list[str]:
        """Names of images in a table, all different; control characters are escaped.

        The end of the path, ``CLASS/IMAGE``, for images in files; class and row in the data set for
        others.

        Raises
        ------
        InputError
            Two images of the same name, or a name with bytes that are not text.
        """
        if self.facts is not None and "file" in self.facts:
            names = self.facts["file"].tolist()
        else:
            names = [f"{self.class_names[label]}/{i}" for i, label in enumerate(self.labels)]
        for name in names:
            try:
                name.encode()
            except UnicodeEncodeError:  # the system's form of names written in another encoding
                safe = name.encode("utf-8", "backslashreplace").decode()
                raise InputError(
                    f"{self.name}: {safe} holds bytes that are not UTF-8 text; rename the file"
                ) from None
        names = [*map(visible, names)]
        if twice := first_twice(names):
            raise InputError(
                f"{self.name}: two images are called {twice}; captions cannot distinguish them"
            )
        return names

    @property
    def counts(self) -> pd.Series:
        """Number of images per class, by class name."""
        # Objects: the name of a class folder need not be UTF-8.
        return pd.Series(
            np.bincount(self.labels, minlength=len(self.class_names)),
            pd.Index(self.class_names, object),
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the pixels and the labels."""
        content = self.content or self._pixels()
        labels = hashlib.sha256(self.labels.astype("<i8").tobytes()).hexdigest()
        return hashlib.sha256(f"{content} {tuple(self.images.shape)} {labels}".encode()).hexdigest()

    def _pixels(self) -> str:
        """SHA-256 of the pixels, a few images at a time."""
        sha = hashlib.sha256()
        step = max(1, CHUNK // max(1, math.prod(self.images.shape[1:])))
        for at in range(0, len(self), step):
            sha.update(np.ascontiguousarray(self.images[at : at + step]).tobytes())
        return sha.hexdigest()


def first_twice(names: list[str]) -> str | None:
    """The first name that occurs more than once in a list; None if all differ."""
    return next((name for name, n in Counter(names).items() if n > 1), None)
