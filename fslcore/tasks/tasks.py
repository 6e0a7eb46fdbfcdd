"""The common format of tasks: the support and query images of each."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, flag, instance, whole, wholes
from ..paths import check_output, check_zip, readable, replace_file

__all__ = ["Tasks"]

PAD = -1
AT_ONCE = 2**18  # values that others are compared with at once
Integers = NDArray[np.integer]
Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
ARRAYS = ("support", "support_label", "query", "query_label")


@dataclass(frozen=True)
class Tasks:
    """T tasks of at most K classes each.

    Attributes
    ----------
    support, query : (T, n) integer arrays
        Indices into a bank; -1 is padding. An index may be repeated within a support.
    support_label, query_label : (T, n) integer arrays
        In-task labels 0 … ways-1; -1 exactly where the index is padding.
    ways : int
        K, the number of classes in a task.
    sampler : dict
        How the tasks were drawn (name, parameters, seed); plain JSON values.
    unseen : bool
        Require that no query is in the support of its task, since its accuracy would be that on a
        known image. False allows it, if the queries are not used.
    check : bool
        False for arrays that follow from checked tasks: they are not checked again.

    Raises
    ------
    InputError
        If the shapes disagree, a label is out of range, padding of index and label disagree,
        a task has an empty support or query, or a query is in the support of its task.
    """

    support: Integers
    support_label: Integers
    query: Integers
    query_label: Integers
    ways: int
    sampler: dict[str, Any] = field(default_factory=dict)
    unseen: bool = True
    check: InitVar[bool] = True

    def __post_init__(self, check: bool) -> None:
        if not check:
            return
        whole("ways", self.ways, minimum=1)
        instance("sampler", self.sampler, dict)
        for name in ARRAYS:
            object.__setattr__(self, name, wholes(name, getattr(self, name)))
        if not self.support.size:
            raise InputError(
                f"support must have at least 1 task of 1 image, got shape {self.support.shape}"
            )
        for name in ("support", "query"):
            index = getattr(self, name)
            label = getattr(self, f"{name}_label")
            if index.ndim != 2 or index.shape != label.shape:
                raise InputError(
                    f"{name} must have one shape (tasks, images) for index and label, got "
                    f"{index.shape} and {label.shape}"
                )
            if len(index) != len(self.support):
                raise InputError(
                    f"{name} must have the {len(self.support)} tasks of support, got {len(index)}"
                )
            if ((index < 0) != (label < 0)).any() or (index < PAD).any() or (label < PAD).any():
                raise InputError(
                    f"{name} must have padding, -1, in both index and label, got other values"
                )
            if (label >= self.ways).any():
                raise InputError(
                    f"{name}_label must be below ways = {self.ways}, got {label.max()}"
                )
            empty = (label < 0).all(axis=1)
            if empty.any():
                raise InputError(
                    f"{name} must have an image in each task, got none in task "
                    f"{int(empty.argmax())}"
                )
        if flag("unseen", self.unseen) and (shared := _shared(self.support, self.query)):
            raise InputError(
                f"query must have no image of the support, got image {shared[1]} in both of task "
                f"{shared[0]}"
            )

    def __len__(self) -> int:
        return len(self.support)

    def __getitem__(self, rows: slice | Integers | Booleans) -> Tasks:
        """The tasks of ``rows`` (a slice or an index array), as Tasks."""
        arrays = {name: getattr(self, name)[rows] for name in ARRAYS}
        support = arrays["support"]
        return replace(self, **arrays, check=support.ndim != 2 or not len(support))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what a learner sees: the four arrays and ``ways``."""
        sha = hashlib.sha256(str(self.ways).encode())
        for name in ARRAYS:
            array = getattr(self, name)
            sha.update(str(array.shape).encode())
            sha.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return sha.hexdigest()

    def check_bank(self, n_images: int) -> None:
        """Raise `InputError` if a task names an image that is not in a bank of ``n_images``."""
        whole("n_images", n_images, minimum=0)
        top = max(self.support.max(), self.query.max())
        if top >= n_images:
            raise InputError(
                f"tasks must name images of the bank, which has {n_images} images, got image {top}"
            )

    def save(self, path: str | Path) -> None:
        """Write to ``path`` as an .npz without pickles (temporary name, then rename).

        Raises
        ------
        InputError
            A folder, or a path that cannot be written to.
        """
        path = check_output(path, name="path")

        def write(part: Path) -> None:
            arrays = {name: getattr(self, name) for name in ARRAYS}
            sampler = json.dumps(self.sampler)
            with open(part, "wb") as file:
                np.savez_compressed(
                    file, **arrays, ways=self.ways, sampler=sampler, unseen=self.unseen
                )

        replace_file(path, write)

    @classmethod
    def load(cls, path: str | Path) -> Tasks:
        """Read the output of `save`.

        Raises
        ------
        InputError
            No such file, or one without tasks. Nothing is ever unpickled.
        """
        path = Path(instance("path", path, (str, os.PathLike)))
        with readable("tasks", path, "a readable file of tasks"):
            check_zip("tasks", path)
            with np.load(path, allow_pickle=False) as z:
                return cls(
                    **{name: z[name] for name in ARRAYS},
                    ways=int(z["ways"]),
                    sampler=json.loads(str(z["sampler"])),
                    unseen=bool(z["unseen"]),
                )


def _shared(support: Integers, query: Integers) -> tuple[int, int] | None:
    """A task, and an image in both its support and its query; None if there is none."""
    is_shared = are_among(query, support) & (query >= 0)
    if not is_shared.any():
        return None
    task = int(is_shared.any(axis=1).argmax())
    return task, int(query[task, is_shared[task].argmax()])


def are_among(values: Integers, others: Integers) -> Booleans:
    """(T, n) whether each value of a row is among the others (T, m) of the same row."""
    span = max(values.max(), others.max()) + 2  # of the values from -1
    is_among = np.empty(values.shape, np.bool_)
    step = max(1, AT_ONCE // others.shape[1])
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        offset = span * np.arange(len(values[rows]))[:, None]  # keeps rows apart
        is_among[rows] = np.isin(values[rows] + offset, others[rows] + offset)
    return is_among


def places_of_true(mask: Booleans, padding: int = PAD) -> Integers:
    """(N, m) places of the true values in each row of (N, n), then padding; as wide as needed."""
    row, place = np.nonzero(mask)
    count = np.count_nonzero(mask, axis=1)
    places = np.full((len(mask), count.max()), padding)
    places[row, ranks(count)] = place
    return places


def ranks(count: Integers) -> Integers:
    """The integers from 0 to n - 1 for each n of the counts, joined."""
    return np.arange(count.sum()) - np.repeat(count.cumsum() - count, count)


def describe(
    name: str, ways: int, shots: Integers, queries: Integers, seed: int, **options: object
) -> dict[str, Any]:
    """How tasks were drawn; equal numbers per class are one number."""
    shape = {"shots": shots, "queries": queries}
    numbers = {key: n.tolist() if np.ptp(n) else int(n[0]) for key, n in shape.items()}
    return {"sampling": name, "ways": ways, **numbers, "seed": seed, **options}
