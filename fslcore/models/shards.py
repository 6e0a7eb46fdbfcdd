"""Features of a data set of any size: made shard by shard, gathered into one file, and mapped.

A shard is a run of rows that begins and ends with a whole batch, so that no number depends on the
division. It is written when it is done, under the rows it contains. A stopped run loses at most its
current shard, and processes that share a folder, on one machine or on several, each make some
without a lock. At worst two make the same shard, with the same bytes.

When all exist, they are copied in order into one file and removed. Reading uses the file instead of
the shards, because a task's images may be anywhere in it, and one index reaches them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor

from .. import store
from ..datasets.bank import MAPPED, chunks
from ..paths import replace_file

__all__ = ["Shards", "digest", "intact", "kept", "write_features", "write_tensors"]

BATCHES = 32  # of a shard: one to ten minutes of a CPU
_SEEN: set[tuple[Path, int, int, int]] = (
    set()
)  # small files whose SHA-256 this process has checked, and found finite
# By name: NumPy's name of the type, the shape, and arrays that are joined along its first axis.
Tensors = Mapping[str, tuple[str, tuple[int, ...], Iterable[np.ndarray]]]
OTHER_CONTENT = "it must have {rows} rows and the SHA-256 that it names, got {found} rows"
FORMATS = {"float16": "F16", "float32": "F32", "int64": "I64"}  # of NumPy's types in a .safetensors


@dataclass(frozen=True)
class Shards:
    """The place of the features of some images, and which of them exist.

    Attributes
    ----------
    path : Path
        The file of all of them, a .safetensors with ``features`` (N, D) of 16 bits and their
        SHA-256. Shards are in a folder beside it, until they are gathered.
    rows : int
        N.
    batch : int
        Rows of a batch.
    """

    path: Path
    rows: int
    batch: int

    @property
    def bounds(self) -> list[range]:
        """The rows of each shard."""
        size = BATCHES * self.batch
        return [range(at, min(at + size, self.rows)) for at in range(0, self.rows, size)]

    def missing(self) -> list[range]:
        """The rows of each shard that is still to be made; empty if all exist."""
        if self.path.is_file():
            return []
        return [rows for rows in self.bounds if not self.file(rows).is_file()]

    def file(self, rows: range) -> Path:
        """The file of one shard."""
        return self.path.with_suffix("") / f"{rows.start}-{rows.stop}.safetensors"

    def make(self, rows: range, compute: Callable[[range], Tensor]) -> None:
        """Make one shard by ``compute(rows)``, unless it exists by now."""
        if self.path.is_file() or self.file(rows).is_file():
            return
        features = compute(rows)
        if len(rows) == self.rows:
            write_features(self.path, self.rows, [features])
        elif not self.path.is_file():  # otherwise another process has gathered all
            write_features(self.file(rows), len(rows), [features])

    def gather(self, compute: Callable[[range], Tensor]) -> None:
        """Put all shards into one file, and remove them.

        Missing or damaged ones are made by ``compute(rows)``.

        For a short time the disk holds all of them twice.
        """

        def parts() -> Iterator[Tensor]:
            for rows in self.bounds:
                while (features := kept(self.file(rows), len(rows))) is None:
                    if (
                        self.path.is_file()
                    ):  # another process was faster, and has removed the shards
                        raise _Gathered
                    self.file(rows).unlink(missing_ok=True)
                    self.make(rows, compute)
                yield features

        if not self.path.is_file():
            with suppress(_Gathered):
                write_features(self.path, self.rows, parts())
        for rows in self.bounds:
            with suppress(OSError):
                self.file(rows).unlink()
        with suppress(
            OSError
        ):  # none, or not empty: a process still working there ends with nothing to do
            self.path.with_suffix("").rmdir()

    def read(self) -> tuple[Tensor, bool] | None:
        """All features, and whether they were found finite.

        Small files are read at once, their SHA-256 is checked, and they become 32-bit floats. A
        process checks them once, and again only if the file's length or time has changed. Large
        files are mapped into memory unchanged: 16-bit floats, of which only the indexed rows are
        read. Checking the SHA-256 of gigabytes takes as long as reading them, so ``.checked``,
        beside the file, records it for other processes too. None if there is no file, or a damaged
        one, which is reported and removed.
        """
        features = store.find(self.path, self._read)
        if features is None:
            self.path.unlink(missing_ok=True)
        return features

    def _read(self, path: Path) -> tuple[Tensor, bool]:
        now = path.stat()
        if now.st_size <= MAPPED:
            state = (path.absolute(), now.st_ino, now.st_size, now.st_mtime_ns)
            features = (mapped(path)[0] if state in _SEEN else intact(path, self.rows)).float()
            # A sum of 16-bit numbers is finite exactly if they are, and sums are fast.
            if state not in _SEEN and features.sum().isfinite():
                _SEEN.add(state)
            return features, state in _SEEN
        features, sha = mapped(path)
        known = f"{now.st_size} {now.st_mtime_ns}".encode()
        checked = path.with_suffix(".checked")
        finite = checked.is_file() and checked.read_bytes() == known
        if finite and len(features) != self.rows:
            raise ValueError(f"it must have {self.rows} rows, got {len(features)}")
        if not finite and (finite := _check(path, features, self.rows, sha)):
            with suppress(OSError):  # a read-only cache of another user
                replace_file(checked, lambda part: part.write_bytes(known))
        return features, finite


class _Gathered(Exception):
    """Another process has gathered the shards."""


def kept(path: Path, rows: int) -> Tensor | None:
    """The features in a file of the cache.

    None if there is none, or a damaged one, which is reported.
    """
    return store.find(path, partial(intact, rows=rows))


def intact(path: Path, rows: int) -> Tensor:
    """The features in a file.

    Raises an error unless they are of this many rows, with the SHA-256 it names.
    """
    features, sha = mapped(path)
    if len(features) != rows or sha != digest([features]):
        raise ValueError(OTHER_CONTENT.format(rows=rows, found=len(features)))
    return features


def mapped(path: Path) -> tuple[Tensor, str | None]:
    """The features in a file, which are read on access, and the SHA-256 it names."""
    with safe_open(path, "pt") as file:
        return file.get_tensor("features"), (file.metadata() or {}).get("sha256")


def digest(parts: Iterable[Tensor]) -> str:
    """SHA-256 of the numbers of tensors, in sequence."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(_bytes(part.numpy()))
    return sha.hexdigest()


def _bytes(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _check(path: Path, features: Tensor, rows: int, sha: str | None) -> bool:
    """Whether all features are finite; raises ValueError unless they are those of this many rows.

    The file is read, not mapped, so that it does not fill the memory of this process.
    """
    finite = []

    def chunks_read() -> Iterator[Tensor]:
        with open(path, "rb") as file:
            file.seek(8 + int.from_bytes(file.read(8), "little"))
            for part in chunks(features):
                part = torch.from_numpy(np.fromfile(file, np.float16, part.numel())).view(
                    part.shape
                )
                finite.append(part.float().sum().isfinite())
                yield part

    if (
        len(features) != rows
        or features.dtype != torch.float16
        or digest(chunks_read()) != (sha or "")
    ):
        raise ValueError(OTHER_CONTENT.format(rows=rows, found=len(features)))
    return all(finite)


def write_features(path: Path, rows: int, parts: Iterable[Tensor]) -> None:
    """Write the features of some rows, given as (n, D) tensors of 16 bits, with their SHA-256."""
    parts = iter(parts)
    first = next(parts)
    arrays = (part.numpy() for part in chain([first], parts))
    write_tensors(path, {"features": ("float16", (rows, first.shape[1]), arrays)})


def write_tensors(path: Path, tensors: Tensors, metadata: Mapping[str, str] | None = None) -> None:
    """Write a .safetensors with only one part in memory at a time.

    Parameters
    ----------
    path : Path
    tensors : mapping of (dtype, shape, parts)
        By name: NumPy's name of the type, the shape, and arrays that are joined along its first
        axis.
    metadata : mapping of str, optional
        Added to the SHA-256 of the first tensor, under ``sha256``.
    """
    metadata = {"sha256": "0" * 64, **(metadata or {})}  # for its length: it is known at the end

    def write(part: Path) -> None:
        with open(part, "wb") as file:
            file.write(_header(tensors, metadata))
            digests = [_write_parts(file, parts) for _, _, parts in tensors.values()]
            is_large = file.tell() > MAPPED
            file.seek(0)
            file.write(_header(tensors, metadata | {"sha256": digests[0]}))
            file.flush()
            if is_large:  # it is checked once, and then trusted
                os.fsync(file.fileno())

    replace_file(path, write)


def _header(tensors: Tensors, metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, Mapping[str, object]] = {"__metadata__": metadata}
    start = 0
    for name, (kind, shape, _) in tensors.items():
        end = start + np.dtype(kind).itemsize * math.prod(shape)
        entries[name] = {"dtype": FORMATS[kind], "shape": shape, "data_offsets": (start, end)}
        start = end
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _write_parts(file: BinaryIO, parts: Iterable[np.ndarray]) -> str:
    """SHA-256 of the arrays, which are written one after the other."""
    sha = hashlib.sha256()
    for array in map(_bytes, parts):
        sha.update(array)
        file.write(array)
    return sha.hexdigest()
