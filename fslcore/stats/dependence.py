"""What counts as one unit of the data: an image or a group of images, a class or a group of
classes.

A jackknife leaves out one unit at a time. To first order a group changes the mean by the sum of
what its images change; scaled by 1 / (1 - p), p its share of the class, that is the change when the
whole group is left out, and the sum of squares is a variance that does not promise too much where a
class has few groups (CR3 of Bell and McCaffrey, 2002, Survey Methodology 28). Its degrees of
freedom are theirs too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from ..errors import InputError, labels as checked_labels
from .intervals import Array, Floats, Pair

Sparse: TypeAlias = sparse.csr_array
Squared = Callable[[Sparse], tuple[float, Floats]]
DOMINANT_GROUP_SHARE = (
    0.9  # a class of which one group holds a larger share is one group, as far as its variance goes
)


@dataclass(frozen=True)
class Units:
    """How changes by image and by class add up to changes by unit, and how many units stand behind
    each variance.

    Attributes
    ----------
    images : (N, U) sparse matrix
        From the change without an image to that without its group, or scaled for images that are
        independent.
    cells : (N, V) sparse matrix or None
        The same for what a group has in one class (or group of classes); None where no group spans
        classes.
    classes : (C, W) sparse matrix
        From the change without a class to that without its group, or scaled.
    freedom : tuple of 3 floats
        Degrees of freedom of the variance from groups (or images), of what it has between classes,
        and from classes. 0 where nothing is known.
    counts : tuple of 2 ints
        Independent units of images, U, and of classes, W.
    """

    images: Sparse
    cells: Sparse | None
    classes: Sparse
    freedom: tuple[float, float, float]
    counts: tuple[int, int]


def checked_groups(
    label: Array, names: Array, groups: ArrayLike | None, class_groups: ArrayLike | None
) -> tuple[Array | None, np.ndarray | None]:
    """Groups (N,) and groups of classes (C,) as whole numbers, from what a user gives per image.

    Images have these classes (N,), -1 for those left out, with names (C,). None where all units are
    independent.
    """
    return _image_groups(label, groups), _class_groups(label, names, class_groups)


def _image_groups(label: Array, groups: ArrayLike | None) -> Array | None:
    """Groups of images as whole numbers; None if each image is a group of its own."""
    if groups is None:
        return None
    codes = np.unique(checked_labels("groups", groups, len(label)), return_inverse=True)[1]
    used = codes[label >= 0]
    classes = label[label >= 0]
    count = len(np.unique(used))
    if count == len(used):
        return None
    if count < 2:
        raise InputError("groups must have at least 2 values, got 1 for all images")
    if len(np.unique(used * (classes.max() + 1) + classes)) == len(np.unique(classes)):
        raise InputError(
            "groups: each class is one group, so variation between groups cannot be estimated; "
            "leave groups out, or give finer ones"
        )
    return codes


def _class_groups(label: Array, names: Array, class_groups: ArrayLike | None) -> Array | None:
    """Groups of classes as whole numbers; None if each class is a group of its own."""
    if class_groups is None:
        return None
    labels = checked_labels("class_groups", class_groups, len(label))
    codes = np.unique(labels, return_inverse=True)[1]
    present = label >= 0
    of_class = np.zeros(len(names), int)
    of_class[label[present]] = codes[present]
    split = present & (of_class[label] != codes)
    if split.any():
        name = names[label[split.argmax()]]
        raise InputError(
            f"class_groups must be the same for all images of a class, got several for {name}"
        )
    count = len(np.unique(of_class))
    if count == len(names):
        return None
    if count < 2:
        raise InputError("class_groups must have at least 2 values, got 1 for all classes")
    return of_class


def units_of(label: Array, groups: Array | None, class_groups: Array | None) -> Units:
    """Units of images with these classes (N,), from 0 to C - 1, their groups (N,) and the groups of
    classes (C,).

    Images of class -1 are left out.
    """
    present = label >= 0
    count = label.max() + 1
    # Classes are units of one population.
    classes, class_df = _matrix(np.zeros(count, int), class_groups)
    images, image_df = _matrix(label, groups)
    counts = present.sum() if groups is None else images.shape[1], classes.shape[1]
    units = Units(images, None, classes, (image_df, 0.0, class_df), counts)
    if groups is None:
        return units
    codes = np.arange(count)
    if class_groups is not None:
        codes = np.unique(class_groups, return_inverse=True)[1]
    cell = np.where(present, groups * (codes.max() + 1) + codes[label], 0)
    if len(np.unique(cell[present])) == counts[0]:
        return units
    between_df = _matrix(np.where(present, 0, -1), groups)[1]
    freedom = min(image_df, between_df), between_df, class_df
    return replace(units, cells=_matrix(label, cell)[0], freedom=freedom)


def _matrix(label: Array, groups: Array | None) -> tuple[Sparse, float]:
    """From changes by member to changes by unit, and the degrees of freedom of their squares.

    Members have these classes, -1 for those left out. The degrees of freedom are 0 where a class is
    one group.
    """
    if groups is not None:
        return _grouped(label, groups)
    # Units of one member: (n - 1)/n times a squared change, n of its class.
    size = np.bincount(label[label >= 0])
    scale = np.where(label >= 0, np.sqrt(1 - 1 / size[label]), 0.0)
    return sparse.diags_array(scale, format="csr"), (label >= 0).sum() - 1.0


def _grouped(label: Array, groups: Array) -> tuple[Sparse, float]:
    """`_matrix` of units that are groups."""
    present = label >= 0
    classes = label[present]
    group = np.unique(groups[present], return_inverse=True)[1]
    members = sparse.coo_array((np.ones(len(group)), (group, classes))).tocsr()
    members.sum_duplicates()
    size = np.asarray(members.sum(axis=0)).ravel()
    share = np.asarray(members[group, classes]).ravel() / size[classes]
    # Where nearly all of a class is one group, changes are not scaled: they count between classes.
    scale = (1 - 1 / size[classes]) / np.where(share > DOMINANT_GROUP_SHARE, 1, 1 - share)
    matrix = sparse.csr_array(
        (scale, (np.flatnonzero(present), group)), (len(label), members.shape[0])
    )
    cells = members.tocoo()
    return matrix, _group_df(cells.data / size[cells.col], cells.col, len(size))


def _group_df(p: Floats, classes: Array, count: int) -> float:
    """Satterthwaite's degrees of freedom of a variance from groups with shares p of their classes.

    It is the sum of b (a_g - a)² with b = (p / (1 - p))², for effects a_g of groups and their mean
    a, weighted by the shares.
    """
    if (p > DOMINANT_GROUP_SHARE).any():
        return 0.0

    def summed(x: Floats) -> Array:
        return np.bincount(classes, x, count)

    b = (p / (1 - p)) ** 2
    s = summed(p * p)
    s0 = summed(b)
    s1 = summed(b * p)
    s2 = summed(b * p * p)
    expectation = s0 * (1 + s) - 2 * s1
    half_variance = (s * s0) ** 2 - 4 * s * s0 * s1 + 2 * s0 * s2 + 2 * s1**2
    half_variance += summed(b * b * (1 + 2 * (s[classes] - 2 * p)))
    return float(expectation.sum() ** 2 / half_variance.sum())


class Variance(NamedTuple):
    """A variance of the mean, from images or from classes.

    Attributes
    ----------
    estimate : float
        Without bias: noise may make it negative.
    df : float
        Degrees of freedom; 0 where the variance is not known.
    noise : float
        Standard error of the estimate from the finite number of tasks.
    units : int
        Independent units behind it.
    """

    estimate: float
    df: float
    noise: float
    units: int


UNKNOWN = Variance(inf, 0.0, 0.0, 0)


def variances(
    units: Units, of_images: Squared, of_classes: Squared | None
) -> tuple[Variance, Variance]:
    """Variances from images and from classes.

    From functions of a matrix of `Units` that give a squared length without bias, and its products
    between parts (P, P); None where the tasks tell nothing of other classes. Groups that span
    classes make classes depend on each other: the variance of classes is then the two-way one, of
    classes, plus of groups, minus of what groups have in single classes.
    """
    image, image_parts = of_images(units.images)
    image_df, between_df, class_df = units.freedom
    from_images = Variance(image, image_df, square(image_parts)[1], units.counts[0])
    if of_classes is None:
        return from_images, UNKNOWN
    of_class, class_parts = of_classes(units.classes)
    if units.cells is not None:
        cell, cell_parts = of_images(units.cells)
        if image > cell:
            class_df = _sum_df((max(of_class, 0.0), image - cell), (class_df, between_df))
            of_class = of_class + (image - cell)
            class_parts = class_parts + image_parts - cell_parts
    # Groups may span classes, so that there are no more independent classes than groups.
    from_classes = Variance(of_class, class_df, square(class_parts)[1], min(units.counts))
    return from_images, from_classes


def _sum_df(variances: Pair, freedom: Pair) -> float:
    """Satterthwaite's degrees of freedom of a sum of variances; 0 where one has none."""
    terms = np.array(variances)
    with np.errstate(divide="ignore"):
        return float(terms.sum() ** 2 / (terms**2 / np.array(freedom, float)).sum())


def of_parts(parts: Floats) -> tuple[float, Floats]:
    """Squared length of the mean of parts (P, U), without bias, and their products (P, P)."""
    products = parts @ parts.T
    return square(products)[0], products


def square(products: Floats) -> Pair:
    """Squared length of the mean of parts with these products (P, P), without bias, and its
    standard error.

    The mean product of two different parts is a U-statistic; its variance over parts is estimated
    without bias by products of pairs that share two, one or no part (Hoeffding, 1948).
    """
    g = products - np.diag(np.diag(products))
    p = len(g)
    total = g.sum()
    rows = (g.sum(axis=0) ** 2).sum()
    squares = (g**2).sum()
    pairs = p * (p - 1)
    share_two = squares / pairs
    share_one = (rows - squares) / (pairs * (p - 2))
    share_none = (total**2 - 4 * rows + 2 * squares) / (pairs * (p - 2) * (p - 3))
    from_one = max(share_one - share_none, 0.0)
    from_two = max(share_two - share_none, 0.0)
    return total / pairs, np.sqrt(2 / pairs * (2 * (p - 2) * from_one + from_two))
