"""Tasks that keep groups of images apart: no group has images in both the support and the query of a task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..errors import labels as checked_labels

__all__ = ["Cells", "distinct", "draw_closed", "draw_open"]

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
        The first cell of each class, the number of its cells, and how many a task may take or have to skip.
    n_groups : int
        G, the number of groups in the whole data.
    left_out : list of str
        Classes with too few groups.
    """

    order: np.ndarray
    start: np.ndarray
    size: np.ndarray
    group: np.ndarray
    first: np.ndarray
    groups: np.ndarray
    needed: np.ndarray
    n_groups: int
    left_out: list[str]

    @classmethod
    def of(cls, labels, groups, ways: int, shots: np.ndarray, queries: np.ndarray, skip_small_classes: bool) -> Cells:
        """From a class and a group of each image; raises `InputError` if a class has too few groups."""
        labels = checked_labels("labels", labels)
        groups = checked_labels("groups", groups, len(labels))
        classes, label = np.unique(labels, return_inverse=True)
        if ways > len(classes):
            raise InputError(f"ways = {ways}; the data have {len(classes)} classes")
        group = np.unique(groups, return_inverse=True)[1]
        order = np.lexsort((group, label))
        new = np.diff(label[order], prepend=-1) | np.diff(group[order], prepend=-1)
        start = np.flatnonzero(new)
        size = np.diff(start, append=len(order))
        of_class, of_group = label[order[start]], group[order[start]]
        count = np.bincount(of_class, minlength=len(classes))
        # A class's queries skip groups that it shares with other classes and that their supports may contain.
        shared = np.bincount(of_class, np.bincount(of_group)[of_group] > 1, len(classes)).astype(int)
        passed = np.minimum(shared, shots.sum() - shots.min())
        enough = int((shots + queries).max())
        needed = enough + passed
        small = count < needed
        if small.any() and not skip_small_classes:
            worst = int((count - needed).argmin())
            others = f", and {passed[worst]} more that other classes of a task may hold" if passed[worst] else ""
            raise InputError(
                f"shots + queries = {enough}, each of another group{others}; class {classes[worst]} has "
                f"{count[worst]} groups (lower them, or skip small classes: --skip-small-classes)"
            )
        if (~small).sum() < ways:
            raise InputError(
                f"ways = {ways}; {(~small).sum()} classes have groups enough for shots + queries = {enough} images of "
                "different groups, and those that other classes of a task may hold"
            )
        first = np.cumsum(count) - count
        kept, left = ~small, [str(name) for name in classes[small]]
        return cls(order, start, size, of_group, first[kept], count[kept], needed[kept], int(group.max()) + 1, left)

    def images(self, cell: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        """An image of each cell, all equally likely."""
        return self.order[self.start[cell] + (uniform * self.size[cell]).astype(np.int64)]


def draw_closed(cells: Cells, chosen: np.ndarray, shots, queries, group_rng, order_rng, image_rng) -> list[np.ndarray]:
    """Images (T, S_k + Q_k) of the classes (T, K) of tasks, each of a different group: for `samplers.assemble`."""
    tasks, ways = chosen.shape
    most = int(cells.needed.max())
    uniform, shuffle = (rng.random((tasks, ways, most)) for rng in (group_rng, order_rng))
    picked = image_rng.random((tasks, ways, int((shots + queries).max())))
    cell = np.empty((tasks, ways, most), np.int64)
    for k in range(ways):
        c = chosen[:, k]
        cell[:, k] = cells.first[c, None] + _some(uniform[:, k], shuffle[:, k], cells.groups[c], cells.needed[c])
    own = [cells.group[cell[:, k, :s]] for k, s in enumerate(shots)]  # of the supports, (T, S_k)
    there = np.arange(most) < cells.needed[chosen][..., None]
    images = []
    for k, (s, q) in enumerate(zip(shots, queries)):
        others = np.concatenate([own[j] for j in range(ways) if j != k], axis=1)
        free = np.empty((tasks, most - s), bool)
        rows = max(1, AT_ONCE // ((most - s) * others.shape[1]))
        for at in range(0, tasks, rows):
            part = slice(at, at + rows)
            held = (cells.group[cell[part, k, s:]][..., None] == others[part, None]).any(axis=2)
            free[part] = there[part, k, s:] & ~held
        first = free & (free.cumsum(axis=1) <= q)
        taken = np.concatenate([cell[:, k, :s], cell[:, k, s:][first].reshape(tasks, q)], axis=1)
        images.append(cells.images(taken, picked[:, k, : s + q]))
    return images


def _some(uniform: np.ndarray, shuffle: np.ndarray, n: np.ndarray, m: np.ndarray) -> np.ndarray:
    """`distinct` in random order, each equally likely; 0 after the m-th."""
    out = distinct(uniform, n, m)
    places = np.where(out < 0, np.inf, shuffle).argsort(axis=1)
    return np.maximum(np.take_along_axis(out, places, axis=1), 0)


def distinct(uniform: np.ndarray, n: np.ndarray, m: np.ndarray | None = None) -> np.ndarray:
    """Rows of distinct integers in [0, n), each set equally likely (Floyd, 1987), m of each row, then -1.

    By default as many as there are uniforms.
    """
    rows, most = uniform.shape
    out = np.empty((rows, most), dtype=np.int64)
    for i in range(most):
        top = n - (most if m is None else m) + i
        drawn = (uniform[:, i] * (top + 1)).astype(np.int64)
        taken = (out[:, :i] == drawn[:, None]).any(axis=1)
        drawn = np.where(taken, top, drawn)
        out[:, i] = drawn if m is None else np.where(i < m, drawn, -1)
    return out


def draw_open(cells: Cells, ways: int, shots, queries, max_tasks: int | None, class_rng, group_rng, image_rng) -> list:
    """Images (T, S_k + Q_k) by place of tasks that share no group, until the groups are used up."""
    image = cells.images(np.arange(len(cells.start)), image_rng.random(len(cells.start))).tolist()
    lists = [(f + group_rng.permutation(n)).tolist() for f, n in zip(cells.first, cells.groups)]
    group, needed, left = cells.group.tolist(), cells.needed.tolist(), cells.groups.tolist()
    holding: list[list[int]] = [[] for _ in range(cells.n_groups)]  # classes of each group
    for c, of in enumerate(lists):
        for cell in of:
            holding[group[cell]].append(c)
    used, at = [False] * cells.n_groups, [0] * len(lists)
    eligible = list(range(len(lists)))
    rows: list[list[list[int]]] = []
    while len(eligible) >= ways and len(rows) != max_tasks:
        for k, u in enumerate(class_rng.random(ways).tolist()):  # the first K steps of a Fisher-Yates shuffle
            j = k + int(u * (len(eligible) - k))
            eligible[k], eligible[j] = eligible[j], eligible[k]
        taken: list[list[int]] = []
        support: set[int] = set()

        def take(c: int, count: int, passed: set[int]) -> list[int]:
            """The next cells of a class whose groups are neither in an earlier task nor in the support."""
            found: list[int] = []
            while len(found) < count:
                cell = lists[c][at[c]]
                at[c] += 1
                if not used[group[cell]] and group[cell] not in passed:
                    found.append(cell)
            return found

        for c, s in zip(eligible, shots):
            taken.append(take(c, s, set()))
        support = {group[cell] for of in taken for cell in of}
        for k, (c, q) in enumerate(zip(eligible[:ways], queries)):
            taken[k] += take(c, q, support)
        rows.append([[image[cell] for cell in of] for of in taken])
        for g in {group[cell] for of in taken for cell in of}:
            used[g] = True
            for c in holding[g]:
                left[c] -= 1
        eligible = [c for c in eligible if left[c] >= needed[c]]
    return [np.array([row[k] for row in rows]) for k in range(ways)]
