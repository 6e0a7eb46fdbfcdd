"""Tasks of which no group of images is in both the support and the query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..errors import labels as checked_labels

AT_ONCE = 2**22  # comparisons of groups


@dataclass(frozen=True)
class Cells:
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
    left_out : list of str
        Classes with too few groups.
    """

    order: NDArray
    start: NDArray
    size: NDArray
    group: NDArray
    first: NDArray
    groups: NDArray
    needed: NDArray
    n_groups: int
    left_out: list[str]

    @classmethod
    def of(
        cls,
        labels,
        groups,
        ways: int,
        shots,
        queries,
        skip_small_classes: bool,
    ) -> Cells:
        """From a class and a group of each image.

        Raises
        ------
        InputError
            A class with too few groups, unless they are skipped; too few classes.
        """
        labels = checked_labels("labels", labels)
        groups = checked_labels("groups", groups, len(labels))
        classes, label = classes_of(labels, ways)
        group = np.unique(groups, return_inverse=True)[1]
        order = np.lexsort((group, label))
        is_first = np.diff(label[order], prepend=-1) | np.diff(group[order], prepend=-1)
        start = np.flatnonzero(is_first)
        class_of_cell, group_of_cell = label[order[start]], group[order[start]]
        count = np.bincount(class_of_cell, minlength=len(classes))
        # A class's queries skip groups that it shares with other classes and that their supports
        # may contain.
        is_shared = np.bincount(group_of_cell)[group_of_cell] > 1
        n_shared = np.bincount(class_of_cell, is_shared, len(classes)).astype(int)
        n_skipped = np.minimum(n_shared, shots.sum() - shots.min())
        needed = int((shots + queries).max()) + n_skipped
        is_large = count >= needed
        if not (is_large.all() or skip_small_classes):
            raise InputError(_too_few_groups(classes, count, needed, n_skipped))
        if is_large.sum() < ways:
            raise InputError(
                f"ways = {ways}; {is_large.sum()} classes have groups enough for shots + queries = "
                f"{(shots + queries).max()} images of different groups, and those that other "
                "classes of a task may hold"
            )
        return cls(
            order=order,
            start=start,
            size=np.diff(start, append=len(order)),
            group=group_of_cell,
            first=(np.cumsum(count) - count)[is_large],
            groups=count[is_large],
            needed=needed[is_large],
            n_groups=int(group.max()) + 1,
            left_out=[str(name) for name in classes[~is_large]],
        )

    def images(self, cell, uniform) -> NDArray:
        """An image of each cell, all equally likely."""
        return self.order[self.start[cell] + (uniform * self.size[cell]).astype(np.int64)]


def classes_of(labels, ways: int) -> tuple[NDArray, NDArray]:
    """The classes, and the class of each image; raises `InputError` for fewer than K."""
    classes, label = np.unique(labels, return_inverse=True)
    if ways > len(classes):
        raise InputError(f"ways = {ways}; the data have {len(classes)} classes")
    return classes, label


def _too_few_groups(classes, count, needed, n_skipped):
    worst = int((count - needed).argmin())
    others = ""
    if n_skipped[worst]:
        others = f", and {n_skipped[worst]} more that other classes of a task may hold"
    return (
        f"shots + queries = {(needed - n_skipped)[worst]}, each of another group{others}; class "
        f"{classes[worst]} has {count[worst]} groups (lower them, or skip small classes: "
        "--skip-small-classes)"
    )


def draw_closed(
    cells: Cells, chosen, shots, queries, group_rng, order_rng, image_rng
) -> list[NDArray]:
    """Images (T, S_k + Q_k) of the classes (T, K) of tasks, each of a different group.

    They are for `fslcore.tasks.samplers.assemble`.
    """
    tasks, ways = chosen.shape
    width = int(cells.needed.max())
    uniform, shuffle = (rng.random((tasks, ways, width)) for rng in (group_rng, order_rng))
    uniform_of_image = image_rng.random((tasks, ways, int((shots + queries).max())))
    cell = np.empty((tasks, ways, width), np.int64)
    for k, c in enumerate(chosen.T):
        places = _shuffled_distinct(uniform[:, k], shuffle[:, k], cells.groups[c], cells.needed[c])
        cell[:, k] = cells.first[c, None] + places
    support_groups = [cells.group[cell[:, k, :s]] for k, s in enumerate(shots)]
    is_drawn = np.arange(width) < cells.needed[chosen][..., None]
    images = []
    for k, (s, q) in enumerate(zip(shots, queries)):
        support, candidates = cell[:, k, :s], cell[:, k, s:]
        other_groups = np.concatenate(support_groups[:k] + support_groups[k + 1 :], axis=1)
        is_free = is_drawn[:, k, s:] & ~_are_in(cells.group[candidates], other_groups)
        is_query = is_free & (is_free.cumsum(axis=1) <= q)
        taken = np.concatenate([support, candidates[is_query].reshape(tasks, q)], axis=1)
        images.append(cells.images(taken, uniform_of_image[:, k, : s + q]))
    return images


def _are_in(groups, other_groups):
    """(T, n) whether each group of a task is among others (T, m) of the task."""
    is_in = np.empty(groups.shape, bool)
    step = max(1, AT_ONCE // (groups.shape[1] * other_groups.shape[1]))
    for i in range(0, len(groups), step):
        rows = slice(i, i + step)
        is_in[rows] = (groups[rows, :, None] == other_groups[rows, None]).any(axis=2)
    return is_in


def _shuffled_distinct(uniform, shuffle, n, m):
    """`distinct` in random order, each equally likely; 0 after the m-th."""
    integers = distinct(uniform, n, m)
    places = np.where(integers < 0, np.inf, shuffle).argsort(axis=1)
    return np.maximum(np.take_along_axis(integers, places, axis=1), 0)


def distinct(uniform, n, m: NDArray | None = None) -> NDArray:
    """Rows of distinct integers in [0, n), each set equally likely (Floyd, 1987), m of each row,
    then -1.

    By default as many as there are uniforms.
    """
    rows, width = uniform.shape
    integers = np.empty((rows, width), dtype=np.int64)
    for i in range(width):
        top = n - (width if m is None else m) + i
        integer = (uniform[:, i] * (top + 1)).astype(np.int64)
        is_taken = (integers[:, :i] == integer[:, None]).any(axis=1)
        integer = np.where(is_taken, top, integer)
        integers[:, i] = integer if m is None else np.where(i < m, integer, -1)
    return integers


class _UnusedGroups:
    """The cells of each class in random order, without those of groups that tasks have used."""

    def __init__(self, cells: Cells, rng):
        self.group = cells.group.tolist()
        self.cells = [
            (first + rng.permutation(n)).tolist() for first, n in zip(cells.first, cells.groups)
        ]
        self.next = [0] * len(self.cells)
        self.left = cells.groups.tolist()
        self.is_used = [False] * cells.n_groups
        self.classes_of_group: list[list[int]] = [[] for _ in range(cells.n_groups)]
        for c, cells_of_class in enumerate(self.cells):
            for cell in cells_of_class:
                self.classes_of_group[self.group[cell]].append(c)

    def groups(self, cells_by_class: list[list[int]]) -> set[int]:
        return {self.group[cell] for cells in cells_by_class for cell in cells}

    def take(self, c: int, count: int, support_groups: set[int]) -> list[int]:
        """The next cells of a class whose groups are in no earlier task and not in the support."""
        taken: list[int] = []
        while len(taken) < count:
            cell = self.cells[c][self.next[c]]
            self.next[c] += 1
            if not self.is_used[self.group[cell]] and self.group[cell] not in support_groups:
                taken.append(cell)
        return taken

    def use_up(self, groups: set[int]) -> None:
        for group in groups:
            self.is_used[group] = True
            for c in self.classes_of_group[group]:
                self.left[c] -= 1


def draw_open(
    cells: Cells, ways, shots, queries, max_tasks: int | None, class_rng, group_rng, image_rng
) -> list[NDArray]:
    """Images (T, S_k + Q_k) by place of tasks that share no group, until the groups are used up."""
    n_cells = len(cells.start)
    image = cells.images(np.arange(n_cells), image_rng.random(n_cells))
    unused = _UnusedGroups(cells, group_rng)
    eligible = list(range(len(cells.first)))
    tasks: list[list[list[int]]] = []
    while len(eligible) >= ways and len(tasks) != max_tasks:
        first_to_front(eligible, class_rng.random(ways).tolist())
        chosen = eligible[:ways]
        taken = [unused.take(c, s, set()) for c, s in zip(chosen, shots)]
        support_groups = unused.groups(taken)
        for place, c, q in zip(taken, chosen, queries):
            place += unused.take(c, q, support_groups)
        tasks.append(taken)
        unused.use_up(unused.groups(taken))
        eligible = [c for c in eligible if unused.left[c] >= cells.needed[c]]
    return [image[np.array([taken[k] for taken in tasks], int)] for k in range(ways)]


def first_to_front(values: list[int], uniform: list[float]) -> None:
    """The first steps of a Fisher-Yates shuffle, one per uniform."""
    for k, u in enumerate(uniform):
        j = k + int(u * (len(values) - k))
        values[k], values[j] = values[j], values[k]
