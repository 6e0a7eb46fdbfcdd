"""The input of a learner: one tensor of features or of images, with one label per row."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, TypeVar

import numpy as np
import pandas as pd
import torch
from safetensors import safe_open
from safetensors.torch import load_file as safetensors_file
from torch.nn import functional as F

from ..errors import InputError, detached, shown
from ..paths import at_home, check_expanded, check_zip, load_tensors, readable

__all__ = ["Bank", "load_features"]

Rows = TypeVar("Rows", torch.Tensor, np.ndarray)
ARRAYS = {  # of a file: dimensions, kinds of values and their form; the last two are optional
    "features": (2, "fiub", "(N, D) floats"),
    "labels": (1, "fiubUS", "(N,) integers, or text"),
    "text": (2, "fiub", "(K, D) floats"),
    "center": (1, "fiub", "(D,) floats"),
}
Arrays = dict[str, np.ndarray]  # of a file, by the names in `ARRAYS`
# Length of a row: its square, and sums of squares, fit into 32 bits.
SHORTEST = 1e-10
LONGEST = 1e15
CHUNK = 2**22  # numbers processed together
MAPPED = 2**28  # bytes of features; larger ones stay in their file, which is mapped into memory


@dataclass(frozen=True)
class Bank:
    """The rows that tasks index.

    Attributes
    ----------
    data : (N, D) float features, or (N, H, W, C) uint8 images
        Features of large data sets have 16 bits, in a file mapped into memory; `rows` converts them
        for learners.
    labels : (N,) integers
    digest : str
        Identifies the content of ``data`` and ``labels`` in cache keys.
    class_names : (K,) array, optional
        The name of each label, if the user's labels were text, negative or large.
    text : (K, D) floats, optional
        An embedding of each class's name in the space of the features, row k of label k.
    center : (D,) floats, optional
        Mean feature of base classes, by which `fslcore.learners.SimpleShot` centres.
    finite : tensor, optional
        Features known to be finite: if these are ``data`` themselves, they are not checked again.
    """

    data: torch.Tensor
    labels: np.ndarray
    digest: str
    class_names: np.ndarray | None = None
    text: torch.Tensor | None = None
    center: torch.Tensor | None = None
    finite: torch.Tensor | None = field(default=None, repr=False, compare=False)

    needs_backbone: ClassVar[bool] = False
    facts: ClassVar[None] = None

    def __post_init__(self) -> None:
        if len(self.data) != len(self.labels):
            raise InputError(
                f"labels must have one per row, {len(self.data)}, got {len(self.labels)}"
            )
        for name, ndim in (("text", 2), ("center", 1)):
            self._check_optional(name, getattr(self, name), ndim)
        if self.text is not None:
            classes = int(self.labels.max(initial=-1)) + 1
            if len(self.text) < classes or (
                self.class_names is not None and len(self.text) != classes
            ):
                raise InputError(
                    f"text must have one row for each of {classes} classes, got {len(self.text)}"
                )
            if not self.text.any(dim=1).all():
                raise InputError(
                    f"text: row {int((~self.text.any(dim=1)).nonzero()[0])} has length 0"
                )
        if self.data.is_floating_point() and self.finite is not self.data:
            check_finite(self.data)

    def _check_optional(self, name: str, values: torch.Tensor | None, ndim: int) -> None:
        """Raise `InputError` unless the optional array fits the features."""
        if values is None:
            return
        shape = "(K, D)" if ndim == 2 else "(D,)"
        wanted = f"{shape} floats, D as of the features {tuple(self.data.shape)}"
        if values.ndim != ndim or self.data.ndim != 2 or values.shape[-1] != self.data.shape[1]:
            raise InputError(
                f"{name} must be {wanted}, got {values.dtype} of shape {tuple(values.shape)}"
            )
        if not torch.isfinite(values).all():
            raise InputError(f"{name} must be {wanted}, got NaN or infinity")

    def __len__(self) -> int:
        return len(self.data)

    def to(self, device: str | torch.device, *, wide: bool = True) -> Bank:
        """The bank on another device, in memory; 16-bit features as 32-bit floats, if ``wide``."""
        tensors = {name: getattr(self, name) for name in ("data", "text", "center")}
        moved = {name: t.to(device) for name, t in tensors.items() if t is not None}
        if wide:
            moved["data"] = moved["data"].to(self.dtype)
        return replace(self, **moved, finite=moved["data"])  # checked when it was made

    @property
    def large(self) -> bool:
        """Whether features are in a file of 16-bit floats, too many to be held in memory."""
        return self.data.dtype in (torch.float16, torch.bfloat16)

    @property
    def dtype(self) -> torch.dtype:
        """The type returned by `rows`."""
        return torch.float32 if self.large else self.data.dtype

    def rows(self, index: torch.Tensor) -> torch.Tensor:
        """Features (..., D) of an index of any shape, never in 16 bits, on the bank's device."""
        rows = F.embedding(index, self.data.flatten(1))
        if self.large:
            rows = rows.float()
        return rows.unflatten(-1, self.data.shape[1:])

    @cached_property
    def norms(self) -> torch.Tensor:
        """(N,) lengths of the features, computed once: the data of a bank do not change."""
        return self.data.norm(dim=1)

    @property
    def classes(self) -> np.ndarray:
        """(N,) class of each row, by the user's name."""
        return self.labels if self.class_names is None else self.class_names[self.labels]

    @property
    def names(self) -> list[str]:
        """The number of each row."""
        return [str(i) for i in range(len(self))]


def check_finite(data: torch.Tensor) -> None:
    """Raise `InputError` if rows (N, ...) contain NaN or infinity; rows are checked in chunks."""
    parts = [~torch.isfinite(part).flatten(1).all(dim=1) for part in chunks(data)]
    bad = torch.cat(parts) if parts else torch.zeros(0, dtype=torch.bool)
    if bad.any():
        raise InputError(
            f"features: {int(bad.sum())} rows hold NaN or infinity, the first is row "
            f"{int(bad.nonzero()[0])}"
        )


def chunks(data: Rows) -> Iterator[Rows]:
    """Successive rows, in chunks of bounded size."""
    step = max(1, CHUNK // max(1, math.prod(data.shape[1:])))
    for at in range(0, len(data), step):
        yield data[at : at + step]


def load_features(path: str | Path) -> Bank:
    """Precomputed features from a file: .npz, .safetensors, .pt or .pth, .npy, .csv or .tsv.

    The first three contain ``features``, (N, D) numbers, and ``labels``, (N,) integers or text. For
    some learners they also contain ``text``, (K, D), an embedding of each class's name, and
    ``center``, (D,), the mean feature of base classes. Row k of ``text`` is for label k, or for the
    k-th label in sorted order if labels are text, negative or larger than the number of rows. The
    metadata of a .safetensors may give the names of classes, a list in JSON under ``class_names``,
    in the order of the labels. A .npy contains the features; their labels are in ``labels.npy``
    beside it. A table has a column ``label``; all others are features.

    Raises
    ------
    InputError
        No such file, another suffix, a missing array, wrong shapes or types, NaN or infinity,
        different lengths; rows of length 0, or too long or short to be squared in 32 bits; features
        that are all equal; only one class; ``text`` or ``center`` that do not fit. Nothing is
        unpickled. More than 256 MB of 16-bit or 32-bit features in a .safetensors or a .npy stay in
        their file, which is mapped into memory.
    """
    path = at_home(path, "features")
    pickles = " without pickles" if path.suffix in (".npz", ".npy", ".pt", ".pth") else ""
    with readable("features", path, f"a readable {path.suffix}{pickles}"):
        if path.suffix not in READERS:
            raise InputError(f"features must be a file {', '.join(READERS)}, got {path.name}")
        arrays = READERS[path.suffix](path)
    for name in ARRAYS:
        _check_array(name, arrays.get(name), path)
    features = arrays["features"]
    labels, class_names = _classes(arrays["labels"], path.name)
    optional: Arrays = {
        name: _narrow(arrays[name]) for name in ("text", "center") if name in arrays
    }
    digest = _digest(features, labels, optional)
    if class_names is None and labels.size and not 0 <= labels.min() <= labels.max() < len(labels):
        class_names, labels = np.unique(labels, return_inverse=True)
    stays = path.suffix in (".safetensors", ".npy") and features.dtype in (np.float16, np.float32)
    if not stays or features.nbytes <= MAPPED:
        narrow = _narrow(features)
        if np.isinf(narrow).any() and np.isfinite(features).all():
            raise InputError(
                f"features: {path.name} holds {np.abs(features).max():g}; scale the features"
            )
        features = narrow
    text, center = (
        torch.from_numpy(optional[name]) if name in optional else None
        for name in ("text", "center")
    )
    bank = Bank(torch.from_numpy(features), labels, digest, class_names, text, center)
    _check(bank, path.name)
    return bank


def _check_array(name: str, values: np.ndarray | None, path: Path) -> None:
    ndim, kinds, form = ARRAYS[name]
    if values is None:
        if name in ("features", "labels"):
            raise InputError(f"features: {path} lacks the array '{name}'")
    elif values.ndim != ndim or values.dtype.kind not in kinds:
        raise InputError(
            f"'{name}' in {path.name} must be {form}, got {values.dtype} of shape {values.shape}"
        )


def _narrow(values: np.ndarray) -> np.ndarray:
    """The values as 32-bit floats; those that are too large become infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, np.float32)


def _digest(features: np.ndarray, labels: np.ndarray, optional: dict[str, np.ndarray]) -> str:
    sha = hashlib.sha256()
    for part in chunks(features):
        sha.update(np.ascontiguousarray(part).tobytes())
    sha.update(labels.tobytes())
    sha.update(f"{features.dtype} {features.shape}".encode())
    for name, values in optional.items():
        sha.update(f"{name} {values.shape}".encode() + values.tobytes())
    return sha.hexdigest()


def _npz(path: Path) -> Arrays:
    check_zip("features", path, ARRAYS)
    with np.load(path, allow_pickle=False) as z:
        return {k: z[k] for k in z.files if k in ARRAYS}


def _npy(path: Path) -> Arrays:
    labels = path.with_name("labels.npy")
    if path == labels or not labels.is_file():
        raise InputError(
            f"{path.name} must have labels.npy beside it, or be a .npz of both, got one array"
        )
    # Mapped copy-on-write: torch needs writable memory, and the file stays unchanged.
    mapped: Literal["c"] | None = "c" if path.stat().st_size > MAPPED else None
    return {
        "features": np.load(path, mapped, allow_pickle=False),
        "labels": np.load(labels, allow_pickle=False),
    }


def _tensors(path: Path) -> Arrays:
    safe = path.suffix == ".safetensors"
    check_zip("features", path)
    content = safetensors_file(path) if safe else load_tensors(path)
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__}, not named tensors")
    texts = {}
    labels = content.get("labels")
    if isinstance(labels, list) and all(type(label) is str for label in labels):
        texts["labels"] = np.array(content.pop("labels"))
    tensors = {name: torch.as_tensor(content[name]) for name in ARRAYS if name in content}
    if not safe:  # a tensor may repeat one number in memory
        check_expanded("features", path, sum(tensor.nbytes for tensor in tensors.values()))
    arrays = {name: np.asarray(detached(tensor)) for name, tensor in tensors.items()}
    return _named(path, arrays) if safe else arrays | texts


def _named(path: Path, arrays: Arrays) -> Arrays:
    """The arrays, with the class names in the metadata, if any, as labels."""
    with safe_open(path, "np") as file:
        names = json.loads((file.metadata() or {}).get("class_names", "null"))
    labels = arrays.get("labels")
    if names is None or labels is None or labels.dtype.kind not in "iu":
        return arrays
    if not isinstance(names, list) or not 0 <= labels.min(initial=0) <= labels.max(
        initial=-1
    ) < len(names):
        raise ValueError("its labels and the names of classes in its metadata do not fit")
    names = np.array(names, dtype=str)
    if len(np.unique(names)) < len(names):
        raise ValueError("its metadata name a class twice")
    text = arrays.get("text")
    if text is not None:  # reorder from the integers to the names, which become the labels
        if len(text) != len(names):
            raise InputError(
                f"text must have one row for each of {len(names)} classes, got {len(text)}"
            )
        present = np.unique(labels)
        arrays = arrays | {"text": text[present[np.argsort(names[present])]]}
    return arrays | {"labels": names[labels]}


def _table(path: Path) -> Arrays:
    table = pd.read_csv(path, sep="\t" if path.suffix == ".tsv" else ",", encoding="utf-8-sig")
    label = next((c for c in ("label", "labels") if c in table), None)
    if label is None:
        raise InputError(
            f"features: {path} lacks the column label; it has {shown(', '.join(map(str, table)))}"
        )
    features = table.drop(columns=label)
    labels = table[label]
    not_features = [
        c
        for c, kind in features.dtypes.items()
        if kind.kind not in "fiub" or str(c).startswith("Unnamed:")
    ]
    if not_features:
        raise InputError(
            f"features: column {not_features[0]} of {path.name} is not a feature; leave it out"
        )
    if labels.isna().any():
        raise InputError(f"features: {path.name} has {labels.isna().sum()} rows without a label")
    return {
        "features": features.to_numpy(),
        "labels": labels.to_numpy(str if labels.dtype.kind == "O" else None),
    }


READERS = {
    ".npz": _npz,
    ".safetensors": _tensors,
    ".pt": _tensors,
    ".pth": _tensors,
    ".npy": _npy,
    ".csv": _table,
    ".tsv": _table,
}


def _classes(labels: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels as integers, and the names of text labels."""

    def refuse(bad: np.ndarray, fault: str) -> None:
        if bad.any():
            raise InputError(
                f"features: {bad.sum()} labels in {name} are {fault}, the first in row "
                f"{bad.argmax()}"
            )

    if labels.dtype.kind in "US":
        labels = np.char.decode(labels, "utf-8") if labels.dtype.kind == "S" else labels
        refuse(np.char.strip(labels) == "", "empty")
        # The result of astype(str) for a missing value.
        refuse(
            labels == "nan",
            "nan, the text of a missing value (leave them out, or give the class another name)",
        )
        names, label = np.unique(labels, return_inverse=True)
        return label.astype(np.int64), names
    if labels.dtype.kind == "f":
        refuse(~np.isfinite(labels), "NaN or infinite")
        refuse(labels % 1 != 0, "neither integers nor text")
    return labels.astype(np.int64), None


def _check(bank: Bank, name: str) -> None:
    """Raise `InputError` for features on which every learner would fail without an error."""
    if not len(bank) or not bank.data.shape[1]:
        raise InputError(f"features: {name} holds {len(bank)} rows of {bank.data.shape[1]} numbers")
    if len(np.unique(bank.labels)) < 2:
        raise InputError(
            f"features must be of at least 2 classes, got one, {bank.classes[0]}, in {name}"
        )
    if all((part == bank.data[0]).all() for part in chunks(bank.data)):
        raise InputError(
            f"features: the {len(bank)} rows of {name} are all equal; classes cannot be "
            "distinguished"
        )
    length = torch.cat([part.double().norm(dim=1) for part in chunks(bank.data)])
    for bad, fault in (
        (length == 0, "have length 0"),
        (length > LONGEST, f"are longer than {LONGEST:g}"),
        (length < SHORTEST, f"are shorter than {SHORTEST:g}"),
    ):
        if bad.any():
            rows = bad.nonzero().flatten().tolist()
            remedy = "leave them out" if fault.endswith(" 0") else "scale the features"
            raise InputError(
                f"features: {len(rows)} rows of {name} {fault} "
                f"({', '.join(map(str, rows[:5]))}{' …' if len(rows) > 5 else ''}); {remedy}"
            )
