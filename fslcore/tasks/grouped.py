"""Tasks of which no group of images is in both the support and the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError, labels as checked_labels
from .tasks import Floats, Integers, are_among


@dataclass(frozen=True)
class GroupedImages:
    """The images of each group in each class, for classes with enough groups.

    Attributes
    ----------
    order : (N,) integers
        Images, those of a cell together, cells of a class together.
    start, size : (M,) integers
        Start of a cell in ``order``, and its number of images.
    group : (M,) integers
        Group of each cell, 0 to G - 1.
    first, groups, needed : (C,) integers
        The first cell of each class, the number of its cells, and how many a task may take or have
        to skip.
    n_groups : int
        G, the number of groups in the whole data.
    excluded_classes : list of str
        Classes with too few groups.
    """

    order: Integers
    start: Integers
    size: Integers
    group: Integers
    first: Integers
    groups: Integers
    needed: Integers
    n_groups: int
    excluded_classes: list[str]

    @classmethod
    def of(
        cls,
        labels: ArrayLike,
        groups: ArrayLike,
        ways: int,
        shots: Integers,
        queries: Integers,
        skip_small_classes: bool,
    ) -> GroupedImages:
        """From a class and a group of each image.

        Raises
        ------
        InputError
            A class with too few groups, unless they are skipped; too few classes.
        """
        classes, order, size, class_of_cell, group_of_cell = _cells(labels, groups, ways)
        count = np.bincount(class_of_cell)
        needed = int((shots + queries).max()) + _n_skipped(class_of_cell, group_of_cell, shots)
        is_large = count >= needed
        if not (is_large.all() or skip_small_classes):
            raise InputError(_too_few_groups(classes, count, needed, (shots + queries).max()))
        if is_large.sum() < ways:
            raise InputError(
                f"ways must be at most {is_large.sum()}, the classes that have groups enough for "
                f"shots + queries = {(shots + queries).max()} images of different groups, and "
                f"those that other classes of a task may hold, got {ways}"
            )
        return cls(
            order=order,
            start=size.cumsum() - size,
            size=size,
            group=group_of_cell,
            first=(count.cumsum() - count)[is_large],
            groups=count[is_large],
            needed=needed[is_large],
            n_groups=int(group_of_cell.max()) + 1,
            excluded_classes=classes[~is_large].astype(str).tolist(),
        )

    def images(self, cell: Integers | slice, uniform: Floats) -> Integers:
        """An image of each cell, all equally likely."""
        return self.order[self.start[cell] + (uniform * self.size[cell]).astype(np.int64)]


def classes_of(labels: ArrayLike, ways: int = 1) -> tuple[np.ndarray, Integers]:
    """The classes, and the class of each image; raises `InputError` for fewer than K."""
    classes, label = np.unique(checked_labels("labels", labels), return_inverse=True)
    if ways > len(classes):
        raise InputError(
            f"ways must be at most {len(classes)}, the classes of the data, got {ways}"
        )
    return classes, label


def _cells(
    labels: ArrayLike, groups: ArrayLike, ways: int
) -> tuple[np.ndarray, Integers, Integers, Integers, Integers]:
    """The classes; the images by class and group; the size, class and group of each cell."""
    classes, label = classes_of(labels, ways)
    names, group = np.unique(checked_labels("groups", groups, len(label)), return_inverse=True)
    cell_of_image = label * len(names) + group
    order = cell_of_image.argsort(kind="stable")
    cell, size = np.unique(cell_of_image, return_counts=True)
    return classes, order, size, *np.divmod(cell, len(names))


def _n_skipped(class_of_cell: Integers, group_of_cell: Integers, shots: Integers) -> Integers:
    """(C,) how many groups the queries of a class may have to skip at most: groups that the class
    shares with other classes, whose supports may contain them.
    """
    is_shared = np.bincount(group_of_cell)[group_of_cell] > 1
    n_shared = np.bincount(class_of_cell, is_shared).astype(int)
    return np.minimum(n_shared, shots.sum() - shots.min())


def _too_few_groups(classes: np.ndarray, count: Integers, needed: Integers, enough: int) -> str:
    worst = int((count - needed).argmin())
    others = ""
    if needed[worst] > enough:
        others = f", and {needed[worst] - enough} more that other classes of a task may hold"
    return (
        f"class {classes[worst]} must have shots + queries = {enough} images, each of another group"
        f"{others}, got {count[worst]} groups (lower them, or skip small classes: "
        "skip_small_classes=True)"
    )


def draw_closed(
    cells: GroupedImages,
    chosen: Integers,
    shots: Integers,
    queries: Integers,
    rngs: Sequence[np.random.Generator],
) -> list[Integers]:
    """Images (T, S_k + Q_k) of the classes (T, K) of tasks, each of a different group.

    They are for `fslcore.tasks.samplers.tasks_from_picks`.
    """
    *cell_rngs, image_rng = rngs
    cell = _shuffled_cells(cells, chosen, *cell_rngs)
    uniform = image_rng.random((*chosen.shape, int((shots + queries).max())))
    support = np.concatenate([cell[:, k, :s] for k, s in enumerate(shots)], axis=1)
    images = []
    for k, (s, q) in enumerate(zip(shots, queries)):
        query = _first_outside(cells.group, support, cell[:, k, s:], q)
        images.append(cells.images(np.hstack([cell[:, k, :s], query]), uniform[:, k, : s + q]))
    return images


def _first_outside(group: Integers, support: Integers, cell: Integers, q: int) -> Integers:
    """(T, Q) the first cells of each row in groups that the support does not have."""
    is_free = ~are_among(group[cell], group[support])  # padding comes after Q free cells
    return cell[is_free & (is_free.cumsum(axis=1) <= q)].reshape(-1, q)


def _shuffled_cells(
    cells: GroupedImages,
    chosen: Integers,
    cell_rng: np.random.Generator,
    order_rng: np.random.Generator,
) -> Integers:
    """(T, K, n) random cells of each class, as many as it needs, in random order; then -1."""
    shape = (*chosen.shape, int(cells.needed.max()))
    uniform = cell_rng.random(shape)
    shuffle = order_rng.random(shape)
    cell = np.empty(shape, np.int64)
    for k, c in enumerate(chosen.T):
        places = shuffled_distinct(uniform[:, k], shuffle[:, k], cells.groups[c], cells.needed[c])
        cell[:, k] = np.where(places < 0, -1, cells.first[c, None] + places)
    return cell


def shuffled_distinct(
    uniform: Floats, shuffle: Floats, n: Integers, m: Integers | np.integer
) -> Integers:
    """Rows of m distinct integers in [0, n) in random order, each equally likely; then -1.

    The integers are drawn as in Floyd (1987), from one uniform number each.
    """
    integers = np.empty(uniform.shape, np.int64)
    for i in range(uniform.shape[1]):
        top = n - m + i
        integer = (uniform[:, i] * (top + 1)).astype(np.int64)
        is_taken = (integers[:, :i] == integer[:, None]).any(axis=1)
        integer = np.where(is_taken, top, integer)
        integers[:, i] = np.where(i < m, integer, -1)
    order = np.where(integers < 0, np.inf, shuffle).argsort(axis=1)
    return np.take_along_axis(integers, order, axis=1)


class _UnusedCells:
    """The cells of each class by group, in random order, without groups that tasks have used."""

    def __init__(self, cells: GroupedImages, rng: np.random.Generator) -> None:
        group = cells.group.tolist()
        self.of_class: list[dict[int, int]] = []
        self.classes_of_group: list[list[int]] = [[] for _ in range(cells.n_groups)]
        for c, (first, n) in enumerate(zip(cells.first, cells.groups)):
            shuffled = (first + rng.permutation(n)).tolist()
            self.of_class.append({group[cell]: cell for cell in shuffled})
            for cell in shuffled:
                self.classes_of_group[group[cell]].append(c)

    def take_task(self, classes: list[int], shots: Integers, queries: Integers) -> list[list[int]]:
        """The next cells of each class, support first, in groups that this uses up."""
        unused = [self.of_class[c] for c in classes]
        groups = [list(islice(cells, s)) for cells, s in zip(unused, shots)]
        support_groups = set(chain(*groups))
        for taken, cells, q in zip(groups, unused, queries):
            taken += islice((group for group in cells if group not in support_groups), q)
        task = [[cells[group] for group in taken] for taken, cells in zip(groups, unused)]
        for group in set(chain(*groups)):
            for c in self.classes_of_group[group]:
                del self.of_class[c][group]
        return task


def draw_open(
    cells: GroupedImages,
    shots: Integers,
    queries: Integers,
    max_tasks: int | None,
    rngs: Sequence[np.random.Generator],
) -> list[Integers]:
    """Images (T, S_k + Q_k) by place of tasks that share no group, until the groups are used up."""
    class_rng, group_rng, image_rng = rngs
    image = cells.images(slice(None), image_rng.random(len(cells.start)))
    unused = _UnusedCells(cells, group_rng)
    eligible = list(range(len(cells.first)))
    tasks: list[list[list[int]]] = []
    while len(eligible) >= len(shots) and len(tasks) != max_tasks:
        first_to_front(eligible, class_rng.random(len(shots)).tolist())
        tasks.append(unused.take_task(eligible[: len(shots)], shots, queries))
        eligible = [c for c in eligible if len(unused.of_class[c]) >= cells.needed[c]]
    return [image[np.array([task[k] for task in tasks], int)] for k in range(len(shots))]


def first_to_front(values: list[int], uniform: list[float]) -> None:
    """The first steps of a Fisher-Yates shuffle, one per uniform."""
    for k, u in enumerate(uniform):
        j = k + int(u * (len(values) - k))
        values[k], values[j] = values[j], values[k]
