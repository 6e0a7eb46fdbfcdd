"""Few-shot tasks as index arrays, and the two samplers of the OOPS paper.

A task holds no pixels: it names, by their index in a bank, the labelled images a learner may
look at (the support) and those it is tested on (the query). The same arrays serve balanced and
imbalanced tasks, repeated images (bootstrap), and tasks of unequal size (padding with -1).
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from .errors import InputError, flag, instance, room, shown, whole, wholes
from .errors import labels as checked_labels
from .paths import check_output, replace_file

__all__ = ["Tasks", "sample_all", "sample_closed", "sample_open"]

PAD = -1
MOST, MOST_WAYS = 10**9, 10**6  # images a class, and classes, in a task


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
        That no query is in the support of its task, or else an accuracy would be that on images the learner was
        shown. False to allow it, where the queries are not looked at.

    Raises
    ------
    InputError
        If the shapes disagree, a label is out of range, padding of index and label disagree,
        a task has an empty support or query, or a query is in the support of its task.
    """

    support: np.ndarray
    support_label: np.ndarray
    query: np.ndarray
    query_label: np.ndarray
    ways: int
    sampler: dict = field(default_factory=dict)
    unseen: bool = True

    def __post_init__(self):
        whole("ways", self.ways, least=1), instance("sampler", self.sampler, dict)
        for name in ("support", "support_label", "query", "query_label"):
            object.__setattr__(self, name, wholes(name, getattr(self, name)))
        if not self.support.size:
            raise InputError(
                f"support: shape {self.support.shape}; at least 1 task of 1 image is needed, none is empty"
            )
        for name in ("support", "query"):
            index, label = getattr(self, name), getattr(self, f"{name}_label")
            if index.ndim != 2 or index.shape != label.shape:
                raise InputError(
                    f"{name}: index shape {index.shape} and label shape {label.shape}; "
                    "both must be the same (tasks, images)"
                )
            if len(index) != len(self.support):
                raise InputError(f"{name}: {len(index)} tasks, support has {len(self.support)}")
            if ((index < 0) != (label < 0)).any() or (index < PAD).any() or (label < PAD).any():
                raise InputError(f"{name}: padding is -1 in index and label alike")
            if (label >= self.ways).any():
                raise InputError(f"{name}_label: {label.max()} is not below ways = {self.ways}")
            empty = label.max(axis=1, initial=PAD) < 0
            if empty.any():
                raise InputError(f"{name}: task {int(empty.argmax())} is empty")
        if flag("unseen", self.unseen) and (found := _shared(self.support, self.query)):
            raise InputError(
                f"query: image {found[1]} of task {found[0]} is in its support too; queries that the learner has not seen "
                "are needed"
            )

    def __len__(self) -> int:
        return len(self.support)

    def __getitem__(self, rows: slice | np.ndarray) -> Tasks:
        """The tasks of ``rows`` (a slice or an index array), as Tasks."""
        return Tasks(
            self.support[rows],
            self.support_label[rows],
            self.query[rows],
            self.query_label[rows],
            self.ways,
            self.sampler,
            self.unseen,
        )

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what a learner sees: the four arrays and ``ways``."""
        sha = hashlib.sha256(str(self.ways).encode())
        for array in (self.support, self.support_label, self.query, self.query_label):
            sha.update(str(array.shape).encode())
            sha.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return sha.hexdigest()

    def check_bank(self, n_images: int) -> None:
        """Raise `InputError` if a task names an image that a bank of ``n_images`` lacks."""
        whole("n_images", n_images, least=0)
        top = max(self.support.max(initial=PAD), self.query.max(initial=PAD))
        if top >= n_images:
            raise InputError(f"a task names image {top}; the bank has {n_images} images")

    def save(self, path: str | Path) -> None:
        """Write to ``path`` as an .npz without pickles (temporary name, then rename).

        Raises
        ------
        InputError
            A folder, or what cannot be written to.
        """
        path = check_output(_path(path), name="path")

        def write(part: Path) -> None:
            with open(part, "wb") as file:
                np.savez_compressed(
                    file,
                    support=self.support,
                    support_label=self.support_label,
                    query=self.query,
                    query_label=self.query_label,
                    ways=self.ways,
                    sampler=json.dumps(self.sampler),
                    unseen=self.unseen,
                )

        replace_file(path, write)

    @classmethod
    def load(cls, path: str | Path) -> Tasks:
        """Read what `save` wrote.

        Raises
        ------
        InputError
            No such file, or one that holds no tasks. Nothing is ever unpickled.
        """
        path = _path(path)
        try:
            with np.load(path, allow_pickle=False) as z:
                return cls(
                    z["support"],
                    z["support_label"],
                    z["query"],
                    z["query_label"],
                    int(z["ways"]),
                    json.loads(str(z["sampler"])),
                    bool(z["unseen"]) if "unseen" in z else True,
                )
        except (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"path = {path}; no file of tasks can be read there ({shown(str(error))})") from None


def _shared(support: np.ndarray, query: np.ndarray) -> tuple[int, int] | None:
    """A task, and an image of it that is in its support and in its query; None if there is none."""
    images = int(max(support.max(), query.max())) + 1
    if images > 2**40:  # beyond any bank: their places among the images of these tasks will do
        known = np.unique(np.concatenate([support.ravel(), query.ravel()]))
        found = _shared(*(np.where(a < 0, PAD, np.searchsorted(known, a)) for a in (support, query)))
        return found and (found[0], int(known[found[1]]))
    rows = max(1, 2**16 // support.shape[1])  # as many tasks at once as a processor's own memory holds
    for at in range(0, len(support), rows):
        held, wanted = (a[at : at + rows].astype(np.int64) for a in (support, query))
        of_task = np.arange(len(held))[:, None] * (images + 1)  # keeps the images of two tasks, and padding, apart
        held = np.sort(held + of_task, axis=None)
        place = np.searchsorted(held, wanted + of_task).clip(max=held.size - 1)
        both = (held[place] == wanted + of_task) & (wanted >= 0)
        if both.any():
            task, place = np.argwhere(both)[0]
            return at + int(task), int(query[at + task, place])
    return None


def _path(path: object) -> Path:
    return Path(instance("path", path, (str, os.PathLike)))


def sample_closed(
    labels: np.ndarray,
    *,
    tasks: int,
    ways: int = 5,
    shots: int | Sequence[int] = 5,
    queries: int | Sequence[int] = 15,
    seed: int = 0,
    skip_small_classes: bool = False,
) -> Tasks:
    """Draw tasks with reuse of images between tasks (OOPS, Algorithm 1).

    Each task takes ``ways`` classes, then images without repetition inside the task; the next
    task starts from the whole data again. The first t tasks are the same whatever ``tasks`` is.

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image.
    tasks : int
        T, at least 2 (an interval needs a variance).
    ways : int
        K, classes a task.
    shots, queries : int or K ints
        Images a class in the support (S) and in the query (Q); a sequence gives imbalanced tasks.
    seed : int
        Same seed, same tasks.
    skip_small_classes : bool
        Leave out classes with fewer than S + Q images instead of raising.

    Raises
    ------
    InputError
        More ways than classes, shots + queries beyond a class, fewer than 2 tasks, more than there is memory for.
    """
    tasks = whole("tasks", tasks, least=2)
    shots, queries = per_class("shots", shots, ways), per_class("queries", queries, ways)
    order, start, size = _by_class(labels, ways, shots, queries, skip_small_classes)
    room("tasks", tasks, tasks * (16 * len(size) + 24 * int((shots + queries).sum())))
    class_rng, image_rng, order_rng = streams(seed, 3)

    chosen = class_rng.random((tasks, len(size))).argsort(axis=1)[:, :ways]
    picks = fill(chosen, order, start, size, shots, queries, image_rng, order_rng)
    return assemble(picks, shots, queries, describe("closed", ways, shots, queries, seed, tasks=tasks))


def sample_open(
    labels: np.ndarray,
    *,
    ways: int = 5,
    shots: int | Sequence[int] = 5,
    queries: int | Sequence[int] = 15,
    seed: int = 0,
    max_tasks: int | None = None,
    skip_small_classes: bool = False,
) -> Tasks:
    """Draw tasks that share no image, until the data are used up (OOPS, Algorithm 2).

    Each task takes ``ways`` classes at random among those with at least S + Q images left, and
    uses its images up. It stops when fewer than ``ways`` such classes are left. Time and memory
    are linear in the number of images.

    Parameters
    ----------
    max_tasks : int, optional
        Stop after so many tasks (the released code stops at 2,000; the paper at exhaustion).
    labels, ways, shots, queries, seed, skip_small_classes
        As for `sample_closed`.

    Raises
    ------
    InputError
        As for `sample_closed`; also if the data hold fewer than 2 tasks.
    """
    if max_tasks is not None:
        max_tasks = whole("max_tasks", max_tasks, least=2)
    shots, queries = per_class("shots", shots, ways), per_class("queries", queries, ways)
    order, start, size = _by_class(labels, ways, shots, queries, skip_small_classes)
    image_rng, class_rng = streams(seed, 2)
    # One shuffle a class; drawing the next images of a shuffled class is drawing at random.
    for first, n in zip(start, size):
        image_rng.shuffle(order[first : first + n])

    need = (shots + queries).tolist()
    enough = max(need)
    left, used = size.tolist(), [0] * len(size)
    eligible = [c for c, n in enumerate(left) if n >= enough]
    rows: list[int] = []  # class, then position in it, flat: K pairs a task
    limit = max_tasks if max_tasks is not None else len(order)
    tasks, block, at = 0, [], 0
    while len(eligible) >= ways and tasks < limit:
        if at + ways > len(block):
            block, at = class_rng.random(ways * 4096).tolist(), 0
        n = len(eligible)
        for k in range(ways):  # the first K steps of a Fisher-Yates shuffle
            j = k + int(block[at + k] * (n - k))
            eligible[k], eligible[j] = eligible[j], eligible[k]
            c = eligible[k]
            rows += (c, used[c])
            used[c] += need[k]
            left[c] -= need[k]
        at += ways
        for k in reversed(range(ways)):
            if left[eligible[k]] < enough:
                eligible[k] = eligible[-1]
                eligible.pop()
        tasks += 1
    if tasks < 2:
        raise InputError(
            f"the data hold {tasks} task{'s' * (tasks != 1)} of {ways} ways and up to {enough} images a class "
            "without reuse; at least 2 are needed: lower ways, shots or queries, or draw closed tasks alone "
            "(--samplings closed)"
        )
    rows = np.array(rows).reshape(tasks, ways, 2)
    first = start[rows[..., 0]] + rows[..., 1]
    picks = [order[first[:, k, None] + np.arange(need[k])] for k in range(ways)]
    return assemble(picks, shots, queries, describe("open", ways, shots, queries, seed, max_tasks=max_tasks))


def sample_all(labels: np.ndarray, *, shots: int, tasks: int, seed: int = 0) -> Tasks:
    """Tasks of all classes, tested on all images that are not in the support (as CLIP was on few shots).

    Parameters
    ----------
    labels : (N,) integers or strings
        The class of each image; each class needs S + 1.
    shots : int
        Images a class in the support, S. Task t with fewer shots has part of the same support.
    tasks : int
        T, at least 1. The first t are the same whatever T is.
    seed : int
        Same seed, same tasks.

    Raises
    ------
    InputError
        Fewer than 2 classes, a class with S images or fewer, fewer than 1 task, more than there is memory for.
    """
    tasks, shots = whole("tasks", tasks, least=1), whole("shots", shots, least=1)
    labels = checked_labels("labels", labels)
    ways = len(np.unique(labels))
    if ways < 2:
        raise InputError(f"labels: they hold {ways} class; at least 2 are needed")
    room("tasks", tasks, 24 * tasks * len(labels))
    take = per_class("shots", shots, ways)
    order, start, size = _by_class(labels, ways, take, np.ones_like(take), skip_small_classes=False)
    (rng,) = streams(seed, 1)
    label = np.repeat(np.arange(ways), size)
    first = np.arange(len(order)) - start[label] < take[label]
    shuffled = []
    for _ in range(tasks):
        within = np.lexsort((rng.random(len(order)), label))  # class by class, in random order
        shuffled.append(order[within])
    images, label = np.array(shuffled), np.tile(label, (tasks, 1))
    made = {"sampling": "all classes", "ways": ways, "shots": int(take[0]), "seed": seed, "tasks": tasks}
    return Tasks(images[:, first], label[:, first], images[:, ~first], label[:, ~first], ways, made)


def streams(seed: int, n: int) -> list[np.random.Generator]:
    seed = whole("seed", seed, least=0)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(n)]


def per_class(name: str, count: int | Sequence[int], ways: int) -> np.ndarray:
    if whole("ways", ways, most=MOST_WAYS) < 2:
        raise InputError(f"ways = {ways}; at least 2 are needed")
    try:
        counts = np.atleast_1d(wholes(name, count))
    except InputError:  # a number that is too large for 64 bits is no array of them
        counts = np.zeros(0, int)
    if not counts.size or counts.ndim > 1 or counts.min() < 1 or counts.max() > MOST:
        raise InputError(f"{name} = {shown(count)}; whole numbers of at least 1, up to {MOST:,}, are allowed")
    if counts.size not in (1, ways):
        raise InputError(f"{name} = {count}; one number, or one for each of {ways} ways")
    return np.broadcast_to(counts, ways)


def _by_class(labels, ways, shots, queries, skip_small_classes):
    """Image indices sorted by class, and where each class starts and how many it has."""
    flag("skip_small_classes", skip_small_classes)
    labels = checked_labels("labels", labels)
    classes, size = np.unique(labels, return_counts=True)
    if ways > len(classes):
        raise InputError(f"ways = {ways}; the data have {len(classes)} classes")
    order = np.argsort(labels, kind="stable").astype(np.int64 if len(labels) > 2**31 - 1 else np.int32)
    start = np.cumsum(size) - size
    enough = int((shots + queries).max())
    small = size < enough
    if small.any() and not skip_small_classes:
        worst = int(size.argmin())
        raise InputError(
            f"shots + queries = {enough}; class {classes[worst]} has {size[worst]} images "
            "(lower them, or skip small classes: --skip-small-classes)"
        )
    if (~small).sum() < ways:
        raise InputError(f"ways = {ways}; {(~small).sum()} classes have shots + queries = {enough} images or more")
    return order, start[~small], size[~small]


def fill(chosen: np.ndarray, order, start, size, shots, queries, image_rng, order_rng) -> list[np.ndarray]:
    """Random images, without repetition in a task, for the classes (T, K) of tasks: for `assemble`.

    ``order`` holds the images by class; class c has the ``size[c]`` from ``start[c]`` on.
    """
    tasks, ways = chosen.shape
    m = int((shots + queries).max())
    uniform = image_rng.random((tasks, ways, m))
    shuffle = order_rng.random((tasks, ways, m))
    picks = []
    for k in range(ways):
        take = shots[k] + queries[k]
        within = _distinct(uniform[:, k, :take], size[chosen[:, k]])
        within = np.take_along_axis(within, shuffle[:, k, :take].argsort(axis=1), axis=1)
        picks.append(order[start[chosen[:, k], None] + within])
    return picks


def _distinct(uniform: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Rows of distinct integers in [0, n), each set equally likely (Floyd 1987), from uniforms."""
    rows, m = uniform.shape
    out = np.empty((rows, m), dtype=np.int64)
    for i in range(m):
        top = n - m + i
        draw = (uniform[:, i] * (top + 1)).astype(np.int64)
        taken = (out[:, :i] == draw[:, None]).any(axis=1)
        out[:, i] = np.where(taken, top, draw)
    return out


def assemble(picks: list[np.ndarray], shots, queries, sampler: dict) -> Tasks:
    """Tasks from one (T, S_k + Q_k) index array a class: shots first, then queries."""
    tasks, ways = len(picks[0]), len(picks)
    label = [np.repeat(np.arange(ways), n) for n in (shots, queries)]
    label = [np.broadcast_to(row, (tasks, len(row))) for row in label]
    support = np.concatenate([p[:, :s] for p, s in zip(picks, shots)], axis=1)
    query = np.concatenate([p[:, s:] for p, s in zip(picks, shots)], axis=1)
    return Tasks(support, label[0], query, label[1], ways, sampler)


def describe(name: str, ways: int, shots, queries, seed: int, **more) -> dict:
    plain = [int(x[0]) if (x == x[0]).all() else [int(v) for v in x] for x in (shots, queries)]
    return {"sampling": name, "ways": ways, "shots": plain[0], "queries": plain[1], "seed": seed, **more}
