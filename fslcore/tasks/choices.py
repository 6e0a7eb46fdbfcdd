"""How the sampler of biased tasks chooses classes and attributes: one engine per way of choosing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import InputError, array
from ..errors import labels as checked_labels

TRIES = 20_000  # for one task, before the samplers give up
PATIENCE = 500  # tries for one task by classes, before the paper's sampler goes by attributes


@dataclass(frozen=True)
class _Choice:
    """K classes with their attributes, and for each class what the released variant adds.

    ``tolerated``: how many of the others' attributes a support image may have; ``intra``: whether the
    query may have none of them; ``scored`` (A,) bool: attributes that count for its score, by logarithms.
    """

    classes: np.ndarray
    attributes: np.ndarray
    tolerated: list[int]
    intra: list[bool]
    scored: np.ndarray | None = None


class Candidates:
    """Images and attributes by class.

    ``names`` (C,); of each class ``images`` (n,), ``columns`` (A, n) bool and ``lists`` (n, m), the attributes of
    each image with A as padding; ``count`` (C, A), how many have an attribute, of ``size`` (C, 1).
    """

    def __init__(self, labels, has):
        labels, has = checked_labels("labels", labels), array("has", has, "an array of (images, attributes)")
        if has.dtype != bool or has.ndim != 2 or labels.shape != (len(has),):
            raise InputError(
                f"labels {labels.shape} and has {has.dtype} {has.shape}; "
                "(images,) and bool (images, attributes) are needed"
            )
        self.names, of_class = np.unique(labels, return_inverse=True)
        self.images = np.split(np.argsort(of_class, kind="stable"), np.bincount(of_class).cumsum()[:-1])
        image, attribute = np.nonzero(has)
        number = has.sum(axis=1)
        lists = np.full((len(has), number.max(initial=1)), has.shape[1])
        lists[image, np.arange(len(image)) - np.repeat(number.cumsum() - number, number)] = attribute
        self.lists = [lists[i] for i in self.images]
        self.columns = [np.ascontiguousarray(has[i].T) for i in self.images]
        self.count = np.array([np.count_nonzero(c, axis=1) for c in self.columns])
        self.size = np.array([[len(i)] for i in self.images])

    def marks(self, c: int, attributes: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """For each image of class c, the k-th of a task: whether it has its attribute, and how many of the others'."""
        chosen = self.columns[c][attributes]
        own = chosen[k].copy()
        chosen[k] = False
        return own, chosen.sum(axis=0)

    def scores(self, c: int, candidates: np.ndarray, choice: _Choice) -> np.ndarray:
        """Score of each candidate of a class (equation 6, times their number: integers, so that ties are exact)."""
        lists = self.lists[c][candidates]
        weight = np.bincount(lists.ravel(), minlength=self.count.shape[1] + 1)
        if choice.scored is not None:
            weight = np.log(weight / len(candidates) + 1e-10) - np.log(1e-10)
            weight[:-1][~choice.scored] = 0
        weight[choice.attributes] = weight[-1] = 0
        return weight[lists].sum(axis=1)


def as_in_the_paper(
    data: Candidates, ways: int, shots: int, queries: int, support: str, rng: np.random.Generator
) -> Iterator[_Choice]:
    """Choices as in the paper, which restarts from scratch, without end (see `sample_biased`)."""
    spurious = (data.count > 0) & (data.count < data.size)
    lacking = queries + shots * (support == "SC1")
    fits = spurious & (data.size - data.count >= lacking)
    if support != "SC1":
        fits &= data.count >= shots
    able = fits.any(axis=1)
    needs = f"{lacking} lack" if support == "SC1" else f"{shots} images have and {lacking} lack"
    if able.sum() < ways:
        raise InputError(
            f"ways = {ways}; {able.sum()} of {len(able)} classes have an attribute that {needs}; "
            f"none has {_listed(data.names[~able])}"
        )
    different = fits.any(axis=0).sum()
    if different < ways:
        raise InputError(
            f"ways = {ways}; attributes that, in a class, {needs}: {different}; at least {ways} are needed"
        )
    tree = _Tree(data, fits, 1 / spurious.sum(axis=1).clip(min=1), ways, shots, support == "SC3")
    plain = [0] * ways, [False] * ways
    while True:
        found = rng.permutation(tree.draw(rng))
        yield _Choice(tree.of_class[found], tree.attribute[found], *plain)


class _Tree:
    """Draws K compatible pairs of class and attribute, each set in proportion to its product of weights.

    A path in the tree is a tuple of pairs with ascending classes. ``root`` and ``known`` contain upper bounds
    of the total weight of all continuations of a path, initially the elementary symmetric polynomial of the
    weights left to each later class.
    """

    def __init__(self, data: Candidates, fits: np.ndarray, weight: np.ndarray, ways: int, shots: int, exclusive: bool):
        self.data, self.ways, self.shots, self.exclusive = data, ways, shots, exclusive
        self.of_class, self.attribute = np.nonzero(fits)
        self.weight = weight[self.of_class]
        self.all = np.arange(len(self.weight))
        used, self.column = np.unique(self.attribute, return_inverse=True)
        # (pairs, attributes): has a pair enough support images if another class has that attribute?
        if exclusive:
            parts = []
            for c, columns in enumerate(data.columns):
                own = columns[fits[c]].astype(np.float32)
                parts.append(own.sum(axis=1, keepdims=True) - own @ columns[used].T.astype(np.float32) >= shots)
            self.bears = np.concatenate(parts)
        else:
            self.bears = self.attribute[:, None] != used
        self.borne = np.ascontiguousarray(self.bears.T)
        self.known: dict[tuple[int, ...], dict[int, float]] = {}
        self.root = self._bounds((), self.all)
        self.sets: _Sets | None = None

    def draw(self, rng: np.random.Generator) -> np.ndarray | tuple[int, ...]:
        alone = not self.exclusive or self.ways > _Sets.WAYS  # no sets: not needed, or too many
        for _ in range(0 if self.sets else TRIES if alone else PATIENCE):
            if path := self._try(rng):
                return path
            if not self.root.any():
                raise InputError(self._failure())
        if not alone:
            self.sets = self.sets or _Sets(self)
            for _ in range(TRIES):
                if (found := self.sets.sample(rng)) is not None:
                    return found
                if not self.sets.root.any():
                    self.root[:] = 0  # proven
                    break
        raise InputError(self._failure())

    def _try(self, rng: np.random.Generator) -> tuple[int, ...] | None:
        path, left, left_images, promised = (), self.all, [], np.inf
        while len(path) < self.ways:
            bounds = self._bounds(path, left) if path else self.root
            upto = bounds.cumsum()
            total = upto[-1] if len(upto) else 0.0
            self._learn(path, total)
            if total == 0 or (path and rng.random() * promised >= total):
                return None
            at = int(np.searchsorted(upto, rng.random() * total, side="right"))
            pair = int(left[at])
            promised = bounds[at] / self.weight[pair]
            if self.exclusive:  # the pairs are compatible in twos; are they all at once?
                c, a = self.of_class[pair], self.attribute[pair]
                left_images = [images & ~self.data.columns[self.of_class[p]][a] for images, p in zip(left_images, path)]
                others = self.data.columns[c][self.attribute[list(path)]].any(axis=0)
                left_images.append(self.data.columns[c][a] & ~others)
            path += (pair,)
            if any(np.count_nonzero(images) < self.shots for images in left_images):
                self._learn(path, 0.0)
                return None
            left = left[np.searchsorted(self.of_class[left], self.of_class[pair], side="right") :]
            left = left[self.bears[pair, self.column[left]] & self.borne[self.column[pair], left]]
        return path

    def _bounds(self, path: tuple[int, ...], left: np.ndarray) -> np.ndarray:
        """For each possible next pair, its weight times the bound of its continuations."""
        of_class = self.of_class[left]
        classes = np.bincount(of_class, self.weight[left], len(self.data.names))
        bounds = self.weight[left] * _of_later(classes, self.ways - len(path) - 1)[of_class]
        for pair, total in self.known.get(path, {}).items():
            bounds[np.searchsorted(left, pair)] = self.weight[pair] * total
        return bounds

    def _learn(self, path: tuple[int, ...], total: float) -> None:
        if len(path) == 1:
            self.root[path[0]] = self.weight[path[0]] * total
        elif path:
            self.known.setdefault(path[:-1], {})[path[-1]] = total

    def _failure(self) -> str:
        """The condition that fails, and the classes for which it fails."""
        classes = len(self.data.names)
        together = np.zeros((classes, classes), dtype=bool)
        for pair in self.all:
            mates = self.bears[pair, self.column] & self.borne[self.column[pair]]
            together[self.of_class[pair], self.of_class[mates]] = True
        np.fill_diagonal(together, False)
        able = np.ones(classes, dtype=bool)
        while (few := able & (together[:, able].sum(axis=1) < self.ways - 1)).any():
            able &= ~few
        condition = f"support = SC3 with {self.shots} shots" if self.exclusive else "different attributes"
        if able.sum() < self.ways:
            return (
                f"{condition}: no task of {self.ways} ways; too few other classes are compatible with "
                f"{_listed(self.data.names[~able])} (lower ways or shots)"
            )
        proven = "no" if not self.root.any() else f"in {TRIES:,} tries no"
        return (
            f"{condition}: {proven} task of {self.ways} ways, though pairs of classes are compatible; of "
            f"{_listed(self.data.names[able])} never {self.ways} at once (lower ways or shots)"
        )


class _Sets:
    """Same distribution as `_Tree`, attributes first: draws a set of K, then for each a class compatible with the rest.

    A path is an ascending tuple of attributes (columns of those in use). ``nodes`` contain, for a path, upper bounds
    of the weight of all tasks with it and each possible next attribute: initially the product of the weights that
    the remaining classes give each attribute of the path, times the elementary symmetric polynomial of later ones.
    """

    WAYS = 12  # at most: the classes of a set are counted over its 2^K subsets
    KEPT = 2**22  # numbers in the stored nodes

    def __init__(self, tree: _Tree):
        data, self.ways, self.shots = tree.data, tree.ways, tree.shots
        used, place = np.unique(tree.attribute), (tree.column, tree.of_class)
        self.weight, self.pair = np.zeros((len(used), len(data.names))), np.full((len(used), len(data.names)), -1)
        self.weight[place], self.pair[place] = tree.weight, tree.all
        # For each attribute one bit per image, in words of 64 that belong to one class.
        padded = [np.pad(columns[used], ((0, 0), (0, -columns.shape[1] % 64))) for columns in data.columns]
        self.bits = np.packbits(np.concatenate(padded, axis=1), axis=1).view(np.uint64)
        self.starts = np.cumsum([0] + [p.shape[1] // 64 for p in padded[:-1]])
        self.nodes: dict[tuple[int, ...], np.ndarray] = {}
        self.root = self._node(())

    def sample(self, rng: np.random.Generator) -> np.ndarray | None:
        """K pairs of the tree; or none, if a bound was too high."""
        path, bounds, promised = (), self.root, np.inf
        while True:
            upto = bounds.cumsum()
            total = upto[-1]
            if path and path[:-1] in self.nodes:
                self.nodes[path[:-1]][path[-1]] = total
            if total == 0 or (path and rng.random() * promised >= total):
                return None
            if len(path) == self.ways:
                return self.pair[list(path), self._classes(self._left(path)[list(path)], rng)]
            at = int(np.searchsorted(upto, rng.random() * total, side="right"))
            promised = bounds[at]
            path += (at,)
            bounds = self._node(path)

    def _node(self, path: tuple[int, ...]) -> np.ndarray:
        """Bounds (A,) by the next attribute; for a complete path only its weight."""
        if path in self.nodes:
            return self.nodes[path]
        left, chosen = self._left(path), list(path)
        if len(path) == self.ways:
            bounds = self._matchings(left[chosen])[-1, -1:]
        else:
            weight = left.sum(axis=1)
            after = weight.copy()
            after[: path[-1] + 1 if path else 0] = 0
            bounds = weight[chosen].prod() * after * _of_later(after, self.ways - len(path) - 1)
        if len(self.nodes) * len(self.bits) < self.KEPT:
            self.nodes[path] = bounds
        return bounds

    def _left(self, path: tuple[int, ...]) -> np.ndarray:
        """(A, C) weights of the classes that have S images with an attribute and none of (the others of) the path."""
        chosen = list(path)
        left = self.bits & ~np.bitwise_or.reduce(self.bits[chosen], axis=0, initial=0)
        for i in chosen:
            others = np.bitwise_or.reduce(self.bits[[j for j in chosen if j != i]], axis=0, initial=0)
            left[i] = self.bits[i] & ~others
        count = np.add.reduceat(np.bitwise_count(left), self.starts, axis=1, dtype=np.int64)
        return np.where(count >= self.shots, self.weight, 0.0)

    @staticmethod
    def _matchings(weight: np.ndarray) -> np.ndarray:
        """(C + 1, 2^K): weight of all ways to give each attribute of a subset one of the c first classes."""
        ways, classes = weight.shape
        subset = np.arange(2**ways)
        without = subset ^ (1 << np.arange(ways))[:, None]  # (K, 2^K): the subset without one of its attributes
        holds = without < subset
        total = np.zeros((classes + 1, len(subset)))
        total[0, 0] = 1
        for c in range(classes):
            total[c + 1] = total[c] + weight[:, c] @ np.where(holds, total[c][without], 0.0)
        return total

    @staticmethod
    def _classes(weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """A class for each attribute, all different, in proportion to the product of their weights (K, C)."""
        total, found = _Sets._matchings(weight), np.full(len(weight), -1)
        rest = total.shape[1] - 1
        for c in range(weight.shape[1] - 1, -1, -1):
            mine = [k for k in range(len(weight)) if rest >> k & 1]
            share = np.append(weight[mine, c] * total[c][[rest ^ 1 << k for k in mine]], total[c][rest]).cumsum()
            at = int(np.searchsorted(share, rng.random() * share[-1], side="right"))
            if at < len(mine):
                found[mine[at]] = c
                rest ^= 1 << mine[at]
            if not rest:
                break
        return found


def _of_later(weight: np.ndarray, number: int) -> np.ndarray:
    """For each weight the elementary symmetric polynomial, of degree ``number``, of those after it."""
    follow = np.ones(len(weight))
    for _ in range(number):
        follow = np.append((weight * follow)[::-1].cumsum()[::-1][1:], 0.0)
    return follow


def as_released(data: Candidates, ways: int, shots: int, queries: int, rng: np.random.Generator) -> Iterator[_Choice]:
    """Choices as in the released code, without end (see `sample_biased`)."""
    fits = (data.count >= shots) & (data.size - data.count >= queries)
    pool = np.flatnonzero(fits.any(axis=0))
    if len(pool) < ways:
        raise InputError(
            f"ways = {ways}; attributes that, in a class, {shots} images have and {queries} lack: {len(pool)}; "
            f"at least {ways} are needed"
        )
    while True:
        failed = {"class": 0, "support": 0, "query": 0}
        poor = set()
        row = {"support": 0, "query": 0}  # consecutive failures
        for _ in range(TRIES):
            attributes = rng.choice(pool, ways, replace=False)
            classes, tolerated, intra = [], [], []
            holds = fits[:, attributes]
            suits = holds & (holds.sum(axis=1, keepdims=True) > 1)
            for k in range(ways):
                allowed = np.flatnonzero(suits[:, k])
                if not len(allowed):
                    failed["class"] += 1
                    break
                c = allowed[rng.integers(len(allowed))]
                suits[c] = False
                own, others = data.marks(c, attributes, k)
                tolerated.append(row["support"] // 5)
                intra.append(row["query"] >= 5)
                if np.count_nonzero(own & (others <= tolerated[k])) < shots:
                    what = "support"
                elif np.count_nonzero(~own if intra[k] else ~own & (others > 0)) < queries:
                    row["support"], what = 0, "query"
                else:
                    row = {"support": 0, "query": 0}
                    classes.append(c)
                    continue
                row[what] += 1
                failed[what] += 1
                poor.add(c)
                break
            if len(classes) == ways:
                break
        else:
            raise InputError(
                f"variant = released: {TRIES:,} tries made no task of {ways} ways: {failed['class']:,} found no class "
                f"for an attribute, {failed['support']:,} no support and {failed['query']:,} no query"
                f"{f' of {_listed(data.names[sorted(poor)])}' if poor else ''}"
            )
        scored = np.zeros(data.count.shape[1], dtype=bool)
        scored[pool] = True
        yield _Choice(np.array(classes), attributes, tolerated, intra, scored)


def _listed(names: np.ndarray) -> str:
    first = ", ".join(map(str, names[:5]))
    return f"{first} and {len(names) - 5} more" if len(names) > 5 else first
