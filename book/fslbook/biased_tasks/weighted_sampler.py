"""Classes and attributes of biased tasks, drawn exactly in proportion to their weights.

`as_in_the_paper` draws from the distribution of the paper, which starts again from scratch until a
choice is feasible. `_PairTree` chooses one pair of class and attribute after the other,
`_AttributeTree` attributes first. Both draw in proportion to upper bounds of the weight of all
continuations, correct by rejection, and store what they learn about the bounds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from fslcore.errors import InputError
from fslcore.tasks.tasks import Booleans, Floats, Integers

from .candidates import TRIES, Candidates, Choice, first_names

PATIENCE = 500  # tries for one task by pairs, before attributes are drawn first


def as_in_the_paper(
    data: Candidates, ways: int, shots: int, queries: int, support: str, rng: np.random.Generator
) -> Iterator[Choice]:
    """Choices as in the paper, which restarts from scratch, without end.

    See `fslbook.biased_tasks.sample_biased`.
    """
    if support == "SC1":
        fits = data.size - data.count >= queries + shots
        condition = f"{queries + shots} lack"
    else:
        fits = (data.count >= shots) & (data.size - data.count >= queries)
        condition = f"{shots} images have and {queries} lack"
    is_spurious = (data.count > 0) & (data.count < data.size)
    fits &= is_spurious
    _check_enough(data, fits, ways, condition)
    weight = fits / is_spurious.sum(axis=1, keepdims=True).clip(min=1)
    pair_tree = _PairTree(data, weight, ways, shots, exclusive=support == "SC3")
    tree: _PairTree | _AttributeTree = pair_tree
    tries = PATIENCE if pair_tree.exclusive and ways <= _AttributeTree.WAYS else TRIES
    while True:
        pairs = _sample(tree, tries, rng)
        if pairs is None and tries == PATIENCE and tree.root.any():
            tree = _AttributeTree(pair_tree)
            tries = TRIES
            pairs = _sample(tree, tries, rng)
        if pairs is None:
            raise InputError(pair_tree.failure(is_impossible=not tree.root.any()))
        pairs = rng.permutation(pairs)
        yield Choice(
            classes=pair_tree.of_class[pairs],
            attributes=pair_tree.attribute[pairs],
            tolerated=[0] * ways,
            intra=[False] * ways,
        )


def _sample(
    tree: _PairTree | _AttributeTree, tries: int, rng: np.random.Generator
) -> tuple[int, ...] | Integers | None:
    """K pairs; None if there are none, or if all tries fail."""
    for _ in range(tries):
        pairs = tree.sample(rng)
        if pairs is not None:
            return pairs
        if not tree.root.any():
            return None
    return None


def _check_enough(data: Candidates, fits: Booleans, ways: int, condition: str) -> None:
    """Raise `InputError` unless there are K classes, and K attributes, that fit."""
    has_attribute = fits.any(axis=1)
    if has_attribute.sum() < ways:
        raise InputError(
            f"ways must be at most {has_attribute.sum()}, the classes of {len(fits)} that have an "
            f"attribute that {condition}, got {ways}; none has "
            f"{first_names(data.names[~has_attribute])}"
        )
    n_attributes = fits.any(axis=0).sum()
    if n_attributes < ways:
        raise InputError(
            f"ways must be at most {n_attributes}, the attributes that, in a class, {condition}, "
            f"got {ways}"
        )


class _PairTree:
    """Draws K compatible pairs of class and attribute in proportion to the product of their
    weights.

    A path in the tree is a tuple of pairs with ascending classes.

    Attributes
    ----------
    of_class, attribute, weight : (P,) arrays
        Of each pair.
    column : (P,) integers
        Of the pair's attribute, among the attributes in use.
    bears, borne : (P, attributes in use) bool, and its transpose
        Whether a pair has enough support images if another class has that attribute.
    root : (P,) floats
        As `learned`, of the paths of one pair.
    learned : dict of dict of float
        By path and next pair: upper bounds of the total weight of all continuations of a path,
        initially the elementary symmetric polynomial of the weights left to each later class.
    """

    def __init__(
        self, data: Candidates, weight: Floats, ways: int, shots: int, exclusive: bool
    ) -> None:
        self.data, self.ways, self.shots, self.exclusive = data, ways, shots, exclusive
        self.of_class, self.attribute = np.nonzero(weight)
        self.weight = weight[self.of_class, self.attribute]
        self.pairs = np.arange(len(self.weight))
        in_use, self.column = np.unique(self.attribute, return_inverse=True)
        if exclusive:
            self.bears = np.concatenate(
                [
                    _has_images_without(columns, weight_of_class > 0, in_use, shots)
                    for columns, weight_of_class in zip(data.columns, weight)
                ]
            )
        else:
            self.bears = self.attribute[:, None] != in_use
        self.borne = np.ascontiguousarray(self.bears.T)
        self.learned: dict[tuple[int, ...], dict[int, float]] = {}
        self.root = self._bounds((), self.pairs)

    def sample(self, rng: np.random.Generator) -> tuple[int, ...] | None:
        """A path of K pairs; None if it ends early, or is rejected since a bound was too high."""
        path: tuple[int, ...] = ()
        left, bound = self.pairs, np.inf
        while len(path) < self.ways:
            bounds = self._bounds(path, left) if path else self.root
            cumulative = bounds.cumsum()
            total = cumulative[-1] if len(left) else 0.0
            self._learn(path, total)
            if total == 0 or (path and rng.random() * bound >= total):
                return None
            place = int(np.searchsorted(cumulative, rng.random() * total, side="right"))
            pair = int(left[place])
            bound = bounds[place] / self.weight[pair]
            path += (pair,)
            if self.exclusive and not self._have_supports(path):
                self._learn(path, 0.0)
                return None
            # Pairs of later classes that are compatible with this one.
            left = left[np.searchsorted(self.of_class[left], self.of_class[pair], side="right") :]
            left = left[self.bears[pair, self.column[left]] & self.borne[self.column[pair], left]]
        return path

    def _have_supports(self, path: tuple[int, ...]) -> bool:
        """Whether every class has S images with its attribute and none of the others: pairs are
        compatible in twos, which does not make them compatible all at once.
        """
        chosen = self.attribute[list(path)]
        for k, pair in enumerate(path):
            has_own, n_others = self.data.marks(self.of_class[pair], chosen, k)
            if np.count_nonzero(has_own & (n_others == 0)) < self.shots:
                return False
        return True

    def _bounds(self, path: tuple[int, ...], left: Integers) -> Floats:
        """For each possible next pair, its weight times the bound of its continuations."""
        of_class = self.of_class[left]
        weight_of_class = np.bincount(of_class, self.weight[left], len(self.data.names))
        later = _polynomial_of_later(weight_of_class, self.ways - len(path) - 1)
        bounds = self.weight[left] * later[of_class]
        learned = self.learned.get(path)
        if learned:
            pairs = np.fromiter(learned.keys(), int)
            totals = np.fromiter(learned.values(), float)
            bounds[left.searchsorted(pairs)] = self.weight[pairs] * totals
        return bounds

    def _learn(self, path: tuple[int, ...], total: float) -> None:
        if len(path) == 1:
            self.root[path[0]] = self.weight[path[0]] * total
        elif path:
            self.learned.setdefault(path[:-1], {})[path[-1]] = total

    def failure(self, is_impossible: bool) -> str:
        """The condition that fails, and the classes for which it fails."""
        names, ways = self.data.names, self.ways
        has_mates = self._classes_with_mates()
        supports = f"support = SC3 with {self.shots} shots"
        condition = supports if self.exclusive else "different attributes"
        if has_mates.sum() < ways:
            return (
                f"{condition}: no task of {ways} ways; too few other classes are compatible with "
                f"{first_names(names[~has_mates])} (lower ways or shots)"
            )
        no = "no" if is_impossible else f"in {TRIES:,} tries no"
        return (
            f"{condition}: {no} task of {ways} ways, though pairs of classes are compatible; of "
            f"{first_names(names[has_mates])} never {ways} at once (lower ways or shots)"
        )

    def _classes_with_mates(self) -> Booleans:
        """(C,) bool: classes that are compatible, in twos, with K - 1 others."""
        n_classes = len(self.data.names)
        are_compatible = np.zeros((n_classes, n_classes), dtype=bool)
        for pair in self.pairs:
            mates = self.bears[pair, self.column] & self.borne[self.column[pair]]
            are_compatible[self.of_class[pair], self.of_class[mates]] = True
        np.fill_diagonal(are_compatible, False)
        return are_compatible.sum(axis=1) >= self.ways - 1


def _has_images_without(
    columns: Booleans, fits: Booleans, in_use: Integers, shots: int
) -> Booleans:
    """For each attribute of a class that fits, and each in use: do S images have only the first?"""
    has_attribute = columns[fits].astype(np.float32)
    n_both = has_attribute @ columns[in_use].T.astype(np.float32)
    return has_attribute.sum(axis=1, keepdims=True) - n_both >= shots


class _AttributeTree:
    """Same distribution as `_PairTree`, attributes first.

    Draws K of them, then classes that are compatible with each other, one per attribute.

    A path is an ascending tuple of attributes (columns of those in use).

    Attributes
    ----------
    weight, pair : (A, C) arrays
        Of attribute and class; 0 and -1 where they are no pair.
    bits : (A, words) uint64
        For each attribute one bit per image, in words of 64 that belong to one class.
    starts : (C,) integers
        First word of each class.
    nodes : dict
        For a path, upper bounds of the weight of all tasks with it and each possible next
        attribute: initially the product of the weights that the remaining classes give each
        attribute of the path, times the elementary symmetric polynomial of later ones.
    """

    WAYS = 12  # at most: the classes of a set are counted over its 2^K subsets
    KEPT = 2**22  # numbers in the stored nodes

    def __init__(self, tree: _PairTree) -> None:
        self.ways, self.shots = tree.ways, tree.shots
        in_use = np.unique(tree.attribute)
        place = (tree.column, tree.of_class)
        self.weight = np.zeros((len(in_use), len(tree.data.names)))
        self.pair = np.full(self.weight.shape, -1)
        self.weight[place], self.pair[place] = tree.weight, tree.pairs
        padded = [
            np.pad(columns[in_use], ((0, 0), (0, -columns.shape[1] % 64)))
            for columns in tree.data.columns
        ]
        self.bits = np.packbits(np.concatenate(padded, axis=1), axis=1).view(np.uint64)
        self.starts = np.cumsum([0] + [part.shape[1] // 64 for part in padded[:-1]])
        self.nodes: dict[tuple[int, ...], Floats] = {}
        self.root = self._node(())

    def sample(self, rng: np.random.Generator) -> Integers | None:
        """K pairs of the tree; None if a bound was too high."""
        path: tuple[int, ...] = ()
        bounds, bound = self.root, np.inf
        while True:
            cumulative = bounds.cumsum()
            total = cumulative[-1]
            if path and path[:-1] in self.nodes:
                self.nodes[path[:-1]][path[-1]] = total
            if total == 0 or (path and rng.random() * bound >= total):
                return None
            if len(path) == self.ways:
                chosen = list(path)
                return self.pair[chosen, _matching(self._left(path)[chosen], rng)]
            place = int(np.searchsorted(cumulative, rng.random() * total, side="right"))
            bound = bounds[place]
            path += (place,)
            bounds = self._node(path)

    def _node(self, path: tuple[int, ...]) -> Floats:
        """Bounds (A,) by the next attribute; for a complete path only its weight."""
        if path in self.nodes:
            return self.nodes[path]
        left = self._left(path)
        chosen = list(path)
        if len(path) == self.ways:
            bounds = _matching_weights(left[chosen])[-1, -1:]
        else:
            weight = left.sum(axis=1)
            after = weight.copy()
            after[: path[-1] + 1 if path else 0] = 0
            later = _polynomial_of_later(after, self.ways - len(path) - 1)
            bounds = weight[chosen].prod() * after * later
        if len(self.nodes) * len(self.bits) < self.KEPT:
            self.nodes[path] = bounds
        return bounds

    def _left(self, path: tuple[int, ...]) -> Floats:
        """(A, C) weights where S images have the attribute and no other of the path, else 0."""
        left = self.bits & ~self._images_with_any(path)
        for i in path:
            left[i] = self.bits[i] & ~self._images_with_any([j for j in path if j != i])
        n_images = np.add.reduceat(np.bitwise_count(left), self.starts, axis=1, dtype=np.int64)
        return np.where(n_images >= self.shots, self.weight, 0.0)

    def _images_with_any(self, attributes: Sequence[int]) -> NDArray[np.uint64]:
        return np.bitwise_or.reduce(self.bits[list(attributes)], axis=0, initial=0)


def _matching_weights(weight: Floats) -> Floats:
    """(C + 1, 2^K): weight of all ways to give each attribute of a subset one of the c first
    classes.

    For the weights (K, C) of attribute and class, the last number is the permanent.
    """
    ways, n_classes = weight.shape
    subset = np.arange(2**ways)
    without = subset ^ (1 << np.arange(ways))[:, None]  # (K, 2^K): without one of its attributes
    without[without > subset] = -1  # a last column of zeros, for subsets that lack it
    total = np.zeros((n_classes + 1, 2**ways + 1))
    total[0, 0] = 1
    for before, after, column in zip(total, total[1:], weight.T):
        after[:-1] = before[:-1] + column @ before[without]
    return total[:, :-1]


def _matching(weight: Floats, rng: np.random.Generator) -> Integers:
    """A class for each attribute, all different, in proportion to the product of weights (K, C)."""
    totals = _matching_weights(weight).tolist()  # in numbers as few as these, lists are faster
    ways, n_classes = weight.shape
    classes = np.full(ways, -1)
    subset = 2**ways - 1  # attributes without a class, one bit each
    for c in reversed(range(n_classes)):
        before, column = totals[c], weight[:, c].tolist()
        free = [k for k in range(ways) if subset >> k & 1]
        shares = [column[k] * before[subset ^ 1 << k] for k in free]
        cumulative = list(accumulate([*shares, before[subset]]))
        place = bisect_right(cumulative, rng.random() * cumulative[-1])
        if place < len(free):
            classes[free[place]] = c
            subset ^= 1 << free[place]
        if not subset:
            break
    return classes


def _polynomial_of_later(weight: Floats | Integers, degree: int) -> Floats:
    """For each weight the elementary symmetric polynomial of the weights after it."""
    polynomial = np.ones(len(weight))
    for _ in range(degree):
        polynomial = np.append((weight * polynomial)[::-1].cumsum()[::-1][1:], 0.0)
    return polynomial
